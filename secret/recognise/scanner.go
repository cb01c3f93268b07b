package recognise

import (
	"bytes"
	"slices"

	"github.com/margaydev/margay/internal/dfa"
	"github.com/margaydev/margay/secret/plausible"
	"github.com/margaydev/margay/secret/recognise/armour"
)

const (
	// defaultMaxHeld bounds the bytes that one run may hold.
	defaultMaxHeld = 4096
	// maxRun bounds a run that holds nothing yet.
	maxRun = 1024
	// maxRuns bounds the runs of one scanner.
	maxRuns = 256
	// gateFor is how long a gate stays open, in bytes.
	gateFor = 4096
	// lineBack is how much text before a match its line is taken from.
	lineBack = 256
)

// endOfText stands for the byte behind a text.
const endOfText = -1

// after is what a place behind a byte has before it.
var after = func() (t [256]dfa.Before) {
	for b := range t {
		t[b] = dfa.After(rune(b))
	}
	return t
}()

// Option configures a scanner.
type Option func(*Scanner)

// WithPath names the file that the text comes from. Rules bound to other
// paths do not run, and those bound to any path do not run without.
func WithPath(path string) Option { return func(s *Scanner) { s.path = path } }

// WithMaxHeld bounds the bytes that a run may hold; 4096 by default.
func WithMaxHeld(n int) Option {
	return func(s *Scanner) {
		if n > 0 {
			s.maxHeld = int64(n)
		}
	}
}

// Scanner reads one text. It is not safe for concurrent use.
type Scanner struct {
	set     *Set
	path    string
	maxHeld int64

	win    []byte // text from base on
	base   int64
	pos    int64      // bytes read
	last   dfa.Before // the kind of the last byte
	wordAt uint16     // state of the literal automaton

	runs   []run
	crowds []crowd
	spawn  []spawned // crowds to be taken apart
	order  uint64    // of the next run or crowd
	mixed  *mixed    // while runs and crowds are moved together: &holds
	holds  mixed
	gates  []int64 // by gate: open before this offset
	marks  *marks  // nil until there are many runs
	tokens []token // matches whose tokens go on
	pem    armour.State
	found  []Match
	closed bool
}

// run is one rule's automaton under way.
type run struct {
	order  uint64 // in which runs and crowds started
	rule   uint16
	auto   *dfa.DFA // the rule's
	state  *dfa.State
	start  int64
	held   int64 // where it entered the secret group; -1: not yet
	before dfa.Before
	accept bool
}

// NewScanner returns a scanner for one text.
func (s *Set) NewScanner(opts ...Option) *Scanner {
	sc := &Scanner{set: s, maxHeld: defaultMaxHeld}
	for _, o := range opts {
		o(sc)
	}
	if s.gates > 0 {
		sc.gates = make([]int64, s.gates)
	}
	return sc
}

// Find returns all matches of a whole text.
func (s *Set) Find(text []byte, opts ...Option) []Match {
	sc := s.NewScanner(opts...)
	sc.Write(text)
	sc.Close()
	return sc.Take(nil)
}

// Reset makes s ready for another text.
func (s *Scanner) Reset() {
	s.win, s.base, s.pos, s.last, s.wordAt = s.win[:0], 0, 0, dfa.Nothing, 0
	s.runs, s.crowds, s.spawn, s.tokens, s.found, s.closed = s.runs[:0], s.crowds[:0], s.spawn[:0], s.tokens[:0], s.found[:0], false
	s.pem = armour.State{}
	clear(s.gates)
}

// CopyTo makes dst read on as s would. Matches not yet taken stay with s.
func (s *Scanner) CopyTo(dst *Scanner) {
	win, runs, gates := append(dst.win[:0], s.win...), append(dst.runs[:0], s.runs...), append(dst.gates[:0], s.gates...)
	tokens, crowds := append(dst.tokens[:0], s.tokens...), append(dst.crowds[:0], s.crowds...)
	marked, held := dst.marks, dst.holds
	*dst = *s
	dst.marks, dst.holds, dst.pem.Spans = marked, held, nil // they are of a step alone
	dst.win, dst.runs, dst.gates, dst.tokens, dst.found, dst.spawn, dst.crowds = win, runs, gates, tokens, nil, nil, crowds
}

// SameAs reports whether s and o, which may have read different texts before,
// will find the same in what both read from now on, gates aside: see Lag. The last
// bytes that both have read, as many as same says, are alike: 512, or all since a
// line's end.
func (s *Scanner) SameAs(o *Scanner, same int64) bool {
	if len(s.runs)+len(o.runs)+len(s.tokens)+len(o.tokens) > 0 || s.pem.On() || o.pem.On() || s.wordAt != o.wordAt || s.last != o.last || len(s.found)+len(o.found) > 0 {
		return false
	}
	if len(s.crowds) != len(o.crowds) {
		return false
	}
	for i := range s.crowds {
		a, b := &s.crowds[i], &o.crowds[i]
		if a.row == 0 || a.row != b.row || a.before != b.before || s.pos-a.start != o.pos-b.start || s.pos-a.start > same || a.held < 0 != (b.held < 0) || a.held >= 0 && s.pos-a.held != o.pos-b.held {
			return false
		}
	}
	return true
}

