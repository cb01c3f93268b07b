package stream

import (
	"bytes"
	"slices"
	"strings"

	"github.com/margaydev/margay/secret"
	"github.com/margaydev/margay/secret/canon"
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
	match [3][]*secret.Matcher

	decoders []decoding
	numbers  canon.Numbers
	listed   []below // of lists, by base, and of characters that nobody sees; nil before the first

	vaults []*secret.Index
	at     int64 // of the root: where what is being written begins
	forked bool  // the unescaped form has detectors of its own
	twice  bool  // of the root: the form that is unescaped twice has, too
	calm   int   // bytes read since they last differed
	line   bool  // a line has ended since
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
	hits    []secret.Hit
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

// calmAfter is how many bytes that all forms read alike are read before the forms
// of a view are joined again, if no line ends before: detectors look no further
// back, and not over a line's end.
const calmAfter = 512

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
		v.calm, v.line = 0, false
		return
	}
	v.calm += len(in)
	v.line = v.line || slices.ContainsFunc(in, func(u canon.Unit) bool { return u.B == '\n' })
}

// stretch is how many bytes are read at a time where forms differ.
const stretch = 8

// readRaw reads raw bytes of the root at off, a part of p, and returns how many.
func (v *view) readRaw(s *Scanner, p []byte, off int64) int {
	v.at = off
	n := v.readStretch(s, p, off)
	v.at += int64(n)
	return n
}

func (v *view) readStretch(s *Scanner, p []byte, off int64) int {
	n, ascii := canon.Plain(p)
	plain := n > 0
	if plain && ascii && (!v.forked || v.idle()) {
		if v.forked {
			if i := bytes.IndexByte(p[:n], '\n'); i >= 0 && i+joinAfter < n {
				n = i + joinAfter
			}
		}
		v.writeRaw(s, p[:n], off)
		return n
	}
	sc := &s.sc[0]
	switch {
	case plain && !v.forked:
		sc.units = canon.Units(sc.units[:0], p[:n], off)
		sc.folded = v.folds[0].Write(sc.folded[:0], sc.units)
		v.feed(s, sc, 0, sc.folded)
		v.decode(s, sc, sc.folded)
		return n
	case plain:
		plain = v.idle()
	default:
		n = min(len(p), stretch)
		if i := bytes.IndexByte(p[1:n], '\n'); i >= 0 {
			n = i + 1
		}
	}
	if !plain {
		n = min(n, stretch)
	}
	sc.units = canon.Units(sc.units[:0], p[:n], off)
	v.readUnits(s, sc.units, plain)
	return n
}

// joinAfter is how much of a line is read before forms that differed are
// compared.
const joinAfter = 32

// writeRaw is write for raw bytes of the root at off, which are ASCII and which
// all forms read alike.
func (v *view) writeRaw(s *Scanner, p []byte, off int64) {
	sc := &s.sc[0]
	for i, of := range v.matchers() {
		for _, m := range of {
			sc.hits = m.Read(sc.hits[:0], p, off)
			v.report(s, sc.hits, i)
		}
	}
	if v.forked {
		v.clean.writeRaw(s, v, sc, p, off)
		v.calm += len(p)
		v.line = v.line || bytes.IndexByte(p, '\n') >= 0
	}
	out := sc.room(len(v.decoders), len(canon.Bases))
	v.numbers.Read(out, p, off)
	v.list(s, out)
	d := v.decoders
	for len(p) > 0 {
		n := canon.ReadIdle(&d[0].Decoder, &d[1].Decoder, &d[2].Decoder, p, off)
		p, off = p[n:], off+int64(n)
		if n = min(len(p), runBytes); n == 0 {
			break
		}
		back := s.text.Raw(off-backBytes, off)
		for i := range d {
			v.decodeRaw(s, sc, &d[i], i, p[:n], off, back)
			d[i].Bare()
		}
		p, off = p[n:], off+int64(n)
	}
}

const (
	// backBytes of text are more than a run has before it is decoded.
	backBytes = 16
	// runBytes are read at a time while a run goes on.
	runBytes = 64
	// wakeBytes are read at a time while what is decoded is text.
	wakeBytes = 16
)

// decodeRaw gives raw bytes to a decoder, which reads them as units only where
// what it gives is text.
func (v *view) decodeRaw(s *Scanner, sc *scratch, d *decoding, i int, p []byte, off int64, back []byte) {
	for len(p) > 0 {
		var n int
		if !d.Active() || d.Asleep() {
			var text bool
			n, text = d.Read(p, off, back)
			if text {
				out := sc.decoded(i, d)
				d.Wake(out)
				v.below(s, d, out)
			}
		} else {
			n = min(len(p), wakeBytes)
			sc.units = canon.Units(sc.units[:0], p[:n], off)
			v.decodeUnits(s, sc, d, i, sc.units)
			d.rest()
		}
		if n >= backBytes {
			back = p[n-backBytes : n]
		} else {
			back = append(append(sc.back[:0], back[max(0, len(back)+n-backBytes):]...), p[:n]...)
		}
		p, off = p[n:], off+int64(n)
	}
}

// rest puts the decoder to sleep if nothing that it gives is text.
func (d *decoding) rest() {
	if !d.Active() || d.Asleep() {
		return
	}
	for i := range d.below {
		if d.below[i].On() {
			return
		}
	}
	if d.Sleep() {
		for i := range d.below {
			d.below[i].Reset()
		}
	}
}

