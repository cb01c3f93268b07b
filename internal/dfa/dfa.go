// Package dfa runs regular expressions as deterministic automata that are built
// while they read.
//
// # What a state is
//
// A program of package regexp/syntax is a set of threads: instructions, in
// the order in which regexp prefers what they lead to. Package regexp moves
// every thread for every character. A [DFA] moves a whole set at once and
// remembers where that led: a [State] is such a set between two characters,
// together with the kind of the character before it (assertions such as \b
// look at it). The step from a state by a symbol is computed once, by
// following the program, and then is one load from a table. Most texts visit
// few states, so a state is built only when a text needs it.
//
// # What it reads
//
// A DFA reads symbols of an [Alphabet]. Characters that no expression of a
// set distinguishes are one symbol, so that a text is decoded once for many
// automata; within one DFA they are joined further. The alphabet [Bytes]
// reads bytes: one of 0x80 and above is a character that only negated classes
// and the dot match.
//
// # What it finds
//
// By [Config], a DFA prefers one match as regexp does (leftmost-first) or keeps
// all; and a match starts where the text does or anywhere. [DFA.Forward] finds
// where the first match ends, and the DFA of the [Reverse] expression where it
// starts. [DFA.Submatch] finds the groups of a match, with bounded backtracking.
//
// # Bounds
//
// An automaton can have exponentially many states. A DFA keeps states up to
// Config.MaxSize bytes; then it discards all of them and starts again. A
// search that still holds an old state can continue with it, so what is found
// does not depend on the bound. A search stops when it has built more than
// its [Budget] allows, and its caller uses package regexp, which takes linear
// time whatever the text is.
//
// A DFA is safe for concurrent use: a state never changes, but for the table of
// the states that follow it, and that is the same whoever fills it in.
package dfa

import (
	"encoding/binary"
	"hash/maphash"
	"regexp/syntax"
	"sync"
	"sync/atomic"
)

// Config says what a DFA looks for.
type Config struct {
	// All keeps every match that starts in the same place. Otherwise what
	// regexp likes less than a match is given up when the match is seen.
	All bool
	// Anywhere allows a match to start before any symbol, not only the first.
	Anywhere bool
	// Group is the number of the group that State.Entered reports on; 0 stands
	// for any group.
	Group int
	// Tags is the number of the first group that marks an alternative. Such a group
	// captures nothing; [State.Alive] and [State.Ended] report alternatives. 0
	// stands for no tags.
	Tags int
	// MaxSize bounds the states that are kept, in bytes, roughly.
	MaxSize int
}

// DFA is an automaton of one program. It is safe for concurrent use.
type DFA struct {
	prog    *syntax.Prog
	cfg     Config
	local   []uint16   // by symbol: its class here
	bytes   [256]uint8 // the same, over the alphabet Bytes
	reps    []rune     // by class: a character of it; the first is the end
	entered []bool     // by instruction: the group may have been entered
	tags    []uint64   // by instruction: the alternatives that it is of; nil without tags

	once sync.Once  // of sets
	sets []*byteSet // by instruction, for Submatch

	starts [Other + 1]atomic.Pointer[State]
	mu     sync.Mutex
	states map[string]*State
	size   int
	shared []*Dense // that keep states of it
	// Buffers of build, and marks of the instructions that it has seen.
	marks   []uint32
	mark    uint32
	stack   []uint32
	threads []uint32
	key     []byte
}

// State is a set of threads between two symbols. It belongs to one DFA.
type State struct {
	// What every step reads comes first, in one line of the cache.
	next    []atomic.Pointer[State]
	matched bool
	dead    bool
	entered bool
	open    bool // a match may still start
	before  Before
	threads []uint32      // instructions, by preference; those without a character are not yet followed
	alive   uint64        // tags of the threads
	ended   uint64        // tags of the matches that ended
	sum     uint64        // of key
	key     string        // what tells it from other states
	row     atomic.Uint32 // its place in a Dense
}

// Matched reports whether a match ended before the symbol that led here.
func (s *State) Matched() bool { return s.matched }

// Dead reports whether no match is to come.
func (s *State) Dead() bool { return s.dead }

// Entered reports whether a match under way may have entered the group of
// Config.Group. It is true, too, behind a place where the group's way and others
// meet. In an expression without groups, any match under way has entered.
func (s *State) Entered() bool { return s.entered }

// Same reports whether s and o, states of one DFA, lead to the same: from here on,
// both find the same in the same text. It does not depend on what was forgotten
// in between.
func (s *State) Same(o *State) bool { return s == o || s.sum == o.sum && s.key == o.key }

// Sum is the same for states that are Same, and for few others.
func (s *State) Sum() uint64 { return s.sum }

// Alive returns the alternatives of whose matches some may still come, a bit for
// each tag.
func (s *State) Alive() uint64 { return s.alive }

// Ended returns the alternatives of which a match ended before the symbol that led
// here, a bit for each tag. Config.All is set.
func (s *State) Ended() uint64 { return s.ended }

