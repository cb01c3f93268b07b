package tagger

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/margaydev/margay/lab/traj/world"
)

// What a fold leaves out is drawn neither in training nor in calibration: no template
// of its sections, none of another author's with its words, no such phrase in a list,
// no text of its category of worlds/dev.
func TestFoldLeavesOut(t *testing.T) {
	names, domain := FoldCategories()
	base, err := NewGrammar("")
	if err != nil {
		t.Fatal(err)
	}
	all := slices.Clone(names)
	for _, n := range names {
		if !slices.Contains(all, domain[n]) {
			all = append(all, domain[n])
		}
	}
	for i, fold := range all {
		if testing.Short() && i%5 > 0 {
			continue
		}
		g, err := NewGrammar(fold)
		if err != nil {
			t.Fatal(err)
		}
		own, others := 0, 0
		for i := range g.templates {
			x := &g.templates[i]
			left := slices.Contains(g.without.sections, x.Category) || g.without.about(x.Text)
			switch {
			case left != x.Left || left && x.Part != Test:
				t.Fatalf("%s: %q is in part %d", fold, x.Text, x.Part)
			case !left && x.Part != base.templates[i].Part:
				t.Fatalf("%s: %q changed its part", fold, x.Text)
			case left && slices.Contains(g.without.sections, x.Category):
				own++
			case left:
				others++
			}
		}
		if own < 20 || others < 100 || own+others > len(g.templates)/2 {
			t.Errorf("%s leaves out %d templates of its own and %d others", fold, own, others)
		}
		for name, list := range g.lists {
			if slices.ContainsFunc(list, g.without.about) {
				t.Errorf("%s: the list %s has its subject", fold, name)
			}
		}
	}
	for _, c := range world.Dev().Categories() {
		if !slices.Contains(names, c) {
			t.Errorf("nothing says what is left out with %s", c)
		}
	}
}

// A category of the worlds takes its texts along, and a text of another with enough of
// its words.
func TestFoldLeavesOutOfWorlds(t *testing.T) {
	s, err := newSubject("flight-search")
	if err != nil {
		t.Fatal(err)
	}
	all, kept := worldTexts(nil), worldTexts(s)
	if len(kept) > len(all)*19/20 || len(kept) < len(all)/2 {
		t.Errorf("%d of %d texts are kept", len(kept), len(all))
	}
	for i := range kept {
		if s.about(kept[i].Text) {
			t.Errorf("%q is kept", kept[i].Text)
		}
	}
	for text, want := range map[string]bool{
		"two suitcases, please":                                 false,
		"The airline lost both suitcases":                       true,
		"a suitcase and another suitcase":                       false,
		"[address~: the airport bench]":                         false,
		"flying {weekday!} with one suitcase":                   true,
		"{airport!} to {terminal!}":                             true,
		`the pilot\nthe runway`:                                 true,
		"[diagnosis~: asthma], and nothing else in this letter": false,
	} {
		if got := s.about(text); got != want {
			t.Errorf("%q: %t", text, got)
		}
	}
}

// The same fold is the same corpus each time; another fold is another.
func TestFoldHash(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: reads all of Go's sources")
	}
	hash := func(fold string) string {
		c, err := NewCorpus(fold)
		if err != nil {
			t.Fatal(err)
		}
		return c.Hash
	}
	a := hash("payments")
	if a != hash("payments") || a == hash("domain-trade") || a == corpus(t).Hash {
		t.Error("the hash does not name the fold")
	}
}

// A fold that is there from the same corpus and options is not trained again.
func TestTrainFold(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: reads all of Go's sources")
	}
	dir := t.TempDir()
	o := FoldOptions{Seed: 1, Steps: 1, Texts: 2}
	train := func() (*Card, bool) {
		t.Helper()
		steps := false
		o.Progress = func(s string) { steps = steps || strings.HasPrefix(s, "step ") }
		c, err := TrainFold(t.Context(), dir, "tax-filing", o)
		if err != nil {
			t.Fatal(err)
		}
		return c, steps
	}
	first, trained := train()
	if !trained || first.Fold != "tax-filing" || first.Left < 100 {
		t.Fatalf("%+v", first)
	}
	weights, card := FoldFiles(dir, "tax-filing")
	was, err := os.Stat(weights)
	if err != nil {
		t.Fatal(err)
	}
	if again, trained := train(); trained || again.Weights != first.Weights {
		t.Error("it is trained again")
	}
	if now, err := os.Stat(weights); err != nil || !now.ModTime().Equal(was.ModTime()) {
		t.Errorf("it is written again: %v", err)
	}
	b, err := os.ReadFile(card)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(card, []byte(strings.Replace(string(b), first.Corpus, "0", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, trained := train(); !trained {
		t.Error("a fold of another corpus is kept")
	}
	o.Steps = 2
	if _, trained := train(); !trained {
		t.Error("a fold of other steps is kept")
	}
}
