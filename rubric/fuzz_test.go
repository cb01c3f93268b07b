package rubric_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/rubric"
	"github.com/margaydev/margay/rubric/library"
	"github.com/margaydev/margay/rubric/lint"
)

// small is a rubric that is quickly read.
const small = `version: 1
rubric: small
revision: 1
title: a small one
expires: 2040-01-01
signature: {actions: [x]}
fields:
  a: {population: {table: {columns: [v, members, side], rows: [[p, 9, x], [q, 3, y], [r, 2, y]]}}, levels: [{name: side, by: side, bits: 2}]}
  b: {population: {numbers: [0, 9, 1]}, levels: [{name: band, by: band 5, bits: 1}]}
coverage: [{id: a, field: a, lexicon: values}, {id: b, field: b, text: '\d{1,3}'}]
necessity: {a: {required-service: useful}}
operators: {a: {required-service: [identity, side]}, b: {semi-trusted: [band]}}
limits: {budget: 9}
dependencies: [{between: [a@side, b@band], kind: joint, why: so, else: [1], table: [[x, 0-4, 2, 3]]}]
samples: [{text: none, find: {}}, {text: p, find: {a: p}}]
`

// FuzzParse: no text of a rubric does harm, and what is read is a fixpoint in
// canonical bytes that Lint, Combine and signatures can work with.
func FuzzParse(f *testing.F) {
	f.Add([]byte(small))
	for _, name := range []string{"dob", "email", "passport"} {
		text, err := library.Starter("x", []string{name}, day)
		if err != nil {
			f.Fatal(err)
		}
		f.Add([]byte(text))
	}
	pub, key := newKey(1)
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > 16<<10 {
			return
		}
		r, err := rubric.Parse("x", b)
		if err != nil {
			var e *rubric.Error
			if !errors.As(err, &e) {
				t.Fatalf("%T: %v", err, err)
			}
			return
		}
		again, err := rubric.ParseCanonical("x", r.Canonical())
		if err != nil || !bytes.Equal(again.Canonical(), r.Canonical()) || again.Hash() != r.Hash() {
			t.Fatalf("canonical bytes are no fixpoint: %v", err)
		}
		lint.Check(r, day)
		back, err := rubric.Verify("x", rubric.Sign(r, key), keysOf(pub))
		if err != nil || back.Hash() != r.Hash() {
			t.Fatal(err)
		}
		one := rubric.Combine(r)
		for _, name := range one.Fields() {
			for _, c := range classes {
				last := flow.Bits(-1)
				for _, o := range one.Operators(name, c) {
					if cost := one.Cost(name, o); cost < last || cost > one.TopRisk() {
						t.Fatalf("%v of %s costs %v after %v", o, name, cost, last)
					} else {
						last = cost
					}
				}
			}
		}
	})
}

// FuzzVerify: nothing but what was signed is accepted.
func FuzzVerify(f *testing.F) {
	pub, key := newKey(1)
	r, err := rubric.Parse("x", []byte(small))
	if err != nil {
		f.Fatal(err)
	}
	good := rubric.Sign(r, key)
	f.Add(good)
	f.Fuzz(func(t *testing.T, b []byte) {
		if _, err := rubric.Verify("x", b, keysOf(pub)); err == nil && !bytes.Equal(b, good) {
			t.Fatal("what was not signed was accepted")
		}
	})
}

// FuzzMatch: matches lie within the text, in order, and each but those of a
// text that is too long is of a field that there is.
func FuzzMatch(f *testing.F) {
	r, err := rubric.Parse("x", example(f))
	if err != nil {
		f.Fatal(err)
	}
	one := rubric.Combine(r)
	f.Add("passenger.dob", "1985-03-02")
	f.Add("", "Maria Silva, born 1985-03-02, +33 6 12 34 56 78, 12 4111 1111 1111 1111 12/27, Visa")
	f.Add("x", "DE89370400440532013000 from\xff Bob \u00e9\u0301 12 Mill Road")
	f.Fuzz(func(t *testing.T, path, text string) {
		last := 0
		for _, m := range one.Match(path, text) {
			if m.Start < last || m.End < m.Start || m.End > len(text) || m.Start == m.End && text != "" {
				t.Fatalf("%+v in %d bytes after %d", m, len(text), last)
			}
			last = m.Start
		}
	})
}

// FuzzGeneralize: each coarser level of a value is a function of the finer
// one, what is inside of the population is so at every level, and no label
// tells the value.
func FuzzGeneralize(f *testing.F) {
	r, err := rubric.Parse("x", example(f))
	if err != nil {
		f.Fatal(err)
	}
	one := rubric.Combine(r)
	f.Add("dob", "1985-03-02", "2 March 1985")
	f.Add("payment-token", "4111 1111 1111 1234", "5111111111111234")
	f.Add("address", "3 Rue X, 69002 Lyon, France", "1 Weg, Villeurbanne")
	f.Add("legal-name", "Maria Silva", "Silva, Mario")
	f.Add("phone", "+33 6 12 34 56 78", "0033 1 23 45 67 89")
	f.Add("card-brand", "visa", "4111 1111 1111 1234")
	f.Fuzz(func(t *testing.T, field, a, b string) {
		levels := len(r.LevelNames(field))
		known := false
		for _, n := range one.Fields() {
			known = known || n == field
		}
		same := false
		for l := 0; l <= levels; l++ {
			x, errX := one.Generalize(field, l, a)
			y, errY := one.Generalize(field, l, b)
			if !known {
				if errX == nil || errY == nil {
					t.Fatalf("level %d of an unknown field", l)
				}
				return
			}
			if errX != nil || errY != nil {
				if errX != nil && !errors.Is(errX, rubric.ErrOutside) || errY != nil && !errors.Is(errY, rubric.ErrOutside) {
					t.Fatal(errX, errY)
				}
				if l > 0 && errX != nil {
					if _, err := one.Generalize(field, 0, a); err == nil {
						t.Fatalf("inside of the population, and without level %d", l)
					}
				}
				return
			}
			if same && x != y {
				t.Fatalf("level %d tells apart what level %d does not", l, l-1)
			}
			same = x == y
		}
		if one.Normal(field, one.Normal(field, a)) == "" && a != "" && one.Normal(field, a) != "" {
			t.Fatal("a normal form vanishes")
		}
	})
}
