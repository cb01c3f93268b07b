package rubric_test

import (
	"crypto/ed25519"
	"testing"
	"time"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/rubric"
)

// BenchmarkParse: YAML to compiled.
func BenchmarkParse(b *testing.B) {
	text := example(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := rubric.Parse("x", text); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkVerify: what a start does for each rubric.
func BenchmarkVerify(b *testing.B) {
	pub, key := newKey(1)
	signed := rubric.Sign(parse(b, example(b)), key)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := rubric.Verify("x", signed, keysOf(pub)); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkResolve: finding the rubrics of a release.
func BenchmarkResolve(b *testing.B) {
	pub, key := newKey(1)
	reg := rubric.NewRegistry(rubric.Config{Keys: []ed25519.PublicKey{pub}, Now: func() time.Time { return day }})
	if _, err := reg.Add("x", rubric.Sign(parse(b, example(b)), key)); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := reg.Resolve(rubric.Query{Action: "book-seat", Class: flow.SemiTrusted}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkMatch: the clauses of the example over a mail of 1 KB.
func BenchmarkMatch(b *testing.B) {
	r := rubric.Combine(parse(b, example(b)))
	text := ""
	for len(text) < 1000 {
		text += "Please seat Maria Silva, born 1985-03-02, at the window; call +33 6 12 34 56 78 if 4111 1111 1111 1111 fails. "
	}
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		r.Match("notes", text)
	}
}

// BenchmarkJoint: views of two fields that depend on each other.
func BenchmarkJoint(b *testing.B) {
	r := rubric.Combine(parse(b, example(b)))
	views := []rubric.View{{Field: "address", Level: 3}, {Field: "phone", Level: 1}}
	b.ReportAllocs()
	for b.Loop() {
		r.Joint(views)
	}
}
