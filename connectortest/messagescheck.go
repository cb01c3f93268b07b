package connectortest

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

type messagesBlock struct {
	Type, ID, Name string
	Input          json.RawMessage
}

type messagesMessage struct {
	ID, Type, Role, Model string
	Content               []messagesBlock
	Stop                  *string `json:"stop_reason"`
}

var messagesStops = map[string]bool{"end_turn": true, "max_tokens": true, "stop_sequence": true, "tool_use": true, "pause_turn": true, "refusal": true}

// messagesCheck reads an answer strictly.
func messagesCheck(stream, partial bool, raw []byte) error {
	if stream {
		return messagesCheckStream(partial, raw)
	}
	var m messagesMessage
	var e messagesError
	if strict(raw, &e) == nil && e.Type == "error" {
		return e.check()
	}
	var count struct {
		Tokens *int `json:"input_tokens"`
	}
	if strict(raw, &count) == nil && count.Tokens != nil {
		return nil
	}
	if err := strict(raw, &m); err != nil {
		return err
	}
	if m.ID == "" || m.Type != "message" || m.Role != "assistant" || m.Content == nil || m.Stop == nil {
		return errors.New("no message")
	}
	if partial && *m.Stop != "refusal" {
		return errors.New("it stops for " + *m.Stop)
	}
	calls := 0
	for i, b := range m.Content {
		if b.Type == "" {
			return fmt.Errorf("block %d has no type", i)
		}
		if b.Type == "tool_use" {
			calls++
			if b.ID == "" || b.Name == "" || len(b.Input) == 0 || b.Input[0] != '{' {
				return fmt.Errorf("block %d is not a call", i)
			}
		}
	}
	return stops(*m.Stop, calls)
}

func stops(reason string, calls int) error {
	if !messagesStops[reason] || reason != "refusal" && (reason == "tool_use") != (calls > 0) {
		return fmt.Errorf("it stops for %q after %d calls", reason, calls)
	}
	return nil
}

// messagesReader reads a stream.
type messagesReader struct {
	begun, stopped, ended, failed bool
	open                          *messagesBlock
	blocks, calls                 int
	json                          strings.Builder
	reason                        string
}

func messagesCheckStream(partial bool, raw []byte) error {
	evs, err := sseStream(raw)
	if err != nil {
		return err
	}
	var r messagesReader
	for i, e := range evs {
		if e.comment {
			continue
		}
		if err := r.event(e); err != nil {
			return fmt.Errorf("event %d, %s: %w", i, e.typ, err)
		}
	}
	switch {
	case r.failed:
		if !partial {
			return errors.New("the stream ended with an error")
		}
		return nil
	case !r.ended:
		return errors.New("no message_stop")
	case partial && r.reason != "refusal":
		return errors.New("it stops for " + r.reason)
	}
	return nil
}

func (r *messagesReader) event(e event) error {
	var d struct {
		Type    string
		Index   *int
		Message *messagesMessage
		Block   *messagesBlock `json:"content_block"`
		Delta   *struct {
			Type    string
			Text    *string
			Partial *string `json:"partial_json"`
			Stop    *string `json:"stop_reason"`
		}
	}
	if err := strict([]byte(e.data), &d); err != nil {
		return err
	}
	if d.Type != e.typ {
		return fmt.Errorf("its data is of type %q", d.Type)
	}
	if r.ended || r.failed {
		return errors.New("it comes behind the end")
	}
	if r.begun == (d.Type == "message_start") && d.Type != "ping" && d.Type != "error" {
		return errors.New("it comes out of order")
	}
	if r.stopped && d.Type != "message_stop" && d.Type != "ping" && d.Type != "error" {
		return errors.New("it comes behind message_delta")
	}
	switch d.Type {
	case "message_start":
		r.begun = true
		if m := d.Message; m == nil || m.ID == "" || m.Type != "message" || m.Content == nil {
			return errors.New("no message")
		}
	case "content_block_start":
		if d.Index == nil || *d.Index != r.blocks || r.open != nil || d.Block == nil || d.Block.Type == "" {
			return errors.New("the block does not begin in its order")
		}
		r.blocks++
		r.open = d.Block
		r.json.Reset()
		if d.Block.Type == "tool_use" {
			r.calls++
			if d.Block.ID == "" || d.Block.Name == "" {
				return errors.New("a call without its identifier or its name")
			}
		}
	case "content_block_delta":
		if d.Index == nil || r.open == nil || *d.Index != r.blocks-1 || d.Delta == nil {
			return errors.New("no such block")
		}
		if want := map[string]string{"text_delta": "text", "thinking_delta": "thinking", "signature_delta": "thinking", "citations_delta": "text"}[d.Delta.Type]; want != "" && want != r.open.Type {
			return fmt.Errorf("%s in a block of type %s", d.Delta.Type, r.open.Type)
		}
		if d.Delta.Partial != nil {
			r.json.WriteString(*d.Delta.Partial)
		}
	case "content_block_stop":
		if d.Index == nil || r.open == nil || *d.Index != r.blocks-1 {
			return errors.New("no such block")
		}
		if s := r.json.String(); s != "" && !json.Valid([]byte(s)) {
			return errors.New("the input is not JSON")
		}
		r.open = nil
	case "message_delta":
		if d.Delta == nil || d.Delta.Stop == nil || r.open != nil {
			return errors.New("no reason to stop, or an open block")
		}
		r.stopped, r.reason = true, *d.Delta.Stop
		return stops(r.reason, r.calls)
	case "message_stop":
		if !r.stopped {
			return errors.New("the answer gives no reason to stop")
		}
		r.ended = true
	case "error":
		r.failed = true
		var m messagesError
		if err := strict([]byte(e.data), &m); err != nil {
			return err
		}
		return m.check()
	case "ping":
	default:
		return errors.New("no such event")
	}
	return nil
}
