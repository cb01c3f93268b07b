package charge_test

import (
	"errors"
	"math/big"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/ledger/charge"
)

// naive is a second opinion on a chain. It shares no code with State: it keeps
// all entries and, for each, works everything out from the first on, in
// integers of any size.
type naive struct{ entries []charge.Entry }

func num(b flow.Bits) *big.Int { return big.NewInt(int64(b)) }

// weight is W of a value, in millionths of a bit.
func weight(l *charge.Limits, after [charge.Classes]flow.Bits) *big.Int {
	sum := new(big.Int)
	for k := 1; k <= 3; k++ {
		d := big.NewInt(l.Lambda[k] - l.Lambda[k-1])
		sum.Add(sum, d.Mul(d, num(after[k])))
	}
	q, m := new(big.Int).DivMod(sum, big.NewInt(1000), new(big.Int))
	if m.Sign() > 0 {
		q.Add(q, big.NewInt(1))
	}
	return q
}

// told returns what is told of every value after some entries.
func told(entries []charge.Entry) map[charge.Hash][charge.Classes]flow.Bits {
	m := map[charge.Hash][charge.Classes]flow.Bits{}
	for i := range entries {
		for _, a := range entries[i].Atoms {
			m[a.Value] = a.After
		}
	}
	return m
}

// totals returns the sum of all W, and those by class.
func totals(l *charge.Limits, m map[charge.Hash][charge.Classes]flow.Bits) (total *big.Int, caps [4]*big.Int) {
	total = new(big.Int)
	for k := range caps {
		caps[k] = new(big.Int)
	}
	for _, after := range m {
		total.Add(total, weight(l, after))
		for k := 1; k <= 3; k++ {
			caps[k].Add(caps[k], num(after[k]))
		}
	}
	return total, caps
}

// admits says whether an entry may follow.
func (n *naive) admits(e *charge.Entry) bool {
	if e.Check() != nil { // shapes have a test of their own
		return false
	}
	if int(e.Seq) != len(n.entries)+1 || e.Family != "F" {
		return false
	}
	l := e.Limits
	if len(n.entries) == 0 {
		if !e.Prev.IsZero() {
			return false
		}
	} else {
		last := &n.entries[len(n.entries)-1]
		if e.Prev != last.Hash() || e.At.Before(last.At) || e.Limits != n.entries[0].Limits {
			return false
		}
	}
	before := told(n.entries)
	after := told(append(n.entries[:len(n.entries):len(n.entries)], *e))
	for _, a := range e.Atoms {
		if after[a.Value] != a.After {
			return false
		}
		was := before[a.Value]
		for k := 1; k <= 3; k++ {
			heard := int(e.Class) >= k && e.Channel != "user" && e.Outcome != "deny"
			if heard && (a.After[k] < was[k] || a.After[k] < a.Cost) || !heard && a.After[k] != was[k] {
				return false
			}
		}
		if a.After[1] < a.After[2] || a.After[2] < a.After[3] {
			return false
		}
	}
	was, _ := totals(&l, before)
	total, caps := totals(&l, after)
	if new(big.Int).Sub(total, was).Cmp(num(e.Charge)) != 0 || total.Cmp(num(e.Total)) != 0 || total.Cmp(num(l.B)) > 0 {
		return false
	}
	for k := 1; k <= 3; k++ {
		if caps[k].Cmp(num(e.Caps[k])) != 0 || caps[k].Cmp(num(l.Cap[k])) > 0 {
			return false
		}
	}
	return true
}

