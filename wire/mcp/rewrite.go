package mcp

import (
	"bytes"
	"encoding/base64"
	"slices"
	"strconv"

	"github.com/margaydev/margay/internal/strictjson"
)

// Rewrite returns the message with the given parts replaced, by their ids.
// With no edits it is the message itself. Copies stay in agreement: where a
// text block held the same JSON as structuredContent, it does afterwards. It
// fails where the result would be no message.
func (p *Parser) Rewrite(m *Message, edits map[int]string) ([]byte, error) {
	if len(edits) == 0 {
		return m.doc.Raw, nil
	}
	m.align(&p.again, edits)
	var sp []strictjson.Splice
	for id, text := range edits {
		if id < 0 || id >= len(m.parts) || m.parts[id].Key || m.parts[id].Opaque != "" {
			continue
		}
		part, n := &m.parts[id], &m.doc.Nodes[m.node[id]]
		b := []byte(text)
		switch {
		case part.blob:
			b = strictjson.AppendQuote(nil, base64.StdEncoding.AppendEncode(nil, b))
		case !part.JSON:
			b = strictjson.AppendQuote(nil, b)
		}
		sp = append(sp, strictjson.Splice{Start: n.Start, End: n.End, Text: b})
	}
	slices.SortFunc(sp, func(a, b strictjson.Splice) int { return a.Start - b.Start })
	out := strictjson.Apply(nil, m.doc.Raw, sp)
	lim := m.lim
	if lim.MaxBytes > 0 {
		lim.MaxBytes = 2*lim.MaxBytes + 1024 // names are longer than what they stand for
	}
	if err := p.again.Parse(out, lim); err != nil {
		return nil, err
	}
	return out, nil
}

// align makes the text copies of structuredContent say what it says.
func (m *Message) align(scratch *strictjson.Doc, edits map[int]string) {
	if m.Kind != Response {
		return
	}
	whole := slices.IndexFunc(m.node, func(n int) bool { return n == m.param("structuredContent") })
	if whole < 0 {
		return
	}
	want := string(appendCanonical(nil, &m.doc, m.node[whole]))
	var copies []int
	for i, n := range m.node {
		if p := &m.parts[i]; p.JSON || p.Key || p.Opaque != "" || !m.doc.KeyIs(n, "text") {
			continue
		}
		if scratch.Parse([]byte(m.parts[i].Text), m.lim) == nil && string(appendCanonical(nil, scratch, 0)) == want {
			copies = append(copies, i)
		}
	}
	if _, ok := edits[whole]; !ok {
		for _, i := range copies {
			if text, ok := edits[i]; ok && scratch.Parse([]byte(text), m.lim) == nil {
				edits[whole] = text
				break
			}
		}
	}
	text, ok := edits[whole]
	if !ok || scratch.Parse([]byte(text), m.lim) != nil {
		return
	}
	want = string(appendCanonical(nil, scratch, 0))
	for _, i := range copies {
		if now, ok := edits[i]; !ok || scratch.Parse([]byte(now), m.lim) != nil || string(appendCanonical(nil, scratch, 0)) != want {
			edits[i] = text
		}
	}
}

// appendCanonical appends a value with its members sorted and without space,
// so that equal values are equal bytes. Numbers are equal where they are
// written alike.
func appendCanonical(dst []byte, d *strictjson.Doc, n int) []byte {
	switch node := &d.Nodes[n]; node.Kind {
	case strictjson.String:
		return strictjson.AppendQuote(dst, d.Bytes(n))
	case strictjson.Array:
		dst = append(dst, '[')
		d.Children(n, func(c int) bool {
			dst = append(appendCanonical(dst, d, c), ',')
			return true
		})
		return append(dst, ']')
	case strictjson.Object:
		var members []int
		d.Children(n, func(c int) bool { members = append(members, c); return true })
		slices.SortFunc(members, func(a, b int) int { return bytes.Compare(d.KeyBytes(a), d.KeyBytes(b)) })
		dst = append(dst, '{')
		for _, c := range members {
			dst = append(strictjson.AppendQuote(dst, d.KeyBytes(c)), ':')
			dst = append(appendCanonical(dst, d, c), ',')
		}
		return append(dst, '}')
	default:
		return append(dst, d.Value(n)...)
	}
}

// Tool is one tool of a list, as it is shown to a model.
type Tool struct {
	Name string
	// Canonical is all that tells the model what the tool does and takes:
	// title, description, schemas, annotations. Equal ones are equal bytes.
	Canonical []byte
}

// Tools returns the tools that a Response to tools/list names.
func (m *Message) Tools() []Tool {
	list := m.param("tools")
	if list < 0 {
		return nil
	}
	d := &m.doc
	var out []Tool
	d.Children(list, func(c int) bool {
		t := Tool{Name: d.Text(d.Find(c, "name"))}
		for _, key := range []string{"title", "description", "inputSchema", "outputSchema", "annotations"} {
			t.Canonical = append(strconv.AppendQuote(t.Canonical, key), ':')
			if n := d.Find(c, key); n >= 0 {
				t.Canonical = appendCanonical(t.Canonical, d, n)
			}
		}
		out = append(out, t)
		return true
	})
	return out
}

// More reports whether a Response is one page, and not the last.
func (m *Message) More() bool {
	return m.param("nextCursor") >= 0 && m.doc.Nodes[m.param("nextCursor")].Kind == strictjson.String
}

// Codes of errors. Those that are not JSON-RPC's are from its range for
// servers, outside what the protocol reserves.
const (
	CodeParse   = -32700
	CodeInvalid = -32600
	CodeClosed  = -32000 // the other side is gone
	CodeDenied  = -32010 // Margay lets it not pass
)

// NewFailure returns an error message. decision is Margay's, for margay
// explain; it may be empty.
func NewFailure(id ID, code int, message, reason, decision string) []byte {
	if id == "" {
		id = NullID
	}
	b := append([]byte(`{"jsonrpc":"2.0","id":`), id...)
	b = append(b, `,"error":{"code":`...)
	b = strconv.AppendInt(b, int64(code), 10)
	b = append(b, `,"message":`...)
	b = strictjson.AppendQuote(b, []byte(message))
	b = append(b, `,"data":{"reason":`...)
	b = strictjson.AppendQuote(b, []byte(reason))
	if decision != "" {
		b = append(b, `,"decision":`...)
		b = strictjson.AppendQuote(b, []byte(decision))
	}
	return append(b, `}}}`...)
}

// NewRefusal returns the result of a tool call that was not made, in words
// that the model reads. typed results say what they are, as those of the
// generation from 2026-07-28 on do.
func NewRefusal(id ID, typed bool, text string) []byte {
	b := append([]byte(`{"jsonrpc":"2.0","id":`), id...)
	b = append(b, `,"result":{`...)
	if typed {
		b = append(b, `"resultType":"complete",`...)
	}
	b = append(b, `"content":[{"type":"text","text":`...)
	b = strictjson.AppendQuote(b, []byte(text))
	return append(b, `}],"isError":true}}`...)
}
