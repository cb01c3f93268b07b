// Package origin tells a value that was copied from texts from one that was made
// up.
//
// What it guarantees: a value of which eight letters or digits in a row, or more
// than half of them, stand in the texts is a copy, whatever the case of the letters
// and whatever signs stand between them; so is one that stands there reversed, in ROT13, hexadecimal,
// base64 or base32, at any alignment, and one that is such a disguise of what
// stands there. What it can't: it does not see two disguises, one over the other,
// nor any that it does not list. A value too short to tell is a copy. The work is
// linear in the texts and bounded in the value.
package origin

import (
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"slices"
	"strings"
	"sync"
)

const (
	window   = 8   // letters and digits in a row that are a part of a secret
	shortest = 4   // letters and digits of a value; below, everything is a copy
	longest  = 512 // bytes of a value that are looked at
)

// maxTraced is how many values are looked for in what a model was shown; the
// others count as copies.
const maxTraced = 256

// Shown is what a model was shown in one request. It belongs to one goroutine.
type Shown struct {
	texts  []string
	whole  func() bool
	traced int
}

// Add notes a text.
func (s *Shown) Add(text string) { s.texts = append(s.texts, text) }

// Whole says how to find out whether the model is shown nothing but the texts.
// Until it is told, nothing is made up.
func (s *Shown) Whole(whole func() bool) { s.whole = sync.OnceValue(whole) }

// MadeUp reports whether nothing of a value stands in what the model was shown.
func (s *Shown) MadeUp(value []byte) bool {
	if s.whole == nil || s.traced >= maxTraced || !s.whole() {
		return false
	}
	s.traced++
	return !Copied(string(value), s.texts...)
}

// Copied reports whether the value, or a part of it, stands in one of the texts.
func Copied(value string, texts ...string) bool {
	if len(value) > longest {
		value = value[:longest]
	}
	value = value[header(value):]
	folded := fold(value)
	if len(folded) < shortest {
		return true
	}
	w := windows{width: min(window, len(folded)/2+1), short: map[uint64]struct{}{}, long: map[uint64]struct{}{}}
	for _, s := range []string{folded, reversed(folded), rot13(folded)} {
		w.add(w.short, s, w.width)
	}
	for _, s := range decodings(value) {
		w.add(w.short, fold(s), w.width)
	}
	for _, s := range encodings(value) { // each of their digits says less
		w.add(w.long, fold(s), window)
	}
	return slices.ContainsFunc(texts, w.in)
}

// header is how much of a value is the beginning of a JWT's header: all tokens have
// it, so that it is no copy of one.
func header(value string) (n int) {
	for _, h := range []string{
		"eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.", "eyJhbGciOiJSUzI1NiIsInR5cCI6IkpXVCJ9.", "eyJhbGciOiJFUzI1NiIsInR5cCI6IkpXVCJ9.",
		"eyJ0eXAiOiJKV1QiLCJhbGciOiJIUzI1NiJ9.", "eyJ0eXAiOiJKV1QiLCJhbGciOiJSUzI1NiJ9.",
	} {
		same := 0
		for same < min(len(h), len(value)) && h[same] == value[same] {
			same++
		}
		n = max(n, same)
	}
	if n < window {
		return 0
	}
	return n
}

// windows are short stretches of letters and digits, packed into a word each.
type windows struct {
	width       int // of the shorter ones
	short, long map[uint64]struct{}
	maybe       [1 << 6]uint64 // bits by the hash of the last three
}

func (w *windows) add(to map[uint64]struct{}, s string, width int) {
	x := uint64(0)
	for i := range len(s) {
		if x = x<<8 | uint64(s[i]); i < width-1 {
			continue
		}
		to[x&mask(width)] = struct{}{}
		h := slot(x)
		w.maybe[h>>6] |= 1 << (h & 63)
	}
}

// in reports whether a text has one of the windows.
func (w *windows) in(text string) bool {
	x, n := uint64(0), 0
	for i := range len(text) {
		c := folds[text[i]]
		if c == 0 {
			continue
		}
		x, n = x<<8|uint64(c), n+1
		if h := slot(x); n < w.width || w.maybe[h>>6]>>(h&63)&1 == 0 {
			continue
		}
		if _, ok := w.short[x&mask(w.width)]; ok {
			return true
		}
		if _, ok := w.long[x]; ok && n >= window {
			return true
		}
	}
	return false
}

func mask(width int) uint64 { return ^uint64(0) >> (64 - 8*width) }

// slot is a place in the filter, by the last three bytes.
func slot(x uint64) uint32 { return uint32(x<<8) * 2654435761 >> 20 }

// folds has the small letter of a letter, digits and bytes beyond ASCII as they
// are, and 0 for the rest.
var folds = func() (f [256]byte) {
	for b := range f {
		switch c := byte(b); {
		case 'A' <= c && c <= 'Z':
			f[b] = c | 0x20
		case 'a' <= c && c <= 'z', '0' <= c && c <= '9', c >= 0x80:
			f[b] = c
		}
	}
	return f
}()

func fold(s string) string {
	out := make([]byte, 0, len(s))
	for i := range len(s) {
		if c := folds[s[i]]; c != 0 {
			out = append(out, c)
		}
	}
	return string(out)
}

func reversed(s string) string {
	b := []byte(s)
	slices.Reverse(b)
	return string(b)
}

func rot13(s string) string {
	return strings.Map(func(r rune) rune {
		if 'a' <= r && r <= 'z' {
			return 'a' + (r-'a'+13)%26
		}
		return r
	}, s)
}

var (
	b64 = base64.StdEncoding.WithPadding(base64.NoPadding)
	b32 = base32.StdEncoding.WithPadding(base32.NoPadding)
)

// encodings are how a value stands within encoded text, at each alignment,
// without the digits that depend on what stands around it.
func encodings(value string) []string {
	out := []string{hex.EncodeToString([]byte(value))}
	for _, e := range []struct {
		encode      func([]byte) string
		bytes, bits int
	}{{b64.EncodeToString, 3, 6}, {b32.EncodeToString, 5, 5}} {
		for before := range e.bytes {
			s := e.encode([]byte(strings.Repeat("\x00", before) + value))
			first, last := (8*before+e.bits-1)/e.bits, 8*(before+len(value))/e.bits
			if first < last {
				out = append(out, s[first:last])
			}
		}
	}
	return out
}

// decodings are what a value says where it is an encoding.
func decodings(value string) (out []string) {
	digits := strings.Map(func(r rune) rune {
		switch {
		case r >= 0x80 || folds[byte(r)] == 0 && r != '+' && r != '/' && r != '-' && r != '_':
			return -1
		case r == '-':
			return '+'
		case r == '_':
			return '/'
		}
		return r
	}, value)
	try := func(decode func(string) ([]byte, error), s string, block int) {
		for from := range min(block, len(s)) {
			for end := len(s); end > max(from, len(s)-block); end-- { // what follows may be cut
				if b, err := decode(s[from:end]); err == nil {
					if len(b) >= window/2 {
						out = append(out, string(b))
					}
					break
				}
			}
		}
	}
	try(b64.DecodeString, digits, 4)
	try(b32.DecodeString, strings.ToUpper(digits), 8)
	try(hex.DecodeString, strings.ToLower(strings.NewReplacer("+", "", "/", "").Replace(digits)), 2)
	return out
}
