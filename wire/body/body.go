// Package body reads and edits the bodies of model APIs: JSON documents of
// strings. Every string is text unless a table of the API's members, a Table,
// says otherwise, so that an unknown field is still mediated. Edits are
// surgical: an Editor replaces values and leaves every other byte alone.
//
// Each API's package has its own Request and Response around those of this
// package. They find the messages and the calls in its documents.
package body

import (
	"cmp"
	"slices"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/strictjson"
	"github.com/margaydev/margay/wire"
)

// Request is the body of a request: the part that all APIs share.
type Request struct {
	Document
	Messages []Message

	tools map[string]string // by the id of a call: the tool's name
}

// Message is a message of the conversation.
type Message struct {
	Node int
	Role flow.Role
}

// Parse reads the body of a request. Errors are of type *strictjson.Error.
func (r *Request) Parse(raw []byte, lim wire.Limits, v *Vocabulary) error {
	r.Vocabulary = v
	return r.Doc.ParseObject(raw, lim)
}

// Add adds a message, and returns the scope of its parts.
func (r *Request) Add(node int, role flow.Role) Scope {
	r.Messages = append(r.Messages, Message{Node: node, Role: role})
	return Scope{Message: len(r.Messages) - 1, Choice: -1, Role: role}
}

// Collect collects the parts of a request. The system text, -1 for none, is the
// first message, wherever it is. Then message reads each element of the array
// conversation. Any other member is outside the messages, unless other reads it.
func (r *Request) Collect(system int, conversation string, message func(m int), other func(c int) bool) {
	var first Scope
	if system >= 0 {
		first = r.Add(system, flow.RoleSystem)
	}
	for c := range r.Doc.All(0) {
		switch {
		case c == system:
			r.Walk(c, first)
		case r.Is(c, conversation, strictjson.Array):
			for m := range r.Doc.All(c) {
				message(m)
			}
		case !other(c):
			r.Walk(c, Outside)
		}
	}
}

// NumMessages implements wire.Request.
func (r *Request) NumMessages() int { return len(r.Messages) }

// MessageRaw implements wire.Request.
func (r *Request) MessageRaw(i int) []byte { return r.Doc.Value(r.Messages[i].Node) }

// MessageRole implements wire.Request.
func (r *Request) MessageRole(i int) flow.Role { return r.Messages[i].Role }

// Previous implements wire.Request for an API whose server keeps nothing.
func (r *Request) Previous() string { return "" }

// Only reports whether the request has no members but these.
func (r *Request) Only(members Words) bool {
	for c := range r.Doc.All(0) {
		if !members.Has(r.Doc.KeyBytes(c)) {
			return false
		}
	}
	return true
}

// Settle implements wire.Request for an API whose server keeps nothing.
func (r *Request) Settle(body []byte, _ []wire.Owed) []byte { return body }

// AskLogprobs implements wire.Request for an API without any.
func (r *Request) AskLogprobs(body []byte) ([]byte, bool) { return body, false }

// Called notes the tool of a call.
func (r *Request) Called(id, tool string) {
	if r.tools == nil {
		r.tools = map[string]string{}
	}
	r.tools[id] = tool
}

// ToolOf returns the tool that was noted for a call; empty for none.
func (r *Request) ToolOf(id string) string { return r.tools[id] }

// Turn is a turn with the nodes that it is made of. No nodes mean all of its
// message.
type Turn struct {
	flow.Turn
	Message int
	Nodes   []int
	Inside  bool // it is one part of the message of the turn before
}

// Strange is the turn of a part of a message that others than its author wrote.
func (r *Request) Strange(message, part int) Turn {
	return Turn{Turn: flow.Turn{Role: flow.RoleTool, Foreign: true, Parts: r.Below(part)}, Message: message, Nodes: []int{part}, Inside: true}
}

// ByOthers notes that others than the author of its message wrote a part.
func (r *Request) ByOthers(part int) {
	for _, id := range r.Below(part) {
		r.Part(id).Role = flow.RoleTool
	}
}

// PartsBut returns the nodes of a list of parts whose type is in none of the sets.
// Whoever wrote the list did not write these.
func (d *Document) PartsBut(list int, sets ...Words) []int {
	if list < 0 || d.Doc.Nodes[list].Kind != strictjson.Array {
		return nil
	}
	var out []int
	for c := range d.Doc.All(list) {
		typ := d.Doc.Bytes(max(d.Doc.Find(c, "type"), 0))
		if !slices.ContainsFunc(sets, func(s Words) bool { return s.Has(typ) }) {
			out = append(out, c)
		}
	}
	return out
}

