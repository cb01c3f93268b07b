package app

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/margaydev/margay/defend/tagger"
	train "github.com/margaydev/margay/lab/tagger"
	trajworld "github.com/margaydev/margay/lab/traj/world"
)

// Each category is measured by the network that was trained without it, and by the one
// without its domain. A fold that is missing, or is another one's, stops the run.
func TestFoldRows(t *testing.T) {
	mine, err := newOurs(&options{})
	if err != nil {
		t.Fatal(err)
	}
	w := trajworld.Dev()
	names, err := foldNames(w.Categories())
	if err != nil {
		t.Fatal(err)
	}
	weights, err := os.ReadFile("../../../defend/tagger/weights.bin")
	if err != nil {
		t.Fatal(err)
	}
	m, err := tagger.Load(weights)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	put := func(fold string, c train.Card) {
		t.Helper()
		bin, card := train.FoldFiles(dir, fold)
		b, err := json.Marshal(c)
		if err := errors.Join(err, os.WriteFile(bin, weights, 0o600), os.WriteFile(card, b, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	card := func(fold string) train.Card {
		if fold == train.FoldNone {
			fold = ""
		}
		return train.Card{Fold: fold, Weights: m.Hash(), Steps: 7}
	}
	for _, fold := range names {
		put(fold, card(fold))
	}
	rows, of, err := mine.folds(dir, w)
	if err != nil || of.Steps != 7 || len(rows) != 1+2*len(w.Categories()) {
		t.Fatalf("%d rows, %+v, %v", len(rows), of, err)
	}
	for _, r := range rows[1:] {
		kind, category, _ := strings.Cut(r.Slice, "=")
		if kind != "loro" && kind != "loco" || category != r.Only || !slices.Contains(w.Categories(), category) || r.Defence.Name() != taggerName {
			t.Errorf("%s of %s on %q", r.Slice, r.Defence.Name(), r.Only)
		}
	}
	for name, spoil := range map[string]func(){
		"other steps":     func() { c := card("payments"); c.Steps = 8; put("payments", c) },
		"another fold's":  func() { put("payments", card("tax-filing")) },
		"another network": func() { c := card("payments"); c.Weights = "0"; put("payments", c) },
		"missing":         func() { _ = os.Remove(filepath.Join(dir, "payments.bin")) },
	} {
		spoil()
		if _, _, err := mine.folds(dir, w); err == nil {
			t.Errorf("%s: it is used", name)
		}
		put("payments", card("payments"))
	}
	if _, _, err := mine.folds(dir, w); err != nil {
		t.Errorf("put right again: %v", err)
	}
	if _, err := foldNames([]string{"gardening"}); err == nil {
		t.Error("a category without a subject has a fold")
	}
}

// Every ablation of the tagger is another defence in a slice of its own.
func TestTaggerAblations(t *testing.T) {
	mine, err := newOurs(&options{})
	if err != nil {
		t.Fatal(err)
	}
	o := &options{}
	o.traj.defences, o.traj.setting = []string{taggerName}, trajworld.Dev()
	rows, _, err := mine.rows(o)
	if err != nil {
		t.Fatal(err)
	}
	had := map[string]bool{}
	for _, r := range rows {
		if r.Defence.Name() != taggerName || had[r.Slice] {
			t.Errorf("%s of %s", r.Slice, r.Defence.Name())
		}
		had[r.Slice] = true
	}
	for _, want := range []string{"ablation=no-screener", "ablation=no-labels", "ablation=no-known-values"} {
		if !had[want] {
			t.Errorf("there is no %s", want)
		}
	}
}
