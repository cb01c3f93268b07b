package recognise

import (
	"encoding/binary"
	"regexp/syntax"
	"sync"
	"sync/atomic"
)

// maxStates bounds the cached states of one automaton. When they are used up
// the cache starts anew; runs under way keep the states they hold.
const maxStates = 4096

// automaton is one rule's program with its lazily built deterministic form.
// It is safe for concurrent use.
type automaton struct {
	prog    *syntax.Prog
	inGroup []bool // by instruction: the secret group may have been entered
	groups  int
	classOf [256]uint8
	classes int
	sample  []byte // one byte of each class
	all     bool   // follow threads behind a match, too

	mu     sync.Mutex
	states map[string]*state
	starts [4]atomic.Pointer[state]
}

// state is a set of instructions, by priority, that wait for the next byte.
type state struct {
	insts   []uint32
	before  lookbehind
	matched bool // a match ended before the byte that led here
	held    bool // some instruction is in or behind the secret group
	next    []atomic.Pointer[state]
}

func (s *state) dead() bool { return len(s.insts) == 0 }

// lookbehind is what empty-width assertions ask of the byte before.
type lookbehind uint8

const (
	atText lookbehind = iota // nothing before: start of the text
	atLine                   // a line end
	atWord                   // a word character
	atElse
)

func behind(b byte) lookbehind {
	switch {
	case b == '\n':
		return atLine
	case isWordByte(b):
		return atWord
	}
	return atElse
}

func isWordByte(b byte) bool {
	return b == '_' || b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z'
}

const endOfText = -1

// conditions returns the empty-width assertions that hold between what is
// before and the next byte (or endOfText).
func conditions(before lookbehind, next int) syntax.EmptyOp {
	var op syntax.EmptyOp
	switch before {
	case atText:
		op |= syntax.EmptyBeginText | syntax.EmptyBeginLine
	case atLine:
		op |= syntax.EmptyBeginLine
	}
	if next == endOfText {
		op |= syntax.EmptyEndText | syntax.EmptyEndLine
	} else if next == '\n' {
		op |= syntax.EmptyEndLine
	}
	if (before == atWord) != (next != endOfText && isWordByte(byte(next))) {
		op |= syntax.EmptyWordBoundary
	} else {
		op |= syntax.EmptyNoWordBoundary
	}
	return op
}

func newAutomaton(re *syntax.Regexp, group int) (*automaton, error) {
	prog, err := syntax.Compile(re.Simplify())
	if err != nil {
		return nil, err
	}
	a := &automaton{prog: prog, groups: prog.NumCap / 2, states: map[string]*state{}}
	a.markGroup(group)
	a.byteClasses()
	return a, nil
}

// markGroup finds the instructions that can be reached from where the secret
// group opens.
func (a *automaton) markGroup(group int) {
	a.inGroup = make([]bool, len(a.prog.Inst))
	var stack []uint32
	for pc, in := range a.prog.Inst {
		open := in.Op == syntax.InstCapture && in.Arg%2 == 0 && in.Arg >= 2
		if open && (group == 0 || in.Arg == uint32(2*group)) {
			stack = append(stack, uint32(pc))
		}
	}
	if len(stack) == 0 {
		for pc := range a.inGroup {
			a.inGroup[pc] = true
		}
		return
	}
	for len(stack) > 0 {
		pc := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if a.inGroup[pc] {
			continue
		}
		a.inGroup[pc] = true
		in := &a.prog.Inst[pc]
		switch in.Op {
		case syntax.InstAlt, syntax.InstAltMatch:
			stack = append(stack, in.Out, in.Arg)
		case syntax.InstMatch, syntax.InstFail:
		default:
			stack = append(stack, in.Out)
		}
	}
}

// takes reports whether an instruction consumes byte b.
func takes(in *syntax.Inst, b byte) bool {
	if b >= 0x80 {
		switch in.Op {
		case syntax.InstRuneAny, syntax.InstRuneAnyNotNL:
			return true
		case syntax.InstRune:
			return in.MatchRunePos(0xFFFD) >= 0
		}
		return false
	}
	switch in.Op {
	case syntax.InstRuneAny:
		return true
	case syntax.InstRuneAnyNotNL:
		return b != '\n'
	case syntax.InstRune, syntax.InstRune1:
		return in.MatchRunePos(rune(b)) >= 0
	}
	return false
}