// Before is what assertions ask of the character before a place.
type Before uint8

// What may precede a place.
const (
	Nothing Before = iota // the text starts here
	Newline
	Word // an ASCII letter or digit, or an underscore
	Other
)

// After returns what a place behind character r has before it. A negative r
// stands for none.
func After(r rune) Before {
	switch {
	case r < 0:
		return Nothing
	case r == '\n':
		return Newline
	case syntax.IsWordChar(r):
		return Word
	}
	return Other
}

// example has a character for each Before.
var example = [...]rune{Nothing: -1, Newline: '\n', Word: 'a', Other: ' '}

// New returns the DFA of a program over an alphabet that was made for it, or
// over [Bytes].
func New(prog *syntax.Prog, a *Alphabet, cfg Config) *DFA {
	d := &DFA{prog: prog, cfg: cfg, states: map[string]*State{}, marks: make([]uint32, len(prog.Inst))}
	d.local, d.reps = join(prog, a.reps)
	if a == Bytes {
		for b, class := range d.local {
			d.bytes[b] = uint8(class) // there are at most 128 and the end
		}
	}
	d.watch()
	d.tag()
	return d
}

// MaxTags is the largest number of alternatives.
const MaxTags = 64

// tag finds the alternatives that instructions are of.
func (d *DFA) tag() {
	if d.cfg.Tags == 0 {
		return
	}
	d.tags = make([]uint64, len(d.prog.Inst))
	var stack []uint32
	for pc := range d.prog.Inst {
		in := &d.prog.Inst[pc]
		if in.Op != syntax.InstCapture || in.Arg%2 != 0 || int(in.Arg/2) < d.cfg.Tags {
			continue
		}
		bit := uint64(1) << (int(in.Arg/2) - d.cfg.Tags)
		stack = append(stack[:0], uint32(pc))
		for len(stack) > 0 {
			pc := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			in := &d.prog.Inst[pc]
			if in.Op == syntax.InstMatch || d.tags[pc]&bit != 0 {
				continue
			}
			d.tags[pc] |= bit
			switch in.Op {
			case syntax.InstAlt, syntax.InstAltMatch:
				stack = append(stack, in.Out, in.Arg)
			case syntax.InstFail:
			default:
				stack = append(stack, in.Out)
			}
		}
	}
}

// watch finds the instructions that are reached from where the group opens.
func (d *DFA) watch() {
	d.entered = make([]bool, len(d.prog.Inst))
	var stack []uint32
	for pc, in := range d.prog.Inst {
		open := in.Op == syntax.InstCapture && in.Arg%2 == 0 && in.Arg >= 2 && (d.cfg.Tags == 0 || in.Arg < 2*uint32(d.cfg.Tags))
		if open && (d.cfg.Group == 0 || in.Arg == uint32(2*d.cfg.Group)) {
			stack = append(stack, uint32(pc))
		}
	}
	if len(stack) == 0 {
		for pc := range d.entered {
			d.entered[pc] = true
		}
		return
	}
	for len(stack) > 0 {
		pc := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if d.entered[pc] {
			continue
		}
		d.entered[pc] = true
		switch in := &d.prog.Inst[pc]; in.Op {
		case syntax.InstAlt, syntax.InstAltMatch:
			stack = append(stack, in.Out, in.Arg)
		case syntax.InstMatch, syntax.InstFail:
		default:
			stack = append(stack, in.Out)
		}
	}
}

