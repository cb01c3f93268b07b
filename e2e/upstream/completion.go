package upstream

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"time"
	"unicode/utf8"
)

const (
	created = 1700000000 // fixed, so that answers are
	id      = "chatcmpl-scripted"
	// ackWithin is how long a stream waits to be told that its text arrived.
	ackWithin = 10 * time.Second
	// endlessPace and endlessFor bound a stream that waits for its caller to
	// go away.
	endlessPace = 5 * time.Millisecond
	endlessFor  = 20 * time.Second
)

var vendor = map[string]any{"trace": "x-7/1", "flags": []any{true, nil, 1.50}}

// Vendor is part of every answer, in the field x_vendor, as the JSON text that
// it has there.
const Vendor = `{"flags":[true,null,1.5],"trace":"x-7/1"}`

// Usage is what every complete chat answer reports.
var Usage = map[string]int{"prompt_tokens": 42, "completion_tokens": 17, "total_tokens": 59}

// pieceLens are the lengths, in runes, that streamed text is cut into, again
// and again: single characters inside words, and short and long pieces.
var pieceLens = []int{3, 1, 1, 4, 2, 1, 7, 1, 1, 1, 5, 13, 1, 2}

// pieces cuts text at odd places, never inside a rune.
func pieces(text string) []string {
	var out []string
	for i := 0; text != ""; i++ {
		n := 0
		for k := 0; k < pieceLens[i%len(pieceLens)] && n < len(text); k++ {
			_, size := utf8.DecodeRuneInString(text[n:])
			n += size
		}
		out, text = append(out, text[:n]), text[n:]
	}
	return out
}

func logprobs(tokens []string) any {
	content := []any{}
	for i, t := range tokens {
		one := map[string]any{"token": t, "logprob": -0.25 * float64(i%4), "bytes": bytesOf(t)}
		top := map[string]any{"token": t, "logprob": one["logprob"], "bytes": one["bytes"]}
		one["top_logprobs"] = []any{top}
		content = append(content, one)
	}
	return map[string]any{"content": content, "refusal": nil}
}

func bytesOf(s string) []int {
	out := make([]int, len(s))
	for i := range len(s) {
		out[i] = int(s[i])
	}
	return out
}

func finish(c *Choice) string {
	if len(c.Calls) > 0 {
		return "tool_calls"
	}
	return "stop"
}

func whole(chat *Chat, reply *Reply) any {
	var choices []any
	for i := range reply.Choices {
		c := &reply.Choices[i]
		message := map[string]any{"role": "assistant", "content": c.Text, "refusal": nil}
		if c.Reasoning != "" {
			message["reasoning_content"] = c.Reasoning
		}
		var calls []any
		for _, call := range c.Calls {
			calls = append(calls, map[string]any{"id": call.ID, "type": "function", "function": map[string]any{"name": call.Name, "arguments": call.Arguments}})
		}
		if calls != nil {
			message["tool_calls"] = calls
		}
		choice := map[string]any{"index": i, "message": message, "logprobs": nil, "finish_reason": finish(c)}
		if chat.Logprobs {
			choice["logprobs"] = logprobs(pieces(c.Text))
		}
		choices = append(choices, choice)
	}
	return map[string]any{
		"id": id, "object": "chat.completion", "created": created, "model": chat.Model, "choices": choices, "usage": Usage, "x_vendor": vendor,
	}
}

