package saliency

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/lab/leakage"
	"github.com/margaydev/margay/screen"
	"github.com/margaydev/margay/screen/saliency"
)

// drawn are sequences in which high scores are needed.
func drawn(n int) []sequence {
	rng := rand.New(rand.NewPCG(7, 7))
	var out []sequence
	for i := range n {
		s := sequence{suite: []string{"banking", "slack", "travel", "payments"}[i%4], task: fmt.Sprint("task", i), kind: "call"}
		for t := range 3 + rng.IntN(5) {
			var x [saliency.Count]float64
			y := rng.IntN(4) / 3
			for k := range x {
				x[k] = (0.02 + rng.Float64()*0.1) * (1 + 6*float64(y))
			}
			s.x, s.y = append(s.x, x), append(s.y, y)
			if t == 2 {
				s.y[t] = Open
			}
		}
		s.labels = slices.Clone(s.y)
		out = append(out, s)
	}
	return out
}

// The gradient is the one of the loss.
func TestGradient(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	w := initial(rng)
	s := drawn(1)[0]
	weight := [2]float64{0.7, 1.9}
	grad := make([]float64, len(w))
	pass(w, &s, weight, grad)
	for range 200 {
		i := rng.IntN(len(w))
		const h = 1e-5
		old := w[i]
		w[i] = old + h
		up, _ := pass(w, &s, weight, nil)
		w[i] = old - h
		down, _ := pass(w, &s, weight, nil)
		w[i] = old
		if want := (up - down) / (2 * h); math.Abs(want-grad[i]) > 1e-6+1e-4*math.Abs(want) {
			t.Errorf("weight %d: %g, not %g", i, grad[i], want)
		}
	}
}

// What is trained is what Margay computes, and the same each time.
func TestTrain(t *testing.T) {
	all := drawn(80)
	m, err := train(all, Options{Seed: 3, Epochs: 15})
	if err != nil {
		t.Fatal(err)
	}
	again, err := train(all, Options{Seed: 3, Epochs: 15})
	if err != nil || !slices.Equal(m.Weights, again.Weights) || m.Threshold != again.Threshold {
		t.Errorf("the same seed gives another network: %v", err)
	}
	wrong, n := 0, 0
	for i := range all {
		read := scaled(m, all[i:i+1])
		_, want := pass(m.Weights, &read[0], [2]float64{}, nil)
		got := m.Scores(all[i].x)
		for k := range got {
			if math.Abs(got[k]-want[k]) > 1e-9 {
				t.Fatalf("%g, not %g", got[k], want[k])
			}
			if y := all[i].y[k]; y != Open {
				n++
				if (got[k] >= m.Threshold) != (y == Yes) {
					wrong++
				}
			}
		}
	}
	if wrong*10 > n {
		t.Errorf("%d of %d regions are wrong", wrong, n)
	}
	l, err := fit(all, Options{})
	if err != nil || !(l.threshold > 0 && l.threshold < 1) {
		t.Errorf("%v %v", l, err)
	}
	for i := range all {
		for k := range all[i].y {
			all[i].y[k] = No
		}
	}
	if _, err := train(all, Options{Epochs: 1}); !errors.Is(err, ErrOneClass) {
		t.Errorf("one class: %v", err)
	}
}

func TestThreshold(t *testing.T) {
	var all []scored
	for i := range 100 {
		all = append(all, scored{0.1 + float64(i)*0.004, No, "a"}, scored{0.45 + float64(i)*0.005, Yes, "a"})
	}
	if got := threshold(all); got < 0.42 || got > 0.5 {
		t.Errorf("threshold %v", got)
	}
	if got := threshold(nil); got != 0.5 {
		t.Errorf("of nothing %v", got)
	}
}

// Of regions with one value the one with most attention is learnt, and one found is
// enough.
func TestUnits(t *testing.T) {
	f := func(q float64) *[saliency.Count]float64 { return &[saliency.Count]float64{5: q} }
	r := &Record{Lines: []*Line{{Suite: "slack", Kind: "call", Any: [][]int{{0, 3}}, Regions: []*Region{{Needed: Open, Features: f(.2)}, nil, {Needed: No, Features: f(.4)}, {Needed: Open, Features: f(.3)}}}}}
	all := r.sequences()
	if len(all) != 1 || !slices.Equal(all[0].y, []int{Open, No, Yes}) || !slices.Equal(all[0].labels, []int{Open, No, Open}) {
		t.Fatalf("%+v", all)
	}
	if got := all[0].units([]float64{.9, .1, .5}); !slices.Equal(got, []scored{{.1, No, "slack"}, {.9, Yes, "slack"}}) {
		t.Errorf("%v", got)
	}
}

