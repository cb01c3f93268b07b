package lm

import (
	"slices"
	"unicode/utf8"

	"github.com/margaydev/margay/monitor"
)

// words is the vocabulary: the 256 bytes, characters that disguises use, pairs
// of letters and digits, numbers of three digits, and the pieces of the base
// text. Any text is a sequence of its tokens.
type words struct {
	text []string
	id   map[string]uint16
	long int // of the longest, in bytes
}

const maxVocabulary = 1 << 16

// characters outside ASCII that get a token of their own: Latin-1, common
// punctuation, invisible characters, look-alikes and full-width forms.
const characters = "\u200b\u200c\u200d\u2060\ufeff\u2010\u2011\u2012\u2013\u2014\u2018\u2019\u201c\u201d\u2022\u2026\u2192\u20ac" +
	"асеорхуАВСЕНКМОРТХЅІЈѕіјοΟαΑΒΕΗΙΚΜΝΡΤΧνρ"

const alphabet = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

func newWords(texts []string) words {
	w := words{id: map[string]uint16{}}
	for b := range 256 {
		w.add(string([]byte{byte(b)}))
	}
	for _, r := range characters {
		w.add(string(r))
	}
	for r := rune(0xa0); r <= 0xff; r++ {
		w.add(string(r))
	}
	for r := rune(0xff01); r <= 0xff5e; r++ {
		w.add(string(r))
	}
	for _, a := range alphabet {
		w.add(" " + string(a))
		for _, b := range alphabet {
			w.add(string(a) + string(b))
		}
	}
	for a := '0'; a <= '9'; a++ {
		for b := '0'; b <= '9'; b++ {
			for c := '0'; c <= '9'; c++ {
				w.add(string([]rune{a, b, c}))
			}
		}
	}
	for _, t := range texts {
		for t != "" {
			n := monitor.NextPiece(t)
			w.add(t[:n])
			t = t[n:]
		}
	}
	return w
}

func (w *words) add(s string) {
	if _, ok := w.id[s]; ok || len(w.text) == maxVocabulary {
		return
	}
	w.id[s] = uint16(len(w.text))
	w.text = append(w.text, s)
	w.long = max(w.long, len(s))
}

// tokens appends a text's tokens: its pieces, and where a piece is unknown the
// longest known beginnings of what is left of it.
func (w *words) tokens(dst []uint16, text string) []uint16 {
	for text != "" {
		n := monitor.NextPiece(text)
		for piece := text[:n]; piece != ""; {
			end := min(len(piece), w.long)
			t, ok := w.id[piece[:end]]
			for !ok {
				end--
				t, ok = w.id[piece[:end]]
			}
			dst = append(dst, t)
			piece = piece[end:]
		}
		text = text[n:]
	}
	return dst
}

// complete reports whether a token is a text by itself, no part of a
// character.
func (w *words) complete(t uint16) bool { return t < utf8.RuneSelf || utf8.ValidString(w.text[t]) }

// shown is a token as an alternative's text.
func (w *words) shown(t uint16) string {
	if !w.complete(t) {
		return "\ufffd"
	}
	return w.text[t]
}

func rank(p []float64) []uint16 {
	out := make([]uint16, len(p))
	for i := range out {
		out[i] = uint16(i)
	}
	slices.SortStableFunc(out, func(a, b uint16) int {
		switch {
		case p[a] > p[b]:
			return -1
		case p[a] < p[b]:
			return 1
		}
		return 0
	})
	return out
}
