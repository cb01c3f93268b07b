package rules_test

import (
	"context"
	"testing"

	"github.com/margaydev/margay/declassify"
	"github.com/margaydev/margay/declassify/evidence"
	"github.com/margaydev/margay/declassify/schema"
	"github.com/margaydev/margay/defend/rules"
	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/rubric"
)

// lists are Rules that know two words.
type lists struct{ declassify.Rules }

func (lists) Necessity(string, flow.Class) rubric.Necessity { return rubric.Useful }
func (lists) Match(_, text string) []rubric.Match {
	return []rubric.Match{
		{Start: 6, End: 9, Field: "legal-name", Clause: "short"},
		{Start: 0, End: 4, Field: "dob", Clause: "date"},
		{Start: 5, End: 12, Field: "email", Clause: "long"},
		{Start: 0, End: len(text), Field: rubric.AnyField},
	}
}

func TestEvidence(t *testing.T) {
	req := &declassify.Request{
		Tool:  &schema.Tool{Class: flow.SemiTrusted, Args: []schema.Arg{{Path: "to", Field: "email"}}},
		Parts: []declassify.Part{{Path: "to", Text: "a@b.example"}, {Path: "note", Text: "1990 a@b.example"}, {Path: "empty"}},
		Rules: lists{},
		Plan: func(ls []evidence.Label) ([]evidence.Proposal, string, error) {
			out := make([]evidence.Proposal, len(ls))
			for i := range out {
				out[i] = evidence.Proposal{Atom: i, Op: "redact"}
			}
			return out, "v", nil
		},
	}
	raw, err := rules.Defender{}.Evidence(context.Background(), req)
	if err != nil {
		t.Fatal(err)
	}
	ev, err := evidence.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	type span struct {
		part, start, end int
		field            string
	}
	want := []span{{0, 0, 11, "email"}, {1, 0, 4, "dob"}, {1, 5, 12, "email"}}
	if len(ev.Atoms) != len(want) || ev.Variant != "v" || len(ev.Operators) != len(want) {
		t.Fatalf("%+v", ev)
	}
	for i, l := range ev.Atoms {
		if (span{l.Part, l.Start, l.End, l.Field}) != want[i] || l.Necessity != "useful" {
			t.Errorf("label %d is %+v", i, l)
		}
	}
	raw, err = rules.Defender{}.Answers(context.Background(), req, []evidence.Challenge{
		{Atom: 1, Part: 1, Start: 0, End: 4, Field: "dob"},
		{Atom: 1, Part: 1, Start: 0, End: 4, Field: "email"},
		{Atom: 0, Part: 0, Start: 0, End: 11, Necessity: "useful"},
		{Atom: 0, Part: 0, Start: 0, End: 11, Necessity: "required"},
		{Atom: -1, Part: 1, Start: 2, End: 8, Field: "email"},
		{Atom: -1, Part: 1, Start: 2, End: 8, Field: "none"},
		{Atom: -1, Part: 1, Start: 4, End: 5, Field: "none"},
	})
	if err != nil || string(raw) != `{"version":1,"answers":[true,false,true,false,true,false,true]}` {
		t.Errorf("%s %v", raw, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := (rules.Defender{}).Evidence(ctx, req); err == nil {
		t.Error("it goes on after its context ended")
	}
}
