package openairesponses

import (
	"bytes"
	"strconv"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/strictjson"
	"github.com/margaydev/margay/wire"
	"github.com/margaydev/margay/wire/body"
	"github.com/margaydev/margay/wire/events"
)

// eventParser reads the events of one stream. It reuses its memory and is not
// safe for concurrent use.
type eventParser struct {
	events.Reader
	about
	streams bool // pieces has its type
	path    []byte
	paths   body.Interner
	of      [events.Templates]about
	command int // the event's command_index, or 0; negative until it is read
}

// about is what an event is about.
type about struct {
	kind  []byte // its type
	whole bool   // isWhole of it
	item  int    // its output_index; -1 for none
	part  int    // its content_index, or 0
}

// all are the choices of every event.
var all = []int{0}

// none is the item of a text outside items.
const none = -1

// alone is the key of a string that is only sent whole.
var alone = flow.StreamKey{Choice: -1}

// parse reads the data of one event. Errors are of type *strictjson.Error. The
// texts of the chunk may point into data.
func (p *eventParser) parse(data []byte) (*wire.Chunk, error) {
	if c, slot := p.Recall(nil, data); c != nil {
		p.about = p.of[slot]
		return c, nil
	}
	p.Start()
	p.about, p.streams, p.command = about{item: none}, false, -1
	c, d := &p.Chunk, &p.Doc
	c.Choices = all
	if c.Done = events.IsDone(data); c.Done {
		return c, nil // some servers end with it, as Chat Completions do
	}
	if err := p.Read(data, vocabulary); err != nil {
		return nil, err
	}
	if t := d.Find(0, "type"); t >= 0 {
		p.kind = p.Bytes(t)
	}
	if n, ok := d.Int(d.Find(0, "output_index")); ok {
		p.item = n
	}
	p.part, _ = d.Int(d.Find(0, "content_index"))
	p.event()
	p.Keys()
	p.logprobs()
	if p.streams && len(c.Deltas) == 1 && c.Deltas[0].Key.Choice >= 0 {
		if slot := p.Learn(nil, data, true); slot >= 0 {
			kind := append(p.of[slot].kind[:0], p.kind...)
			p.of[slot] = p.about
			p.of[slot].kind = kind
		}
	}
	return c, nil
}

// reasons are what a response ends as.
var reasons = []string{"completed", "incomplete", "failed", "cancelled"}

// event reads the members of an event.
func (p *eventParser) event() {
	d, c := &p.Doc, &p.Chunk
	pc, streams := pieces[string(p.kind)]
	p.streams, p.whole = streams, isWhole(p.kind)
	for i := range d.All(0) {
		n := &d.Nodes[i]
		key, text, object := string(d.KeyBytes(i)), n.Kind == strictjson.String, n.Kind == strictjson.Object
		switch {
		case key == "type" && text && isType(p.kind):
			if !p.whole {
				p.Name(p.kind)
			}
		case key == "type" && text && p.whole:
		case key == "sequence_number" && n.Kind == strictjson.Number:
			p.Number = i
			if v, ok := d.Int(i); ok {
				p.Seq = v
			}
		case key == "obfuscation" && text:
			p.Padding(i)
		case streams && key == pc.member && text:
			p.add(i, flow.StreamKey{Item: p.item, Field: pc.field, Path: p.pathOf(&pc)}, pc.done)
		case key == "item" && object:
			p.output(i, p.item, string(p.kind) == "response.output_item.added")
		case key == "part" && object:
			p.eventPart(i)
		case key == "response" && object:
			p.response(i)
		case isLogprobs(d, i):
		case key == "delta" && string(p.kind) == "response.audio.delta" && text && body.IsBase64(p.Bytes(i)):
		case !p.whole, key == "delta" && (string(p.kind) == "response.shell_call_output_content.delta" || string(p.kind) == "response.audio.delta"):
			p.pieces(i)
		default:
			p.wholes(i)
		}
	}
	switch string(p.kind) {
	case "response.output_item.done":
		if p.item >= 0 {
			c.Ended = append(c.Ended, flow.Item{Item: p.item})
		}
	case "response.completed", "response.incomplete", "response.failed", "response.cancelled":
		c.Done = true
		c.Finished = append(c.Finished, wire.Finished{Reason: events.Reason(p.kind[len("response."):], reasons)})
	case "error":
		c.Error = true
	}
}

