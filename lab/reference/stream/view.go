package stream

import (
	"strings"

	"github.com/margaydev/margay/lab/reference/canon"
	"github.com/margaydev/margay/lab/reference/match"
	"github.com/margaydev/margay/lab/reference/recognise"
	product "github.com/margaydev/margay/stream"
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
	listed   []below // by base; made when a list is long enough
	hidden   below   // of what is written in characters nobody sees

	vaults []*match.Index
	forms  int
	forked bool // the forms have detectors of their own
	calm   int  // bytes read since they last differed
}

// decoding is one encoding below a view.
type decoding struct {
	canon.Decoder
	below []below // by alignment; made when a run is long enough
}

// below is what reads what a decoder gives: text of it.
type below struct {
	canon.Sieve
	view *view // nil before the first text
}

// read reads decoded units, which end where there is a Break.
func (b *below) read(s *Scanner, v *view, name string, units []canon.Unit) {
	sc := &s.sc[v.depth]
	if sc.text = b.Write(sc.text[:0], units); len(sc.text) == 0 {
		return
	}
	if b.view == nil {
		b.view = newView(v.cfg, v.name+"+"+name, v.depth+1)
	}
	b.view.read(s, sc.text)
}

func (b *below) hold(t *cut.Text) {
	t.Hold(b.Sieve.Hold())
	if b.view != nil && b.On() {
		b.view.hold(t)
	}
}

func (b *below) expire(s *Scanner, at int64) {
	if b.view != nil && b.On() {
		b.view.expire(s, at)
	}
}

// end ends the text.
func (b *below) end(s *Scanner) {
	if b.view != nil && b.On() {
		b.view.end(s)
	}
	b.Reset()
}

