package recount

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/ledger/charge"
	"github.com/margaydev/margay/rubric"
	"github.com/margaydev/margay/rubric/fallback"
)

// Bounds of what is remembered of rubrics. What is forgotten is computed again.
const (
	maxTerms = 512
	maxKnown = 4096
)

// terms are the rules of an entry, with what was computed of them.
type terms struct {
	Rules

	limits rubric.Limits
	fields map[string]declared
	prices map[priced]flow.Bits
	joints map[string]flow.Bits
	key    []byte
}

// declared is a field that rubrics have.
type declared struct {
	shape rubric.Hash
	group string
}

// priced is a way to show a field to sinks of a class.
type priced struct {
	field string
	op    rubric.Op
	class flow.Class
}

// refused is the price of what is not admitted.
const refused flow.Bits = -1

func newTerms(r Rules) *terms {
	t := &terms{Rules: r, limits: r.Limits(), fields: map[string]declared{}, prices: map[priced]flow.Bits{}, joints: map[string]flow.Bits{}}
	for _, f := range r.Fields() {
		t.fields[f] = declared{r.Shape(f), r.Group(f)}
	}
	return t
}

// group names a field's component; none for an unknown field.
func (t *terms) group(field string) string { return t.fields[field].group }

func (t *terms) has(field string) bool { _, ok := t.fields[field]; return ok }

// means reports whether a level means the same as under the rubrics of a view,
// or those can't be read, which was reported.
func (t *terms) means(v *view) bool {
	shape := t.fields[v.field].shape
	return len(v.under) == 0 || slices.ContainsFunc(v.under, func(o *terms) bool { return o == t || o.fields[v.field].shape == shape })
}

// atom holds one atom to the rules: its field, its operator and its own cost.
func (t *terms) atom(i int, a *charge.Atom, class flow.Class) error {
	if a.Field != Unknown && !t.has(a.Field) {
		return Field.Errorf("atom %d is of the field %q, which its rubrics do not have", i+1, a.Field)
	}
	at := priced{a.Field, rubric.Op{Kind: rubric.OpKind(a.Op), Level: int(a.Level), Template: a.Template}, class}
	cost, ok := t.prices[at]
	if !ok {
		cost = t.price(&at)
		keep(t.prices, at, cost, maxKnown)
	}
	switch {
	case cost == refused:
		return Operator.Errorf("atom %d: its rubrics do not admit %s of %s for %v sinks", i+1, at.op, a.Field, class)
	case a.Cost < cost:
		return Price.Errorf("atom %d: %s of %s costs %v by its rubrics, by the entry %v", i+1, at.op, a.Field, cost, a.Cost)
	}
	return nil
}

func (t *terms) price(p *priced) (cost flow.Bits) {
	switch {
	case p.field != Unknown:
		if cost = refused; slices.Contains(t.Operators(p.field, p.class), p.op) {
			cost = t.Cost(p.field, p.op)
		}
	case p.op.Kind > rubric.Redact:
		return refused
	default:
		for f := range t.fields { // it may be of any
			cost = max(cost, t.Cost(f, p.op))
		}
	}
	return min(cost, charge.MaxAmount)
}

// maxWorst is the most that the worst field counts in what is charged for a model's
// judgement.
const maxWorst = 1 << 20 * flow.Bit

// screened holds what an entry is charged for text that passed by a model's judgement
// to the rules: nothing, or at least the bound of its error in one text times the worst
// field, and no more than one release may have.
func (t *terms) screened(e *charge.Entry) error {
	if e.Screened == 0 {
		return nil
	}
	doubt, ok := t.Screens(e.Class)
	if !ok || e.Class > flow.SemiTrusted {
		return Screened.Errorf("text passed by a model's judgement, and its rubrics let none pass to %v sinks", e.Class)
	}
	worst := min(t.TopRisk(), maxWorst) / 1000
	if least := flow.Bits((int64(worst)*int64(doubt) + 999) / 1000); e.Screened < least {
		return Screened.Errorf("one text that passes by a model's judgement costs %v by its rubrics, by the entry %v", least, e.Screened)
	}
	if e.Screened > t.limits.Screened {
		return Release.Errorf("it is charged %v for a model's judgement, and its rubrics allow %v", e.Screened, t.limits.Screened)
	}
	return nil
}

