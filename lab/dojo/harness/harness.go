// Package harness has an agent's surroundings in a benchmark: a conversation,
// the loop that turns a model's calls into results, a scripted model served
// as an OpenAI-compatible API over loopback, and a client of such an API.
// What is measured sits between client and API, or wraps the Model.
package harness

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/margaydev/margay/flow"
)

// Message is one message of a conversation.
type Message struct {
	Role  flow.Role
	Text  string
	Calls []flow.ToolCall // an assistant's
	// CallID and Tool say which call a tool's message answers.
	CallID, Tool string
}

// Tool is a tool as the model is told of it.
type Tool struct {
	Name        string
	Description string
	Schema      json.RawMessage
}

// Request is what a model is asked.
type Request struct {
	Model    string
	Messages []Message
	Tools    []Tool
}

// Model answers requests. A defence is a Model around a Model.
type Model interface {
	// Generate returns the assistant's message. It must not keep or change
	// the request.
	Generate(ctx context.Context, r *Request) (Message, error)
}

// ModelFunc is a function as a Model.
type ModelFunc func(ctx context.Context, r *Request) (Message, error)

// Generate implements Model.
func (f ModelFunc) Generate(ctx context.Context, r *Request) (Message, error) { return f(ctx, r) }

// Tools executes calls.
type Tools interface {
	// Execute makes a call and returns what the tool says.
	Execute(call flow.ToolCall) string
}

// Loop asks the model, executes its calls and tells it their results, until it
// makes no call or has been asked maxTurns times. It returns the conversation.
func Loop(ctx context.Context, m Model, t Tools, start *Request, maxTurns int) ([]Message, error) {
	r := *start
	r.Messages = append([]Message(nil), start.Messages...)
	for range maxTurns {
		answer, err := m.Generate(ctx, &r)
		if err != nil {
			return r.Messages, fmt.Errorf("turn %d: %w", len(r.Messages), err)
		}
		answer.Role = flow.RoleAssistant
		r.Messages = append(r.Messages, answer)
		if len(answer.Calls) == 0 {
			break
		}
		for _, c := range answer.Calls {
			r.Messages = append(r.Messages, Message{Role: flow.RoleTool, Text: t.Execute(c), CallID: c.ID, Tool: c.Name})
		}
	}
	return r.Messages, nil
}
