package upstream

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// responseID begins the ids of responses; the turn follows.
const responseID = "resp_scripted_"

// Responses is a decoded request for a response.
type Responses struct {
	Model        string          `json:"model"`
	Instructions string          `json:"instructions"`
	Input        json.RawMessage `json:"input"`
	Previous     string          `json:"previous_response_id"`
	Stream       bool            `json:"stream"`
	Include      []string        `json:"include"`
}

// ResponsesOf decodes the body of a request for a response.
func ResponsesOf(body []byte) (*Responses, error) {
	r := &Responses{}
	return r, json.Unmarshal(body, r)
}

// Chat returns the request as one for a chat completion: items that the model
// wrote are messages of the assistant's, results of tools those of the tool's.
func (r *Responses) Chat() *Chat {
	c := &Chat{Model: r.Model, N: 1, Stream: r.Stream}
	add := func(role string, content json.RawMessage) {
		c.Messages = append(c.Messages, struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
		}{role, content})
	}
	if r.Instructions != "" {
		text, _ := json.Marshal(r.Instructions) // a string can be encoded
		add("system", text)
	}
	var items []struct {
		Type, Role      string
		Content, Output json.RawMessage
	}
	if json.Unmarshal(r.Input, &items) != nil {
		add("user", r.Input)
		return c
	}
	for _, it := range items {
		switch {
		case it.Role != "":
			add(it.Role, it.Content)
		case strings.HasSuffix(it.Type, "_output"):
			add("tool", it.Output)
		default:
			add("assistant", nil)
		}
	}
	return c
}

// turn is how many answers the conversation has.
func (r *Responses) turn(c *Chat) int {
	if n, err := strconv.Atoi(strings.TrimPrefix(r.Previous, responseID)); err == nil {
		return n + 1
	}
	turns, last := 0, ""
	for _, m := range c.Messages {
		if m.Role == "assistant" && last != "assistant" {
			turns++
		}
		last = m.Role
	}
	return turns
}