// stream writes a reply as server-sent events, the choices interleaved piece
// by piece.
func (s *Server) stream(w *recorder, r *http.Request, chat *Chat, reply *Reply) {
	w.Header().Set("Content-Type", "text/event-stream")
	send := func(fields map[string]any) bool {
		event := map[string]any{"id": id, "object": "chat.completion.chunk", "created": created, "model": chat.Model, "x_vendor": vendor}
		for k, v := range fields {
			event[k] = v
		}
		return w.event(event)
	}
	choice := func(index int, delta map[string]any, logprobs any, finish any) map[string]any {
		return map[string]any{"choices": []any{map[string]any{"index": index, "delta": delta, "logprobs": logprobs, "finish_reason": finish}}}
	}

	var queues [][]map[string]any // events of each choice
	for i := range reply.Choices {
		c := &reply.Choices[i]
		q := []map[string]any{choice(i, map[string]any{"role": "assistant", "content": "", "refusal": nil}, nil, nil)}
		for _, p := range pieces(c.Reasoning) {
			q = append(q, choice(i, map[string]any{"reasoning_content": p}, nil, nil))
		}
		for _, p := range pieces(c.Text) {
			var lp any
			if chat.Logprobs {
				lp = logprobs([]string{p})
			}
			q = append(q, choice(i, map[string]any{"content": p}, lp, nil))
		}
		q = append(q, callEvents(i, c.Calls, choice)...)
		if reply.Break == "" {
			q = append(q, choice(i, map[string]any{}, nil, finish(c)))
		}
		queues = append(queues, q)
	}
	said, waited := 0, reply.AckAfter == 0
	for step := 0; ; step++ {
		more := false
		for i, q := range queues {
			if step >= len(q) {
				continue
			}
			more = true
			if !send(q[step]) {
				w.gone()
				return
			}
			if i == 0 && !waited {
				said += textLen(q[step])
				if said >= reply.AckAfter {
					waited = true
					if !s.waitForAck(w, r, chat.Model) {
						return
					}
				}
			}
		}
		if !more {
			break
		}
	}
	switch reply.Break {
	case "close":
		panic(http.ErrAbortHandler) // drops the connection without an end of the body
	case "error":
		_, _ = fmt.Fprintf(w, "data: %s\n\n", reply.Body)
		w.flush()
		return
	case "endless":
		s.endless(w, r, func(text string) bool { return send(choice(0, map[string]any{"content": text}, nil, nil)) })
		return
	}
	if chat.StreamOptions.IncludeUsage {
		send(map[string]any{"choices": []any{}, "usage": Usage})
	}
	_, _ = w.Write([]byte("data: [DONE]\n\n"))
	w.flush()
}

// callEvents streams tool calls: id and name first, then the arguments in
// pieces that also cut inside JSON's escapes.
func callEvents(index int, calls []Call, choice func(int, map[string]any, any, any) map[string]any) []map[string]any {
	var out []map[string]any
	for k, call := range calls {
		out = append(out, choice(index, map[string]any{"tool_calls": []any{map[string]any{
			"index": k, "id": call.ID, "type": "function", "function": map[string]any{"name": call.Name, "arguments": ""},
		}}}, nil, nil))
		for _, p := range pieces(call.Arguments) {
			out = append(out, choice(index, map[string]any{"tool_calls": []any{map[string]any{
				"index": k, "function": map[string]any{"arguments": p},
			}}}, nil, nil))
		}
	}
	return out
}

// textLen returns the runes of content in an event.
func textLen(event map[string]any) int {
	choices, _ := event["choices"].([]any)
	if len(choices) == 0 {
		return 0
	}
	choice, _ := choices[0].(map[string]any)
	delta, _ := choice["delta"].(map[string]any)
	text, _ := delta["content"].(string)
	return utf8.RuneCountInString(text)
}

// event writes one event and reports whether somebody still listens.
func (w *recorder) event(v any) bool {
	var b bytes.Buffer
	b.WriteString("data: ")
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(fmt.Sprintf("upstream: an event can't be encoded: %v", err))
	}
	b.WriteByte('\n')
	_, err := w.Write(b.Bytes())
	w.flush()
	return err == nil
}

func (w *recorder) gone() {
	w.s.mu.Lock()
	w.e.Gone = true
	w.s.mu.Unlock()
}

// waitForAck reports whether the stream goes on.
func (s *Server) waitForAck(w *recorder, r *http.Request, model string) bool {
	select {
	case <-s.ack(model):
		s.mu.Lock()
		w.e.Acked = true
		s.mu.Unlock()
		return true
	case <-r.Context().Done():
		w.gone()
		return false
	case <-time.After(ackWithin):
		return true // goes on, unacknowledged: the record tells
	}
}

func (s *Server) endless(w *recorder, r *http.Request, say func(string) bool) {
	tick := time.NewTicker(endlessPace)
	defer tick.Stop()
	end := time.After(endlessFor)
	for {
		select {
		case <-r.Context().Done():
			w.gone()
			return
		case <-end:
			return
		case <-tick.C:
			if !say("tick ") {
				w.gone()
				return
			}
		}
	}
}
