package document_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/rubric/document"
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

// What YAML says in several ways has one canonical form.
func TestCanonical(t *testing.T) {
	d, err := document.Read("x", []byte(small), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		old, new string
		same     bool
	}{
		{"limits: {budget: 9}", "limits: {'budget': 9.000}", true},
		{"limits: {budget: 9}", "limits: {budget: 0x9} # a comment", true},
		{"limits: {budget: 9}", "limits: {budget: 9.000001}", false},
		{"title: a small one", `title: "a small\x20one"`, true},
		{"title: a small one", "title: a small One", false},
	} {
		o, err := document.Read("x", []byte(strings.Replace(small, c.old, c.new, 1)), nil)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Equal(o.Canonical(), d.Canonical()) != c.same {
			t.Errorf("%s: %s", c.new, o.Canonical())
		}
	}
	for _, bad := range []string{"limits: {budget: 9.0000001}", "limits: {budget: 1e400}", "limits: {budget: 9, budget: 9}", "limits: {bugdet: 9}"} {
		if _, err := document.Read("x", []byte(strings.Replace(small, "limits: {budget: 9}", bad, 1)), nil); err == nil {
			t.Errorf("%s was read", bad)
		}
	}
}

func TestReadCanonicalRefuses(t *testing.T) {
	d, err := document.Read("x", []byte(small), nil)
	if err != nil {
		t.Fatal(err)
	}
	good := string(d.Canonical())
	for name, b := range map[string]string{
		"space": " " + good, "line": good + "\n", "twice": strings.Replace(good, `{"coverage"`, `{"version":1,"coverage"`, 1), "YAML": small,
		"escape": strings.Replace(good, "small", `sm\u0061ll`, 1), "number": strings.Replace(good, `"budget":9`, `"budget":9.0`, 1),
	} {
		if _, err := document.ReadCanonical(name, []byte(b)); !errors.Is(err, document.ErrCanonical) && (err == nil || name != "YAML") {
			t.Errorf("%s: %v", name, err)
		}
	}
	// What is signed includes nothing any more.
	if _, err := document.ReadCanonical("include", []byte(strings.Replace(good, `"fields"`, `"include":[{"file":"x.yaml"}],"fields"`, 1))); err == nil || !strings.Contains(err.Error(), "include") {
		t.Errorf("includes in canonical bytes: %v", err)
	}
}

func TestBits(t *testing.T) {
	for s, want := range map[string]flow.Bits{"": 0, "1": flow.Bit, "0.000001": 1, "13.3": 13_300_000} {
		if got, err := document.Bits(json.Number(s)); err != nil || got != want {
			t.Errorf("%q: %v, %v", s, got, err)
		}
	}
	for _, s := range []string{"-1", "0.0000001", "x", "1e30"} {
		if got, err := document.Bits(json.Number(s)); err == nil {
			t.Errorf("%q: %v", s, got)
		}
	}
}

// FuzzReadCanonical: bytes that are read as canonical are the canonical ones.
func FuzzReadCanonical(f *testing.F) {
	d, err := document.Read("x", []byte(small), nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(d.Canonical())
	f.Fuzz(func(t *testing.T, b []byte) {
		d, err := document.ReadCanonical("x", b)
		if err == nil && !bytes.Equal(d.Canonical(), b) {
			t.Fatal("bytes that are not canonical were read")
		}
	})
}

func FuzzSignature(f *testing.F) {
	f.Add("a*", "*b", "book", "air*line", "airport line")
	f.Fuzz(func(t *testing.T, toolA, toolB, action, pattern, tool string) {
		a := document.Signature{Actions: []string{action}, Tools: []string{toolA, pattern}}
		b := document.Signature{Actions: []string{action}, Tools: []string{toolB, pattern}}
		r := &document.Release{Action: action, Tool: tool}
		if a.Matches(r) && b.Matches(r) && !a.Overlaps(&b) {
			t.Fatal("a release matches both of two signatures that do not overlap")
		}
		if a.Overlaps(&b) != b.Overlaps(&a) {
			t.Fatal("overlap is not symmetric")
		}
	})
}
