package body

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/margaydev/margay/internal/strictjson"
	"github.com/margaydev/margay/wire"
)

// Editor collects replacements of values of a document, and leaves every other
// byte alone. Of two changes of one place, the first counts; of a change inside
// another, the outer.
type Editor struct {
	Doc     *strictjson.Doc
	splices []strictjson.Splice
	settled bool
}

// Edit reads a body for edits, as it is sent.
func Edit(raw []byte) (*Editor, bool) {
	e := &Editor{Doc: &strictjson.Doc{}}
	return e, e.Doc.Parse(raw, wire.Limits{MaxBytes: max(len(raw), 1)}) == nil
}

// Put replaces a value by JSON.
func (e *Editor) Put(node int, value []byte) {
	n := &e.Doc.Nodes[node]
	e.Splice(n.Start, n.End, value)
}

// PutString replaces a value by JSON.
func (e *Editor) PutString(node int, value string) { e.Put(node, []byte(value)) }

// PutText replaces a value by a text: a string by a string, any other value by
// the text as it is written. If that is no longer JSON, instead replaces it.
func (e *Editor) PutText(node int, text []byte, lim wire.Limits, instead string) {
	switch {
	case e.Doc.Nodes[node].Kind == strictjson.String:
		e.Put(node, strictjson.AppendQuote(nil, text))
	case IsOther(text, lim):
		e.Put(node, text)
	default:
		e.PutString(node, instead)
	}
}

// IsJSON reports whether a text is strict JSON.
func IsJSON(text []byte, lim wire.Limits) bool {
	var d strictjson.Doc
	return d.Parse(text, lim) == nil
}

// IsOther reports whether a text reads as itself in the place of a value that is
// no string: strict JSON, no string either, without space around it.
func IsOther(text []byte, lim wire.Limits) bool {
	return len(text) > 0 && text[0] != '"' && len(bytes.TrimSpace(text)) == len(text) && IsJSON(text, lim)
}

// Splice replaces the bytes [start, end) of the document.
func (e *Editor) Splice(start, end int, text []byte) {
	e.splices, e.settled = append(e.splices, strictjson.Splice{Start: start, End: end, Text: text}), false
}

// Extend puts members or elements, with commas between them, behind those of an
// object or an array.
func (e *Editor) Extend(node int, more []byte) {
	n := &e.Doc.Nodes[node]
	if n.Next > node+1 {
		more = append([]byte{','}, more...)
	}
	e.Splice(n.End-1, n.End-1, more)
}

// Keep writes an array with the elements that stay, without space between them.
func (e *Editor) Keep(array int, stays func(child int) bool) {
	at, text := e.Doc.Nodes[array].Start, []byte{'['}
	for c := range e.Doc.All(array) {
		if stays(c) {
			n := &e.Doc.Nodes[c]
			e.Splice(at, n.Start, text)
			at, text = n.End, []byte{','}
		}
	}
	if text[0] == ',' {
		text = nil
	}
	e.Splice(at, e.Doc.Nodes[array].End, append(text, ']'))
}

// settle sorts the changes and discards those that do not count.
func (e *Editor) settle() {
	if e.settled {
		return
	}
	slices.SortStableFunc(e.splices, func(a, b strictjson.Splice) int {
		return cmp.Or(a.Start-b.Start, b.End-a.End)
	})
	kept, end := e.splices[:0], -1
	for _, s := range e.splices {
		if s.Start >= end {
			kept, end = append(kept, s), s.End
		}
	}
	e.splices, e.settled = kept, true
}

// Bytes returns the document with its changes; without any it is the document
// itself.
func (e *Editor) Bytes() []byte {
	if len(e.splices) == 0 {
		return e.Doc.Raw
	}
	e.settle()
	return strictjson.Apply(nil, e.Doc.Raw, e.splices)
}

// Value returns a value with the changes inside it.
func (e *Editor) Value(node int) []byte {
	e.settle()
	n := &e.Doc.Nodes[node]
	if n.Start == 0 {
		return strictjson.Apply(nil, e.Doc.Value(node), e.splices)
	}
	from, _ := slices.BinarySearchFunc(e.splices, n.Start, func(s strictjson.Splice, at int) int { return s.Start - at })
	var inside []strictjson.Splice
	for _, s := range e.splices[from:] {
		if s.End > n.End {
			break
		}
		inside = append(inside, strictjson.Splice{Start: s.Start - n.Start, End: s.End - n.Start, Text: s.Text})
	}
	return strictjson.Apply(nil, e.Doc.Value(node), inside)
}

// Unforced lets the model of a request choose whether it calls a tool, if the
// request demands a call: auto is the API's word for it.
func (e *Editor) Unforced(auto string) {
	d := e.Doc
	for _, key := range [...]string{"tool_choice", "function_call"} {
		c := d.Find(0, key)
		if c < 0 {
			continue
		}
		kind := d.Text(c)
		if d.Nodes[c].Kind == strictjson.Object {
			kind = d.Text(d.Find(c, "type"))
		}
		if kind != "auto" && kind != "none" {
			e.PutString(c, auto)
		}
	}
}

// Edit returns an editor with the texts of the given parts replaced by strings.
func (d *Document) Edit(edits map[int]string) *Editor {
	e := &Editor{Doc: &d.Doc}
	d.Put(e, edits)
	return e
}

// Put replaces the given parts by strings, except those that are Fixed or
// Opaque.
func (d *Document) Put(e *Editor, edits map[int]string) {
	for id, text := range edits {
		if id >= 0 && id < len(d.parts) && !d.parts[id].Fixed && d.parts[id].Opaque == "" {
			e.Put(d.node[id], strictjson.AppendQuote(nil, []byte(text)))
		}
	}
}

// Rewrite returns the body with the texts of the given parts replaced. With
// no edits it is the body itself.
func (d *Document) Rewrite(edits map[int]string) []byte { return d.Edit(edits).Bytes() }

// Members writes an object again: each member with the value that of returns,
// nil to leave it out, and then those of more that it did not have.
func (d *Document) Members(node int, of func(key string, child int) []byte, more ...Member) []byte {
	out, had := []byte{'{'}, map[string]bool{}
	for c := range d.Doc.All(node) {
		key := d.Doc.Key(c)
		had[key] = true
		if value := of(key, c); value != nil {
			out = strictjson.Appendf(comma(out), "%q:%s", key, value)
		}
	}
	for _, m := range more {
		if !had[m.Key] {
			out = strictjson.Appendf(comma(out), "%q:%s", m.Key, m.Value)
		}
	}
	return append(out, '}')
}

// Member is a member of an object.
type Member struct{ Key, Value string } // Value is JSON

// List writes an array again: each element as of returns it, nil to leave it out.
func (d *Document) List(node int, of func(child int) []byte) []byte {
	out := []byte{'['}
	for c := range d.Doc.All(node) {
		if value := of(c); value != nil {
			out = Element(out, value)
		}
	}
	return append(out, ']')
}

// Element appends an element to an array.
func Element(dst, value []byte) []byte { return append(comma(dst), value...) }

func comma(dst []byte) []byte {
	if len(dst) > 1 {
		dst = append(dst, ',')
	}
	return dst
}

// Unchanged reports whether there are no changes.
func (e *Editor) Unchanged() bool { return len(e.splices) == 0 }
