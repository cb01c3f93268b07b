package declassify_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/margaydev/margay/declassify"
	"github.com/margaydev/margay/declassify/clause"
	"github.com/margaydev/margay/declassify/evidence"
	"github.com/margaydev/margay/declassify/rule"
	"github.com/margaydev/margay/flow"
)

// defender is a function as a defender.
type defender func(ctx context.Context, r *declassify.Request) ([]byte, error)

func (d defender) Evidence(ctx context.Context, r *declassify.Request) ([]byte, error) {
	return d(ctx, r)
}

// edited is the honest labeller, whose evidence is changed before it is handed
// over.
func edited(change func(*evidence.Statement)) defender {
	return func(ctx context.Context, r *declassify.Request) ([]byte, error) {
		raw, err := labeller{}.Evidence(ctx, r)
		if err != nil {
			return nil, err
		}
		ev, err := evidence.Parse(raw)
		if err != nil {
			return nil, err
		}
		change(ev)
		return ev.Marshal()
	}
}

// Evidence that is not of this release, or no evidence, is refused by a rule
// with a name; what it labelled is of unknown field.
func TestEvidenceIsRefused(t *testing.T) {
	raw := func(s string) defender {
		return func(context.Context, *declassify.Request) ([]byte, error) { return []byte(s), nil }
	}
	spanned := func(f func(*evidence.Label)) defender {
		return edited(func(ev *evidence.Statement) { f(&ev.Atoms[0]) })
	}
	for name, c := range map[string]struct {
		d    declassify.Defender
		rule rule.Rule
	}{
		"no JSON":              {raw("{"), evidence.Syntax},
		"nothing":              {raw(""), evidence.Syntax},
		"a key twice":          {raw(`{"version":1,"version":1}`), evidence.Syntax},
		"a list":               {raw(`[]`), evidence.Schema},
		"a member missing":     {raw(`{"version":1}`), evidence.Schema},
		"an unknown member":    {raw(`{"allow":true}`), evidence.Schema},
		"invalid UTF-8":        {raw("{\"version\":\"\xff\"}"), evidence.UTF8},
		"a flood":              {raw(strings.Repeat(" ", evidence.MaxSize+1)), evidence.TooLarge},
		"ten thousand atoms":   {edited(func(ev *evidence.Statement) { ev.Atoms = slices.Repeat(ev.Atoms[:1], 2500)[:2049] }), evidence.TooMany},
		"an unknown version":   {edited(func(ev *evidence.Statement) { ev.Context.Sink = "another" }), evidence.Other},
		"another class":        {edited(func(ev *evidence.Statement) { ev.Context.Class = "required-service" }), evidence.Other},
		"other rubrics":        {edited(func(ev *evidence.Statement) { ev.Context.Rubrics = nil }), evidence.Other},
		"another trajectory's": {edited(func(ev *evidence.Statement) { ev.Context.Prev = strings.Repeat("ab", 32) }), evidence.Previous},
		"a part that is not":   {spanned(func(l *evidence.Label) { l.Part = 7 }), evidence.Offset},
		"a negative offset":    {spanned(func(l *evidence.Label) { l.Start = -1 }), evidence.Schema},
		"an empty span":        {spanned(func(l *evidence.Label) { l.End = l.Start }), evidence.Offset},
		"behind the end":       {spanned(func(l *evidence.Label) { l.End = 1000 }), evidence.Offset},
		"within a character":   {spanned(func(l *evidence.Label) { l.Part, l.Start, l.End = 1, 2, 3 }), evidence.Offset},
		"overlapping":          {edited(func(ev *evidence.Statement) { ev.Atoms[1] = ev.Atoms[0] }), evidence.Overlap},
		"an operator too few":  {edited(func(ev *evidence.Statement) { ev.Operators = ev.Operators[:1] }), evidence.Operator},
		"an operator twice":    {edited(func(ev *evidence.Statement) { ev.Operators[1] = ev.Operators[0] }), evidence.Operator},
		"no operator":          {edited(func(ev *evidence.Statement) { ev.Operators[0].Op = "publish" }), evidence.Schema},
		"a level too many":     {edited(func(ev *evidence.Statement) { ev.Operators[0].Op = "redact"; ev.Operators[0].Level = 1 }), evidence.Operator},
		"another variant":      {edited(func(ev *evidence.Statement) { ev.Variant = strings.Repeat("cd", 32) }), evidence.Variant},
		"an error":             {defender(func(context.Context, *declassify.Request) ([]byte, error) { return nil, errors.New("1990-05-17") }), evidence.Failed},
		"a panic":              {defender(func(context.Context, *declassify.Request) ([]byte, error) { panic("1990-05-17") }), evidence.Failed},
		"too late": {defender(func(ctx context.Context, _ *declassify.Request) ([]byte, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}), evidence.Late},
	} {
		t.Run(name, func(t *testing.T) {
			v := verifier(t, travel(), func(cfg *declassify.Config) {
				cfg.Defender = c.d
				if name == "too late" {
					cfg.Deadline = time.Millisecond
				}
			})
			r := release(t, v, candidate("T1", broker(), "passengers.0.dob", "1990-05-17", "note", "fünf 1990-05-18 x"))
			if !hasRule(&r, c.rule) {
				t.Fatalf("%v", r.Reasons)
			}
			if r.Outcome != flow.Rewrite || sent(&r) != "[REDACTED]|fünf [REDACTED] x" {
				t.Errorf("%s %q", r.Outcome, sent(&r))
			}
			for _, x := range r.Reasons {
				if strings.Contains(x.Detail, "1990") {
					t.Errorf("a reason tells a value: %s", x.Detail)
				}
			}
		})
	}
}

