package openaichat

import (
	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/strictjson"
)

// Response is a whole response, of any endpoint, or an error body.
type Response struct {
	document
	calls []CallAt
	stray map[int]bool // choices whose logprobs do not repeat their text
}

// CallAt is a tool call that a response proposes.
type CallAt struct {
	Choice, Index int // Index is -1 for the legacy function_call
	Name          string
	Arguments     int // its part's ID
	node          int
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
	d.Children(i, func(c int) bool {
		if !d.KeyIs(c, "logprobs") {
			r.walk(c, s)
		}
		return true
	})
	msg := d.Find(i, "message")
	if lp := d.Find(i, "logprobs"); lp >= 0 && d.Nodes[lp].Kind != strictjson.Null {
		text := d.Text(d.Find(msg, "content")) + d.Text(d.Find(msg, "refusal")) + d.Text(d.Find(i, "text"))
		if !repeats(d, lp, []byte(text)) {
			if r.stray == nil {
				r.stray = map[int]bool{}
			}
			r.stray[s.choice] = true
		}
	}
	if msg < 0 {
		return
	}
	byNode := map[int]int{}
	for id, n := range r.node {
		byNode[n] = id
	}
	note := func(fn, index, node int) {
		args := d.Find(fn, "arguments")
		if id, ok := byNode[args]; ok && args >= 0 {
			r.calls = append(r.calls, CallAt{Choice: s.choice, Index: index, Name: d.Text(d.Find(fn, "name")), Arguments: id, node: node})
		}
	}
	if tc := d.Find(msg, "tool_calls"); tc >= 0 && d.Nodes[tc].Kind == strictjson.Array {
		d.Children(tc, func(c int) bool {
			note(d.Find(c, "function"), d.Nodes[c].Index, c)
			return true
		})
	}
	if fc := d.Find(msg, "function_call"); fc >= 0 && d.Nodes[fc].Kind == strictjson.Object {
		note(fc, -1, fc)
	}
}

// Calls returns the tool calls of all choices.
func (r *Response) Calls() []CallAt { return r.calls }

// Refusals are tool calls to take out of a response, by their place in Calls,
// with what the model's message says instead.
type Refusals map[int]string

// Rewrite returns the response with texts replaced and calls taken out. The
// logprobs of choices whose texts change become null. Where all calls of a
// choice are taken out, its finish_reason becomes "stop".
func (r *Response) Rewrite(edits map[int]string, refuse Refusals) []byte {
	if len(edits) == 0 && len(refuse) == 0 && len(r.stray) == 0 {
		return r.doc.Raw
	}
	w := responseWriter{r: r, texts: map[int]string{}, touched: map[int]bool{}, drop: map[int]bool{}, say: map[int]string{}}
	for id, text := range edits {
		if p := &r.parts[id]; !p.Key && p.Opaque == "" {
			w.texts[r.node[id]] = text
			w.touched[p.Choice] = true
		}
	}
	left := map[int]int{}
	for i, c := range r.calls {
		if text, ok := refuse[i]; ok {
			w.drop[c.node] = true
			w.touched[c.Choice] = true
			w.say[c.Choice] += text
		} else {
			left[c.Choice]++
		}
	}
	w.left = left
	return w.value(nil, 0, -1)
}

type responseWriter struct {
	r       *Response
	texts   map[int]string
	touched map[int]bool // choices
	drop    map[int]bool // nodes of calls
	say     map[int]string
	left    map[int]int
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
	inMessage := n.Parent >= 0 && d.KeyIs(n.Parent, "message")
	switch {
	case d.KeyIs(i, "logprobs") && (w.touched[choice] || w.r.stray[choice]):
		return append(dst, "null"...)
	case d.KeyIs(i, "content") && inMessage && w.say[choice] != "":
		text, ok := w.texts[i]
		if !ok {
			text = d.Text(i)
		}
		return strictjson.AppendQuote(dst, []byte(text+w.say[choice]))
	case d.KeyIs(i, "finish_reason") && w.say[choice] != "" && w.left[choice] == 0:
		return append(dst, `"stop"`...)
	case d.KeyIs(i, "function_call") && w.drop[i]:
		return append(dst, "null"...)
	case d.KeyIs(i, "tool_calls") && n.Kind == strictjson.Array && w.say[choice] != "":
		if w.left[choice] == 0 {
			return append(dst, "null"...)
		}
		dst = append(dst, '[')
		first := true
		for c := i + 1; c < n.Next; c = d.Nodes[c].Next {
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
	if text, ok := w.texts[i]; ok {
		return strictjson.AppendQuote(dst, []byte(text))
	}
	if n.Kind != strictjson.Object && n.Kind != strictjson.Array {
		return append(dst, d.Value(i)...)
	}
	at := n.Start
	for c := i + 1; c < n.Next; c = d.Nodes[c].Next {
		dst = append(dst, d.Raw[at:d.Nodes[c].Start]...)
		dst = w.value(dst, c, choice)
		at = d.Nodes[c].End
	}
	return append(dst, d.Raw[at:n.End]...)
}
