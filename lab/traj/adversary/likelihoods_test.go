package adversary

import (
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/margaydev/margay/internal/completion"
	"github.com/margaydev/margay/lab/traj/world"
)

// scoring serves /completions: words are tokens, and all of a prompt but its last
// words are equally likely. Of, if it is set, says how likely those are.
func scoring(t *testing.T, of func(shown, last string) float64) (l *Likelihoods, asked *atomic.Int64) {
	t.Helper()
	asked = &atomic.Int64{}
	far := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		var q struct {
			Model     string
			Prompt    []string
			MaxTokens *int `json:"max_tokens"`
			Echo      bool
			Logprobs  *int
		}
		if r.URL.Path != "/v1/completions" || json.NewDecoder(r.Body).Decode(&q) != nil || !q.Echo || q.MaxTokens == nil || *q.MaxTokens != 0 || q.Logprobs == nil || of == nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		var choices []any
		for i := range q.Prompt {
			k := len(q.Prompt) - 1 - i // the order is the index's, not the list's
			var s scored
			at := 0
			for n, token := range strings.SplitAfter(q.Prompt[k], " ") {
				p := -1.0
				if s.Tokens = append(s.Tokens, token); strings.HasSuffix(q.Prompt[k], token) {
					p = of(q.Prompt[k], token)
				}
				s.Logprobs = append(s.Logprobs, &p)
				if n == 0 {
					s.Logprobs[0] = nil
				}
				s.Offsets = append(s.Offsets, at)
				at += len([]rune(token))
			}
			choices = append(choices, map[string]any{"index": k, "logprobs": s})
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"choices": choices})
	}))
	t.Cleanup(far.Close)
	l, err := NewLikelihoods(completion.Config{BaseURL: far.URL + "/v1", Model: "m"}, people)
	if err != nil {
		t.Fatal(err)
	}
	return l, asked
}

// skater takes Canada for likely where there is a rink, and always somewhat.
func skater(shown, last string) float64 {
	switch {
	case last != "Canada":
		return -3
	case strings.Contains(shown, "rink"):
		return -.1
	}
	return -2
}

func TestLikelihoods(t *testing.T) {
	l, asked := scoring(t, skater)
	l.Temperature = [4]float64{1, 1, 1, 1}
	v := View{"Ruth says that the rink in Boston is still frozen on 4 May."}
	c, err := l.Cues(t.Context(), v)
	if err != nil {
		t.Fatal(err)
	}
	// Of -0.1 against the -2 after a blank text; of the others nothing changes.
	if math.Abs(c.Region[4]-1) > 1e-9 || math.Abs(c.Region[0]-math.Exp(-1.9)) > 1e-9 || c.Decade[0] != c.Decade[7] {
		t.Errorf("%+v", c)
	}
	if n := asked.Load(); n != 2 {
		t.Errorf("%d requests, want one of the text and one of none", n)
	}
	if _, err := l.Cues(t.Context(), append(v, "[REDACTED]", "[REDACTED] "+v[0])); err != nil || asked.Load() != 2 {
		t.Errorf("the same words are asked again: %d requests, %v", asked.Load(), err)
	}
	if c, err := l.Cues(t.Context(), View{"[REDACTED]", "Ruth, 555"}); c != nil || err != nil {
		t.Errorf("nothing says %+v, %v", c, err)
	}
	if got, _ := l.mask(v[0]); got != "says that the rink in is still frozen on May." {
		t.Errorf("masked: %q", got)
	}
	if got := l.shown(View{strings.Repeat("first ", 300), "second"}); got != "second" {
		t.Errorf("%q is shown, and not the latest alone", got)
	}
}

// What the model knows of people decides how far it is believed.
func TestLikelihoodsAreCalibrated(t *testing.T) {
	knows, _ := scoring(t, skater)
	errs, _ := scoring(t, func(shown, last string) float64 { // whoever skates is from elsewhere
		return -skater(shown, last)
	})
	for _, l := range []*Likelihoods{knows, errs} {
		if err := l.Calibrate(t.Context(), world.Dev(), people, 220, 300); err != nil {
			t.Fatal(err)
		}
	}
	if knows.Temperature[0] <= .3 || errs.Temperature[0] != 0 || knows.Temperature[1] != 0 {
		t.Errorf("temperatures %v of who knows, %v of who errs", knows.Temperature, errs.Temperature)
	}
}

func TestEndpointDoesNotScore(t *testing.T) {
	l, _ := scoring(t, nil)
	if _, err := l.Cues(t.Context(), View{"Bright lights are hard for me."}); !errors.Is(err, errNoScores) {
		t.Errorf("%v", err)
	}
	if _, err := NewLikelihoods(completion.Config{BaseURL: "file:///tmp", Model: "m"}, people); err == nil {
		t.Error("a file is an endpoint")
	}
	for _, s := range []scored{{Tokens: []string{"a"}}, {Tokens: []string{"a"}, Logprobs: []*float64{nil}, Offsets: []int{0}}} {
		if _, n := s.after(0); n != 0 {
			t.Errorf("%+v has %d tokens with a score", s, n)
		}
	}
}
