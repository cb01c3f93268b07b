package mcp

import (
	"errors"
	"strings"

	"github.com/margaydev/margay/internal/strictjson"
)

// Elicits reports whether a client says in this request that it shows forms:
// in the handshake of the generations up to 2025-11-25, in every request from
// 2026-07-28 on.
func (m *Message) Elicits() bool {
	d := &m.doc
	caps := m.param("capabilities")
	if m.Method != "initialize" {
		caps = d.Find(m.param("_meta"), "io.modelcontextprotocol/clientCapabilities")
	}
	n := d.Find(caps, "elicitation")
	if n < 0 || d.Nodes[n].Kind != strictjson.Object {
		return false
	}
	// Without a mode it is forms; with the other one alone it is not.
	return d.Find(n, "form") >= 0 || d.Find(n, "url") < 0
}

// Choice is one answer that a form offers.
type Choice struct{ Value, Title string }

// chosen is the field of the forms.
const chosen = "decision"

// appendForm appends the params of a question with one field.
func appendForm(b []byte, message string, choices []Choice) []byte {
	b = append(b, `{"mode":"form","message":`...)
	b = strictjson.AppendQuote(b, []byte(message))
	b = append(b, `,"requestedSchema":{"type":"object","properties":{"`+chosen+`":{"type":"string","title":"Decision","oneOf":[`...)
	for i, c := range choices {
		if i > 0 {
			b = append(b, ',')
		}
		b = strictjson.AppendQuote(append(b, `{"const":`...), []byte(c.Value))
		b = strictjson.AppendQuote(append(b, `,"title":`...), []byte(c.Title))
		b = append(b, '}')
	}
	return append(b, `]}},"required":["`+chosen+`"]}}`...)
}

// NewElicitation returns a request that has a client show a form with one
// field.
func NewElicitation(id ID, message string, choices []Choice) []byte {
	b := append([]byte(`{"jsonrpc":"2.0","id":`), id...)
	return append(appendForm(append(b, `,"method":"elicitation/create","params":`...), message, choices), '}')
}

// NewInputRequired returns an answer to a request that has a client show the
// form, and send the request again with what was chosen and the state.
func NewInputRequired(id ID, key, message string, choices []Choice, state string) []byte {
	b := append([]byte(`{"jsonrpc":"2.0","id":`), id...)
	b = append(b, `,"result":{"resultType":"input_required","inputRequests":{`...)
	b = append(strictjson.AppendQuote(b, []byte(key)), `:{"method":"elicitation/create","params":`...)
	b = append(appendForm(b, message, choices), `}},"requestState":`...)
	return append(strictjson.AppendQuote(b, []byte(state)), `}}`...)
}

// NewCancelled returns a notification that a request needs no answer.
func NewCancelled(id ID) []byte {
	b := append([]byte(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":`), id...)
	return append(b, `,"reason":"answered elsewhere"}}`...)
}

// choice is what was chosen in a form; empty where nothing was.
func (m *Message) choice(form int) string {
	d := &m.doc
	if form < 0 || d.Text(d.Find(form, "action")) != "accept" {
		return ""
	}
	n := d.Find(d.Find(form, "content"), chosen)
	if n < 0 || d.Nodes[n].Kind != strictjson.String {
		return ""
	}
	return d.Text(n)
}

// Chosen is what was chosen in the form that a Response answers; empty where
// nothing was.
func (m *Message) Chosen() string {
	if m.Kind != Response {
		return ""
	}
	return m.choice(m.body)
}

// Returned is what a request brings back of an answer that asked for input:
// its state, and what was chosen in a form.
func (m *Message) Returned(key string) (state, choice string) {
	return m.doc.Text(m.param("requestState")), m.choice(m.doc.Find(m.param("inputResponses"), key))
}

// Carried are the members with which a request brings something back, as they
// are written.
func (m *Message) Carried() string {
	var all []string
	for _, key := range []string{"requestState", "inputResponses"} {
		if n := m.param(key); n >= 0 {
			all = append(all, `"`+key+`":`+string(m.doc.Value(n)))
		}
	}
	return strings.Join(all, ",")
}

// Carry returns a request with other such members.
func (m *Message) Carry(members string) ([]byte, error) {
	d := &m.doc
	if m.body < 0 || d.Nodes[m.body].Kind != strictjson.Object {
		return nil, errors.New("mcp: no params")
	}
	params := []byte{'{'}
	d.Children(m.body, func(c int) bool {
		if d.KeyIs(c, "requestState") || d.KeyIs(c, "inputResponses") {
			return true
		}
		if len(params) > 1 {
			params = append(params, ',')
		}
		params = append(strictjson.AppendQuote(params, d.KeyBytes(c)), ':')
		params = append(params, d.Value(c)...)
		return true
	})
	if members != "" {
		if len(params) > 1 {
			params = append(params, ',')
		}
		params = append(params, members...)
	}
	n := &d.Nodes[m.body]
	return strictjson.Apply(nil, d.Raw, []strictjson.Splice{{Start: n.Start, End: n.End, Text: append(params, '}')}}), nil
}

// CallArguments are those of a call as they are written; empty for none.
func (m *Message) CallArguments() string {
	if n := m.param("arguments"); n >= 0 {
		return string(m.doc.Value(n))
	}
	return ""
}

// Results are what an answer tells a model: the texts of its blocks as one,
// structured content, and whatever else it holds as it is written.
func (m *Message) Results() []string {
	d := &m.doc
	if m.Kind != Response || d.Nodes[m.body].Kind != strictjson.Object {
		if m.body < 0 {
			return nil
		}
		return []string{string(d.Value(m.body))}
	}
	var out, texts []string
	plain := true
	d.Children(m.body, func(c int) bool {
		switch {
		case d.KeyIs(c, "content") && d.Nodes[c].Kind == strictjson.Array:
			d.Children(c, func(block int) bool {
				at := d.Find(block, "text")
				if at < 0 || d.Text(d.Find(block, "type")) != "text" {
					plain = false
					return false
				}
				texts = append(texts, d.Text(at))
				return true
			})
		case d.KeyIs(c, "structuredContent"):
			out = append(out, string(d.Value(c)))
		case d.KeyIs(c, "isError"), d.KeyIs(c, "_meta"):
		case d.KeyIs(c, "resultType") && d.Text(c) == "complete":
		default:
			plain = false
		}
		return true
	})
	if len(texts) > 0 {
		out = append(out, strings.Join(texts, "\n"))
	}
	if !plain {
		out = append(out, string(d.Value(m.body)))
	}
	return out
}
