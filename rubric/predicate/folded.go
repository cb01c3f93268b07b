package predicate

import (
	"unicode/utf8"

	"github.com/margaydev/margay/secret/canon"
)

// folded is a text as it is read: escapes are undone (those of JSON, URLs and
// HTML), characters that are not seen are left out, and lookalikes are the
// ASCII that they look like. A model or a page that writes a number in other
// digits, or puts something invisible between them, is understood all the same.
type folded struct {
	text string
	from []int // for each byte of text, where its character begins in the original
	to   []int // and where that ends
}

// foldedOf returns false where a text reads as it is written.
func foldedOf(text string) (*folded, bool) {
	plain := true
	for i := range len(text) {
		if c := text[i]; c >= utf8.RuneSelf || c == '\\' || c == '%' || c == '&' {
			plain = false
			break
		}
	}
	if plain {
		return nil, false
	}
	var undo canon.Unescape
	var fold canon.Fold
	in := canon.Units(nil, []byte(text), 0)
	in = undo.Close(undo.Write(make([]canon.Unit, 0, len(in)), in))
	out := fold.Close(fold.Write(make([]canon.Unit, 0, len(in)), in))
	b := make([]byte, len(out))
	t := &folded{from: make([]int, len(out)), to: make([]int, len(out))}
	for i := range out {
		b[i], t.from[i], t.to[i] = out[i].B, int(out[i].Start), int(out[i].End)
	}
	if t.text = string(b); t.text == text {
		return nil, false
	}
	return t, true
}

// span is where bytes of the folded text come from.
func (t *folded) span(start, end int) (int, int) {
	if start >= end {
		return 0, 0
	}
	return t.from[start], t.to[end-1]
}
