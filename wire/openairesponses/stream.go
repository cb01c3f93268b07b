package openairesponses

import (
	"bytes"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/sse"
	"github.com/margaydev/margay/internal/strictjson"
	"github.com/margaydev/margay/wire"
	"github.com/margaydev/margay/wire/events"
)

// Stream implements wire.Stream for the events of a response.
type Stream struct {
	parser  eventParser
	again   eventParser // of events that change
	started bool
	done    bool
	typed   bool // events have a line with their type

	// State of the released events.
	shift    int            // of the numbers of the next events
	messages map[int][]byte // by item: what stands for a call that is not made
	owed     []wire.Owed
	sent     sent
}

// Reset implements wire.Stream.
func (s *Stream) Reset(lim wire.Limits, tokens bool) {
	s.parser.Reset(lim, tokens)
	s.again.Limits, s.again.Once = lim, true
	s.started, s.done, s.typed, s.shift, s.messages, s.owed = false, false, false, 0, nil, nil
	s.sent.reset(lim)
}

// Parse implements wire.Stream.
func (s *Stream) Parse(ev *sse.Event) (*wire.Chunk, error) {
	c, err := s.parser.parse(ev.Data)
	if err != nil {
		return c, err
	}
	s.started = s.started || string(s.parser.kind) != "keepalive"
	s.done = s.done || c.Done
	s.typed = s.typed || len(ev.Type) > 0
	c.Typed = len(ev.Type) > 0 && s.parser.whole && bytes.Equal(ev.Type, s.parser.kind)
	return c, nil
}

// Strip implements wire.Stream.
func (s *Stream) Strip(ev *sse.Event, logprobs, _ bool) (*sse.Event, error) {
	data, _, err := s.again.render(ev.Data, &change{dropLogprobs: logprobs})
	if err != nil {
		return nil, err
	}
	return events.Replace(ev, data), nil
}

// Append implements wire.Stream.
func (s *Stream) Append(dst []byte, ev *flow.Outgoing) ([]byte, error) {
	for i := range ev.Notices {
		dst = s.say(dst, ev, &ev.Notices[i])
	}
	if ev.Data == nil {
		return append(dst, ev.Raw...), nil
	}
	if ev.Edit == nil && s.shift == 0 && len(s.messages) == 0 {
		s.sent.read(ev.Data)
		return append(dst, ev.Raw...), nil
	}
	data, removed, err := s.again.render(ev.Data, &change{edit: ev.Edit, shift: s.shift, messages: s.messages})
	switch {
	case err != nil:
		return dst, err
	case removed:
		s.shift--
		return dst, nil
	}
	s.sent.read(data)
	return sse.Append(dst, ev.Raw, data), nil
}

// Open implements wire.Stream.
func (s *Stream) Open() bool { return s.started && !s.done }

// event appends an event of Margay's own. The format is its data without the
// first members and the braces.
func (s *Stream) event(dst []byte, typ, format string, args ...any) []byte {
	data := strictjson.Appendf(nil, `{"type":%q,"sequence_number":%d,`, typ, s.sent.next)
	data = append(strictjson.Appendf(data, format, args...), '}')
	s.sent.read(data)
	var raw []byte
	if s.typed {
		raw = []byte("event: " + typ + "\n\n")
	}
	return sse.Append(dst, raw, data)
}

// say appends the events of a message that stands for a call that is not made.
// They come where the call's own events would start.
func (s *Stream) say(dst []byte, ev *flow.Outgoing, say *flow.Notice) []byte {
	var d strictjson.Doc
	id := []byte("msg_margay")
	if d.Parse(ev.Data, s.parser.Limits) == nil {
		if n, ok := d.Int(d.Find(0, "sequence_number")); ok {
			s.sent.next = n + s.shift
		}
		at := itemOf(&d, say.Item)
		id = messageIDOf(&d, d.Find(at, "id"))
		s.owed = append(s.owed, owedOf(&d, at, say.Text))
	}
	content := outputText(say.Text)
	whole := message(id, "completed", content)
	item := strictjson.Appendf(nil, `"output_index":%d`, say.Item)
	part := strictjson.Appendf(nil, `"item_id":%q,%s,"content_index":0`, id, item)
	dst = s.event(dst, "response.output_item.added", `%s,"item":%s`, item, message(id, "in_progress", nil))
	dst = s.event(dst, "response.content_part.added", `%s,"part":%s`, part, outputText(""))
	dst = s.event(dst, "response.output_text.delta", `%s,"delta":%q,"logprobs":[]`, part, say.Text)
	dst = s.event(dst, "response.output_text.done", `%s,"text":%q,"logprobs":[]`, part, say.Text)
	dst = s.event(dst, "response.content_part.done", `%s,"part":%s`, part, content)
	dst = s.event(dst, "response.output_item.done", `%s,"item":%s`, item, whole)
	s.shift += 6
	if s.messages == nil {
		s.messages = map[int][]byte{}
	}
	s.messages[say.Item] = whole
	return dst
}

// itemOf returns the item of an event, -1 for none.
func itemOf(d *strictjson.Doc, index int) int {
	if at := d.Find(0, "item"); at >= 0 {
		return at
	}
	for c := range d.All(d.Find(d.Find(0, "response"), "output")) {
		if d.Nodes[c].Index == index {
			return c
		}
	}
	return -1
}

// messageIDOf makes the id of the message that stands for a call from the call's
// own: the API requires that form when it gets the message back.
func messageIDOf(d *strictjson.Doc, at int) []byte {
	id := d.Bytes(max(at, 0))
	if len(id) == 0 || !vocabulary.IsID([]byte("id"), id) {
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
	if len(s.owed) == 0 || d.Parse(s.sent.head, wire.Limits{}) != nil {
		return nil, nil
	}
	return namesOf(&d, 0), s.owed
}

// message is a message of the assistant's; without content it has only started.
func message(id []byte, status string, content []byte) []byte {
	return strictjson.Appendf(nil, `{"id":%q,"type":"message","status":%q,"role":"assistant","content":[%s]}`, id, status, content)
}

// outputText is a part of a message.
func outputText(text string) []byte {
	return strictjson.Appendf(nil, `{"type":"output_text","annotations":[],"logprobs":[],"text":%q}`, text)
}

// Halt implements wire.Stream: the response is incomplete, as when a content
// filter stops it. It has the output so far.
func (s *Stream) Halt(dst []byte) []byte {
	return s.event(dst, "response.incomplete", `"response":%s`, s.sent.incomplete())
}

// Fail implements wire.Stream. The event has the problem twice: as the API
// documents it, and where its clients look for an error.
func (s *Stream) Fail(dst []byte, p *wire.Problem) []byte {
	return s.event(dst, "error", `"code":%q,"message":%q,"param":null,"error":%s`, p.Code, p.Message, problem(p))
}
