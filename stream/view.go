package stream

import (
	"slices"

	"github.com/margaydev/margay/secret/canon"
	"github.com/margaydev/margay/secret/match"
	"github.com/margaydev/margay/secret/recognise"
	"github.com/margaydev/margay/stream/cut"
)

// maxDepth is how many encodings may lie over each other.
const maxDepth = 2

// batch is how many units go through the views at a time. It bounds scratch
// memory; results do not depend on it.
const batch = 256

// view is one text in its canonical forms: as it is, and unescaped. The root
// view is the raw text, which is unescaped twice; below it, each alignment of
// each encoding has a view of its own while a run lasts.
type view struct {
	cfg   *Config
	name  string
	depth int

	raw   *recognise.Scanner // of the root alone: over the raw bytes
	clean tracked            // over the folded (root: unescaped) text

	esc   canon.Unescape
	esc2  canon.Unescape
	folds [3]canon.Fold
	match [3][]*match.Matcher

	decoders []decoding
	numbers  canon.Numbers
	listed   []below // of lists, by base, and of characters that nobody sees; nil before the first

	lag    recognise.Lag // of the clean rules, while the forms are joined
	vaults []*match.Index
	tail   []byte          // of the root: the last bytes before what it is reading
	back   [backBytes]byte // room for behind
	forked bool            // the unescaped form has detectors of its own
	twice  bool            // of the root: the form that is unescaped twice has, too
	calm   int             // bytes read since they last differed
	line   int             // how many of them up to the end of the first line; -1: none has ended
}

func newView(cfg *Config, name string, depth int) *view {
	v := &view{cfg: cfg, name: name, depth: depth}
	for _, ix := range cfg.Vaults {
		if ix != nil && ix.Len() > 0 {
			v.vaults = append(v.vaults, ix)
			v.match[0] = append(v.match[0], ix.NewMatcher(cfg.nowMilli(), cfg.maxHeld()))
		}
	}
	if cfg.Rules != nil {
		if depth == 0 {
			v.raw = newRules(cfg)
		} else {
			v.clean.rules = newRules(cfg)
		}
	}
	if depth < maxDepth {
		v.decoders = make([]decoding, 3)
		v.folds[1].Collect = true
		v.decoders[0].Enc, v.decoders[1].Enc, v.decoders[2].Enc = canon.Base64, canon.Base32, canon.Base16
	}
	return v
}

// scratch has the intermediate units of one depth.
type scratch struct {
	units, folded, esc, esc2, alnum, text []canon.Unit

	back    [2 * backBytes]byte
	bytes   []byte
	out     [4][8][]canon.Unit // the last are of lists of numbers
	hits    []match.Hit
	matches []recognise.Match
}

// decoded is room for what a decoder gives, by alignment.
func (sc *scratch) decoded(i int, d *decoding) [][]canon.Unit { return sc.room(i, d.Enc.Phases) }

func (sc *scratch) room(i, n int) [][]canon.Unit {
	out := sc.out[i][:n]
	for p := range out {
		out[p] = out[p][:0]
	}
	return out
}

// write feeds in, at most batch units of this view's own text.
//
// Where nothing is escaped and nothing looks like something else, all forms of
// a view read the same, and one set of detectors stands for all. At the first
// difference the others fork off from it, in its state; when they have read
// the same for a while and are in the same state again, they are dropped. That
// changes what is computed, never what is found, so it may depend on chunks.
func (v *view) write(s *Scanner, in []canon.Unit) {
	v.readUnits(s, in, ordinary(in))
}

// readUnits is write, told whether all forms read the units alike.
func (v *view) readUnits(s *Scanner, in []canon.Unit, plain bool) {
	sc := &s.sc[v.depth]
	if plain && !v.forked {
		v.feed(s, sc, 0, in)
		if v.depth > 0 {
			v.clean.write(s, v, sc, in)
		}
		v.decode(s, sc, in)
		return
	}
	v.fork()
	sc.folded = v.folds[0].Write(sc.folded[:0], in)
	v.feed(s, sc, 0, sc.folded)
	if v.depth > 0 {
		v.clean.write(s, v, sc, sc.folded)
	}
	sc.esc = v.esc.Write(sc.esc[:0], in)
	v.unescaped(s, sc)
	if !plain {
		v.calm, v.line = 0, -1
		return
	}
	if i := slices.IndexFunc(in, func(u canon.Unit) bool { return u.B == '\n' }); v.line < 0 && i >= 0 {
		v.line = v.calm + i + 1
	}
	v.calm += len(in)
}

// feed gives folded units of form i to its matchers.
func (v *view) feed(s *Scanner, sc *scratch, i int, units []canon.Unit) {
	if len(v.match[i]) == 0 {
		return
	}
	if v.depth > 0 {
		// Real text holds no control characters; a wrong alignment's
		// bytes do, and must not be strung together over them.
		for j := range units {
			if units[j].C == canon.Junk {
				units[j].C = canon.Break
			}
		}
	}
	for _, m := range v.match[i] {
		sc.hits = m.Write(sc.hits[:0], units)
		v.report(s, sc.hits, i)
	}
}

