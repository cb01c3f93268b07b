// Package shown remembers what the releases of a family showed of each value,
// and to which class of sinks, and computes what all sinks know together
// after another release. It reads a family's entries. Where it no longer
// remembers them, costs add up: forgetting never makes a release cheaper.
package shown

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/ledger/charge"
	"github.com/margaydev/margay/rubric"
)

// Costs are what views of values disclose by the rubrics.
type Costs interface {
	// Fields returns the secret fields, sorted.
	Fields() []string
	// Joint is the most that views of one value disclose together.
	Joint(views []rubric.View) flow.Bits
	Shapes
}

// Shapes identify the meaning of fields' levels.
type Shapes interface {
	// Shape names the meaning of a field's levels: where it is the same, a
	// level has the same forms.
	Shape(field string) rubric.Hash
}

// History reads committed entries; every charge.Store does.
type History interface {
	Entries(ctx context.Context, family flow.TrajectoryID, after uint64, limit int) ([]charge.Stored, error)
}

// Atom is one part of a proposed release.
type Atom struct {
	Value charge.Hash // fingerprint
	Field string
	Op    rubric.Op
	Cost  flow.Bits // what it discloses alone
	// Mixed: it may be of fields that do not depend on each other, so its cost
	// is added to everything else that is known of the value.
	Mixed bool
}

// view is a form of a value that sinks were shown.
type view struct {
	field string
	level int
	class flow.Class  // the worst that saw it
	shape rubric.Hash // what the level means
	by    charge.Hash // if the shape is not known: the rubrics, as one hash
}

// known is what is known of one value.
type known struct {
	views []view
	after [charge.Classes]flow.Bits
}

// Family is what the releases of one family showed, up to the last entry read.
// The zero Family has read nothing. It is not safe for concurrent use.
type Family struct {
	seq    uint64
	values map[charge.Hash]*known
	// partial: some entries were not read, so views of values may be missing.
	partial bool
	// finest has for each field and class the finest level, plus one, that
	// sinks of the class or worse were shown, 0 for none; sum has its charges.
	finest map[string][charge.Classes]int
	sum    map[string][charge.Classes]flow.Bits
}

// maxValues bounds the values that a family remembers. Beyond it, all costs add
// up.
const maxValues = 1 << 16

// Finest returns for each class the finest level of a field, plus one, that
// sinks of the class or worse were shown; 0 for none.
func (f *Family) Finest(field string) [charge.Classes]int { return f.finest[field] }

// Charged returns what all values of a field were charged, unweighted.
func (f *Family) Charged(field string) [charge.Classes]flow.Bits { return f.sum[field] }

// CatchUp reads the entries up to a state. Without a history it only notes that
// some are missing.
func (f *Family) CatchUp(ctx context.Context, h History, s *charge.State) error {
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
			e, err := charge.Decode(got[i].Bytes)
			if err != nil {
				return err
			}
			if e.Seq == f.seq+1 {
				f.Take(e, nil)
			}
		}
		if f.seq == from {
			return fmt.Errorf("the ledger's history of %s has no entry %d", s.Family, from+1)
		}
	}
	return nil
}

// Take remembers what an entry showed. Shapes are those of its rubrics, nil if
// they are not known.
func (f *Family) Take(e *charge.Entry, shapes Shapes) {
	f.seq = e.Seq
	if !e.Charges() {
		return
	}
	if f.finest == nil {
		f.finest, f.sum = map[string][charge.Classes]int{}, map[string][charge.Classes]flow.Bits{}
	}
	if len(f.values)+len(e.Atoms) > maxValues {
		f.values, f.partial = nil, true
	}
	if f.values == nil {
		f.values = map[charge.Hash]*known{}
	}
	by := charge.Hash{}
	if shapes == nil {
		by = Together(e.Rubrics)
	}
	for i := range e.Atoms {
		a := &e.Atoms[i]
		t := f.values[a.Value]
		if t == nil {
			t = &known{}
			f.values[a.Value] = t
		}
		sum := f.sum[a.Field]
		for k := 1; k < charge.Classes; k++ {
			sum[k] = sum[k].Add(max(0, a.After[k]-t.after[k]))
		}
		f.sum[a.Field], t.after = sum, a.After
		if a.Op < charge.Generalize {
			continue
		}
		v := view{field: a.Field, level: int(a.Level), class: e.Class, by: by}
		if shapes != nil {
			v.shape = shapes.Shape(a.Field)
		}
		t.add(v)
		f.finest[a.Field] = finer(f.finest[a.Field], e.Class, int(a.Level))
	}
}

