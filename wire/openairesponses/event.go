package openairesponses

import (
	"bytes"
	"slices"
	"strconv"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/strictjson"
	"github.com/margaydev/margay/wire"
)

// eventParser reads the events of one stream. It reuses its memory and is not
// safe for concurrent use.
type eventParser struct {
	lim    wire.Limits
	told   bool // deltas tell what the server does about their tokens
	doc    strictjson.Doc
	chunk  wire.Chunk
	nodes  []int // by delta: its value, or one of those below
	values []int // nodes that are taken as one text, as they are written
	buf    []byte
	path   []byte
	paths  map[string]string

	kind    []byte // the event's type
	whole   bool   // isWhole of it
	streams bool   // pieceOf has it
	item    int    // its output_index; -1 for none
	part    int    // its content_index, or 0
	seq     int    // its sequence_number; -1 for none
	number  int    // the node of that; -1 for none
	pad     int    // the node of its random padding; -1 for none
	probs   bool   // it has logprobs, which change with its text
	tokens  wire.TokenReader

	learns    bool
	templates [4]template
	latest    int // the template that fitted last
}

// zero are the choices of all events.
var zero = [1]int{0}

// What stands for the node of a delta that has no value of its own.
const (
	inKey   = -1 // an object's key
	nowhere = -2 // the mark of a tool call
)

// none is the item of what belongs to no item.
const none = -1

// alone is the key of a string that is only ever told whole.
var alone = flow.StreamKey{Choice: -1}

var done = []byte("[DONE]")

// parse reads the data of one event. Errors are of type *strictjson.Error. The
// texts of the chunk may point into data.
func (p *eventParser) parse(data []byte) (*wire.Chunk, error) {
	if c := p.recall(data); c != nil {
		return c, nil
	}
	c := &p.chunk
	*c = wire.Chunk{Deltas: c.Deltas[:0], Names: c.Names[:0], Finished: c.Finished[:0], Ended: c.Ended[:0], Choices: zero[:]}
	p.nodes, p.values, p.buf = p.nodes[:0], p.values[:0], p.buf[:0]
	p.kind, p.item, p.part, p.seq, p.number, p.pad, p.probs, p.streams, p.whole = nil, none, 0, -1, -1, -1, false, false, false
	p.tokens.Reset()
	if bytes.Equal(bytes.TrimSpace(data), done) {
		c.Done = true // some servers end with it, as Chat Completions do
		return c, nil
	}
	if err := p.doc.Parse(data, p.lim); err != nil {
		return nil, err
	}
	d := &p.doc
	if d.Nodes[0].Kind != strictjson.Object {
		return nil, &strictjson.Error{Code: strictjson.Syntax, Detail: "a JSON object is expected"}
	}
	if t := d.Find(0, "type"); t >= 0 {
		p.kind = p.bytes(t)
	}
	if n, ok := d.Int(d.Find(0, "output_index")); ok {
		p.item = n
	}
	p.part, _ = d.Int(d.Find(0, "content_index"))
	p.event()
	p.keys()
	p.logprobs()
	p.learn(data)
	return c, nil
}

// event reads the members of an event.
func (p *eventParser) event() {
	d, c := &p.doc, &p.chunk
	pc, streams := pieceOf(p.kind)
	all := isWhole(p.kind)
	p.streams, p.whole = streams, all
	for i, end := 1, d.Nodes[0].Next; i < end; i = d.Nodes[i].Next {
		n := &d.Nodes[i]
		key := d.KeyBytes(i)
		switch {
		case string(key) == "type" && n.Kind == strictjson.String:
			if isType(p.kind) {
				if !all {
					c.Names = append(c.Names, p.kind)
				}
				continue
			}
			if all {
				continue
			}
		case string(key) == "sequence_number" && n.Kind == strictjson.Number:
			p.number = i
			if v, ok := d.Int(i); ok {
				p.seq = v
			}
			continue
		case string(key) == "obfuscation" && n.Kind == strictjson.String:
			p.pad = i
			c.Names = append(c.Names, p.bytes(i))
			continue
		case streams && string(key) == pc.member && n.Kind == strictjson.String:
			k := flow.StreamKey{Item: p.item, Field: pc.field, Path: p.pathOf(&pc)}
			p.add(i, k, pc.done)
			continue
		case string(key) == "item" && n.Kind == strictjson.Object:
			p.output(i, p.item, string(p.kind) == "response.output_item.added")
			continue
		case string(key) == "part" && n.Kind == strictjson.Object:
			p.eventPart(i)
			continue
		case string(key) == "response" && n.Kind == strictjson.Object:
			p.response(i)
			continue
		case isLogprobs(d, i):
			continue
		case string(key) == "delta" && string(p.kind) == "response.audio.delta" && n.Kind == strictjson.String && wire.IsBase64(p.bytes(i)):
			continue
		case string(key) == "delta" && (string(p.kind) == "response.shell_call_output_content.delta" || string(p.kind) == "response.audio.delta"):
			p.pieces(i)
			continue
		}
		if all {
			p.wholes(i)
		} else {
			p.pieces(i)
		}
	}
	switch string(p.kind) {
	case "response.output_item.done":
		if p.item >= 0 {
			c.Ended = append(c.Ended, flow.Item{Item: p.item})
		}
	case "response.completed", "response.incomplete", "response.failed", "response.cancelled":
		c.Done = true
		c.Finished = append(c.Finished, wire.Finished{Reason: p.reason()})
	case "error":
		c.Error = true
	}
}