// A label that a clause contradicts is not believed: what it labels is
// redacted, and nothing costs less by it.
func TestLabelsAreNotBelieved(t *testing.T) {
	honest := edited(func(*evidence.Statement) {})
	for name, c := range map[string]struct {
		d    declassify.Defender
		rule rule.Rule
		sent string
	}{
		"honest":               {honest, "", "1990|born 1990"},
		"none":                 {relabelled(func(l *evidence.Label) { l.Field = evidence.None }), rule.Coverage, "[REDACTED]|born [REDACTED]"},
		"another field":        {relabelled(func(l *evidence.Label) { l.Field = "legal-name" }), rule.Mislabelled, "[REDACTED]|born [REDACTED]"},
		"no field":             {relabelled(func(l *evidence.Label) { l.Field = "star-sign" }), rule.Mislabelled, "[REDACTED]|born [REDACTED]"},
		"another necessity":    {relabelled(func(l *evidence.Label) { l.Necessity = "required" }), clause.Necessity, "[REDACTED]|born [REDACTED]"},
		"a part of the value":  {relabelled(func(l *evidence.Label) { l.End -= 3 }), rule.Coverage, "[REDACTED]|born [REDACTED]"},
		"more than the value":  {relabelled(func(l *evidence.Label) { l.Start = 0 }), "", "1990|[REDACTED]"},
		"nothing":              {edited(func(ev *evidence.Statement) { ev.Atoms, ev.Operators = nil, nil }), evidence.Variant, "[REDACTED]|born [REDACTED]"},
		"asks for more":        {operated("identity", 0), "", "1990|born 1990"},
		"asks for less":        {operated("redact", 0), "", "[REDACTED]|born [REDACTED]"},
		"asks for a name":      {operated("substitute", 0), evidence.Operator, "[REDACTED]|born [REDACTED]"},
		"asks for what is not": {operated("generalize", 9), evidence.Operator, "[REDACTED]|born [REDACTED]"},
	} {
		t.Run(name, func(t *testing.T) {
			v := verifier(t, travel(), func(cfg *declassify.Config) { cfg.Defender = c.d })
			r := release(t, v, candidate("T1", broker(), "passengers.0.dob", "1990-05-17", "note", "born 1990-05-17"))
			if sent(&r) != c.sent || c.rule != "" && !hasRule(&r, c.rule) {
				t.Errorf("%s %q %v", r.Outcome, sent(&r), r.Reasons)
			}
		})
	}
}

// relabelled changes every label, and makes the rest of the evidence fit.
func relabelled(f func(*evidence.Label)) defender {
	return func(ctx context.Context, r *declassify.Request) ([]byte, error) {
		raw, _ := labeller{}.Evidence(ctx, r)
		ev, err := evidence.Parse(raw)
		if err != nil {
			return nil, err
		}
		for i := range ev.Atoms {
			f(&ev.Atoms[i])
			ev.Operators[i] = evidence.Proposal{Atom: i, Op: "redact"}
			if ev.Atoms[i].Field == "dob" {
				ev.Operators[i] = evidence.Proposal{Atom: i, Op: "identity"}
			}
		}
		ev.Variant, err = r.Variant(ev.Atoms, ev.Operators)
		if err != nil {
			return nil, err
		}
		return ev.Marshal()
	}
}

func operated(op string, level int) defender {
	return func(ctx context.Context, r *declassify.Request) ([]byte, error) {
		raw, _ := labeller{}.Evidence(ctx, r)
		ev, err := evidence.Parse(raw)
		if err != nil {
			return nil, err
		}
		for i := range ev.Operators {
			ev.Operators[i] = evidence.Proposal{Atom: i, Op: op, Level: level}
			if op == "substitute" {
				ev.Operators[i].Template = "pseudonym"
			}
		}
		if ev.Variant, err = r.Variant(ev.Atoms, ev.Operators); err != nil {
			ev.Variant = ""
		}
		return ev.Marshal()
	}
}

// second answers challenges.
type second struct {
	labeller
	answers func([]evidence.Challenge) ([]byte, error)
}

func (s second) Answers(_ context.Context, r *declassify.Request, c []evidence.Challenge) ([]byte, error) {
	return s.answers(c)
}

