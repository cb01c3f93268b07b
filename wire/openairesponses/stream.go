package openairesponses

import (
	"bytes"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/sse"
	"github.com/margaydev/margay/internal/strictjson"
	"github.com/margaydev/margay/wire"
)

// Stream implements wire.Stream for the events of a response.
type Stream struct {
	parser eventParser
	begun  bool
	done   bool
	typed  bool // events have a line that tells their type

	// What is known of the events as they went out.
	shift    int            // of the numbers of those to come
	messages map[int][]byte // by item: what stands for a call that is not made
	owed     []wire.Owed
	told     told
}

// Reset implements wire.Stream.
func (s *Stream) Reset(lim wire.Limits, tokens bool) {
	s.parser.reset(lim, tokens)
	s.begun, s.done, s.typed, s.shift, s.messages, s.owed = false, false, false, 0, nil, nil
	s.told.reset(lim)
}

// Parse implements wire.Stream.
func (s *Stream) Parse(ev *sse.Event) (*wire.Chunk, error) {
	c, err := s.parser.parse(ev.Data)
	if err != nil {
		return c, err
	}
	s.begun = s.begun || string(s.parser.kind) != "keepalive"
	s.done = s.done || c.Done
	s.typed = s.typed || len(ev.Type) > 0
	c.Typed = len(ev.Type) > 0 && s.parser.whole && bytes.Equal(ev.Type, s.parser.kind)
	return c, nil
}

// Strip implements wire.Stream.
func (s *Stream) Strip(ev *sse.Event, logprobs, _ bool) (*sse.Event, error) {
	data, _, err := render(ev.Data, &change{dropLogprobs: logprobs}, s.parser.lim)
	if err != nil {
		return nil, err
	}
	return &sse.Event{Raw: sse.Append(nil, ev.Raw, data), Type: ev.Type, ID: ev.ID, Data: data}, nil
}

// Append implements wire.Stream.
func (s *Stream) Append(dst []byte, ev *flow.Outgoing) ([]byte, error) {
	for i := range ev.Say {
		dst = s.say(dst, ev, &ev.Say[i])
	}
	if ev.Data == nil {
		return append(dst, ev.Raw...), nil
	}
	if ev.Edit == nil && s.shift == 0 && len(s.messages) == 0 {
		s.told.read(ev.Data)
		return append(dst, ev.Raw...), nil
	}
	data, gone, err := render(ev.Data, &change{edit: ev.Edit, shift: s.shift, messages: s.messages}, s.parser.lim)
	switch {
	case err != nil:
		return dst, err
	case gone:
		s.shift--
		return dst, nil
	}
	s.told.read(data)
	return sse.Append(dst, ev.Raw, data), nil
}

// Open implements wire.Stream.
func (s *Stream) Open() bool { return s.begun && !s.done }

// event appends an event of Margay's own. Its data has everything but the
// first members and the brace that ends it.
func (s *Stream) event(dst []byte, typ string, members []byte) []byte {
	data := strictjson.AppendQuote([]byte(`{"type":`), []byte(typ))
	data = appendInt(append(data, `,"sequence_number":`...), s.told.next)
	data = append(append(append(data, ','), members...), '}')
	s.told.read(data)
	var raw []byte
	if s.typed {
		raw = []byte("event: " + typ + "\n\n")
	}
	return sse.Append(dst, raw, data)
}

