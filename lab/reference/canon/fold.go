package canon

import (
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Fold maps lookalikes to the ASCII they look like (fullwidth and
// mathematical letters by NFKC, Cyrillic, Greek and others by a table) and
// leaves out what is not seen: zero-width characters, combining marks,
// variation selectors. Other letters stay as UTF-8. The zero value is ready.
type Fold struct {
	// Unseen gets the bytes that are written in characters nobody sees, if
	// Collect is set: tags (U+E0000) stand for ASCII, and variation selectors
	// for the bytes 0 to 255.
	Unseen  []Unit
	Collect bool

	pend [utf8.UTFMax]Unit
	n    int
}

// Write appends the folded units to dst.
func (f *Fold) Write(dst, in []Unit) []Unit {
	for i := range in {
		u := in[i]
		if f.n == 0 && u.B < utf8.RuneSelf {
			if u.C != Break && u.C != Pad {
				u.C = classOf[u.B]
			}
			dst = append(dst, u)
			continue
		}
		dst = f.slow(dst, u)
	}
	return dst
}

// Close ends the text.
func (f *Fold) Close(dst []Unit) []Unit {
	for f.n > 0 {
		dst = f.first(dst)
	}
	return dst
}

// Hold returns the offset from which raw text is still undecided.
func (f *Fold) Hold() int64 {
	if f.n > 0 {
		return f.pend[0].Start
	}
	return NoHold
}

// Reset forgets the text read so far.
func (f *Fold) Reset() { f.n, f.Unseen = 0, f.Unseen[:0] }

// Idle reports whether f waits for nothing.
func (f *Fold) Idle() bool { return f.n == 0 }

func (f *Fold) slow(dst []Unit, u Unit) []Unit {
	if u.C == Break || u.C == Pad {
		return append(f.Close(dst), u)
	}
	f.pend[f.n] = u
	f.n++
	for f.n > 0 {
		if b := f.bytes(); !utf8.FullRune(b[:f.n]) {
			return dst
		}
		dst = f.first(dst)
	}
	return dst
}

// bytes are the pending bytes.
func (f *Fold) bytes() (b [utf8.UTFMax]byte) {
	for i := range f.n {
		b[i] = f.pend[i].B
	}
	return b
}

// first writes the first rune of the pending bytes, or its first byte as junk
// if it starts no rune.
func (f *Fold) first(dst []Unit) []Unit {
	b := f.bytes()
	r, size := utf8.DecodeRune(b[:f.n])
	start, end := f.pend[0].Start, f.pend[size-1].End
	switch {
	case r == utf8.RuneError && size == 1:
		dst = append(dst, Unit{Start: start, End: end, B: b[0], C: Junk})
	case r < utf8.RuneSelf:
		dst = append(dst, Unit{Start: start, End: end, B: b[0], C: classOf[b[0]]})
	default:
		if b, ok := unseenByte(r); ok && f.Collect {
			f.Unseen = append(f.Unseen, Unit{Start: start, End: end, B: b, C: classOf[b]})
		}
		dst = foldRune(dst, r, b[:size], start, end)
	}
	copy(f.pend[:], f.pend[size:f.n])
	f.n -= size
	return dst
}

func foldRune(dst []Unit, r rune, raw []byte, start, end int64) []Unit {
	ascii, drop := lookalike(r)
	if drop {
		return dst
	}
	if ascii != "" {
		for i := range len(ascii) {
			dst = append(dst, Unit{Start: start, End: end, B: ascii[i], C: classOf[ascii[i]]})
		}
		return dst
	}
	c := Punct
	switch {
	case unicode.IsLetter(r), unicode.IsDigit(r):
		c = Alnum
	case unicode.IsSpace(r):
		c = Space
	case unicode.IsControl(r):
		c = Junk
	case unicode.Is(unicode.Pd, r), r == '·', r == '•', r == '․':
		c = Joiner
	}
	for _, x := range raw {
		dst = append(dst, Unit{Start: start, End: end, B: x, C: c})
	}
	return dst
}

// foldTable maps the basic plane once; what lies above is folded on demand.
var foldTable = sync.OnceValue(func() *[1 << 16]uint16 {
	t := new([1 << 16]uint16)
	for r := rune(utf8.RuneSelf); r < 1<<16; r++ {
		ascii, drop := foldSlow(r)
		switch {
		case drop:
			t[r] = 1
		case len(ascii) == 1:
			t[r] = 0x100 | uint16(ascii[0])
		case len(ascii) > 1:
			t[r] = 2 // rare (ligatures): on demand
		}
	}
	return t
})

var singles = func() (t [128]string) {
	for c := range t {
		t[c] = string(rune(c))
	}
	return t
}()

func lookalike(r rune) (ascii string, drop bool) {
	if r >= 1<<16 {
		return foldSlow(r)
	}
	switch v := foldTable()[r]; {
	case v == 0:
		return "", false
	case v == 1:
		return "", true
	case v == 2:
		return foldSlow(r)
	default:
		return singles[v&0x7f], false
	}
}

func foldSlow(r rune) (ascii string, drop bool) {
	if unseen(r) {
		return "", true
	}
	if b, ok := confusables[r]; ok {
		return singles[b], false
	}
	if unicode.Is(unicode.Zs, r) {
		return " ", false
	}
	if !utf8.ValidRune(r) {
		return "", false
	}
	d := norm.NFKD.String(string(r))
	out := make([]byte, 0, len(d))
	for _, x := range d {
		switch {
		case x < utf8.RuneSelf:
			out = append(out, byte(x))
		case unicode.Is(unicode.Mn, x):
		default:
			if b, ok := confusables[x]; ok {
				out = append(out, b)
				continue
			}
			return "", false
		}
	}
	return string(out), false
}

// unseenByte is the byte that a character nobody sees stands for.
func unseenByte(r rune) (byte, bool) {
	switch {
	case r >= 0xE0020 && r <= 0xE007E:
		return byte(r - 0xE0000), true
	case r >= 0xFE00 && r <= 0xFE0F:
		return byte(r - 0xFE00), true
	case r >= 0xE0100 && r <= 0xE01EF:
		return byte(r - 0xE0100 + 16), true
	}
	return 0, false
}

// unseen reports whether r takes no room when shown.
func unseen(r rune) bool {
	switch {
	case r == 0xAD, r == 0x34F, r == 0x61C, r == 0x115F, r == 0x1160, r == 0x17B4, r == 0x17B5,
		r >= 0x180B && r <= 0x180F, r == 0x3164, r == 0xFEFF, r == 0xFFA0, r == 0x2800,
		r >= 0xFE00 && r <= 0xFE0F, r >= 0xE0000 && r <= 0xE0FFF, r >= 0x1D173 && r <= 0x1D17A:
		return true
	}
	return unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Mn, r) || unicode.Is(unicode.Me, r)
}
