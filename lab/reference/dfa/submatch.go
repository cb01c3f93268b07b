package dfa

import "regexp/syntax"

// Submatch finds the match that regexp prefers of those that start at text[0],
// and returns its groups as offsets, two a group; nil is not a match. It
// sees what is before the text, and next: the byte behind it,
// or a negative number where the text ends.
//
// It backtracks and tries each instruction at each place once, so its time and
// memory are bounded by instructions times bytes. Call it only when the DFA has
// seen a match, on a text of bounded length.
func (d *DFA) Submatch(text []byte, before Before, next int) []int {
	m := matcher{
		prog: d.prog, text: text, before: before, next: rune(next),
		visited: make([]uint64, (len(d.prog.Inst)*(len(text)+1)+63)/64),
		groups:  make([]int, max(d.prog.NumCap, 2)),
	}
	if next >= 0 {
		m.next = byteRune(byte(next))
	}
	for i := range m.groups {
		m.groups[i] = -1
	}
	m.jobs = append(m.jobs, job{pc: uint32(d.prog.Start)})
	for len(m.jobs) > 0 {
		j := m.jobs[len(m.jobs)-1]
		m.jobs = m.jobs[:len(m.jobs)-1]
		if j.restore {
			m.groups[j.pc] = j.value
		} else if m.try(j.pc, j.pos) {
			return m.groups
		}
	}
	return nil
}

type matcher struct {
	prog    *syntax.Prog
	text    []byte
	before  Before
	next    rune
	visited []uint64 // instruction and place, a bit each
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

// try follows a thread until it dies or matches.
func (m *matcher) try(pc uint32, pos int) bool {
	for {
		bit := int(pc)*(len(m.text)+1) + pos
		if m.visited[bit/64]&(1<<(bit%64)) != 0 {
			return false
		}
		m.visited[bit/64] |= 1 << (bit % 64)
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
			if pos >= len(m.text) || !in.MatchRune(byteRune(m.text[pos])) {
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