// byteClasses joins bytes that no instruction and no assertion tells apart.
func (a *automaton) byteClasses() {
	var sig [256][]byte
	for b := range 256 {
		sig[b] = append(sig[b], byte(behind(byte(b))))
	}
	seen := map[string]bool{}
	for pc := range a.prog.Inst {
		in := &a.prog.Inst[pc]
		switch in.Op {
		case syntax.InstRune, syntax.InstRune1, syntax.InstRuneAnyNotNL:
		default:
			continue
		}
		key := string(rune(in.Op)) + string(rune(in.Arg)) + string(in.Rune)
		if seen[key] {
			continue
		}
		seen[key] = true
		for b := range 256 {
			t := byte(0)
			if takes(in, byte(b)) {
				t = 1
			}
			sig[b] = append(sig[b], t)
		}
	}
	ids := map[string]uint8{}
	for b := range 256 {
		id, ok := ids[string(sig[b])]
		if !ok {
			id = uint8(len(ids))
			ids[string(sig[b])] = id
			a.sample = append(a.sample, byte(b))
		}
		a.classOf[b] = id
	}
	a.classes = len(ids)
}

// start returns the state before the first byte.
func (a *automaton) start(before lookbehind) *state {
	if s := a.starts[before].Load(); s != nil {
		return s
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	s := a.intern([]uint32{uint32(a.prog.Start)}, before, false)
	s.held = false // nothing has been read
	a.starts[before].Store(s)
	return s
}

// step returns the state after byte b.
func (a *automaton) step(s *state, b byte) *state {
	c := a.classOf[b]
	if n := s.next[c].Load(); n != nil {
		return n
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	n := a.build(s, int(a.sample[c]))
	s.next[c].Store(n)
	return n
}

// accepts reports whether a match ends where the text ends.
func (a *automaton) accepts(s *state) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.build(s, endOfText).matched
}

// build computes one transition. Threads are followed by priority; those
// behind a match are cut off, as leftmost-first matching does.
func (a *automaton) build(s *state, b int) *state {
	cond := conditions(s.before, b)
	seen := make([]bool, len(a.prog.Inst))
	var out []uint32
	matched := false
	var follow func(pc uint32) bool
	follow = func(pc uint32) bool {
		if seen[pc] {
			return true
		}
		seen[pc] = true
		in := &a.prog.Inst[pc]
		switch in.Op {
		case syntax.InstAlt, syntax.InstAltMatch:
			return (follow(in.Out) || a.all) && follow(in.Arg)
		case syntax.InstEmptyWidth:
			if syntax.EmptyOp(in.Arg)&^cond == 0 {
				return follow(in.Out)
			}
		case syntax.InstCapture, syntax.InstNop:
			return follow(in.Out)
		case syntax.InstMatch:
			matched = true
			return false
		case syntax.InstFail:
		default:
			if b != endOfText && takes(in, byte(b)) {
				out = append(out, in.Out)
			}
		}
		return true
	}
	for _, pc := range s.insts {
		if !follow(pc) && !a.all {
			break
		}
	}
	before := atElse
	if b != endOfText {
		before = behind(byte(b))
	}
	return a.intern(dedupe(out), before, matched)
}

func dedupe(pcs []uint32) []uint32 {
	kept := pcs[:0]
next:
	for _, pc := range pcs {
		for _, k := range kept {
			if k == pc {
				continue next
			}
		}
		kept = append(kept, pc)
	}
	return kept
}

// intern returns the one state with these parts. The caller holds mu.
func (a *automaton) intern(insts []uint32, before lookbehind, matched bool) *state {
	key := make([]byte, 0, 4*len(insts)+2)
	for _, pc := range insts {
		key = binary.LittleEndian.AppendUint32(key, pc)
	}
	m := byte(0)
	if matched {
		m = 1
	}
	key = append(key, byte(before), m)
	if s := a.states[string(key)]; s != nil {
		return s
	}
	if len(a.states) >= maxStates {
		clear(a.states)
	}
	s := &state{insts: append([]uint32(nil), insts...), before: before, matched: matched, next: make([]atomic.Pointer[state], a.classes)}
	for _, pc := range s.insts {
		s.held = s.held || a.inGroup[pc]
	}
	a.states[string(key)] = s
	return s
}
