package mcp

import (
	"bytes"
	"encoding/base64"
	"slices"
	"strconv"

	"github.com/margaydev/margay/internal/strictjson"
	"github.com/margaydev/margay/wire/body"
)

// Rewrite returns the message with the given parts replaced, by their ids. With
// no edits it is the message itself. Copies stay equal: a text block that held
// the same JSON as structuredContent still does. Rewrite fails if the result
// would not be a message.
func (p *Parser) Rewrite(m *Message, edits map[int]string) ([]byte, error) {
	if len(edits) == 0 && m.Note == "" {
		return m.doc.Raw, nil
	}
	m.align(&p.again, edits)
	e := body.Editor{Doc: &m.doc}
	for id, text := range edits {
		if id < 0 || id >= len(m.parts) || m.parts[id].Key || m.parts[id].Opaque != "" {
			continue
		}
		switch n := m.node[id]; {
		case m.parts[id].blob:
			e.Put(n, strictjson.AppendQuote(nil, base64.StdEncoding.AppendEncode(nil, []byte(text))))
		case m.parts[id].JSON:
			e.PutString(n, text)
		default:
			e.Put(n, strictjson.AppendQuote(nil, []byte(text)))
		}
	}
	if n := m.param("content"); m.Note != "" && n >= 0 && m.doc.Nodes[n].Kind == strictjson.Array {
		e.Extend(n, strictjson.Appendf(nil, `{"type":"text","text":%q}`, m.Note))
	}
	out := e.Bytes()
	lim := m.lim
	if lim.MaxBytes > 0 {
		lim.MaxBytes = 2*lim.MaxBytes + 1024 // pseudonyms may be longer than their values
	}
	if err := p.again.Parse(out, lim); err != nil {
		return nil, err
	}
	return out, nil
}

// align makes the text copies of structuredContent equal to it.
func (m *Message) align(scratch *strictjson.Doc, edits map[int]string) {
	whole := slices.Index(m.node, m.param("structuredContent"))
	if m.Kind != Response || whole < 0 {
		return
	}
	canonical := func(text string) string { // empty for what is not JSON
		if scratch.Parse([]byte(text), m.lim) != nil {
			return ""
		}
		return string(appendCanonical(nil, scratch, 0))
	}
	was := string(appendCanonical(nil, &m.doc, m.node[whole]))
	var copies []int
	for i, n := range m.node {
		if p := &m.parts[i]; !p.JSON && !p.Key && p.Opaque == "" && m.doc.KeyIs(n, "text") && canonical(p.Text) == was {
			copies = append(copies, i)
		}
	}
	for _, i := range copies {
		if _, ok := edits[whole]; !ok && canonical(edits[i]) != "" {
			edits[whole] = edits[i]
		}
	}
	now := canonical(edits[whole])
	for _, i := range copies {
		if now != "" && canonical(edits[i]) != now {
			edits[i] = edits[whole]
		}
	}
}

// appendCanonical appends a value with its members sorted and without space, so
// equal values are equal bytes. Numbers are equal if they are written alike.
func appendCanonical(dst []byte, d *strictjson.Doc, n int) []byte {
	switch node := &d.Nodes[n]; node.Kind {
	case strictjson.String:
		return strictjson.AppendQuote(dst, d.Bytes(n))
	case strictjson.Array:
		dst = append(dst, '[')
		for c := range d.All(n) {
			dst = append(appendCanonical(dst, d, c), ',')
		}
		return append(dst, ']')
	case strictjson.Object:
		members := slices.Collect(d.All(n))
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

// Tool is one tool of a list, as a model sees it.
type Tool struct {
	Name string
	// Canonical is everything that describes the tool to the model: title,
	// description, schemas, annotations. Equal descriptions are equal bytes.
	Canonical []byte
}

// Tools returns the tools that a Response to tools/list names.
func (m *Message) Tools() []Tool {
	d := &m.doc
	var out []Tool
	for c := range d.All(m.param("tools")) {
		t := Tool{Name: d.Text(d.Find(c, "name"))}
		for _, key := range []string{"title", "description", "inputSchema", "outputSchema", "annotations"} {
			t.Canonical = append(strconv.AppendQuote(t.Canonical, key), ':')
			if n := d.Find(c, key); n >= 0 {
				t.Canonical = appendCanonical(t.Canonical, d, n)
			}
		}
		out = append(out, t)
	}
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
	CodeClosed  = -32000 // the other side has closed the connection
	CodeDenied  = -32010 // Margay refuses to release it
)

// NewFailure returns an error message. decision is Margay's, for margay
// explain; it may be empty.
func NewFailure(id ID, code int, message, reason, decision string) []byte {
	if id == "" {
		id = NullID
	}
	data := strictjson.Appendf(nil, `{"reason":%q`, reason)
	if decision != "" {
		data = strictjson.Appendf(data, `,"decision":%q`, decision)
	}
	return strictjson.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%q,"data":%s}}}`, string(id), code, message, data)
}

// NewRefusal returns the result of a tool call that was not made, as a text for
// the model. typed results state their type, as in the generation from 2026-07-28
// on.
func NewRefusal(id ID, typed bool, text string) []byte {
	kind := ""
	if typed {
		kind = `"resultType":"complete",`
	}
	return strictjson.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":{%s"content":[{"type":"text","text":%q}],"isError":true}}`, string(id), kind, text)
}