// reason avoids an allocation for the reasons that the API has.
func (p *eventParser) reason() string {
	for _, s := range [...]string{"completed", "incomplete", "failed"} {
		if string(p.kind) == "response."+s {
			return s
		}
	}
	return "cancelled"
}

// bytes returns the decoded text of a string.
func (p *eventParser) bytes(node int) []byte {
	if !p.doc.Nodes[node].Escaped {
		return p.doc.Bytes(node)
	}
	at := len(p.buf)
	p.buf = p.doc.AppendBytes(p.buf, node)
	return p.buf[at:]
}

// pathOf returns the path of the text that an event streams.
func (p *eventParser) pathOf(pc *piece) string {
	if pc.index == "" {
		return pc.before
	}
	n, _ := p.doc.Int(p.doc.Find(0, pc.index))
	return p.join(pc.before, n, pc.after)
}

// join returns a path. It makes each but once.
func (p *eventParser) join(before string, n int, after string) string {
	p.path = strconv.AppendInt(append(p.path[:0], before...), int64(n), 10)
	return p.intern(append(p.path, after...))
}

func (p *eventParser) intern(b []byte) string {
	p.path = b
	if s, ok := p.paths[string(b)]; ok {
		return s
	}
	const many = 4096 // more are no paths of a real stream
	if p.paths == nil || len(p.paths) >= many {
		p.paths = map[string]string{}
	}
	s := string(b)
	p.paths[s] = s
	return s
}

// response reads a response object. Before its end it echoes the request, and
// what it has of its output is not yet a copy.
func (p *eventParser) response(i int) {
	d, c := &p.doc, &p.chunk
	ends := string(p.kind) != "response.created" && string(p.kind) != "response.in_progress" && string(p.kind) != "response.queued"
	for j := i + 1; j < d.Nodes[i].Next; j = d.Nodes[j].Next {
		n := &d.Nodes[j]
		switch key := d.KeyBytes(j); {
		case string(key) == "id" && n.Kind == strictjson.String && isID(key, content(d, j)):
			c.ID = p.bytes(j)
		case string(key) == "model" && n.Kind == strictjson.String && wire.IsModel(content(d, j)):
			c.Names = append(c.Names, p.bytes(j))
			continue
		case string(key) == "usage":
			c.Usage = n.Kind == strictjson.Object
		case string(key) == "top_logprobs":
			if v, ok := d.Int(j); ok && v > 0 {
				c.Logprobs = true
			}
		case string(key) == "output" && n.Kind == strictjson.Array && ends:
			for k := j + 1; k < n.Next; k = d.Nodes[k].Next {
				if d.Nodes[k].Kind == strictjson.Object {
					p.output(k, d.Nodes[k].Index, false)
				} else {
					p.wholes(k)
				}
			}
			continue
		}
		p.wholes(j)
	}
}

