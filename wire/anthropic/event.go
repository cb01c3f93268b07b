package anthropic

import (
	"bytes"
	"slices"
	"strings"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/sse"
	"github.com/margaydev/margay/internal/strictjson"
	"github.com/margaydev/margay/wire"
	"github.com/margaydev/margay/wire/body"
	"github.com/margaydev/margay/wire/events"
)

// blockKind is what a content block is.
type blockKind uint8

const (
	otherBlock  blockKind = iota
	callBlock             // a call that the client makes or not
	serverCall            // one that the server has made
	signedBlock           // thinking, or the summary of a conversation
)

// kindOf returns the kind of a content block. A call of an unknown type counts as
// the client's.
func kindOf(d *strictjson.Doc, block int) blockKind {
	switch t := d.Text(d.Find(block, "type")); {
	case t == "server_tool_use" || t == "mcp_tool_use":
		return serverCall
	case strings.HasSuffix(t, "tool_use"):
		return callBlock
	case t == "thinking" || t == "redacted_thinking" || t == "compaction":
		return signedBlock
	}
	return otherBlock
}

// block is a content block of a stream that has started.
type block struct {
	kind  blockKind
	ended bool
	tail  []byte // the end of its sealed data, which may come in pieces
}

// maxBlocks bounds the blocks of an answer. The mediator bounds their texts.
const maxBlocks = 4096

// tailLength is how many bytes of sealed data are read again with the next piece.
const tailLength = 256

// parser reads the events of one stream. It reuses its memory and is not safe
// for concurrent use.
type parser struct {
	events.Reader
	blocks  []block               // by index
	of      [events.Templates]int // the block that a template is about
	started bool                  // the message has
	typed   int8                  // whether events have a type; 0 before the first
	event   string                // its type; empty for one that is not known
	index   int                   // of the block that the event is about; -1 for none
	inside  int                   // blocks that a message starts with
}

// Types of events.
const (
	messageStart = "message_start"
	blockStart   = "content_block_start"
	blockDelta   = "content_block_delta"
	blockStop    = "content_block_stop"
	messageDelta = "message_delta"
	messageStop  = "message_stop"
	errorEvent   = "error"
	ping         = "ping"
)

var eventTypes = []string{messageStart, blockStart, blockDelta, blockStop, messageDelta, messageStop, errorEvent, ping}

// serverInput is the path of what a call of the server's own says.
const serverInput = "input"

// all are the choices of every event that is about the answer.
var all = []int{0}

func (p *parser) reset(lim wire.Limits) {
	p.typed, p.started, p.blocks = 0, false, p.blocks[:0]
	p.Reset(lim, false)
}

func malformed(detail string) error {
	return &strictjson.Error{Code: strictjson.Syntax, Detail: detail}
}

// parse reads an event. Errors are of type *strictjson.Error. The texts of the
// chunk may point into its data.
func (p *parser) parse(ev *sse.Event) (*wire.Chunk, error) {
	if c, _ := p.Recall(ev.Type, ev.Data); c != nil {
		return c, nil
	}
	p.Start()
	p.index, p.inside = -1, 0
	c, d := &p.Chunk, &p.Doc
	if err := p.Read(ev.Data, vocabulary); err != nil {
		return nil, err
	}
	var name []byte
	if typ := d.Find(0, "type"); typ >= 0 {
		name = p.Bytes(typ)
	}
	if p.event = events.Reason(name, eventTypes); !slices.Contains(eventTypes, p.event) {
		p.event = ""
	}
	if err := p.types(ev, name); err != nil {
		return nil, err
	}
	c.Typed = len(ev.Type) > 0 && p.event != ""
	if p.event != "" && p.event != ping && p.event != errorEvent {
		c.Choices = all
	}
	c.Done, c.Error = p.event == messageStop, p.event == errorEvent
	if p.event == messageStart && !p.Once {
		if p.started {
			return nil, malformed("a second message starts in the stream")
		}
		p.started = true
	}
	if err := p.place(); err != nil {
		return nil, err
	}
	for i := range d.All(0) {
		if err := p.member(i); err != nil {
			return nil, err
		}
	}
	p.Keys()
	p.learn(ev)
	return c, nil
}

// learn keeps a delta that has one text and nothing else as a template.
func (p *parser) learn(ev *sse.Event) {
	c := &p.Chunk
	if p.event != blockDelta || len(c.Deltas) != 1 || len(c.Names) > 0 {
		return
	}
	if k := &c.Deltas[0].Key; k.Choice < 0 || k.Field == flow.FieldOther && k.Path != serverInput {
		return
	}
	if slot := p.Learn(ev.Type, ev.Data, true); slot >= 0 {
		p.of[slot] = p.index
	}
}

