package anthropic

import (
	"bytes"
	"slices"
	"strings"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/sse"
	"github.com/margaydev/margay/internal/strictjson"
	"github.com/margaydev/margay/wire"
)

// blockKind is what a content block is.
type blockKind uint8

const (
	otherBlock  blockKind = iota
	callBlock             // a call that the client makes or not
	serverCall            // one that the server has made
	signedBlock           // thinking, or the summary of a conversation
)

// kindOf tells the kind of a content block. A call that this package has not
// heard of is taken for the client's.
func kindOf(d *strictjson.Doc, block int) blockKind {
	typ := d.Find(block, "type")
	if typ < 0 {
		return otherBlock
	}
	switch t := d.Bytes(typ); {
	case string(t) == "server_tool_use" || string(t) == "mcp_tool_use":
		return serverCall
	case bytes.HasSuffix(t, []byte("tool_use")):
		return callBlock
	case string(t) == "thinking" || string(t) == "redacted_thinking" || string(t) == "compaction":
		return signedBlock
	}
	return otherBlock
}

// block is a content block of a stream that has begun.
type block struct {
	kind  blockKind
	ended bool
	tail  []byte // the end of its sealed data, which may come in pieces
}

// maxBlocks bounds the blocks of an answer. The mediator bounds their texts.
const maxBlocks = 4096

// tailLength are the bytes of sealed data that the next piece is read with.
const tailLength = 256

// parser reads the events of one stream. It reuses its memory and is not safe
// for concurrent use.
type parser struct {
	lim    wire.Limits
	alone  bool // it reads one event, whose block it does not know
	doc    strictjson.Doc
	chunk  wire.Chunk
	nodes  []int // by delta: its value
	values []int // nodes that are taken as one text, as they are written
	buf    []byte
	blocks []block // by index
	begun  bool    // the message has
	typed  int8    // whether events have a type; 0 before the first
	event  eventType
	index  int // of the block that the event is about; -1 for none
	inside int // blocks that a message begins with

	templates [4]template
	latest    int // the template that fitted last
}

// eventType is what an event tells.
type eventType uint8

const (
	unknownEvent eventType = iota
	messageStart
	blockStart
	blockDelta
	blockStop
	messageDelta
	messageStop
	errorEvent
	ping
)

var eventTypes = [...]string{
	messageStart: "message_start", blockStart: "content_block_start", blockDelta: "content_block_delta", blockStop: "content_block_stop",
	messageDelta: "message_delta", messageStop: "message_stop", errorEvent: "error", ping: "ping",
}

func typeOf(name []byte) eventType {
	for i := messageStart; int(i) < len(eventTypes); i++ {
		if string(name) == eventTypes[i] {
			return i
		}
	}
	return unknownEvent
}

// What stands for the node of a delta that has no value of its own.
const (
	inKey   = -1 // an object's key
	nowhere = -2 // the mark of a call that says nothing yet
)

// serverInput is the path of what a call of the server's own says.
const serverInput = "input"

// all are the choices of every event that is about the answer.
var all = []int{0}

func (p *parser) reset(lim wire.Limits) {
	p.lim, p.latest, p.typed, p.begun = lim, 0, 0, false
	p.blocks = p.blocks[:0]
	for i := range p.templates {
		p.templates[i].used = false
	}
}

func malformed(detail string) error {
	return &strictjson.Error{Code: strictjson.Syntax, Detail: detail}
}

