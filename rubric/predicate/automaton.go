package predicate

import (
	"encoding/binary"
	"regexp/syntax"
	"sync"
	"sync/atomic"
)

// maxSize bounds the states that an automaton keeps, about in bytes. One that
// has more begins anew.
const maxSize = 512 << 10

// automaton is a deterministic automaton that is built as texts need it: what
// regexp simulates thread by thread for each character is done once for each
// set of threads and class of characters. It follows the order that regexp
// prefers matches in, so that what it finds is the same.
//
// It is safe for concurrent use: states are never changed but in which state
// follows, which is the same whoever finds it out.
type automaton struct {
	prog    *syntax.Prog
	longest bool // all matches from one place count, not the one that is preferred
	local   []uint16
	reps    []rune // a character of each local class; -1 is the end

	mu     sync.Mutex
	states map[string]*state
	size   int
	first  [4]atomic.Pointer[state]
	// Room to work in.
	marks   []uint32
	mark    uint32
	stack   []uint32
	threads []uint32
	key     []byte
}

// state is a set of threads, in order of preference, between two characters.
type state struct {
	threads []uint32 // instructions, before what follows without a character
	open    bool     // a match may still begin
	before  uint8    // the kind of the character before
	done    bool     // there is nothing more to find
	matched bool     // a match ended before the last character
	event   bool     // either
	next    []atomic.Pointer[state]
}

// Kinds of characters for what looks at both sides of a place, and a character
// of each kind.
const (
	none uint8 = iota
	newline
	wordly
	plain
)

var ofKind = [4]rune{none: -1, newline: '\n', wordly: 'a', plain: ' '}

func kind(r rune) uint8 {
	switch {
	case r < 0:
		return none
	case r == '\n':
		return newline
	case syntax.IsWordChar(r):
		return wordly
	}
	return plain
}

func newAutomaton(prog *syntax.Prog, local []uint16, reps []rune, longest bool) *automaton {
	return &automaton{prog: prog, local: local, reps: reps, longest: longest, states: map[string]*state{}, marks: make([]uint32, len(prog.Inst))}
}

// start is the state before a text behind a character of a kind.
func (a *automaton) start(before uint8) *state {
	if s := a.first[before].Load(); s != nil {
		return s
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	s := &state{open: !a.longest, before: before}
	if a.longest {
		s.threads = []uint32{uint32(a.prog.Start)}
	}
	s = a.intern(s)
	a.first[before].Store(s)
	return s
}

// step builds the state that follows by a character of a local class.
func (a *automaton) step(s *state, class uint16) *state {
	a.mu.Lock()
	defer a.mu.Unlock()
	r := a.reps[class]
	n := &state{open: s.open, before: kind(r)}
	empty := syntax.EmptyOpContext(ofKind[s.before], r)
	a.threads = a.threads[:0]
	a.fresh()
	for _, pc := range s.threads {
		if a.follow(pc, empty, n) {
			break
		}
	}
	if n.open {
		a.follow(uint32(a.prog.Start), empty, n)
	}
	n.open = n.open && r >= 0
	if r >= 0 {
		a.fresh()
		for _, pc := range a.threads {
			i := &a.prog.Inst[pc]
			if a.marks[i.Out] != a.mark && i.MatchRune(r) {
				a.marks[i.Out] = a.mark
				n.threads = append(n.threads, i.Out)
			}
		}
	}
	n = a.intern(n)
	s.next[class].Store(n)
	return n
}

// fresh begins a set of marked instructions.
func (a *automaton) fresh() {
	if a.mark++; a.mark == 0 {
		clear(a.marks)
		a.mark = 1
	}
}

// follow adds the threads that an instruction leads to without a character. It
// reports whether there is a match that what comes later does not count
// against.
func (a *automaton) follow(pc uint32, empty syntax.EmptyOp, n *state) bool {
	a.stack = append(a.stack[:0], pc)
	for len(a.stack) > 0 {
		pc := a.stack[len(a.stack)-1]
		a.stack = a.stack[:len(a.stack)-1]
		if a.marks[pc] == a.mark {
			continue
		}
		a.marks[pc] = a.mark
		switch i := &a.prog.Inst[pc]; i.Op {
		case syntax.InstAlt, syntax.InstAltMatch:
			a.stack = append(a.stack, i.Arg, i.Out)
		case syntax.InstEmptyWidth:
			if syntax.EmptyOp(i.Arg)&^empty == 0 {
				a.stack = append(a.stack, i.Out)
			}
		case syntax.InstCapture, syntax.InstNop:
			a.stack = append(a.stack, i.Out)
		case syntax.InstMatch:
			n.matched = true
			if !a.longest {
				n.open = false
				return true
			}
		case syntax.InstFail:
		default:
			a.threads = append(a.threads, pc)
		}
	}
	return false
}

// intern returns the state that is kept for all that are alike.
func (a *automaton) intern(s *state) *state {
	flags := s.before << 2
	if s.open {
		flags |= 1
	}
	if s.matched {
		flags |= 2
	}
	a.key = append(a.key[:0], flags)
	for _, pc := range s.threads {
		a.key = binary.AppendUvarint(a.key, uint64(pc))
	}
	if old := a.states[string(a.key)]; old != nil {
		return old
	}
	size := 128 + len(a.key) + 4*len(s.threads) + 8*len(a.reps)
	if a.size += size; a.size > maxSize {
		a.size = size
		// Who still walks the old ones may: they lead to new ones.
		clear(a.states)
		for i := range a.first {
			a.first[i].Store(nil)
		}
	}
	s.done = !s.open && len(s.threads) == 0
	s.event = s.done || s.matched
	s.next = make([]atomic.Pointer[state], len(a.reps))
	a.states[string(a.key)] = s
	return s
}

// patience is how much may be built for one text before it is quicker to go
// without an automaton, about 4 µs a piece. A text that is longer may have more;
// what was built is there for the next.
type patience int

func patient(text string) patience { return patience(128 + len(text)/64) }

// forNext reports whether there is patience for what follows a state.
func (p *patience) forNext(s *state) bool {
	*p -= patience(1 + len(s.threads)/32)
	return *p >= 0
}

// forward finds where the first match that begins at from or later ends; -1 is
// nowhere. It reports false where it lost its patience. The first match that
// is noticed will do where any is set.
func (a *automaton) forward(class []uint16, from int, before uint8, any bool, left *patience) (int, bool) {
	s, end := a.start(before), -1
	for i, c := range class[from:] {
		if c == inside {
			continue
		}
		n := s.next[a.local[c]].Load()
		if n == nil {
			if !left.forNext(s) {
				return 0, false
			}
			n = a.step(s, a.local[c])
		}
		if s = n; s.event {
			if s.matched {
				end = from + i
			}
			if s.done || any && s.matched {
				break
			}
		}
	}
	return end, true
}

// backward finds the least place, not before from, at which a match begins
// that ends at end; -1 is nowhere. The character before from is seen unless
// the text is taken to begin there.
func (a *automaton) backward(class []uint16, text string, from, end int, begins bool, left *patience) (int, bool) {
	s, begin := a.start(kindAt(text, end)), -1
	for i := end; !s.done; {
		c, at := uint16(ending), i-1
		if i > from || i > 0 && !begins {
			for class[at] == inside {
				at--
			}
			c = class[at]
		}
		n := s.next[a.local[c]].Load()
		if n == nil {
			if !left.forNext(s) {
				return 0, false
			}
			n = a.step(s, a.local[c])
		}
		if s = n; s.matched {
			begin = i
		}
		if i <= from {
			break
		}
		i = at
	}
	return begin, true
}
