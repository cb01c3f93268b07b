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
		o.dojo.judge, o.dojo.judgeModel = c.judge, "some-model"
		rows, judged, notes, err := dojoRows(o, rules)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range rows {
			if !slices.Contains(dojoNames(), d.Name) {
				t.Errorf("row %s can't be asked for", d.Name)
			}
		}
		if len(rows) != c.rows || (judged != nil) != (c.rows == 8) || !slices.Contains(notes, c.note) {
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
	o.dojo.judge, o.dojo.judgeModel = srv.URL+"/v1", "scripted"
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
