package verify

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/margaydev/margay/lab/reference/differ"
)

func rules(t testing.TB) *differ.Rules {
	t.Helper()
	r, err := differ.Default()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func run(t *testing.T, o Options, parts ...Part) *State {
	t.Helper()
	o.Workers = 2
	s, err := Run(t.Context(), o, parts)
	if err != nil {
		t.Fatal(err)
	}
	for name, p := range s.Parts {
		for _, d := range p.Result.Differences {
			t.Errorf("%s: %s, %s: %s\ntext %s cut at %v", name, d.Where, d.Mode, d.What, d.Text, d.Cuts)
		}
		for mode, h := range p.Result.Holds {
			if err := h.Check(); err != nil {
				t.Errorf("%s: %v", mode, err)
			}
		}
	}
	return s
}

// TestVectors compares drawn vectors in drawn encodings under every split in two.
// MARGAY_ALL_VECTORS draws one of a hundred; margay-lab engine verify reads all.
func TestVectors(t *testing.T) {
	n := 25
	if testing.Short() {
		n = 2
	}
	if os.Getenv("MARGAY_ALL_VECTORS") != "" {
		n = 1656
	}
	p, err := Vectors(rules(t), positives(t), n, 1)
	if err != nil {
		t.Fatal(err)
	}
	r := run(t, Options{Seed: 1}, p).Parts["vectors"].Result
	if r.Texts != n || r.Findings < int64(n) || r.Readings < int64(150*n) {
		t.Errorf("%d texts, %d findings, %d readings", r.Texts, r.Findings, r.Readings)
	}
}

// TestDrawn compares drawn texts, in every mode.
func TestDrawn(t *testing.T) {
	size := int64(200_000)
	if testing.Short() {
		size = 15_000
	}
	p, err := Drawn(rules(t), size, 1)
	if err != nil {
		t.Fatal(err)
	}
	r := run(t, Options{Seed: 1}, p).Parts["drawn"].Result
	if r.Bytes < size || len(r.Holds) != 4 || r.Findings < int64(r.Texts) {
		t.Errorf("%d bytes in %d texts, %d findings, modes %v", r.Bytes, r.Texts, r.Findings, r.Holds)
	}
}

// TestGoesOn: a run that is stopped goes on where it was, to the same result.
func TestGoesOn(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a.go", "b/c.md", "d.bin"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(strings.Repeat(name+" says password: k4Qz!mfp9Lw\x00\xff\n", 1500)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	parts := func() []Part {
		c, err := Corpus(rules(t), dir, 34_000, 1)
		if err != nil {
			t.Fatal(err)
		}
		d, err := Drawn(rules(t), 20_000, 1)
		if err != nil {
			t.Fatal(err)
		}
		return []Part{c, d}
	}
	want := run(t, Options{Seed: 1, batch: 2}, parts()...)
	if r := want.Parts["corpus"].Result; r.Bytes != 34_000 || r.Findings == 0 {
		t.Fatalf("%d bytes, %d findings", r.Bytes, r.Findings)
	}

	state := filepath.Join(t.TempDir(), "state.json")
	ctx, stop := context.WithCancel(t.Context())
	all := parts()
	each := all[1].each
	all[1].each = func(ctx context.Context, from int, yield func(item) bool) error {
		n := 0
		return each(ctx, from, func(i item) bool {
			if n++; n == 4 {
				stop()
			}
			return yield(i)
		})
	}
	s, err := Run(ctx, Options{Seed: 1, State: state, Workers: 2, batch: 2}, all)
	if !errors.Is(err, context.Canceled) || !s.Parts["corpus"].Done {
		t.Fatalf("%v, %+v", err, s.Parts["corpus"])
	}
	if p := s.Parts["drawn"]; p.Done || p.Next == 0 {
		t.Fatalf("stopped at %d", p.Next)
	}
	if got := run(t, Options{Seed: 1, State: state, batch: 2}, parts()...); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	other, err := Drawn(rules(t), 7, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range []Options{{Seed: 2, State: state}, {Seed: 1, State: state}} {
		if _, err := Run(t.Context(), o, []Part{other}); !errors.Is(err, ErrState) {
			t.Error(err)
		}
	}
}

// longest bounds the texts that are fuzzed: short ones are changed more often.
const longest = 500

// FuzzEngines: the product finds in any text what the reference finds, under any
// split. Seed draws the split, the mode, and what stands around the text.
func FuzzEngines(f *testing.F) {
	ms, err := modes(rules(f))
	if err != nil {
		f.Fatal(err)
	}
	src, err := Source()
	if err != nil {
		f.Fatal(err)
	}
	for seed := range uint64(60) {
		text := src.Drawer(seed).Text()
		f.Add(text[:min(len(text), longest)], seed)
	}
	f.Fuzz(func(t *testing.T, text []byte, seed uint64) {
		d, m := src.Drawer(seed), &ms[seed%uint64(len(ms))]
		if seed/8%2 == 0 {
			text = d.Around(text)
		}
		text = text[:min(len(text), longest)]
		read := m.pair.Read(text)
		if diff := read.Under(d.Cuts(len(text))); diff != nil {
			t.Fatalf("%s, text %q: %v", m.name, text, diff)
		}
		var h differ.Holds
		if diff := read.Holds(d.Cuts(len(text)), &h); diff != nil {
			t.Fatalf("%s, text %q: %v", m.name, text, diff)
		}
	})
}
