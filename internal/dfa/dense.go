package dfa

import (
	"sync"
	"sync/atomic"
)

// Dense has the steps of a DFA over [Bytes] in one table of numbers: what follows
// is one load away, while a [State] is behind three. It is filled in as texts need
// it, up to a number of states; past that, and where a step was never taken,
// readers use the DFA itself. It is safe for concurrent use.
type Dense struct {
	d     *DFA
	width uint32
	class *[256]uint8
	next  []atomic.Uint32 // by row and class; 0: not known

	mu   sync.Mutex
	rows map[string]uint32 // by the key of a state
	keys []string          // by the number of a row
	used int

	// By the number of a row, what the DFA keeps of its states. It owns them: when it
	// discards its states, these are forgotten, for each leads to many others.
	states []atomic.Pointer[State]
}

// Next is where a step of a [Dense] leads: a row and what [State] says of it. 0 is
// not known.
type Next uint32

// Bits of a Next.
const (
	IsDead Next = 1 << iota
	IsMatched
	IsEntered
)

const nextBits = 3

// Dead is as [State.Dead].
func (n Next) Dead() bool { return n&IsDead != 0 }

// Matched is as [State.Matched].
func (n Next) Matched() bool { return n&IsMatched != 0 }

// Entered is as [State.Entered].
func (n Next) Entered() bool { return n&IsEntered != 0 }

// Row returns the state that the step leads to.
func (n Next) Row() uint32 { return uint32(n) >> nextBits }

// NewDense returns the table of a DFA for at most so many states.
func NewDense(d *DFA, states int) *Dense {
	t := &Dense{d: d, width: uint32(len(d.reps)), class: &d.bytes, rows: map[string]uint32{}}
	t.next = make([]atomic.Uint32, (states+1)*len(d.reps)) // row 0 stands for none
	t.keys, t.states = make([]string, states+1), make([]atomic.Pointer[State], states+1)
	d.share(t)
	return t
}

// Known returns the step from a row by a byte, or 0. It is small enough to be
// compiled into a reader's innermost loop.
func (t *Dense) Known(row uint32, b byte) Next {
	return Next(t.next[row+uint32(t.class[b])].Load())
}

// Table returns the classes of bytes and the steps, by row and class, for a reader's
// innermost loop.
func (t *Dense) Table() (class *[256]uint8, next []atomic.Uint32) { return t.class, t.next }

// Step returns the step from a row by a byte, and 0 where the table is full.
func (t *Dense) Step(row uint32, b byte) Next {
	if n := t.Known(row, b); n != 0 {
		return n
	}
	return t.Fill(row, b)
}

// Fill takes a step that is not known.
func (t *Dense) Fill(row uint32, b byte) Next {
	to := t.d.Step(t.State(row), b)
	r := t.Row(to)
	if r == 0 {
		return 0
	}
	n := Next(r << nextBits)
	if to.dead {
		n |= IsDead
	}
	if to.matched {
		n |= IsMatched
	}
	if to.entered {
		n |= IsEntered
	}
	t.next[row+uint32(t.class[b])].Store(uint32(n))
	return n
}

// State returns the state of a row.
func (t *Dense) State(row uint32) *State {
	i := row / t.width
	if s := t.states[i].Load(); s != nil {
		return s
	}
	return t.d.revive(t.keys[i], &t.states[i])
}

// noRow marks a state that came when the table was full.
const noRow = 1 << 31

// Row returns the row of a state, and 0 where the table is full.
func (t *Dense) Row(s *State) uint32 {
	if r := s.row.Load(); r != 0 {
		return r % noRow
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.rows[s.key]
	if r == 0 {
		if t.used+1 >= len(t.keys) {
			s.row.Store(noRow)
			return 0
		}
		t.used++
		r = uint32(t.used) * t.width
		t.rows[s.key], t.keys[t.used] = r, s.key
	}
	s.row.Store(r)
	return r
}
