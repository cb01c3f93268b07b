package recognise

import "github.com/margaydev/margay/internal/dfa"

// Rules without a leading literal, the wordly ones, may start at any word. One run of
// an automaton of them all, a crowd, stands for them. Where one of them matches, or
// the crowd grows too long, all that are alive get runs of their own.

// crowd is such a run under way.
type crowd struct {
	order  uint64     // in which runs and crowds started
	row    uint32     // its state, in the dense table; 0: there is no room for it
	state  *dfa.State // its state where row is 0
	start  int64
	held   int64 // where it entered a secret group; -1: not yet
	before dfa.Before
}

// maxCrowd is how long a crowd stands for its rules.
const maxCrowd = 48

// of returns the state of a crowd.
func (c *crowd) of(s *Set) *dfa.State {
	if c.row != 0 {
		return s.dense.State(c.row)
	}
	return c.state
}

// spawned is a crowd of which some rules are to get runs of their own.
type spawned struct {
	tags   uint64
	over   uint64 // those of them whose match has ended, and no other is to come
	start  int64
	before dfa.Before
}

// skim reads what only starts crowds, moves and ends them, as nearly every byte of a
// text does, and returns how many bytes that were. It does what step does.
func (s *Scanner) skim(p []byte) (n int) {
	if s.set.dense == nil {
		return 0
	}
	for n < len(p) && len(s.runs) == 0 && len(s.tokens) == 0 && !s.pem.On() {
		k := 0
		if len(s.crowds) <= 1 {
			k = s.skimOne(p[n:])
		} else {
			k = s.skimMany(p[n:])
		}
		if k == 0 && !s.skimByte(p[n]) {
			break
		}
		n += max(k, 1)
	}
	return n
}

// skimOne is skim where at most one crowd is under way at a time. It follows the
// crowd's row, or an idle row where there is no crowd.
func (s *Scanner) skimOne(p []byte) (n int) {
	t, most := s.set.dense, len(p)
	c := crowd{row: t.Idle(s.last), held: -1}
	if len(s.crowds) == 1 {
		c = s.crowds[0]
		most = int(min(int64(most), c.start+maxCrowd-1-s.pos))
	}
	if c.row == 0 {
		return 0
	}
	class, next := t.Table()
	wordClass, wordNext := s.set.words.class, s.set.words.next
	word, row := s.set.words.Row(s.wordAt), c.row
	began := -1
	for n < most {
		b := p[n]
		w := wordNext[word+uint32(wordClass[b])]
		v := dfa.Next(next[row+uint32(class[b])].Load())
		if v&(dfa.IsCalm|dfa.IsTwo) != dfa.IsCalm || w&1 != 0 {
			if v == 0 && t.Fill(row, b) != 0 {
				continue
			}
			break
		}
		if v&dfa.IsNew != 0 {
			began, c.held, most = n, -1, min(len(p), n+maxCrowd-1)
		}
		if v&dfa.IsEntered != 0 && c.held < 0 {
			c.held = s.pos + int64(n)
		}
		row, word = v.Row(), w>>1
		if n++; n == most && n < len(p) && row == t.Idle(after[b]) {
			most = len(p)
		}
	}
	if n == 0 {
		return 0
	}
	if began >= 0 {
		c.start, c.before, c.order = s.pos+int64(began), s.last, s.order
		if began > 0 {
			c.before = after[p[began-1]]
		}
		s.order++
	}
	s.crowds, s.last = s.crowds[:0], after[p[n-1]]
	if c.row = row; row != t.Idle(s.last) {
		s.crowds = append(s.crowds, c)
	}
	s.pos, s.wordAt = s.pos+int64(n), s.set.words.State(word)
	return n
}

