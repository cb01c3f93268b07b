// Package rules is the defender that knows nothing but the rubrics: typed
// arguments have the field that the tool's schema names, the coverage
// predicates find fields in free text, the rubrics give necessity, and
// operators are those that the verifier would plan. It is deterministic and
// asks nobody.
//
// It is an adviser: declassify.Verifier trusts it no more than any other.
package rules

import (
	"cmp"
	"context"
	"slices"

	"github.com/margaydev/margay/declassify"
	"github.com/margaydev/margay/declassify/evidence"
	"github.com/margaydev/margay/rubric"
)

// Version is what the ledger says of this defender.
const Version = "1"

// Defender implements declassify.Defender and declassify.Challenged. The zero
// Defender is ready; it is safe for concurrent use.
type Defender struct{}

// Evidence labels a candidate.
func (Defender) Evidence(ctx context.Context, r *declassify.Request) ([]byte, error) {
	ev := evidence.Statement{Context: r.Context}
	for i := range r.Parts {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		ev.Atoms = append(ev.Atoms, Labels(r, i)...)
	}
	return Planned(r, ev)
}

// Planned is evidence with the plan for its labels.
func Planned(r *declassify.Request, ev evidence.Statement) (_ []byte, err error) {
	if len(ev.Atoms) > evidence.MaxLabels { // the rest is of unknown field
		ev.Atoms = ev.Atoms[:evidence.MaxLabels]
	}
	slices.SortFunc(ev.Atoms, func(a, b evidence.Label) int { return cmp.Or(a.Part-b.Part, a.Start-b.Start) })
	if ev.Operators, ev.Variant, err = r.Plan(ev.Atoms); err != nil {
		return nil, err
	}
	return ev.Marshal()
}

// Answers reads the candidate again and says what each challenge asks of its
// stretch.
func (Defender) Answers(_ context.Context, r *declassify.Request, cs []evidence.Challenge) ([]byte, error) {
	return Answered(cs, func(c *evidence.Challenge) ([]evidence.Label, error) { return Labels(r, c.Part), nil })
}

// Answered are the answers to challenges by the labels that a defender reads for each
// the second time. Those that do not touch the challenge's stretch are not counted.
func Answered(cs []evidence.Challenge, read func(*evidence.Challenge) ([]evidence.Label, error)) ([]byte, error) {
	yes := make([]bool, len(cs))
	for i := range cs {
		c := &cs[i]
		labels, err := read(c)
		if err != nil {
			return nil, err
		}
		yes[i] = c.Field == evidence.None
		for _, l := range labels {
			switch {
			case l.End <= c.Start || c.End <= l.Start:
			case c.Field == evidence.None:
				yes[i] = false
			case c.Field != "" && l.Field == c.Field || c.Necessity != "" && l.Necessity == c.Necessity:
				yes[i] = true
			}
		}
	}
	return evidence.MarshalAnswers(yes)
}

// Labels are those of one part, disjoint and in order.
func Labels(r *declassify.Request, i int) []evidence.Label {
	if i < 0 || i >= len(r.Parts) {
		return nil
	}
	p := &r.Parts[i]
	if p.Text == "" {
		return nil
	}
	label := func(start, end int, role, field, clause string) evidence.Label {
		return evidence.Label{
			Part: i, Start: start, End: end, Role: role, Field: field, Relation: "explicit",
			Necessity: r.Rules.Necessity(field, r.Tool.Class).String(), Clause: clause, Provenance: "rubric",
		}
	}
	if arg := r.Tool.Arg(p.Path); arg.Field != "" && !arg.Free {
		return []evidence.Label{label(0, len(p.Text), "argument", arg.Field, "")}
	}
	matches := slices.DeleteFunc(r.Rules.Match(p.Path, p.Text), func(m rubric.Match) bool {
		return m.Field == rubric.AnyField || m.Start < 0 || m.Start >= m.End || m.End > len(p.Text)
	})
	// Of matches that overlap, the longest has the label: the verifier counts
	// what the others say all the same.
	slices.SortStableFunc(matches, func(a, b rubric.Match) int { return (b.End - b.Start) - (a.End - a.Start) })
	var kept []rubric.Match
	for _, m := range matches {
		if !slices.ContainsFunc(kept, func(k rubric.Match) bool { return m.Start < k.End && k.Start < m.End }) {
			kept = append(kept, m)
		}
		if len(kept) == evidence.MaxLabels {
			break
		}
	}
	slices.SortFunc(kept, func(a, b rubric.Match) int { return a.Start - b.Start })
	out := make([]evidence.Label, len(kept))
	for j, m := range kept {
		out[j] = label(m.Start, m.End, "text", m.Field, m.Clause)
	}
	return out
}
