package declassify

import (
	"context"
	"fmt"
	"sync"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/ledger"
	"github.com/margaydev/margay/rubric"
)

// view is what sinks were shown of a value.
type view struct {
	field string
	level int
	class flow.Class  // the worst that saw it
	shape rubric.Hash // what the level means
	by    ledger.Hash // where the shape is not known: the rubrics, as one hash
}

// told is what is known of one value.
type told struct {
	views []view
	after [ledger.Classes]flow.Bits
}

// family is what the releases of one family showed, as far as its ledger goes.
// Its mutex is held for a whole release.
type family struct {
	mu     sync.Mutex
	seq    uint64
	values map[ledger.Hash]*told
	// partial: entries were not read, so that a value may have been shown in
	// ways that are not among its views.
	partial bool
	// finest has for each field and class the finest level plus one that sinks
	// of the class or worse were shown, 0 for none; sum what it was charged.
	finest map[string][ledger.Classes]int
	sum    map[string][ledger.Classes]flow.Bits
}

// maxValues bounds the values that a family remembers. Beyond it, all that is
// shown adds up.
const maxValues = 1 << 16

func (f *family) reset(partial bool) {
	f.partial = partial
	f.values = map[ledger.Hash]*told{}
	f.finest, f.sum = map[string][ledger.Classes]int{}, map[string][ledger.Classes]flow.Bits{}
}

// catchUp reads the entries that others committed.
func (f *family) catchUp(ctx context.Context, h History, s *ledger.State) error {
	if f.values == nil {
		f.reset(false)
	}
	const page = 256
	for f.seq < s.Seq {
		if h == nil {
			f.partial, f.seq = true, s.Seq
			return nil
		}
		got, err := h.Entries(ctx, s.Family, f.seq, page)
		if err != nil {
			return err
		}
		if len(got) == 0 {
			return fmt.Errorf("the ledger's history of %s ends at entry %d of %d", s.Family, f.seq, s.Seq)
		}
		from := f.seq
		for i := range got {
			e, err := ledger.Decode(got[i].Bytes)
			if err != nil {
				return err
			}
			if e.Seq == f.seq+1 {
				f.take(e, nil)
			}
		}
		if f.seq == from {
			return fmt.Errorf("the ledger's history of %s has no entry %d", s.Family, from+1)
		}
	}
	return nil
}

// take remembers what an entry showed. Rules are those that it was made under;
// nil where they are not at hand.
func (f *family) take(e *ledger.Entry, rules Rules) {
	f.seq = e.Seq
	if !e.Charges() {
		return
	}
	if len(f.values)+len(e.Atoms) > maxValues {
		f.values, f.partial = map[ledger.Hash]*told{}, true
	}
	by := ledger.Hash{}
	if rules == nil {
		by = together(e.Rubrics)
	}
	for i := range e.Atoms {
		a := &e.Atoms[i]
		t := f.values[a.Value]
		if t == nil {
			t = &told{}
			f.values[a.Value] = t
		}
		sum := f.sum[a.Field]
		for k := 1; k < ledger.Classes; k++ {
			sum[k] = sum[k].Add(max(0, a.After[k]-t.after[k]))
		}
		f.sum[a.Field], t.after = sum, a.After
		if a.Op < ledger.Generalize {
			continue
		}
		v := view{field: a.Field, level: int(a.Level), class: e.Class, by: by}
		if rules != nil {
			v.shape = rules.Shape(a.Field)
		}
		t.views = addView(t.views, v)
		f.finest[a.Field] = finer(f.finest[a.Field], e.Class, int(a.Level))
	}
}

func addView(views []view, v view) []view {
	for i := range views {
		if w := &views[i]; w.field == v.field && w.level == v.level && w.shape == v.shape && w.by == v.by {
			w.class = max(w.class, v.class)
			return views
		}
	}
	return append(views, v)
}

// finer notes a level that sinks of a class were shown.
func finer(by [ledger.Classes]int, class flow.Class, level int) [ledger.Classes]int {
	for k := 1; k <= int(class); k++ {
		if by[k] == 0 || level+1 < by[k] {
			by[k] = level + 1
		}
	}
	return by
}

// together is one hash of several, to compare sets by.
func together(hashes []ledger.Hash) (out ledger.Hash) {
	p := prints{}
	all := make([]string, len(hashes))
	for i := range hashes {
		all[i] = string(hashes[i][:])
	}
	return p.sum("margay rubrics v1", all...)
}

// kappa is what an operator on an atom tells at most: the most over all fields
// that it may be of.
func (a *atom) cost(rules Rules) flow.Bits {
	op := a.ops[a.op]
	most := rules.Cost(a.field, op)
	if a.field == Unknown {
		most = 0
	}
	for _, f := range a.fields {
		if op.Kind == rubric.Generalize && !a.any {
			break // a cell of the field's own hierarchy
		}
		most = max(most, rules.Cost(f, op))
	}
	if a.any && len(a.fields) == 0 && op.Kind >= rubric.Substitute {
		most = rules.TopRisk()
	}
	return min(most, ledger.MaxAmount)
}

