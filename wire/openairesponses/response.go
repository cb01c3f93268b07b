package openairesponses

import (
	"slices"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/strictjson"
	"github.com/margaydev/margay/wire"
	"github.com/margaydev/margay/wire/body"
)

// Response is the answer of a path of the API: a response, a list of the items of
// its input, a number of tokens, or an error. A call with several texts counts as
// several calls.
type Response struct {
	body.Response
	logprobs bool  // there are some
	stray    []int // nodes of logprobs that do not repeat the text beside them
	drop     bool  // all logprobs become empty
	cut      int   // the output of a response that is not finished; -1 for none
	tokens   body.TokenReader
	owed     []wire.Owed
}

// ParseResponse implements wire.API.
//
// The output of a response that is not finished is left out: a text that may
// continue can't be decided.
func (API) ParseResponse(raw []byte, lim wire.Limits) (wire.Response, error) {
	r := &Response{cut: -1}
	if object, err := r.Parse(raw, lim, vocabulary); !object {
		return r, err
	}
	d := &r.Doc
	r.findLogprobs()
	status := r.Get(0, "status")
	for c := range d.All(0) {
		switch {
		case r.Is(c, "output", strictjson.Array) && (status == "in_progress" || status == "queued"):
			if d.Nodes[c].Next > c+1 {
				r.cut = c
			}
		case r.Is(c, "output", strictjson.Array):
			for i := range d.All(c) {
				r.item(i)
			}
		case r.Is(c, "data", strictjson.Array):
			for i := range d.All(c) {
				s := body.Outside
				s.Role, s.Tool = authorOf(&r.Document, i)
				walkItem(&r.Document, i, s)
			}
		default:
			r.Walk(c, body.Outside)
		}
	}
	return r, nil
}

// item reads an item of the output.
func (r *Response) item(i int) {
	s := body.Scope{Message: -1, Role: flow.RoleAssistant, Tool: r.Get(i, "name")}
	from := len(r.Parts())
	walkItem(&r.Document, i, s)
	if !isCall(typeOf(&r.Doc, i)) {
		return
	}
	proposed := len(r.Proposed)
	for _, p := range r.Parts()[from:] {
		if p.Field == flow.FieldToolArguments && !p.Key {
			r.Proposed = append(r.Proposed, body.Call{Call: wire.Call{Name: s.Tool, Arguments: p.ID}, Node: i})
		}
	}
	if len(r.Proposed) == proposed {
		r.Proposed = append(r.Proposed, body.Call{Call: wire.Call{Name: s.Tool, Arguments: -1}, Node: i})
	}
}

// findLogprobs finds the logprobs, which are not texts of their own.
func (r *Response) findLogprobs() {
	d := &r.Doc
	for i := range d.Nodes {
		if !isLogprobs(d, i) {
			continue
		}
		r.logprobs = true
		if !body.RepeatsText(d, i, d.Bytes(max(d.Find(d.Nodes[i].Parent, "text"), 0))) {
			r.stray = append(r.stray, i)
		}
	}
}

// Logprobs implements wire.Response.
func (r *Response) Logprobs() bool { return r.logprobs }

// DropLogprobs implements wire.Response: all logprobs become empty.
func (r *Response) DropLogprobs() { r.drop = true }

// Tokens implements wire.Response for a part that is the text of a message.
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
	switch r.Get(0, "object") {
	case "response", "response.compaction":
		return r.Get(0, "id")
	}
	return ""
}

// Owed implements wire.Owing.
func (r *Response) Owed() ([]wire.Name, []wire.Owed) { return namesOf(&r.Doc, 0), r.owed }

// Rewrite implements wire.Response. Messages replace calls that are not made. The
// logprobs beside a text that changed become empty.
func (r *Response) Rewrite(edits, refused map[int]string) []byte {
	d, e, done := &r.Doc, &body.Editor{Doc: &r.Doc}, map[int]bool{}
	for id, text := range edits {
		if p := r.Part(id); p.Fixed || p.Opaque != "" {
			continue
		}
		// A text that is no longer JSON is left out.
		e.PutText(r.Node(id), []byte(text), wire.Limits{MaxBytes: 2 * len(d.Raw)}, "null")
		emptyBeside(e, r.Node(id), done)
	}
	r.owed = r.owed[:0]
	last := -1
	for i := range r.Proposed {
		node := r.Proposed[i].Node
		if text := refused[i]; text != "" && node != last {
			last = node
			r.owed = append(r.owed, owedOf(d, node, text))
			e.Put(node, message(messageIDOf(d, d.Find(node, "id")), "completed", outputText(text)))
		}
	}
	for _, lp := range r.stray {
		e.PutString(lp, "[]")
	}
	if r.drop {
		dropLogprobs(e, 0)
	}
	if r.cut >= 0 {
		e.PutString(r.cut, "[]")
	}
	return e.Bytes()
}
