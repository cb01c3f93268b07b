package defence

import (
	"context"
	"strings"
	"testing"

	"github.com/margaydev/margay/declassify"
	"github.com/margaydev/margay/declassify/evidence"
	"github.com/margaydev/margay/defend/rules"
	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/lab/traj/world"
)

// attentive labels the word "asthmatic", which no clause of the rubric matches.
type attentive struct{ rules.Defender }

func (attentive) labels(r *declassify.Request, part int) []evidence.Label {
	out := rules.Labels(r, part)
	if i := strings.Index(r.Parts[part].Text, "asthmatic"); i >= 0 {
		out = append(out, evidence.Label{Part: part, Start: i, End: i + 9, Role: "text", Field: "dob", Relation: "inferential", Necessity: r.Rules.Necessity("dob", r.Tool.Class).String(), Provenance: "model"})
	}
	return out
}

func (a attentive) Evidence(_ context.Context, r *declassify.Request) ([]byte, error) {
	ev := evidence.Statement{Context: r.Context}
	for i := range r.Parts {
		ev.Atoms = append(ev.Atoms, a.labels(r, i)...)
	}
	return rules.Planned(r, ev)
}

func (a attentive) Answers(_ context.Context, r *declassify.Request, cs []evidence.Challenge) ([]byte, error) {
	return rules.Answered(cs, func(c *evidence.Challenge) ([]evidence.Label, error) { return a.labels(r, c.Part), nil })
}

// Challenges find what a careless defender left out, and nothing is withheld for them
// from one that is not.
func TestChallengesFindCarelessness(t *testing.T) {
	text := "Two mugs, please, and no feathers, since the one who gets them is asthmatic and would sneeze all through the summer"
	for _, c := range []struct {
		name       string
		share      float64
		challenges int
		want       func(string) bool
	}{
		{"attentive, unasked", 0, 0, func(s string) bool { return !strings.Contains(s, "asthmatic") && strings.Contains(s, "mugs") }},
		{"attentive", 0, 32, func(s string) bool {
			return !strings.Contains(s, "asthmatic") && strings.Contains(s, "mugs") && strings.Contains(s, "sneeze")
		}},
		{"careless, unasked", 1, 0, func(s string) bool { return s == text }},
		{"careless", 1, 32, func(s string) bool { return !strings.Contains(s, "asthmatic") && strings.Contains(s, "Two mugs") }},
	} {
		m := margay(t, func(cfg *MargayConfig) {
			cfg.Defender, cfg.Challenges = Careless{Inner: attentive{}, Share: c.share}, c.challenges
		})
		s, err := m.Begin(t.Context(), Known{ID: "1-000"})
		if err != nil {
			t.Fatal(err)
		}
		out, err := s.Release(t.Context(), &Candidate{
			Tool: "ask", Action: "e-commerce", Sink: world.Sink{Name: "shophelper", Class: flow.RequiredService, Channel: flow.ChannelTool},
			Parts: []Part{{Path: "query", Free: true, From: world.FromUser, Text: text}},
		})
		if err != nil || len(out.Parts) != 1 || !c.want(out.Parts[0]) || out.Fallback != (c.share == 1 && c.challenges > 0) {
			t.Errorf("%s: %+v, %v", c.name, out, err)
		}
	}
}
