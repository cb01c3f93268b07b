package openaichat

import (
	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/strictjson"
)

// Response is a whole response, of any endpoint, or an error body.
type Response struct {
	document
	calls  []CallAt
	stray  map[int]bool // choices whose logprobs do not repeat their text
	tokens tokens
	// DropLogprobs makes all logprobs null in what Rewrite returns.
	DropLogprobs bool
}

// Tokens returns what the response tells about the tokens of a part that is
// the content of a choice, and its telemetry; nil for nothing.
func (r *Response) Tokens(p *Part) (tokens []flow.Token, telemetry []byte) {
	d := &r.doc
	if p.Field != flow.FieldContent || p.Choice < 0 || r.stray[p.Choice] {
		return nil, nil
	}
	message := d.Nodes[r.node[p.ID]].Parent
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
	return r.tokens.read(d, lp), telemetry
}

// telemetry reports whether any choice has the telemetry extension.
func (r *Response) telemetry() bool {
	for i := range r.doc.Nodes {
		if r.doc.KeyIs(i, telemetryKey) {
			return true
		}
	}
	return false
}

// Logprobs reports whether any choice has logprobs.
func (r *Response) Logprobs() bool {
	d := &r.doc
	for i := range d.Nodes {
		if d.KeyIs(i, "logprobs") && d.Nodes[i].Kind == strictjson.Object {
			return true
		}
	}
	return false
}

// CallAt is a tool call that a response proposes.
type CallAt struct {
	Choice, Index int // Index is -1 for the legacy function_call
	Name          string
	Arguments     int // its part's ID
	node, message int
}

// ParseResponse reads a response. Errors are of type *strictjson.Error.
func ParseResponse(body []byte, lim Limits) (*Response, error) {
	r := &Response{document: document{server: true}}
	if err := r.doc.Parse(body, lim); err != nil {
		return nil, err
	}
	d := &r.doc
	outside := scope{message: -1, choice: -1}
	if d.Nodes[0].Kind != strictjson.Object {
		r.walk(0, outside)
		return r, nil
	}
	d.Children(0, func(c int) bool {
		switch {
		case d.KeyIs(c, "choices") && d.Nodes[c].Kind == strictjson.Array:
			d.Children(c, func(ch int) bool { r.choice(ch); return true })
		default:
			r.walk(c, outside)
		}
		return true
	})
	return r, nil
}

func (r *Response) choice(i int) {
	d := &r.doc
	s := scope{message: -1, choice: d.Nodes[i].Index, role: flow.RoleAssistant}
	if d.Nodes[i].Kind != strictjson.Object {
		r.walk(i, s)
		return
	}
	if n, ok := d.Int(d.Find(i, "index")); ok {
		s.choice = n
	}
	msg := d.Find(i, "message")
	r.written(msg)
	d.Children(i, func(c int) bool {
		if !d.KeyIs(c, "logprobs") {
			r.walk(c, s)
		}
		return true
	})
	if lp := d.Find(i, "logprobs"); lp >= 0 && d.Nodes[lp].Kind != strictjson.Null {
		text := d.Text(d.Find(msg, "content")) + d.Text(d.Find(msg, "refusal")) + d.Text(d.Find(i, "text"))
		if !repeats(d, lp, []byte(text)) {
			if r.stray == nil {
				r.stray = map[int]bool{}
			}
			r.stray[s.choice] = true
		}
	}
	byNode := map[int]int{}
	for id, n := range r.node {
		byNode[n] = id
	}
	r.eachCall(msg, func(fn, args, index, node int) {
		if id, ok := byNode[args]; ok {
			r.parts[id].Field = flow.FieldToolArguments
			r.calls = append(r.calls, CallAt{Choice: s.choice, Index: index, Name: d.Text(d.Find(fn, "name")), Arguments: id, node: node, message: msg})
		}
	})
}

