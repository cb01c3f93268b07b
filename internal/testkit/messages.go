package testkit

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// Message is what a client of Anthropic's Messages API puts together from a
// stream.
type Message struct {
	Blocks []MessageBlock
	Stop   string // the reason
	Error  string // the message of an error that ended the stream
	Pings  int
}

// MessageBlock is a content block.
type MessageBlock struct {
	Type, ID, Name string
	Text           string // or the thinking
	Input          string // as it was streamed
	Signature      string
	Citations      []string // as they came
	Raw            string   // what it began with

	open bool
}

// ReadMessage puts a stream together as strictly as any client does, and
// stricter: a stream that is not an answer, from its beginning to its end or to
// an error, in the API's order, is an error.
func ReadMessage(stream string) (*Message, error) {
	m := &Message{}
	begun, done := false, false
	for _, ev := range strings.SplitAfter(stream, "\n\n") {
		if ev == "" || strings.HasPrefix(ev, ": ") && strings.Count(ev, "\n") == 2 { // a comment
			continue
		}
		if done || m.Error != "" {
			return nil, errors.New("an event behind the end")
		}
		head, data, ok := strings.Cut(strings.TrimSuffix(ev, "\n\n"), "\ndata: ")
		typ, typed := strings.CutPrefix(head, "event: ")
		if !ok || !typed || strings.Contains(data, "\n") || !strings.HasSuffix(ev, "\n\n") {
			return nil, fmt.Errorf("an event is framed like %.40q", ev)
		}
		var e messageEvent
		if err := json.Unmarshal([]byte(data), &e); err != nil || e.Type != typ {
			return nil, fmt.Errorf("the data of an event %s of type %s: %w", typ, e.Type, err)
		}
		switch {
		case typ == "ping":
			m.Pings++
		case typ == "error":
			if e.Error.Type == "" || e.Error.Message == "" {
				return nil, errors.New("an error says nothing")
			}
			m.Error = e.Error.Message
		case typ == "message_start" && !begun:
			begun = true
			for i, b := range e.Message.Content {
				if err := m.event(&messageEvent{Type: "content_block_start", Index: &i, Block: b}); err != nil {
					return nil, err
				}
			}
		case !begun:
			return nil, fmt.Errorf("%s before the message", typ)
		case typ == "message_stop":
			if done = true; m.Stop == "" {
				return nil, errors.New("the message stops without a reason")
			}
		default:
			if err := m.event(&e); err != nil {
				return nil, err
			}
		}
	}
	if !done && m.Error == "" {
		return nil, errors.New("the stream does not end")
	}
	for i := range m.Blocks {
		b := &m.Blocks[i]
		if b.open && m.Error == "" {
			return nil, fmt.Errorf("content block %d does not end", i)
		}
		if b.Input != "" && m.Error == "" && m.Stop != "refusal" && !json.Valid([]byte(b.Input)) {
			return nil, fmt.Errorf("the input of block %d is not JSON", i)
		}
	}
	return m, nil
}

type messageEvent struct {
	Type    string
	Message struct{ Content []json.RawMessage }
	Index   *int
	Block   json.RawMessage `json:"content_block"`
	Delta   struct {
		Type, Text, Thinking, Signature string
		PartialJSON                     *string `json:"partial_json"`
		Citation                        json.RawMessage
		Stop                            *string `json:"stop_reason"`
	}
	Usage *struct {
		Output *int `json:"output_tokens"`
	}
	Error struct{ Type, Message string }
}

func (m *Message) event(e *messageEvent) error {
	if e.Type == "message_delta" {
		for i := range m.Blocks {
			if m.Blocks[i].open {
				return fmt.Errorf("the message ends before its block %d", i)
			}
		}
		if e.Usage == nil || e.Usage.Output == nil {
			return errors.New("a message_delta without usage")
		}
		if e.Delta.Stop != nil {
			m.Stop = *e.Delta.Stop
		}
		return nil
	}
	if e.Index == nil || m.Stop != "" {
		return fmt.Errorf("%s without an index, or behind the reason to stop", e.Type)
	}
	i := *e.Index
	if e.Type == "content_block_start" {
		b := MessageBlock{Raw: string(e.Block), open: true}
		var in struct{ Type, ID, Name, Text, Thinking string }
		if err := json.Unmarshal(e.Block, &in); err != nil || in.Type == "" || i != len(m.Blocks) {
			return fmt.Errorf("block %d begins where %d should, or is none", i, len(m.Blocks))
		}
		b.Type, b.ID, b.Name, b.Text = in.Type, in.ID, in.Name, in.Text+in.Thinking
		m.Blocks = append(m.Blocks, b)
		return nil
	}
	if i < 0 || i >= len(m.Blocks) || !m.Blocks[i].open {
		return fmt.Errorf("%s for block %d, which is not open", e.Type, i)
	}
	b := &m.Blocks[i]
	if e.Type == "content_block_stop" {
		b.open = false
		return nil
	}
	if e.Type != "content_block_delta" {
		return fmt.Errorf("an event of type %s", e.Type)
	}
	for _, known := range []struct{ delta, block string }{
		{"text_delta", "text"}, {"citations_delta", "text"}, {"thinking_delta", "thinking"}, {"signature_delta", "thinking"}, {"input_json_delta", "tool_use"},
	} {
		if e.Delta.Type == known.delta && !strings.HasSuffix(b.Type, known.block) {
			return fmt.Errorf("a %s for a block of type %s", e.Delta.Type, b.Type)
		}
	}
	b.Text += e.Delta.Text + e.Delta.Thinking
	b.Signature += e.Delta.Signature
	if e.Delta.PartialJSON != nil {
		b.Input += *e.Delta.PartialJSON
	}
	if e.Delta.Citation != nil {
		b.Citations = append(b.Citations, string(e.Delta.Citation))
	}
	return nil
}
