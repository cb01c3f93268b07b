package leak

import (
	"math"
	"path/filepath"
	"slices"
	"testing"

	"github.com/margaydev/margay/internal/testkit"
	"github.com/margaydev/margay/secret/recognise"
)

func sample() *trace {
	t := &trace{ID: "t"}
	t.Input.Vault = map[string]any{"name": "Ruth Novak", "ssn": "CANARY_SSN_7F3A91C2", "ssn_real": "219-09-9999", "balance": 48213.0, "note": "plain"}
	t.Input.Allowed.Fields, t.Input.Allowed.Forbidden = []string{"name"}, []string{"ssn", "balance"}
	t.Calls = append(t.Calls, struct {
		ID     string `json:"call_id"`
		System string `json:"system_prompt"`
		User   string `json:"user_prompt"`
	}{"c", "You know: ssn 219-09-9999, tag CANARY_SSN_7F3A91C2, name Ruth Novak.", "What is known?"})
	t.Messages = append(t.Messages, struct {
		Channel string `json:"channel"`
		Content string `json:"content"`
		Call    string `json:"llm_call_id"`
	}{"C1", "Ruth Novak has the number 219-09-9999 and the tag CANARY_SSN_7F3A91C2.", "c"})
	return t
}

func TestValues(t *testing.T) {
	forbidden, allowed := sample().values()
	if !slices.Equal(forbidden, []string{"48213", "CANARY_SSN_7F3A91C2", "219-09-9999"}) || !slices.Equal(allowed, []string{"Ruth Novak"}) {
		t.Errorf("forbidden %q, allowed %q", forbidden, allowed)
	}
}

// What is registered leaks neither to the model nor out of it, and what is
// allowed stays.
func TestPlay(t *testing.T) {
	rules, err := recognise.Default()
	if err != nil {
		t.Fatal(err)
	}
	s, err := play(t.Context(), rules, sample(), true)
	if err != nil {
		t.Fatal(err)
	}
	for _, channel := range []string{"C1", "model"} {
		if c := s[channel]; c.before != 1 || c.after != 0 || c.allowed != 1 || c.retained != 1 || c.bits != 0 {
			t.Errorf("%s: %+v", channel, *c)
		}
	}
	// Unregistered, a tag of no known form goes through, and is counted.
	if s, err = play(t.Context(), rules, sample(), false); err != nil {
		t.Fatal(err)
	}
	if c := s["C1"]; c.before != 1 || c.after != 1 || c.bits < 20 {
		t.Errorf("unknown: %+v", *c)
	}
}

func TestRun(t *testing.T) {
	dir := filepath.Dir(testkit.Data(t, File))
	res, err := Run(t.Context(), Options{Data: dir, N: 6, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	if len(res.Rows) != 8 {
		t.Errorf("%d rows", len(res.Rows))
	}
	for _, r := range res.Rows {
		for name, v := range r.Metrics {
			if math.IsNaN(v) {
				t.Errorf("%s: %s is undefined", r.Slice, name)
			}
		}
	}
	if row := res.Row("margay", "channel=model,known=yes"); row.Metrics["exact_leaks_before"] < .5 {
		t.Errorf("the prompts hold no forbidden values: %v", row.Metrics)
	}
}
