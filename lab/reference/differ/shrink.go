package differ

import "slices"

// tries bounds how often Shrink asks.
const tries = 3000

// Shrink leaves out of a text and of its cuts what a difference does not need.
// Differs is asked whether the engines still differ.
func Shrink(text []byte, cuts []int, differs func(text []byte, cuts []int) bool) ([]byte, []int) {
	left := tries
	ask := func(t []byte, c []int) bool {
		left--
		return left >= 0 && differs(t, c)
	}
	for size := len(text) / 2; size > 0; size /= 2 {
		for at := 0; at+size <= len(text); {
			t := slices.Delete(slices.Clone(text), at, at+size)
			if c := without(cuts, at, size, len(t)); ask(t, c) {
				text, cuts = t, c
				continue
			}
			at += size
		}
	}
	for i := 0; i < len(cuts); {
		if c := slices.Delete(slices.Clone(cuts), i, i+1); ask(text, c) {
			cuts = c
			continue
		}
		i++
	}
	return text, cuts
}

// without returns the cuts of a text from which size bytes were taken, so that n are
// left.
func without(cuts []int, at, size, n int) (out []int) {
	for _, c := range cuts {
		if c > at {
			c = max(at, c-size)
		}
		if c > 0 && c < n && (len(out) == 0 || c > out[len(out)-1]) {
			out = append(out, c)
		}
	}
	return out
}
