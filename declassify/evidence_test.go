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
	"github.com/margaydev/margay/flow"
)

// defender is a function as a defender.
type defender func(ctx context.Context, r *declassify.Request) ([]byte, error)

func (d defender) Evidence(ctx context.Context, r *declassify.Request) ([]byte, error) {
	return d(ctx, r)
}

// edited is the honest labeller, whose evidence is changed before it is handed
// over.
func edited(change func(*declassify.Evidence)) defender {
	return func(ctx context.Context, r *declassify.Request) ([]byte, error) {
		raw, err := labeller{}.Evidence(ctx, r)
		if err != nil {
			return nil, err
		}
		ev, err := declassify.ParseEvidence(raw)
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
	spanned := func(f func(*declassify.Label)) defender {
		return edited(func(ev *declassify.Evidence) { f(&ev.Atoms[0]) })
	}
	for name, c := range map[string]struct {
		d    declassify.Defender
		rule declassify.Rule
	}{
		"no JSON":              {raw("{"), declassify.EvidenceSyntax},
		"nothing":              {raw(""), declassify.EvidenceSyntax},
		"a key twice":          {raw(`{"version":1,"version":1}`), declassify.EvidenceSyntax},
		"a list":               {raw(`[]`), declassify.EvidenceSchema},
		"a member missing":     {raw(`{"version":1}`), declassify.EvidenceSchema},
		"an unknown member":    {raw(`{"allow":true}`), declassify.EvidenceSchema},
		"invalid UTF-8":        {raw("{\"version\":\"\xff\"}"), declassify.EvidenceUTF8},
		"a flood":              {raw(strings.Repeat(" ", declassify.MaxEvidence+1)), declassify.EvidenceTooLarge},
		"ten thousand atoms":   {edited(func(ev *declassify.Evidence) { ev.Atoms = slices.Repeat(ev.Atoms[:1], 2500)[:2049] }), declassify.EvidenceAtoms},
		"an unknown version":   {edited(func(ev *declassify.Evidence) { ev.Context.Sink = "another" }), declassify.EvidenceContext},
		"another class":        {edited(func(ev *declassify.Evidence) { ev.Context.Class = "required-service" }), declassify.EvidenceContext},
		"other rubrics":        {edited(func(ev *declassify.Evidence) { ev.Context.Rubrics = nil }), declassify.EvidenceContext},
		"another trajectory's": {edited(func(ev *declassify.Evidence) { ev.Context.Prev = strings.Repeat("ab", 32) }), declassify.EvidencePrevious},
		"a part that is not":   {spanned(func(l *declassify.Label) { l.Part = 7 }), declassify.EvidenceOffset},
		"a negative offset":    {spanned(func(l *declassify.Label) { l.Start = -1 }), declassify.EvidenceSchema},
		"an empty span":        {spanned(func(l *declassify.Label) { l.End = l.Start }), declassify.EvidenceOffset},
		"behind the end":       {spanned(func(l *declassify.Label) { l.End = 1000 }), declassify.EvidenceOffset},
		"within a character":   {spanned(func(l *declassify.Label) { l.Part, l.Start, l.End = 1, 2, 3 }), declassify.EvidenceOffset},
		"overlapping":          {edited(func(ev *declassify.Evidence) { ev.Atoms[1] = ev.Atoms[0] }), declassify.EvidenceOverlap},
		"an operator too few":  {edited(func(ev *declassify.Evidence) { ev.Operators = ev.Operators[:1] }), declassify.EvidenceOperator},
		"an operator twice":    {edited(func(ev *declassify.Evidence) { ev.Operators[1] = ev.Operators[0] }), declassify.EvidenceOperator},
		"no operator":          {edited(func(ev *declassify.Evidence) { ev.Operators[0].Op = "publish" }), declassify.EvidenceSchema},
		"a level too many":     {edited(func(ev *declassify.Evidence) { ev.Operators[0].Op = "redact"; ev.Operators[0].Level = 1 }), declassify.EvidenceOperator},
		"another variant":      {edited(func(ev *declassify.Evidence) { ev.Variant = strings.Repeat("cd", 32) }), declassify.EvidenceVariant},
		"an error":             {defender(func(context.Context, *declassify.Request) ([]byte, error) { return nil, errors.New("1990-05-17") }), declassify.DefenderFailed},
		"a panic":              {defender(func(context.Context, *declassify.Request) ([]byte, error) { panic("1990-05-17") }), declassify.DefenderFailed},
		"too late": {defender(func(ctx context.Context, _ *declassify.Request) ([]byte, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}), declassify.DefenderTimeout},
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
	honest := edited(func(*declassify.Evidence) {})
	for name, c := range map[string]struct {
		d    declassify.Defender
		rule declassify.Rule
		sent string
	}{
		"honest":               {honest, "", "1990|born 1990"},
		"none":                 {relabelled(func(l *declassify.Label) { l.Field = declassify.None }), declassify.Coverage, "[REDACTED]|born [REDACTED]"},
		"another field":        {relabelled(func(l *declassify.Label) { l.Field = "legal-name" }), declassify.Mislabelled, "[REDACTED]|born [REDACTED]"},
		"no field":             {relabelled(func(l *declassify.Label) { l.Field = "star-sign" }), declassify.Mislabelled, "[REDACTED]|born [REDACTED]"},
		"another necessity":    {relabelled(func(l *declassify.Label) { l.Necessity = "required" }), declassify.NecessityRule, "[REDACTED]|born [REDACTED]"},
		"a part of the value":  {relabelled(func(l *declassify.Label) { l.End -= 3 }), declassify.Coverage, "[REDACTED]|born [REDACTED]"},
		"more than the value":  {relabelled(func(l *declassify.Label) { l.Start = 0 }), "", "1990|[REDACTED]"},
		"nothing":              {edited(func(ev *declassify.Evidence) { ev.Atoms, ev.Operators = nil, nil }), declassify.EvidenceVariant, "[REDACTED]|born [REDACTED]"},
		"asks for more":        {operated("identity", 0), "", "1990|born 1990"},
		"asks for less":        {operated("redact", 0), "", "[REDACTED]|born [REDACTED]"},
		"asks for a name":      {operated("substitute", 0), declassify.EvidenceOperator, "[REDACTED]|born [REDACTED]"},
		"asks for what is not": {operated("generalize", 9), declassify.EvidenceOperator, "[REDACTED]|born [REDACTED]"},
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
func relabelled(f func(*declassify.Label)) defender {
	return func(ctx context.Context, r *declassify.Request) ([]byte, error) {
		raw, _ := labeller{}.Evidence(ctx, r)
		ev, err := declassify.ParseEvidence(raw)
		if err != nil {
			return nil, err
		}
		for i := range ev.Atoms {
			f(&ev.Atoms[i])
			ev.Operators[i] = declassify.Proposal{Atom: i, Op: "redact"}
			if ev.Atoms[i].Field == "dob" {
				ev.Operators[i] = declassify.Proposal{Atom: i, Op: "identity"}
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
		ev, err := declassify.ParseEvidence(raw)
		if err != nil {
			return nil, err
		}
		for i := range ev.Operators {
			ev.Operators[i] = declassify.Proposal{Atom: i, Op: op, Level: level}
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
	answers func([]declassify.Challenge) ([]byte, error)
}

func (s second) Answers(_ context.Context, r *declassify.Request, c []declassify.Challenge) ([]byte, error) {
	return s.answers(c)
}

// truth answers as the labels of a date of birth at a curious sink are.
func truth(cs []declassify.Challenge) []bool {
	out := make([]bool, len(cs))
	for i, c := range cs {
		out[i] = c.Field == "dob" || c.Necessity == "useful"
	}
	return out
}

func TestChallenges(t *testing.T) {
	for name, c := range map[string]struct {
		answers func([]declassify.Challenge) ([]byte, error)
		rule    declassify.Rule
		sent    string
	}{
		"the truth": {func(cs []declassify.Challenge) ([]byte, error) { return declassify.MarshalAnswers(truth(cs)) }, "", "1990"},
		"always yes": {func(cs []declassify.Challenge) ([]byte, error) {
			return declassify.MarshalAnswers(slices.Repeat([]bool{true}, len(cs)))
		}, declassify.ChallengeConflict, "[REDACTED]"},
		"too few":    {func(cs []declassify.Challenge) ([]byte, error) { return declassify.MarshalAnswers(truth(cs)[1:]) }, declassify.ChallengeRefused, "[REDACTED]"},
		"no answers": {func([]declassify.Challenge) ([]byte, error) { return []byte("yes"), nil }, declassify.ChallengeRefused, "[REDACTED]"},
		"other answers": {func([]declassify.Challenge) ([]byte, error) {
			return json.Marshal(map[string]any{"version": 1, "answers": []int{1}})
		}, declassify.ChallengeRefused, "[REDACTED]"},
		"an error": {func([]declassify.Challenge) ([]byte, error) { return nil, errors.New("no") }, declassify.DefenderFailed, "[REDACTED]"},
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

func FuzzParseEvidence(f *testing.F) {
	v := verifier(f, travel(), func(cfg *declassify.Config) {
		cfg.Defender = defender(func(ctx context.Context, r *declassify.Request) ([]byte, error) {
			raw, err := labeller{}.Evidence(ctx, r)
			f.Add(raw)
			return raw, err
		})
	})
	release(f, v, candidate("T1", broker(), "passengers.0.dob", "1990-05-17", "note", "fünf 1990-05-18 x"))
	f.Add([]byte(`{"version":1,"context":{"action":"","channel":"","sink":"","class":"","rubrics":[],"prev":""},"atoms":[],"operators":[],"variant":""}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		ev, err := declassify.ParseEvidence(raw)
		if err != nil {
			var rule declassify.Rule
			if !errors.As(err, &rule) {
				t.Fatalf("refused without a rule: %v", err)
			}
			return
		}
		again, err := ev.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		back, err := declassify.ParseEvidence(again)
		if err != nil {
			t.Fatalf("what was read can't be read again: %v", err)
		}
		twice, err := back.Marshal()
		if err != nil || string(twice) != string(again) {
			t.Fatalf("%s\n%s", again, twice)
		}
	})
}
