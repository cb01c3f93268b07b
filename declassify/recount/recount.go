// Package recount holds the entries of a ledger to the rubrics that they name:
// the fields, the operators, and the bits that these cost. It shares no code
// with the verifier that made the entries, only the rubrics.
//
// Text that passed by a model's judgement has no atoms: an entry that is charged for
// some is held to the least that the rubrics ask of one text.
//
// The check is one-sided. An atom may have been of several fields, which its
// entry does not say, so an entry may charge more than what is computed here,
// but not less.
package recount

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/ledger/charge"
	"github.com/margaydev/margay/rubric"
)

// Rules that an entry breaks if it is not what its rubrics say.
const (
	Missing  charge.Rule = "rubrics"  // its rubrics can't be read, so nothing can be computed
	Field    charge.Rule = "field"    // its rubrics do not have an atom's field
	Operator charge.Rule = "operator" // they do not admit an atom's operator
	Price    charge.Rule = "price"    // it charges less than they say
	Release  charge.Rule = "release"  // it adds more than they allow one release
	Screened charge.Rule = "screened" // they let no text pass by a model's judgement, or ask more for it
)

// Unknown is the field of an atom without a believed label.
const Unknown = "unknown"

// Rules are what the rubrics of a release say together; *rubric.Resolved
// implements them.
type Rules interface {
	// Fields returns the secret fields.
	Fields() []string
	// Operators returns the operators admitted for a field.
	Operators(field string, class flow.Class) []rubric.Op
	// Cost is the most that an operator on a field discloses.
	Cost(field string, op rubric.Op) flow.Bits
	// Joint is the most that views of one value disclose together.
	Joint(views []rubric.View) flow.Bits
	// Group names a field's dependency component: no value is of two.
	Group(field string) string
	// Shape names the meaning of a field's levels.
	Shape(field string) rubric.Hash
	// Limits bound what one release may add.
	Limits() rubric.Limits
	// TopRisk is at least the cost of every field.
	TopRisk() flow.Bits
	// Screens reports whether text may pass by a model's judgement, and bounds the
	// share of texts, in bits, of which that is wrong.
	Screens(class flow.Class) (doubt flow.Bits, ok bool)
}

// maxValues is the number of values beyond which the verifier forgets all
// views of a family; from there on it adds costs up. This must be the same
// number as that of package shown.
const maxValues = 1 << 16

// view is a form in which sinks were shown a value.
type view struct {
	field string
	level int
	class flow.Class // the worst that saw it
	under []*terms   // what the rubrics of its entry may have been
}

// value is what is known of one value.
type value struct {
	groups []string // of its field; several if its first entry has several readings
	views  []view
}

// Counter recomputes the entries of one family after another. It is not safe
// for concurrent use.
type Counter struct {
	rules func([]charge.Hash) (Rules, error)
	of    map[string]known // by hashes
	key   []byte

	family  flow.TrajectoryID
	seq     uint64
	values  map[charge.Hash]value
	partial bool // values were forgotten

	order     []int // atoms of an entry, those of one value together
	at, whole []rubric.View
}

// New returns a Counter. Rules returns what rubrics say together, by their
// hashes.
func New(rules func(hashes []charge.Hash) (Rules, error)) *Counter {
	return &Counter{rules: rules, of: map[string]known{}}
}

// Entry holds an entry to its rubrics. The state is the one before it, to
// which the entry can be applied. All entries of a family must come, in order.
// The error wraps a rule.
func (c *Counter) Entry(before *charge.State, e *charge.Entry) error {
	if e.Family != c.family || e.Seq <= c.seq {
		c.family, c.values, c.partial = e.Family, map[charge.Hash]value{}, false
	}
	c.seq = e.Seq
	if !e.Charges() {
		return nil
	}
	under, err := c.under(e)
	for _, t := range under {
		// The first entry of a family may name a rubric for the family's limits
		// alone. It is sound if it is under one of its readings.
		if err = c.judge(t, before, e); err == nil {
			break
		}
	}
	c.take(e, under)
	return err
}

