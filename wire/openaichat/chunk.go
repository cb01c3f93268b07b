package openaichat

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/strictjson"
)

// Chunk is what one event of a stream says. Its slices are valid until the
// parser's next call.
type Chunk struct {
	Done     bool // the end marker [DONE]
	Error    bool // an error object in mid-stream
	Deltas   []flow.Delta
	Finished []Finished
	Choices  []int // indexes of the choices that the chunk has something for
	Usage    bool
	// Stray: there are logprobs that do not repeat the text of the chunk. As
	// nobody has looked at them, they must be dropped (Edit.DropLogprobs).
	Stray bool
}

// Finished is a choice that has ended.
type Finished struct {
	Choice int
	Reason string
}

// ChunkParser reads the chunks of one stream. It reuses its memory and is not
// safe for concurrent use.
type ChunkParser struct {
	Limits Limits
	doc    strictjson.Doc
	chunk  Chunk
	nodes  []int // by delta: its string; -1 for a key
	text   []byte
	probs  bool // the chunk has logprobs, which change with its text
	tmpl   template
}

var done = []byte("[DONE]")

// Parse reads the data of one event. Errors are of type *strictjson.Error. The
// texts of the chunk may point into data.
func (p *ChunkParser) Parse(data []byte) (*Chunk, error) {
	c := &p.chunk
	if p.same(data) {
		return c, nil
	}
	p.tmpl.set = false
	*c = Chunk{Deltas: c.Deltas[:0], Finished: c.Finished[:0], Choices: c.Choices[:0]}
	p.nodes, p.probs = p.nodes[:0], false
	if bytes.Equal(bytes.TrimSpace(data), done) {
		c.Done = true
		return c, nil
	}
	if err := p.doc.Parse(data, p.Limits); err != nil {
		return nil, err
	}
	d := &p.doc
	if d.Nodes[0].Kind != strictjson.Object {
		return nil, &strictjson.Error{Code: strictjson.Syntax, Detail: "a JSON object is expected"}
	}
	for i, end := 1, d.Nodes[0].Next; i < end; i = d.Nodes[i].Next {
		n := &d.Nodes[i]
		key := d.Raw[n.KeyStart:n.KeyEnd]
		switch string(key) {
		case "choices":
			if n.Kind != strictjson.Array {
				break
			}
			for j := i + 1; j < n.Next; j = d.Nodes[j].Next {
				p.choice(j)
			}
			continue
		case "usage":
			c.Usage = n.Kind == strictjson.Object
		case "error":
			c.Error = n.Kind != strictjson.Null
		case "obfuscation":
			continue // random padding of the server's
		case "model":
			if n.Kind == strictjson.String && isModel(d.Raw[n.Start+1:n.End-1]) {
				continue
			}
		}
		p.others(i, -1, flow.StreamKey{Choice: -1})
	}
	p.keys()
	p.learn(data)
	return c, nil
}

func isModel(b []byte) bool {
	return len(b) <= 96 && isName(bytes.ReplaceAll(b, []byte("/"), nil), 96)
}

// keys takes every key that the API does not know as text.
func (p *ChunkParser) keys() {
	d := &p.doc
	for i := range d.Nodes {
		n := &d.Nodes[i]
		if n.KeyEnd-n.KeyStart < 8 || knownKey(d.Raw[n.KeyStart:n.KeyEnd]) {
			continue
		}
		p.chunk.Deltas = append(p.chunk.Deltas, flow.Delta{Key: flow.StreamKey{Choice: -1, Path: "key"}, Text: []byte(d.Key(i))})
		p.nodes = append(p.nodes, -1)
	}
}

