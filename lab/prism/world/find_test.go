package world

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// What the generator recorded is found, and little else.
func TestFinderAgreesWithTheGenerator(t *testing.T) {
	r := Payments(4)
	f := r.Finder()
	missed, emitted, extra := 0, 0, 0
	all := tasks(t, r, 300)
	for i := range all {
		for _, turn := range played(&all[i], len(Agents)) {
			found := f.Find(turn.Text)
			for _, e := range turn.Emissions {
				emitted++
				// Two passwords may share a word, so the secret may be another.
				if !slices.ContainsFunc(found, func(o Emission) bool { return o.Start < e.End && e.Start < o.End }) {
					missed++
					t.Logf("missed %+v %q", e, turn.Text[e.Start:e.End])
				}
			}
			for _, o := range found {
				if !slices.ContainsFunc(turn.Emissions, func(e Emission) bool { return o.Start < e.End && e.Start < o.End }) {
					extra++
					t.Logf("extra %+v %q", o, turn.Text[o.Start:o.End])
				}
			}
		}
	}
	if missed > 0 || extra > 0 {
		t.Errorf("of %d emissions %d are missed; %d more are found", emitted, missed, extra)
	}
}

func TestFind(t *testing.T) {
	r := Payments(4)
	f := r.Finder()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, Secrets-1).Draw(t, "secret")
		name := rapid.SampledFrom(append(Encodings(), Raw)).Draw(t, "encoding")
		value := r.Secrets[n].Value
		shown := value
		if name != Raw {
			shown, _ = Encode(name, value)
		}
		before := rapid.StringMatching(`[^a-zA-Z0-9]{0,10}`).Draw(t, "before")
		text := before + shown + rapid.StringMatching(`[^a-zA-Z0-9]{0,10}`).Draw(t, "after")
		found := f.Find(text)
		if !slices.ContainsFunc(found, func(e Emission) bool {
			return e.Secret == n && e.Whole && strings.Contains(text[e.Start:e.End], shown)
		}) {
			t.Fatalf("%q in %q: %+v", shown, text, found)
		}
		for i, e := range found {
			if i > 0 && e.Start < found[i-1].End {
				t.Fatalf("overlap: %+v", found)
			}
		}
	})
	if got := f.Find(r.Secrets[7].Value[:MinFragment-1] + "~"); len(got) > 0 {
		t.Errorf("seven characters are %+v", got)
	}
}
