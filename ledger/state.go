package ledger

import (
	"maps"
	"time"

	"github.com/margaydev/margay/flow"
)

// State is what the entries of a family come to: the head of its chain and
// what has been told of each value. The zero State is not usable; NewState
// makes the one before the first entry. A State is not safe for concurrent
// mutation; Clone is cheap.
type State struct {
	Family flow.TrajectoryID
	Seq    uint64    // of the last entry; 0 for none
	Head   Hash      // of the last entry; zero for none
	At     time.Time // of the last entry
	Limits Limits    // of the first entry
	Total  flow.Bits
	Caps   [Classes]flow.Bits

	// What is told of each value of which anything is: old is shared by
	// clones and never written, young is the state's own and kept small
	// beside it.
	old, young map[Hash]amounts
}

type amounts = [Classes]flow.Bits

// NewState returns the state of a family before its first entry.
func NewState(family flow.TrajectoryID) *State { return &State{Family: family} }

// Clone returns a state that may change without changing s.
func (s *State) Clone() *State {
	c := *s
	c.young = maps.Clone(s.young)
	return &c
}

// After returns what all views of a value tell that went to sinks of each
// class or worse.
func (s *State) After(value Hash) [Classes]flow.Bits {
	if a, ok := s.young[value]; ok {
		return a
	}
	return s.old[value]
}

// Values returns how many values something is known of.
func (s *State) Values() int {
	n := len(s.old)
	for v := range s.young {
		if _, ok := s.old[v]; !ok {
			n++
		}
	}
	return n
}

// settle records what is told of values. What is young is moved to a fresh old
// map once it is more than the root of it, so that a clone and, on average, an
// entry take time that grows with the root of the number of values.
func (s *State) settle(changed map[Hash]amounts) {
	if len(changed) == 0 {
		return
	}
	if s.young == nil {
		s.young = make(map[Hash]amounts, len(changed))
	}
	maps.Copy(s.young, changed)
	if len(s.young) < 32 || len(s.young)*len(s.young) < len(s.old) {
		return
	}
	next := make(map[Hash]amounts, len(s.old)+len(s.young))
	maps.Copy(next, s.old)
	maps.Copy(next, s.young)
	s.old, s.young = next, nil
}

// Weigh returns W, the weighted charge of one value: the sum over the classes
// of the growth of the weight times what is known there, rounded up.
func (l *Limits) Weigh(after [Classes]flow.Bits) flow.Bits {
	var thousandths int64 // at most MaxLambda * MaxAmount < 2^62
	for k := 1; k < Classes; k++ {
		thousandths += (l.Lambda[k] - l.Lambda[k-1]) * int64(after[k])
	}
	return flow.Bits((thousandths + 999) / 1000)
}

// add works out what an entry comes to and which values change, and holds its
// atoms to the rules.
func (s *State) add(e *Entry, l *Limits) (sum Sum, changed map[Hash]amounts, err error) {
	sum = Sum{Total: s.Total, Caps: s.Caps}
	seen := make(map[Hash]amounts, len(e.Atoms))
	for i := range e.Atoms {
		a := &e.Atoms[i]
		if err := a.rules(s.After(a.Value), e); err != nil {
			return sum, nil, err
		}
		if after, ok := seen[a.Value]; ok {
			if after != a.After {
				return sum, nil, Value.broken("atom %d (%s) differs from another of its value", i+1, a.Field)
			}
			continue
		}
		seen[a.Value] = a.After
		before := s.After(a.Value)
		if a.After == before {
			continue
		}
		if changed == nil {
			changed = make(map[Hash]amounts, len(e.Atoms)-i)
		}
		changed[a.Value] = a.After
		sum.Charge = sum.Charge.Add(l.Weigh(a.After) - l.Weigh(before))
		for k := 1; k < Classes; k++ {
			sum.Caps[k] = sum.Caps[k].Add(a.After[k] - before[k])
		}
	}
	sum.Total = sum.Total.Add(sum.Charge)
	return sum, changed, nil
}

