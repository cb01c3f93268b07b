package openaichat

import (
	"slices"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/sse"
	"github.com/margaydev/margay/wire"
)

// Stream implements wire.Stream for the chunks of a completion.
type Stream struct {
	parser chunkParser
	style  style
	styled bool
	seen   []int // choices begun and not finished
	done   bool
}

// maxChoices bounds the choices that are remembered. The mediator refuses more.
const maxChoices = 128

// Reset implements wire.Stream.
func (s *Stream) Reset(lim wire.Limits, tokens bool) {
	s.parser.reset(lim, tokens)
	s.style, s.styled, s.seen, s.done = style{}, false, s.seen[:0], false
}

// Parse implements wire.Stream. The data [DONE] is no JSON and the only such.
func (s *Stream) Parse(ev *sse.Event) (*wire.Chunk, error) {
	c, err := s.parser.parse(ev.Data)
	if err != nil || c.Done {
		s.done = s.done || err == nil
		return c, err
	}
	if !s.styled {
		s.style, s.styled = styleOf(ev.Data), true
	}
	for _, n := range c.Choices {
		if !slices.Contains(s.seen, n) && len(s.seen) < maxChoices {
			s.seen = append(s.seen, n)
		}
	}
	for _, f := range c.Finished {
		s.seen = slices.DeleteFunc(s.seen, func(n int) bool { return n == f.Choice })
	}
	return c, nil
}

// Strip implements wire.Stream.
func (s *Stream) Strip(ev *sse.Event, logprobs, telemetry bool) (*sse.Event, error) {
	data, err := render(ev.Data, &edit{dropLogprobs: logprobs, dropTelemetry: telemetry}, s.parser.lim)
	if err != nil {
		return nil, err
	}
	return &sse.Event{Raw: sse.Append(nil, ev.Raw, data), Type: ev.Type, ID: ev.ID, Data: data}, nil
}

// Append implements wire.Stream.
func (s *Stream) Append(dst []byte, ev *flow.Outgoing) ([]byte, error) {
	for _, say := range ev.Say {
		dst = sse.Append(dst, nil, s.style.content(say.Choice, say.Text))
	}
	if ev.Edit == nil {
		return append(dst, ev.Raw...), nil
	}
	data, err := render(ev.Data, &edit{Edit: *ev.Edit}, s.parser.lim)
	if err != nil {
		return dst, err
	}
	return sse.Append(dst, ev.Raw, data), nil
}

// Open implements wire.Stream.
func (s *Stream) Open() bool { return len(s.seen) > 0 && !s.done }

// Halt implements wire.Stream: the choices finish with content_filter.
func (s *Stream) Halt(dst []byte) []byte {
	for _, c := range s.seen {
		dst = sse.Append(dst, nil, s.style.finish(c, "content_filter"))
	}
	return sse.Append(dst, nil, done)
}

// Fail implements wire.Stream.
func (s *Stream) Fail(dst []byte, p *wire.Problem) []byte {
	return sse.Append(dst, nil, API{}.ErrorBody(p))
}
