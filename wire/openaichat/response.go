package openaichat

import (
	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/strictjson"
	"github.com/margaydev/margay/wire"
	"github.com/margaydev/margay/wire/body"
)

// Response is a whole response, of any endpoint, or an error body.
type Response struct {
	body.Response
	stray  map[int]bool // choices whose logprobs do not repeat their text
	tokens body.TokenReader
	drop   bool // all logprobs become null
}

// Tokens implements wire.Response for a part that is the content of a choice.
func (r *Response) Tokens(p *wire.Part) (tokens []flow.Token, telemetry []byte) {
	d := &r.Doc
	if p.Field != flow.FieldContent || p.Choice < 0 || r.stray[p.Choice] {
		return nil, nil
	}
	message := d.Nodes[r.Node(p.ID)].Parent
	if !d.KeyIs(message, "message") {
		return nil, nil
	}
	choice := d.Nodes[message].Parent
	lp := d.Find(choice, "logprobs")
	if lp < 0 {
		return nil, nil
	}
	if t := d.Find(choice, telemetryKey); t >= 0 {
		telemetry = d.Value(t)
	}
	return r.tokens.Read(d, d.Find(lp, "content")), telemetry
}

// Logprobs reports whether any choice has logprobs.
func (r *Response) Logprobs() bool {
	for i := range r.Doc.Nodes {
		if r.Is(i, "logprobs", strictjson.Object) {
			return true
		}
	}
	return false
}

// DropLogprobs implements wire.Response: all logprobs become null.
func (r *Response) DropLogprobs() { r.drop = true }

// ParseResponse implements wire.API.
func (API) ParseResponse(raw []byte, lim wire.Limits) (wire.Response, error) {
	r := &Response{}
	if object, err := r.Parse(raw, lim, vocabulary); !object {
		return r, err
	}
	for c := range r.Doc.All(0) {
		if !r.Is(c, "choices", strictjson.Array) {
			r.Walk(c, body.Outside)
			continue
		}
		for choice := range r.Doc.All(c) {
			r.choice(choice)
		}
	}
	return r, nil
}

func (r *Response) choice(i int) {
	d := &r.Doc
	s := body.Scope{Message: -1, Choice: indexOf(d, i), Role: flow.RoleAssistant}
	if d.Nodes[i].Kind != strictjson.Object {
		r.Walk(i, s)
		return
	}
	msg := d.Find(i, "message")
	r.eachCall(msg, func(_, args, _ int) {
		if args >= 0 && d.Nodes[args].Kind != strictjson.String {
			r.TakeWhole(args) // JSON, and not JSON in a string
		}
	})
	for c := range d.All(i) {
		if !d.KeyIs(c, "logprobs") {
			r.Walk(c, s)
		}
	}
	if lp := d.Find(i, "logprobs"); lp >= 0 && d.Nodes[lp].Kind != strictjson.Null {
		text := r.Get(msg, "content") + r.Get(msg, "refusal") + r.Get(i, "text")
		if !body.RepeatsText(d, lp, []byte(text)) {
			if r.stray == nil {
				r.stray = map[int]bool{}
			}
			r.stray[s.Choice] = true
		}
	}
	r.eachCall(msg, func(fn, args, node int) {
		id := -1
		if args >= 0 {
			id = r.PartOf(args)
		}
		if id >= 0 {
			r.Part(id).Field = flow.FieldToolArguments
		}
		r.Proposed = append(r.Proposed, body.Call{Call: wire.Call{Name: r.Get(fn, "name"), Arguments: id}, Choice: s.Choice, Node: node, In: msg})
	})
}

// eachCall calls f for each tool call of a message, with its function or custom
// tool, its arguments, and the node that is taken out with it. Without a function
// or arguments, that node is -1.
func (r *Response) eachCall(msg int, f func(fn, args, node int)) {
	d := &r.Doc
	note := func(fn, node int) {
		none := true
		for _, key := range [...]string{"arguments", "input"} {
			if args := d.Find(fn, key); args >= 0 && d.Nodes[args].Kind != strictjson.Null {
				f(fn, args, node)
				none = false
			}
		}
		if none {
			f(fn, -1, node)
		}
	}
	if calls := d.Find(msg, "tool_calls"); calls >= 0 && d.Nodes[calls].Kind == strictjson.Array {
		for c := range d.All(calls) {
			fn, custom := d.Find(c, "function"), d.Find(c, "custom")
			if fn >= 0 || custom < 0 {
				note(fn, c)
			}
			if custom >= 0 {
				note(custom, c)
			}
		}
	}
	if fc := d.Find(msg, "function_call"); fc >= 0 && d.Nodes[fc].Kind != strictjson.Null {
		note(fc, fc)
	}
}