// parse reads an event. Errors are of type *strictjson.Error. The texts of the
// chunk may point into its data.
func (p *parser) parse(ev *sse.Event) (*wire.Chunk, error) {
	if c := p.recall(ev); c != nil {
		return c, nil
	}
	c := &p.chunk
	*c = wire.Chunk{Deltas: c.Deltas[:0], Names: c.Names[:0], Finished: c.Finished[:0], Ended: c.Ended[:0]}
	p.nodes, p.values, p.buf, p.index = p.nodes[:0], p.values[:0], p.buf[:0], -1
	p.inside = 0
	d := &p.doc
	if err := d.Parse(ev.Data, p.lim); err != nil {
		return nil, err
	}
	if d.Nodes[0].Kind != strictjson.Object {
		return nil, malformed("a JSON object is expected")
	}
	var name []byte
	if typ := d.Find(0, "type"); typ >= 0 {
		name = p.bytes(typ)
	}
	p.event = typeOf(name)
	if err := p.types(ev, name); err != nil {
		return nil, err
	}
	c.Typed = len(ev.Type) > 0 && p.event != unknownEvent
	if p.event != unknownEvent && p.event != ping && p.event != errorEvent {
		c.Choices = all
	}
	c.Done, c.Error = p.event == messageStop, p.event == errorEvent
	if p.event == messageStart && !p.alone {
		if p.begun {
			return nil, malformed("a second message begins in the stream")
		}
		p.begun = true
	}
	if err := p.place(); err != nil {
		return nil, err
	}
	for i, end := 1, d.Nodes[0].Next; i < end; i = d.Nodes[i].Next {
		if err := p.member(i); err != nil {
			return nil, err
		}
	}
	p.keys()
	if p.event == blockDelta {
		p.learn(ev)
	}
	return c, nil
}

// types holds an event's type to that of its data, and all events of a stream
// to having one or not: clients that go by the one would read another text
// than those that go by the other.
func (p *parser) types(ev *sse.Event, name []byte) error {
	if p.alone {
		return nil
	}
	typed := int8(-1)
	if len(ev.Type) > 0 {
		typed = 1
		if !bytes.Equal(ev.Type, name) && !(string(ev.Type) == eventTypes[errorEvent] && name == nil) {
			return malformed("an event has another type than its data")
		}
		if string(ev.Type) == eventTypes[errorEvent] {
			p.event = errorEvent
		}
	}
	if p.typed == 0 {
		p.typed = typed
	}
	if p.typed != typed && p.event != errorEvent && p.event != ping {
		return malformed("some events of the stream have a type and some have none")
	}
	return nil
}

// place finds the block that an event is about and holds it to its order.
func (p *parser) place() error {
	if p.event != blockStart && p.event != blockDelta && p.event != blockStop {
		return nil
	}
	index, ok := p.doc.Int(p.doc.Find(0, "index"))
	if !ok {
		return malformed("an event of a content block has no index")
	}
	p.index = index
	switch {
	case p.alone:
	case p.event == blockStart:
		return p.begin(index, kindOf(&p.doc, p.doc.Find(0, "content_block")))
	case index >= len(p.blocks) || p.blocks[index].ended:
		return malformed("an event is about a content block that is not open")
	case p.event == blockStop:
		p.blocks[index].ended = true
	}
	return nil
}

func (p *parser) begin(index int, kind blockKind) error {
	if p.alone {
		return nil
	}
	if index != len(p.blocks) {
		return malformed("content blocks do not begin in order")
	}
	if index >= maxBlocks {
		return malformed("too many content blocks")
	}
	if index < cap(p.blocks) {
		p.blocks = p.blocks[:index+1]
		p.blocks[index] = block{kind: kind, tail: p.blocks[index].tail[:0]}
		return nil
	}
	p.blocks = append(p.blocks, block{kind: kind})
	return nil
}

// kind is that of the block which the event is about.
func (p *parser) kind(index int) blockKind {
	if index < 0 || index >= len(p.blocks) {
		return callBlock
	}
	return p.blocks[index].kind
}

