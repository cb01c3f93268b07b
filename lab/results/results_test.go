package results

import (
	"regexp"
	"strings"
	"testing"
)

func TestTable(t *testing.T) {
	r := Result{Suite: "s", N: 3, Seed: 1, Source: "here", Notes: []string{"judge skipped"}}
	r.Add("a", "all", map[string]float64{"recall": 0.5, "fpr": 0})
	r.Rows[0].CI = map[string][2]float64{"recall": {0.25, 0.75}}
	r.Add("b", "all", map[string]float64{"recall": 1, "fpr": 0.125})
	wide := map[string]float64{}
	for _, n := range strings.Split("abcdefgh", "") {
		wide[n] = 7
	}
	r.Add("a", "pressure=high", wide)
	r.Add("c", "all", map[string]float64{"fpr": 1}) // added later, and without recall
	r.Add("a", "pressure=low", map[string]float64{"g": 9})
	var b strings.Builder
	r.Table(&b)
	got := regexp.MustCompile(` +`).ReplaceAllString(b.String(), " ")
	for _, want := range []string{
		"s n=3 seed=1 source: here\n", "slice defence fpr recall 95 %\n", "all a 0 0.5 [0.25, 0.75]\n", "all b 0.125 1 \nall c 1 \n",
		"slice defence a b c d e f\npressure=high a 7 7 7 7 7 7\n\n", "slice defence g h\npressure=high a 7 7\npressure=low a 9 \n", "note: judge skipped\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the table lacks %q:\n%s", want, got)
		}
	}
}

func TestRow(t *testing.T) {
	var r Result
	r.Add("a", "all", map[string]float64{"x": 0})
	if row := r.Row("a", "all"); row == nil || len(row.Metrics) != 1 {
		t.Errorf("got %v", row)
	}
	if r.Row("a", "none") != nil || r.Row("b", "all") != nil {
		t.Error("a row that is not there")
	}
}
