// Package origin tells a value that was copied from texts from one that was made
// up.
//
// What it guarantees: a value of which eight letters or digits in a row, or more
// than half of them, stand in the texts is a copy, whatever the case of ASCII letters
// and whatever signs stand between them. So is one that stands there escaped,
// reversed, in ROT13, hexadecimal, base64 or base32, at any alignment; one that is
// such an encoding of what stands there, or has a part that is; and one with a part,
// between the signs of addresses and settings, that is a copy. What it can't: it does
// not see two disguises, one over the other, nor any that it does not list. A value
// too short to tell is a copy. The work is linear in the texts and bounded in the
// value.
package origin

import (
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/margaydev/margay/secret/canon"
)

const (
	window   = 8   // letters and digits in a row that are a part of a secret
	shortest = 4   // letters and digits of a value; below, everything is a copy
	part     = 6   // those of a part that is traced by itself
	longest  = 512 // bytes of a value that are looked at
)

// What a session traces: how many values, and how many bytes it reads for them. What
// is beyond counts as a copy.
const (
	maxTraced = 256
	maxRead   = 64 << 20
)

// Shown is what a model was shown in one request. It belongs to one goroutine.
type Shown struct {
	texts []string // and, once something was traced, what they say unescaped
	plain int      // of the texts, how many were unescaped
	size  int
	whole func() bool
	known map[string]bool // values that were traced: made up
	read  int
}

// Add notes a text.
func (s *Shown) Add(text string) { s.texts = append(s.texts, text) }

// Whole says how to find out whether the model is shown nothing but the texts.
// Until it is told, nothing is made up.
func (s *Shown) Whole(whole func() bool) { s.whole = sync.OnceValue(whole) }

// MadeUp reports whether nothing of a value stands in what the model was shown.
func (s *Shown) MadeUp(value []byte) bool {
	if s.whole == nil || !s.whole() {
		return false
	}
	if made, ok := s.known[string(value)]; ok {
		return made
	}
	s.unescape()
	if len(s.known) >= maxTraced || s.read+s.size > maxRead {
		return false
	}
	s.read += s.size
	if s.known == nil {
		s.known = map[string]bool{}
	}
	made := !copied(string(value), s.texts)
	s.known[string(value)] = made
	return made
}

// unescape adds what the texts that are new say without escapes.
func (s *Shown) unescape() {
	for _, t := range s.texts[s.plain:] {
		s.size += len(t)
		if u, ok := unescaped(t); ok {
			s.texts = append(s.texts, u)
			s.size += len(u)
		}
	}
	s.plain = len(s.texts)
}

// Copied reports whether the value, or a part of it, stands in one of the texts.
func Copied(value string, texts ...string) bool {
	s := Shown{texts: slices.Clone(texts)}
	s.unescape()
	return copied(value, s.texts)
}

func copied(value string, texts []string) bool {
	if len(value) > longest {
		value = value[:longest]
	}
	value = value[header(value):]
	folded := fold(value)
	if len(folded) < shortest {
		return true
	}
	var w windows
	for _, s := range []string{folded, reversed(folded), rot13(folded)} {
		w.add(s, widthOf(s))
	}
	says := decodings(value)
	for _, s := range append(says, value) {
		for _, p := range parts(s) {
			w.add(p, widthOf(p))
		}
	}
	for _, s := range says {
		if s = fold(s); len(s) >= shortest {
			w.add(s, widthOf(s))
		}
	}
	for _, s := range encodings(value) { // each of their digits says less
		w.add(fold(s), window)
	}
	return slices.ContainsFunc(texts, w.in)
}

// widthOf is how many letters and digits of s in a row are a part of it.
func widthOf(s string) int { return min(window, len(s)/2+1) }

// parts are those of an address or a list of settings, folded.
func parts(value string) (out []string) {
	for _, p := range strings.FieldsFunc(value, func(r rune) bool { return strings.ContainsRune(":@=&;,", r) }) {
		if p = fold(p); len(p) >= part {
			out = append(out, p)
		}
	}
	return out
}

