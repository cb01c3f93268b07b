// Package differ compares the product's detection engine with the reference, the
// engine as it was before it was rewritten.
//
// A [Pair] is one configuration of both engines. [Pair.Read] reads a text whole, with
// the reference; [Text.Under] then has the product read it in pieces and returns
// the first [Difference]:
//
//	rules, err := differ.Default()
//	pair, err := (&differ.Config{Rules: rules, Vaults: [][]differ.Known{differ.Ten()}}).Pair()
//	text := pair.Read([]byte("the token is ghp_…"))
//	for at := 1; at < text.Len(); at++ {
//		if d := text.Under([]int{at}); d != nil {
//			t.Fatal(d)
//		}
//	}
//
// What is found and what goes out must be the same under every split, and the same as
// the reference's. How much is held after each write may differ, and
// [Text.Holds] counts it for both.
//
// A difference names offsets, rules and kinds. It never has a byte of the text.
package differ

import (
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/margaydev/margay/lab/reference/match"
	reference "github.com/margaydev/margay/lab/reference/recognise"
	referencestream "github.com/margaydev/margay/lab/reference/stream"
	"github.com/margaydev/margay/secret"
	known "github.com/margaydev/margay/secret/match"
	"github.com/margaydev/margay/secret/recognise"
	"github.com/margaydev/margay/secret/recognise/own"
	"github.com/margaydev/margay/stream"
	"github.com/margaydev/margay/stream/cut"
)

// Rules are rules that both engines compiled. They are safe for concurrent use.
type Rules struct {
	product   *recognise.Set
	reference *reference.Set
}

// Compile compiles the product's rules for both engines.
func Compile(rules []recognise.Rule) (*Rules, error) {
	p, err := recognise.New(rules)
	if err != nil {
		return nil, err
	}
	r, err := reference.New(rules)
	if err != nil {
		return nil, err
	}
	return &Rules{product: p, reference: r}, nil
}

// Default returns all rules of the product, compiled once in a process, and a rule as
// users write them.
func Default() (*Rules, error) { return defaultRules() }

var defaultRules = sync.OnceValues(func() (*Rules, error) {
	rules, err := All()
	if err != nil {
		return nil, err
	}
	return Compile(rules)
})

// All returns the rules of Default.
func All() ([]recognise.Rule, error) {
	rules, err := recognise.Credentials()
	if err != nil {
		return nil, err
	}
	users, err := own.Rules(patterns, stream.DefaultMaxHeld)
	if err != nil {
		return nil, err
	}
	rules = append(rules, recognise.Discovery()...)
	rules = append(rules, recognise.Personal()...)
	return append(append(rules, recognise.Rule{ID: recognise.PrivateKeyID, Kind: secret.KindPrivateKey}), users...), nil
}

// Known is a value that is registered with both engines.
type Known struct {
	Value   string
	Kind    secret.Kind   // a secret where it is empty
	Source  secret.Source // registered where it is empty
	Expires time.Time     // zero: never
}

// Config says what both engines look for.
type Config struct {
	Rules  *Rules    // nil for none
	Vaults [][]Known // an index each
	// Stream has what else there is to say: the path, bounds, decisions. Its rules and
	// vaults are not read. It is shared and must not change.
	Stream stream.Config
}

// Pair is one configuration of both engines. It is safe for concurrent use.
type Pair struct {
	product   *stream.Config
	reference *referencestream.Config
}

// keys are those that values are registered under.
var keys = secret.Keys{Fingerprint: [32]byte{7}, Pseudonym: [32]byte{8}, Seal: [32]byte{9}}

// indexed is when indexes are made: before any value expires.
var indexed = time.Unix(1, 0)

