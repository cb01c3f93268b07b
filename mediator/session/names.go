package session

import (
	"strings"
	"sync"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/secret/match"
	"github.com/margaydev/margay/secret/recognise"
	"github.com/margaydev/margay/stream"
)

// longName is the length from which a name is encrypted data, not an identifier. In so
// much that is random, form says nothing either: any short mark of a key comes
// up by chance.
const longName = 512

// ScanName is how an identifier is looked at by itself: for known secrets, and
// credentials by their form. Identifiers are random, so that entropy says
// nothing about them.
func (s *Session) ScanName(t *flow.Text, name string) *stream.Config {
	return nameConfig(s.Scan(flow.Generate, t, nil), len(name) > longName)
}

// ScanState is how a state is looked at that one side gives the other to hand
// back. A signed token is the usual form of one: sessions, cursors and the like
// are often such tokens, and whoever hands one out gets it back.
func (s *Session) ScanState(t *flow.Text, state string) *stream.Config {
	cfg := s.ScanName(t, state)
	c := *cfg
	c.Decide = func(f *stream.Finding, raw []byte) flow.Action {
		if strings.HasPrefix(f.Rule, "jwt") {
			return flow.ActAllow
		}
		return cfg.Decide(f, raw)
	}
	return &c
}

func nameConfig(cfg *stream.Config, long bool) *stream.Config {
	c := *cfg
	c.HoldURLs = false
	c.Decide = func(f *stream.Finding, raw []byte) flow.Action {
		if f.Rule != stream.RuleVault && (long || f.Class != recognise.ClassCredential) {
			return flow.ActAllow
		}
		return cfg.Decide(f, raw)
	}
	return &c
}

// nameScanner reads names, one after the other. It is kept for the next
// generations with the same secrets: making its views costs more than the
// names do.
type nameScanner struct {
	snap    *snapshot
	overlay *match.Index
	reader  interface{ Clean(names [][]byte) bool }
	clean   map[string]struct{} // some that were: models have few names
	fresh   [][]byte            // scratch
}

// nameScanners are for identifiers and for headers. A new one is nil.
var nameScanners [2]sync.Pool

// What is looked for in names: a server's identifiers are looked at as they
// are written, for every random one reads as an encoding of something, and to
// undo them all would cost more than the rest of a short answer does. Headers
// are looked at in all views.
const (
	Identifiers = iota
	Headers
)

// Ordinary reports whether nothing at all is found in names that are read
// together. Otherwise each is decided alone, for what is found may be between
// them, or allowed.
func (s *Session) Ordinary(what int, names [][]byte) bool {
	overlay, _ := s.Discovered()
	n, _ := nameScanners[what].Get().(*nameScanner)
	if n == nil || n.snap != s.snap || n.overlay != overlay {
		cfg := nameConfig(&stream.Config{
			Rules: s.cfg.Rules, Vaults: []*match.Index{s.snap.index, s.ephemeral, overlay},
			Decide: func(*stream.Finding, []byte) flow.Action { return flow.ActRedact },
		}, false)
		n = &nameScanner{snap: s.snap, overlay: overlay, reader: cfg.NewVerbatim(), clean: map[string]struct{}{}, fresh: make([][]byte, 0, 8)}
		if what == Headers {
			n.reader = cfg.NewScanner()
		}
	}
	fresh := names
	if len(names) <= cap(n.fresh) { // many are padding, and never the same again
		fresh = n.fresh[:0]
		for _, name := range names {
			if _, ok := n.clean[string(name)]; !ok {
				fresh = append(fresh, name)
			}
		}
	}
	if len(fresh) > 0 && !n.reader.Clean(fresh) {
		return false
	}
	for _, name := range fresh[:min(len(fresh), cap(n.fresh))] {
		if len(n.clean) < 64 && len(name) <= 128 {
			n.clean[string(name)] = struct{}{}
		}
	}
	clear(n.fresh[:cap(n.fresh)])
	nameScanners[what].Put(n)
	return true
}

// OrdinaryNames is Ordinary for names that are strings.
func (s *Session) OrdinaryNames(what int, names []string) bool {
	all := make([][]byte, len(names))
	for i := range names {
		all[i] = []byte(names[i])
	}
	return len(names) == 0 || s.Ordinary(what, all)
}

// FindNames looks at names one by one: what is in one goes to j, and r.Edits has
// those that hold a secret. They can't be edited.
func (s *Session) FindNames(r *Result, j *Found, texts []flow.Text) {
	for i := range texts {
		t := &texts[i]
		out, found := s.ScanName(t, t.Text).Text([]byte(t.Text))
		r.Take(s, j, t, out, found)
	}
}
