package openaichat

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/strictjson"
	"github.com/margaydev/margay/wire"
)

// edit changes one chunk.
type edit struct {
	flow.Edit
	// dropLogprobs and dropTelemetry make them null.
	dropLogprobs, dropTelemetry bool
}

// Errors of render: an edit that can't be made must not be forgotten.
var (
	errKey   = errors.New("an object's key can't be edited")
	errPlace = errors.New("an edit is of a text that the chunk does not have")
	errValue = errors.New("an edited value is no JSON")
)

// render returns the data of a chunk with an edit applied. The logprobs of a
// choice whose text changed become null, for they repeat it, and the server's
// random padding is left as it is.
func render(data []byte, e *edit, lim wire.Limits) ([]byte, error) {
	p := chunkParser{lim: lim}
	if _, err := p.parse(data); err != nil {
		return nil, fmt.Errorf("chunk to edit: %w", err)
	}
	d := &p.doc
	r := renderer{p: &p, e: e, texts: map[int][]byte{}, touched: map[int]bool{}}
	for i, text := range e.Text {
		if i < 0 || i >= len(p.nodes) || p.nodes[i] == nowhere {
			return nil, errPlace
		}
		if p.nodes[i] == inKey {
			return nil, errKey
		}
		if d.Nodes[p.nodes[i]].Kind != strictjson.String {
			var check strictjson.Doc
			if check.Parse(text, lim) != nil {
				return nil, errValue
			}
		}
		r.texts[p.nodes[i]] = text
		for up := p.nodes[i]; up >= 0; up = d.Nodes[up].Parent {
			r.touched[up] = true
		}
	}
	return r.value(nil, 0, -1), nil
}

type renderer struct {
	p       *chunkParser
	e       *edit
	texts   map[int][]byte
	touched map[int]bool // nodes above an edited text
}

// value writes node i, copying what no edit reaches.
func (r *renderer) value(dst []byte, i, choice int) []byte {
	d := &r.p.doc
	n := &d.Nodes[i]
	if text, ok := r.texts[i]; ok {
		if n.Kind != strictjson.String {
			return append(dst, text...)
		}
		return strictjson.AppendQuote(dst, text)
	}
	if n.Parent >= 0 && d.KeyIs(n.Parent, "choices") && n.Kind == strictjson.Object {
		if c, ok := d.Int(d.Find(i, "index")); ok {
			choice = c
		} else {
			choice = n.Index
		}
	}
	switch {
	case d.KeyIs(i, "logprobs") && (r.touched[n.Parent] || r.e.dropLogprobs):
		return append(dst, "null"...)
	case r.e.dropTelemetry && d.KeyIs(i, telemetryKey):
		return append(dst, "null"...)
	case d.KeyIs(i, "finish_reason") && n.Kind == strictjson.String && r.e.Finish != nil:
		return strictjson.AppendQuote(dst, []byte(r.e.Finish(choice, d.Text(i))))
	case d.KeyIs(i, "function_call") && n.Kind == strictjson.Object && r.e.Call != nil:
		if _, drop := r.e.Call(choice, -1); drop {
			return append(dst, "null"...)
		}
	case d.KeyIs(i, "tool_calls") && n.Kind == strictjson.Array && r.e.Call != nil:
		return r.calls(dst, i, choice)
	}
	if n.Kind != strictjson.Object && n.Kind != strictjson.Array {
		return append(dst, d.Value(i)...)
	}
	at := n.Start
	for c := i + 1; c < n.Next; c = d.Nodes[c].Next {
		dst = append(dst, d.Raw[at:d.Nodes[c].Start]...)
		dst = r.value(dst, c, choice)
		at = d.Nodes[c].End
	}
	return append(dst, d.Raw[at:n.End]...)
}

func (r *renderer) calls(dst []byte, i, choice int) []byte {
	d := &r.p.doc
	dst = append(dst, '[')
	first := true
	for c := i + 1; c < d.Nodes[i].Next; c = d.Nodes[c].Next {
		at := d.Find(c, "index")
		index, ok := d.Int(at)
		if !ok {
			index = d.Nodes[c].Index
		}
		now, drop := r.e.Call(choice, index)
		if drop {
			continue
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		if ok && now != index {
			// Write the call with its new index in place.
			from := len(dst)
			dst = r.value(dst, c, choice)
			dst = reindex(dst, from, now)
			continue
		}
		dst = r.value(dst, c, choice)
	}
	return append(dst, ']')
}

// reindex sets the index of the call object written at dst[from:].
func reindex(dst []byte, from, index int) []byte {
	var d strictjson.Doc
	if d.Parse(dst[from:], wire.Limits{}) != nil {
		return dst
	}
	n := &d.Nodes[d.Find(0, "index")]
	return strictjson.Apply(bytes.Clone(dst[:from]), d.Raw, []strictjson.Splice{{Start: n.Start, End: n.End, Text: fmt.Append(nil, index)}})
}