func newView(cfg *Config, name string, depth int) *view {
	v := &view{cfg: cfg, name: name, depth: depth, forms: 2}
	if depth == 0 {
		v.forms = 3
	}
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
	bytes                                 []byte
	out                                   [4][8][]canon.Unit // the last are of lists of numbers
	hits                                  []match.Hit
	matches                               []recognise.Match
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

// calmAfter is how many bytes without an escape or a lookalike are read before
// the forms of a view are joined again.
const calmAfter = 512

// write feeds in, at most batch units of this view's own text.
//
// Where nothing is escaped and nothing looks like something else, all forms of
// a view read the same, and one set of detectors stands for all. At the first
// difference the others fork off from it, in its state; when they have read
// the same for a while and are in the same state again, they are dropped. That
// changes what is computed, never what is found, so it may depend on chunks.
func (v *view) write(s *Scanner, in []canon.Unit) {
	sc := &s.sc[v.depth]
	plain := ordinary(in)
	if plain && !v.forked {
		v.feed(s, sc, 0, in)
		if v.depth > 0 {
			v.clean.write(s, v, sc, in)
		}
		v.decode(s, sc, in)
		return
	}
	v.fork(s)
	sc.folded = v.folds[0].Write(sc.folded[:0], in)
	v.feed(s, sc, 0, sc.folded)
	if v.depth > 0 {
		v.clean.write(s, v, sc, sc.folded)
	}
	sc.esc = v.esc.Write(sc.esc[:0], in)
	v.unescaped(s, sc)
	if plain {
		v.calm += len(in)
	} else {
		v.calm = 0
	}
}

// ordinary reports whether all forms of a text read these units alike.
func ordinary(in []canon.Unit) bool {
	for i := range in {
		if b := in[i].B; b >= 0x80 || b == '\\' || b == '%' || b == '&' || in[i].C == canon.Pad {
			return false
		}
	}
	return true
}

// fork gives the other forms detectors of their own.
func (v *view) fork(s *Scanner) {
	if v.forked {
		return
	}
	v.forked, v.calm = true, 0
	for i := 1; i < v.forms; i++ {
		for k, ix := range v.vaults {
			if len(v.match[i]) <= k {
				v.match[i] = append(v.match[i], ix.NewMatcher(v.cfg.nowMilli(), v.cfg.maxHeld()))
			}
			v.match[0][k].CopyTo(v.match[i][k])
		}
	}
	if v.raw == nil {
		return
	}
	if v.clean.rules == nil {
		v.clean.rules = newRules(v.cfg)
	}
	v.raw.CopyTo(v.clean.rules)
	v.clean.base, v.clean.at, v.clean.last = v.raw.Hold(), v.clean.at[:0], v.raw.Read()
	for off := v.clean.base; off < v.raw.Read(); off++ {
		v.clean.at = append(v.clean.at, extent{off, off + 1})
	}
}

// join drops the other forms where they do what the first does.
func (v *view) join() {
	if !v.forked || v.calm < calmAfter || !v.esc.Idle() || !v.esc2.Idle() || !v.folds[0].Idle() || !v.folds[1].Idle() || !v.folds[2].Idle() {
		return
	}
	for i := 1; i < v.forms; i++ {
		for k := range v.match[0] {
			if !v.match[0][k].SameAs(v.match[i][k]) {
				return
			}
		}
	}
	if v.raw != nil && !v.raw.SameAs(v.clean.rules) {
		return
	}
	v.forked = false
}

// unescaped feeds what the first unescaping gave, in sc.esc.
func (v *view) unescaped(s *Scanner, sc *scratch) {
	sc.folded = v.folds[1].Write(sc.folded[:0], sc.esc)
	v.unescapedFolded(s, sc)
	if v.depth == 0 {
		sc.esc2 = v.esc2.Write(sc.esc2[:0], sc.esc)
		sc.folded = v.folds[2].Write(sc.folded[:0], sc.esc2)
		v.feed(s, sc, 2, sc.folded)
	}
}

func (v *view) unescapedFolded(s *Scanner, sc *scratch) {
	v.feed(s, sc, 1, sc.folded)
	if v.depth == 0 {
		v.clean.write(s, v, sc, sc.folded)
	}
	v.decode(s, sc, sc.folded)
	if unseen := v.folds[1].Unseen; len(unseen) > 0 {
		v.hidden.read(s, v, "unseen", unseen)
		v.folds[1].Unseen = unseen[:0]
	}
}

// matchers are those that read: of the first form alone, unless the forms differ.
func (v *view) matchers() [][]*match.Matcher {
	if !v.forked {
		return v.match[:1]
	}
	return v.match[:]
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
		s.pend = append(s.pend, finding{continues: h.Continues, Finding: product.Finding{
			Start: h.Start, End: h.End, Kind: h.Kind, Rule: product.RuleVault, Source: h.Source, ID: h.ID, Name: h.Name,
			View: v.formName(form), Fingerprint: h.Fingerprint, Capped: h.Capped, Fragment: h.Fragment,
		}})
	}
}

func (v *view) formName(form int) string { return v.name + strings.Repeat("+unescaped", form) }

// decode gives unescaped, folded units to the decoders and what comes out to
// the views below.
func (v *view) decode(s *Scanner, sc *scratch, units []canon.Unit) {
	if len(v.decoders) == 0 {
		return
	}
	out := sc.room(len(v.decoders), len(canon.Bases))
	v.numbers.Write(out, units)
	v.list(s, out)
	d := v.decoders
	if units = units[canon.Idle(&d[0].Decoder, &d[1].Decoder, &d[2].Decoder, units):]; len(units) == 0 {
		return
	}
	for i := range v.decoders {
		d := &v.decoders[i]
		in := units
		if d.Enc == canon.Base16 {
			sc.alnum = sc.alnum[:0]
			for _, u := range units {
				if u.C >= canon.Alnum {
					sc.alnum = append(sc.alnum, u)
				}
			}
			in = sc.alnum
		}
		was, out := d.Active(), sc.decoded(i, d)
		d.Write(out, in)
		if was || d.Active() || len(out[0]) > 0 {
			v.below(s, d, out)
		}
	}
}

