package recognise

import "regexp/syntax"

// extract finds the leftmost-first match that begins at text[0] and returns
// its groups as offsets, two a group. before is what precedes the text; next
// is the byte behind it, or endOfText.
//
// It backtracks with a visited set, so its time is bounded by instructions
// times bytes. Runs are bounded, and extraction happens only after a run has
// accepted.
func (a *automaton) extract(text []byte, before lookbehind, next int) []int {
	x := extraction{a: a, text: text, before: before, next: next}
	x.visited = make([]uint64, (len(a.prog.Inst)*(len(text)+1)+63)/64)
	x.caps = make([]int, max(a.prog.NumCap, 2))
	for i := range x.caps {
		x.caps[i] = -1
	}
	if !x.run(uint32(a.prog.Start)) {
		return nil
	}
	return x.best
}

type extraction struct {
	a       *automaton
	text    []byte
	before  lookbehind
	next    int
	visited []uint64
	caps    []int
	best    []int
	jobs    []job
}

// job is a thread to try, or (restore) a group offset to set back.
type job struct {
	pc      uint32
	pos     int
	restore bool
	value   int
}

func (x *extraction) run(start uint32) bool {
	x.jobs = append(x.jobs, job{pc: start})
	for len(x.jobs) > 0 {
		j := x.jobs[len(x.jobs)-1]
		x.jobs = x.jobs[:len(x.jobs)-1]
		if j.restore {
			x.caps[j.pc] = j.value
			continue
		}
		if x.thread(j.pc, j.pos) {
			return true
		}
	}
	return false
}

func (x *extraction) thread(pc uint32, pos int) bool {
	for {
		bit := int(pc)*(len(x.text)+1) + pos
		if x.visited[bit/64]&(1<<(bit%64)) != 0 {
			return false
		}
		x.visited[bit/64] |= 1 << (bit % 64)
		in := &x.a.prog.Inst[pc]
		switch in.Op {
		case syntax.InstAlt, syntax.InstAltMatch:
			x.jobs = append(x.jobs, job{pc: in.Arg, pos: pos})
			pc = in.Out
		case syntax.InstCapture:
			if int(in.Arg) < len(x.caps) {
				x.jobs = append(x.jobs, job{pc: in.Arg, restore: true, value: x.caps[in.Arg]})
				x.caps[in.Arg] = pos
			}
			pc = in.Out
		case syntax.InstNop:
			pc = in.Out
		case syntax.InstEmptyWidth:
			if syntax.EmptyOp(in.Arg)&^x.conditions(pos) != 0 {
				return false
			}
			pc = in.Out
		case syntax.InstMatch:
			x.caps[0], x.caps[1] = 0, pos
			x.best = x.caps
			return true
		case syntax.InstFail:
			return false
		default:
			if pos >= len(x.text) || !takes(in, x.text[pos]) {
				return false
			}
			pos++
			pc = in.Out
		}
	}
}

func (x *extraction) conditions(pos int) syntax.EmptyOp {
	before, next := x.before, x.next
	if pos > 0 {
		before = behind(x.text[pos-1])
	}
	if pos < len(x.text) {
		next = int(x.text[pos])
	}
	return conditions(before, next)
}
