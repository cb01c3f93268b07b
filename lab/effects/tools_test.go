package effects

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/margaydev/margay/taint/suggest"
)

// TestCard: the model that Margay ships was fitted to the labels that are here, by the
// split that is here, and the split is the one that was frozen.
func TestCard(t *testing.T) {
	b, err := os.ReadFile("../../taint/suggest/model.json")
	if err != nil {
		t.Fatal(err)
	}
	var card Card
	if err := json.Unmarshal(b, &card); err != nil {
		t.Fatal(err)
	}
	labels, err := open("", "tools.labels.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	split, err := open("", "split.txt")
	if err != nil {
		t.Fatal(err)
	}
	if card.Labels != labels.hash() || card.Split != split.hash() {
		t.Errorf("the card is of the labels %s and the split %s, not of %s and %s", card.Labels, card.Split, labels.hash(), split.hash())
	}
	all, err := readLabels(labels)
	if err != nil || len(all) < 2000 {
		t.Errorf("%d labels, %v", len(all), err)
	}
	s, err := readSplit(split)
	if err == nil {
		err = s.check(labels)
	}
	if err != nil {
		t.Error(err)
	}
	moved := &named{split.name, []byte(strings.Replace(string(split.text), "\ntest ", "\ntrain ", 1))}
	if _, err := readSplit(moved); err == nil {
		t.Error("a server can be moved from test to train")
	}
	other := &named{labels.name, slices.Concat(labels.text, []byte("\n"))}
	for i := range all {
		if s.parts[all[i].Server] == Test {
			other.text = []byte(strings.Replace(string(labels.text), `"tool":"`+all[i].Tool+`"`, `"tool":"x"`, 1))
			break
		}
	}
	if s.check(other) == nil {
		t.Error("labels of test servers can change")
	}
}

func TestReadLabels(t *testing.T) {
	for _, bad := range []string{
		"{", `{"server":"a","tool":"b","effect":"reads","source":"world"}`, `{"server":"a","tool":"b","effect":"administer","source":"world"}`,
		`{"server":"a","tool":"b","effect":"observe","source":"mine"}`, `{"server":"a","tool":"b","effect":"observe","source":"user","more":1}`,
		`{"server":"a","tool":"b","effect":"observe","source":"user"}` + "\n" + `{"server":"a","tool":"b","effect":"edit","source":"user"}`,
	} {
		if _, err := readLabels(&named{"x", []byte(bad)}); err == nil {
			t.Errorf("%s is read", bad)
		}
	}
	none := Paths{Definitions: filepath.Join(t.TempDir(), "none")}
	if _, _, err := TrainTools(t.Context(), TrainOptions{Paths: none, Seed: 1, Progress: func(string) {}}); !errors.Is(err, ErrNoDefinitions) {
		t.Errorf("without definitions: %v", err)
	}
	if _, err := RunTools(t.Context(), ToolsOptions{Paths: none, Parts: []string{Dev}}); !errors.Is(err, ErrNoDefinitions) {
		t.Errorf("without definitions: %v", err)
	}
}

// TestFit: a fit tells classes apart that a feature tells, and is the same each time.
func TestFit(t *testing.T) {
	var data []sample
	for i := range 40 {
		at := uint16(1 + i%2)
		data = append(data, sample{x: []suggest.Feature{{At: at, Value: 1}, {At: uint16(10 + i), Value: 1}}, y: i % 2, weight: 1})
	}
	a, b := fitLinear(data, 2, 1e-3), fitLinear(data, 2, 1e-3)
	for i := range data {
		x, y := make([]float64, 2), make([]float64, 2)
		a.scores(data[i].x, x)
		b.scores(data[i].x, y)
		if !slices.Equal(x, y) {
			t.Fatalf("%v, then %v", x, y)
		}
		if probabilities(x); x[data[i].y] < 0.8 {
			t.Errorf("example %d: %v", i, x)
		}
	}
}