func (s *Server) responses(w *recorder, r *http.Request, body []byte) {
	in, err := ResponsesOf(body)
	if err != nil {
		w.error(http.StatusBadRequest, "bad_json", "the body is not JSON")
		return
	}
	c := in.Chat()
	w.e.Model = in.Model
	s.mu.Lock()
	replies := s.scripts[in.Model]
	s.mu.Unlock()
	turn := in.turn(c)
	if len(replies) == 0 {
		w.error(http.StatusBadRequest, "no_script", "the model has no script")
		return
	}
	reply := replies[min(turn, len(replies)-1)]
	if reply.Compose != nil {
		reply.Choices = reply.Compose(c)
	}
	if reply.Status == 0 && len(reply.Choices) != 1 {
		w.error(http.StatusBadRequest, "no_script", "the script has no answer")
		return
	}
	if reply.Status != 0 {
		for name, value := range reply.Header {
			w.Header().Set(name, value)
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(reply.Status)
		_, _ = io.WriteString(w, reply.Body)
		return
	}
	a := &answer{s: s, w: w, r: r, in: in, id: responseID + strconv.Itoa(turn), logprobs: slices.Contains(in.Include, "message.output_text.logprobs")}
	for _, it := range a.items(&reply.Choices[0]) {
		a.output = append(a.output, it.whole)
	}
	if !in.Stream {
		w.json(http.StatusOK, a.response("completed", a.output))
		return
	}
	a.stream(&reply)
}

// answer is one response as it is told.
type answer struct {
	s        *Server
	w        *recorder
	r        *http.Request
	in       *Responses
	id       string
	logprobs bool
	output   []any
	number   int // of the next event
}

// outputItem is an item and how a stream tells it.
type outputItem struct {
	begun, whole map[string]any
	events       []map[string]any // between its beginning and its end
}

func (a *answer) response(status string, output []any) map[string]any {
	var usage any
	if status == "completed" {
		usage = map[string]any{
			"input_tokens": Usage["prompt_tokens"], "input_tokens_details": map[string]any{"cached_tokens": 0},
			"output_tokens": Usage["completion_tokens"], "output_tokens_details": map[string]any{"reasoning_tokens": 0}, "total_tokens": Usage["total_tokens"],
		}
	}
	var previous any
	if a.in.Previous != "" {
		previous = a.in.Previous
	}
	return map[string]any{
		"id": a.id, "object": "response", "created_at": created, "status": status, "error": nil, "incomplete_details": nil,
		"instructions": a.in.Instructions, "metadata": map[string]any{}, "model": a.in.Model, "output": output, "parallel_tool_calls": true,
		"previous_response_id": previous, "temperature": 1.0, "tool_choice": "auto", "tools": []any{}, "top_p": 1.0, "usage": usage, "x_vendor": vendor,
	}
}

// items are the items of the output.
func (a *answer) items(c *Choice) []outputItem {
	var out []outputItem
	if c.Reasoning != "" {
		out = append(out, a.reasoning(len(out), c.Reasoning))
	}
	if c.Text != "" {
		out = append(out, a.message(len(out), c.Text))
	}
	for _, call := range c.Calls {
		out = append(out, a.call(len(out), call))
	}
	return out
}

// with returns a copy of an object with more members.
func with(object map[string]any, more map[string]any) map[string]any {
	out := maps.Clone(object)
	maps.Copy(out, more)
	return out
}

func (a *answer) reasoning(index int, text string) outputItem {
	id := fmt.Sprintf("rs_%s_%d", a.id, index)
	part := func(text string) map[string]any { return map[string]any{"type": "summary_text", "text": text} }
	begun := map[string]any{"id": id, "type": "reasoning", "summary": []any{}}
	it := outputItem{begun: begun, whole: with(begun, map[string]any{"summary": []any{part(text)}})}
	at := map[string]any{"item_id": id, "output_index": index, "summary_index": 0}
	it.say("response.reasoning_summary_part.added", at, map[string]any{"part": part("")})
	for _, p := range pieces(text) {
		it.say("response.reasoning_summary_text.delta", at, map[string]any{"delta": p})
	}
	it.say("response.reasoning_summary_text.done", at, map[string]any{"text": text})
	it.say("response.reasoning_summary_part.done", at, map[string]any{"part": part(text)})
	return it
}

func (a *answer) message(index int, text string) outputItem {
	id := fmt.Sprintf("msg_%s_%d", a.id, index)
	told := func(tokens []string) any {
		if !a.logprobs {
			return []any{}
		}
		content, _ := logprobs(tokens).(map[string]any)
		return content["content"]
	}
	part := func(text string) map[string]any {
		return map[string]any{"type": "output_text", "text": text, "annotations": []any{}, "logprobs": told(pieces(text))}
	}
	begun := map[string]any{"id": id, "type": "message", "role": "assistant", "status": "in_progress", "content": []any{}}
	it := outputItem{begun: begun, whole: with(begun, map[string]any{"status": "completed", "content": []any{part(text)}})}
	at := map[string]any{"item_id": id, "output_index": index, "content_index": 0}
	it.say("response.content_part.added", at, map[string]any{"part": part("")})
	for _, p := range pieces(text) {
		it.say("response.output_text.delta", at, map[string]any{"delta": p, "logprobs": told([]string{p})})
	}
	it.say("response.output_text.done", at, map[string]any{"text": text, "logprobs": told(pieces(text))})
	it.say("response.content_part.done", at, map[string]any{"part": part(text)})
	return it
}

func (a *answer) call(index int, call Call) outputItem {
	id := fmt.Sprintf("fc_%s_%d", a.id, index)
	begun := map[string]any{"id": id, "type": "function_call", "status": "in_progress", "call_id": call.ID, "name": call.Name, "arguments": ""}
	it := outputItem{begun: begun, whole: with(begun, map[string]any{"status": "completed", "arguments": call.Arguments})}
	at := map[string]any{"item_id": id, "output_index": index}
	for _, p := range pieces(call.Arguments) {
		it.say("response.function_call_arguments.delta", at, map[string]any{"delta": p})
	}
	it.say("response.function_call_arguments.done", at, map[string]any{"arguments": call.Arguments, "name": call.Name})
	return it
}

func (it *outputItem) say(typ string, at, more map[string]any) {
	it.events = append(it.events, with(with(at, more), map[string]any{"type": typ}))
}

// send writes an event and reports whether somebody still listens.
func (a *answer) send(event map[string]any) bool {
	event = with(event, map[string]any{"sequence_number": a.number, "x_vendor": vendor})
	a.number++
	var b bytes.Buffer
	fmt.Fprintf(&b, "event: %s\n", event["type"])
	_, err := a.w.Write(b.Bytes())
	return err == nil && a.w.event(event)
}

// stream writes the response as server-sent events.
func (a *answer) stream(reply *Reply) {
	a.w.Header().Set("Content-Type", "text/event-stream")
	events := []map[string]any{
		{"type": "response.created", "response": a.response("in_progress", []any{})},
		{"type": "response.in_progress", "response": a.response("in_progress", []any{})},
	}
	items := a.items(&reply.Choices[0])
	for i := range items {
		events = append(events, map[string]any{"type": "response.output_item.added", "output_index": i, "item": items[i].begun})
		events = append(events, items[i].events...)
		events = append(events, map[string]any{"type": "response.output_item.done", "output_index": i, "item": items[i].whole})
	}
	if reply.Break != "" {
		events = events[:len(events)-3] // the last text is not ended
	} else {
		events = append(events, map[string]any{"type": "response.completed", "response": a.response("completed", a.output)})
	}
	said, waited := 0, reply.AckAfter == 0
	for _, e := range events {
		if !a.send(e) {
			a.w.gone()
			return
		}
		if text, ok := e["delta"].(string); ok && !waited {
			if said += utf8.RuneCountInString(text); said >= reply.AckAfter {
				waited = true
				if !a.s.waitForAck(a.w, a.r, a.in.Model) {
					return
				}
			}
		}
	}
	switch reply.Break {
	case "close":
		panic(http.ErrAbortHandler) // drops the connection without an end of the body
	case "error":
		_, _ = fmt.Fprintf(a.w, "event: error\ndata: %s\n\n", reply.Body)
		a.w.flush()
	case "endless":
		a.s.endless(a.w, a.r, func(text string) bool {
			last := items[len(items)-1]
			return a.send(map[string]any{"type": "response.output_text.delta", "item_id": last.begun["id"], "output_index": len(items) - 1, "content_index": 0, "delta": text, "logprobs": []any{}})
		})
	}
}