// rules are those of one atom; before is what was known of its value.
func (a *Atom) rules(before amounts, e *Entry) error {
	if !e.Charges() {
		if a.After != before {
			return Free.broken("%s changes by a release that is not charged", a.Field)
		}
		return nil
	}
	for k := 1; k < Classes; k++ {
		switch {
		case a.After[k] < before[k]:
			return Falling.broken("%s falls from %v to %v in class %d", a.Field, before[k], a.After[k], k)
		case k > 1 && a.After[k] > a.After[k-1]:
			return Order.broken("%s has %v in class %d, more than in the class before", a.Field, a.After[k], k)
		case k <= int(e.Class) && a.After[k] < a.Cost:
			return Cost.broken("%s has %v in class %d, and is told for %v", a.Field, a.After[k], k, a.Cost)
		case k > int(e.Class) && a.After[k] != before[k]:
			return Unheard.broken("%s grows in class %d by a release to class %d", a.Field, k, e.Class)
		}
	}
	return nil
}

// Exceeds reports whether sums are over limits: an error that wraps Budget or
// Cap, or nil. A sum that is too large to be counted is over every limit.
func (l *Limits) Exceeds(sum *Sum) error {
	if sum.Total > l.B || sum.Total == flow.MaxBits {
		return Budget.broken("%v of %v", sum.Total, l.B)
	}
	for k := 1; k < Classes; k++ {
		if sum.Caps[k] > l.Cap[k] || sum.Caps[k] == flow.MaxBits {
			return Cap.broken("%v of %v for sinks that are %v or worse", sum.Caps[k], l.Cap[k], flow.Class(k))
		}
	}
	return nil
}

// Next fills in what follows from the state: Family, Seq, Prev, the limits
// unless the entry is the first, a time that is not before that of the entry
// before, Charge, Total and Caps. Then it holds the entry to every rule but
// that of the signature. The error wraps the rule that was broken; Budget and
// Cap say that this release does not fit and another might. Neither an error
// nor success changes the state.
func (s *State) Next(e *Entry) error {
	e.Family, e.Seq, e.Prev = s.Family, s.Seq+1, s.Head
	if s.Seq > 0 {
		e.Limits = s.Limits
	}
	if e.At.IsZero() { // Commit gives it one
		e.At = time.UnixMilli(0)
	}
	e.At = e.At.UTC().Truncate(time.Millisecond)
	if e.At.Before(s.At) {
		e.At = s.At
	}
	if err := e.Check(); err != nil { // also keeps the sums from overflowing
		return err
	}
	sum, _, err := s.add(e, &e.Limits)
	if err != nil {
		return err
	}
	e.Charge, e.Total, e.Caps = sum.Charge, sum.Total, sum.Caps
	return e.Limits.Exceeds(&sum)
}

// Apply holds an entry to every rule but that of the signature, and makes it
// the state's last. The error wraps the rule that was broken, and the state is
// as it was.
func (s *State) Apply(e *Entry) error {
	if err := e.Check(); err != nil {
		return err
	}
	return s.apply(e, e.Hash())
}

// apply is Apply for an entry that has passed Check and has this hash.
func (s *State) apply(e *Entry, h Hash) error {
	switch {
	case e.Family != s.Family:
		return Family.broken("the entry is of %s, not of %s", e.Family, s.Family)
	case e.Seq != s.Seq+1:
		return Sequence.broken("entry %d comes after entry %d", e.Seq, s.Seq)
	case e.Prev != s.Head:
		return Previous.broken("entry %d does not follow the entry before", e.Seq)
	case e.At.Before(s.At):
		return Time.broken("entry %d is earlier than the entry before", e.Seq)
	case s.Seq > 0 && e.Limits != s.Limits:
		return Fixed.broken("entry %d has other limits than the first", e.Seq)
	}
	sum, changed, err := s.add(e, &e.Limits)
	if err != nil {
		return err
	}
	switch {
	case sum.Charge != e.Charge:
		return Charge.broken("the entry says %v, its atoms come to %v", e.Charge, sum.Charge)
	case sum.Total != e.Total:
		return Total.broken("the entry says %v, all charges come to %v", e.Total, sum.Total)
	case sum.Caps != e.Caps:
		return Caps.broken("the entry's sums by class are not what all values come to")
	}
	if err := e.Limits.Exceeds(&sum); err != nil {
		return err
	}
	s.Seq, s.Head, s.At, s.Limits = e.Seq, h, e.At, e.Limits
	s.Total, s.Caps = sum.Total, sum.Caps
	s.settle(changed)
	return nil
}