// Start returns the state before the first symbol.
func (d *DFA) Start(before Before) *State {
	if s := d.starts[before].Load(); s != nil {
		return s
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	s := &State{before: before, open: d.cfg.Anywhere}
	if !s.open {
		s.threads = []uint32{uint32(d.prog.Start)}
	}
	// A state of its own: nothing was read, so no group was entered.
	s.name(d.keyOf(s))
	s.next = make([]atomic.Pointer[State], len(d.reps))
	d.starts[before].Store(s)
	return s
}

// Step returns the state that follows s by a byte. The DFA is over [Bytes].
func (d *DFA) Step(s *State, b byte) *State {
	if n := d.Known(s, b); n != nil {
		return n
	}
	return d.build(s, uint16(d.bytes[b]))
}

// Known is Step where the step was taken before, and nil elsewhere. It is small
// enough to be compiled into a reader's innermost loop.
func (d *DFA) Known(s *State, b byte) *State { return s.next[d.bytes[b]].Load() }

// Ends reports whether a match ends in s where the text ends.
func (d *DFA) Ends(s *State) bool {
	n := s.next[end].Load()
	if n == nil {
		n = d.build(s, end)
	}
	return n.matched
}

// build computes the state that follows s by a class.
func (d *DFA) build(s *State, class uint16) *State {
	d.mu.Lock()
	defer d.mu.Unlock()
	r := d.reps[class]
	n := &State{open: s.open, before: After(r)}
	empty := syntax.EmptyOpContext(example[s.before], r)
	d.threads = d.threads[:0]
	d.unmark()
	for _, pc := range s.threads {
		if d.follow(pc, empty, n) {
			break
		}
	}
	if n.open {
		d.follow(uint32(d.prog.Start), empty, n)
	}
	n.open = n.open && r >= 0
	if r >= 0 {
		d.unmark()
		for _, pc := range d.threads {
			in := &d.prog.Inst[pc]
			if d.marks[in.Out] != d.mark && in.MatchRune(r) {
				d.marks[in.Out] = d.mark
				n.threads = append(n.threads, in.Out)
			}
		}
	}
	n = d.intern(n)
	s.next[class].Store(n)
	return n
}

// unmark empties the set of marked instructions.
func (d *DFA) unmark() {
	if d.mark++; d.mark == 0 {
		clear(d.marks)
		d.mark = 1
	}
}

// follow adds the threads that an instruction leads to without a character. It
// reports whether there is a match that the threads behind do not count against.
func (d *DFA) follow(pc uint32, empty syntax.EmptyOp, n *State) bool {
	d.stack = append(d.stack[:0], pc)
	for len(d.stack) > 0 {
		pc := d.stack[len(d.stack)-1]
		d.stack = d.stack[:len(d.stack)-1]
		if d.marks[pc] == d.mark {
			continue
		}
		d.marks[pc] = d.mark
		switch in := &d.prog.Inst[pc]; in.Op {
		case syntax.InstAlt, syntax.InstAltMatch:
			d.stack = append(d.stack, in.Arg, in.Out)
		case syntax.InstEmptyWidth:
			if syntax.EmptyOp(in.Arg)&^empty == 0 {
				d.stack = append(d.stack, in.Out)
			}
		case syntax.InstCapture, syntax.InstNop:
			if d.tags != nil && in.Op == syntax.InstCapture && in.Arg%2 != 0 && int(in.Arg/2) >= d.cfg.Tags && d.prog.Inst[in.Out].Op == syntax.InstMatch {
				n.ended |= 1 << (int(in.Arg/2) - d.cfg.Tags)
			}
			d.stack = append(d.stack, in.Out)
		case syntax.InstMatch:
			n.matched = true
			if !d.cfg.All {
				n.open = false
				return true
			}
		case syntax.InstFail:
		default:
			d.threads = append(d.threads, pc)
		}
	}
	return false
}

// intern returns the state that is kept for all that are alike.
func (d *DFA) intern(s *State) *State {
	key := d.keyOf(s)
	if old := d.states[string(key)]; old != nil {
		return old
	}
	size := 128 + len(key) + 4*len(s.threads) + 8*len(d.reps)
	if d.size += size; d.size > d.cfg.MaxSize {
		d.size = size
		clear(d.states)
		for i := range d.starts {
			d.starts[i].Store(nil)
		}
		for _, t := range d.shared {
			for i := range t.states {
				t.states[i].Store(nil)
			}
		}
	}
	s.dead = !s.open && len(s.threads) == 0
	for _, pc := range s.threads {
		s.entered = s.entered || d.entered[pc]
		if d.tags != nil {
			s.alive |= d.tags[pc]
		}
	}
	s.next = make([]atomic.Pointer[State], len(d.reps))
	s.name(key)
	d.states[s.key] = s
	return s
}

// name gives a state its key, and a sum of it that is quick to compare.
func (s *State) name(key []byte) {
	s.key, s.sum = string(key), maphash.Bytes(seed, key)
}

var seed = maphash.MakeSeed()

// keyOf returns what tells a state from others, until the next call.
func (d *DFA) keyOf(s *State) []byte {
	flags := byte(s.before) << 2
	if s.open {
		flags |= 1
	}
	if s.matched {
		flags |= 2
	}
	d.key = append(d.key[:0], flags)
	if s.matched && d.tags != nil {
		d.key = binary.LittleEndian.AppendUint64(d.key, s.ended)
	}
	for _, pc := range s.threads {
		d.key = binary.AppendUvarint(d.key, uint64(pc))
	}
	return d.key
}

// share has a table keep states for as long as the DFA does.
func (d *DFA) share(t *Dense) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.shared = append(d.shared, t)
}

// revive returns the state with a key, which was discarded or not, and keeps it in at
// until states are discarded again.
func (d *DFA) revive(key string, at *atomic.Pointer[State]) *State {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.states[key]
	if s == nil {
		s = d.intern(d.parse(key))
	}
	at.Store(s)
	return s
}

// parse returns the state that keyOf has told from others.
func (d *DFA) parse(key string) *State {
	flags, rest := key[0], []byte(key[1:])
	s := &State{before: Before(flags >> 2), open: flags&1 != 0, matched: flags&2 != 0}
	if s.matched && d.tags != nil {
		s.ended, rest = binary.LittleEndian.Uint64(rest), rest[8:]
	}
	for len(rest) > 0 {
		pc, n := binary.Uvarint(rest)
		s.threads, rest = append(s.threads, uint32(pc)), rest[n:]
	}
	return s
}

// Size returns how many bytes the states take that are kept, roughly.
func (d *DFA) Size() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.size
}
