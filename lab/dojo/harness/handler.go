package harness

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"unicode/utf8"
)

// maxBody bounds requests and answers.
const maxBody = 32 << 20

// Handler serves a Model as POST …/chat/completions, streaming where it is
// asked for. A Model's error is a 500 that says so.
func Handler(m Model) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
		if err != nil {
			fail(w, http.StatusBadRequest, err)
			return
		}
		req, stream, err := decodeRequest(body)
		if err != nil {
			fail(w, http.StatusBadRequest, err)
			return
		}
		answer, err := m.Generate(r.Context(), req)
		if err != nil {
			fail(w, http.StatusInternalServerError, err)
			return
		}
		if stream {
			streamAnswer(w, req.Model, &answer)
			return
		}
		reason := finish(&answer)
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(wireResponse{
			ID: "chatcmpl-scripted", Object: "chat.completion", Created: 1700000000, Model: req.Model,
			Choices: []wireChoice{{FinishReason: &reason, Message: &wireMessage{
				Role: "assistant", Content: answer.Text, ToolCalls: encodeCalls(answer.Calls, false),
			}}},
		})
	})
}

func fail(w http.ResponseWriter, code int, err error) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]string{"message": err.Error(), "type": "scripted"}})
}

func finish(m *Message) string {
	if len(m.Calls) > 0 {
		return "tool_calls"
	}
	return "stop"
}

// pieceLen is the length in bytes of the pieces that a stream brings.
const pieceLen = 16

// cut cuts a text into pieces, never inside a rune.
func cut(s string) []string {
	var out []string
	for len(s) > pieceLen {
		n := pieceLen
		for n > 1 && !utf8.RuneStart(s[n]) {
			n--
		}
		out, s = append(out, s[:n]), s[n:]
	}
	return append(out, s)
}

func streamAnswer(w http.ResponseWriter, model string, m *Message) {
	w.Header().Set("Content-Type", "text/event-stream")
	send := func(delta *wireMessage, reason *string) {
		b, err := json.Marshal(wireResponse{
			ID: "chatcmpl-scripted", Object: "chat.completion.chunk", Created: 1700000000, Model: model,
			Choices: []wireChoice{{Delta: delta, FinishReason: reason}},
		})
		if err == nil {
			fmt.Fprintf(w, "data: %s\n\n", b)
		}
	}
	for _, p := range cut(m.Text) {
		send(&wireMessage{Role: "assistant", Content: p}, nil)
	}
	for i, c := range encodeCalls(m.Calls, true) {
		args := cut(c.Function.Arguments)
		c.Function.Arguments = ""
		send(&wireMessage{ToolCalls: []wireCall{c}}, nil)
		for _, p := range args {
			send(&wireMessage{ToolCalls: []wireCall{{Index: &i, Function: wireFunc{Arguments: p}}}}, nil)
		}
	}
	reason := finish(m)
	send(&wireMessage{}, &reason)
	fmt.Fprint(w, "data: [DONE]\n\n")
	if f, ok := w.(http.Flusher); ok {
		f.Flush()
	}
}
