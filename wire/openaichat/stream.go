package openaichat

import (
	"slices"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/sse"
	"github.com/margaydev/margay/internal/strictjson"
	"github.com/margaydev/margay/wire"
	"github.com/margaydev/margay/wire/body"
	"github.com/margaydev/margay/wire/events"
)

// Stream implements wire.Stream for the chunks of a completion.
type Stream struct {
	parser  chunkParser
	again   chunkParser // of chunks that change
	head    []byte      // the start of the stream's chunks, from its first
	started bool
	seen    []int // choices that started and did not finish
	done    bool
}

// maxChoices bounds the choices that are kept. The mediator refuses more.
const maxChoices = 128

// Reset implements wire.Stream.
func (s *Stream) Reset(lim wire.Limits, tokens bool) {
	s.parser.Reset(lim, tokens)
	s.again.Limits, s.again.Once = lim, true
	s.head, s.started, s.seen, s.done = nil, false, s.seen[:0], false
}

// Parse implements wire.Stream.
func (s *Stream) Parse(ev *sse.Event) (*wire.Chunk, error) {
	c, err := s.parser.parse(ev.Data)
	if err != nil || c.Done {
		s.done = s.done || err == nil
		return c, err
	}
	if !s.started {
		s.head, s.started = headOf(ev.Data), true
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

// headOf returns the members that all chunks of a stream share.
func headOf(data []byte) (head []byte) {
	var d strictjson.Doc
	if d.Parse(data, wire.Limits{}) != nil {
		return nil
	}
	for c := range d.All(0) {
		switch d.Key(c) {
		case "id", "object", "created", "model", "system_fingerprint":
			head = strictjson.Appendf(head, "%q:%s,", d.KeyBytes(c), d.Value(c))
		}
	}
	return head
}

// appendChunk appends a chunk of Margay's own with one choice.
func (s *Stream) appendChunk(dst []byte, choice int, format, text string) []byte {
	data := strictjson.Appendf(nil, `{%s"choices":[{"index":%d,`, s.head, choice)
	return sse.Append(dst, nil, append(strictjson.Appendf(data, format, text), "}]}"...))
}

// Strip implements wire.Stream.
func (s *Stream) Strip(ev *sse.Event, logprobs, telemetry bool) (*sse.Event, error) {
	data, err := s.again.render(ev.Data, &edit{dropLogprobs: logprobs, dropTelemetry: telemetry})
	if err != nil {
		return nil, err
	}
	return events.Replace(ev, data), nil
}

// Append implements wire.Stream.
func (s *Stream) Append(dst []byte, ev *flow.Outgoing) ([]byte, error) {
	for _, say := range ev.Notices {
		dst = s.appendChunk(dst, say.Choice, `"delta":{"content":%q},"finish_reason":null`, say.Text)
	}
	if ev.Edit == nil {
		return append(dst, ev.Raw...), nil
	}
	data, err := s.again.render(ev.Data, &edit{Edit: *ev.Edit})
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
		dst = s.appendChunk(dst, c, `"delta":{},"finish_reason":%q`, "content_filter")
	}
	return events.AppendDone(dst)
}

// Fail implements wire.Stream.
func (s *Stream) Fail(dst []byte, p *wire.Problem) []byte {
	return sse.Append(dst, nil, API{}.ErrorBody(p))
}

// edit changes one chunk.
type edit struct {
	flow.Edit
	// dropLogprobs and dropTelemetry make them null.
	dropLogprobs, dropTelemetry bool
}

// render returns the data of a chunk with an edit applied. The logprobs of a
// choice whose text changed become null, because they repeat it. The server's
// random padding stays.
func (p *chunkParser) render(data []byte, change *edit) ([]byte, error) {
	if _, err := p.parse(data); err != nil {
		return nil, err
	}
	d, e := &p.Doc, p.Editor()
	if len(d.Nodes) == 0 {
		return data, nil // not JSON
	}
	err := p.Texts(e, change.Text, func(node int) {
		for up := node; up >= 0; up = d.Nodes[up].Parent {
			if lp := d.Find(up, "logprobs"); lp >= 0 {
				e.PutString(lp, "null")
			}
		}
	})
	if err != nil {
		return nil, err
	}
	for i := range d.Nodes {
		change.node(e, i)
	}
	return e.Value(0), nil
}

// node changes a member of the chunk if it has to.
func (change *edit) node(e *body.Editor, i int) {
	d, key := e.Doc, e.Doc.KeyBytes(i)
	kind := d.Nodes[i].Kind
	switch {
	case string(key) == "logprobs" && change.dropLogprobs, string(key) == telemetryKey && change.dropTelemetry:
		e.PutString(i, "null")
	case string(key) == "finish_reason" && change.Finish != nil && kind == strictjson.String:
		e.Put(i, strictjson.AppendQuote(nil, []byte(change.Finish(choiceOf(d, i), d.Text(i)))))
	case string(key) == "function_call" && change.Call != nil && kind == strictjson.Object:
		if _, drop := change.Call(choiceOf(d, i), -1); drop {
			e.PutString(i, "null")
		}
	case string(key) == "tool_calls" && change.Call != nil && kind == strictjson.Array:
		renderCalls(e, i, choiceOf(d, i), change.Call)
	}
}

// renderCalls leaves out the dropped calls, and counts the others again.
func renderCalls(e *body.Editor, calls, choice int, now func(choice, item int) (int, bool)) {
	d := e.Doc
	e.Keep(calls, func(c int) bool {
		index := indexOf(d, c)
		is, drop := now(choice, index)
		at := d.Find(c, "index")
		if _, ok := d.Int(at); ok && !drop && is != index {
			e.Put(at, strictjson.Appendf(nil, "%d", is))
		}
		return !drop
	})
}

// choiceOf returns the index of the choice that a node is in, -1 for none.
func choiceOf(d *strictjson.Doc, node int) int {
	for i := node; d.Nodes[i].Parent >= 0; i = d.Nodes[i].Parent {
		if d.Nodes[i].Kind == strictjson.Object && d.KeyIs(d.Nodes[i].Parent, "choices") {
			return indexOf(d, i)
		}
	}
	return -1
}

// indexOf is the index that a choice or a call states, or else its place.
func indexOf(d *strictjson.Doc, node int) int {
	if n, ok := d.Int(d.Find(node, "index")); ok {
		return n
	}
	return d.Nodes[node].Index
}
