package stream

import (
	"github.com/margaydev/margay/secret/canon"
	"github.com/margaydev/margay/stream/cut"
)

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
		d.Fill(v.tail)
	}
}

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