// output reads an item of the output. One that was only begun has the first
// pieces of its texts, any other all of them.
func (p *eventParser) output(i, item int, begun bool) {
	d := &p.doc
	typ := d.Bytes(max(d.Find(i, "type"), 0))
	call := isCall(typ)
	if call {
		// The event waits for the call's decision, and goes with it.
		p.place(nowhere, flow.StreamKey{Item: item, Field: flow.FieldToolArguments, Path: callMark}, nil)
	}
	for j := i + 1; j < d.Nodes[i].Next; j = d.Nodes[j].Next {
		n := &d.Nodes[j]
		k := flow.StreamKey{Item: item, Field: flow.FieldToolArguments}
		switch key := d.KeyBytes(j); {
		case call && string(key) == "name" && n.Kind == strictjson.String:
			k.Field = flow.FieldToolName
		case string(typ) == "function_call" && string(key) == "arguments" && n.Kind != strictjson.Null:
			k.Path = "arguments"
		case string(typ) == "custom_tool_call" && string(key) == "input" && n.Kind != strictjson.Null:
			k.Path = "input"
		case call && (string(key) == "action" || string(key) == "actions" || string(key) == "operation"):
			p.callTexts(j, i, item, begun)
			continue
		case string(typ) == "mcp_call" && string(key) == "arguments" && n.Kind == strictjson.String:
			k.Field, k.Path = flow.FieldOther, "arguments"
		case string(typ) == "code_interpreter_call" && string(key) == "code" && n.Kind == strictjson.String:
			k.Field, k.Path = flow.FieldOther, "code"
		case (string(key) == "content" || string(key) == "summary") && n.Kind == strictjson.Array:
			before := p.intern(append(append(p.path[:0], key...), '['))
			for c := j + 1; c < n.Next; c = d.Nodes[c].Next {
				if d.Nodes[c].Kind == strictjson.Object {
					p.contentPart(c, item, p.join(before, d.Nodes[c].Index, "]"), begun)
				} else {
					p.wholes(c)
				}
			}
			continue
		default:
			p.wholes(j)
			continue
		}
		p.text(j, k, begun)
	}
}

// callMark is the path of the text that an event has for a call that it says
// nothing of.
const callMark = "call"

// text takes a text that is streamed too.
func (p *eventParser) text(node int, k flow.StreamKey, begun bool) {
	if begun && p.doc.Nodes[node].Kind == strictjson.String && len(p.bytes(node)) == 0 {
		return // it has not begun
	}
	p.add(node, k, !begun)
}

// callTexts takes the strings of a call's action.
func (p *eventParser) callTexts(node, base, item int, begun bool) {
	d := &p.doc
	above := len(d.Path(base))
	for i := node; i < d.Nodes[node].Next; i++ {
		n := &d.Nodes[i]
		if n.Kind != strictjson.String || structural(d.KeyBytes(i), content(d, i)) {
			continue
		}
		at := d.Path(i)[above:]
		if len(at) > 0 && at[0] == '.' {
			at = at[1:]
		}
		p.text(i, flow.StreamKey{Item: item, Field: flow.FieldToolArguments, Path: p.intern(append(p.path[:0], at...))}, begun)
	}
}

// eventPart reads the part that an event begins or ends.
func (p *eventParser) eventPart(i int) {
	d := &p.doc
	begun := !bytes.HasSuffix(p.kind, []byte(".done"))
	if n, ok := d.Int(d.Find(0, "summary_index")); ok {
		p.contentPart(i, p.item, p.join("summary[", n, "]"), begun)
		return
	}
	n, _ := d.Int(d.Find(0, "content_index"))
	p.contentPart(i, p.item, p.join("content[", n, "]"), begun)
}

// contentPart reads a part of a message's content or of a reasoning's.
func (p *eventParser) contentPart(i, item int, base string, begun bool) {
	d := &p.doc
	for j := i + 1; j < d.Nodes[i].Next; j = d.Nodes[j].Next {
		n := &d.Nodes[j]
		k := flow.StreamKey{Item: item}
		switch key := d.KeyBytes(j); {
		case string(key) == "text" && n.Kind == strictjson.String:
			k.Field = textField(d.Bytes(max(d.Find(i, "type"), 0)))
			k.Path = p.intern(append(append(p.path[:0], base...), ".text"...))
		case string(key) == "refusal" && n.Kind == strictjson.String:
			k.Field = flow.FieldRefusal
			k.Path = p.intern(append(append(p.path[:0], base...), ".refusal"...))
		case isLogprobs(d, j):
			continue
		default:
			p.wholes(j)
			continue
		}
		p.text(j, k, begun)
	}
}

