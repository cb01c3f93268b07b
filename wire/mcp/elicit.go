package mcp

import (
	"errors"
	"strings"

	"github.com/margaydev/margay/internal/strictjson"
	"github.com/margaydev/margay/wire/body"
)

// Elicits reports whether a client states in this request that it shows forms.
// Clients of the generations up to 2025-11-25 do so in the handshake, later ones
// in every request.
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

// form is the params of a question with one field.
func form(message string, choices []Choice) []byte {
	of := []byte{'['}
	for _, c := range choices {
		of = body.Element(of, strictjson.Appendf(nil, `{"const":%q,"title":%q}`, c.Value, c.Title))
	}
	return strictjson.Appendf(nil, `{"mode":"form","message":%q,"requestedSchema":{"type":"object","properties":{%q:{"type":"string","title":"Decision","oneOf":%s]}},"required":[%q]}}`,
		message, chosen, of, chosen)
}

// NewElicitation returns a request for a client to show a form with one field.
func NewElicitation(id ID, message string, choices []Choice) []byte {
	return strictjson.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"method":"elicitation/create","params":%s}`, string(id), form(message, choices))
}

// NewInputRequired returns an answer that asks a client to show the form and send
// its request again, with the choice and the state.
func NewInputRequired(id ID, key, message string, choices []Choice, state string) []byte {
	return strictjson.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":{"resultType":"input_required","inputRequests":{%q:{"method":"elicitation/create","params":%s}},"requestState":%q}}`,
		string(id), key, form(message, choices), state)
}

// NewCancelled returns a notification that cancels a request.
func NewCancelled(id ID) []byte {
	return strictjson.Appendf(nil, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%s,"reason":"answered elsewhere"}}`, string(id))
}

// choice is the choice made in a form; empty for none.
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

// Chosen is the choice in the form that a Response answers; empty for none.
func (m *Message) Chosen() string {
	if m.Kind != Response {
		return ""
	}
	return m.choice(m.body)
}

// Returned is what a request returns from an answer that asked for input: its
// state, and the choice in a form.
func (m *Message) Returned(key string) (state, choice string) {
	return m.doc.Text(m.param("requestState")), m.choice(m.doc.Find(m.param("inputResponses"), key))
}

// Carried are the members that return something from an earlier answer, as they
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
	for c := range d.All(m.body) {
		if !d.KeyIs(c, "requestState") && !d.KeyIs(c, "inputResponses") {
			params = body.Element(params, strictjson.Appendf(nil, "%q:%s", d.KeyBytes(c), d.Value(c)))
		}
	}
	if members != "" {
		params = body.Element(params, []byte(members))
	}
	e := body.Editor{Doc: d}
	e.Put(m.body, append(params, '}'))
	return e.Bytes(), nil
}

// CallArguments are those of a call as they are written; empty for none.
func (m *Message) CallArguments() string {
	if n := m.param("arguments"); n >= 0 {
		return string(m.doc.Value(n))
	}
	return ""
}

// Results are what a model reads in an answer: the texts of its blocks as one,
// structured content, and anything else as it is written.
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
	for c := range d.All(m.body) {
		switch {
		case d.KeyIs(c, "content") && d.Nodes[c].Kind == strictjson.Array:
			for block := range d.All(c) {
				at := d.Find(block, "text")
				if at < 0 || d.Text(d.Find(block, "type")) != "text" {
					plain = false
					break
				}
				texts = append(texts, d.Text(at))
			}
		case d.KeyIs(c, "structuredContent"):
			out = append(out, string(d.Value(c)))
		case d.KeyIs(c, "isError"), d.KeyIs(c, "_meta"):
		case d.KeyIs(c, "resultType") && d.Text(c) == "complete":
		default:
			plain = false
		}
	}
	if len(texts) > 0 {
		out = append(out, strings.Join(texts, "\n"))
	}
	if !plain {
		out = append(out, string(d.Value(m.body)))
	}
	return out
}