// list gives what lists of numbers are to the views below.
func (v *view) list(s *Scanner, out [][]canon.Unit) {
	for b, units := range out {
		if len(units) == 0 {
			continue
		}
		if v.listed == nil {
			v.listed = make([]below, len(canon.Bases))
		}
		v.listed[b].read(s, v, canon.Bases[b], units)
	}
}

// lists calls f with the views of lists that are being read, and of what is
// hidden.
func (v *view) lists(f func(*below)) {
	for i := range v.listed {
		f(&v.listed[i])
	}
	f(&v.hidden)
}

func (v *view) below(s *Scanner, d *decoding, out [][]canon.Unit) {
	if d.below == nil {
		d.below = make([]below, d.Enc.Phases)
	}
	for p, units := range out {
		d.below[p].read(s, v, d.Enc.Name, units)
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
		sc.esc2 = v.esc2.Close(sc.esc2[:0])
		sc.folded = v.folds[2].Write(sc.folded[:0], sc.esc2)
		sc.folded = v.folds[2].Close(sc.folded)
		v.feed(s, sc, 2, sc.folded)
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
	v.lists(func(b *below) { b.end(s) })
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
	v.forked = false
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
		case d.Active():
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
	v.lists(func(b *below) { b.expire(s, at) })
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
	v.lists(func(b *below) { b.hold(t) })
	for i := range v.decoders {
		d := &v.decoders[i]
		t.Hold(d.Hold())
		if d.Active() {
			for i := range d.below {
				d.below[i].hold(t)
			}
		}
	}
}

// tracked is a recogniser over a canonical text that remembers which raw
// bytes the text not yet decided came from.
type tracked struct {
	rules *recognise.Scanner
	base  int64 // canonical offset of at[0]
	at    []extent
	last  int64 // raw end of what was read
}

type extent struct{ start, end int64 }

func (t *tracked) write(s *Scanner, v *view, sc *scratch, units []canon.Unit) {
	if t.rules == nil {
		return
	}
	sc.bytes = sc.bytes[:0]
	for i := range units {
		if units[i].Start-t.last > canon.MaxApart {
			t.read(s, v, sc)
			t.end(s, v, sc)
		}
		t.last = units[i].End
		sc.bytes = append(sc.bytes, units[i].B)
		t.at = append(t.at, extent{units[i].Start, units[i].End})
	}
	t.read(s, v, sc)
	t.trim()
}

func (t *tracked) read(s *Scanner, v *view, sc *scratch) {
	t.rules.Write(sc.bytes)
	sc.bytes = sc.bytes[:0]
	t.take(s, v, sc)
}

// expire ends the text where nothing of it was read for MaxApart raw bytes.
func (t *tracked) expire(s *Scanner, v *view, sc *scratch, at int64) {
	if t.rules != nil && len(t.at) > 0 && at-t.last > canon.MaxApart {
		t.end(s, v, sc)
	}
}

func (t *tracked) take(s *Scanner, v *view, sc *scratch) {
	sc.matches = t.rules.Take(sc.matches[:0])
	for i := range sc.matches {
		m := &sc.matches[i]
		if m.End <= m.Start {
			continue
		}
		s.addMatch(m, t.at[m.Start-t.base].start, t.at[m.End-1-t.base].end, v.name+"+clean")
	}
}

func (t *tracked) trim() {
	n := min(t.rules.Hold()-t.base, int64(len(t.at)))
	if n > 0 && (n == int64(len(t.at)) || n >= 64) {
		t.at = t.at[:copy(t.at, t.at[n:])]
		t.base += n
	}
}

func (t *tracked) end(s *Scanner, v *view, sc *scratch) {
	if t.rules == nil {
		return
	}
	t.rules.Close()
	t.take(s, v, sc)
	t.rules.Reset()
	t.base, t.at = 0, t.at[:0]
}

func (t *tracked) hold() int64 {
	if t.rules == nil {
		return canon.NoHold
	}
	i := max(t.rules.Hold()-t.base, 0)
	if i >= int64(len(t.at)) {
		return canon.NoHold
	}
	return t.at[i].start
}