func (p *ChunkParser) choice(i int) {
	d, c := &p.doc, &p.chunk
	index, ok := d.Int(d.Find(i, "index"))
	if !ok {
		index = d.Nodes[i].Index
	}
	c.Choices = append(c.Choices, index)
	if d.Nodes[i].Kind != strictjson.Object {
		p.others(i, -1, flow.StreamKey{Choice: index})
		return
	}
	logprobs, first := -1, len(c.Deltas)
	for j := i + 1; j < d.Nodes[i].Next; j = d.Nodes[j].Next {
		n := &d.Nodes[j]
		switch string(d.Raw[n.KeyStart:n.KeyEnd]) {
		case "delta", "message":
			if n.Kind == strictjson.Object {
				p.delta(j, index)
				continue
			}
		case "logprobs":
			// They repeat the text, and go out or not together with it.
			logprobs = j
			continue
		case "finish_reason":
			if n.Kind == strictjson.String {
				c.Finished = append(c.Finished, Finished{index, reason(d.Raw[n.Start+1 : n.End-1])})
			}
		case "text":
			if n.Kind == strictjson.String {
				p.add(j, flow.StreamKey{Choice: index, Field: flow.FieldContent})
				continue
			}
		}
		p.others(j, i, flow.StreamKey{Choice: index})
	}
	if logprobs >= 0 && d.Nodes[logprobs].Kind != strictjson.Null {
		p.probs = true
		p.text = p.text[:0]
		for _, delta := range c.Deltas[first:] {
			if delta.Key.Field == flow.FieldContent || delta.Key.Field == flow.FieldRefusal {
				p.text = append(p.text, delta.Text...)
			}
		}
		c.Stray = c.Stray || !repeats(d, logprobs, p.text)
	}
}

// maxToken bounds an alternative token of logprobs: longer ones are no tokens.
const maxToken = 32

// repeats reports whether the tokens of logprobs are those of a text, and
// their alternatives no longer than tokens are.
func repeats(d *strictjson.Doc, node int, text []byte) bool {
	for i := node; i < d.Nodes[node].Next; i++ {
		n := &d.Nodes[i]
		if n.Kind != strictjson.String {
			continue
		}
		t := d.Bytes(i)
		if !d.KeyIs(i, "token") || len(t) > maxToken && !bytes.HasPrefix(text, t) {
			return false
		}
		// Tokens of the text stand two levels below: content[i].token.
		if up := d.Nodes[i].Parent; d.Nodes[d.Nodes[up].Parent].Parent == node {
			rest, ok := bytes.CutPrefix(text, t)
			if !ok {
				return false
			}
			text = rest
		}
	}
	return len(text) == 0
}

// reason avoids an allocation for the reasons that the API has.
func reason(b []byte) string {
	for _, s := range [...]string{"stop", "tool_calls", "length", "content_filter", "function_call"} {
		if string(b) == s {
			return s
		}
	}
	return string(b)
}

func (p *ChunkParser) delta(i, choice int) {
	d := &p.doc
	for j := i + 1; j < d.Nodes[i].Next; j = d.Nodes[j].Next {
		n := &d.Nodes[j]
		key := d.Raw[n.KeyStart:n.KeyEnd]
		k := flow.StreamKey{Choice: choice}
		switch string(key) {
		case "role":
			if n.Kind == strictjson.String && isWord(d.Raw[n.Start+1:n.End-1]) {
				continue
			}
		case "tool_calls":
			if n.Kind == strictjson.Array {
				for t := j + 1; t < n.Next; t = d.Nodes[t].Next {
					p.call(t, choice)
				}
				continue
			}
		case "function_call":
			if n.Kind == strictjson.Object {
				p.function(j, flow.StreamKey{Choice: choice, Item: -1})
				continue
			}
		}
		if f, ok := fieldOf(string(key)); ok && n.Kind == strictjson.String {
			k.Field = f
			p.add(j, k)
			continue
		}
		p.others(j, i, k)
	}
}

func (p *ChunkParser) call(i, choice int) {
	d := &p.doc
	k := flow.StreamKey{Choice: choice}
	if n, ok := d.Int(d.Find(i, "index")); ok {
		k.Item = n
	} else {
		k.Item = d.Nodes[i].Index
	}
	if d.Nodes[i].Kind != strictjson.Object {
		p.others(i, -1, k)
		return
	}
	for j := i + 1; j < d.Nodes[i].Next; j = d.Nodes[j].Next {
		if d.KeyIs(j, "function") && d.Nodes[j].Kind == strictjson.Object {
			p.function(j, k)
			continue
		}
		p.others(j, i, k)
	}
}

