package canon

import "unicode/utf8"

// Text is a text as it is read: escapes are undone (those of JSON, URLs and
// HTML), characters that are not seen are left out, and lookalikes are the
// ASCII that they look like. A model or a page that writes a number in other
// digits, or puts something invisible between them, is understood all the same.
type Text struct {
	Text string
	from []int // for each byte of Text, where its character starts in the original
	to   []int // and where that ends
}

// Read returns false where a text reads as it is written.
func Read(text string) (*Text, bool) {
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
	var undo Unescape
	var fold Fold
	in := Units(nil, []byte(text), 0)
	in = undo.Close(undo.Write(make([]Unit, 0, len(in)), in))
	out := fold.Close(fold.Write(make([]Unit, 0, len(in)), in))
	b := make([]byte, len(out))
	t := &Text{from: make([]int, len(out)), to: make([]int, len(out))}
	for i := range out {
		b[i], t.from[i], t.to[i] = out[i].B, int(out[i].Start), int(out[i].End)
	}
	if t.Text = string(b); t.Text == text {
		return nil, false
	}
	return t, true
}

// Span is where bytes of the text come from in the original.
func (t *Text) Span(start, end int) (int, int) {
	if start >= end {
		return 0, 0
	}
	return t.from[start], t.to[end-1]
}