// textField says what text the part of a type has.
func textField(typ []byte) flow.Field {
	if string(typ) == "reasoning_text" || string(typ) == "summary_text" {
		return flow.FieldReasoning
	}
	return flow.FieldContent
}

// skip reports whether a string is no text, and tells names.
func (p *eventParser) skip(i int) bool {
	d := &p.doc
	key, raw := d.KeyBytes(i), content(d, i)
	if structural(key, raw) || opaque(d, i) != "" {
		return true
	}
	if isID(key, raw) || sealed(key, raw) {
		p.chunk.Names = append(p.chunk.Names, raw)
		return true
	}
	return false
}

// wholes takes every string below node i as a text of its own.
func (p *eventParser) wholes(i int) {
	d := &p.doc
	for j := i; j < d.Nodes[i].Next; j++ {
		if isLogprobs(d, j) {
			j = d.Nodes[j].Next - 1
			continue
		}
		if d.Nodes[j].Kind == strictjson.String && !p.skip(j) {
			p.add(j, alone, false)
		}
	}
}

// pieces takes every string below node i as a piece of the text at its place:
// another event of the type may go on with it.
func (p *eventParser) pieces(i int) {
	d := &p.doc
	for j := i; j < d.Nodes[i].Next; j++ {
		if isLogprobs(d, j) {
			j = d.Nodes[j].Next - 1
			continue
		}
		if d.Nodes[j].Kind != strictjson.String || p.skip(j) {
			continue
		}
		n, _ := d.Int(d.Find(0, "command_index"))
		p.path = append(append(p.path[:0], p.kind...), '[')
		p.path = append(strconv.AppendInt(p.path, int64(n), 10), ']')
		p.add(j, flow.StreamKey{Item: p.item, Path: p.intern(append(p.path, d.Path(j)...))}, false)
	}
}

// keys takes every key that the API does not know as text.
func (p *eventParser) keys() {
	d := &p.doc
	for i := 0; i < len(d.Nodes); i++ {
		n := &d.Nodes[i]
		if n.KeyEnd-n.KeyStart >= 4 {
			if key := d.KeyBytes(i); len(key) >= 4 && !knownKey(key) {
				p.place(inKey, flow.StreamKey{Choice: -1, Path: "key"}, key)
			}
		}
		if slices.Contains(p.values, i) {
			i = n.Next - 1 // its keys are part of its text
		}
	}
}

// add takes a value as a text: a string's content, anything else as it is
// written.
func (p *eventParser) add(node int, k flow.StreamKey, repeats bool) {
	text := p.doc.Value(node)
	if p.doc.Nodes[node].Kind == strictjson.String {
		text = p.bytes(node)
	} else {
		p.values = append(p.values, node)
	}
	p.place(node, k, text)
	p.chunk.Deltas[len(p.chunk.Deltas)-1].Copy = repeats
}

func (p *eventParser) place(node int, k flow.StreamKey, text []byte) {
	p.chunk.Deltas = append(p.chunk.Deltas, flow.Delta{Key: k, Text: text})
	p.nodes = append(p.nodes, node)
}

// logprobs looks at all there are. They repeat the text beside them, and go
// out or not together with it.
func (p *eventParser) logprobs() {
	d, c := &p.doc, &p.chunk
	for i := range d.Nodes {
		if !isLogprobs(d, i) {
			continue
		}
		c.Logprobs, p.probs = true, true
		at := textBeside(d, d.Nodes[i].Parent)
		k := slices.Index(p.nodes, at)
		if k < 0 || c.Deltas[k].Key.Field != flow.FieldContent || !wire.RepeatsText(d, i, c.Deltas[k].Text) {
			c.Stray = true
			continue
		}
		if p.told && len(c.Deltas[k].Text) > 0 {
			c.Deltas[k].Tokens = p.tokens.Read(d, i)
		}
	}
}

// isLogprobs reports whether a node is a list of tokens.
func isLogprobs(d *strictjson.Doc, i int) bool {
	n := &d.Nodes[i]
	return n.Kind == strictjson.Array && n.Next > i+1 && d.KeyIs(i, "logprobs") && d.Find(i+1, "token") >= 0
}

// textBeside returns the node of the text that an object's logprobs repeat.
func textBeside(d *strictjson.Doc, object int) int {
	if i := d.Find(object, "delta"); i >= 0 {
		return i
	}
	return d.Find(object, "text")
}
