package match

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/margaydev/margay/secret/canon"
	"github.com/margaydev/margay/secret/match/memo"
)

// A matcher that dozes over raw bytes finds what one finds that reads every unit, and
// holds the same.
func TestDozingFindsTheSame(t *testing.T) {
	for _, dense := range []bool{false, true} {
		dozingFindsTheSame(t, dense)
	}
}

func dozingFindsTheSame(t *testing.T, dense bool) {
	t.Helper()
	rng := rand.New(rand.NewPCG(11, 12))
	values := []string{"q7Zt4mWc9LxB2nVk", "_hook#9f31c07a2e45", "velvet lantern cobalt harbor", "83920417556"}
	ix := many(t, len(values), func(i int) string { return values[i] })
	if ix.dense = dense; dense { // as if there were very many
		ix.absent = new(memo.Absent)
	}
	words := strings.Fields("the committee met again in the long hall by the river and went through their papers - one after another; rain: kept_falling on! #roof $5 91 harbors lantern 8392 q7Zt4 x")
	hits, slept := 0, 0
	for range 3000 {
		var b strings.Builder
		for range 1 + rng.IntN(40) {
			switch rng.IntN(12) {
			case 0:
				v := values[rng.IntN(len(values))]
				b.WriteString(v[:1+rng.IntN(len(v))])
			case 1:
				b.WriteString(strings.Repeat([]string{" ", ".", "-", "_"}[rng.IntN(4)], rng.IntN(14)))
			case 2:
				b.WriteString(strings.Join(strings.Split(values[rng.IntN(len(values))], ""), []string{"", " ", ".", "--"}[rng.IntN(4)]))
			default:
				b.WriteString(words[rng.IntN(len(words))] + " ")
			}
		}
		text := []byte(b.String())
		plain, dozing := ix.NewMatcher(0, 4096), ix.NewMatcher(0, 4096)
		var want, got []Hit
		for at := 0; at < len(text); {
			n := min(1+rng.IntN(40), len(text)-at)
			want = plain.Write(want, canon.Units(nil, text[at:at+n], int64(at)))
			got = dozing.Read(got, text[at:at+n], int64(at))
			at += n
			if dozing.doze.on {
				slept++
			}
			if h, w := dozing.Hold(), plain.Hold(); h != w {
				t.Fatalf("%q is held from %d, want %d (dozing: %t)", text[:at], h, w, dozing.doze.on)
			}
			if rng.IntN(8) == 0 {
				other := ix.NewMatcher(0, 4096)
				dozing.CopyTo(other)
				if !dozing.SameAs(other) && len(dozing.alpha[skeleton].cands) == 0 && dozing.alpha[skeleton].run.n == 0 && dozing.alpha[skeleton].tail == (tail{}) {
					t.Fatalf("a copy is not the same after %q", text[:at])
				}
				dozing = other
			}
		}
		want, got = plain.Close(want), dozing.Close(got)
		if !slices.Equal(got, want) {
			t.Fatalf("%q has %v, want %v", text, got, want)
		}
		hits += len(want)
	}
	if hits < 1000 || slept < 1000 {
		t.Errorf("only %d hits, and %d times asleep", hits, slept)
	}
}