// truth answers as the labels of a date of birth at a curious sink are.
func truth(cs []evidence.Challenge) []bool {
	out := make([]bool, len(cs))
	for i, c := range cs {
		out[i] = c.Field == "dob" || c.Necessity == "useful"
	}
	return out
}

func TestChallenges(t *testing.T) {
	for name, c := range map[string]struct {
		answers func([]evidence.Challenge) ([]byte, error)
		rule    rule.Rule
		sent    string
	}{
		"the truth": {func(cs []evidence.Challenge) ([]byte, error) { return evidence.MarshalAnswers(truth(cs)) }, "", "1990"},
		"always yes": {func(cs []evidence.Challenge) ([]byte, error) {
			return evidence.MarshalAnswers(slices.Repeat([]bool{true}, len(cs)))
		}, clause.Challenge, "[REDACTED]"},
		"too few":    {func(cs []evidence.Challenge) ([]byte, error) { return evidence.MarshalAnswers(truth(cs)[1:]) }, evidence.Unanswered, "[REDACTED]"},
		"no answers": {func([]evidence.Challenge) ([]byte, error) { return []byte("yes"), nil }, evidence.Unanswered, "[REDACTED]"},
		"other answers": {func([]evidence.Challenge) ([]byte, error) {
			return json.Marshal(map[string]any{"version": 1, "answers": []int{1}})
		}, evidence.Unanswered, "[REDACTED]"},
		"an error": {func([]evidence.Challenge) ([]byte, error) { return nil, errors.New("no") }, evidence.Failed, "[REDACTED]"},
	} {
		t.Run(name, func(t *testing.T) {
			v := verifier(t, travel(), func(cfg *declassify.Config) {
				cfg.Defender, cfg.Challenges = second{answers: c.answers}, 32
			})
			r := release(t, v, candidate("T1", broker(), "passengers.0.dob", "1990-05-17"))
			if sent(&r) != c.sent || c.rule != "" && !hasRule(&r, c.rule) {
				t.Errorf("%s %q %v", r.Outcome, sent(&r), r.Reasons)
			}
		})
	}
}

// What a defender leaves out and then says is there may be of any field; whatever
// else it says then makes no release wider.
func TestChallengesFindOmissions(t *testing.T) {
	note := "the lady from down the road was born in the year of the moon landing, and all is well"
	field := func(cs []evidence.Challenge, says func(*evidence.Challenge) bool) ([]byte, error) {
		out := make([]bool, len(cs))
		for i := range cs {
			out[i] = says(&cs[i]) == (cs[i].Field != evidence.None)
		}
		return evidence.MarshalAnswers(out)
	}
	mute := func(*evidence.Statement) {}
	for name, c := range map[string]struct {
		says  func(*evidence.Challenge) bool // it is private
		first func(*evidence.Statement)
		want  func(string) bool
		rule  bool
	}{
		"the same again": {func(*evidence.Challenge) bool { return false }, mute, func(s string) bool { return s == note }, false},
		"all is private": {func(*evidence.Challenge) bool { return true }, mute, func(s string) bool { return strings.Trim(strings.ReplaceAll(s, "[REDACTED]", ""), " ") == "" }, true},
		"the moon is": {
			func(c *evidence.Challenge) bool { return strings.Contains(note[c.Start:c.End], "moon") }, mute,
			func(s string) bool { return !strings.Contains(s, "moon") && strings.Contains(s, "the lady") }, true,
		},
		"it was labelled none": {func(c *evidence.Challenge) bool { return c.Atom == 0 }, func(ev *evidence.Statement) {
			ev.Atoms = []evidence.Label{{Part: 0, Start: 4, End: 8, Role: "text", Field: evidence.None, Relation: "none", Necessity: "required", Provenance: "model"}}
			ev.Operators = []evidence.Proposal{{Atom: 0, Op: "identity"}}
		}, func(s string) bool { return strings.HasPrefix(s, "the [REDACTED] from") }, true},
	} {
		t.Run(name, func(t *testing.T) {
			d := omitting{edited(c.first), func(cs []evidence.Challenge) ([]byte, error) { return field(cs, c.says) }}
			v := verifier(t, travel(), func(cfg *declassify.Config) { cfg.Defender, cfg.Challenges = d, 64 })
			r := release(t, v, candidate("T1", broker(), "note", note))
			if !c.want(sent(&r)) || hasRule(&r, clause.Challenge) != c.rule {
				t.Errorf("%s %q %v", r.Outcome, sent(&r), r.Reasons)
			}
			if c.rule != (r.Outcome == flow.Rewrite) {
				t.Errorf("%v", r.Outcome)
			}
		})
	}
}

// omitting is a defender whose second pass has a mind of its own.
type omitting struct {
	defender
	answers func([]evidence.Challenge) ([]byte, error)
}

func (o omitting) Answers(_ context.Context, _ *declassify.Request, cs []evidence.Challenge) ([]byte, error) {
	return o.answers(cs)
}
