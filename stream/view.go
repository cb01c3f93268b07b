package stream

import (
	"github.com/margaydev/margay/secret"
	"github.com/margaydev/margay/secret/canon"
	"github.com/margaydev/margay/secret/recognise"
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
}

// decoding is one encoding below a view.
type decoding struct {
	canon.Decoder
	below []*view // by alignment; made when a run is long enough
}

func newView(cfg *Config, name string, depth int) *view {
	v := &view{cfg: cfg, name: name, depth: depth}
	forms := 1
	if !cfg.Plain {
		forms = 2
		if depth == 0 {
			forms = 3
		}
	}
	for i := range forms {
		for _, ix := range cfg.Vaults {
			if ix != nil && ix.Len() > 0 {
				v.match[i] = append(v.match[i], ix.NewMatcher(cfg.nowMilli(), cfg.maxHeld()))
			}
		}
	}
	if cfg.Rules != nil {
		if depth == 0 {
			v.raw = newRules(cfg)
		}
		if depth > 0 || !cfg.Plain {
			v.clean.rules = newRules(cfg)
		}
	}
	if depth < maxDepth && !cfg.Plain {
		v.decoders = []decoding{
			{Decoder: canon.Decoder{Enc: canon.Base64}},
			{Decoder: canon.Decoder{Enc: canon.Base32}},
			{Decoder: canon.Decoder{Enc: canon.Base16}},
		}
	}
	return v
}

// scratch has the intermediate units of one depth.
type scratch struct {
	units, folded, esc, esc2, alnum []canon.Unit
	bytes                           []byte
	out                             [3][8][]canon.Unit
	hits                            []secret.Hit
	matches                         []recognise.Match
}

// write feeds in, at most batch units of this view's own text.
func (v *view) write(s *Scanner, in []canon.Unit) {
	sc := s.scratch(v.depth)
	sc.folded = v.folds[0].Write(sc.folded[:0], in)
	v.feed(s, sc, 0, sc.folded)
	if v.cfg.Plain {
		return
	}
	if v.depth > 0 {
		v.clean.write(s, v, sc, sc.folded)
	}
	sc.esc = v.esc.Write(sc.esc[:0], in)
	v.unescaped(s, sc)
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
		s.add(Finding{
			Start: h.Start, End: h.End, Kind: h.Kind, Rule: RuleVault, Source: h.Source, ID: h.ID, Name: h.Name,
			View: v.formName(form), Fingerprint: h.Fingerprint, Capped: h.Capped, continues: h.Continues,
		})
	}
}

func (v *view) formName(form int) string {
	switch form {
	case 0:
		return v.name
	case 1:
		return v.name + "+unescaped"
	default:
		return v.name + "+unescaped+unescaped"
	}
}

// decode gives unescaped, folded units to the decoders and what comes out to
// the views below.
func (v *view) decode(s *Scanner, sc *scratch, units []canon.Unit) {
	if len(v.decoders) == 0 {
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
		was := d.Active()
		out := sc.out[i][:d.Enc.Phases]
		for p := range out {
			out[p] = out[p][:0]
		}
		d.Write(out, in)
		if was || d.Active() || len(out[0]) > 0 {
			v.below(s, d, out)
		}
	}
}

func (v *view) below(s *Scanner, d *decoding, out [][]canon.Unit) {
	if d.below == nil {
		name := v.name + "+" + d.Enc.Name
		d.below = make([]*view, d.Enc.Phases)
		for p := range d.below {
			d.below[p] = newView(v.cfg, name, v.depth+1)
		}
	}
	for p, units := range out {
		b := d.below[p]
		for len(units) > 0 {
			n := 0
			for n < len(units) && n < batch && units[n].C != canon.Break {
				n++
			}
			if n > 0 {
				b.write(s, units[:n])
			}
			if n < len(units) && units[n].C == canon.Break {
				b.end(s)
				n++
			}
			units = units[n:]
		}
	}
}

// end ends this view's text: what waits is decided, and the view is ready for
// another run.
func (v *view) end(s *Scanner) {
	sc := s.scratch(v.depth)
	v.feed(s, sc, 0, v.folds[0].Close(sc.folded[:0]))
	if !v.cfg.Plain {
		sc.esc = v.esc.Close(sc.esc[:0])
		v.unescaped(s, sc)
		sc.folded = v.folds[1].Close(sc.folded[:0])
		v.unescapedFolded(s, sc)
		sc.esc2 = v.esc2.Close(sc.esc2[:0])
		sc.folded = v.folds[2].Write(sc.folded[:0], sc.esc2)
		sc.folded = v.folds[2].Close(sc.folded)
		v.feed(s, sc, 2, sc.folded)
		for i := range v.decoders {
			d := &v.decoders[i]
			out := sc.out[i][:d.Enc.Phases]
			for p := range out {
				out[p] = out[p][:0]
			}
			if d.Active() {
				d.Close(out)
				v.below(s, d, out)
			}
			d.Reset()
		}
	}
	for i := range v.match {
		for _, m := range v.match[i] {
			sc.hits = m.Close(sc.hits[:0])
			v.report(s, sc.hits, i)
			m.Reset()
		}
	}
	v.clean.end(s, v, sc)
	v.esc.Reset()
	v.esc2.Reset()
	for i := range v.folds {
		v.folds[i].Reset()
	}
}

// hold returns the offset before which this view and those below it are
// decided.
func (v *view) hold() int64 {
	h := min(v.esc.Hold(), v.esc2.Hold(), v.clean.hold())
	for i := range v.folds {
		h = min(h, v.folds[i].Hold())
	}
	for i := range v.match {
		for _, m := range v.match[i] {
			h = min(h, m.Hold())
		}
	}
	for i := range v.decoders {
		d := &v.decoders[i]
		h = min(h, d.Hold())
		if d.Active() {
			for _, b := range d.below {
				h = min(h, b.hold())
			}
		}
	}
	return h
}

// tracked is a recogniser over a canonical text that remembers which raw
// bytes the text not yet decided came from.
type tracked struct {
	rules *recognise.Scanner
	base  int64 // canonical offset of at[0]
	at    []extent
}

type extent struct{ start, end int64 }

func (t *tracked) write(s *Scanner, v *view, sc *scratch, units []canon.Unit) {
	if t.rules == nil {
		return
	}
	sc.bytes = sc.bytes[:0]
	for i := range units {
		sc.bytes = append(sc.bytes, units[i].B)
		t.at = append(t.at, extent{units[i].Start, units[i].End})
	}
	t.rules.Write(sc.bytes)
	t.take(s, v, sc)
	t.trim()
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
