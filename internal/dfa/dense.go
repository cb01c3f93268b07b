package dfa

import (
	"sync"
	"sync/atomic"
)

// Dense has the steps of a DFA over [Bytes] in one table of numbers: what follows
// is one load away, while a [State] is behind three. It is filled in as texts need
// it, up to a number of states; past that, and where a step was never taken,
// readers use the DFA itself. It is safe for concurrent use.
//
// Where matches begin at the start of a word alone, the table says so, too: a step
// out of a match under way leads to the next one, and where there is none to an idle
// row, which is a reader's that follows nothing.
type Dense struct {
	d     *DFA
	width uint32
	class *[256]uint8
	next  []atomic.Uint32 // by row and class; 0: not known

	first *[256]bool        // what a match can begin with; nil: the table is of one match
	start [Other + 1]uint32 // rows before a match, by what is before it
	idle  [Other + 1]uint32 // rows of those that follow nothing; 0: there is none

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
	IsCalm Next = 1 << iota // known, and without a match
	IsDead
	IsMatched
	IsEntered
	IsNew // it is dead, and the row is of a match that begins with the byte
	IsTwo // it goes on, and a match begins with the byte, too
)

const nextBits = 6

// Dead is as [State.Dead].
func (n Next) Dead() bool { return n&IsDead != 0 }

// Matched is as [State.Matched].
func (n Next) Matched() bool { return n&IsMatched != 0 }

// Entered is as [State.Entered].
func (n Next) Entered() bool { return n&IsEntered != 0 }

// Row returns the state that the step leads to.
func (n Next) Row() uint32 { return uint32(n) >> nextBits }

// NewDense returns the table of a DFA for at most so many states. If first is given,
// it has the bytes that matches can begin with, at the start of a word.
func NewDense(d *DFA, states int, first *[256]bool) *Dense {
	t := &Dense{d: d, width: uint32(len(d.reps)), class: &d.bytes, first: first, rows: map[string]uint32{}}
	t.next = make([]atomic.Uint32, (states+1)*len(d.reps)) // row 0 stands for none
	t.keys, t.states = make([]string, states+1), make([]atomic.Pointer[State], states+1)
	d.share(t)
	if first == nil {
		return t
	}
	for b := range 256 {
		dead := d.Step(d.Start(Other), byte(b))
		if !dead.dead || dead.matched {
			continue
		}
		for before := Newline; before <= Other; before++ {
			t.idle[before] = t.Row(d.Step(dead, byte(example[before])))
		}
		break
	}
	for before := range t.start {
		t.start[before] = t.Row(d.Start(Before(before)))
	}
	return t
}

// Idle returns the row of a reader that follows nothing, and 0 where there is none.
func (t *Dense) Idle(before Before) uint32 { return t.idle[before] }

// Start returns the row before a match.
func (t *Dense) Start(before Before) uint32 { return t.start[before] }

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
	from := t.State(row)
	to := t.d.Step(from, b)
	n := t.nextOf(to)
	if to.matched {
		n &^= IsCalm
	} else if t.first != nil && t.first[b] && (from.before != Word || to.before != Word) {
		begun := t.d.Step(t.d.Start(from.before), b)
		switch {
		case begun.dead:
		case begun.matched:
			return 0
		case !to.dead:
			n |= IsTwo
		default:
			if n = t.nextOf(begun); n != 0 {
				n |= IsDead | IsNew
			}
		}
	}
	if n.Row() == 0 {
		return 0
	}
	t.next[row+uint32(t.class[b])].Store(uint32(n))
	return n
}

// nextOf returns the step to a state, and 0 where the table is full.
func (t *Dense) nextOf(to *State) Next {
	r := t.Row(to)
	if r == 0 {
		return 0
	}
	n := Next(r<<nextBits) | IsCalm
	if to.dead {
		n |= IsDead
	}
	if to.matched {
		n |= IsMatched
	}
	if to.entered {
		n |= IsEntered
	}
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
