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
	fresh []byte // not looked at, each with a line feed
	ends  []int  // where they end in it
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
	n.fresh = append(n.fresh, name...)
	n.ends = append(n.ends, len(n.fresh))
	n.fresh = append(n.fresh, '\n')
}

// each calls f for each name that was not looked at, until f fails.
func (n *names) each(f func(name []byte) error) error {
	from := 0
	for _, to := range n.ends {
		if err := f(n.fresh[from:to]); err != nil {
			return err
		}
		from = to + 1
	}
	return nil
}

// nameConfig looks for what an identifier may not hold: known secrets, and
// credentials by their form. Identifiers are random, so that entropy says
// nothing about them.
func nameConfig(cfg *stream.Config) *stream.Config {
	c := *cfg
	c.HoldURLs = false
	c.Decide = func(f *stream.Finding, raw []byte) flow.Action {
		if f.Rule != stream.RuleVault && f.Class != recognise.ClassCredential {
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
}

var nameScanners = sync.Pool{New: func() any { return new(nameScanner) }}

// afterNames is read behind names, so that they are decided.
var afterNames = []byte("\n and so it is. \n")

// ordinary reports whether nothing at all is found in names that are read
// together. Otherwise each is decided alone, for what is found may be between
// them, or allowed.
func (s *Session) ordinary(names []byte) bool {
	overlay, _ := s.t.discovered()
	n := nameScanners.Get().(*nameScanner)
	if n.scan == nil || n.snap != s.snap || n.overlay != overlay {
		cfg := nameConfig(&stream.Config{
			Rules: s.e.cfg.Rules, Vaults: []*secret.Index{s.snap.index, s.e.ephemeral, overlay},
			Decide: func(*stream.Finding, []byte) flow.Action { return flow.ActRedact },
		})
		*n = nameScanner{s.snap, overlay, cfg.NewScanner()}
	}
	n.scan.Write(names)
	end := n.scan.Len()
	n.scan.Write(afterNames)
	if n.scan.Cut() < end || len(n.scan.Findings()) > 0 {
		return false
	}
	nameScanners.Put(n)
	return true
}

// checkNames looks at the names that were added. They go out with their
// events, so that a secret in one ends the generation.
func (g *Generation) checkNames() error {
	n := &g.names
	if len(n.fresh) == 0 {
		return nil
	}
	if !g.s.ordinary(n.fresh) {
		cfg := nameConfig(g.cfg)
		if err := n.each(func(name []byte) error {
			out, found := cfg.Text(name)
			if bytes.Equal(out, name) {
				return nil
			}
			g.note(&g.settled, found)
			if err := g.record(); err != nil {
				return err
			}
			return g.deny("secret-in-name", "an identifier that the upstream gave holds a secret")
		}); err != nil {
			return err
		}
	}
	_ = n.each(func(name []byte) error {
		n.clean[n.next] = append(n.clean[n.next][:0], name...)
		n.next = (n.next + 1) % len(n.clean)
		return nil
	})
	n.fresh, n.ends = n.fresh[:0], n.ends[:0]
	return nil
}

// Names decides about identifiers that come with a model's answer, such as
// the headers of its response. Edits has those that hold a secret; they can't
// be edited, only left out.
func (s *Session) Names(ctx context.Context, texts []Text) Result {
	return s.guard(ctx, flow.Generate, func() (Result, error) {
		r := Result{Decision: s.decision(flow.Generate), Edits: map[int]string{}}
		var all []byte
		for i := range texts {
			all = append(append(all, texts[i].Text...), '\n')
		}
		if s.ordinary(all) {
			return r, nil
		}
		var j judged
		s.names(&r, &j, texts)
		s.conclude(&r, j)
		return r, s.record(ctx, &r)
	})
}

func (s *Session) names(r *Result, j *judged, texts []Text) {
	overlay, _ := s.t.discovered()
	for i := range texts {
		t := &texts[i]
		out, found := nameConfig(s.config(flow.Generate, overlay, t, nil)).Text([]byte(t.Text))
		for k := range found {
			j.add(s, &found[k], t, flow.Generate)
		}
		if string(out) != t.Text {
			r.Edits[t.ID] = string(out)
		}
	}
}