// A record goes on where it was interrupted, and asks nothing twice.
func TestRecord(t *testing.T) {
	asked := 0
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked++
		region := `{"tokens":2,"cut":0,"features":[0.1,1,0.1,0.2,0.3,0.4]}`
		fmt.Fprintf(w, `{"version":1,"prompt_tokens":9,"output_tokens":2,"output_cut":0,"loss":1.5,"regions":[%s,%s]}`, region, region)
	}))
	defer srv.Close()
	c, err := saliency.NewClient(saliency.Config{BaseURL: srv.URL + "/v1", Model: "m"})
	if err != nil {
		t.Fatal(err)
	}
	about := func(n int) *Labelled {
		q := &screen.Question{Requests: []string{fmt.Sprint(n)}, Calls: []flow.ToolCall{{Name: "t", Arguments: "{}"}}, Regions: []screen.Region{{Text: "secret word", Tool: "t", Field: "a"}, {Text: "b", Tool: "t", Field: "b"}}}
		return &Labelled{Suite: "slack", Task: fmt.Sprint("task", n), Question: q, Needed: []int{Yes, No}}
	}
	path := filepath.Join(t.TempDir(), "features.jsonl.gz")
	open := func() *Source {
		r, err := Read(path)
		if err != nil {
			t.Fatal(err)
		}
		return &Source{Record: r, Client: c}
	}
	progress := func(string) {}
	s := open()
	s.Record.Head = Head{Version: 1, Model: "m", Server: "s"}
	if failed, err := Ask(t.Context(), s, []Labelled{*about(2), *about(1), *about(2)}, progress); err != nil || failed != 0 || asked != 2 {
		t.Fatalf("%d %v, asked %d times", failed, err, asked)
	}
	f, err := os.OpenFile(path+".part", os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = f.WriteString(`{"key":"half`)
	_ = f.Close()
	s = open()
	if _, err := s.Ask(t.Context(), about(1).Question, nil); err != nil || asked != 2 {
		t.Errorf("%v, asked %d times", err, asked)
	}
	s.Record.Head = Head{Version: 1}
	if err := s.Record.Write(path); err != nil {
		t.Fatal(err)
	}
	one, _ := os.ReadFile(path)
	if bytes.Contains(one, []byte("secret")) {
		t.Error("a record holds text")
	}
	s = open()
	if len(s.Record.Lines) != 2 || s.Record.Lines[0].Task != "task1" || len(s.Record.Hash) != 64 {
		t.Errorf("%+v", s.Record)
	}
	s.Client = nil
	fs, err := s.Features(t.Context(), about(2).Question)
	if err != nil || len(fs) != 2 || fs[0][5] != .4 {
		t.Errorf("%v %v", fs, err)
	}
	if _, err := s.Features(context.Background(), about(3).Question); !errors.Is(err, ErrNotRecorded) {
		t.Errorf("what is not recorded: %v", err)
	}
	if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(path); err == nil {
		t.Error("a damaged record is read")
	}
}

// The record that comes with the repository has the questions of all written tasks,
// and what it says of AgentDojo's holds the goals.
func TestShipped(t *testing.T) {
	r, err := Shipped()
	if err != nil {
		t.Fatal(err)
	}
	tasks, err := leakage.Tasks()
	if err != nil {
		t.Fatal(err)
	}
	qs, err := Leakage(tasks)
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range slices.Concat(qs, Blind(qs)) {
		key, err := Key(q.Question)
		if err != nil {
			t.Fatal(err)
		}
		if l := r.Line(key); l == nil {
			t.Errorf("%s is not recorded", q.Task)
		}
	}
	suites := map[string]int{}
	for _, l := range r.Lines {
		suites[l.Suite]++
		if strings.ContainsAny(l.Task, " \"") {
			t.Errorf("task %q", l.Task)
		}
	}
	for _, s := range []string{"banking", "slack", "travel", "workspace", "payments", "flights", "shopping"} {
		if suites[s] < 10 {
			t.Errorf("%d questions of %s", suites[s], s)
		}
	}
	m, err := saliency.Default()
	if err != nil {
		t.Fatal(err)
	}
	found, needed := 0, 0
	for _, s := range calls(r.sequences()) {
		for _, u := range s.units(m.Scores(s.x)) {
			if u.y == Yes {
				needed++
				if u.p >= m.Threshold {
					found++
				}
			}
		}
	}
	if found*100 < needed*80 {
		t.Errorf("the network that ships finds %d of %d needed regions", found, needed)
	}
}