// member takes a member of the event.
func (p *parser) member(i int) error {
	d, c := &p.doc, &p.chunk
	n := &d.Nodes[i]
	object := n.Kind == strictjson.Object
	switch string(d.KeyBytes(i)) {
	case "type":
		if p.event != unknownEvent {
			return nil
		}
	case "index":
		if p.event == blockStop {
			c.Ended = append(c.Ended, flow.Item{Item: p.index})
		}
	case "message":
		if p.event == messageStart && object {
			return p.message(i)
		}
	case "content_block":
		if p.event == blockStart && object {
			p.block(i, p.index)
			return nil
		}
	case "delta":
		if p.event == blockDelta && object {
			p.delta(i)
			return nil
		}
		if stop := d.Find(i, "stop_reason"); p.event == messageDelta && stop >= 0 && d.Nodes[stop].Kind == strictjson.String {
			c.Finished = append(c.Finished, wire.Finished{Reason: reason(p.bytes(stop))})
		}
	case "usage":
		c.Usage = object
	}
	p.others(i)
	return nil
}

// message takes the message that a stream begins with. Blocks that are in it
// already have begun.
func (p *parser) message(i int) error {
	d := &p.doc
	for j := i + 1; j < d.Nodes[i].Next; j = d.Nodes[j].Next {
		n := &d.Nodes[j]
		if !d.KeyIs(j, "content") || n.Kind != strictjson.Array {
			p.chunk.Usage = p.chunk.Usage || d.KeyIs(j, "usage") && n.Kind == strictjson.Object
			p.others(j)
			continue
		}
		for b := j + 1; b < n.Next; b = d.Nodes[b].Next {
			if err := p.begin(p.inside, kindOf(d, b)); err != nil {
				return err
			}
			if d.Nodes[b].Kind == strictjson.Object {
				p.block(b, p.inside)
			} else {
				p.others(b)
			}
			p.inside++
		}
	}
	return nil
}

// block takes what a content block begins with.
func (p *parser) block(i, index int) {
	d := &p.doc
	kind := kindOf(d, i)
	was := p.index
	p.index = index
	said := false
	for j := i + 1; j < d.Nodes[i].Next; j = d.Nodes[j].Next {
		n := &d.Nodes[j]
		k := flow.StreamKey{Item: index}
		text := n.Kind == strictjson.String
		switch key := d.KeyBytes(j); {
		case string(key) == "text" && text, string(key) == "content" && text && kind == signedBlock:
			k.Field = flow.FieldContent
		case string(key) == "thinking" && text:
			k.Field = flow.FieldReasoning
		case string(key) == "name" && text && kind == callBlock:
			k.Field = flow.FieldToolName
			said = true
		case string(key) == "input" && kind == callBlock && !p.empty(j):
			k.Field = flow.FieldToolArguments
			said = true
		case string(key) == "input" && kind == serverCall && !p.empty(j):
			k.Path = serverInput
		default:
			p.others(j)
			continue
		}
		p.add(j, k)
	}
	if kind == callBlock && !said {
		// It waits for the call's decision.
		p.put(nowhere, flow.StreamKey{Item: index, Field: flow.FieldToolArguments}, nil)
	}
	p.index = was
}

// empty reports whether the input of a call says nothing.
func (p *parser) empty(i int) bool {
	n := &p.doc.Nodes[i]
	return n.Kind == strictjson.Null || n.Kind == strictjson.Object && n.Next == i+1
}

// delta takes what is added to a content block.
func (p *parser) delta(i int) {
	d := &p.doc
	for j := i + 1; j < d.Nodes[i].Next; j = d.Nodes[j].Next {
		n := &d.Nodes[j]
		k := flow.StreamKey{Item: p.index}
		text := n.Kind == strictjson.String
		switch key := d.KeyBytes(j); {
		case string(key) == "text" && text, string(key) == "content" && text && p.kind(p.index) == signedBlock:
			k.Field = flow.FieldContent
		case string(key) == "thinking" && text:
			k.Field = flow.FieldReasoning
		case string(key) == "partial_json" && n.Kind != strictjson.Null:
			k.Field = flow.FieldToolArguments
			if p.kind(p.index) != callBlock {
				k.Field, k.Path = flow.FieldOther, serverInput
			}
		case string(key) == "citation", string(key) == "type":
			p.others(j)
			continue
		case text && sealed(d, j):
			p.piece(d.Raw[n.Start+1 : n.End-1])
			continue
		default:
			p.pieces(j, i)
			continue
		}
		p.add(j, k)
	}
}

