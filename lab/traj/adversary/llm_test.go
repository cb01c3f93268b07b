package adversary

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/margaydev/margay/internal/completion"
	"github.com/margaydev/margay/lab/traj/world"
)

func TestLLM(t *testing.T) {
	task := world.Generate(140, 1).Tasks[0]
	records := map[string]string{}
	for _, r := range task.Records {
		records[string(r.Field)] = r.Value
	}
	answer := ""
	far := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		if r.URL.Path != "/v1/chat/completions" || r.Header.Get("Authorization") != "Bearer k" || !strings.Contains(string(b), "what was shown") {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"choices": []any{map[string]any{"message": map[string]string{"content": answer}}}})
	}))
	defer far.Close()
	l, err := NewLLM(completion.Config{BaseURL: far.URL + "/v1", Model: "m", Key: "k"})
	if err != nil {
		t.Fatal(err)
	}
	all, err := json.Marshal(records)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		answer string
		right  float64
	}{{"Here: " + string(all) + " Done.", 15}, {"I don't know.", 0}, {`{"dob": 7, "email": "x@y.example"}`, 0}, {`{"dob": "` + records["dob"] + `"}`, 1}} {
		answer = c.answer
		right, n, err := l.Guess(t.Context(), task, View{"what was shown"})
		if err != nil || right != c.right || n != 15 {
			t.Errorf("%q: %v of %v guessed, %v; want %v", c.answer, right, n, err, c.right)
		}
	}
	answer = `{"dob": {"guess": "` + records["dob"] + `", "probability": 0.5}, "phone": {"guess": "555", "probability": 1}, "email": {"guess": "x@y.example", "probability": 7}, "salary": "much"}`
	got, err := l.Posterior(t.Context(), task.Person, View{"what was shown"})
	if err != nil || len(got) != 2 || got[0] != (Guessed{world.DOB, .5, true}) || got[1].Right {
		t.Errorf("%+v, %v", got, err)
	}
	if _, _, err := l.Guess(t.Context(), task, View{"something else"}); err == nil {
		t.Error("a refusal is not an error")
	}
}
