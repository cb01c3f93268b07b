package mediator_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/mediator"
	"github.com/margaydev/margay/mediator/answer"
	"github.com/margaydev/margay/monitor"
	"github.com/margaydev/margay/stream"
)

// touchy is a model whose white-box risk is the mass on unsafe tokens and
// whose black-box risk is a long run of digits.
func touchy(t testing.TB) *monitor.Model {
	fit := func(feature string) monitor.Fit {
		f := monitor.Fit{Tau1: 0.3, Tau2: 0.6, Bias: -16}
		for _, name := range monitor.Features() {
			w := 0.0
			if name == feature {
				w = 20
			}
			f.Weights, f.Mean, f.Scale = append(f.Weights, w), append(f.Mean, 0), append(f.Scale, 1)
		}
		return f
	}
	spec := monitor.Default().Spec()
	spec.White, spec.Gray, spec.Black = fit("low_entropy"), fit("low_entropy"), fit("numeric_runs")
	m, err := monitor.NewModel(spec)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// likely makes a token that is nearly certain, or one of many.
func likely(text string, certain bool) flow.Token {
	if certain {
		return probable(text, 0.999)
	}
	return probable(text, 0.1)
}

func probable(text string, p float64) flow.Token {
	tk := flow.Token{Text: text, Logprob: math.Log(p), Top: []flow.Alternative{{Text: text, Logprob: math.Log(p)}}}
	for i := range 9 {
		tk.Top = append(tk.Top, flow.Alternative{Text: string(rune('a' + i)), Logprob: math.Log((1 - p) / 9)})
	}
	return tk
}

// say sends tokens through a generation, one an event, and returns what came
// out.
func say(t *testing.T, s *mediator.Session, told bool, tokens ...flow.Token) (string, error) {
	t.Helper()
	g := s.Generate(context.Background(), answer.Options{})
	var out strings.Builder
	texts := map[string]string{}
	take := func(outs []answer.Outgoing) {
		for _, o := range outs {
			text := texts[string(o.Raw)]
			if o.Edit != nil {
				if e, ok := o.Edit.Text[0]; ok {
					text = string(e)
				}
			}
			out.WriteString(text)
		}
	}
	for i := range tokens {
		raw := []byte{byte(i)}
		texts[string(raw)] = tokens[i].Text
		d := flow.Delta{Key: flow.StreamKey{Field: flow.FieldContent}, Text: []byte(tokens[i].Text)}
		if told {
			d.Tokens = tokens[i : i+1]
		}
		outs, err := mediator.Push(g, &answer.Event{Raw: raw, Deltas: []flow.Delta{d}, Choices: []int{0}})
		take(outs)
		if err != nil {
			return out.String(), err
		}
	}
	outs, err := g.Close()
	take(outs)
	return out.String(), err
}

func judged(t testing.TB, mode mediator.RiskMode, halt bool, watch *mediator.Watch) *mediator.Session {
	e, _ := engine(t, func(c *mediator.Config) {
		c.Monitor = touchy(t)
		c.Policy = mediator.Policy{Risk: mode, Halt: halt, Vocabulary: 1000}
	})
	s, err := e.Session(context.Background(), &mediator.SessionRequest{Trajectory: flow.NewID(), Watch: watch})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestRisk(t *testing.T) {
	plain := []flow.Token{likely("the", false), likely(" key", false), likely(" is", false), likely(" zq", true), likely("xv", true), likely("kw,", true), likely(" and", false), likely(" more", false)}
	digits := []flow.Token{likely("the", false), likely(" code", false), likely(" is", false), likely(" 1234", false), likely("5678", false), likely("9012", false), likely(". So", false)}
	for _, c := range []struct {
		name   string
		mode   mediator.RiskMode
		told   bool
		tokens []flow.Token
		want   string
	}{
		{"white box", mediator.RiskEnforce, true, plain, "the key is [REDACTED:risk] and more"},
		{"red", mediator.RiskRed, true, append([]flow.Token{probable("a ", 0.1), probable("b ", 0.6)}, plain...), "a b the key is [REDACTED:risk] and more"},
		{"yellow", mediator.RiskEnforce, true, append([]flow.Token{probable("a ", 0.1), probable("b ", 0.6)}, plain...), "a [MASK]the key is [REDACTED:risk] and more"},
		{"report", mediator.RiskReport, true, plain, "the key is zqxvkw, and more"},
		{"off", mediator.RiskOff, true, plain, "the key is zqxvkw, and more"},
		{"nothing told", mediator.RiskEnforce, false, plain, "the key is zqxvkw, and more"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got, err := say(t, judged(t, c.mode, false, nil), c.told, c.tokens...); err != nil || got != c.want {
				t.Errorf("%q, %v; want %q", got, err, c.want)
			}
		})
	}
	t.Run("black box", func(t *testing.T) {
		got, err := say(t, judged(t, mediator.RiskEnforce, false, nil), false, digits...)
		if err != nil || strings.Contains(got, "5678") || strings.Contains(got, "9012") || !strings.HasPrefix(got, "the code is ") {
			t.Errorf("%q, %v", got, err)
		}
	})
	t.Run("halt", func(t *testing.T) {
		got, err := say(t, judged(t, mediator.RiskEnforce, true, nil), true, plain...)
		if !errors.Is(err, answer.ErrHalted) || strings.Contains(got, "zq") {
			t.Errorf("%q, %v", got, err)
		}
	})
	t.Run("tokens that are not the text", func(t *testing.T) {
		g := judged(t, mediator.RiskEnforce, false, nil).Generate(context.Background(), answer.Options{})
		d := flow.Delta{Key: flow.StreamKey{Field: flow.FieldContent}, Text: []byte("plain words"), Tokens: []flow.Token{likely("other", true)}}
		if outs, err := mediator.Push(g, &answer.Event{Deltas: []flow.Delta{d}, Choices: []int{0}}); err != nil || len(outs) > 0 && outs[0].Edit != nil {
			t.Errorf("%+v, %v", outs, err)
		}
	})
}

// A whole answer is edited as a stream of it is, and who watches is told.
func TestRiskOfWholeAnswers(t *testing.T) {
	var verdicts, edits int
	watch := &mediator.Watch{
		Judged: func(_ flow.StreamKey, from, to int64, v monitor.Verdict) {
			if from >= to || v.Box == monitor.BlackBox {
				t.Errorf("verdict of [%d,%d): %+v", from, to, v)
			}
			verdicts++
		},
		Edited: func(_ flow.StreamKey, e stream.Edit) {
			if e.Start == 11 && string(e.Text) == "[REDACTED:risk]" {
				edits++
			}
		},
	}
	s := judged(t, mediator.RiskEnforce, false, watch)
	tokens := []flow.Token{likely("the", false), likely(" key", false), likely(" is", false), likely(" zq", true), likely("xv", true)}
	res := s.Answer(context.Background(), &answer.Whole{Texts: []flow.Text{{ID: 7, Text: "the key is zqxv", Field: flow.FieldContent, Tokens: tokens, Path: func() string { return "p" }}}})
	if got := res.Edits[7]; got != "the key is [REDACTED:risk]" || verdicts != 5 || edits != 1 {
		t.Errorf("%q, %d verdicts, %d edits", got, verdicts, edits)
	}
	if len(res.Findings) != 1 || res.Findings[0].Risk < 0.6 || res.Findings[0].Model != touchy(t).Hash() || !strings.Contains(res.Decision.Reasons[0].Detail, "risk model") {
		t.Errorf("findings %+v, reasons %+v", res.Findings, res.Decision.Reasons)
	}
}
