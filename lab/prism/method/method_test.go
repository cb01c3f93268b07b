package method

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/margaydev/margay/internal/completion"
)

func TestSuiteNone(t *testing.T)      { suite(t, None{}) }
func TestSuitePrompt(t *testing.T)    { suite(t, must(NewPrompt(true))(t)) }
func TestSuiteGuardrail(t *testing.T) { suite(t, Guardrail{}) }
func TestSuiteEntropy(t *testing.T)   { suite(t, Entropy{}) }
func TestSuiteRules(t *testing.T)     { suite(t, must(NewRules())(t)) }
func TestSuitePII(t *testing.T)       { suite(t, must(NewPII())(t)) }

func TestPromptNeedsAModel(t *testing.T) {
	if _, err := NewPrompt(false); !errors.Is(err, ErrUnavailable) {
		t.Error(err)
	}
}

func TestSet(t *testing.T) {
	ctx := context.Background()
	s, err := New(ctx, Options{Traces: toy(40, 1)})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, m := range s.Methods {
		names = append(names, m.Name())
	}
	if got, want := strings.Join(names, " "), "none guardrail entropy rules pii gbt tagger monitor monitor-novault monitor-red monitor-risk monitor-blackbox"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	notes := strings.Join(s.Notes(), "\n")
	for _, left := range []string{"prompt: left out", "judge: left out", "detect-secrets: left out", "presidio: left out"} {
		if !strings.Contains(notes, left) {
			t.Errorf("no note %q in %q", left, notes)
		}
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, err := New(ctx, Options{Only: []string{"magic"}}); err == nil {
		t.Error("a defence nobody knows")
	}
	if s, err = New(ctx, Options{Only: []string{"tagger", "none"}}); err != nil || len(s.Methods) != 1 {
		t.Error("without traces", s, err)
	}
	if _, err := New(ctx, Options{Traces: toy(2, 1)[1:], Only: []string{"gbt"}}); err == nil {
		t.Error("one class only")
	}
}

// removed returns what a method takes out of a text.
func removed(t *testing.T, m Method, text string) []string {
	t.Helper()
	in := input(text)
	out, err := m.Filter(context.Background(), in)
	if err != nil {
		t.Fatal(err)
	}
	checkOutput(t, in, &out)
	var all []string
	for _, r := range out.Removed {
		all = append(all, text[r.Start:r.End])
	}
	return all
}

// TestFinds: what each scanner takes out, between « and », and nothing else.
func TestFinds(t *testing.T) {
	rules, pii := must(NewRules())(t), must(NewPII())(t)
	for _, c := range []struct {
		m    Method
		text string
	}{
		{Guardrail{}, "the password is «hunter2!» and all"},
		{Guardrail{}, "API_KEY=«abcdefgh12345678»"},
		{Guardrail{}, "postgres://pay:«s3cr3tPw9x»@db/pay"},
		{Guardrail{}, "DB_PASSWORD_OLD is unset; hash 5d41402abc4b2a76b9719d911017c592"},
		{Entropy{}, `key "«9aF3kLmQ8zRtY7wVbN2xCpHs6UeJ4dG1»"`},
		{Entropy{}, `bare «9aF3kLmQ8zRtY7wVbN2xCpHs6UeJ4dG1» too`},
		{Entropy{}, `a "quoted" one hides 9aF3kLmQ8zRtY7wVbN2xCpHs6UeJ4dG1`},
		{Entropy{}, `password = "«hunter2xYz»"`},
		{Entropy{}, `password = hunter2xYz`},
		{Entropy{}, `commit «5d41402abc4b2a76b9719d911017c592aa01bb02»`},
		{Entropy{}, `uuid "123e4567-e89b-42d3-a456-426614174000"`},
		{Entropy{}, `secret = "${VAULT}" or "<your-secret>"`},
		{Entropy{}, `postgres://pay:«s3cr3tPw9x»@db:5432/pay from «203.0.114.9» or 10.0.0.1`},
		{rules, "deploy with «AKIAQ3EGRWXP5TZ6NB7M» now"},
		{rules, "nothing to see in a sentence about passwords"},
		{pii, "write to «jane.doe@example.org» or «(415) 555-2671», card «4242 4242 4242 4242», see «https://example.org/x?y=1»."},
		{pii, "uuid 123e4567-e89b-42d3-a456-426614174000, password hunter2"},
	} {
		var want []string
		for _, part := range strings.Split(c.text, "«")[1:] {
			v, _, _ := strings.Cut(part, "»")
			want = append(want, v)
		}
		text := strings.NewReplacer("«", "", "»", "").Replace(c.text)
		if got := removed(t, c.m, text); strings.Join(got, "|") != strings.Join(want, "|") {
			t.Errorf("%s of %q: %q, want %q", c.m.Name(), text, got, want)
		}
	}
}

func TestShannon(t *testing.T) {
	for v, want := range map[string]float64{"": 0, "aaaa": 0, "ab": 1, "abcd": 2, "0123456789abcdef": 4} {
		if got := shannon(v, true); math.Abs(got-want) > 1e-12 {
			t.Errorf("%q: %v", v, got)
		}
	}
	if a, b := shannon("0123456789", false), shannon("0123456789", true); a-b < 0.3 {
		t.Error("a number counts as much as other hexadecimal")
	}
}

func TestRedact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringN(0, 60, 60).Draw(t, "text")
		var spans []span
		for range rapid.IntRange(0, 6).Draw(t, "n") {
			spans = append(spans, span{rapid.IntRange(-5, 70).Draw(t, "start"), rapid.IntRange(-5, 70).Draw(t, "end")})
		}
		in := &Input{Text: text}
		out := removing(in, spans)
		if in.Text != text {
			t.Fatal("changed")
		}
		gone := make([]bool, len(text))
		for _, s := range spans {
			for i := max(0, s.start); i < min(s.end, len(text)); i++ {
				gone[i] = true
			}
		}
		for _, r := range out.Removed {
			for i := r.Start; i < r.End; i++ {
				if !gone[i] {
					t.Fatalf("byte %d of no span removed", i)
				}
				gone[i] = false
			}
		}
		for i, g := range gone {
			if g {
				t.Fatalf("byte %d of a span kept", i)
			}
		}
	})
}

