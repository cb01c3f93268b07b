package anthropic

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/sse"
	"github.com/margaydev/margay/internal/strictjson"
	"github.com/margaydev/margay/wire"
	"github.com/margaydev/margay/wire/events"
)

// Stream implements wire.Stream for the events of a message.
type Stream struct {
	parser  parser
	again   parser // of events that go out
	started bool
	done    bool
	sent    sent
}

// sent is what the client has received, without the events that wait.
type sent struct {
	started bool
	open    []int // blocks
	stopped bool  // the client has the reason to stop
	done    bool
	tokens  int // of the answer
}

// Reset implements wire.Stream. The API reports nothing about tokens.
func (s *Stream) Reset(lim wire.Limits, _ bool) {
	s.parser.reset(lim)
	s.again.Limits, s.again.Once = lim, true
	s.started, s.done, s.sent = false, false, sent{open: s.sent.open[:0]}
}

// Parse implements wire.Stream.
func (s *Stream) Parse(ev *sse.Event) (*wire.Chunk, error) {
	c, err := s.parser.parse(ev)
	if err != nil {
		return nil, err
	}
	if len(c.Choices) > 0 {
		s.started = true
	}
	s.done = s.done || c.Done
	return c, nil
}

// Strip implements wire.Stream: there is nothing to take out.
func (s *Stream) Strip(ev *sse.Event, _, _ bool) (*sse.Event, error) { return ev, nil }

// Open implements wire.Stream.
func (s *Stream) Open() bool { return s.started && !s.done }

// deltaHead starts the data of nearly every event.
var deltaHead = []byte(`{"type":"content_block_delta",`)

// Append implements wire.Stream.
func (s *Stream) Append(dst []byte, ev *flow.Outgoing) ([]byte, error) {
	if ev.Edit == nil && (len(ev.Data) == 0 || bytes.HasPrefix(ev.Data, deltaHead)) {
		return append(dst, ev.Raw...), nil
	}
	p := &s.again
	if _, err := p.parse(&sse.Event{Data: ev.Data}); err != nil {
		return dst, fmt.Errorf("event to edit: %w", err)
	}
	if e := ev.Edit; e != nil && e.Call != nil && p.index >= 0 {
		if _, drop := e.Call(0, p.index); drop {
			return s.instead(dst, ev, p)
		}
	}
	if len(ev.Notices) > 0 {
		return dst, events.ErrPlace
	}
	if ev.Edit == nil {
		s.pass(p)
		return append(dst, ev.Raw...), nil
	}
	data, err := p.render(ev.Edit)
	if err != nil {
		return dst, err
	}
	s.pass(p)
	return sse.Append(dst, ev.Raw, data), nil
}

// pass notes an event that is released.
func (s *Stream) pass(p *parser) {
	if p.Chunk.Usage {
		d := &p.Doc
		usage := d.Find(max(d.Find(0, "message"), 0), "usage")
		if n, ok := d.Int(d.Find(usage, "output_tokens")); ok {
			s.sent.tokens = n
		}
	}
	switch p.event {
	case messageStart:
		s.sent.started = true
		for range p.inside {
			s.sent.open = append(s.sent.open, len(s.sent.open))
		}
	case blockStart:
		s.sent.started = true
		s.sent.open = append(s.sent.open, p.index)
	case blockStop:
		s.sent.open = slices.DeleteFunc(s.sent.open, func(i int) bool { return i == p.index })
	case messageDelta:
		s.sent.stopped = s.sent.stopped || len(p.Chunk.Finished) > 0
	case messageStop:
		s.sent.done = true
	default:
	}
}

// instead writes the events of a call that is not made: a text block replaces it
// and ends when the call would have ended.
func (s *Stream) instead(dst []byte, ev *flow.Outgoing, p *parser) ([]byte, error) {
	switch p.event {
	case blockStart:
		dst = event(dst, blockStart, `,"index":%d,"content_block":{"type":"text","text":""}`, p.index)
		for _, say := range ev.Notices {
			if say.Item != p.index {
				return dst, events.ErrPlace
			}
			dst = event(dst, blockDelta, `,"index":%d,"delta":{"type":"text_delta","text":%q}`, p.index, say.Text)
		}
	case blockStop:
		dst = append(dst, ev.Raw...)
	default:
		if len(ev.Notices) > 0 {
			return dst, events.ErrPlace
		}
		return dst, nil
	}
	s.pass(p)
	return dst, nil
}

// event appends an event of Margay's.
func event(dst []byte, typ, format string, args ...any) []byte {
	dst = strictjson.Appendf(dst, "event: %s\ndata: {\"type\":%q", typ, typ)
	return append(strictjson.Appendf(dst, format, args...), "}\n\n"...)
}

// Halt implements wire.Stream: what is open ends, and the answer is refused.
func (s *Stream) Halt(dst []byte) []byte {
	if !s.sent.started {
		return s.Fail(dst, &wire.Problem{Message: "margay: the answer was stopped, as it held a secret that may not leave", Code: "denied"})
	}
	if s.sent.done {
		return dst
	}
	for _, i := range s.sent.open {
		dst = event(dst, blockStop, `,"index":%d`, i)
	}
	if !s.sent.stopped {
		dst = event(dst, messageDelta, `,"delta":{"stop_reason":"refusal","stop_sequence":null,"stop_details":%s},"usage":{"output_tokens":%d}`, refusal, s.sent.tokens)
	}
	return event(dst, messageStop, "")
}

// Fail implements wire.Stream.
func (s *Stream) Fail(dst []byte, p *wire.Problem) []byte {
	return strictjson.Appendf(dst, "event: error\ndata: %s\n\n", API{}.ErrorBody(p))
}

// render returns the data of the event that p has read with its edit.
func (p *parser) render(change *flow.Edit) ([]byte, error) {
	d, e := &p.Doc, p.Editor()
	if err := p.Texts(e, change.Text, nil); err != nil {
		return nil, err
	}
	if p.event == messageDelta && change.Finish != nil {
		if stop := d.Find(d.Find(0, "delta"), "stop_reason"); stop >= 0 && d.Text(stop) == "tool_use" && change.Finish(0, "tool_calls") == "stop" {
			e.PutString(stop, `"end_turn"`)
		}
	}
	return e.Bytes(), nil
}