// skimMany is skim where a few crowds are under way.
func (s *Scanner) skimMany(p []byte) (n int) {
	if len(s.crowds) > fewRuns {
		return 0
	}
	t, most := s.set.dense, int(min(int64(len(p)), s.crowds[0].start+maxCrowd-1-s.pos)) // the first is the oldest
	class, next := t.Table()
	wordClass, wordNext := s.set.words.class, s.set.words.next
	word := s.set.words.Row(s.wordAt)
	var steps [fewRuns + 1]dfa.Next // of those that go on
	var from [fewRuns + 1]uint8     // which they are
	for n < most && len(s.crowds) > 1 {
		b := p[n]
		w, column := wordNext[word+uint32(wordClass[b])], uint32(class[b])
		k, all, begins := 0, dfa.IsCalm, dfa.Next(0)
		for i := range s.crowds {
			v := dfa.Next(0)
			if row := s.crowds[i].row; row != 0 {
				v = dfa.Next(next[row+column].Load())
			}
			all, begins = all&v, begins|v&(dfa.IsNew|dfa.IsTwo)
			if steps[k], from[k] = v, uint8(i); !v.Dead() {
				k++
			}
		}
		if all == 0 || w&1 != 0 {
			break
		}
		if begins != 0 {
			if steps[k] = t.Step(t.Start(s.last), b); steps[k] == 0 || k == fewRuns {
				break
			}
			s.crowds = append(s.crowds, crowd{order: s.order, start: s.pos, held: -1, before: s.last})
			from[k] = uint8(len(s.crowds) - 1)
			k++
		}
		if alike(steps[:k]) { // one of them may do for both
			if begins != 0 {
				s.crowds = s.crowds[:len(s.crowds)-1]
			}
			break
		}
		for i, v := range steps[:k] {
			c := &s.crowds[i]
			if int(from[i]) != i {
				*c = s.crowds[from[i]]
			}
			if c.row = v.Row(); v.Entered() && c.held < 0 {
				c.held = s.pos
			}
		}
		if s.crowds = s.crowds[:k]; begins != 0 {
			s.order++
		}
		s.pos, s.last, word = s.pos+1, after[b], w>>1
		n++
	}
	s.wordAt = s.set.words.State(word)
	return n
}

// alike reports whether two of the steps lead to the same row.
func alike(steps []dfa.Next) bool {
	for i, v := range steps {
		for _, o := range steps[:i] {
			if v.Row() == o.Row() {
				return true
			}
		}
	}
	return false
}

// skimByte is skim for one byte, and reports whether it read it.
func (s *Scanner) skimByte(b byte) bool {
	word := s.set.words.Step(s.wordAt, b)
	if s.set.words.ends[word] {
		return false
	}
	if len(s.crowds) > 0 {
		s.moveCrowds(b)
	}
	if s.begins(b) {
		s.startCrowd(b)
	}
	s.pos++
	s.wordAt, s.last = word, after[b]
	if len(s.spawn) > 0 {
		s.disperse()
	}
	return true
}

// begins reports whether wordly rules may begin with b, at s.pos.
func (s *Scanner) begins(b byte) bool {
	return s.set.first[b] && (s.last != dfa.Word || after[b] != dfa.Word)
}

// moveCrowds moves all crowds over b, which is at s.pos.
func (s *Scanner) moveCrowds(b byte) {
	n := len(s.crowds)
	if n > fewRuns {
		s.turn()
	}
	class, next := s.set.dense.Table()
	column, long := uint32(class[b]), s.pos+1-s.crowds[0].start >= maxCrowd // the first is the oldest
	kept := 0
	for i := range s.crowds {
		c := &s.crowds[i]
		v := dfa.Next(0)
		if c.row != 0 && !long {
			v = dfa.Next(next[c.row+column].Load())
		}
		switch {
		case v == 0 || v.Matched():
			if !s.moveCrowd(c, b) {
				continue
			}
		case v.Dead():
			continue
		default:
			if c.row = v.Row(); c.held < 0 && v.Entered() {
				c.held = s.pos
			}
		}
		if kept > 0 && s.mergedCrowd(s.crowds[:kept], c, n > fewRuns) {
			continue
		}
		if kept < i {
			s.crowds[kept] = *c
		}
		kept++
	}
	s.crowds = s.crowds[:kept]
}

