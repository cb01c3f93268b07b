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
	maxJoint = 4096
)

// terms are the rules of an entry, with what was computed of them.
type terms struct {
	rules  Rules
	limits rubric.Limits
	fields []string
	shapes map[string]rubric.Hash
	groups map[string]string // of fields; empty for an unknown one
	prices map[priced]price
	joints map[string]flow.Bits
	key    []byte
}

// priced is an operator on a field for sinks of a class.
type priced struct {
	field    string
	op       charge.Op
	level    uint8
	template string
	class    flow.Class
}

type price struct {
	admitted bool
	cost     flow.Bits
}

func newTerms(r Rules) *terms {
	t := &terms{rules: r, limits: r.Limits(), fields: r.Fields(), shapes: map[string]rubric.Hash{}, groups: map[string]string{}, prices: map[priced]price{}, joints: map[string]flow.Bits{}}
	for _, f := range t.fields {
		t.shapes[f], t.groups[f] = r.Shape(f), r.Group(f)
	}
	return t
}

func (t *terms) has(field string) bool { _, ok := t.shapes[field]; return ok }

// means reports whether a level means the same as under the rubrics of a view.
func (t *terms) means(v *view) bool {
	if len(v.under) == 0 { // they can't be read, which was reported
		return true
	}
	shape := t.shapes[v.field]
	return slices.ContainsFunc(v.under, func(o *terms) bool { return o == t || o.shapes[v.field] == shape })
}

// atom holds one atom to the rules: its field, its operator and its own cost.
func (t *terms) atom(i int, a *charge.Atom, class flow.Class) error {
	if a.Field != Unknown && !t.has(a.Field) {
		return Field.Errorf("atom %d is of the field %q, which its rubrics do not have", i+1, a.Field)
	}
	at := priced{a.Field, a.Op, a.Level, a.Template, class}
	p, ok := t.prices[at]
	if !ok {
		if len(t.prices) >= maxJoint {
			clear(t.prices)
		}
		p = t.price(a, class)
		t.prices[at] = p
	}
	switch {
	case !p.admitted:
		return Operator.Errorf("atom %d: its rubrics do not admit %s of %s for %v sinks", i+1, opOf(a), a.Field, class)
	case a.Cost < p.cost:
		return Price.Errorf("atom %d: %s of %s costs %v by its rubrics, by the entry %v", i+1, opOf(a), a.Field, p.cost, a.Cost)
	}
	return nil
}

func (t *terms) price(a *charge.Atom, class flow.Class) price {
	op := opOf(a)
	if a.Field != Unknown {
		return price{slices.Contains(t.rules.Operators(a.Field, class), op), min(t.rules.Cost(a.Field, op), charge.MaxAmount)}
	}
	// It may be of any field, if there is one.
	var most flow.Bits
	for _, f := range t.fields {
		most = max(most, t.rules.Cost(f, op))
	}
	return price{op.Kind <= rubric.Redact, min(most, charge.MaxAmount)}
}

func opOf(a *charge.Atom) rubric.Op {
	return rubric.Op{Kind: rubric.OpKind(a.Op), Level: int(a.Level), Template: a.Template}
}

// joint is Rules.Joint, computed once.
func (t *terms) joint(views []rubric.View) flow.Bits {
	t.key = t.key[:0]
	for _, v := range views {
		t.key = append(append(t.key, v.Field...), 0, byte(v.Level))
	}
	b, ok := t.joints[string(t.key)]
	if !ok {
		if len(t.joints) >= maxJoint {
			clear(t.joints)
		}
		b = t.rules.Joint(views)
		t.joints[string(t.key)] = b
	}
	return b
}

// book finds the terms of entries.
type book struct {
	rules func([]charge.Hash) (Rules, error)
	of    map[string]*terms
	bad   map[string]error
	key   []byte
}

func newBook(rules func([]charge.Hash) (Rules, error)) book {
	return book{rules: rules, of: map[string]*terms{}, bad: map[string]error{}}
}

// under returns the readings of an entry's rubrics: all of them together, and in
// the first entry of a family, which may name a rubric only for its limits, all
// but one that has the entry's limits. The error says why there are none.
func (b *book) under(e *charge.Entry) ([]*terms, error) {
	var out []*terms
	all, err := b.terms(e.Rubrics)
	if err == nil {
		out = append(out, all)
	}
	if e.Seq > 1 || len(e.Rubrics) == 1 {
		return out, err
	}
	for i := range e.Rubrics {
		one, wrong := b.terms(e.Rubrics[i : i+1])
		if wrong != nil || one.limits.B != e.Limits.B || one.limits.Cap != e.Limits.Cap || one.limits.Lambda != e.Limits.Lambda {
			continue
		}
		if t, wrong := b.terms(slices.Delete(slices.Clone(e.Rubrics), i, i+1)); wrong == nil {
			out, err = append(out, t), nil
		}
	}
	return out, err
}

func (b *book) terms(hashes []charge.Hash) (*terms, error) {
	b.key = b.key[:0]
	for i := range hashes {
		b.key = append(b.key, hashes[i][:]...)
	}
	if t, ok := b.of[string(b.key)]; ok {
		return t, nil
	}
	if err, ok := b.bad[string(b.key)]; ok {
		return nil, err
	}
	if len(b.of)+len(b.bad) >= maxTerms {
		clear(b.of)
		clear(b.bad)
	}
	r, err := b.rules(hashes)
	if err != nil {
		err = Missing.Errorf("what it costs can't be computed: %w", err)
		b.bad[string(b.key)] = err
		return nil, err
	}
	t := newTerms(r)
	b.of[string(b.key)] = t
	return t, nil
}

// Rubrics returns what rubrics say together, by their canonical bytes, which
// read returns by hash.
func Rubrics(read func(charge.Hash) ([]byte, error)) func([]charge.Hash) (Rules, error) {
	parsed := map[charge.Hash]*rubric.Rubric{} // nil for the fallback
	one := func(h charge.Hash) (*rubric.Rubric, error) {
		if r, ok := parsed[h]; ok {
			return r, nil
		}
		b, err := read(h)
		if err != nil {
			return nil, fmt.Errorf("rubric %s: %w", h, err)
		}
		var r *rubric.Rubric
		switch {
		case charge.Hash(sha256.Sum256(b)) != h:
			return nil, fmt.Errorf("rubric %s has another hash", h)
		case !fallback.IsText(b):
			if r, err = rubric.ParseCanonical("rubric "+h.String(), b); err != nil {
				return nil, err
			}
		}
		if len(parsed) >= maxTerms {
			clear(parsed)
		}
		parsed[h] = r
		return r, nil
	}
	return func(hashes []charge.Hash) (Rules, error) {
		all := make([]*rubric.Rubric, len(hashes))
		for i, h := range hashes {
			var err error
			if all[i], err = one(h); err != nil {
				return nil, err
			}
		}
		switch {
		case !slices.Contains(all, nil):
			return rubric.Combine(all...), nil
		case len(all) == 1:
			return rubric.Fallback(), nil
		default:
			return nil, errors.New("the fallback holds only where no rubric does")
		}
	}
}