// malice draws an entry that may be right, nearly right, or anything.
func malice(r *rand.Rand, s *charge.State) *charge.Entry {
	amounts := []flow.Bits{0, 1, 2, 999, 1000, bit, bit + 1, 3 * bit, 19 * bit, 1 << 41, charge.MaxAmount, charge.MaxAmount + 1, flow.MaxBits, -1}
	amount := func() flow.Bits {
		if r.IntN(20) > 0 {
			return amounts[r.IntN(7)]
		}
		return amounts[r.IntN(len(amounts))]
	}
	e := release(flow.Class(1 + r.IntN(3)))
	e.At = at.Add(time.Duration(r.IntN(5)-2) * time.Millisecond)
	e.Limits.Lambda[1] += int64(r.IntN(2))
	switch r.IntN(20) {
	case 0:
		e.Channel = flow.ChannelUser
	case 1:
		e.Outcome = flow.Deny
	}
	for range r.IntN(4) {
		v := charge.Hash{byte(1 + r.IntN(4))}
		a := charge.Atom{Field: "dob", Op: charge.Identity, Value: v, After: s.After(v)}
		if e.Charges() || r.IntN(5) == 0 {
			grow := amount()
			for k := 1; k <= int(e.Class); k++ {
				a.After[k] = max(a.After[k], min(s.After(v)[e.Class]+grow, a.After[k]+grow))
			}
			a.Cost = min(amount(), a.After[e.Class])
		}
		e.Atoms = append(e.Atoms, a)
	}
	err := s.Next(e)
	if err != nil && !errors.Is(err, charge.Budget) && !errors.Is(err, charge.Cap) { // as who does not care would
		e.Family, e.Seq, e.Prev = s.Family, s.Seq+1, s.Head
	}
	for range r.IntN(3) {
		i := r.IntN(max(1, len(e.Atoms)))
		switch r.IntN(24) {
		case 0:
			e.Seq += uint64(r.IntN(3)) - 1
		case 1:
			e.Prev[r.IntN(32)] ^= 1
		case 2:
			e.Charge = amount()
		case 3:
			e.Total = amount()
		case 4:
			e.Caps[1+r.IntN(3)] = amount()
		case 5:
			e.Charge -= amount()
			e.Total -= amount()
		case 6:
			e.Limits.B = amount()
		case 7:
			e.Limits.Cap[1+r.IntN(3)] = amount()
		case 8:
			e.Limits.Lambda[1+r.IntN(3)] = []int64{0, 999, 1000, 5000, charge.MaxLambda}[r.IntN(5)]
		case 9:
			e.Class = flow.Class(r.IntN(5))
		case 10:
			e.Family = "G"
		case 11:
			e.Atoms = nil
		case 12:
			e.Outcome = flow.Deny
		case 13:
			e.At = at.Add(-time.Hour)
		default:
			if len(e.Atoms) == 0 {
				continue
			}
			switch r.IntN(3) {
			case 0:
				e.Atoms[i].After[1+r.IntN(3)] = amount()
			case 1:
				e.Atoms[i].Cost = amount()
			case 2:
				e.Atoms[i].Value = charge.Hash{byte(r.IntN(5))}
			}
		}
	}
	return e
}

// No entry gets past Apply that leaves sums above the limits, or other sums
// than a second opinion has; and none is refused that could stay.
func TestAdversary(t *testing.T) {
	n := times(t, "MARGAY_ADVERSARY", 100_000)
	r := rand.New(rand.NewPCG(3, 4))
	taken, refused := 0, map[string]int{}
	for i := 0; i < n; {
		s, second := charge.NewState("F"), &naive{}
		for range 1 + r.IntN(40) {
			i++
			e := malice(r, s)
			want := second.admits(e)
			err := s.Apply(e)
			if want != (err == nil) {
				t.Fatalf("entry %d: %v; the second opinion: %v\n%+v\nafter %+v", i, err, want, e, s)
			}
			if err != nil {
				var rule charge.Rule
				if !errors.As(err, &rule) {
					t.Fatalf("no rule is broken: %v", err)
				}
				refused[string(rule)]++
				continue
			}
			taken++
			second.entries = append(second.entries, *e)
			total, caps := totals(&e.Limits, told(second.entries))
			if total.Cmp(num(s.Total)) != 0 || s.Total > e.Limits.B || s.Head != e.Hash() {
				t.Fatalf("entry %d: the total is %v, second opinion %v", i, s.Total, total)
			}
			for k := 1; k <= 3; k++ {
				if caps[k].Cmp(num(s.Caps[k])) != 0 || s.Caps[k] > e.Limits.Cap[k] {
					t.Fatalf("entry %d: %v in class %d, second opinion %v", i, s.Caps[k], k, caps[k])
				}
			}
		}
	}
	t.Logf("%d taken, refused: %v", taken, refused)
	// A test in which nothing is refused, or nothing taken, is none.
	for _, rule := range []charge.Rule{
		charge.Shape, charge.Family, charge.Sequence, charge.Previous, charge.Time, charge.Fixed, charge.Value, charge.Falling, charge.Order,
		charge.Unseen, charge.Cost, charge.Free, charge.Charge, charge.Total, charge.Caps, charge.Budget, charge.Cap,
	} {
		if refused[string(rule)] == 0 && n >= 100_000 {
			t.Errorf("nothing broke rule %s", rule)
		}
	}
	if taken < n/10 {
		t.Errorf("only %d of %d were taken", taken, n)
	}
}