// moveCrowd moves one crowd over b, at s.pos, and reports whether it goes on.
func (s *Scanner) moveCrowd(c *crowd, b byte) bool {
	var dead, entered, matched bool
	v := dfa.Next(0)
	if c.row != 0 {
		v = s.set.dense.Step(c.row, b)
	}
	if v != 0 {
		c.row, dead, entered, matched = v.Row(), v.Dead(), v.Entered(), v.Matched()
	} else {
		c.state = s.set.crowd.Step(c.of(s.set), b)
		c.row, dead, entered, matched = s.set.dense.Row(c.state), c.state.Dead(), c.state.Entered(), c.state.Matched()
	}
	long := !dead && s.pos+1-c.start >= maxCrowd
	if matched || long {
		state := c.of(s.set)
		s.spawn = append(s.spawn, spawned{state.Alive() | state.Ended(), state.Ended() &^ state.Alive(), c.start, c.before})
		return false
	}
	if dead {
		return false
	}
	if c.held < 0 && entered {
		c.held = s.pos
	}
	return true
}

// mergedCrowd reports whether an earlier crowd does all that c does.
func (s *Scanner) mergedCrowd(kept []crowd, c *crowd, marked bool) bool {
	if marked && c.row != 0 && !s.marks.mark(uint64(c.row)) {
		return false
	}
	for i := range kept {
		k := &kept[i]
		if k.row != c.row || k.row == 0 && !k.state.Same(c.state) {
			continue
		}
		if s.set.crowd.Ends(c.of(s.set)) {
			return false // they may be about to match, each another rule
		}
		if k.held >= 0 && (c.held < 0 || k.held <= c.held) || k.held < 0 && c.held < 0 {
			return true
		}
	}
	return false
}

// startCrowd starts a crowd that b, at s.pos, may begin, at the start of a word.
func (s *Scanner) startCrowd(b byte) {
	c := crowd{start: s.pos, held: -1, before: s.last, state: s.set.crowd.Start(s.last)}
	c.row = s.set.dense.Start(s.last)
	if !s.moveCrowd(&c, b) || s.mergedCrowd(s.crowds, &c, false) {
		return
	}
	if len(s.crowds)+len(s.runs) >= maxRuns {
		s.evict()
	}
	c.order = s.order
	s.order++
	s.crowds = append(s.crowds, c)
}

// disperse starts the rules of crowds that are to have runs of their own, if
// their gates are open.
func (s *Scanner) disperse() {
	for i := range s.spawn {
		c := &s.spawn[i]
		for k, id := range s.set.wordly {
			if c.tags&(1<<tagOf(k)) == 0 || !s.gateOpen(&run{rule: id, start: c.start}) {
				continue
			}
			if c.over&(1<<tagOf(k)) != 0 && tagOf(k) < dfa.MaxTags-1 && s.maxHeld >= maxCrowd {
				s.over(id, c) // the last tag may be of several rules
			} else {
				s.start(id, c.start, c.before)
			}
		}
	}
	s.spawn = s.spawn[:0]
}

// over is start for a rule whose match the last byte has ended.
func (s *Scanner) over(id uint16, c *spawned) {
	if r := s.set.rules[id]; r.path == nil || r.path.MatchString(s.path) {
		s.match(&run{rule: id, auto: r.auto(), start: c.start, before: c.before}, int(s.win[s.pos-1-s.base]))
	}
}

// endCrowds has the rules of all crowds end with the text.
func (s *Scanner) endCrowds() {
	for i := range s.crowds {
		c := &s.crowds[i]
		if state := c.of(s.set); s.set.crowd.Ends(state) {
			s.spawn = append(s.spawn, spawned{state.Alive(), 0, c.start, c.before})
		}
	}
	s.disperse()
}
