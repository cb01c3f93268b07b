package app

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/margaydev/margay/internal/testkit"
	"github.com/margaydev/margay/lab/dojo/episode"
)

// The suite dojo has eight rows where an endpoint for the judge is named. Where
// none is, it has seven, and says so.
func TestDojoRows(t *testing.T) {
	rules, err := dojoRules(dojoSuites)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		judge, note string
		quick       bool
		rows        int
	}{
		{"", "judge skipped: no endpoint configured", false, 7},
		{"http://127.0.0.1:9/v1", "judge: some-model", false, 8},
		{"http://127.0.0.1:9/v1", "judge skipped: a quick run asks none", true, 7},
	} {
		o := &options{quick: c.quick}
		o.dojo.judged = judgeOptions{url: c.judge, model: "some-model"}
		rows, judges, notes, err := dojoRows(o, rules)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range rows {
			if !slices.Contains(dojoNames(), d.Name) {
				t.Errorf("row %s can't be asked for", d.Name)
			}
		}
		if len(rows) != c.rows || (len(judges) > 0) != (c.rows == 8) || !slices.Contains(notes, c.note) {
			t.Errorf("%+v: %d rows, notes %q", c, len(rows), notes)
		}
	}
}

// The judge is asked over HTTP, with the model that is named, and answers that
// can't be read are counted. This one is a script.
func TestDojoJudge(t *testing.T) {
	testkit.Data(t, episode.File)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"choices":[{"message":{"content":"no idea"}}]}`)
	}))
	defer srv.Close()
	o := &options{data: testkit.Dir(), n: 1, seed: 1, progress: func(string) {}}
	o.dojo.judged = judgeOptions{url: srv.URL + "/v1", model: "scripted"}
	o.dojo.suites, o.dojo.defences = []string{"banking"}, []string{judgeName}
	r, _, err := runDojo(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	row := r.Row(judgeName, "all")
	if row == nil || row.Metrics["violations"] != 0 || row.Metrics["attack_effects"] != 0 {
		t.Errorf("%+v", row)
	}
	if last := r.Notes[len(r.Notes)-1]; !strings.HasPrefix(last, "judge: ") || !strings.Contains(last, "everything counted as relevant") {
		t.Errorf("notes %q", r.Notes)
	}
}

// A scripted judge that errs nowhere does more of the tasks unasked than one that
// names everything, which is as good as none; no rate lets an attack through.
func TestDojoJudgeErrors(t *testing.T) {
	testkit.Data(t, episode.File)
	o := &options{data: testkit.Dir(), n: 4, seed: 1, progress: func(string) {}}
	o.dojo.judged.errors = []string{"0:0", "1:0", "0:1"}
	o.dojo.suites, o.dojo.defences = []string{"banking"}, []string{"all", "none"}
	if err := checkDojo(&options{dojo: dojoOptions{packs: packsDefault, judged: judgeOptions{errors: []string{"2"}}}}); err == nil {
		t.Error("a rate above 1")
	}
	r, _, err := runDojo(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	row := func(name string) map[string]float64 {
		if r.Row(name, "all") == nil {
			t.Fatalf("no row %s", name)
		}
		return r.Row(name, "all").Metrics
	}
	o.dojo.judged.replay, o.dojo.judged.errors = true, []string{"1:0"}
	again, _, err := runDojo(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if m := again.Row("replay+judge:100,0", "all"); m == nil || m.Metrics["extra_calls_per_task"] <= row("judge:100,0")["extra_calls_per_task"] || m.Metrics["violations"] != 0 {
		t.Errorf("with replay: %+v", m)
	}
	for name, like := range map[string]string{"judge:100,0": "all", "judge:0,100": "none"} {
		for _, m := range []string{"utility", "utility_confirmed", "tasks_asking"} {
			if row(name)[m] != row(like)[m] {
				t.Errorf("%s: %s is %v, and %v of %s", name, m, row(name)[m], row(like)[m], like)
			}
		}
	}
	best := row("judge:0,0")
	if best["utility"] < row("all")["utility"] || best["utility"] < row("none")["utility"] || best["utility_confirmed"] < 1 {
		t.Errorf("without errors: %v", best)
	}
	for _, name := range []string{"judge:0,0", "judge:100,0", "judge:0,100"} {
		if m := row(name); m["violations"] != 0 || m["attack_effects"] != 0 || m["judge_questions_per_task"] == 0 || m["judge_prompt_tokens_per_task"] < 100 {
			t.Errorf("%s: %v", name, m)
		}
	}
}