// Read returns the bytes read so far.
func (s *Scanner) Read() int64 { return s.pos }

// Take appends the matches that became final since the last call, in no
// particular order. They may overlap.
func (s *Scanner) Take(dst []Match) []Match {
	dst = append(dst, s.found...)
	s.found = s.found[:0]
	return dst
}

// Hold returns the offset before which the text is decided: no later match
// starts before it, except one that Continues.
func (s *Scanner) Hold() int64 {
	if s.closed {
		return s.pos
	}
	hold := s.pos - int64(s.set.words.held[s.wordAt])
	if s.mixed != nil {
		hold = s.mixed.least(hold)
	} else {
		for i := range s.runs {
			hold = holds(s.runs[i].held, hold)
		}
		for i := range s.crowds {
			hold = holds(s.crowds[i].held, hold)
		}
	}
	for i := range s.tokens {
		hold = min(hold, s.tokens[i].start)
	}
	return min(hold, s.pem.Hold(s.pos))
}

// holds returns the lesser of a hold and where a run holds from, if it does.
func holds(held, hold int64) int64 {
	if held >= 0 && held < hold {
		return held
	}
	return hold
}

// Write reads the next bytes of the text.
func (s *Scanner) Write(p []byte) {
	s.win = append(s.win, p...)
	for len(p) > 0 {
		if n := s.skim(p); n > 0 {
			p = p[n:]
			continue
		}
		s.step(p[0])
		p = p[1:]
	}
	s.trim()
}

// step reads one byte.
func (s *Scanner) step(b byte) {
	w := s.set.words
	switch {
	case len(s.runs) == 0 && len(s.crowds) > 0:
		s.moveCrowds(b)
	case len(s.crowds) == 0 && len(s.runs) > 0:
		s.stepRuns(b)
	case len(s.runs) > 0:
		s.stepMixed(b)
	}
	if len(s.tokens) > 0 {
		s.stepTokens(b)
	}
	if s.pem.On() {
		s.pem.Step(b, s.pos)
		s.takeKeys()
	}
	if s.begins(b) {
		s.startCrowd(b)
	}
	s.pos++
	if len(s.spawn) > 0 {
		s.disperse()
	}
	s.wordAt = w.Step(s.wordAt, b)
	if w.ends[s.wordAt] {
		s.literals(w.out[s.wordAt])
	}
	s.last = after[b]
}

// takeKeys reports what was found of a private key.
func (s *Scanner) takeKeys() {
	for _, k := range s.pem.Spans {
		s.found = append(s.found, Match{Rule: s.set.pem, Start: k.Start, End: k.End, Continues: k.Continues})
	}
	s.pem.Spans = s.pem.Spans[:0]
}

// Close ends the text.
func (s *Scanner) Close() {
	if s.closed {
		return
	}
	s.endCrowds()
	for i := range s.runs {
		if r := &s.runs[i]; r.accept || r.auto.Ends(r.state) {
			s.match(r, endOfText)
		}
	}
	s.runs, s.crowds = s.runs[:0], s.crowds[:0]
	s.closeTokens()
	s.pem.Close(s.pos)
	s.takeKeys()
	s.closed = true
}

// stepRuns moves every run over b, which is at s.pos.
func (s *Scanner) stepRuns(b byte) {
	many := len(s.runs) > fewRuns
	if many {
		s.turn()
	}
	kept := s.runs[:0]
	for i := range s.runs {
		r := s.runs[i]
		if !s.stepRun(&r, b, s.pos) {
			continue
		}
		// Of runs in one state the first is kept, so that what is not marked has no
		// like among them.
		if many && !s.marks.mark(r.mark()) || !s.merged(kept, &r) {
			kept = append(kept, r)
		}
	}
	s.runs = kept
}

// mixed are the holds of runs and crowds while they are moved one after another: what a
// match takes with it on its left depends on them.
type mixed struct {
	was []int64 // before, in order
	now []int64 // of those that go on
}

// least returns the least hold: of those that go on, and of as many behind them as
// they were.
func (m *mixed) least(hold int64) int64 {
	for _, h := range m.now {
		hold = holds(h, hold)
	}
	for _, h := range m.was[len(m.now):] {
		hold = holds(h, hold)
	}
	return hold
}