// charges are the atoms of an entry: for each value what all sinks of a class
// or worse know of it together once this release is out.
func (f *family) charges(atoms []atom, rules Rules, class flow.Class, rubrics []ledger.Hash, s *ledger.State, out []ledger.Atom) []ledger.Atom {
	after := make(map[ledger.Hash][ledger.Classes]flow.Bits, len(atoms))
	of := make(map[ledger.Hash][]*atom, len(atoms))
	for i := range atoms {
		a := &atoms[i]
		of[a.value] = append(of[a.value], a)
	}
	by := together(rubrics)
	for value, group := range of {
		after[value] = f.after(value, group, rules, class, by, s.After(value))
	}
	for i := range atoms {
		a := &atoms[i]
		op := a.ops[a.op]
		out = append(out, ledger.Atom{
			Field: a.field, Op: ledgerOp(op.Kind), Level: uint8(level(op)), Template: op.Template,
			Value: a.value, Cost: a.kappa, After: after[a.value],
		})
	}
	return out
}

func level(op rubric.Op) int {
	if op.Kind == rubric.Generalize {
		return op.Level
	}
	return 0
}

func ledgerOp(k rubric.OpKind) ledger.Op {
	switch k {
	case rubric.Identity:
		return ledger.Identity
	case rubric.Generalize:
		return ledger.Generalize
	case rubric.Substitute:
		return ledger.Substitute
	case rubric.Redact:
		return ledger.Redact
	default:
		return ledger.Drop
	}
}

// after works out what sinks of each class know of one value once its atoms
// are out.
func (f *family) after(value ledger.Hash, group []*atom, rules Rules, class flow.Class, by ledger.Hash, before [ledger.Classes]flow.Bits) [ledger.Classes]flow.Bits {
	var known []view
	if t := f.values[value]; t != nil {
		known = t.views
	}
	after := before
	for k := int(class); k >= 1; k-- {
		most, fresh := before[k], flow.Bits(0)
		adds := false
		views := make([]rubric.View, 0, len(known)+len(group))
		for i := range known {
			v := &known[i]
			if int(v.class) < k {
				continue
			}
			level := v.level
			if v.shape != rules.Shape(v.field) && v.by != by {
				level = 0 // whatever it was
			}
			if !has(rules, v.field) {
				adds = true
				continue
			}
			views = append(views, rubric.View{Field: v.field, Level: level})
		}
		for _, a := range group {
			most = max(most, a.kappa)
			op := a.ops[a.op]
			if op.Kind < rubric.Generalize {
				continue
			}
			v := rubric.View{Field: a.field, Level: level(op)}
			if !contains(views, v) {
				views = append(views, v)
				fresh = fresh.Add(a.kappa)
				adds = adds || a.ambig
			}
		}
		if len(views) > 0 {
			most = max(most, rules.Joint(views))
		}
		if adds || f.partial && before[k] > 0 {
			most = max(most, before[k].Add(fresh))
		}
		after[k] = min(most, ledger.MaxAmount)
	}
	for k := int(class); k >= 1; k-- { // what worse sinks know, better ones do
		if k < ledger.Classes-1 {
			after[k] = max(after[k], after[k+1])
		}
	}
	return after
}

func has(rules Rules, field string) bool {
	for _, f := range rules.Fields() {
		if f == field {
			return true
		}
	}
	return false
}

func contains(views []rubric.View, v rubric.View) bool {
	for i := range views {
		if views[i] == v {
			return true
		}
	}
	return false
}

// LimitsOf returns what a rubric, by its canonical bytes, allows a family; it is
// for ledger.Check.
func LimitsOf(canonical []byte) (ledger.Limits, error) {
	if rubric.IsFallback(canonical) {
		return limits(rubric.Fallback().Limits()), nil
	}
	r, err := rubric.ParseCanonical("rubric", canonical)
	if err != nil {
		return ledger.Limits{}, err
	}
	return limits(r.Limits()), nil
}

// limits are those of rubrics, as the ledger has them.
func limits(l rubric.Limits) ledger.Limits {
	return ledger.Limits{B: l.B, Cap: l.Cap, Lambda: l.Lambda}
}

// tightens holds a release to the limits of its own rubrics: they bound what
// it alone adds.
func tightens(l rubric.Limits, e *ledger.Entry, s *ledger.State) error {
	if e.Charge > l.B {
		return fmt.Errorf("%w: the release comes to %v, its rubrics allow %v", ledger.Budget, e.Charge, l.B)
	}
	for k := 1; k < ledger.Classes; k++ {
		if add := e.Caps[k] - s.Caps[k]; add > l.Cap[k] {
			return fmt.Errorf("%w: the release tells %v to sinks that are %v or worse, its rubrics allow %v", ledger.Cap, add, flow.Class(k), l.Cap[k])
		}
	}
	return nil
}