// joint is Rules.Joint, computed once.
func (t *terms) joint(views []rubric.View) flow.Bits {
	t.key = t.key[:0]
	for _, v := range views {
		t.key = append(append(t.key, v.Field...), 0, byte(v.Level))
	}
	b, ok := t.joints[string(t.key)]
	if !ok {
		b = t.Joint(views)
		keep(t.joints, string(t.key), b, maxKnown)
	}
	return b
}

// keep remembers one of at most so many.
func keep[K comparable, V any](m map[K]V, k K, v V, most int) {
	if len(m) >= most {
		clear(m)
	}
	m[k] = v
}

// under returns the readings of an entry's rubrics: all of them together, and in
// the first entry of a family, which may name a rubric only for its limits, all
// but one that has the entry's limits. The error says why there are none.
func (c *Counter) under(e *charge.Entry) (out []*terms, err error) {
	all, err := c.terms(e.Rubrics)
	if err == nil {
		out = append(out, all)
	}
	if e.Seq > 1 || len(e.Rubrics) == 1 {
		return out, err
	}
	for i := range e.Rubrics {
		one, wrong := c.terms(e.Rubrics[i : i+1])
		if wrong != nil || (charge.Limits{B: one.limits.B, Cap: one.limits.Cap, Lambda: one.limits.Lambda, Screened: one.limits.Screened}) != e.Limits {
			continue
		}
		if t, wrong := c.terms(slices.Delete(slices.Clone(e.Rubrics), i, i+1)); wrong == nil {
			out, err = append(out, t), nil
		}
	}
	return out, err
}

// known are the terms of some rubrics, or why there are none.
type known struct {
	*terms
	err error
}

func (c *Counter) terms(hashes []charge.Hash) (*terms, error) {
	c.key = c.key[:0]
	for i := range hashes {
		c.key = append(c.key, hashes[i][:]...)
	}
	k, ok := c.of[string(c.key)]
	if !ok {
		r, err := c.rules(hashes)
		if err != nil {
			k.err = Missing.Errorf("what it costs can't be computed: %w", err)
		} else {
			k.terms = newTerms(r)
		}
		keep(c.of, string(c.key), k, maxTerms)
	}
	return k.terms, k.err
}

// Rubrics returns what rubrics say together, by their canonical bytes, which
// read returns by hash.
func Rubrics(read func(charge.Hash) ([]byte, error)) func([]charge.Hash) (Rules, error) {
	parsed := map[charge.Hash]*rubric.Rubric{} // nil for the fallback
	return func(hashes []charge.Hash) (Rules, error) {
		all := make([]*rubric.Rubric, len(hashes))
		for i, h := range hashes {
			one, ok := parsed[h]
			if !ok {
				var err error
				if one, err = parse(h, read); err != nil {
					return nil, fmt.Errorf("rubric %s: %w", h, err)
				}
				keep(parsed, h, one, maxTerms)
			}
			all[i] = one
		}
		switch {
		case !slices.Contains(all, nil):
			return rubric.Combine(all...), nil
		case len(all) == 1:
			return rubric.Fallback(), nil
		}
		return nil, errors.New("the fallback holds only where no rubric does")
	}
}

// parse reads a rubric; nil for the fallback.
func parse(h charge.Hash, read func(charge.Hash) ([]byte, error)) (*rubric.Rubric, error) {
	b, err := read(h)
	switch {
	case err != nil:
		return nil, err
	case charge.Hash(sha256.Sum256(b)) != h:
		return nil, errors.New("its bytes have another hash")
	case fallback.IsText(b):
		return nil, nil //nolint:nilnil // as documented
	}
	return rubric.ParseCanonical("rubric", b)
}
