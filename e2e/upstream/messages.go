package upstream

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"
)

// MessagesUsage is what every complete answer of the Messages API reports.
var MessagesUsage = map[string]int{"input_tokens": 42, "output_tokens": 17}

// Signature is that of every block of thinking: long, as a real one is.
var Signature = base64.StdEncoding.EncodeToString([]byte(strings.Repeat("thought-through ", 24)))

// Messages is a decoded request for a message.
type Messages struct {
	Chat
	System json.RawMessage `json:"system"`
}

// SystemText returns the system prompt's text.
func (m *Messages) SystemText() string { return contentText(m.System) }

// LastUser returns the text of the last message that a user wrote.
func (m *Messages) LastUser() string {
	for _, msg := range slices.Backward(m.Messages) {
		if msg.Role == "user" && !bytes.Contains(msg.Content, []byte(`"tool_result"`)) {
			return contentText(msg.Content)
		}
	}
	return ""
}

// LastResult returns the text of the last tool's result.
func (m *Messages) LastResult() string {
	for _, msg := range slices.Backward(m.Messages) {
		var blocks []struct {
			Type    string
			Content json.RawMessage
		}
		if json.Unmarshal(msg.Content, &blocks) != nil {
			continue
		}
		for _, b := range slices.Backward(blocks) {
			if b.Type == "tool_result" {
				return contentText(b.Content)
			}
		}
	}
	return ""
}

// messages answers a request of the Messages API. Of a reply's choices the
// first counts.
func (s *Server) messages(w *recorder, r *http.Request, body []byte) {
	var m Messages
	if err := json.Unmarshal(body, &m); err != nil {
		w.messagesError(http.StatusBadRequest, "invalid_request_error", "the body is not JSON")
		return
	}
	w.e.Model = m.Model
	m.N = 1
	if strings.HasSuffix(r.URL.Path, "/count_tokens") {
		w.json(http.StatusOK, map[string]any{"input_tokens": MessagesUsage["input_tokens"], "x_vendor": vendor})
		return
	}
	reply, err := s.reply(&m.Chat)
	switch {
	case err != nil:
		w.messagesError(http.StatusBadRequest, "invalid_request_error", err.Error())
	case reply.Status != 0:
		for name, value := range reply.Header {
			w.Header().Set(name, value)
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(reply.Status)
		_, _ = io.WriteString(w, reply.Body)
	case m.Stream:
		s.messageStream(w, r, &m, reply)
	default:
		c := &reply.Choices[0]
		var blocks []any
		for _, b := range blocksOf(c) {
			blocks = append(blocks, b.whole)
		}
		answer := message(m.Model, blocks)
		answer["stop_reason"], answer["usage"] = stopReason(c), MessagesUsage
		w.json(http.StatusOK, answer)
	}
}

func (w *recorder) messagesError(status int, typ, text string) {
	w.json(status, map[string]any{"type": "error", "error": map[string]any{"type": typ, "message": text}})
}

func message(model string, blocks []any) map[string]any {
	if blocks == nil {
		blocks = []any{}
	}
	return map[string]any{
		"id": "msg_scripted", "type": "message", "role": "assistant", "model": model, "content": blocks, "stop_reason": nil, "stop_sequence": nil,
		"usage": map[string]int{"input_tokens": MessagesUsage["input_tokens"], "output_tokens": 1}, "x_vendor": vendor,
	}
}

func stopReason(c *Choice) string {
	if len(c.Calls) > 0 {
		return "tool_use"
	}
	return "end_turn"
}

// messageBlock is a content block, whole and as it is streamed.
type messageBlock struct {
	whole, start map[string]any
	deltas       []map[string]any
}

func blocksOf(c *Choice) []messageBlock {
	var out []messageBlock
	if c.Reasoning != "" {
		b := messageBlock{
			whole: map[string]any{"type": "thinking", "thinking": c.Reasoning, "signature": Signature},
			start: map[string]any{"type": "thinking", "thinking": "", "signature": ""},
		}
		for _, p := range pieces(c.Reasoning) {
			b.deltas = append(b.deltas, map[string]any{"type": "thinking_delta", "thinking": p})
		}
		b.deltas = append(b.deltas, map[string]any{"type": "signature_delta", "signature": Signature})
		out = append(out, b)
	}
	if c.Text != "" {
		b := messageBlock{whole: map[string]any{"type": "text", "text": c.Text}, start: map[string]any{"type": "text", "text": ""}}
		for _, p := range pieces(c.Text) {
			b.deltas = append(b.deltas, map[string]any{"type": "text_delta", "text": p})
		}
		out = append(out, b)
	}
	for _, call := range c.Calls {
		head := func(input any) map[string]any {
			return map[string]any{"type": "tool_use", "id": call.ID, "name": call.Name, "input": input}
		}
		b := messageBlock{whole: head(json.RawMessage(call.Arguments)), start: head(map[string]any{})}
		for _, p := range append([]string{""}, pieces(call.Arguments)...) {
			b.deltas = append(b.deltas, map[string]any{"type": "input_json_delta", "partial_json": p})
		}
		out = append(out, b)
	}
	return out
}

// messageStream writes a reply as the API's events. A reply that breaks does
// so inside of its last block.
func (s *Server) messageStream(w *recorder, r *http.Request, m *Messages, reply *Reply) {
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	send := func(typ string, fields map[string]any) bool {
		event := map[string]any{"type": typ, "x_vendor": vendor}
		for k, v := range fields {
			event[k] = v
		}
		_, _ = io.WriteString(w, "event: "+typ+"\n")
		return w.event(event)
	}
	c := &reply.Choices[0]
	if !send("message_start", map[string]any{"message": message(m.Model, nil)}) || !send("ping", nil) {
		w.gone()
		return
	}
	blocks := blocksOf(c)
	said, waited := 0, reply.AckAfter == 0
	for i, b := range blocks {
		going := send("content_block_start", map[string]any{"index": i, "content_block": b.start})
		for _, d := range b.deltas {
			going = going && send("content_block_delta", map[string]any{"index": i, "delta": d})
			text, _ := d["text"].(string)
			if said += utf8.RuneCountInString(text); !waited && said >= reply.AckAfter {
				waited = true
				if !s.waitForAck(w, r, m.Model) {
					return
				}
			}
		}
		if reply.Break != "" && i == len(blocks)-1 {
			break
		}
		if !going || !send("content_block_stop", map[string]any{"index": i}) {
			w.gone()
			return
		}
	}
	last := len(blocks) - 1
	switch reply.Break {
	case "close":
		panic(http.ErrAbortHandler) // drops the connection without an end of the body
	case "error":
		_, _ = fmt.Fprintf(w, "event: error\ndata: %s\n\n", reply.Body)
		w.flush()
		return
	case "endless":
		s.endless(w, r, func(text string) bool {
			return send("content_block_delta", map[string]any{"index": last, "delta": map[string]any{"type": "text_delta", "text": text}})
		})
		return
	}
	send("message_delta", map[string]any{"delta": map[string]any{"stop_reason": stopReason(c), "stop_sequence": nil}, "usage": MessagesUsage})
	send("message_stop", nil)
}

// messageModels is the list of models in the API's shape.
func messageModels() any {
	var data []any
	for _, id := range Models {
		data = append(data, map[string]any{"type": "model", "id": id, "display_name": id, "created_at": "2026-01-01T00:00:00Z", "x_vendor": vendor})
	}
	return map[string]any{"data": data, "has_more": false, "first_id": Models[0], "last_id": Models[len(Models)-1]}
}
