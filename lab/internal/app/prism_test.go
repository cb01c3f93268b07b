package app

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/margaydev/margay/lab/report"
)

// A small run has the rows of everything that the paper reports, in the result
// and on the page.
func TestPrismReportsEverything(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: trains a model")
	}
	t.Chdir(filepath.Join("..", ".."))
	dir := filepath.Join("prism", "testdata")
	records := []string{filepath.Join(dir, "smollm2-healthcare.jsonl.gz"), filepath.Join(dir, "smollm2-payments.jsonl.gz")}
	o := &options{seed: 1, quick: true, progress: func(string) {}}
	o.prism.defences = []string{"none", "rules", "monitor", "monitor-risk", "monitor-blackbox"}
	o.prism.replay, o.prism.ablate = records, true
	o.prism.given = func(string) bool { return true }
	r, figures, err := runPrism(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range [][2]string{
		{"monitor", "all"},
		{"monitor", "mcnemar,against=rules"},
		{"monitor-risk", "zones"},
		{"rules", "outcome"},
		{"rules", "latency"},
		{"none", "entropy"},
		{"monitor-risk", "weights,mode=white_box"},
		{"monitor-risk", "training,mode=white_box,part=test"},
		{"monitor-risk", "ablation=only:temporal"},
		{"monitor-risk", "ablation=without:credential_style"},
		{"monitor-blackbox", "ablation=blackbox-paper"},
		{"monitor", "source=smollm2"},
		{"monitor", "source=smollm2,mcnemar,against=none"},
		{"monitor-risk", "source=smollm2,box=gray"},
		{"none", "source=smollm2,theorem,q=0.99-1"},
		{"monitor-risk", "training,feature=low_entropy"},
		{"monitor-risk", "source=smollm2,ablation=only:structural"},
	} {
		if r.Row(want[0], want[1]) == nil {
			t.Errorf("no row %s, %s", want[0], want[1])
		}
	}
	// The built-in model is fitted to the record that is there to train on.
	if len(r.Models) != 1 {
		t.Errorf("models %v", r.Models)
	}
	var page, text strings.Builder
	if err := report.Write(&page, r, figures); err != nil {
		t.Fatal(err)
	}
	r.Table(&text)
	plots := map[string]bool{}
	for i := range figures {
		plots[figures[i].Title] = true
		if _, ok := figures[i].Plot.(report.Listing); !ok && (figures[i].Alt == "" || figures[i].Plot == nil) {
			t.Errorf("%q has no alternative text, or no plot", figures[i].Title)
		}
	}
	for _, want := range []string{
		"What became of the tasks", "Recall against utility", "Leaks by depth of the pipeline", "Leaks by category", "What the features give",
		"Risk under monitor-risk", "Entropy of tokens", "Calibration of the monitor's model",
	} {
		if !plots[want] {
			t.Errorf("no plot %q", want)
		}
	}
	// Every table of the paper has rows, of both sources, or the reason that it has
	// none.
	for i := 1; i <= 16; i++ {
		for _, source := range []string{"", ", smollm2-135m-instruct"} {
			_, rest, ok := strings.Cut(page.String(), fmt.Sprintf("<h3>Table %d: ", i))
			for ok && !strings.HasSuffix(strings.SplitN(rest, "</h3>", 2)[0], cmp.Or(source, strings.SplitN(rest, "</h3>", 2)[0])) {
				_, rest, ok = strings.Cut(rest, fmt.Sprintf("<h3>Table %d: ", i))
			}
			section, _, _ := strings.Cut(rest, "</figure>")
			if rows := strings.Count(section, "<tr>") - 1; !ok || (i == 6) != strings.Contains(section, "No counterpart") || i != 6 && rows < 2 && (i < 16 || source == "") {
				t.Errorf("table %d%s: %v, %d rows: %.200s", i, source, ok, rows, section)
			}
		}
	}
	for _, want := range []string{"mcnemar,against=rules", "ablation=only:temporal", "latency", "zones"} {
		if !strings.Contains(page.String(), want) || !strings.Contains(text.String(), want) {
			t.Errorf("the page or the table lacks %s", want)
		}
	}
}

// Which record is for what is told by its header, and a run without flags
// looks for the fixtures.
func TestPrismRecords(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: reads and scores whole recordings")
	}
	dir := filepath.Join("..", "..", "prism", "testdata")
	learned, measured := filepath.Join(dir, "smollm2-healthcare.jsonl.gz"), filepath.Join(dir, "smollm2-payments.jsonl.gz")
	told := filepath.Join(t.TempDir(), "instructed.jsonl.gz")
	var header bytes.Buffer
	z := gzip.NewWriter(&header)
	if _, err := z.Write([]byte(`{"version":2,"kind":"prism-record","model":"smollm2-135m-instruct","repository":"payments","seed":1,"instruction":"Keep secrets."}` + "\n")); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(z.Close(), os.WriteFile(told, header.Bytes(), 0o600)); err != nil {
		t.Fatal(err)
	}
	given := func(string) bool { return true }
	for name, c := range map[string]struct {
		paths    []string
		measured int
		trained  bool
		ok       bool
	}{
		"none":             {nil, 0, false, true},
		"evaluation":       {[]string{measured}, 1, false, true},
		"both":             {[]string{learned, measured}, 1, true, true},
		"training alone":   {[]string{learned}, 0, false, false},
		"twice to train":   {[]string{learned, measured, learned}, 0, false, false},
		"twice to measure": {[]string{measured, measured}, 0, false, false},
		"instructed":       {[]string{told, measured}, 1, false, true},
		"instructed alone": {[]string{told}, 0, false, false},
		"missing":          {[]string{"nowhere"}, 0, false, false},
	} {
		p := prismOptions{replay: c.paths, given: given}
		got, err := p.records(false)
		if (err == nil) != c.ok {
			t.Errorf("%s: error %v", name, err)
		}
		if err == nil && (len(got.evaluation) != c.measured || (got.training != nil) != c.trained) {
			t.Errorf("%s: %+v", name, got)
		}
	}
	t.Chdir(filepath.Join("..", ".."))
	if got, err := (&prismOptions{}).records(false); err != nil || len(got.evaluation) != 1 || got.training == nil {
		t.Errorf("in the repository: %+v, %v", got, err)
	}
	if got, err := (&prismOptions{}).records(true); err != nil || len(got.evaluation) != 0 {
		t.Errorf("a quick run: %+v, %v", got, err)
	}
}