// say appends the events of a message that stands for a call that is not made.
// They come where the call's own would begin.
func (s *Stream) say(dst []byte, ev *flow.Outgoing, say *flow.Say) []byte {
	var d strictjson.Doc
	id := []byte("msg_margay")
	if d.Parse(ev.Data, s.parser.lim) == nil {
		if n, ok := d.Int(d.Find(0, "sequence_number")); ok {
			s.told.next = n + s.shift
		}
		at := itemOf(&d, say.Item)
		id = messageIDOf(&d, d.Find(at, "id"))
		s.owed = append(s.owed, owedOf(&d, at, say.Text))
	}
	item := appendInt([]byte(`"output_index":`), say.Item)
	part := append(strictjson.AppendQuote([]byte(`"item_id":`), id), ',')
	part = append(append(part, item...), `,"content_index":0,`...)
	text := strictjson.AppendQuote(nil, []byte(say.Text))
	content := append(append([]byte(`{"type":"output_text","annotations":[],"logprobs":[],"text":`), text...), '}')
	message := appendMessage(nil, id, "completed", content)
	with := func(head []byte, rest ...[]byte) []byte {
		return append(bytes.Clone(head), bytes.Join(rest, nil)...)
	}
	for _, e := range [...]struct {
		typ     string
		members []byte
	}{
		{"response.output_item.added", with(item, []byte(`,"item":`), appendMessage(nil, id, "in_progress", nil))},
		{"response.content_part.added", with(part, []byte(`"part":{"type":"output_text","annotations":[],"logprobs":[],"text":""}`))},
		{"response.output_text.delta", with(part, []byte(`"delta":`), text, []byte(`,"logprobs":[]`))},
		{"response.output_text.done", with(part, []byte(`"text":`), text, []byte(`,"logprobs":[]`))},
		{"response.content_part.done", with(part, []byte(`"part":`), content)},
		{"response.output_item.done", with(item, []byte(`,"item":`), message)},
	} {
		dst = s.event(dst, e.typ, e.members)
		s.shift++
	}
	if s.messages == nil {
		s.messages = map[int][]byte{}
	}
	s.messages[say.Item] = message
	return dst
}

// itemOf returns the item that an event tells, -1 for none.
func itemOf(d *strictjson.Doc, index int) int {
	at := d.Find(0, "item")
	if output := d.Find(d.Find(0, "response"), "output"); at < 0 && output >= 0 {
		d.Children(output, func(c int) bool {
			if d.Nodes[c].Index == index {
				at = c
			}
			return at < 0
		})
	}
	return at
}

// messageIDOf makes the id of the message that stands for a call out of the
// call's own: the API wants one of its form when it gets the message back.
func messageIDOf(d *strictjson.Doc, at int) []byte {
	id := d.Bytes(max(at, 0))
	if len(id) == 0 || !isID([]byte("id"), id) {
		return []byte("msg_margay")
	}
	if i := bytes.IndexByte(id, '_'); i >= 0 {
		id = id[i+1:]
	}
	return append([]byte("msg_"), id...)
}

// Owed implements wire.Owing.
func (s *Stream) Owed() ([]wire.Name, []wire.Owed) {
	var d strictjson.Doc
	if len(s.owed) == 0 || d.Parse(s.told.head, wire.Limits{}) != nil {
		return nil, nil
	}
	return namesOf(&d, 0), s.owed
}

// appendMessage appends a message of the assistant's; without content it has
// only begun.
func appendMessage(dst, id []byte, status string, content []byte) []byte {
	dst = strictjson.AppendQuote(append(dst, `{"id":`...), id)
	dst = append(append(dst, `,"type":"message","status":"`...), status...)
	dst = append(append(dst, `","role":"assistant","content":[`...), content...)
	return append(dst, `]}`...)
}

// Halt implements wire.Stream: the response is incomplete, as where a content
// filter stops it. It has the output so far.
func (s *Stream) Halt(dst []byte) []byte {
	return s.event(dst, "response.incomplete", append([]byte(`"response":`), s.told.incomplete()...))
}

// Fail implements wire.Stream. The event has the problem twice: as the API
// documents it, and where its clients look for an error.
func (s *Stream) Fail(dst []byte, p *wire.Problem) []byte {
	members := strictjson.AppendQuote([]byte(`"code":`), []byte(p.Code))
	members = strictjson.AppendQuote(append(members, `,"message":`...), []byte(p.Message))
	members = appendError(append(members, `,"param":null,"error":`...), p)
	return s.event(dst, "error", members)
}