func (t *known) add(v view) {
	for i := range t.views {
		if w := &t.views[i]; w.field == v.field && w.level == v.level && w.shape == v.shape && w.by == v.by {
			w.class = max(w.class, v.class)
			return
		}
	}
	t.views = append(t.views, v)
}

// finer adds a level that sinks of a class were shown.
func finer(by [charge.Classes]int, class flow.Class, level int) [charge.Classes]int {
	for k := 1; k <= int(class); k++ {
		if by[k] == 0 || level+1 < by[k] {
			by[k] = level + 1
		}
	}
	return by
}

// Together is one hash of several, for comparing sets.
func Together(hashes []charge.Hash) charge.Hash {
	h := sha256.New()
	h.Write(binary.BigEndian.AppendUint64([]byte("margay rubrics v1"), uint64(len(hashes))))
	for i := range hashes {
		h.Write(hashes[i][:])
	}
	return charge.Hash(h.Sum(nil))
}

// After returns, by value, what all sinks of each class or worse know after a
// release to a class. The state is the one before it; the rubrics are those of
// the release.
func (f *Family) After(atoms []Atom, costs Costs, class flow.Class, rubrics []charge.Hash, s *charge.State) map[charge.Hash][charge.Classes]flow.Bits {
	of := make(map[charge.Hash][]*Atom, len(atoms))
	for i := range atoms {
		of[atoms[i].Value] = append(of[atoms[i].Value], &atoms[i])
	}
	r := release{costs: costs, fields: costs.Fields(), class: class, by: Together(rubrics), partial: f.partial}
	after := make(map[charge.Hash][charge.Classes]flow.Bits, len(of))
	for value, group := range of {
		var views []view
		if t := f.values[value]; t != nil {
			views = t.views
		}
		after[value] = r.after(views, group, s.After(value))
	}
	return after
}

// release is a proposed release.
type release struct {
	costs   Costs
	fields  []string
	class   flow.Class
	by      charge.Hash
	partial bool
}

// after computes what sinks of each class know of one value once its atoms are
// released, from the views before.
func (r *release) after(seen []view, group []*Atom, before [charge.Classes]flow.Bits) [charge.Classes]flow.Bits {
	after := before
	for k := int(r.class); k >= 1; k-- {
		after[k] = r.in(k, seen, group, before[k])
	}
	for k := int(r.class); k >= 1; k-- { // a class includes the worse ones
		if k < charge.Classes-1 {
			after[k] = max(after[k], after[k+1])
		}
	}
	return after
}

// in is what sinks of class k or worse know of one value: the joint cost of all
// views, or their sum if the rubrics give no joint cost.
func (r *release) in(k int, seen []view, group []*Atom, before flow.Bits) flow.Bits {
	most, fresh := before, flow.Bits(0)
	adds := r.partial && before > 0
	views := make([]rubric.View, 0, len(seen)+len(group))
	for i := range seen {
		v := &seen[i]
		if int(v.class) < k {
			continue
		}
		if !slices.Contains(r.fields, v.field) {
			adds = true
			continue
		}
		level := v.level
		if v.shape != r.costs.Shape(v.field) && v.by != r.by {
			level = 0 // whatever it was
		}
		views = append(views, rubric.View{Field: v.field, Level: level})
	}
	for _, a := range group {
		most = max(most, a.Cost)
		if a.Op.Kind < rubric.Generalize {
			continue
		}
		v := rubric.View{Field: a.Field}
		if a.Op.Kind == rubric.Generalize {
			v.Level = a.Op.Level
		}
		if !slices.Contains(views, v) {
			views = append(views, v)
			fresh = fresh.Add(a.Cost)
			adds = adds || a.Mixed
		}
	}
	if len(views) > 0 {
		most = max(most, r.costs.Joint(views))
	}
	if adds {
		most = max(most, before.Add(fresh))
	}
	return min(most, charge.MaxAmount)
}