// Pair registers the values with both engines.
func (c *Config) Pair() (*Pair, error) {
	p := c.Stream
	p.Rules, p.Vaults = nil, nil
	pair := &Pair{product: &p, reference: &referencestream.Config{Product: &p}}
	if c.Rules != nil {
		p.Rules, pair.reference.Rules = c.Rules.product, c.Rules.reference
	}
	for v, values := range c.Vaults {
		var ours, theirs []secret.Record
		for i, k := range values {
			id, name := fmt.Sprintf("%02d%024d", v, i), fmt.Sprintf("VALUE_%d_%d", v, i)
			if k.Kind == "" {
				k.Kind = secret.KindSecret
			}
			if k.Source == "" {
				k.Source = secret.SourceRegistered
			}
			o, _, err := known.Prepare(&keys, id, name, k.Kind, k.Source, "lab", []byte(k.Value), indexed)
			if err != nil {
				return nil, err
			}
			t, err := match.Prepare(&keys, id, name, k.Kind, k.Source, []byte(k.Value))
			if err != nil {
				return nil, err
			}
			o.Expires, t.Expires = k.Expires, k.Expires
			ours, theirs = append(ours, o), append(theirs, t)
		}
		o, err := known.NewIndex(&keys, each(ours), indexed)
		if err != nil {
			return nil, err
		}
		t, err := match.NewIndex(&keys, each(theirs), indexed)
		if err != nil {
			return nil, err
		}
		p.Vaults, pair.reference.Vaults = append(p.Vaults, o), append(pair.reference.Vaults, t)
	}
	return pair, nil
}

func each(recs []secret.Record) func(func(secret.Record, error) bool) {
	return func(yield func(secret.Record, error) bool) {
		for i := range recs {
			if !yield(recs[i], nil) {
				return
			}
		}
	}
}

// scanner is what both engines have.
type scanner interface {
	Write(p []byte)
	Close()
	Cut() int64
	Len() int64
	Edits(dst []cut.Edit) []cut.Edit
	Findings() []stream.Finding
	Mark(f stream.Finding, continues bool)
}

// reading is what an engine said of a text.
type reading struct {
	findings []stream.Finding
	edits    []cut.Edit // joined where one goes on with the one before
	out      []byte
	broken   string // what it said that it must not say
}

// drive has an engine read a text in pieces. Marks are made right before their first
// byte is written. Hold is called with the bytes held after each write; it may be nil.
func drive(s scanner, text []byte, marks []stream.Finding, cuts []int, hold func(int)) (r *reading) {
	r = &reading{}
	defer func() {
		if v := recover(); v != nil {
			r.broken = fmt.Sprintf("a panic: %v\n%s", v, debug.Stack())
		}
	}()
	var edits []cut.Edit
	from, gone := 0, int64(0)
	flush := func() {
		to := s.Cut()
		n := len(edits)
		edits = s.Edits(edits)
		for i := n; i < len(edits) && r.broken == ""; i++ {
			e := &edits[i]
			if e.Start < gone || e.End > to || e.End < e.Start || i > 0 && e.Start < edits[i-1].End {
				r.broken = fmt.Sprintf("edit %d-%d after %d bytes, between the cuts %d and %d", e.Start, e.End, s.Len(), gone, to)
			}
		}
		if to < gone || to > s.Len() || s.Len() != int64(from) {
			r.broken = fmt.Sprintf("the cut is at %d after %d bytes of %d; it was at %d", to, s.Len(), from, gone)
		}
		if r.broken == "" {
			r.out = cut.Apply(r.out, edits[n:], gone, text[gone:to])
			gone = to
		}
	}
	for i := 0; i <= len(cuts); i++ {
		to := len(text)
		if i < len(cuts) {
			to = cuts[i]
		}
		for len(marks) > 0 && marks[0].Start < int64(to) {
			s.Mark(marks[0], false)
			marks = marks[1:]
		}
		s.Write(text[from:to])
		from = to
		flush()
		if hold != nil {
			hold(int(s.Len() - s.Cut()))
		}
	}
	s.Close()
	flush()
	if gone != int64(len(text)) && r.broken == "" {
		r.broken = fmt.Sprintf("the text is closed, and the cut is at %d of %d", gone, len(text))
	}
	for _, f := range s.Findings() {
		r.findings = append(r.findings, public(&f))
	}
	r.edits = join(edits)
	return r
}

// public leaves out what only the engine reads of a finding.
func public(f *stream.Finding) stream.Finding {
	return stream.Finding{
		Start: f.Start, End: f.End, Kind: f.Kind, Rule: f.Rule, Class: f.Class, Source: f.Source, ID: f.ID, Name: f.Name,
		View: f.View, Fingerprint: f.Fingerprint, Action: f.Action, Capped: f.Capped, Fragment: f.Fragment, Risk: f.Risk,
	}
}

func join(edits []cut.Edit) []cut.Edit {
	var out []cut.Edit
	for _, e := range edits {
		if n := len(out); n > 0 && len(e.Text) == 0 && out[n-1].End == e.Start {
			out[n-1].End = e.End
			continue
		}
		out = append(out, e)
	}
	return out
}
