package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

	"github.com/margaydev/margay/e2e/scenario"
)

// messages asks Anthropic's Messages API.
type messages struct{ client anthropic.Client }

func newMessages(job *scenario.Job) operations {
	opts := []option.RequestOption{option.WithMaxRetries(0)}
	if job.BaseURL != "" {
		opts = append(opts, option.WithBaseURL(job.BaseURL))
	}
	if job.APIKey != "" {
		opts = append(opts, option.WithAPIKey(job.APIKey))
	}
	m := &messages{client: anthropic.NewClient(opts...)}
	return operations{
		scenario.OpModels: m.models, scenario.OpCount: m.count, scenario.OpChat: m.whole, scenario.OpStream: m.stream, scenario.OpTools: m.tools,
	}
}

// messagesFailure tells what the library's own error says.
func messagesFailure(err error, f *scenario.Failure) {
	var api *anthropic.Error
	if !errors.As(err, &api) {
		return
	}
	var body struct {
		Error struct{ Type, Message string }
	}
	f.Status = api.StatusCode
	if json.Unmarshal([]byte(api.RawJSON()), &body) == nil {
		f.Type = body.Error.Type
		f.Message += " " + body.Error.Message
	}
	if api.Response != nil {
		f.RetryAfter = api.Response.Header.Get("Retry-After")
	}
}

func (m *messages) models(ctx context.Context, _ *scenario.Task, result *scenario.Result) error {
	pages := m.client.Models.ListAutoPaging(ctx, anthropic.ModelListParams{})
	for pages.Next() {
		result.IDs = append(result.IDs, pages.Current().ID)
		result.Dump = append(result.Dump, pages.Current().RawJSON())
	}
	return pages.Err()
}

// messageParams returns a request for a conversation.
func messageParams(task *scenario.Task) (anthropic.MessageNewParams, error) {
	p := anthropic.MessageNewParams{Model: task.Model, MaxTokens: 4096}
	for _, m := range task.Messages {
		if m.Role == "system" {
			p.System = append(p.System, anthropic.TextBlockParam{Text: m.Content})
		} else {
			p.Messages = append(p.Messages, anthropic.NewUserMessage(anthropic.NewTextBlock(m.Content)))
		}
	}
	if task.Thinking {
		p.Thinking = anthropic.ThinkingConfigParamOfEnabled(1024)
	}
	if task.Tool != nil {
		var schema struct {
			Properties any
			Required   []string
		}
		if err := json.Unmarshal(task.Tool.Parameters, &schema); err != nil {
			return p, fmt.Errorf("the tool's schema: %w", err)
		}
		p.Tools = append(p.Tools, anthropic.ToolUnionParam{OfTool: &anthropic.ToolParam{
			Name: task.Tool.Name, Description: anthropic.String(task.Tool.Description),
			InputSchema: anthropic.ToolInputSchemaParam{Properties: schema.Properties, Required: schema.Required},
		}})
	}
	return p, nil
}

func (m *messages) count(ctx context.Context, task *scenario.Task, result *scenario.Result) error {
	p, err := messageParams(task)
	if err != nil {
		return err
	}
	answer, err := m.client.Messages.CountTokens(ctx, anthropic.MessageCountTokensParams{
		Model: p.Model, Messages: p.Messages, System: anthropic.MessageCountTokensParamsSystemUnion{OfTextBlockArray: p.System},
	})
	if err != nil {
		return err
	}
	result.Usage = map[string]int{"input_tokens": int(answer.InputTokens)}
	result.Dump = append(result.Dump, answer.RawJSON())
	return nil
}

func (m *messages) whole(ctx context.Context, task *scenario.Task, result *scenario.Result) error {
	p, err := messageParams(task)
	if err != nil {
		return err
	}
	answer, err := m.client.Messages.New(ctx, p)
	if err != nil {
		return err
	}
	result.Dump = append(result.Dump, answer.RawJSON())
	if task.FollowUp != "" {
		p.Messages = append(p.Messages, answer.ToParam(), anthropic.NewUserMessage(anthropic.NewTextBlock(task.FollowUp)))
		if answer, err = m.client.Messages.New(ctx, p); err != nil {
			return err
		}
		result.Dump = append(result.Dump, answer.RawJSON())
	}
	takeMessage(answer, result)
	return nil
}

func takeMessage(answer *anthropic.Message, result *scenario.Result) {
	result.Usage = map[string]int{"input_tokens": int(answer.Usage.InputTokens), "output_tokens": int(answer.Usage.OutputTokens)}
	c := scenario.Choice{Finish: string(answer.StopReason)}
	// Its variants are those of blocks that have ended alone.
	for i := range answer.Content {
		switch b := &answer.Content[i]; b.Type {
		case "text":
			c.Text += b.Text
		case "thinking":
			c.Thinking += b.Thinking
			c.Signatures = append(c.Signatures, b.Signature)
		case "tool_use":
			c.Calls = append(c.Calls, scenario.Call{ID: b.ID, Name: b.Name, Arguments: string(b.Input)})
		}
	}
	result.Choices = []scenario.Choice{c}
}

func (m *messages) stream(ctx context.Context, task *scenario.Task, result *scenario.Result) error {
	p, err := messageParams(task)
	if err != nil {
		return err
	}
	_, err = m.read(ctx, task, p, result)
	return err
}

// read streams one answer into result.
func (m *messages) read(ctx context.Context, task *scenario.Task, p anthropic.MessageNewParams, result *scenario.Result) (answer *anthropic.Message, err error) {
	events := m.client.Messages.NewStreaming(ctx, p)
	defer func() {
		if e := events.Close(); err == nil {
			err = e
		}
	}()
	answer = &anthropic.Message{}
	begun := false
	for events.Next() {
		event := events.Current()
		result.Dump = append(result.Dump, event.RawJSON())
		if err := answer.Accumulate(event); err != nil {
			return nil, err
		}
		first := !begun && event.Delta.Text != ""
		begun = begun || first
		if first && task.AckURL != "" {
			if err := acknowledge(ctx, task.AckURL); err != nil {
				return nil, err
			}
		}
		if begun && task.Leave {
			break
		}
	}
	takeMessage(answer, result)
	return answer, events.Err()
}

func (m *messages) tools(ctx context.Context, task *scenario.Task, result *scenario.Result) error {
	p, err := messageParams(task)
	if err != nil {
		return err
	}
	answer, err := m.read(ctx, task, p, result)
	if err != nil {
		return err
	}
	result.Calls = result.Choices[0].Calls
	if len(result.Calls) == 0 {
		return nil
	}
	p.Messages = append(p.Messages, answer.ToParam())
	var results []anthropic.ContentBlockParamUnion
	for _, call := range result.Calls {
		results = append(results, anthropic.NewToolResultBlock(call.ID, task.ToolResult, false))
	}
	p.Messages = append(p.Messages, anthropic.NewUserMessage(results...))
	_, err = m.read(ctx, task, p, result)
	return err
}
