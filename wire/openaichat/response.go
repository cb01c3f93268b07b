package openaichat

import (
	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/strictjson"
	"github.com/margaydev/margay/wire"
)

// Response is a whole response, of any endpoint, or an error body.
type Response struct {
	wire.Document
	calls  []callAt
	stray  map[int]bool // choices whose logprobs do not repeat their text
	tokens wire.TokenReader
	drop   bool // all logprobs become null
}

// Tokens returns what the response tells about the tokens of a part that is
// the content of a choice, and its telemetry; nil for nothing.
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

// telemetry reports whether any choice has the telemetry extension.
func (r *Response) telemetry() bool {
	for i := range r.Doc.Nodes {
		if r.Doc.KeyIs(i, telemetryKey) {
			return true
		}
	}
	return false
}

// Logprobs reports whether any choice has logprobs.
func (r *Response) Logprobs() bool {
	d := &r.Doc
	for i := range d.Nodes {
		if d.KeyIs(i, "logprobs") && d.Nodes[i].Kind == strictjson.Object {
			return true
		}
	}
	return false
}

// DropLogprobs makes all logprobs null in what Rewrite returns.
func (r *Response) DropLogprobs() { r.drop = true }

// ID returns nothing: no later request goes on with an answer by its id.
func (r *Response) ID() string { return "" }

// callAt is a tool call that a response proposes.
type callAt struct {
	wire.Call
	choice        int
	node, message int
}

// ParseResponse reads a response. Errors are of type *strictjson.Error.
func ParseResponse(body []byte, lim wire.Limits) (*Response, error) {
	r := &Response{Document: wire.Document{Vocabulary: vocabulary(true), Server: true}}
	if err := r.Doc.Parse(body, lim); err != nil {
		return nil, err
	}
	d := &r.Doc
	if d.Nodes[0].Kind != strictjson.Object {
		r.Walk(0, wire.Outside)
		return r, nil
	}
	d.Children(0, func(c int) bool {
		switch {
		case d.KeyIs(c, "choices") && d.Nodes[c].Kind == strictjson.Array:
			d.Children(c, func(ch int) bool { r.choice(ch); return true })
		default:
			r.Walk(c, wire.Outside)
		}
		return true
	})
	return r, nil
}

func (r *Response) choice(i int) {
	d := &r.Doc
	s := wire.Scope{Message: -1, Choice: d.Nodes[i].Index, Role: flow.RoleAssistant}
	if d.Nodes[i].Kind != strictjson.Object {
		r.Walk(i, s)
		return
	}
	if n, ok := d.Int(d.Find(i, "index")); ok {
		s.Choice = n
	}
	msg := d.Find(i, "message")
	r.written(msg)
	d.Children(i, func(c int) bool {
		if !d.KeyIs(c, "logprobs") {
			r.Walk(c, s)
		}
		return true
	})
	if lp := d.Find(i, "logprobs"); lp >= 0 && d.Nodes[lp].Kind != strictjson.Null {
		text := d.Text(d.Find(msg, "content")) + d.Text(d.Find(msg, "refusal")) + d.Text(d.Find(i, "text"))
		if !wire.RepeatsText(d, lp, []byte(text)) {
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
		r.calls = append(r.calls, callAt{Call: wire.Call{Name: d.Text(d.Find(fn, "name")), Arguments: id}, choice: s.Choice, node: node, message: msg})
	})
}

// eachCall calls f for each tool call of a message: where its function is, or
// its custom tool, its arguments, and what is taken out with it. Of a call
// without a function, or without arguments, that one is -1.
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
	if tc := d.Find(msg, "tool_calls"); tc >= 0 && d.Nodes[tc].Kind == strictjson.Array {
		d.Children(tc, func(c int) bool {
			fn, custom := d.Find(c, "function"), d.Find(c, "custom")
			if fn >= 0 || custom < 0 {
				note(fn, c)
			}
			if custom >= 0 {
				note(custom, c)
			}
			return true
		})
	}
	if fc := d.Find(msg, "function_call"); fc >= 0 && d.Nodes[fc].Kind != strictjson.Null {
		note(fc, fc)
	}
}

// written finds arguments that are JSON and not a string of it.
func (r *Response) written(msg int) {
	r.eachCall(msg, func(_, args, _ int) {
		if args < 0 || r.Doc.Nodes[args].Kind == strictjson.String {
			return
		}
		if r.Whole == nil {
			r.Whole = map[int]bool{}
		}
		r.Whole[args] = true
	})
}

// Calls returns the tool calls of all choices.
func (r *Response) Calls() []wire.Call {
	out := make([]wire.Call, len(r.calls))
	for i := range r.calls {
		out[i] = r.calls[i].Call
	}
	return out
}

