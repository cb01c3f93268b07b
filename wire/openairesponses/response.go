package openairesponses

import (
	"slices"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/strictjson"
	"github.com/margaydev/margay/wire"
)

// Response is what a path of the API answers: a response, a list of the items
// of its input, a number of tokens, or an error.
type Response struct {
	wire.Document
	calls  []callAt
	stray  []int // nodes of logprobs that do not repeat the text beside them
	drop   bool  // all logprobs become empty
	cut    int   // the output of a response that is not finished; -1 for none
	tokens wire.TokenReader
	owed   []wire.Owed
}

// callAt is a tool call that a response proposes. One of several texts is
// several of them.
type callAt struct {
	wire.Call
	node int // the item
}

// ParseResponse reads an answer. Errors are of type *strictjson.Error.
//
// The output of a response that is not finished is left out: a text that may
// go on can't be decided.
func ParseResponse(body []byte, lim wire.Limits) (*Response, error) {
	r := &Response{Document: wire.Document{Vocabulary: vocabulary(true), Server: true}, cut: -1}
	d := &r.Doc
	if err := d.Parse(body, lim); err != nil {
		return nil, err
	}
	if d.Nodes[0].Kind != strictjson.Object {
		r.Walk(0, wire.Outside)
		return r, nil
	}
	r.logprobs()
	status := d.Text(d.Find(0, "status"))
	d.Children(0, func(c int) bool {
		n := &d.Nodes[c]
		switch {
		case d.KeyIs(c, "output") && n.Kind == strictjson.Array && (status == "in_progress" || status == "queued"):
			if n.Next > c+1 {
				r.cut = c
			}
		case d.KeyIs(c, "output") && n.Kind == strictjson.Array:
			d.Children(c, func(i int) bool { r.item(i); return true })
		case d.KeyIs(c, "data") && n.Kind == strictjson.Array:
			d.Children(c, func(i int) bool {
				s := wire.Outside
				s.Role, s.Tool = authorOf(d, i)
				walkItem(&r.Document, i, s)
				return true
			})
		default:
			r.Walk(c, wire.Outside)
		}
		return true
	})
	return r, nil
}

// item reads an item of the output.
func (r *Response) item(i int) {
	d := &r.Doc
	s := wire.Scope{Message: -1, Role: flow.RoleAssistant}
	s.Tool = d.Text(d.Find(i, "name"))
	from := len(r.Parts())
	walkItem(&r.Document, i, s)
	call := isCall(d.Bytes(max(d.Find(i, "type"), 0)))
	some := false
	for _, p := range r.Parts()[from:] {
		if call && p.Field == flow.FieldToolArguments && !p.Key {
			r.calls = append(r.calls, callAt{wire.Call{Name: s.Tool, Arguments: p.ID}, i})
			some = true
		}
	}
	if call && !some {
		r.calls = append(r.calls, callAt{wire.Call{Name: s.Tool, Arguments: -1}, i})
	}
}

// logprobs finds the logprobs, which are no texts of their own.
func (r *Response) logprobs() {
	d := &r.Doc
	for i := range d.Nodes {
		if !isLogprobs(d, i) {
			continue
		}
		if r.Skip == nil {
			r.Skip = map[int]bool{}
		}
		r.Skip[i] = true
		if !wire.RepeatsText(d, i, d.Bytes(max(d.Find(d.Nodes[i].Parent, "text"), 0))) {
			r.stray = append(r.stray, i)
		}
	}
}

// Logprobs reports whether there are any.
func (r *Response) Logprobs() bool { return len(r.Skip) > 0 }

// DropLogprobs empties all logprobs in what Rewrite returns.
func (r *Response) DropLogprobs() { r.drop = true }

// Tokens returns what the response tells about the tokens of a part that is
// the text of a message; nil for nothing.
func (r *Response) Tokens(p *wire.Part) ([]flow.Token, []byte) {
	d := &r.Doc
	node := r.Node(p.ID)
	if p.Field != flow.FieldContent || p.Choice < 0 || p.Key || !d.KeyIs(node, "text") {
		return nil, nil
	}
	lp := d.Find(d.Nodes[node].Parent, "logprobs")
	if lp < 0 || slices.Contains(r.stray, lp) {
		return nil, nil
	}
	return r.tokens.Read(d, lp), nil
}

// ID is the id of the response, or of a compaction.
func (r *Response) ID() string {
	d := &r.Doc
	switch d.Text(d.Find(0, "object")) {
	case "response", "response.compaction":
		return d.Text(d.Find(0, "id"))
	}
	return ""
}

// Calls returns the tool calls.
func (r *Response) Calls() []wire.Call {
	out := make([]wire.Call, len(r.calls))
	for i := range r.calls {
		out[i] = r.calls[i].Call
	}
	return out
}

// Owed implements wire.Owing.
func (r *Response) Owed() ([]wire.Name, []wire.Owed) { return namesOf(&r.Doc, 0), r.owed }

// Rewrite returns the answer with texts replaced, and messages in the place of
// calls that are not made. The logprobs beside a text that changed become
// empty.
func (r *Response) Rewrite(edits, refused map[int]string) []byte {
	d := &r.Doc
	var sp []strictjson.Splice
	put := func(node int, value []byte) {
		n := &d.Nodes[node]
		sp = append(sp, strictjson.Splice{Start: n.Start, End: n.End, Text: value})
	}
	for id, text := range edits {
		p := r.Part(id)
		if p.Fixed || p.Opaque != "" {
			continue
		}
		node := r.Node(id)
		put(node, r.value(node, text))
		if lp := d.Find(d.Nodes[node].Parent, "logprobs"); lp >= 0 && isLogprobs(d, lp) {
			put(lp, []byte("[]"))
		}
	}
	said := map[int]string{}
	for i := range r.calls {
		if text, ok := refused[i]; ok && said[r.calls[i].node] == "" {
			said[r.calls[i].node] = text
		}
	}
	r.owed = r.owed[:0]
	for node, text := range said {
		r.owed = append(r.owed, owedOf(d, node, text))
		content := strictjson.AppendQuote([]byte(`{"type":"output_text","annotations":[],"logprobs":[],"text":`), []byte(text))
		put(node, appendMessage(nil, messageIDOf(d, d.Find(node, "id")), "completed", append(content, '}')))
	}
	for _, lp := range r.stray {
		put(lp, []byte("[]"))
	}
	if r.drop {
		for lp := range r.Skip {
			put(lp, []byte("[]"))
		}
		if top := d.Find(0, "top_logprobs"); top >= 0 {
			put(top, []byte("0"))
		}
	}
	if r.cut >= 0 {
		put(r.cut, []byte("[]"))
	}
	if len(sp) == 0 {
		return d.Raw
	}
	return splice(d.Raw, sp)
}

// value is an edited text. What was JSON and is not any more is left out.
func (r *Response) value(node int, text string) []byte {
	if r.Doc.Nodes[node].Kind == strictjson.String {
		return strictjson.AppendQuote(nil, []byte(text))
	}
	var check strictjson.Doc
	if check.Parse([]byte(text), strictjson.Limits{MaxBytes: 2 * len(r.Doc.Raw)}) != nil {
		return []byte("null")
	}
	return []byte(text)
}
