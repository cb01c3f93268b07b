package tagger

import (
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Bounds of the work for a token and a sentence.
const (
	maxRunes    = 32  // of a word; a longer one is cut into several tokens
	maxSentence = 64  // tokens of a sentence; a longer one is cut
	maxForm     = 128 // bytes of a word's normal form
	maxParts    = 26  // bytes of it that are read in parts
)

// Kind is what a token is made of.
type Kind uint8

// The kinds of tokens. Space that is no line break makes no token.
const (
	Word Kind = iota // letters, marks and digits
	Mark             // one other character
	Line             // a line break, or several
)

// Token is a stretch of a text.
type Token struct {
	Start, End int // bytes
	Kind       Kind
	Gap        bool // space, a line break or nothing is before it
	Ends       bool // it is the last one of its sentence
}

// Tokens cuts a text into tokens and sentences. The last token of a sentence
// has Ends.
func Tokens(text string, out []Token) []Token {
	first, gap := len(out), true
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRuneInString(text[i:])
		switch {
		case r == '\n' || r == '\r' || r == '\u2028' || r == '\u2029':
			if k := len(out) - 1; k >= first && out[k].Kind == Line {
				out[k].End = i + n
			} else {
				out = append(out, Token{Start: i, End: i + n, Kind: Line, Gap: gap})
			}
			gap = true
		case unicode.IsSpace(r):
			gap = true
		case inWord(r):
			end := wordEnd(text, i)
			out = append(out, Token{Start: i, End: end, Kind: Word, Gap: gap})
			i, gap = end, false
			continue
		default:
			out = append(out, Token{Start: i, End: i + n, Kind: Mark, Gap: gap})
			gap = false
		}
		i += n
	}
	since := 0
	for k := first; k < len(out); k++ {
		since++
		if since == maxSentence || ends(text, out[first:], k-first) {
			out[k].Ends, since = true, 0
		}
	}
	return out
}

func inWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) }

// wordEnd is the end of the word that starts at i. A character of a script
// without spaces is a word by itself; an apostrophe between letters is in a word.
func wordEnd(text string, i int) int {
	for n := 0; i < len(text) && n < maxRunes; n++ {
		r, w := utf8.DecodeRuneInString(text[i:])
		if unicode.Is(unicode.Han, r) {
			if n == 0 {
				return i + w
			}
			return i
		}
		if r == '\'' || r == '’' {
			next, _ := utf8.DecodeRuneInString(text[i+w:])
			if n == 0 || !unicode.IsLetter(next) {
				return i
			}
		} else if !inWord(r) {
			return i
		}
		i += w
	}
	return i
}

// ends reports whether a token ends its sentence: a line break, or a full stop or
// the like before a space. The stop of an initial or a short form does not.
func ends(text string, all []Token, k int) bool {
	t := all[k]
	if k == len(all)-1 || t.Kind == Line {
		return true
	}
	if t.Kind != Mark {
		return false
	}
	next := all[k+1]
	switch r, _ := utf8.DecodeRuneInString(text[t.Start:]); r {
	case '!', '?', ';', '…':
		return next.Gap
	case '.':
		if k > 0 && all[k-1].Kind == Word && short(text[all[k-1].Start:all[k-1].End]) {
			return false
		}
		r, _ := utf8.DecodeRuneInString(text[next.Start:])
		return next.Gap && next.Kind != Line && !unicode.IsLower(r)
	case '。', '！', '？':
		return true
	}
	return false
}

func short(word string) bool {
	switch word {
	case "Mr", "Mrs", "Ms", "Dr", "Prof", "St", "no", "No", "nr", "Nr", "tel", "Tel", "geb", "Geb", "str", "ul", "vs", "ca", "approx":
		return true
	}
	return utf8.RuneCountInString(word) == 1 && !unicode.IsDigit(rune(word[0]))
}

// Buckets is how many rows the table of embeddings has.
const Buckets = 1 << 15

// Features are the rows that stand for a token. Of all, the first Single are
// added as they are; the others, parts of the word, are averaged.
type Features struct {
	Senses *Senses // of words, or nil
	All    []uint16
	Single int
	form   []byte // the word's normal form
	shape  []byte
	parts  []byte // the form between its ends
}

const (
	basis uint32 = 2166136261
	prime uint32 = 16777619
)

func hash(kind byte, s []byte) uint16 { return uint16(mix(kind, s) & (Buckets - 1)) }

func mix(kind byte, s []byte) uint32 {
	h := (basis ^ uint32(kind)) * prime
	for _, b := range s {
		h = (h ^ uint32(b)) * prime
	}
	h ^= h >> 15
	h *= 0x85ebca6b
	h ^= h >> 13
	return h
}

func (f *Features) add(kind byte, s []byte) { f.All = append(f.All, hash(kind, s)) }

// Of computes the features of a token. The word itself is the first one.
func (f *Features) Of(text string, t *Token) {
	f.All = f.All[:0]
	word := text[t.Start:t.End]
	if t.Kind == Line {
		word = "\n"
	}
	f.read(word)
	f.add('w', f.form)
	if t.Gap {
		f.shape = append(f.shape, ' ')
	}
	f.add('s', f.shape)
	n := len(f.form)
	if t.Kind != Word {
		f.Single = len(f.All)
		return
	}
	if number(word) {
		lead := min(len(word), 2)
		f.shape = append(append(f.shape[:0], byte(len(word))), word[:lead]...)
		f.add('n', f.shape)
		f.Single = len(f.All)
		return
	}
	f.add('p', f.form[:min(n, 3)])
	f.add('u', f.form[max(0, n-2):])
	f.add('v', f.form[max(0, n-3):])
	if f.Senses != nil {
		for _, s := range f.Senses.of(f.form, f.parts) {
			s &= maxKinds
			f.add('k', []byte{byte(s >> 8), byte(s)})
		}
	}
	f.Single = len(f.All)
	f.parts = append(append(append(f.parts[:0], '^'), f.form...), '$')
	n = min(len(f.parts), maxParts)
	for i := 0; i+3 <= n; i++ {
		f.add('3', f.parts[i:i+3])
		if i+4 <= n {
			f.add('4', f.parts[i:i+4])
		}
	}
}

// read computes the normal form of a word (small letters without accents, every
// digit a zero) and its shape.
func (f *Features) read(word string) {
	f.form, f.shape = f.form[:0], f.shape[:0]
	for i := 0; i < len(word); i++ {
		if word[i] >= utf8.RuneSelf {
			word = norm.NFKD.String(word)
			break
		}
	}
	var last byte
	run := 0
	for _, r := range word {
		c := byte('.')
		switch {
		case unicode.IsMark(r):
			continue
		case unicode.IsDigit(r):
			r, c = '0', '0'
		case unicode.IsUpper(r):
			r, c = unicode.ToLower(r), 'X'
		case unicode.IsLetter(r):
			c = 'x'
		}
		if len(f.form) < maxForm {
			f.form = utf8.AppendRune(f.form, r)
		}
		if run++; c != last {
			run = 1
		}
		if last = c; run <= 4 && len(f.shape) < 16 {
			f.shape = append(f.shape, c)
		}
	}
}

func number(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}