// eachCall calls f for each tool call of a message: where its function is, or
// its custom tool, its arguments, its index, and what is taken out with it.
func (r *Response) eachCall(msg int, f func(fn, args, index, node int)) {
	d := &r.doc
	note := func(fn, index, node int) {
		for _, key := range [...]string{"arguments", "input"} {
			if args := d.Find(fn, key); args >= 0 && d.Nodes[args].Kind != strictjson.Null {
				f(fn, args, index, node)
			}
		}
	}
	if tc := d.Find(msg, "tool_calls"); tc >= 0 && d.Nodes[tc].Kind == strictjson.Array {
		d.Children(tc, func(c int) bool {
			note(d.Find(c, "function"), d.Nodes[c].Index, c)
			note(d.Find(c, "custom"), d.Nodes[c].Index, c)
			return true
		})
	}
	if fc := d.Find(msg, "function_call"); fc >= 0 {
		note(fc, -1, fc)
	}
}

// written finds arguments that are JSON and not a string of it.
func (r *Response) written(msg int) {
	r.eachCall(msg, func(_, args, _, _ int) {
		if r.doc.Nodes[args].Kind == strictjson.String {
			return
		}
		if r.values == nil {
			r.values = map[int]bool{}
		}
		r.values[args] = true
	})
}

// Names returns the identifiers that the server gave.
func (r *Response) Names() []string { return r.names }

// Calls returns the tool calls of all choices.
func (r *Response) Calls() []CallAt { return r.calls }

// Refusals are tool calls to take out of a response, by their place in Calls,
// with what the model's message says instead.
type Refusals map[int]string

// Rewrite returns the response with texts replaced and calls taken out. The
// logprobs of choices whose texts change become null. Where all calls of a
// choice are taken out, its finish_reason becomes "stop".
func (r *Response) Rewrite(edits map[int]string, refuse Refusals) []byte {
	if len(edits) == 0 && len(refuse) == 0 && len(r.stray) == 0 && !r.DropLogprobs && !r.telemetry() {
		return r.doc.Raw
	}
	w := responseWriter{
		r: r, texts: map[int]string{}, touched: map[int]bool{}, drop: map[int]bool{}, refused: map[int]bool{}, say: map[int]string{}, left: map[int]int{},
	}
	for id, text := range edits {
		if p := &r.parts[id]; !p.Key && p.Opaque == "" {
			w.texts[r.node[id]] = text
			w.touched[p.Choice] = true
		}
	}
	for i, c := range r.calls {
		if text, ok := refuse[i]; ok {
			w.drop[c.node], w.touched[c.Choice], w.refused[c.Choice] = true, true, true
			w.say[c.message] += text
		}
	}
	for i, c := range r.calls {
		if _, ok := refuse[i]; !ok && !w.drop[c.node] {
			w.left[c.Choice]++
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
	d := &w.r.doc
	n := &d.Nodes[i]
	if n.Parent >= 0 && d.KeyIs(n.Parent, "choices") && n.Kind == strictjson.Object {
		if c, ok := d.Int(d.Find(i, "index")); ok {
			choice = c
		} else {
			choice = n.Index
		}
	}
	switch {
	case d.KeyIs(i, "logprobs") && (w.touched[choice] || w.r.stray[choice] || w.r.DropLogprobs) ||
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
	d := &w.r.doc
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
	d := &w.r.doc
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
	if w.r.doc.Nodes[i].Kind == strictjson.String {
		return strictjson.AppendQuote(dst, []byte(text))
	}
	var check strictjson.Doc
	if check.Parse([]byte(text), strictjson.Limits{MaxBytes: 2 * len(w.r.doc.Raw)}) != nil {
		return append(dst, "null"...)
	}
	return append(dst, text...)
}

// calls writes the tool calls that are made.
func (w *responseWriter) calls(dst []byte, i, choice int) []byte {
	if w.left[choice] == 0 {
		return append(dst, "null"...)
	}
	d := &w.r.doc
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