func (v *view) report(s *Scanner, hits []match.Hit, form int) {
	for i := range hits {
		h := &hits[i]
		s.pend = append(s.pend, Finding{
			Start: h.Start, End: h.End, Kind: h.Kind, Rule: RuleVault, Source: h.Source, ID: h.ID, Name: h.Name,
			View: v.formName(form), Fingerprint: h.Fingerprint, Capped: h.Capped, Fragment: h.Fragment, continues: h.Continues,
		})
	}
}

// read reads decoded units, which end where there is a Break.
func (v *view) read(s *Scanner, units []canon.Unit) {
	for len(units) > 0 {
		n := 0
		for n < len(units) && n < batch && units[n].C != canon.Break {
			n++
		}
		if n > 0 {
			v.write(s, units[:n])
		}
		if n < len(units) && units[n].C == canon.Break {
			v.end(s)
			n++
		}
		units = units[n:]
	}
}

// end ends this view's text: what waits is decided, and the view is ready for
// another run.
func (v *view) end(s *Scanner) {
	sc := &s.sc[v.depth]
	if v.forked {
		v.feed(s, sc, 0, v.folds[0].Close(sc.folded[:0]))
		sc.esc = v.esc.Close(sc.esc[:0])
		v.unescaped(s, sc)
		sc.folded = v.folds[1].Close(sc.folded[:0])
		v.unescapedFolded(s, sc)
		if v.twice {
			sc.esc2 = v.esc2.Close(sc.esc2[:0])
			sc.folded = v.folds[2].Write(sc.folded[:0], sc.esc2)
			sc.folded = v.folds[2].Close(sc.folded)
			v.feed(s, sc, 2, sc.folded)
		}
	}
	for i := range v.decoders {
		d := &v.decoders[i]
		if d.Active() {
			out := sc.decoded(i, d)
			d.Close(out)
			v.below(s, d, out)
		}
		d.Reset()
	}
	out := sc.room(len(v.decoders), len(canon.Bases))
	v.numbers.Close(out)
	v.list(s, out)
	for i := range v.listed {
		v.listed[i].end(s)
	}
	for i, of := range v.matchers() {
		for _, m := range of {
			sc.hits = m.Close(sc.hits[:0])
			v.report(s, sc.hits, i)
			m.Reset()
		}
	}
	if v.forked || v.depth > 0 {
		v.clean.end(s, v, sc)
	}
	v.forked, v.twice = false, false
	v.esc.Reset()
	v.esc2.Reset()
	for i := range v.folds {
		v.folds[i].Reset()
	}
}

// expire ends what can't go on in this view and below, as its text is read up
// to at.
func (v *view) expire(s *Scanner, at int64) {
	sc := &s.sc[v.depth]
	deepest := at // what a transducer still has may be near to what it gave
	if v.forked {
		deepest = min(at, v.esc.Hold(), v.esc2.Hold())
		for i := range v.folds {
			deepest = min(deepest, v.folds[i].Hold())
		}
	}
	for i, of := range v.matchers() {
		for _, m := range of {
			if sc.hits = m.Expire(sc.hits[:0], deepest); len(sc.hits) > 0 {
				v.report(s, sc.hits, i)
			}
		}
	}
	if v.forked || v.depth > 0 {
		v.clean.expire(s, v, sc, deepest)
	}
	for i := range v.decoders {
		d := &v.decoders[i]
		switch {
		case d.Expired(deepest):
			active, out := d.Active(), sc.decoded(i, d)
			d.Close(out)
			if active {
				v.below(s, d, out)
			}
		case d.Active() && !d.Asleep():
			below := min(deepest, d.Hold())
			for i := range d.below {
				d.below[i].expire(s, below)
			}
		}
	}
	v.expireLists(s, sc, deepest)
}

// expireLists ends lists as expire does, and what can't go on below them.
func (v *view) expireLists(s *Scanner, sc *scratch, at int64) {
	if v.numbers.Expired(at) {
		out := sc.room(len(v.decoders), len(canon.Bases))
		v.numbers.Close(out)
		v.list(s, out)
	}
	at = min(at, v.numbers.Hold())
	for i := range v.listed {
		v.listed[i].expire(s, at)
	}
}

// hold names the holds of this view and of those below it.
func (v *view) hold(t *cut.Text) {
	if v.raw != nil {
		t.Hold(v.raw.Hold())
	}
	for _, of := range v.matchers() {
		for _, m := range of {
			t.Hold(m.Hold())
		}
	}
	if v.depth > 0 || v.forked {
		t.Hold(v.clean.hold())
	}
	if v.forked {
		t.Hold(min(v.esc.Hold(), v.esc2.Hold()))
		for i := range v.folds {
			t.Hold(v.folds[i].Hold())
		}
	}
	t.Hold(v.numbers.Hold())
	for i := range v.listed {
		v.listed[i].hold(t)
	}
	for i := range v.decoders {
		d := &v.decoders[i]
		t.Hold(d.Hold())
		if d.Active() && !d.Asleep() {
			for i := range d.below {
				d.below[i].hold(t)
			}
		}
	}
}