// Rewrite returns the response with texts replaced and calls taken out. The
// logprobs of choices whose texts change become null. Where all calls of a
// choice are taken out, its finish_reason becomes "stop".
func (r *Response) Rewrite(edits, refuse map[int]string) []byte {
	if len(edits) == 0 && len(refuse) == 0 && len(r.stray) == 0 && !r.drop && !r.telemetry() {
		return r.Doc.Raw
	}
	w := responseWriter{
		r: r, texts: map[int]string{}, touched: map[int]bool{}, drop: map[int]bool{}, refused: map[int]bool{}, say: map[int]string{}, left: map[int]int{},
	}
	for id, text := range edits {
		if p := r.Part(id); !p.Fixed && p.Opaque == "" {
			w.texts[r.Node(id)] = text
			w.touched[p.Choice] = true
		}
	}
	for i, c := range r.calls {
		if text, ok := refuse[i]; ok {
			w.drop[c.node], w.touched[c.choice], w.refused[c.choice] = true, true, true
			w.say[c.message] += text
		}
	}
	for i, c := range r.calls {
		if _, ok := refuse[i]; !ok && !w.drop[c.node] {
			w.left[c.choice]++
		}
	}
	return w.value(nil, 0, -1)
}

type responseWriter struct {
	r       *Response
	texts   map[int]string
	touched map[int]bool   // choices
	refused map[int]bool   // choices with a refused call
	drop    map[int]bool   // nodes of calls
	say     map[int]string // by message
	left    map[int]int    // by choice: calls that are made
}

func (w *responseWriter) value(dst []byte, i, choice int) []byte {
	d := &w.r.Doc
	n := &d.Nodes[i]
	if n.Parent >= 0 && d.KeyIs(n.Parent, "choices") && n.Kind == strictjson.Object {
		if c, ok := d.Int(d.Find(i, "index")); ok {
			choice = c
		} else {
			choice = n.Index
		}
	}
	switch {
	case d.KeyIs(i, "logprobs") && (w.touched[choice] || w.r.stray[choice] || w.r.drop) ||
		d.KeyIs(i, telemetryKey):
		return append(dst, "null"...)
	case d.KeyIs(i, "content") && w.say[n.Parent] != "":
		return w.content(dst, i)
	case d.KeyIs(i, "finish_reason") && w.refused[choice] && w.left[choice] == 0:
		return append(dst, `"stop"`...)
	case d.KeyIs(i, "function_call") && w.drop[i]:
		return append(dst, "null"...)
	case d.KeyIs(i, "tool_calls") && n.Kind == strictjson.Array && w.refused[choice]:
		return w.calls(dst, i, choice)
	}
	if text, ok := w.texts[i]; ok {
		return w.text(dst, i, text)
	}
	if n.Kind != strictjson.Object && n.Kind != strictjson.Array {
		return append(dst, d.Value(i)...)
	}
	at := n.Start
	if say := w.say[i]; say != "" && d.Find(i, "content") < 0 {
		// A message with calls alone may leave its content out.
		dst = strictjson.AppendQuote(append(dst, `{"content":`...), []byte(say))
		dst, at = append(dst, ','), n.Start+1
	}
	return w.children(dst, i, at, choice)
}

// children writes a value's bytes from at on.
func (w *responseWriter) children(dst []byte, i, at, choice int) []byte {
	d := &w.r.Doc
	n := &d.Nodes[i]
	for c := i + 1; c < n.Next; c = d.Nodes[c].Next {
		dst = append(dst, d.Raw[at:d.Nodes[c].Start]...)
		dst = w.value(dst, c, choice)
		at = d.Nodes[c].End
	}
	return append(dst, d.Raw[at:n.End]...)
}

// content writes a message's content with what is said of its calls.
func (w *responseWriter) content(dst []byte, i int) []byte {
	d := &w.r.Doc
	n := &d.Nodes[i]
	say := w.say[n.Parent]
	if n.Kind == strictjson.Array {
		dst = w.children(dst, i, n.Start, -1)
		dst = dst[:len(dst)-1]
		if n.Next > i+1 {
			dst = append(dst, ',')
		}
		dst = strictjson.AppendQuote(append(dst, `{"type":"text","text":`...), []byte(say))
		return append(dst, "}]"...)
	}
	text, ok := w.texts[i]
	if !ok {
		text = d.Text(i)
	}
	return strictjson.AppendQuote(dst, []byte(text+say))
}

// text writes an edited text. What was JSON and is not any more is left out.
func (w *responseWriter) text(dst []byte, i int, text string) []byte {
	if w.r.Doc.Nodes[i].Kind == strictjson.String {
		return strictjson.AppendQuote(dst, []byte(text))
	}
	var check strictjson.Doc
	if check.Parse([]byte(text), strictjson.Limits{MaxBytes: 2 * len(w.r.Doc.Raw)}) != nil {
		return append(dst, "null"...)
	}
	return append(dst, text...)
}

// calls writes the tool calls that are made.
func (w *responseWriter) calls(dst []byte, i, choice int) []byte {
	if w.left[choice] == 0 {
		return append(dst, "null"...)
	}
	d := &w.r.Doc
	dst = append(dst, '[')
	first := true
	for c := i + 1; c < d.Nodes[i].Next; c = d.Nodes[c].Next {
		if w.drop[c] {
			continue
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = w.value(dst, c, choice)
	}
	return append(dst, ']')
}