// piece takes a piece of sealed data together with the end of the one before.
func (p *parser) piece(raw []byte) {
	if p.index >= len(p.blocks) {
		p.chunk.Names = append(p.chunk.Names, raw)
		return
	}
	b := &p.blocks[p.index]
	at := len(p.buf)
	p.buf = append(append(p.buf, b.tail...), raw...)
	p.chunk.Names = append(p.chunk.Names, p.buf[at:])
	b.tail = append(b.tail[:0], p.buf[max(at, len(p.buf)-tailLength):]...)
}

// pieces takes strings that may go on in the next delta of their kind.
func (p *parser) pieces(i, base int) {
	d := &p.doc
	above := d.Text(d.Find(base, "type")) + "." + d.Path(i)
	for j := i; j < d.Nodes[i].Next; j++ {
		if d.Nodes[j].Kind != strictjson.String {
			continue
		}
		key := flow.StreamKey{Item: p.index, Path: above}
		if i != j {
			key.Path += strings.TrimPrefix(d.Path(j), d.Path(i))
		}
		p.add(j, key)
	}
}

// reason avoids an allocation for the reasons that the API has.
func reason(b []byte) string {
	for _, s := range [...]string{"end_turn", "tool_use", "max_tokens", "stop_sequence", "refusal", "pause_turn"} {
		if string(b) == s {
			return s
		}
	}
	return string(b)
}

// others takes every string below node i as a text that is complete.
func (p *parser) others(i int) {
	d := &p.doc
	for j := i; j < d.Nodes[i].Next; j++ {
		n := &d.Nodes[j]
		if n.Kind != strictjson.String {
			continue
		}
		key, raw := d.KeyBytes(j), d.Raw[n.Start+1:n.End-1]
		switch {
		case structural(key, raw) || opaque(d, j) != "":
		case isID(key, raw) || string(key) == "model" && wire.IsModel(raw) || sealed(d, j):
			p.chunk.Names = append(p.chunk.Names, raw)
		default:
			p.add(j, flow.StreamKey{Choice: -1, Item: max(p.index, 0), Path: d.Path(j)})
		}
	}
}

// keys takes every key that the API does not know as text.
func (p *parser) keys() {
	d := &p.doc
	for i := 0; i < len(d.Nodes); i++ {
		n := &d.Nodes[i]
		if n.KeyEnd-n.KeyStart >= 4 {
			if key := d.KeyBytes(i); len(key) >= 4 && !knownKey(key) {
				p.put(inKey, flow.StreamKey{Choice: -1, Path: "key"}, key)
			}
		}
		if slices.Contains(p.values, i) {
			i = n.Next - 1 // its keys are part of its text
		}
	}
}

// bytes returns the decoded text of a string.
func (p *parser) bytes(node int) []byte {
	if !p.doc.Nodes[node].Escaped {
		return p.doc.Bytes(node)
	}
	at := len(p.buf)
	p.buf = p.doc.AppendBytes(p.buf, node)
	return p.buf[at:]
}

// add takes a value as a text: a string's content, anything else as it is
// written. What is signed can't be edited.
func (p *parser) add(node int, k flow.StreamKey) {
	if p.doc.Nodes[node].Kind == strictjson.String {
		p.put(node, k, p.bytes(node))
	} else {
		p.values = append(p.values, node)
		p.put(node, k, p.doc.Value(node))
	}
	p.chunk.Deltas[len(p.chunk.Deltas)-1].Fixed = k.Choice == 0 && (k.Field == flow.FieldReasoning || p.kind(k.Item) == signedBlock)
}

func (p *parser) put(node int, k flow.StreamKey, text []byte) {
	p.chunk.Deltas = append(p.chunk.Deltas, flow.Delta{Key: k, Text: text})
	p.nodes = append(p.nodes, node)
}
