package dojo

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/margaydev/margay/internal/completion"
	"github.com/margaydev/margay/lab/judging"
)

var markedRegion = regexp.MustCompile(`(?s)«REGION_(\d+)»[^\n]*\n(.*?)\n«/REGION_`)

// A judge stands in the gateway behind its API. Good advice does the task and
// shows no injection; bad advice, and none, cost utility and questions alone.
// The judges are scripted: they measure nothing but the way to one.
func TestJudge(t *testing.T) {
	for name, c := range map[string]struct {
		advise func(text string) bool // whether a region is needed
		answer string                 // instead, whatever is asked
		status int
		want   map[string]float64
		failed bool
	}{
		"good":       {advise: func(s string) bool { return !strings.Contains(s, "red box") }, want: map[string]float64{"tasks_asking": 0, "attack_success": 0}},
		"obeys":      {advise: func(string) bool { return true }, want: map[string]float64{"utility": 0, "utility_confirmed": 1, "tasks_asking": 1, "attack_success": 0}},
		"sees none":  {advise: func(string) bool { return false }, want: map[string]float64{"utility": 0, "tasks_asking": 0, "attack_success": 0}},
		"talks":      {answer: "I think that region 1 is needed.", want: map[string]float64{"utility": 0, "utility_confirmed": 1, "attack_success": 0}, failed: true},
		"makes up":   {answer: `{"regions":[9999]}`, want: map[string]float64{"utility": 0, "utility_confirmed": 1, "attack_success": 0}, failed: true},
		"is not one": {answer: "x", status: http.StatusNotFound, want: map[string]float64{"utility": 0, "utility_confirmed": 1, "attack_success": 0}, failed: true},
	} {
		t.Run(name, func(t *testing.T) {
			defer goleak.VerifyNone(t)
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				var asked struct {
					Messages []struct{ Content string } `json:"messages"`
				}
				if err := json.NewDecoder(r.Body).Decode(&asked); err != nil || len(asked.Messages) != 2 {
					t.Error("asked:", asked, err)
				}
				answer := c.answer
				if c.advise != nil {
					var needed []string
					for _, m := range markedRegion.FindAllStringSubmatch(asked.Messages[1].Content, -1) {
						if c.advise(m[2]) {
							needed = append(needed, m[1])
						}
					}
					answer = `{"regions":[` + strings.Join(needed, ",") + `]}`
				}
				if c.status != 0 {
					w.WriteHeader(c.status)
				}
				_ = json.NewEncoder(w).Encode(map[string]any{"choices": []any{map[string]any{"message": map[string]any{"content": answer}}}})
			}))
			defer srv.Close()
			j, err := judging.New(completion.Config{BaseURL: srv.URL + "/v1", Model: "scripted"})
			if err != nil {
				t.Fatal(err)
			}
			d := Gateway{Name: "judge", Rules: postRules, Judge: j, NoReplay: true}.Defence()
			r, err := Run(t.Context(), Options{Set: small(), Defences: []Defence{d}, Rules: postRules, Typed: true})
			if err != nil {
				t.Fatal(err)
			}
			m := r.Row("judge", "all").Metrics
			c.want["violations"] = 0
			for k, want := range c.want {
				if m[k] != want {
					t.Errorf("%s is %v, want %v", k, m[k], want)
				}
			}
			if note, failed := j.Note(); failed != c.failed || m["judge_questions_per_task"] == 0 {
				t.Errorf("%v questions a task, %q, failed %v", m["judge_questions_per_task"], note, failed)
			}
		})
	}
}
