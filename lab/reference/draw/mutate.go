package draw

import (
	"bytes"
	"slices"
	"strings"
)

// Mutate changes a text in one to six ways, of which most keep it close to what
// detectors look for. Other is called for texts that parts are taken from. The result
// has at most 4000 bytes.
func (d *Drawer) Mutate(text []byte, other func() []byte) []byte {
	b := slices.Clone(text[:min(len(text), most)])
	for range 1 + d.rng.IntN(6) {
		b = d.mutate(b, other)
		b = b[:min(len(b), most)]
	}
	return b
}

// mutate makes one change.
func (d *Drawer) mutate(b []byte, other func() []byte) []byte {
	from, to := d.stretch(len(b))
	switch d.rng.IntN(11) {
	case 0: // splice
		o := other()
		i, j := d.stretch(len(o))
		return slices.Insert(b, from, o[i:j]...)
	case 1: // join
		return append(append(b, d.one(joints)...), other()...)
	case 2: // cut
		return slices.Delete(b, from, to)
	case 3: // end early
		return b[:to]
	case 4: // repeat
		to = min(to, from+200)
		return slices.Insert(b, to, bytes.Repeat(b[from:to], 1+d.rng.IntN(12))...)
	case 5: // turn the case
		for i := from; i < to; i++ {
			if c := b[i] | 0x20; c >= 'a' && c <= 'z' && d.rng.IntN(3) > 0 {
				b[i] ^= 0x20
			}
		}
		return b
	case 6: // put apart
		return d.apart(b, from, min(to, from+120))
	case 7: // a gap
		gap := strings.Repeat(d.one(gaps), 1+d.rng.IntN(270))
		return slices.Insert(b, from, []byte(gap[:min(len(gap), 600)])...)
	case 8: // encode
		to = min(to, from+300)
		e := d.src.encodings[d.rng.IntN(len(d.src.encodings))](string(b[from:to]))
		return slices.Replace(b, from, to, []byte(e)...)
	case 9: // random bytes
		noise := make([]byte, 1+d.rng.IntN(8))
		for i := range noise {
			noise[i] = byte(d.rng.Uint32())
		}
		if d.rng.IntN(2) == 0 {
			return slices.Insert(b, from, noise...)
		}
		copy(b[from:], noise)
		return b
	default: // move
		part := slices.Clone(b[from:to])
		b = slices.Delete(b, from, to)
		return slices.Insert(b, d.rng.IntN(len(b)+1), part...)
	}
}

// gaps are what stands between characters of one secret.
var gaps = []string{" ", "-", "\n", "\u200b", ".", "\\n", "%20", "&#32;", "= ", "\x00", "\t", "_"}

// apart puts signs, separators and beginnings of escapes into a stretch, everywhere or
// here and there.
func (d *Drawer) apart(b []byte, from, to int) []byte {
	step, sign := 1+d.rng.IntN(6), d.one(bits)
	mixed := d.rng.IntN(3) == 0
	var out []byte
	for i := from; i < to; i += step {
		if mixed {
			sign = d.one(bits)
		}
		out = append(append(out, b[i:min(i+step, to)]...), sign...)
	}
	return slices.Replace(b, from, to, out...)
}

// stretch draws a part of n bytes, short ones more often.
func (d *Drawer) stretch(n int) (from, to int) {
	from = d.rng.IntN(n + 1)
	most := n - from
	if d.rng.IntN(2) == 0 {
		most = min(most, 40)
	}
	return from, from + d.rng.IntN(most+1)
}