// withheld stands for a part of a message that a model does not see.
const withheld = "[margay: a part of this message is withheld here]"

// WithholdInside puts texts for the parts of messages that the model does not see.
func (r *Request) WithholdInside(e *Editor, w *flow.Withheld, turns []Turn, part func(text string) []byte) {
	for i := range turns {
		if text, hidden := w.Instead[i]; turns[i].Inside && (hidden || w.Without[i]) {
			e.Put(turns[i].Nodes[0], part(cmp.Or(text, withheld)))
		}
	}
}

// Turns returns turns without their nodes.
func Turns(all []Turn) []flow.Turn {
	out := make([]flow.Turn, len(all))
	for i := range all {
		out[i] = all[i].Turn
	}
	return out
}

// Offered writes an array of tools without those that are hidden; nil if none is
// left. before is the number of tools before those of the array.
func (r *Request) Offered(e *Editor, w *flow.Withheld, tools, before int) []byte {
	out := r.List(tools, func(t int) []byte {
		if w.Hidden[before+r.Doc.Nodes[t].Index] {
			return nil
		}
		return e.Value(t)
	})
	if len(out) == len("[]") {
		return nil
	}
	return out
}

// Shown writes the turns that the model sees as an array, without those of the
// node elsewhere, which is not in that array. said writes an answer of the
// assistant's, and instead what stands for a hidden turn.
func (r *Request) Shown(e *Editor, w *flow.Withheld, turns []Turn, elsewhere int, said func(text string) []byte, instead func(t *Turn, text string) []byte) []byte {
	out := []byte{'['}
	for i := range turns {
		if turns[i].Inside {
			continue
		}
		if text, ok := w.Before[i]; ok {
			out = Element(out, said(text))
		}
		text, hidden := w.Instead[i]
		switch {
		case w.Without[i] || turns[i].Nodes[0] == elsewhere:
		case hidden:
			out = Element(out, instead(&turns[i], text))
		default:
			for _, n := range turns[i].Nodes {
				out = Element(out, e.Value(n))
			}
		}
	}
	return append(out, ']')
}

// Follow returns a body of a request with elements behind its "messages", and
// lets the model choose whether it calls a tool: auto is the API's word for it.
// It returns nil if there are no messages, or more returns nil.
func Follow(raw []byte, auto string, more func(d *strictjson.Doc) []byte) []byte {
	e, ok := Edit(raw)
	if !ok {
		return nil
	}
	messages := e.Doc.Find(0, "messages")
	if messages < 0 || e.Doc.Nodes[messages].Kind != strictjson.Array || e.Doc.Nodes[messages].Next == messages+1 {
		return nil
	}
	text := more(e.Doc)
	if text == nil {
		return nil
	}
	e.Extend(messages, text)
	e.Unforced(auto)
	return e.Bytes()
}

// Response is a whole answer: the part that all APIs share.
type Response struct {
	Document
	Proposed []Call
}

// Call is a tool call that an answer proposes, with its nodes.
type Call struct {
	wire.Call
	Choice int
	Node   int // all of it
	In     int // its message, or its arguments, as the API needs it
}

// Parse reads an answer. It reports whether it is an object; anything else is
// read as it is. Errors are of type *strictjson.Error.
func (r *Response) Parse(raw []byte, lim wire.Limits, v *Vocabulary) (object bool, err error) {
	r.Vocabulary, r.Server = v, true
	if err := r.Doc.Parse(raw, lim); err != nil {
		return false, err
	}
	if r.Doc.Nodes[0].Kind != strictjson.Object {
		r.Walk(0, Outside)
		return false, nil
	}
	return true, nil
}

// Calls implements wire.Response.
func (r *Response) Calls() []wire.Call {
	out := make([]wire.Call, len(r.Proposed))
	for i := range r.Proposed {
		out[i] = r.Proposed[i].Call
	}
	return out
}

// ID implements wire.Response for an API whose server keeps nothing.
func (r *Response) ID() string { return "" }

// Tokens implements wire.Response for an API that reports nothing about them.
func (r *Response) Tokens(*wire.Part) (tokens []flow.Token, telemetry []byte) { return nil, nil }

// Halted implements wire.Response for an API without such answers.
func (r *Response) Halted(_, _ string) ([]byte, bool) { return nil, false }

// Logprobs implements wire.Response for an API without any.
func (r *Response) Logprobs() bool { return false }

// DropLogprobs implements wire.Response for an API without any.
func (r *Response) DropLogprobs() {}