// judgeServer answers with what answer makes of the text that is judged.
func judgeServer(t *testing.T, answer func(text string) (int, string)) *Judge {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var req struct {
			Messages []struct{ Role, Content string }
		}
		if err := json.NewDecoder(r.Body).Decode(&req); err != nil || len(req.Messages) != 2 || r.URL.Path != "/v1/chat/completions" || r.Header.Get("Authorization") != "Bearer k" {
			http.Error(w, "bad request", http.StatusBadRequest)
			return
		}
		code, content := answer(strings.TrimSuffix(strings.TrimPrefix(req.Messages[1].Content, "<output>\n"), "\n</output>"))
		w.WriteHeader(code)
		_ = json.NewEncoder(w).Encode(map[string]any{"choices": []any{map[string]any{"message": map[string]any{"content": content}}}})
	}))
	t.Cleanup(s.Close)
	j, err := NewJudge(completion.Config{BaseURL: s.URL + "/v1/", Model: "m", Key: "k", Timeout: 20 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func TestJudge(t *testing.T) {
	if _, err := NewJudge(completion.Config{}); !errors.Is(err, ErrUnavailable) {
		t.Error(err)
	}
	text := "use s3cr3t and s3cr3t"
	for _, c := range []struct {
		answer string
		want   string
		risk   float64
	}{
		{`{"leak": true, "confidence": 0.9, "secrets": ["s3cr3t"]}`, "use [REDACTED] and [REDACTED]", 0.9},
		{"Sure! {} ```json\n{\"leak\": true, \"secrets\": [\"s3cr3t\"]}\n``` done", "use [REDACTED] and [REDACTED]", 1},
		{`{"leak": true, "secrets": ["elsewhere"]}`, "[REDACTED]", 1},
		{`{"leak": false, "confidence": 0.8}`, text, 0.2},
		{`I see no problem.`, text, math.NaN()},
		{`{"leak": "maybe"}`, text, math.NaN()},
	} {
		j := judgeServer(t, func(string) (int, string) { return 200, c.answer })
		in := input(text)
		out, err := j.Filter(context.Background(), in)
		if err != nil {
			t.Fatal(err)
		}
		checkOutput(t, in, &out)
		if out.Text != c.want || math.Abs(out.Risk-c.risk) > 1e-12 || math.IsNaN(out.Risk) != math.IsNaN(c.risk) {
			t.Errorf("%s: %q with risk %v", c.answer, out.Text, out.Risk)
		}
	}
	j := judgeServer(t, func(string) (int, string) { return 500, "" })
	if _, err := j.Filter(context.Background(), input(text)); err == nil {
		t.Error("a failing endpoint decided")
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := j.Filter(ctx, input(text)); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestSuiteJudge(t *testing.T) {
	suite(t, judgeServer(t, func(text string) (int, string) {
		b, _ := json.Marshal(map[string]any{"leak": strings.Contains(text, "ghp_"), "secrets": []string{"ghp_16C7e42F292c6912E7710c838347Ae178B4a"}})
		return 200, string(b)
	}))
}
