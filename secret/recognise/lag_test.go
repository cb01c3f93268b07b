package recognise

import (
	"math"
	"strings"
	"testing"
)

// Where gates close at different places, Apart says how far that is.
func TestLag(t *testing.T) {
	set, err := New([]Rule{{ID: "n", Regex: `\b(\d{9})\b`, Gate: []string{"word"}}})
	if err != nil {
		t.Fatal(err)
	}
	read := func(n int) *Scanner {
		s := set.NewScanner()
		s.Write([]byte("word" + strings.Repeat(" ", n)))
		return s
	}
	for _, c := range []struct{ own, other int }{{10, 10}, {10, 7}, {7, 10}, {gateFor + 9, 50}, {50, gateFor + 9}, {gateFor + 9, gateFor + 3}} {
		s, o := read(c.own), read(c.other)
		var lag Lag
		s.LagOf(o, &lag)
		left := func(n int) int64 { return int64(max(gateFor-n, 0)) }
		want := int64(math.MaxInt64)
		if a, b := left(c.own), left(c.other); a != b {
			want = min(a, b)
		}
		if got := s.Apart(&lag); got != want {
			t.Errorf("%d and %d bytes behind the word, gates are apart after %d, want %d", c.own, c.other, got, want)
		}
		late := set.NewScanner()
		s.CopyTo(late)
		late.Catch(&lag)
		if a, b := max(late.gates[0]-late.pos, 0), max(o.gates[0]-o.pos, 0); a != b {
			t.Errorf("%d and %d bytes behind the word, a copy's gate is open for %d, want %d", c.own, c.other, a, b)
		}
		s.Write([]byte("word"))
		if got := s.Apart(&lag); got != math.MaxInt64 {
			t.Errorf("gates are apart after %d, though both are open anew", got)
		}
	}
}
