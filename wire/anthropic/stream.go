package anthropic

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/sse"
	"github.com/margaydev/margay/internal/strictjson"
	"github.com/margaydev/margay/wire"
)

// Stream implements wire.Stream for the events of a message.
type Stream struct {
	parser parser
	again  parser // of events that go out
	begun  bool
	done   bool
	sent   sent
}

// sent is what the client has got. Events that wait are no part of it.
type sent struct {
	begun   bool
	open    []int // blocks
	stopped bool  // the reason to stop was told
	done    bool
	tokens  int // of the answer
}

// Reset implements wire.Stream. The API tells nothing about tokens.
func (s *Stream) Reset(lim wire.Limits, _ bool) {
	s.parser.reset(lim)
	s.again.lim, s.again.alone = lim, true
	s.begun, s.done, s.sent = false, false, sent{open: s.sent.open[:0]}
}

// Parse implements wire.Stream.
func (s *Stream) Parse(ev *sse.Event) (*wire.Chunk, error) {
	c, err := s.parser.parse(ev)
	if err != nil {
		return nil, err
	}
	if len(c.Choices) > 0 {
		s.begun = true
	}
	s.done = s.done || c.Done
	return c, nil
}

// Strip implements wire.Stream: there is nothing to take out.
func (s *Stream) Strip(ev *sse.Event, _, _ bool) (*sse.Event, error) { return ev, nil }

// Open implements wire.Stream.
func (s *Stream) Open() bool { return s.begun && !s.done }

// Errors of Append: an edit that can't be made must not be forgotten.
var (
	errKey   = errors.New("an object's key can't be edited")
	errPlace = errors.New("an edit is of a text that the event does not have")
	errValue = errors.New("an edited value is no JSON")
	errFixed = errors.New("what is signed can't be edited")
)

// deltaHead begins the data of nearly every event.
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
	if ev.Edit == nil {
		if len(ev.Say) > 0 {
			return dst, errPlace
		}
		s.pass(p)
		return append(dst, ev.Raw...), nil
	}
	if e := ev.Edit; e.Call != nil && p.index >= 0 {
		if _, drop := e.Call(0, p.index); drop {
			return s.instead(dst, ev, p)
		}
	}
	if len(ev.Say) > 0 {
		return dst, errPlace
	}
	data, err := p.render(ev)
	if err != nil {
		return dst, err
	}
	s.pass(p)
	return sse.Append(dst, ev.Raw, data), nil
}

// pass notes an event that the client gets.
func (s *Stream) pass(p *parser) {
	if p.chunk.Usage {
		d := &p.doc
		usage := d.Find(max(d.Find(0, "message"), 0), "usage")
		if n, ok := d.Int(d.Find(usage, "output_tokens")); ok {
			s.sent.tokens = n
		}
	}
	switch p.event {
	case messageStart:
		s.sent.begun = true
		for range p.inside {
			s.sent.open = append(s.sent.open, len(s.sent.open))
		}
	case blockStart:
		s.sent.begun = true
		s.sent.open = append(s.sent.open, p.index)
	case blockStop:
		s.sent.open = slices.DeleteFunc(s.sent.open, func(i int) bool { return i == p.index })
	case messageDelta:
		s.sent.stopped = s.sent.stopped || len(p.chunk.Finished) > 0
	case messageStop:
		s.sent.done = true
	default:
	}
}

// instead writes the events of a call that is not made: a text block in its
// place, which ends when the call would have.
func (s *Stream) instead(dst []byte, ev *flow.Outgoing, p *parser) ([]byte, error) {
	switch p.event {
	case blockStart:
		dst = event(dst, blockStart, `"index":%d,"content_block":{"type":"text","text":""}`, p.index)
		for _, say := range ev.Say {
			if say.Item != p.index {
				return dst, errPlace
			}
			dst = event(dst, blockDelta, `"index":%d,"delta":{"type":"text_delta","text":%s}`, p.index, strictjson.AppendQuote(nil, []byte(say.Text)))
		}
	case blockStop:
		dst = append(dst, ev.Raw...)
	default:
		if len(ev.Say) > 0 {
			return dst, errPlace
		}
		return dst, nil
	}
	s.pass(p)
	return dst, nil
}

// event appends an event of our own.
func event(dst []byte, typ eventType, format string, args ...any) []byte {
	dst = fmt.Appendf(dst, "event: %s\ndata: {\"type\":\"%s\"", eventTypes[typ], eventTypes[typ])
	if format != "" {
		dst = fmt.Appendf(append(dst, ','), format, args...)
	}
	return append(dst, "}\n\n"...)
}

// Halt implements wire.Stream: what is open ends, and the answer is refused.
func (s *Stream) Halt(dst []byte) []byte {
	if !s.sent.begun {
		return s.Fail(dst, &wire.Problem{Message: "margay: the answer was stopped, as it held a secret that may not leave", Code: "denied"})
	}
	if s.sent.done {
		return dst
	}
	for _, i := range s.sent.open {
		dst = event(dst, blockStop, `"index":%d`, i)
	}
	if !s.sent.stopped {
		dst = event(dst, messageDelta, `"delta":{"stop_reason":"refusal","stop_sequence":null,"stop_details":%s},"usage":{"output_tokens":%d}`, refusal, s.sent.tokens)
	}
	return event(dst, messageStop, "")
}

// Fail implements wire.Stream.
func (s *Stream) Fail(dst []byte, p *wire.Problem) []byte {
	dst = append(dst, "event: error\ndata: "...)
	dst = append(dst, API{}.ErrorBody(p)...)
	return append(dst, "\n\n"...)
}

// render returns the data of the event that p has read with its edit.
func (p *parser) render(ev *flow.Outgoing) ([]byte, error) {
	d, e := &p.doc, ev.Edit
	var sp []strictjson.Splice
	for i, text := range e.Text {
		if i < 0 || i >= len(p.nodes) || p.nodes[i] == nowhere {
			return nil, errPlace
		}
		if p.nodes[i] == inKey {
			return nil, errKey
		}
		if p.chunk.Deltas[i].Fixed {
			return nil, errFixed
		}
		n := &d.Nodes[p.nodes[i]]
		if n.Kind == strictjson.String {
			text = strictjson.AppendQuote(nil, text)
		} else {
			var check strictjson.Doc
			if check.Parse(text, p.lim) != nil {
				return nil, errValue
			}
		}
		sp = append(sp, strictjson.Splice{Start: n.Start, End: n.End, Text: text})
	}
	if p.event == messageDelta && e.Finish != nil {
		if stop := d.Find(d.Find(0, "delta"), "stop_reason"); stop >= 0 && d.Text(stop) == "tool_use" && e.Finish(0, "tool_calls") == "stop" {
			sp = append(sp, strictjson.Splice{Start: d.Nodes[stop].Start, End: d.Nodes[stop].End, Text: []byte(`"end_turn"`)})
		}
	}
	slices.SortFunc(sp, func(a, b strictjson.Splice) int { return a.Start - b.Start })
	return strictjson.Apply(nil, d.Raw, sp), nil
}
