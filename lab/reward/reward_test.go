package reward

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/margaydev/margay/declassify/evidence"
	"github.com/margaydev/margay/declassify/span"
	"github.com/margaydev/margay/defend/rules"
	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/lab/traj/defence"
	"github.com/margaydev/margay/lab/traj/world"
	"github.com/margaydev/margay/rubric/library"
)

var rubrics = sync.OnceValues(func() (defence.MargayConfig, error) {
	files := map[string][]byte{}
	for _, f := range library.All() {
		files[f.Name+".yaml"] = []byte(f.Text)
	}
	reg, err := defence.NewRegistry(files)
	if err != nil {
		return defence.MargayConfig{}, err
	}
	return reg.Config(defence.MargayConfig{})
})

func judge(t *testing.T, change func(*Options)) *Judge {
	t.Helper()
	cfg, err := rubrics()
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Seed: 160, N: 24, Beta: .5, Margay: cfg}
	if change != nil {
		change(&o)
	}
	j, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func score(t *testing.T, j *Judge, o *Output) *Reward {
	t.Helper()
	r, err := j.Score(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// truth quotes every mention in the free texts of a step.
func truth(p []world.Part, fields map[string]string) string {
	var v struct {
		Quotes []quote `json:"quotes"`
	}
	v.Quotes = []quote{}
	for i := range p {
		for _, m := range p[i].Mentions {
			if fields[string(m.Field)] != "" {
				v.Quotes = append(v.Quotes, quote{i + 1, p[i].Text[m.Start:m.End], string(m.Field), "explicit"})
			}
		}
	}
	raw, _ := json.Marshal(v)
	return string(raw)
}

func completion(task string, step int, s string) *Output {
	return &Output{Task: task, Step: step, Completion: &s}
}

// What a defender says makes a difference, in the direction that it should.
func TestScore(t *testing.T) {
	j := judge(t, nil)
	nothing, garbage, honest := 0.0, 0.0, 0.0
	escapedBefore, escaped, mentions, n := 0, 0, 0, 0
	for i, task := range j.tasks {
		if task.Long {
			continue
		}
		for s := range task.Steps {
			one, err := j.step(i, s)
			if err != nil {
				t.Fatal(err)
			}
			if one == nil {
				continue
			}
			n++
			a := score(t, j, completion(task.ID, s, ` {"quotes": []} `))
			b := score(t, j, completion(task.ID, s, "There is nothing."))
			c := score(t, j, completion(task.ID, s, truth(task.Steps[s].Parts, one.Fields)))
			for _, r := range []*Reward{a, b, c} {
				want := -.5
				if r.Authorised {
					want = 1 + r.Utility - r.Cost/r.Budget - .5*r.Fallback
				}
				if math.Abs(r.Reward-want) > 1e-9 || r.Fallback < 0 || r.Fallback > 1 || r.Utility < 0 || r.Utility > 1 || r.Cost < 0 {
					t.Errorf("%+v", r)
				}
			}
			if b.Fallback != 1 || c.Escaped > a.Escaped {
				t.Errorf("%s, step %d: %+v, %+v, %+v", task.ID, s, a, b, c)
			}
			nothing, garbage, honest = nothing+a.Reward, garbage+b.Reward, honest+c.Reward
			escapedBefore, escaped, mentions = escapedBefore+a.Escaped, escaped+c.Escaped, mentions+c.Mentions
		}
	}
	t.Logf("%d steps: nothing %.3f, garbage %.3f, the truth %.3f; %d of %d mentions escape, with the truth %d", n, nothing/float64(n), garbage/float64(n), honest/float64(n), escapedBefore, mentions, escaped)
	if n < 20 || garbage >= nothing || garbage >= honest || escaped >= escapedBefore {
		t.Error("the reward does not tell outputs apart")
	}
}

// The weights do what their names say.
func TestWeights(t *testing.T) {
	plain, beta, lambda := judge(t, nil), judge(t, func(o *Options) { o.Beta = 2 }), judge(t, func(o *Options) { o.Lambda = 40 })
	more := 0
	for _, task := range plain.tasks {
		if task.Long {
			continue
		}
		for s := range task.Steps {
			o := completion(task.ID, s, `{"quotes": []}`)
			a, b, c := score(t, plain, o), score(t, beta, o), score(t, lambda, o)
			if math.Abs(a.Reward-b.Reward-1.5*a.Fallback) > 1e-9 {
				t.Errorf("%+v, with more beta %+v", a, b)
			}
			if factor := map[bool]float64{true: 1, false: 40}[task.Steps[s].Sink.Class.Known() == flow.RequiredService]; math.Abs(c.Cost-factor*a.Cost) > 1e-9*c.Cost {
				t.Errorf("%+v, with more lambda %+v", a, c)
			}
			if c.Cost > a.Cost {
				more++
			}
		}
	}
	if more == 0 {
		t.Error("nothing costs more")
	}
}

// Labels and their operators count as they are.
func TestLabels(t *testing.T) {
	j := judge(t, nil)
	for _, task := range j.tasks {
		for s := range task.Steps {
			p := task.Steps[s].Parts
			if len(p) != 1 || !p[0].Free || len(p[0].Mentions) == 0 || task.Steps[s].Sink.Class != flow.SemiTrusted {
				continue
			}
			m := p[0].Mentions[0]
			l := []evidence.Label{{Start: m.Start, End: m.End, Field: string(m.Field), Relation: "explicit"}}
			planned := score(t, j, &Output{Task: task.ID, Step: s, Labels: l})
			dropped := score(t, j, &Output{Task: task.ID, Step: s, Labels: l, Operators: []evidence.Proposal{{Atom: 0, Op: "drop"}}})
			if len(planned.Reasons) > 0 && planned.Reasons[0] == string(evidence.Schema) || dropped.Cost > planned.Cost {
				t.Errorf("%+v, %+v", planned, dropped)
			}
			l[0].End = len(p[0].Text) + 1
			if r := score(t, j, &Output{Task: task.ID, Step: s, Labels: l}); r.Fallback != 1 {
				t.Errorf("a label behind the end: %+v", r)
			}
			return
		}
	}
	t.Error("there is no such step")
}

func TestOptions(t *testing.T) {
	cfg, err := rubrics()
	if err != nil {
		t.Fatal(err)
	}
	for name, o := range map[string]Options{
		"an evaluated seed": {Seed: 1, N: 1}, "no tasks": {Seed: 100}, "too many": {Seed: 100, N: MaxTasks + 1},
		"beta": {Seed: 100, N: 1, Beta: -1}, "no beta": {Seed: 100, N: 1, Beta: math.NaN()}, "lambda": {Seed: 100, N: 1, Lambda: .5},
	} {
		o.Margay = cfg
		if _, err := New(o); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
}

// A client gets prompts, and rewards that are the same every time.
func TestServe(t *testing.T) {
	j := judge(t, nil)
	s := httptest.NewServer(j.Handler())
	defer s.Close()
	get := func(path string, v any) int {
		r, err := http.Get(s.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		if err := json.NewDecoder(r.Body).Decode(v); err != nil {
			t.Fatal(err)
		}
		return r.StatusCode
	}
	post := func(body string) (int, string) {
		r, err := http.Post(s.URL+"/reward", "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		var b bytes.Buffer
		_, _ = b.ReadFrom(r.Body)
		return r.StatusCode, b.String()
	}
	var health map[string]any
	if code := get("/healthz", &health); code != http.StatusOK || health["tasks"] != 24.0 || health["beta"] != .5 {
		t.Errorf("%d %v", code, health)
	}
	var steps []Step
	for from := 0; ; {
		var page struct {
			Steps []Step `json:"steps"`
			Next  *int   `json:"next"`
		}
		if code := get(fmt.Sprintf("/tasks?n=20&from=%d", from), &page); code != http.StatusOK {
			t.Fatal(code)
		}
		steps = append(steps, page.Steps...)
		if page.Next == nil {
			break
		}
		if from = *page.Next; len(page.Steps) == 0 {
			t.Fatal("an empty page")
		}
	}
	if len(steps) < 40 {
		t.Fatalf("%d steps", len(steps))
	}
	for _, one := range steps {
		if one.Prompt == "" || len(one.Fields) == 0 || len(one.Texts) == 0 || strings.Contains(one.Prompt, "Mentions") {
			t.Fatalf("%+v", one)
		}
	}
	one := func(i int) string {
		return fmt.Sprintf(`{"task":%q,"step":%d,"completion":"{\"quotes\":[]}"}`, steps[i].Task, steps[i].Step)
	}
	code, single := post(one(3))
	var r Reward
	if code != http.StatusOK || json.Unmarshal([]byte(single), &r) != nil || r.Budget == 0 {
		t.Fatalf("%d %s", code, single)
	}
	code, batch := post(`{"batch":[` + one(3) + "," + one(4) + `]}`)
	if code != http.StatusOK || !strings.Contains(batch, strings.TrimSpace(single)) {
		t.Errorf("%d %s", code, batch)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if code, again := post(`{"batch":[` + one(3) + "," + one(4) + `]}`); code != http.StatusOK || again != batch {
				t.Errorf("%d %s, but %s before", code, again, batch)
			}
		})
	}
	wg.Wait()
	for body, want := range map[string]int{
		"":                                      http.StatusBadRequest,
		"[]":                                    http.StatusBadRequest,
		"{}":                                    http.StatusBadRequest,
		`{"batch":[]}`:                          http.StatusBadRequest,
		`{"batch":[` + one(3) + `],"task":"x"}`: http.StatusBadRequest,
		`{"task":"x","step":0,"completion":""}`: http.StatusNotFound,
		strings.Replace(one(3), `"step":`, `"step":9`, 1):                      http.StatusNotFound,
		strings.Replace(one(3), `"step"`, `"Step"`, 1):                         http.StatusBadRequest,
		strings.Replace(one(3), `{"task"`, `{"task":"x","task"`, 1):            http.StatusBadRequest,
		strings.Replace(one(3), `{"task"`, `{"reward":1,"task"`, 1):            http.StatusBadRequest,
		strings.Replace(one(3), `"completion"`, `"labels":[],"completion"`, 1): http.StatusBadRequest,
		`{"task":"160-000","step":0}`:                                          http.StatusBadRequest,
		`{"task":"160-000","step":0,"completion":"","operators":[]}`:           http.StatusBadRequest,
		"{" + strings.Repeat(" ", MaxBody) + "}":                               http.StatusRequestEntityTooLarge,
	} {
		if code, answer := post(body); code != want || !strings.Contains(answer, "error") {
			t.Errorf("%.80s: %d %s, want %d", body, code, answer, want)
		}
	}
	if code := get("/tasks?n=-1", &health); code != http.StatusBadRequest {
		t.Errorf("a page of -1: %d", code)
	}
	resp, err := http.Get(s.URL + "/reward")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("GET /reward: %d", resp.StatusCode)
	}
}

// Whatever a model writes is read or refused.
func FuzzCompletion(f *testing.F) {
	f.Add(`{"quotes":[{"text":1,"quote":"born in May","field":"dob","relation":"inferential"}]}`)
	f.Add(`{"quotes":[]}`)
	f.Add("Sure! Here is the JSON: {}")
	f.Fuzz(func(t *testing.T, s string) {
		all, err := readCompletion(s, 2, []string{"dob"})
		if err != nil {
			return
		}
		for _, q := range all {
			if q.Text < 1 || q.Text > 2 || q.Field != "dob" || q.Quote == "" {
				t.Errorf("%+v", q)
			}
		}
	})
}

// everything calls all text clear.
type everything struct{}

func (everything) Doubt() flow.Bits { return 0 }
func (everything) Clear(_ context.Context, text string) ([]span.Place, error) {
	return []span.Place{{Start: 0, End: len(text)}}, nil
}

// A defender and a screener of an output are asked about its step alone, and those of Play
// about every step.
func TestOwnDefender(t *testing.T) {
	j := judge(t, nil)
	var plain, open, played float64
	escaped, before := 0, 0
	for _, task := range j.tasks[:12] {
		all, err := j.Play(t.Context(), task.ID, rules.Defender{}, everything{})
		if err != nil || len(all) != len(task.Steps) {
			t.Fatalf("%d steps, %v", len(all), err)
		}
		for s := range min(len(task.Steps), 10) {
			a := score(t, j, &Output{Task: task.ID, Step: s, Defender: rules.Defender{}})
			b := score(t, j, &Output{Task: task.ID, Step: s, Defender: rules.Defender{}, Screener: everything{}})
			plain, open, played = plain+a.Utility, open+b.Utility, played+all[s].Utility
			before, escaped = before+a.Escaped, escaped+b.Escaped
		}
	}
	if open <= plain || escaped <= before || played <= plain {
		t.Errorf("utility %.1f, with a screener %.1f, with it in all steps %.1f; %d escape, with it %d", plain, open, played, before, escaped)
	}
	if _, err := j.Play(t.Context(), "none", rules.Defender{}, nil); err == nil {
		t.Error("it plays a task that there is not")
	}
}