// pathOf returns the path of the text that an event streams.
func (p *eventParser) pathOf(pc *piece) string {
	if pc.index == "" {
		return pc.before
	}
	n, _ := p.Doc.Int(p.Doc.Find(0, pc.index))
	return p.join(pc.before, n, pc.after)
}

// join returns a path. It makes each only once.
func (p *eventParser) join(before string, n int, after string) string {
	p.path = strconv.AppendInt(append(p.path[:0], before...), int64(n), 10)
	return p.intern(append(p.path, after...))
}

func (p *eventParser) intern(b []byte) string {
	p.path = b
	return p.paths.String(b)
}

// response reads a response object. Before its end it echoes the request, and
// what it has of its output is not yet a copy.
func (p *eventParser) response(i int) {
	d, c := &p.Doc, &p.Chunk
	ends := string(p.kind) != "response.created" && string(p.kind) != "response.in_progress" && string(p.kind) != "response.queued"
	for j := range d.All(i) {
		n := &d.Nodes[j]
		switch key := d.KeyBytes(j); {
		case string(key) == "id" && n.Kind == strictjson.String && vocabulary.IsID(key, body.Content(d, j)):
			c.ID = p.Bytes(j)
		case string(key) == "model" && n.Kind == strictjson.String && body.IsModel(body.Content(d, j)):
			p.Name(p.Bytes(j))
			continue
		case string(key) == "usage":
			c.Usage = n.Kind == strictjson.Object
		case string(key) == "top_logprobs":
			if v, ok := d.Int(j); ok && v > 0 {
				c.Logprobs = true
			}
		case string(key) == "output" && n.Kind == strictjson.Array && ends:
			for k := range d.All(j) {
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

// output reads an item of the output. One that was only started has the first
// pieces of its texts, any other all of them.
func (p *eventParser) output(i, item int, started bool) {
	d := &p.Doc
	typ := typeOf(d, i)
	call := isCall(typ)
	if call {
		// The event waits for the call's decision, and goes with it.
		p.Mark(flow.StreamKey{Item: item, Path: callMark})
	}
	for j := range d.All(i) {
		n := &d.Nodes[j]
		key := string(d.KeyBytes(j))
		streamed := string(typ) == "function_call" && key == "arguments" || string(typ) == "custom_tool_call" && key == "input"
		switch {
		case call && key == "name" && n.Kind == strictjson.String:
			p.text(j, flow.StreamKey{Item: item, Field: flow.FieldToolName}, started)
		case streamed && n.Kind != strictjson.Null:
			p.text(j, flow.StreamKey{Item: item, Field: flow.FieldToolArguments, Path: p.intern(append(p.path[:0], key...))}, started)
		case call && (key == "action" || key == "actions" || key == "operation"):
			p.callTexts(j, i, item, started)
		case (string(typ) == "mcp_call" && key == "arguments" || string(typ) == "code_interpreter_call" && key == "code") && n.Kind == strictjson.String:
			p.text(j, flow.StreamKey{Item: item, Path: p.intern(append(p.path[:0], key...))}, started)
		case (key == "content" || key == "summary") && n.Kind == strictjson.Array:
			before := p.intern(append(append(p.path[:0], key...), '['))
			for c := range d.All(j) {
				if d.Nodes[c].Kind == strictjson.Object {
					p.contentPart(c, item, p.join(before, d.Nodes[c].Index, "]"), started)
				} else {
					p.wholes(c)
				}
			}
		default:
			p.wholes(j)
		}
	}
}

// callMark is the path of the mark of a call that an event has no text of.
const callMark = "call"

// text takes a text that is streamed too.
func (p *eventParser) text(node int, k flow.StreamKey, started bool) {
	if started && p.Doc.Nodes[node].Kind == strictjson.String && len(p.Bytes(node)) == 0 {
		return // it has not started
	}
	p.add(node, k, !started)
}

// callTexts takes the strings of a call's action.
func (p *eventParser) callTexts(node, base, item int, started bool) {
	d := &p.Doc
	above := len(d.Path(base))
	for i := node; i < d.Nodes[node].Next; i++ {
		n := &d.Nodes[i]
		if n.Kind != strictjson.String || vocabulary.Structural(d.KeyBytes(i), body.Content(d, i)) {
			continue
		}
		at := d.Path(i)[above:]
		if len(at) > 0 && at[0] == '.' {
			at = at[1:]
		}
		p.text(i, flow.StreamKey{Item: item, Field: flow.FieldToolArguments, Path: p.intern(append(p.path[:0], at...))}, started)
	}
}

// eventPart reads the part that an event starts or ends.
func (p *eventParser) eventPart(i int) {
	kind := "content"
	n, ok := p.Doc.Int(p.Doc.Find(0, "summary_index"))
	if ok {
		kind = "summary"
	} else {
		n, _ = p.Doc.Int(p.Doc.Find(0, "content_index"))
	}
	p.contentPart(i, p.item, p.join(kind+"[", n, "]"), !bytes.HasSuffix(p.kind, []byte(".done")))
}

// contentPart reads a part of a message's content or of a reasoning's.
func (p *eventParser) contentPart(i, item int, base string, started bool) {
	d := &p.Doc
	field := textField(typeOf(d, i))
	for j := range d.All(i) {
		switch key := string(d.KeyBytes(j)); {
		case (key == "text" || key == "refusal") && d.Nodes[j].Kind == strictjson.String:
			k := flow.StreamKey{Item: item, Field: field, Path: p.intern(append(append(append(p.path[:0], base...), '.'), key...))}
			if key == "refusal" {
				k.Field = flow.FieldRefusal
			}
			p.text(j, k, started)
		default:
			p.wholes(j)
		}
	}
}

// textField returns the field of the text in a part of a type.
func textField(typ []byte) flow.Field {
	if string(typ) == "reasoning_text" || string(typ) == "summary_text" {
		return flow.FieldReasoning
	}
	return flow.FieldContent
}

// wholes takes every string below node i as a text of its own.
func (p *eventParser) wholes(i int) {
	p.Strings(i, false, func(int) flow.StreamKey { return alone })
}

// pieces takes every string below node i as a piece of the text at its place:
// another event of the type may go on with it.
func (p *eventParser) pieces(i int) {
	if p.command < 0 { // once, as an event may have many members
		p.command, _ = p.Doc.Int(p.Doc.Find(0, "command_index"))
	}
	p.Strings(i, false, func(j int) flow.StreamKey {
		p.path = strictjson.Appendf(p.path[:0], "%s[%d]%s", p.kind, p.command, p.Doc.Path(j))
		return flow.StreamKey{Item: p.item, Path: p.intern(p.path)}
	})
}

// add takes a value as a text, or as a copy of one.
func (p *eventParser) add(node int, k flow.StreamKey, repeats bool) {
	p.Add(node, k).Copy = repeats
}

// logprobs checks all logprobs. They repeat the text beside them, and are released
// with it.
func (p *eventParser) logprobs() {
	d, c := &p.Doc, &p.Chunk
	for i := range d.Nodes {
		if !isLogprobs(d, i) {
			continue
		}
		c.Logprobs = true
		at := textBeside(d, d.Nodes[i].Parent)
		k := p.DeltaOf(at)
		if k < 0 || c.Deltas[k].Key.Field != flow.FieldContent || !body.RepeatsText(d, i, c.Deltas[k].Text) {
			c.Stray = true
			continue
		}
		if p.Judged && len(c.Deltas[k].Text) > 0 {
			c.Deltas[k].Tokens = p.Tokens(i)
		}
	}
}

// textBeside returns the node of the text that an object's logprobs repeat.
func textBeside(d *strictjson.Doc, object int) int {
	if i := d.Find(object, "delta"); i >= 0 {
		return i
	}
	return d.Find(object, "text")
}
