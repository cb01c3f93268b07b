package ahocorasick

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestFinds: the states tell, after each byte, which words end there.
func TestFinds(t *testing.T) {
	var class [256]uint8
	class['a'], class['A'], class['b'] = 1, 1, 2
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(rapid.StringMatching(`[ab]{1,4}`), 1, 6).Draw(t, "words")
		text := rapid.StringMatching(`[abcA]{0,40}`).Draw(t, "text")
		a := New(class, 3)
		for _, w := range words {
			a.Add(w)
		}
		out := make([][]string, a.Len())
		for _, w := range words {
			path := a.Add(w)
			if last := path[len(path)-1]; !slices.Contains(out[last], w) {
				out[last] = append(out[last], w)
			}
		}
		a.Link(func(s, suffix uint16) { out[s] = append(out[s], out[suffix]...) })
		s := uint16(0)
		for i := range len(text) {
			s = a.Step(s, text[i])
			for _, w := range words {
				ends := strings.HasSuffix(strings.ToLower(text[:i+1]), w)
				if ends != slices.Contains(out[s], w) {
					t.Errorf("%q in %q: %v", w, text[:i+1], !ends)
				}
			}
		}
	})
}