func (p *ChunkParser) function(i int, k flow.StreamKey) {
	d := &p.doc
	for j := i + 1; j < d.Nodes[i].Next; j = d.Nodes[j].Next {
		n := &d.Nodes[j]
		f := k
		switch {
		case d.KeyIs(j, "arguments") && n.Kind == strictjson.String:
			f.Field = flow.FieldToolArguments
			p.add(j, f)
		case d.KeyIs(j, "name") && n.Kind == strictjson.String:
			f.Field = flow.FieldToolName
			p.add(j, f)
		default:
			p.others(j, i, k)
		}
	}
}

// others takes every string below node i as text of its own place.
func (p *ChunkParser) others(i, base int, k flow.StreamKey) {
	d := &p.doc
	for j := i; j < d.Nodes[i].Next; j++ {
		n := &d.Nodes[j]
		if n.Kind != strictjson.String || structural(d.Raw[n.KeyStart:n.KeyEnd], d.Raw[n.Start+1:n.End-1]) {
			continue
		}
		o := k
		o.Field = flow.FieldOther
		o.Path = d.Path(j)
		if base >= 0 {
			o.Path = strings.TrimPrefix(o.Path, d.Path(base)+".")
		}
		p.add(j, o)
	}
}

func (p *ChunkParser) add(node int, k flow.StreamKey) {
	p.chunk.Deltas = append(p.chunk.Deltas, flow.Delta{Key: k, Text: p.doc.Bytes(node)})
	p.nodes = append(p.nodes, node)
}

// Edit changes one chunk.
type Edit struct {
	// Text has new texts by the delta's place in Chunk.Deltas.
	Text map[int][]byte
	// Call says what becomes of a tool call: its new index, or drop. Nil
	// keeps all as they are. The legacy function_call has the index -1.
	Call func(choice, index int) (newIndex int, drop bool)
	// DropLogprobs makes all logprobs null.
	DropLogprobs bool
	// Finish says what a finish_reason becomes. Nil keeps it.
	Finish func(choice int, reason string) string
}

// errKey says that an edit is in an object's key, which has no place for it.
var errKey = errors.New("an object's key can't be edited")

// Render returns the data of a chunk with an edit applied. The logprobs of a
// choice whose text changed become null, for they repeat it, and the server's
// random padding is left as it is.
func Render(data []byte, e *Edit, lim Limits) ([]byte, error) {
	p := ChunkParser{Limits: lim}
	if _, err := p.Parse(data); err != nil {
		return nil, fmt.Errorf("chunk to edit: %w", err)
	}
	d := &p.doc
	r := renderer{p: &p, e: e, texts: map[int][]byte{}, touched: map[int]bool{}}
	for i, text := range e.Text {
		if i < len(p.nodes) {
			if p.nodes[i] < 0 {
				return nil, errKey
			}
			r.texts[p.nodes[i]] = text
			for up := p.nodes[i]; up >= 0; up = d.Nodes[up].Parent {
				r.touched[up] = true
			}
		}
	}
	return r.value(nil, 0, -1), nil
}

type renderer struct {
	p       *ChunkParser
	e       *Edit
	texts   map[int][]byte
	touched map[int]bool // nodes above an edited text
}