// stepMixed moves all runs and crowds over b, in the order in which they started.
func (s *Scanner) stepMixed(b byte) {
	m := &s.holds
	m.was, m.now, s.mixed = m.was[:0], m.now[:0], m
	runs, crowds := s.runs, s.crowds
	for i, j := 0, 0; i < len(runs) || j < len(crowds); {
		if nextIsRun(runs, i, crowds, j) {
			m.was = append(m.was, runs[i].held)
			i++
		} else {
			m.was = append(m.was, crowds[j].held)
			j++
		}
	}
	many := len(runs)+len(crowds) > fewRuns
	if many {
		s.turn()
	}
	ri, ci := 0, 0 // how many go on
	for i, j := 0, 0; i < len(runs) || j < len(crowds); {
		if nextIsRun(runs, i, crowds, j) {
			r := &runs[i]
			i++
			if !s.stepRun(r, b, s.pos) || !(many && !s.marks.mark(r.mark())) && s.merged(runs[:ri], r) {
				continue
			}
			m.now = append(m.now, r.held)
			if ri+1 < i {
				runs[ri] = *r
			}
			ri++
			continue
		}
		c := &crowds[j]
		j++
		if !s.moveCrowd(c, b) || s.mergedCrowd(crowds[:ci], c, many) {
			continue
		}
		m.now = append(m.now, c.held)
		if ci+1 < j {
			crowds[ci] = *c
		}
		ci++
	}
	s.runs, s.crowds, s.mixed = runs[:ri], crowds[:ci], nil
}

// nextIsRun reports whether of the ith run and the jth crowd, one of which there is,
// the run started first.
func nextIsRun(runs []run, i int, crowds []crowd, j int) bool {
	return j == len(crowds) || i < len(runs) && runs[i].order < crowds[j].order
}

// mark is a number for the state of a run.
func (r *run) mark() uint64 { return r.state.Sum() ^ uint64(r.rule)*0x9e3779b97f4a7c15 }

// turn makes marks ready for another step.
func (s *Scanner) turn() {
	if s.marks == nil {
		s.marks = new(marks)
	}
	if s.marks.turn++; s.marks.turn == 0 { // it went round
		clear(s.marks.at[:])
		s.marks.turn = 1
	}
}

// fewRuns are compared with each other; of more, only those are whose marks meet.
const fewRuns = 8

// marks say which states the runs of a step are in, so that a run need not be
// compared with all others.
type marks struct {
	turn uint32 // that counts
	at   [8 * maxRuns]uint32
}

// mark marks what has a number and reports whether that was marked before, or
// another with the same place.
func (m *marks) mark(what uint64) bool {
	at := &m.at[(what^what>>32)%uint64(len(m.at))]
	was := *at == m.turn
	*at = m.turn
	return was
}

// merged reports whether an earlier run of the same rule is in the same
// state: from here on both do the same, and the earlier one covers more.
func (s *Scanner) merged(kept []run, r *run) bool {
	for i := range kept {
		if kept[i].rule == r.rule && kept[i].state.Same(r.state) {
			k := &kept[i]
			if k.held >= 0 && (r.held < 0 || k.held <= r.held) || k.held < 0 && r.held < 0 {
				k.accept = k.accept || r.accept
				return true
			}
		}
	}
	return false
}

// stepRun moves one run over byte b at offset at. It reports whether the run
// goes on; if not, a match has been taken.
func (s *Scanner) stepRun(r *run, b byte, at int64) bool {
	auto := r.auto
	next := auto.Known(r.state, b)
	if next == nil {
		next = auto.Step(r.state, b)
	}
	r.state = next
	if r.state.Matched() {
		r.accept = true
	}
	if r.state.Dead() {
		if r.accept {
			s.match(r, int(b))
		}
		return false
	}
	if r.held < 0 && r.state.Entered() {
		r.held = at
	}
	switch {
	case r.held >= 0 && at+1-r.held > s.maxHeld:
		if s.gateOpen(r) {
			s.grow(r.rule, r.held, at+1, true)
		}
		return false
	case r.held < 0 && at+1-r.start > maxRun:
		return false
	}
	return true
}

// start starts a rule at an offset, unless it is for texts of another path, and
// has it read what was read since.
func (s *Scanner) start(id uint16, start int64, before dfa.Before) {
	c := s.set.rules[id]
	if c.path != nil && !c.path.MatchString(s.path) {
		return
	}
	r := run{rule: id, auto: c.auto(), start: start, held: -1, before: before}
	r.state = r.auto.Start(before)
	for at := start; at < s.pos; at++ {
		if !s.stepRun(&r, s.win[at-s.base], at) {
			return
		}
	}
	s.push(r)
}

