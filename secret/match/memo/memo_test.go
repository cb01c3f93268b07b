package memo

import (
	"math/rand/v2"
	"testing"
)

// What is remembered is what was put in, of the same letters, or nothing.
func TestRemembers(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	tags, absent := new(Tags), new(Absent)
	tagOf, gone := map[uint64]uint32{}, map[uint64]bool{}
	kept := 0
	for i := range 400_000 {
		var g Gram
		for range 12 {
			g = g.Then(Letter[letters[rng.IntN(len(letters))]])
		}
		if i%2 == 0 { // few, so that they come again
			g = Gram(0).Then(Letter[letters[rng.IntN(62)]]).Then(Letter[letters[rng.IntN(62)]])
		}
		w4, w6 := g.Bytes(4), g.Bytes(6)
		if tag, ok := tags.Get(g); ok {
			if want, had := tagOf[w4]; !had || tag != want {
				t.Fatalf("%x: the tag is %x, want %x (%t)", w4, tag, want, had)
			}
			kept++
		}
		if absent.Has(g) && !gone[w6] {
			t.Fatalf("%x was not put in", w6)
		}
		tag := rng.Uint32N(1 << tagBits)
		tags.Put(g, tag)
		tagOf[w4] = tag
		if got, ok := tags.Get(g); !ok || got != tag {
			t.Fatalf("%x: the tag is %x, %t; want %x", w4, got, ok, tag)
		}
		if rng.IntN(2) == 0 {
			absent.Put(g)
			gone[w6] = true
			if !absent.Has(g) {
				t.Fatalf("%x is forgotten at once", w6)
			}
		}
	}
	if kept < 100_000 {
		t.Errorf("%d tags are remembered", kept)
	}
	if a, b := TagsOf([2]uint64{1, 2}), TagsOf([2]uint64{1, 2}); a != b || a == TagsOf([2]uint64{1, 3}) {
		t.Error("tags are not by key")
	}
}
