package engine

import (
	"context"
	"errors"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/margaydev/margay/lab/results"
)

func small(t *testing.T, o Options) *results.Result {
	t.Helper()
	o.MB, o.Reps, o.Seed = 0.01, 2, 1
	r, err := Run(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// The rows, and all that is not a time, are the same in every run.
func TestTableIsStable(t *testing.T) {
	o := Options{Corpora: []string{"prose", "logs"}, Writes: []int{4, whole}, Secrets: []int{0, 10}}
	a, b := small(t, o), small(t, o)
	if len(a.Rows) != len(b.Rows) || len(a.Rows) < 10 {
		t.Fatalf("%d rows and %d", len(a.Rows), len(b.Rows))
	}
	for i, r := range a.Rows {
		s := b.Rows[i]
		if r.Defence != s.Defence || r.Slice != s.Slice || r.Metrics["findings"] != s.Metrics["findings"] {
			t.Errorf("%v and %v", r, s)
		}
	}
	found := a.Row(ours, "corpus=logs,write=4,secrets=10")
	if found == nil || found.Metrics["findings"] == 0 || found.Metrics["ns_per_byte"] <= 0 || found.Metrics["ns_per_write"] <= found.Metrics["ns_per_byte"] {
		t.Errorf("%v", found)
	}
	if r := a.Row(former, "corpus=logs,write=4,secrets=10"); r == nil || r.Metrics["findings"] != found.Metrics["findings"] || r.Metrics["bytes"] != 10485 || r.Metrics["times_as_long"] <= 0 || r.Metrics["times_as_long"] != found.Metrics["times_reference"] {
		t.Errorf("%v", r)
	}
	for _, mode := range []string{"tagger", "declassify"} {
		if r := a.Row(ours, "corpus=prose,write=whole,secrets=10,mode="+mode); r == nil || r.Metrics["findings"] == 0 || r.Metrics["times_as_long"] <= 1 {
			t.Errorf("%s: %v", mode, r)
		}
	}
	if r := a.Row("gitleaks", "corpus=prose,write=whole,secrets=0"); r == nil || r.Metrics["ns_per_write"] != 0 {
		t.Errorf("%v", r)
	}
	if r := a.Row(ours, "secrets=10"); r == nil || r.Metrics["index_mib"] <= 0 {
		t.Errorf("%v", r)
	}
}

// The secrets that are registered are found, by every engine that knows some.
func TestSecretsAreRegistered(t *testing.T) {
	secrets := &registered{n: 50, seed: 9}
	var text strings.Builder
	for _, v := range secrets.values() {
		text.WriteString(" it is " + string(v) + " , they say.")
	}
	for _, e := range engines() {
		for _, write := range []int{4, whole} {
			if !slices.Contains(e.secrets([]int{few}), few) || !e.takes(write) {
				continue
			}
			scan, err := e.open(secrets)
			if err != nil {
				t.Fatal(err)
			}
			if n := scan([]byte(text.String()), write); n < secrets.n {
				t.Errorf("%s, writes of %d: %d findings", e.name(), write, n)
			}
		}
	}
}

func TestHostileTexts(t *testing.T) {
	r := small(t, Options{Corpora: []string{hostile}, Rules: 3})
	row := r.Row(ours, "corpus=adversarial,input=ip,write=whole")
	if row == nil || row.Metrics["ns_per_byte"] <= 0 || row.Metrics["ns_per_byte_split"] <= 0 {
		t.Fatalf("%v", row)
	}
	if all := r.Row(ours, slice(hostile, whole, few)); all == nil || all.Metrics["ns_per_byte"] < row.Metrics["ns_per_byte"] {
		t.Errorf("%v is the worst, above %v", all, row)
	}
}

// A goal is judged where its figure was measured, and what falls short is marked.
func TestGoals(t *testing.T) {
	r := &results.Result{}
	r.Add(ours, slice("prose", whole, few), map[string]float64{"ns_per_byte": 9, "times_gitleaks": 31})
	r.Add(ours, slice("go", whole, few), map[string]float64{"ns_per_byte": 14, "times_gitleaks": 29})
	r.Add(ours, slice("json", whole, few), map[string]float64{"ns_per_byte": 16})
	r.Add(ours, slice("go", 4, few), map[string]float64{"ns_per_write": 140})
	judge(r)
	for name, short := range map[string]float64{"prose": 0, "source": 1, "gitleaks": 1, "write-4": 0} {
		if row := r.Row(ours, "goal="+name); row == nil || row.Metrics["short"] != short {
			t.Errorf("%s: %v", name, row)
		}
	}
	if row := r.Row(ours, "goal=gitleaks"); row.Metrics["value"] != 29 || row.Metrics["at_least"] != 30 {
		t.Errorf("%v", row)
	}
	if r.Row(ours, "goal=million") != nil {
		t.Error("a goal is judged that was not measured")
	}
	if n := len(r.Notes); n != 3 || !strings.HasPrefix(r.Notes[0], "SHORT source: 16 ns") || r.Notes[2] != "2 of 4 goals are reached" {
		t.Errorf("%q", r.Notes)
	}
}

// Hyperscan gets the expressions of the rules, and no others.
func TestPortable(t *testing.T) {
	rules, err := portable()
	if err != nil || len(rules) < 200 {
		t.Fatalf("%d rules, %v", len(rules), err)
	}
	for _, r := range rules {
		if _, err := regexp.Compile(r.Simpler); err != nil {
			t.Errorf("%s: %v", r.ID, err)
		}
	}
}

func TestPeerThatIsNotThere(t *testing.T) {
	if _, err := startPeer(context.Background(), t.TempDir(), nil, nil); !errors.Is(err, errUnavailable) {
		t.Error(err)
	}
}

func TestScans(t *testing.T) {
	// A program that takes nearly no time is as good as any here.
	program, err := exec.LookPath("true")
	if err != nil {
		t.Skip("the program true is not installed")
	}
	r := small(t, Options{Corpora: []string{tree}, Margay: program})
	for _, where := range []string{"tree", "line", "nothing"} {
		for _, who := range []string{ours, "gitleaks"} {
			if r.Row(who, "scan="+where) == nil {
				t.Errorf("no row of %s over %s", who, where)
			}
		}
	}
	if row := r.Row("gitleaks", "scan=tree"); row != nil && (row.Metrics["mb"] < 0.2 || row.Metrics["cpu_seconds"] <= 0) {
		t.Errorf("%v", row.Metrics)
	}
	if r.Row(ours, "goal=scan") == nil {
		t.Error("the goal is not judged")
	}
}

// What slow engines read is from all over a text, and as long as they read at most.
func TestSample(t *testing.T) {
	for _, n := range []int{0, 1, sample, sample + 1, 3*sample + 7} {
		text := make([]byte, n)
		for i := range text {
			text[i] = byte(i * 200 / n)
		}
		got := sampleOf(text)
		if len(got) != min(n, sample) || n > 0 && (got[0] != text[0] || got[len(got)-1] != text[n-1]) {
			t.Errorf("%d bytes: %d are read", n, len(got))
		}
		if !slices.IsSorted(got) {
			t.Errorf("%d bytes: the pieces are out of order", n)
		}
	}
}
