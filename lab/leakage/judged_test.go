package leakage

import (
	"testing"

	"github.com/margaydev/margay/lab/judging"
)

// scripted is a row of a judge with errors.
func scripted(t *testing.T, e judging.Errors) Defence {
	t.Helper()
	j, err := judging.Script(e, 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = j.Close() })
	return Defence{Name: e.Name(), Judge: j}
}

// A judge that errs nowhere is the oracle, one that names everything is all, one
// that misses everything is none. In between, more errors cost more, and no rate
// lets a call through that gives something away unasked.
func TestJudged(t *testing.T) {
	ds := []Defence{{Name: "none", None: true}, {Name: "all"}}
	for _, e := range []judging.Errors{{}, {Extra: 1}, {Missed: 1}, {Extra: 0.2}, {Missed: 0.2}, {Extra: 1, Missed: 1}} {
		ds = append(ds, scripted(t, e))
	}
	r, err := Run(t.Context(), Options{Seed: 1, Defences: ds})
	if err != nil {
		t.Fatal(err)
	}
	row := func(name string) map[string]float64 { return r.Row(name, "all").Metrics }
	for m, want := range map[string]float64{"fpr": 0, "fnr": 0, "label_exact": 1, "utility_allowed": 1, "utility_blocked": 18. / 37} {
		if got := row("judge:0,0")[m]; got != want {
			t.Errorf("without errors: %s is %v, want %v", m, got, want)
		}
	}
	for name, like := range map[string]string{"judge:100,0": "all", "judge:0,100": "none"} {
		for _, m := range []string{"fpr", "fnr", "label_exact", "utility_allowed", "utility_blocked", "questions_per_task"} {
			if row(name)[m] != row(like)[m] {
				t.Errorf("%s: %s is %v, and %v of %s", name, m, row(name)[m], row(like)[m], like)
			}
		}
	}
	if row("judge:20,0")["fpr"] <= 0 || row("judge:0,20")["fnr"] <= 0 || row("judge:0,20")["utility_allowed"] >= 1 {
		t.Errorf("errors cost nothing: %v, %v", row("judge:20,0"), row("judge:0,20"))
	}
	for i := range ds[2:] {
		m := row(ds[i+2].Name)
		if m["violations"] != 0 {
			t.Errorf("%s: %v violations", ds[i+2].Name, m["violations"])
		}
		if m["judge_questions_per_task"] < 0.9 || m["judge_prompt_tokens_per_task"] < 300 || m["judge_answer_tokens_per_task"] < 3 {
			t.Errorf("%s: its answers took %v", ds[i+2].Name, m)
		}
	}
}

// Violations are counted by the oracle's labels: data that is labelled too low
// makes some.
func TestViolations(t *testing.T) {
	tasks, err := Tasks()
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, task := range tasks {
		for i := range task.History {
			task.History[i].Private = nil
			for k := range task.History[i].Result {
				task.History[i].Result[k].Private = nil
			}
		}
		out, err := play(t.Context(), &Defence{}, task, true)
		if err != nil {
			t.Fatal(err)
		}
		n += out.violations
	}
	if n < 19 {
		t.Errorf("%d violations", n)
	}
}
