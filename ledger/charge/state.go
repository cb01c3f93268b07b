package charge

import (
	"maps"
	"time"

	"github.com/margaydev/margay/flow"
)

// State is the result of a family's entries: the head of its chain and what has
// been disclosed of each value. The zero State is not usable; NewState makes the
// one before the first entry. A State is not safe for concurrent
// mutation; Clone is cheap.
type State struct {
	Family flow.TrajectoryID
	Seq    uint64    // of the last entry; 0 for none
	Head   Hash      // of the last entry; zero for none
	At     time.Time // of the last entry
	Limits Limits    // of the first entry
	Total  flow.Bits
	Caps   [Classes]flow.Bits
	Doubt  flow.Bits

	// What is disclosed of each value, if anything is: old is shared by clones
	// and never written; young is the state's own, and stays small.
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

// After returns what all views of a value disclose to sinks of each class or
// worse.
func (s *State) After(value Hash) [Classes]flow.Bits {
	if a, ok := s.young[value]; ok {
		return a
	}
	return s.old[value]
}

// settle records what is disclosed of values. Once there are more young values
// than the root of the number of old ones, all move to a fresh old map. So a
// clone and, on average, an entry take time that grows with the root of the
// number of values.
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

// add computes the cost of an entry and the values that change, and holds its
// atoms to the rules.
func (s *State) add(e *Entry, l *Limits) (sum Sum, changed map[Hash]amounts, err error) {
	sum = Sum{Total: s.Total, Caps: s.Caps, Doubt: s.Doubt.Add(e.Screened)}
	if e.Screened > 0 && !e.Charges() {
		return sum, nil, Free.Errorf("what passed by a model's judgement is charged in a release that is not")
	}
	seen := make(map[Hash]amounts, len(e.Atoms))
	for i := range e.Atoms {
		a := &e.Atoms[i]
		if err := a.rules(s.After(a.Value), e); err != nil {
			return sum, nil, err
		}
		if after, ok := seen[a.Value]; ok {
			if after != a.After {
				return sum, nil, Value.Errorf("atom %d (%s) differs from another of its value", i+1, a.Field)
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

// rules holds one atom to the rules; before is what was known of its value.
func (a *Atom) rules(before amounts, e *Entry) error {
	if !e.Charges() {
		if a.After != before {
			return Free.Errorf("%s changes in a release that is not charged", a.Field)
		}
		return nil
	}
	for k := 1; k < Classes; k++ {
		switch {
		case a.After[k] < before[k]:
			return Falling.Errorf("%s falls from %v to %v in class %d", a.Field, before[k], a.After[k], k)
		case k > 1 && a.After[k] > a.After[k-1]:
			return Order.Errorf("%s has %v in class %d, more than in the class before", a.Field, a.After[k], k)
		case k <= int(e.Class) && a.After[k] < a.Cost:
			return Cost.Errorf("%s has %v in class %d, but costs %v", a.Field, a.After[k], k, a.Cost)
		case k > int(e.Class) && a.After[k] != before[k]:
			return Unseen.Errorf("%s grows in class %d by a release to class %d", a.Field, k, e.Class)
		}
	}
	return nil
}

// Exceeds reports sums over the limits by an error that wraps Budget or Cap. A
// sum that is too large to count is over every limit.
func (l *Limits) Exceeds(sum *Sum) error {
	if sum.Total > l.B || sum.Total == flow.MaxBits {
		return Budget.Errorf("%v of %v", sum.Total, l.B)
	}
	for k := 1; k < Classes; k++ {
		if sum.Caps[k] > l.Cap[k] || sum.Caps[k] == flow.MaxBits {
			return Cap.Errorf("%v of %v for sinks that are %v or worse", sum.Caps[k], l.Cap[k], flow.Class(k))
		}
	}
	if sum.Doubt > l.Screened || sum.Doubt == flow.MaxBits {
		return Doubt.Errorf("%v of %v for text that passes by the judgement of models", sum.Doubt, l.Screened)
	}
	return nil
}

// Next fills in the fields that follow from the state: Family, Seq, Prev, the
// limits unless the entry is the first, a time that is not before the entry
// before, Charge, Total and Caps. Then it holds the entry to every rule except
// the signature's. The error wraps the broken rule; Budget and Cap say that this
// release does not fit and another might. The state never changes.
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
	e.Charge, e.Total, e.Caps, e.Doubt = sum.Charge, sum.Total, sum.Caps, sum.Doubt
	return e.Limits.Exceeds(&sum)
}

// Apply holds an entry to every rule except the signature's, and makes it the
// state's last. The error wraps the broken rule; the state is unchanged then.
func (s *State) Apply(e *Entry) error {
	if err := e.Check(); err != nil {
		return err
	}
	return s.ApplyDecoded(e, e.Hash())
}

// ApplyDecoded is Apply for an entry with a known hash that has passed Check, as
// every entry from Decode has.
func (s *State) ApplyDecoded(e *Entry, h Hash) error {
	switch {
	case e.Family != s.Family:
		return Family.Errorf("the entry is of %s, not of %s", e.Family, s.Family)
	case e.Seq != s.Seq+1:
		return Sequence.Errorf("entry %d comes after entry %d", e.Seq, s.Seq)
	case e.Prev != s.Head:
		return Previous.Errorf("entry %d does not follow the entry before", e.Seq)
	case e.At.Before(s.At):
		return Time.Errorf("entry %d is earlier than the entry before", e.Seq)
	case s.Seq > 0 && e.Limits != s.Limits:
		return Fixed.Errorf("entry %d has other limits than the first", e.Seq)
	}
	sum, changed, err := s.add(e, &e.Limits)
	if err != nil {
		return err
	}
	switch {
	case sum.Charge != e.Charge:
		return Charge.Errorf("the entry says %v, its atoms cost %v", e.Charge, sum.Charge)
	case sum.Total != e.Total:
		return Total.Errorf("the entry says %v, all charges together are %v", e.Total, sum.Total)
	case sum.Caps != e.Caps:
		return Caps.Errorf("the entry's sums by class are not those of all values")
	case sum.Doubt != e.Doubt:
		return Doubt.Errorf("the entry says %v, all that passed by models' judgement is %v", e.Doubt, sum.Doubt)
	}
	if err := e.Limits.Exceeds(&sum); err != nil {
		return err
	}
	s.Seq, s.Head, s.At, s.Limits = e.Seq, h, e.At, e.Limits
	s.Total, s.Caps, s.Doubt = sum.Total, sum.Caps, sum.Doubt
	s.settle(changed)
	return nil
}