// wake has the decoders read units.
func (v *view) wake(s *Scanner, sc *scratch) {
	for i := range v.decoders {
		d := &v.decoders[i]
		if d.Asleep() {
			out := sc.decoded(i, d)
			d.Wake(out)
			v.below(s, d, out)
		}
		d.Fill(s.text.Raw(v.at-backBytes, v.at))
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

// fork gives the unescaped form detectors of its own.
func (v *view) fork() {
	if v.forked {
		return
	}
	v.forked, v.calm, v.line = true, 0, false
	v.copyMatchers(0, 1)
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

// copyMatchers has a form's matchers read on as another's do.
func (v *view) copyMatchers(from, to int) {
	for k, ix := range v.vaults {
		if len(v.match[to]) <= k {
			v.match[to] = append(v.match[to], ix.NewMatcher(v.cfg.nowMilli(), v.cfg.maxHeld()))
		}
		v.match[from][k].CopyTo(v.match[to][k])
	}
}

// forkTwice gives the form that is unescaped twice detectors of its own, if what was
// unescaped once, and is not read yet, may be again. Until then, the form that is
// unescaped once stands for it.
func (v *view) forkTwice(esc []canon.Unit) {
	if v.depth > 0 || v.twice || !slices.ContainsFunc(esc, escapes) {
		return
	}
	v.twice = true
	v.copyMatchers(1, 2)
	v.folds[2] = v.folds[1]
	v.folds[2].Collect, v.folds[2].Unseen = false, nil
}

// escapes reports whether an escape may begin with a unit.
func escapes(u canon.Unit) bool { return u.B == '\\' || u.B == '%' || u.B == '&' }

// join drops the other forms where they do what the first does.
func (v *view) join() {
	if !v.forked || v.calm < calmAfter && !v.line || !v.idle() {
		return
	}
	if v.raw != nil && !v.raw.SameAs(v.clean.rules) {
		return
	}
	for i := 1; i < len(v.matchers()); i++ {
		for k := range v.match[0] {
			if !v.match[0][k].SameAs(v.match[i][k]) {
				return
			}
		}
	}
	v.forked, v.twice = false, false
}

// idle reports whether no transducer of the forms waits for more.
func (v *view) idle() bool {
	return v.esc.Idle() && v.esc2.Idle() && v.folds[0].Idle() && v.folds[1].Idle() && v.folds[2].Idle()
}

// unescaped feeds what the first unescaping gave, in sc.esc.
func (v *view) unescaped(s *Scanner, sc *scratch) {
	v.forkTwice(sc.esc)
	sc.folded = v.folds[1].Write(sc.folded[:0], sc.esc)
	v.unescapedFolded(s, sc)
	if v.twice {
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
		v.makeLists()
		v.listed[len(canon.Bases)].read(s, v, "unseen", unseen)
		v.folds[1].Unseen = unseen[:0]
	}
}

// matchers are those that read: of the first form alone, unless the forms differ.
func (v *view) matchers() [][]*secret.Matcher {
	switch {
	case !v.forked:
		return v.match[:1]
	case !v.twice:
		return v.match[:2]
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

func (v *view) report(s *Scanner, hits []secret.Hit, form int) {
	for i := range hits {
		h := &hits[i]
		s.pend = append(s.pend, Finding{
			Start: h.Start, End: h.End, Kind: h.Kind, Rule: RuleVault, Source: h.Source, ID: h.ID, Name: h.Name,
			View: v.formName(form), Fingerprint: h.Fingerprint, Capped: h.Capped, Fragment: h.Fragment, continues: h.Continues,
		})
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
	v.wake(s, sc)
	d := v.decoders
	if units = units[canon.Idle(&d[0].Decoder, &d[1].Decoder, &d[2].Decoder, units):]; len(units) == 0 {
		return
	}
	for i := range v.decoders {
		v.decodeUnits(s, sc, &v.decoders[i], i, units)
	}
}

func (v *view) decodeUnits(s *Scanner, sc *scratch, d *decoding, i int, in []canon.Unit) {
	if d.Enc == canon.Base16 {
		sc.alnum = sc.alnum[:0]
		for _, u := range in {
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

// makeLists makes what reads lists and what is hidden.
func (v *view) makeLists() {
	if v.listed == nil {
		v.listed = make([]below, len(canon.Bases)+1)
	}
}

// list gives what lists of numbers are to the views below.
func (v *view) list(s *Scanner, out [][]canon.Unit) {
	for b, units := range out {
		if len(units) == 0 {
			continue
		}
		v.makeLists()
		v.listed[b].read(s, v, canon.Bases[b], units)
	}
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

// writeRaw is write for raw bytes at off.
func (t *tracked) writeRaw(s *Scanner, v *view, sc *scratch, p []byte, off int64) {
	if t.rules == nil || len(p) == 0 {
		return
	}
	if off-t.last > canon.MaxApart {
		t.end(s, v, sc)
	}
	for i := range p {
		t.at = append(t.at, extent{off + int64(i), off + int64(i) + 1})
	}
	t.last = off + int64(len(p))
	t.rules.Write(p)
	t.take(s, v, sc)
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