// value writes node i, copying what no edit reaches.
func (r *renderer) value(dst []byte, i, choice int) []byte {
	d := &r.p.doc
	n := &d.Nodes[i]
	if text, ok := r.texts[i]; ok {
		return strictjson.AppendQuote(dst, text)
	}
	if n.Parent >= 0 && d.KeyIs(n.Parent, "choices") && n.Kind == strictjson.Object {
		if c, ok := d.Int(d.Find(i, "index")); ok {
			choice = c
		} else {
			choice = n.Index
		}
	}
	switch {
	case d.KeyIs(i, "logprobs") && (r.touched[n.Parent] || r.e.DropLogprobs):
		return append(dst, "null"...)
	case d.KeyIs(i, "finish_reason") && n.Kind == strictjson.String && r.e.Finish != nil:
		return strictjson.AppendQuote(dst, []byte(r.e.Finish(choice, d.Text(i))))
	case d.KeyIs(i, "function_call") && n.Kind == strictjson.Object && r.e.Call != nil:
		if _, drop := r.e.Call(choice, -1); drop {
			return append(dst, "null"...)
		}
	case d.KeyIs(i, "tool_calls") && n.Kind == strictjson.Array && r.e.Call != nil:
		return r.calls(dst, i, choice)
	}
	if n.Kind != strictjson.Object && n.Kind != strictjson.Array {
		return append(dst, d.Value(i)...)
	}
	at := n.Start
	for c := i + 1; c < n.Next; c = d.Nodes[c].Next {
		dst = append(dst, d.Raw[at:d.Nodes[c].Start]...)
		dst = r.value(dst, c, choice)
		at = d.Nodes[c].End
	}
	return append(dst, d.Raw[at:n.End]...)
}

func (r *renderer) calls(dst []byte, i, choice int) []byte {
	d := &r.p.doc
	dst = append(dst, '[')
	first := true
	for c := i + 1; c < d.Nodes[i].Next; c = d.Nodes[c].Next {
		at := d.Find(c, "index")
		index, ok := d.Int(at)
		if !ok {
			index = d.Nodes[c].Index
		}
		now, drop := r.e.Call(choice, index)
		if drop {
			continue
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		if ok && now != index {
			// Write the call with its new index in place.
			from := len(dst)
			dst = r.value(dst, c, choice)
			dst = reindex(dst, from, now)
			continue
		}
		dst = r.value(dst, c, choice)
	}
	return append(dst, ']')
}

// reindex sets the index of the call object written at dst[from:].
func reindex(dst []byte, from, index int) []byte {
	var d strictjson.Doc
	if d.Parse(dst[from:], Limits{}) != nil {
		return dst
	}
	n := &d.Nodes[d.Find(0, "index")]
	return strictjson.Apply(bytes.Clone(dst[:from]), d.Raw, []strictjson.Splice{{Start: n.Start, End: n.End, Text: fmt.Append(nil, index)}})
}

// Style is how a stream writes its chunks, learnt from its first.
type Style struct{ head []byte }

// StyleOf learns the style of a stream from one of its chunks.
func StyleOf(data []byte) Style {
	var d strictjson.Doc
	s := Style{}
	if d.Parse(data, Limits{}) != nil || d.Nodes[0].Kind != strictjson.Object {
		return s
	}
	d.Children(0, func(c int) bool {
		switch k := d.Key(c); k {
		case "id", "object", "created", "model", "system_fingerprint":
			s.head = strictjson.AppendQuote(s.head, []byte(k))
			s.head = append(s.head, ':')
			s.head = append(s.head, d.Value(c)...)
			s.head = append(s.head, ',')
		}
		return true
	})
	return s
}

// Content returns the data of a chunk that adds content to a choice.
func (s Style) Content(choice int, text string) []byte {
	b := append([]byte{'{'}, s.head...)
	b = fmt.Appendf(b, `"choices":[{"index":%d,"delta":{"content":`, choice)
	b = strictjson.AppendQuote(b, []byte(text))
	return append(b, `},"finish_reason":null}]}`...)
}

// Finish returns the data of a chunk that ends a choice.
func (s Style) Finish(choice int, reason string) []byte {
	b := append([]byte{'{'}, s.head...)
	b = fmt.Appendf(b, `"choices":[{"index":%d,"delta":{},"finish_reason":`, choice)
	b = strictjson.AppendQuote(b, []byte(reason))
	return append(b, `}]}`...)
}

// ErrorBody returns an error in the API's shape, for whole responses and for
// the data of an event.
func ErrorBody(message, typ, code string) []byte {
	b := []byte(`{"error":{"message":`)
	b = strictjson.AppendQuote(b, []byte(message))
	b = append(b, `,"type":`...)
	b = strictjson.AppendQuote(b, []byte(typ))
	b = append(b, `,"param":null,"code":`...)
	b = strictjson.AppendQuote(b, []byte(code))
	return append(b, `}}`...)
}
