package quote

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/margaydev/margay/label"
	"github.com/margaydev/margay/taint/observe"
)

func TestQuotes(t *testing.T) {
	untrusted, private := label.Label{Integrity: label.Untrusted}, label.Label{Confidentiality: label.Private}
	const mine = "Please look at my mail every morning, and tell me in three lines what is new there."
	const told = "The landlord writes that the rent has to go to another account from now on, US12 2000 0000 1212 1212 12."
	q := New(observe.FourPoint().Lattice, 7)
	if got := q.Find(told); got != nil {
		t.Errorf("nothing was said, and found %v", got)
	}
	q.Remember("You asked: "+mine+"\nNow: "+told, untrusted, []string{mine})
	q.Remember(strings.Repeat("nothing that anybody wrote. ", 9), label.Label{}, nil)
	for text, want := range map[string]string{
		mine:    "",
		"short": "",
		strings.Repeat("nothing that anybody wrote. ", 9): "",
		"Go on.\n\nSummary:\n  " + told + "\nThanks.":     fmt.Sprint([]Quote{{17, 17 + 2 + len(told), untrusted}}),
		told[20:]: fmt.Sprint([]Quote{{0, len(told) - 20, untrusted}}),
		strings.ReplaceAll(told, "landlord", "lord"): fmt.Sprint([]Quote{{0, len(told) - 4, untrusted}}),
	} {
		got := ""
		if f := q.Find(text); f != nil {
			got = fmt.Sprint(f)
		}
		if got != want {
			t.Errorf("in %q found %s, want %s", text, got, want)
		}
	}
	// What was the user's before anybody said it stays so.
	late := "This is what I always say when somebody asks me for the way to the station, at any time of the day."
	if got := q.Find(late); got != nil {
		t.Errorf("found %v", got)
	}
	q.Remember(late, private, nil)
	if got := q.Find(late); got != nil {
		t.Errorf("found %v in a text that was there before", got)
	}
	if got := q.Find(late + "!"); len(got) != 1 || got[0].Label != private {
		t.Errorf("found %v", got)
	}
	for i := range 40 {
		var b strings.Builder
		for k := range maxQuoted / 16 {
			fmt.Fprintf(&b, "%016d%016d", i, k)
		}
		q.Remember(b.String(), untrusted, nil)
	}
	if len(q.blocks) > maxQuoted || len(q.oldest) > maxQuoted {
		t.Errorf("%d blocks are remembered", len(q.blocks))
	}
}

// Whatever was said is found, wherever it stands, and spans are in order and
// within the text.
func TestQuotesAreFound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q, text := New(observe.FourPoint().Lattice, 7), rapid.StringMatching(`[a-z \n]{0,80}`)
		said := rapid.StringMatching(`[A-Z \n]{64,200}`).Draw(t, "said")
		q.Remember(said, label.Label{Integrity: label.Untrusted}, nil)
		from := rapid.IntRange(0, len(said)-2*Block+1).Draw(t, "from")
		run := said[from : from+rapid.IntRange(2*Block-1, len(said)-from).Draw(t, "run")]
		before := text.Draw(t, "before")
		found := q.Find(before + run + text.Draw(t, "after"))
		end, covered := 0, false
		for _, f := range found {
			if f.Start < end || f.End <= f.Start || f.End > len(before)+len(run)+80 {
				t.Fatalf("spans %v", found)
			}
			end = f.End
			covered = covered || f.Start < len(before)+len(run) && f.End > len(before)
		}
		if !covered {
			t.Fatalf("%q is not found in %q: %v", run, before, found)
		}
	})
}
