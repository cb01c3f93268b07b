package known

import (
	"context"
	"slices"

	"github.com/margaydev/margay/flow"
)

// Keeper keeps the values that families saw, for later processes. It must keep them so
// that nobody else can read them. Methods are safe for concurrent use.
type Keeper interface {
	// Known returns the values of a family that were kept after a place, in
	// order, and the last place. Begun: what was kept first is still there.
	Known(ctx context.Context, family flow.TrajectoryID, after int64) (values []Value, last int64, begun bool, err error)
	// Learn keeps values, durably and all or none. First says that they are the
	// family's first; there may be none then.
	Learn(ctx context.Context, family flow.TrajectoryID, values []Value, first bool) error
}

// Family is what one family has seen. The zero Family has seen nothing. It is not safe
// for concurrent use.
type Family struct {
	has    map[Value]bool
	values []Value // all, in order
	set    *Set    // what looks for them; nil: made when it is needed
	fresh  []Value // seen and not kept yet
	at     int64   // the last that was read of what is kept
	read   bool
	first  bool // nothing is kept yet
	lost   bool
}

// Lost reports whether there are values that are not looked for: more than a set has
// room for, or some that are kept no more.
func (f *Family) Lost() bool { return f.lost }

// Find returns the places of what was seen in a text.
func (f *Family) Find(text string) []Match {
	f.warm()
	return f.set.Find(text)
}

// Cool frees the memory of the search. It is made anew when it is needed.
func (f *Family) Cool() { f.set = nil }

func (f *Family) warm() {
	if f.set != nil {
		return
	}
	f.set = &Set{}
	for _, v := range f.values {
		f.lost = f.set.Add(v) != nil || f.lost
	}
}

// See notes a value.
func (f *Family) See(v Value) {
	was := f.lost
	if f.add(v) {
		f.fresh = append(f.fresh, v)
	} else if f.lost && !was {
		f.fresh = append(f.fresh, Value{}) // says so to later processes
	}
}

// Expect notes values that need not be kept.
func (f *Family) Expect(values []Value) {
	for _, v := range values {
		f.add(v)
	}
}

// add reports whether a value is new.
func (f *Family) add(v Value) bool {
	if v.Text == "" || f.has[v] {
		return false
	}
	f.warm()
	if f.set.Add(v) != nil {
		f.lost = true
		return false
	}
	if f.has == nil {
		f.has = map[Value]bool{}
	}
	f.has[v] = true
	f.values = append(f.values, v)
	return true
}

// CatchUp reads the values that other processes have kept. Without a keeper there are
// none. If the keeper has none of the family's, they are lost, unless anew says that the
// family has not released anything yet.
func (f *Family) CatchUp(ctx context.Context, k Keeper, id flow.TrajectoryID, anew bool) error {
	if k == nil {
		return nil
	}
	values, last, begun, err := k.Known(ctx, id, f.at)
	if err != nil {
		return err
	}
	if !f.read && !begun {
		f.first, f.lost = anew, f.lost || !anew
	}
	f.Expect(values)
	f.lost = f.lost || slices.Contains(values, Value{})
	f.at, f.read = last, true
	return nil
}

// Keep keeps what is new.
func (f *Family) Keep(ctx context.Context, k Keeper, id flow.TrajectoryID) error {
	if k != nil && (len(f.fresh) > 0 || f.first) {
		if err := k.Learn(ctx, id, f.fresh, f.first); err != nil {
			return err
		}
	}
	f.fresh, f.first = nil, false
	return nil
}

// maxWarm bounds the families whose values are looked for without another start.
const maxWarm = 64

// Recent are the families that were used last. It is not safe for concurrent use.
type Recent[T comparable] struct{ all []T }

// Use notes a use, and frees the family that was used longest ago if there are many.
// Free reports whether it could.
func (r *Recent[T]) Use(one T, free func(T) bool) {
	r.all = append(slices.DeleteFunc(r.all, func(o T) bool { return o == one }), one)
	if len(r.all) > maxWarm && free(r.all[0]) {
		r.all = slices.Delete(r.all, 0, 1)
	}
}
