package harness

import (
	"encoding/json"
	"fmt"

	"github.com/margaydev/margay/flow"
)

// The part of the Chat Completions API that a scripted agent needs.
type wireMessage struct {
	Role       string     `json:"role"`
	Content    any        `json:"content"`
	ToolCalls  []wireCall `json:"tool_calls,omitempty"`
	ToolCallID string     `json:"tool_call_id,omitempty"`
	Name       string     `json:"name,omitempty"`
}

type wireCall struct {
	Index    *int     `json:"index,omitempty"`
	ID       string   `json:"id,omitempty"`
	Type     string   `json:"type,omitempty"`
	Function wireFunc `json:"function"`
}

type wireFunc struct {
	Name      string `json:"name,omitempty"`
	Arguments string `json:"arguments"`
}

type wireTool struct {
	Type     string `json:"type"`
	Function struct {
		Name        string          `json:"name"`
		Description string          `json:"description,omitempty"`
		Parameters  json.RawMessage `json:"parameters,omitempty"`
	} `json:"function"`
}

type wireRequest struct {
	Model    string        `json:"model"`
	Messages []wireMessage `json:"messages"`
	Tools    []wireTool    `json:"tools,omitempty"`
	Stream   bool          `json:"stream,omitempty"`
}

type wireChoice struct {
	Index        int          `json:"index"`
	Message      *wireMessage `json:"message,omitempty"`
	Delta        *wireMessage `json:"delta,omitempty"`
	FinishReason *string      `json:"finish_reason"`
}

type wireResponse struct {
	ID      string       `json:"id"`
	Object  string       `json:"object"`
	Created int64        `json:"created"`
	Model   string       `json:"model"`
	Choices []wireChoice `json:"choices"`
}

func encodeRequest(r *Request, stream bool) ([]byte, error) {
	w := wireRequest{Model: r.Model, Stream: stream}
	for i := range r.Messages {
		m := &r.Messages[i]
		wm := wireMessage{Role: string(m.Role), Content: m.Text, ToolCallID: m.CallID, ToolCalls: encodeCalls(m.Calls, false)}
		if m.Text == "" && len(m.Calls) > 0 {
			wm.Content = nil
		}
		w.Messages = append(w.Messages, wm)
	}
	for _, t := range r.Tools {
		wt := wireTool{Type: "function"}
		wt.Function.Name, wt.Function.Description, wt.Function.Parameters = t.Name, t.Description, t.Schema
		w.Tools = append(w.Tools, wt)
	}
	return json.Marshal(w)
}

func encodeCalls(calls []flow.ToolCall, indexed bool) []wireCall {
	var out []wireCall
	for i, c := range calls {
		w := wireCall{ID: c.ID, Type: "function", Function: wireFunc{c.Name, c.Arguments}}
		if indexed {
			w.Index = &i
		}
		out = append(out, w)
	}
	return out
}

// decodeRequest reads what a client, or a gateway on its behalf, sent.
func decodeRequest(body []byte) (*Request, bool, error) {
	var w wireRequest
	if err := json.Unmarshal(body, &w); err != nil {
		return nil, false, err
	}
	r := &Request{Model: w.Model}
	tool := map[string]string{} // by call id
	for i := range w.Messages {
		m, err := decodeMessage(&w.Messages[i])
		if err != nil {
			return nil, false, err
		}
		for _, c := range m.Calls {
			tool[c.ID] = c.Name
		}
		m.Tool = tool[m.CallID]
		r.Messages = append(r.Messages, m)
	}
	for _, t := range w.Tools {
		r.Tools = append(r.Tools, Tool{t.Function.Name, t.Function.Description, t.Function.Parameters})
	}
	return r, w.Stream, nil
}

func decodeMessage(w *wireMessage) (Message, error) {
	m := Message{Role: flow.Role(w.Role), CallID: w.ToolCallID}
	switch c := w.Content.(type) {
	case nil:
	case string:
		m.Text = c
	case []any: // parts
		for _, p := range c {
			part, _ := p.(map[string]any)
			text, ok := part["text"].(string)
			if !ok {
				return m, fmt.Errorf("a part of a %s message is not text", w.Role)
			}
			m.Text += text
		}
	default:
		return m, fmt.Errorf("content of a %s message is a %T", w.Role, c)
	}
	for _, c := range w.ToolCalls {
		m.Calls = append(m.Calls, flow.ToolCall{ID: c.ID, Name: c.Function.Name, Arguments: c.Function.Arguments})
	}
	return m, nil
}