func (s *Scanner) push(r run) {
	if s.merged(s.runs, &r) {
		return
	}
	if len(s.crowds)+len(s.runs) >= maxRuns {
		s.evict()
	}
	r.order = s.order
	s.order++
	s.runs = append(s.runs, r)
}

// evict ends a run, so that there is room for another: the oldest of one rule, whose
// text is taken for a secret, or else of a crowd.
func (s *Scanner) evict() {
	if len(s.runs) == 0 {
		s.crowds = slices.Delete(s.crowds, 0, 1)
		return
	}
	if o := &s.runs[0]; o.held >= 0 && s.gateOpen(o) {
		s.grow(o.rule, o.held, s.pos, true)
	}
	s.runs = slices.Delete(s.runs, 0, 1)
}

// literals acts on the literals that end at s.pos.
func (s *Scanner) literals(uses []wordUse) {
	for _, u := range uses {
		if u.gate {
			s.gates[s.set.rules[u.rule].gate] = s.pos + gateFor // and the match may begin with it
		}
		start := s.pos - int64(u.length)
		if u.rule == armourUse {
			s.pem.Begin(s.win[start-s.base:s.pos-s.base], start)
			continue
		}
		before := dfa.Nothing
		if start > 0 {
			before = after[s.win[start-1-s.base]]
		}
		s.start(u.rule, start, before)
	}
}

// trim drops text that nothing looks back to.
func (s *Scanner) trim() {
	keep := s.pos - int64(s.set.longer) - 1 - lineBack
	for i := range s.runs {
		keep = min(keep, s.runs[i].start-lineBack)
	}
	for i := range s.crowds {
		keep = min(keep, s.crowds[i].start-lineBack)
	}
	n := max(0, min(keep, s.pos)-s.base)
	if n >= 512 {
		s.win = s.win[:copy(s.win, s.win[n:])]
		s.base += n
	}
}

// gateOpen reports whether a word of the rule's gate was read shortly before the
// run started, or since.
func (s *Scanner) gateOpen(r *run) bool {
	g := s.set.rules[r.rule].gate
	return g < 0 || s.gates[g] > r.start
}

// match takes the match of a run that accepted; next is the byte that ended
// it, or endOfText.
func (s *Scanner) match(r *run, next int) {
	c := s.set.rules[r.rule]
	if !s.gateOpen(r) {
		return
	}
	if c.after != nil && r.start > 0 && !c.after[s.win[r.start-1-s.base]] {
		return
	}
	text := s.win[r.start-s.base:]
	if n := s.pos - r.start; int64(len(text)) > n {
		text = text[:n]
	}
	g := r.auto.Submatch(text, r.before, next)
	if g == nil {
		return
	}
	from, to := g[0], g[1]
	if i := c.rule.Group; i > 0 && 2*i+1 < len(g) && g[2*i] >= 0 {
		from, to = g[2*i], g[2*i+1]
	} else if c.rule.Group == 0 {
		for j := 2; j+1 < len(g); j += 2 {
			if g[j] >= 0 && g[j+1] > g[j] {
				from, to = g[j], g[j+1]
				break
			}
		}
	}
	if to <= from {
		return
	}
	secret := text[from:to]
	if c.rule.Entropy > 0 && plausible.Entropy(secret) <= c.rule.Entropy {
		return
	}
	if c.rule.Validate != nil && !c.rule.Validate(secret) {
		return
	}
	if c.rule.Suits != nil && !c.rule.Suits(s.before(r.start, from), secret) || c.rule.Class == ClassDiscovery && plausible.Excused(s.before(r.start, from), secret) {
		return
	}
	if c.rule.Class != ClassPersonal && plausible.Sample(secret) {
		return
	}
	if len(c.allow) > 0 {
		back := r.start - s.base
		begin := back
		if c.preceded != nil {
			for begin > 0 && back-begin < 50 && c.preceded[s.win[begin-1]] {
				begin--
			}
		}
		full := s.win[begin : back+int64(g[1])]
		line := s.win[max(0, back-lineBack) : back+int64(g[1])]
		if i := bytes.LastIndexByte(line[:len(line)-g[1]], '\n'); i >= 0 {
			line = line[i+1:]
		}
		for i := range c.allow {
			if c.allow[i].allowed(secret, bytes.Trim(full, "\n"), line, s.path) {
				return
			}
		}
	}
	s.grow(r.rule, r.start+int64(from), r.start+int64(to), false)
}

// before returns what precedes a secret that starts from bytes into a
// match at start: what of the line is at most lineBack bytes before the match,
// and the match up to the secret.
func (s *Scanner) before(start int64, from int) []byte {
	at := start - s.base
	line := s.win[max(0, at-lineBack) : at+int64(from)]
	if i := bytes.LastIndexByte(line[:len(line)-from], '\n'); i >= 0 {
		line = line[i+1:]
	}
	return line
}
