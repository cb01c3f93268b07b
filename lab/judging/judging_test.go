package judging

import (
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/margaydev/margay/internal/completion"
	"github.com/margaydev/margay/screen"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func question(n int, text string) *screen.Question {
	q := &screen.Question{Requests: []string{"Do it"}}
	for i := range n {
		q.Regions = append(q.Regions, screen.Region{Text: fmt.Sprint(text, i)})
	}
	return q
}

// The scripted judge errs at its rates, in each direction by itself, and what one
// gets wrong, one of higher rates gets wrong, too.
func TestErrors(t *testing.T) {
	const n = 400
	needed := make([]bool, n)
	for i := range needed {
		needed[i] = i%2 == 0
	}
	ask := func(e Errors, seed uint64, text string) (got []bool, extra, missed float64) {
		t.Helper()
		j, err := Script(e, seed)
		if err != nil {
			t.Fatal(err)
		}
		defer j.Close()
		var m Meter
		got, err = j.Ask(t.Context(), question(n, text), func() []bool { return needed }, &m)
		if err != nil {
			t.Fatal(err)
		}
		if c := m.Cost(); c.Questions != 1 || c.Usage.Prompt < 10*n || c.Usage.Answer < 2 || c.Time <= 0 {
			t.Errorf("it took %+v", c)
		}
		for i, yes := range got {
			if yes && !needed[i] {
				extra++
			} else if !yes && needed[i] {
				missed++
			}
		}
		return got, extra / (n / 2), missed / (n / 2)
	}
	for _, e := range []Errors{{}, {Extra: 0.1}, {Missed: 0.1}, {0.2, 0.1}, {1, 1}} {
		_, extra, missed := ask(e, 1, "x")
		if math.Abs(extra-e.Extra) > 0.07 || math.Abs(missed-e.Missed) > 0.07 || e == (Errors{}) && extra+missed > 0 {
			t.Errorf("%+v: %v extra, %v missed", e, extra, missed)
		}
	}
	few, _, _ := ask(Errors{0.1, 0.1}, 1, "x")
	many, _, _ := ask(Errors{0.2, 0.2}, 1, "x")
	again, _, _ := ask(Errors{0.1, 0.1}, 1, "x")
	for i := range few {
		if few[i] != needed[i] && many[i] == needed[i] {
			t.Errorf("region %d is wrong at lower rates alone", i)
		}
	}
	if !slices.Equal(few, again) {
		t.Error("the same seed draws other errors")
	}
	for seed, text := range map[uint64]string{2: "x", 1: "y"} {
		if other, _, _ := ask(Errors{0.1, 0.1}, seed, text); slices.Equal(few, other) {
			t.Errorf("seed %d, %s: the same errors", seed, text)
		}
	}
}

// An endpoint is asked once about each question; what that took counts each time.
func TestAsk(t *testing.T) {
	var mu sync.Mutex
	asked := 0
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		asked++
		text := `{\"regions\":[2]}`
		if asked > 1 {
			text = "none"
		}
		fmt.Fprintf(w, `{"choices":[{"message":{"content":"%s"}}],"usage":{"prompt_tokens":50,"completion_tokens":4}}`, text)
	}))
	defer srv.Close()
	j, err := New(completion.Config{BaseURL: srv.URL, Model: "m"})
	if err != nil {
		t.Fatal(err)
	}
	never := func() []bool { t.Error("an endpoint is told what is needed"); return nil }
	var m Meter
	for range 3 {
		if got, err := j.Ask(t.Context(), question(2, "x"), never, &m); err != nil || !slices.Equal(got, []bool{false, true}) {
			t.Fatal(got, err)
		}
	}
	if c := m.Cost(); asked != 1 || c.Questions != 3 || c.Usage != (completion.Usage{Prompt: 150, Answer: 12}) {
		t.Errorf("asked %d times: %+v", asked, c)
	}
	if note, ok := j.Note(); ok {
		t.Error(note)
	}
	for range 2 {
		if got, err := j.Ask(t.Context(), question(2, "y"), never, &m); err == nil || got != nil {
			t.Error(got, err)
		}
	}
	if note, _ := j.Note(); asked != 2 || note != "1 of 2 questions had no answer that could be read, and everything counted as relevant" {
		t.Errorf("asked %d times; %q", asked, note)
	}
	if _, err := New(completion.Config{BaseURL: srv.URL}); err == nil {
		t.Error("a judge without a model")
	}
}

func TestPairs(t *testing.T) {
	got, err := Pairs([]string{"0", "0.1", "0.05:1"})
	if want := []Errors{{0.05, 1}, {}, {0, 0.1}, {0.1, 0}, {0.1, 0.1}}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v", got, err)
	}
	if name := (Errors{0.05, 0.2}).Name(); name != "judge:5,20" {
		t.Error(name)
	}
	for _, bad := range []string{"", "x", "2", "-0.1", "NaN", "0.1:", "0.1:0.2:0.3", "5%"} {
		if got, err := Pairs([]string{bad}); err == nil {
			t.Errorf("%q: %v", bad, got)
		}
	}
}