// judge holds an entry to one reading of its rubrics.
func (c *Counter) judge(t *terms, before *charge.State, e *charge.Entry) error {
	c.order = c.order[:0]
	for i := range e.Atoms {
		a := &e.Atoms[i]
		if err := t.atom(i, a, e.Class); err != nil {
			return err
		}
		if g := c.values[a.Value].groups; len(g) > 0 && !slices.Contains(g, t.group(a.Field)) {
			return Field.Errorf("atom %d is of the field %s, but its value was of another before (%s)", i+1, a.Field, cmp.Or(g[0], Unknown))
		}
		c.order = append(c.order, i)
	}
	slices.SortStableFunc(c.order, func(i, j int) int { return bytes.Compare(e.Atoms[i].Value[:], e.Atoms[j].Value[:]) })
	for from, to := 0, 0; from < len(c.order); from = to {
		a := &e.Atoms[c.order[from]]
		for to = from; to < len(c.order) && e.Atoms[c.order[to]].Value == a.Value; to++ {
			if b := &e.Atoms[c.order[to]]; t.group(b.Field) != t.group(a.Field) {
				return Field.Errorf("atoms %d and %d are of one value, but of the fields %s and %s", c.order[from]+1, c.order[to]+1, a.Field, b.Field)
			}
		}
		known := before.After(a.Value)
		for k := int(e.Class); k >= 1; k-- {
			if least := c.least(t, k, e, c.order[from:to], known[k]); a.After[k] < least {
				return Price.Errorf("atom %d (%s): sinks that are %v or worse then know %v of the value by its rubrics, by the entry %v", c.order[from]+1, a.Field, flow.Class(k), least, a.After[k])
			}
		}
	}
	if err := t.screened(e); err != nil {
		return err
	}
	l := &t.limits
	if e.Charge > l.B {
		return Release.Errorf("it costs %v, and its rubrics allow %v", e.Charge, l.B)
	}
	for k := 1; k < charge.Classes; k++ {
		if add := e.Caps[k] - before.Caps[k]; add > l.Cap[k] {
			return Release.Errorf("it discloses %v to sinks that are %v or worse, and its rubrics allow %v", add, flow.Class(k), l.Cap[k])
		}
	}
	return nil
}

// least is the least that sinks of class k or worse know of a value behind an
// entry: the joint cost of all views, or the sum where its rubrics give none.
//
// A view under other rubrics counts at its level if a level means the same,
// else as the value itself. A verifier that was started again counts it as the
// value itself in both cases. That costs no less, but a view of the value that
// is new by its level is not new then.
func (c *Counter) least(t *terms, k int, e *charge.Entry, group []int, known flow.Bits) flow.Bits {
	adds := c.partial && known > 0
	at, whole := c.at[:0], c.whole[:0] // at the views' levels, and as the value itself
	for _, v := range c.values[e.Atoms[group[0]].Value].views {
		switch {
		case int(v.class) < k:
		case !t.has(v.field):
			adds = true
		default:
			w := rubric.View{Field: v.field}
			whole = append(whole, w)
			if t.means(&v) {
				w.Level = v.level
			}
			at = append(at, w)
		}
	}
	most, sum := known, known
	for _, i := range group {
		a := &e.Atoms[i]
		most = max(most, a.Cost)
		if a.Op < charge.Generalize {
			continue
		}
		v := rubric.View{Field: a.Field, Level: int(a.Level)}
		if slices.Contains(at, v) {
			continue
		}
		at = append(at, v)
		if !slices.Contains(whole, v) {
			sum = sum.Add(a.Cost)
		}
	}
	c.at, c.whole = at, whole
	if len(at) > 0 {
		most = max(most, t.joint(at))
	}
	if adds {
		most = max(most, sum)
	}
	return min(most, charge.MaxAmount)
}

// take remembers what an entry showed.
func (c *Counter) take(e *charge.Entry, under []*terms) {
	if len(c.values)+len(e.Atoms) > maxValues {
		c.values, c.partial = map[charge.Hash]value{}, true
	}
	for i := range e.Atoms {
		a := &e.Atoms[i]
		v := c.values[a.Value]
		if len(v.groups) == 0 {
			for _, t := range under {
				v.groups = append(v.groups, t.group(a.Field))
			}
		}
		if a.Op >= charge.Generalize {
			v.views = add(v.views, view{a.Field, int(a.Level), e.Class, under})
		}
		c.values[a.Value] = v
	}
}

func add(views []view, v view) []view {
	for i := range views {
		if w := &views[i]; w.field == v.field && w.level == v.level && slices.Equal(w.under, v.under) {
			w.class = max(w.class, v.class)
			return views
		}
	}
	return append(views, v)
}