// change is what changes in a response.
type change struct {
	texts   map[int]string // by node
	touched map[int]bool   // choices whose texts or calls change
	refused map[int]bool   // choices with a refused call
	dropped map[int]bool   // nodes of refused calls
	say     map[int]string // by message: what stands for its calls
	left    map[int]int    // by choice: calls that are made
}

// Rewrite implements wire.Response. The logprobs of choices whose texts change
// become null. If all calls of a choice are taken out, its finish_reason becomes
// "stop".
func (r *Response) Rewrite(edits, refuse map[int]string) []byte {
	c := change{map[int]string{}, map[int]bool{}, map[int]bool{}, map[int]bool{}, map[int]string{}, map[int]int{}}
	for id, text := range edits {
		if p := r.Part(id); !p.Fixed && p.Opaque == "" {
			c.texts[r.Node(id)] = text
			c.touched[p.Choice] = true
		}
	}
	for i, call := range r.Proposed {
		if text, ok := refuse[i]; ok {
			c.dropped[call.Node], c.touched[call.Choice], c.refused[call.Choice] = true, true, true
			c.say[call.In] += text
		}
	}
	for i, call := range r.Proposed {
		if _, ok := refuse[i]; !ok && !c.dropped[call.Node] {
			c.left[call.Choice]++
		}
	}
	e := &body.Editor{Doc: &r.Doc}
	for i := range r.Doc.Nodes {
		r.rewrite(e, &c, i)
	}
	if len(edits) == 0 && len(refuse) == 0 && len(r.stray) == 0 && !r.drop && e.Unchanged() {
		return r.Doc.Raw
	}
	return e.Value(0)
}

// rewrite changes a node if it has to.
func (r *Response) rewrite(e *body.Editor, c *change, i int) {
	d := &r.Doc
	n := &d.Nodes[i]
	key, refused := d.KeyBytes(i), func() bool { return c.refused[choiceOf(d, i)] }
	none := func() bool { return refused() && c.left[choiceOf(d, i)] == 0 }
	switch {
	case string(key) == telemetryKey,
		string(key) == "logprobs" && (r.drop || c.touched[choiceOf(d, i)] || r.stray[choiceOf(d, i)]),
		string(key) == "function_call" && c.dropped[i],
		string(key) == "tool_calls" && n.Kind == strictjson.Array && none():
		e.PutString(i, "null")
	case string(key) == "content" && c.say[n.Parent] != "":
		r.content(e, c, i, c.say[n.Parent])
	case string(key) == "finish_reason" && none():
		e.PutString(i, `"stop"`)
	case string(key) == "tool_calls" && n.Kind == strictjson.Array && refused():
		e.Keep(i, func(call int) bool { return !c.dropped[call] })
	}
	if text, ok := c.texts[i]; ok {
		// A text that is no longer JSON is left out.
		e.PutText(i, []byte(text), wire.Limits{MaxBytes: 2 * len(d.Raw)}, "null")
	}
	if say := c.say[i]; say != "" && d.Find(i, "content") < 0 {
		// A message with only calls may have no content.
		e.Splice(n.Start, n.Start+1, strictjson.Appendf(nil, `{"content":%q,`, say))
	}
}

// content adds what stands for a message's calls to its content.
func (r *Response) content(e *body.Editor, c *change, i int, say string) {
	if r.Doc.Nodes[i].Kind == strictjson.Array {
		e.Extend(i, strictjson.Appendf(nil, `{"type":"text","text":%q}`, say))
		return
	}
	text, ok := c.texts[i]
	if !ok {
		text = r.Doc.Text(i)
	}
	e.Put(i, strictjson.AppendQuote(nil, []byte(text+say)))
}
