package mediator

import (
	"bytes"
	"context"
	"sync"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/secret"
	"github.com/margaydev/margay/secret/recognise"
	"github.com/margaydev/margay/stream"
)

// names are the identifiers of a generation. Most repeat in every event.
type names struct {
	fresh [][]byte // not looked at; the memory of those behind is used again
	clean [8][]byte
	next  int
}

// add takes a name, unless it is one of the last that were clean.
func (n *names) add(name []byte) {
	if len(name) < secret.MinLength {
		return
	}
	for i := range n.clean {
		if bytes.Equal(n.clean[i], name) {
			return
		}
	}
	for i := range n.fresh {
		if bytes.Equal(n.fresh[i], name) {
			return
		}
	}
	if len(n.fresh) < cap(n.fresh) {
		n.fresh = n.fresh[:len(n.fresh)+1]
	} else {
		n.fresh = append(n.fresh, nil)
	}
	last := &n.fresh[len(n.fresh)-1]
	*last = append((*last)[:0], name...)
}

// longName is from where on a name is no identifier but encrypted data. In so
// much that is random, form says nothing either: any short mark of a key comes
// up by chance.
const longName = 512

// nameConfig looks for what an identifier may not hold: known secrets, and
// credentials by their form. Identifiers are random, so that entropy says
// nothing about them.
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
	overlay *secret.Index
	scan    *stream.Scanner
	clean   map[string]struct{} // some that were: models have few names
}

// nameScanners are for identifiers and for headers.
var nameScanners = [2]sync.Pool{{New: newNameScanner}, {New: newNameScanner}}

func newNameScanner() any { return new(nameScanner) }

// What is looked for in names: a server's identifiers are looked at as they
// are written, for every random one reads as an encoding of something, and to
// undo them all would cost more than the rest of a short answer does. Headers
// are looked at in all views.
const (
	identifiers = iota
	headers
)

// lineFeed is read behind each name, and afterNames behind all, so that they
// are decided.
var (
	lineFeed   = []byte{'\n'}
	afterNames = []byte("\n is it? \n")
)

// ordinary reports whether nothing at all is found in names that are read
// together. Otherwise each is decided alone, for what is found may be between
// them, or allowed.
func (s *Session) ordinary(what int, names [][]byte) bool {
	overlay, _ := s.t.discovered()
	n := nameScanners[what].Get().(*nameScanner)
	if n.scan == nil || n.snap != s.snap || n.overlay != overlay {
		cfg := nameConfig(&stream.Config{
			Rules: s.e.cfg.Rules, Vaults: []*secret.Index{s.snap.index, s.e.ephemeral, overlay},
			Decide: func(*stream.Finding, []byte) flow.Action { return flow.ActRedact },
		}, false)
		cfg.Plain = what == identifiers
		*n = nameScanner{s.snap, overlay, cfg.NewScanner(), map[string]struct{}{}}
	}
	from := n.scan.Len()
	for _, name := range names {
		if _, ok := n.clean[string(name)]; !ok {
			n.scan.Write(name)
			n.scan.Write(lineFeed)
		}
	}
	end := n.scan.Len()
	if end == from {
		nameScanners[what].Put(n)
		return true
	}
	n.scan.Write(afterNames)
	if n.scan.Cut() < end || len(n.scan.Findings()) > 0 {
		return false
	}
	for _, name := range names {
		if len(n.clean) < 64 && len(name) <= 128 {
			n.clean[string(name)] = struct{}{}
		}
	}
	nameScanners[what].Put(n)
	return true
}

// checkNames looks at the names that were added. They go out with their
// events, so that a secret in one ends the generation.
func (g *Generation) checkNames() error {
	n := &g.names
	if len(n.fresh) == 0 {
		return nil
	}
	if !g.s.ordinary(identifiers, n.fresh) {
		for _, name := range n.fresh {
			out, found := nameConfig(g.cfg, len(name) > longName).Text(name)
			if bytes.Equal(out, name) {
				continue
			}
			g.note(&g.settled, found)
			if err := g.record(); err != nil {
				return err
			}
			return g.deny("secret-in-name", "an identifier that the upstream gave holds a secret")
		}
	}
	for _, name := range n.fresh {
		n.clean[n.next] = append(n.clean[n.next][:0], name...)
		n.next = (n.next + 1) % len(n.clean)
	}
	n.fresh = n.fresh[:0]
	return nil
}

// Headers decides about what comes with a model's answer besides its body.
// Edits has those that hold a secret; they can't
// be edited, only left out.
func (s *Session) Headers(ctx context.Context, texts []Text) Result {
	return s.guard(ctx, flow.Generate, func() (Result, error) {
		r := Result{Decision: s.decision(flow.Generate), Edits: map[int]string{}}
		all := make([][]byte, len(texts))
		for i := range texts {
			all[i] = []byte(texts[i].Text)
		}
		if s.ordinary(headers, all) {
			return r, nil
		}
		var j judged
		s.names(&r, &j, texts)
		s.conclude(&r, j)
		return r, s.record(ctx, &r)
	})
}

// named reports whether a secret is in one of the identifiers.
func (s *Session) named(j *judged, ids []string) bool {
	all := make([][]byte, len(ids))
	for i := range ids {
		all[i] = []byte(ids[i])
	}
	if len(ids) == 0 || s.ordinary(identifiers, all) {
		return false
	}
	r := Result{Edits: map[int]string{}}
	for _, id := range ids {
		s.names(&r, j, []Text{{Text: id, Path: func() string { return "id" }}})
	}
	return len(r.Edits) > 0
}

func (s *Session) names(r *Result, j *judged, texts []Text) {
	overlay, _ := s.t.discovered()
	for i := range texts {
		t := &texts[i]
		out, found := nameConfig(s.config(flow.Generate, overlay, t, nil), len(t.Text) > longName).Text([]byte(t.Text))
		for k := range found {
			j.add(s, &found[k], t, flow.Generate)
		}
		if string(out) != t.Text {
			r.Edits[t.ID] = string(out)
		}
	}
}
