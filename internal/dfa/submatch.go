package dfa

import (
	"regexp/syntax"
	"sync"
)

// Submatch finds the match that regexp prefers of those that start at text[0],
// and returns its groups as offsets, two a group; nil is not a match. The DFA is
// over [Bytes]. It sees what is before the text, and next: the byte behind it,
// or a negative number where the text ends.
//
// It backtracks and tries each instruction at each place once, so its time and
// memory are bounded by instructions times bytes. Call it only when the DFA has
// seen a match, on a text of bounded length.
func (d *DFA) Submatch(text []byte, before Before, next int) []int {
	m := matchers.Get().(*matcher)
	m.prog, m.sets, m.text, m.before, m.next = d.prog, d.byteSets(), text, before, rune(next)
	if next >= 0 {
		m.next = byteRune(byte(next))
	}
	if size := (len(d.prog.Inst)*(len(text)+1) + 63) / 64; len(m.visited) < size {
		m.visited = make([]uint64, size)
	}
	groups := make([]int, max(d.prog.NumCap, 2))
	for i := range groups {
		groups[i] = -1
	}
	m.groups = groups
	m.jobs = append(m.jobs[:0], job{pc: uint32(d.prog.Start)})
	found := false
	for len(m.jobs) > 0 && !found {
		j := m.jobs[len(m.jobs)-1]
		m.jobs = m.jobs[:len(m.jobs)-1]
		if j.restore {
			m.groups[j.pc] = j.value
		} else {
			found = m.try(j.pc, j.pos)
		}
	}
	for _, i := range m.touched {
		m.visited[i] = 0
	}
	m.text, m.groups, m.touched = nil, nil, m.touched[:0]
	matchers.Put(m) // only a clean one
	if !found {
		return nil
	}
	return groups
}

var matchers = sync.Pool{New: func() any { return new(matcher) }}

type matcher struct {
	prog    *syntax.Prog
	sets    []*byteSet
	text    []byte
	before  Before
	next    rune
	visited []uint64 // instruction and place, a bit each
	touched []uint32 // which of visited are not 0
	groups  []int
	jobs    []job
}

// job is a thread to try, or (restore) a group's offset to set back.
type job struct {
	pc      uint32
	pos     int
	restore bool
	value   int
}

// byteSet has the bytes that an instruction matches.
type byteSet [4]uint64

// byteSets returns the bytes that each instruction matches.
func (d *DFA) byteSets() []*byteSet {
	d.once.Do(func() {
		known := map[byteSet]*byteSet{}
		d.sets = make([]*byteSet, len(d.prog.Inst))
		for pc := range d.prog.Inst {
			in := &d.prog.Inst[pc]
			switch in.Op {
			case syntax.InstRune, syntax.InstRune1, syntax.InstRuneAny, syntax.InstRuneAnyNotNL:
			default:
				continue
			}
			var set byteSet
			for b := range 256 {
				if in.MatchRune(byteRune(byte(b))) {
					set[b/64] |= 1 << (b % 64)
				}
			}
			if known[set] == nil {
				known[set] = &set
			}
			d.sets[pc] = known[set]
		}
	})
	return d.sets
}

// try follows a thread until it dies or matches.
func (m *matcher) try(pc uint32, pos int) bool {
	for {
		bit := int(pc)*(len(m.text)+1) + pos
		word := &m.visited[bit/64]
		if *word&(1<<(bit%64)) != 0 {
			return false
		}
		if *word == 0 {
			m.touched = append(m.touched, uint32(bit/64))
		}
		*word |= 1 << (bit % 64)
		switch in := &m.prog.Inst[pc]; in.Op {
		case syntax.InstAlt, syntax.InstAltMatch:
			m.jobs = append(m.jobs, job{pc: in.Arg, pos: pos})
			pc = in.Out
		case syntax.InstCapture:
			if int(in.Arg) < len(m.groups) {
				m.jobs = append(m.jobs, job{pc: in.Arg, restore: true, value: m.groups[in.Arg]})
				m.groups[in.Arg] = pos
			}
			pc = in.Out
		case syntax.InstNop:
			pc = in.Out
		case syntax.InstEmptyWidth:
			if syntax.EmptyOp(in.Arg)&^m.empty(pos) != 0 {
				return false
			}
			pc = in.Out
		case syntax.InstMatch:
			m.groups[0], m.groups[1] = 0, pos
			return true
		case syntax.InstFail:
			return false
		default:
			if pos >= len(m.text) {
				return false
			}
			if b := m.text[pos]; m.sets[pc][b/64]&(1<<(b%64)) == 0 {
				return false
			}
			pos++
			pc = in.Out
		}
	}
}

// empty returns the assertions that hold at a place.
func (m *matcher) empty(pos int) syntax.EmptyOp {
	before, next := example[m.before], m.next
	if pos > 0 {
		before = byteRune(m.text[pos-1])
	}
	if pos < len(m.text) {
		next = byteRune(m.text[pos])
	}
	return syntax.EmptyOpContext(before, next)
}