// types requires that an event's type is that of its data, and that either all
// events of a stream have a type or none. Otherwise, clients that use the one
// would read another text than clients that use the other.
func (p *parser) types(ev *sse.Event, name []byte) error {
	if p.Once {
		return nil
	}
	typed := int8(-1)
	if len(ev.Type) > 0 {
		typed = 1
		if !bytes.Equal(ev.Type, name) && !(string(ev.Type) == errorEvent && name == nil) {
			return malformed("an event has another type than its data")
		}
		if string(ev.Type) == errorEvent {
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

// place finds the block that an event is about, and checks the blocks' order.
func (p *parser) place() error {
	if p.event != blockStart && p.event != blockDelta && p.event != blockStop {
		return nil
	}
	index, ok := p.Doc.Int(p.Doc.Find(0, "index"))
	if !ok {
		return malformed("an event of a content block has no index")
	}
	p.index = index
	switch {
	case p.Once:
	case p.event == blockStart:
		return p.start(index, kindOf(&p.Doc, p.Doc.Find(0, "content_block")))
	case index >= len(p.blocks) || p.blocks[index].ended:
		return malformed("an event is about a content block that is not open")
	case p.event == blockStop:
		p.blocks[index].ended = true
		for slot, of := range p.of {
			if of == index {
				p.Drop(slot)
			}
		}
	}
	return nil
}

func (p *parser) start(index int, kind blockKind) error {
	if p.Once {
		return nil
	}
	if index != len(p.blocks) {
		return malformed("content blocks do not start in order")
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

// kind is the kind of a block. An unknown block counts as a call.
func (p *parser) kind(index int) blockKind {
	if index < 0 || index >= len(p.blocks) {
		return callBlock
	}
	return p.blocks[index].kind
}

// member takes a member of the event.
func (p *parser) member(i int) error {
	d, c := &p.Doc, &p.Chunk
	key, object := d.KeyBytes(i), d.Nodes[i].Kind == strictjson.Object
	switch {
	case string(key) == "type" && p.event != "":
		return nil
	case string(key) == "message" && p.event == messageStart && object:
		return p.message(i)
	case string(key) == "content_block" && p.event == blockStart && object:
		p.block(i, p.index)
		return nil
	case string(key) == "delta" && p.event == blockDelta && object:
		p.delta(i)
		return nil
	case string(key) == "delta" && p.event == messageDelta:
		if stop := d.Find(i, "stop_reason"); stop >= 0 && d.Nodes[stop].Kind == strictjson.String {
			c.Finished = append(c.Finished, wire.Finished{Reason: events.Reason(p.Bytes(stop), reasons)})
		}
	case string(key) == "index" && p.event == blockStop:
		c.Ended = append(c.Ended, flow.Item{Item: p.index})
	case string(key) == "usage":
		c.Usage = object
	}
	p.others(i)
	return nil
}

// message takes the message that a stream starts with. The blocks in it
// have started.
func (p *parser) message(i int) error {
	d := &p.Doc
	for j := range d.All(i) {
		n := &d.Nodes[j]
		if !d.KeyIs(j, "content") || n.Kind != strictjson.Array {
			p.Chunk.Usage = p.Chunk.Usage || d.KeyIs(j, "usage") && n.Kind == strictjson.Object
			p.others(j)
			continue
		}
		for b := range d.All(j) {
			if err := p.start(p.inside, kindOf(d, b)); err != nil {
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

// block takes the start of a content block.
func (p *parser) block(i, index int) {
	d := &p.Doc
	kind := kindOf(d, i)
	was := p.index
	p.index = index
	found := false
	for j := range d.All(i) {
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
			found = true
		case string(key) == "input" && kind == callBlock && !p.empty(j):
			k.Field = flow.FieldToolArguments
			found = true
		case string(key) == "input" && kind == serverCall && !p.empty(j):
			k.Path = serverInput
		default:
			p.others(j)
			continue
		}
		p.add(j, k)
	}
	if kind == callBlock && !found {
		p.Mark(flow.StreamKey{Item: index})
	}
	p.index = was
}

// empty reports whether the input of a call is empty.
func (p *parser) empty(i int) bool {
	n := &p.Doc.Nodes[i]
	return n.Kind == strictjson.Null || n.Kind == strictjson.Object && n.Next == i+1
}

// delta takes what is added to a content block.
func (p *parser) delta(i int) {
	d := &p.Doc
	for j := range d.All(i) {
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
			p.piece(body.Content(d, j))
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
		p.Name(raw)
		return
	}
	b := &p.blocks[p.index]
	joined := p.Joined(b.tail, raw)
	p.Name(joined)
	b.tail = append(b.tail[:0], joined[max(0, len(joined)-tailLength):]...)
}

// pieces takes strings that may go on in the next delta of their kind.
func (p *parser) pieces(i, base int) {
	d := &p.Doc
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

// reasons are those of the API to stop.
var reasons = []string{"end_turn", "tool_use", "max_tokens", "stop_sequence", "refusal", "pause_turn"}

// others takes every string below node i as a text that is complete.
func (p *parser) others(i int) {
	p.Strings(i, true, func(j int) flow.StreamKey {
		return flow.StreamKey{Choice: -1, Item: max(p.index, 0), Path: p.Doc.Path(j)}
	})
}

// add takes a value as a text. What is signed can't be edited.
func (p *parser) add(node int, k flow.StreamKey) {
	p.Add(node, k).Fixed = k.Choice == 0 && (k.Field == flow.FieldReasoning || p.kind(k.Item) == signedBlock)
}