// unescaped is what a text says without its escapes, if it has any.
func unescaped(text string) (string, bool) {
	if !strings.ContainsAny(text, "\\%&") {
		return "", false
	}
	var e canon.Unescape
	var in, out []canon.Unit
	all := make([]byte, 0, len(text))
	for at := 0; at < len(text); at += 4096 {
		in = canon.Units(in[:0], []byte(text[at:min(at+4096, len(text))]), int64(at))
		out = e.Write(out[:0], in)
		for i := range out {
			all = append(all, out[i].B)
		}
	}
	for _, u := range e.Close(out[:0]) {
		all = append(all, u.B)
	}
	return string(all), true
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

// windows are short stretches of letters and digits, packed into a word each, by
// how many they are.
type windows struct {
	of     [window + 1]map[uint64]struct{}
	widths []int
	maybe  [1 << 6]uint64 // bits by the hash of the last three
}

func (w *windows) add(s string, width int) {
	if w.of[width] == nil {
		w.of[width], w.widths = map[uint64]struct{}{}, append(w.widths, width)
	}
	x := uint64(0)
	for i := range len(s) {
		if x = x<<8 | uint64(s[i]); i < width-1 {
			continue
		}
		w.of[width][x&mask(width)] = struct{}{}
		h := slot(x)
		w.maybe[h>>6] |= 1 << (h & 63)
	}
}

// in reports whether a text has one of the windows.
func (w *windows) in(text string) bool {
	x, n := uint64(0), 0
	for i := 0; i < len(text); {
		c, size := folds[text[i]], 1
		if c >= utf8.RuneSelf {
			if size = letter(text[i:]); size == 0 {
				i++
				continue
			}
		}
		for end := i + size; i < end; i++ {
			if c = folds[text[i]]; c == 0 {
				continue
			}
			x, n = x<<8|uint64(c), n+1
			if h := slot(x); w.maybe[h>>6]>>(h&63)&1 == 0 {
				continue
			}
			for _, width := range w.widths {
				if _, ok := w.of[width][x&mask(width)]; ok && n >= width {
					return true
				}
			}
		}
	}
	return false
}

// letter is how many bytes of a text are a letter or digit beyond ASCII that it
// begins with; 0 for none. Bytes that are no character don't count: they may be a part
// of one where they stand in a text.
func letter(text string) int {
	r, size := utf8.DecodeRuneInString(text)
	if size > 1 && (unicode.IsLetter(r) || unicode.IsDigit(r)) {
		return size
	}
	return 0
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
		case 'a' <= c && c <= 'z', '0' <= c && c <= '9', c >= utf8.RuneSelf:
			f[b] = c
		}
	}
	return f
}()

// fold is what counts of a text.
func fold(s string) string {
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		c := folds[s[i]]
		switch {
		case c >= utf8.RuneSelf:
			if size := letter(s[i:]); size > 0 {
				out = append(out, s[i:i+size]...)
				i += size - 1
			}
		case c != 0:
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

// decodings are what the parts of a value say that are digits of an encoding.
func decodings(value string) (out []string) {
	try := func(decode func(string) ([]byte, error), in func(rune) bool, block int) {
		for _, s := range strings.FieldsFunc(value, func(r rune) bool { return !in(r) }) {
			if len(s) < window {
				continue
			}
			for from := range block {
				for end := len(s); end > max(from, len(s)-block); end-- { // what follows may be cut
					b, err := decode(s[from:end])
					if err != nil {
						continue
					}
					if len(b) >= shortest && !slices.ContainsFunc(b, func(c byte) bool { return c < ' ' && c != '\n' && c != '\r' && c != '\t' }) {
						out = append(out, string(b))
					}
					break
				}
			}
		}
	}
	standard := strings.NewReplacer("-", "+", "_", "/")
	try(func(s string) ([]byte, error) { return b64.DecodeString(standard.Replace(s)) },
		func(r rune) bool { return r < 0x80 && folds[byte(r)] != 0 || strings.ContainsRune("+/-_", r) }, 4)
	try(func(s string) ([]byte, error) { return b32.DecodeString(strings.ToUpper(s)) },
		func(r rune) bool { return 'a' <= r|0x20 && r|0x20 <= 'z' || '2' <= r && r <= '7' }, 8)
	try(hex.DecodeString, func(r rune) bool { return '0' <= r && r <= '9' || 'a' <= r|0x20 && r|0x20 <= 'f' }, 2)
	return out
}
