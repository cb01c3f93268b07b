package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/responses"

	"github.com/margaydev/margay/e2e/scenario"
)

// responseParams returns a request for a response.
func responseParams(task *scenario.Task) (responses.ResponseNewParams, error) {
	p := responses.ResponseNewParams{Model: task.Model}
	for _, m := range task.Messages {
		if m.Role == "system" {
			p.Instructions = openai.String(m.Content)
			continue
		}
		p.Input.OfInputItemList = append(p.Input.OfInputItemList, responses.ResponseInputItemParamOfMessage(m.Content, responses.EasyInputMessageRoleUser))
	}
	if task.Logprobs {
		p.Include, p.TopLogprobs = []responses.ResponseIncludable{responses.ResponseIncludableMessageOutputTextLogprobs}, openai.Int(1)
	}
	if task.Tool != nil {
		var schema map[string]any
		if err := json.Unmarshal(task.Tool.Parameters, &schema); err != nil {
			return p, fmt.Errorf("the tool's schema: %w", err)
		}
		tool := responses.ToolParamOfFunction(task.Tool.Name, schema, false)
		tool.OfFunction.Description = openai.String(task.Tool.Description)
		p.Tools = append(p.Tools, tool)
	}
	return p, nil
}

func (r *runner) responses(ctx context.Context, task *scenario.Task, result *scenario.Result) error {
	p, err := responseParams(task)
	if err != nil {
		return err
	}
	answer, err := r.client.Responses.New(ctx, p)
	if err != nil {
		return err
	}
	result.Dump = append(result.Dump, answer.RawJSON())
	if task.FollowUp != "" {
		if answer, err = r.client.Responses.New(ctx, responses.ResponseNewParams{
			Model: task.Model, PreviousResponseID: openai.String(answer.ID), Input: responses.ResponseNewParamsInputUnion{OfString: openai.String(task.FollowUp)},
		}); err != nil {
			return err
		}
		result.Dump = append(result.Dump, answer.RawJSON())
	}
	takeResponse(answer, result)
	return nil
}

func takeResponse(answer *responses.Response, result *scenario.Result) {
	result.Usage = map[string]int{
		"prompt_tokens": int(answer.Usage.InputTokens), "completion_tokens": int(answer.Usage.OutputTokens), "total_tokens": int(answer.Usage.TotalTokens),
	}
	choice := scenario.Choice{Text: answer.OutputText(), Finish: string(answer.Status)}
	if answer.Status == responses.ResponseStatusCompleted {
		choice.Finish = "stop"
	}
	for _, it := range answer.Output {
		if it.Type == "function_call" {
			call := it.AsFunctionCall()
			choice.Calls = append(choice.Calls, scenario.Call{ID: call.CallID, Name: call.Name, Arguments: call.Arguments})
		}
	}
	result.Choices = []scenario.Choice{choice}
}

func (r *runner) responsesStream(ctx context.Context, task *scenario.Task, result *scenario.Result) error {
	p, err := responseParams(task)
	if err != nil {
		return err
	}
	_, err = r.hear(ctx, task, p, result)
	return err
}

// hear streams one response into result.
func (r *runner) hear(ctx context.Context, task *scenario.Task, p responses.ResponseNewParams, result *scenario.Result) (whole *responses.Response, err error) {
	events := r.client.Responses.NewStreaming(ctx, p)
	defer func() {
		if e := events.Close(); err == nil {
			err = e
		}
	}()
	text := ""
	for events.Next() {
		e := events.Current()
		result.Dump = append(result.Dump, e.RawJSON())
		switch v := e.AsAny().(type) {
		case responses.ResponseTextDeltaEvent:
			if text == "" && task.AckURL != "" {
				if err := acknowledge(ctx, task.AckURL); err != nil {
					return nil, err
				}
			}
			text += v.Delta
		case responses.ResponseCompletedEvent:
			whole = &v.Response
		}
		if text != "" && task.Leave {
			break
		}
	}
	result.Choices = []scenario.Choice{{Text: text}}
	if err := events.Err(); err != nil {
		return nil, err
	}
	if whole != nil {
		takeResponse(whole, result)
		if result.Choices[0].Text != text {
			return nil, errors.New("the response is another text than its pieces")
		}
	} else if !task.Leave {
		return nil, errors.New("the stream ended without a complete response")
	}
	return whole, nil
}

func (r *runner) responsesTools(ctx context.Context, task *scenario.Task, result *scenario.Result) error {
	p, err := responseParams(task)
	if err != nil {
		return err
	}
	whole, err := r.hear(ctx, task, p, result)
	if err != nil {
		return err
	}
	result.Calls = result.Choices[0].Calls
	if len(result.Calls) == 0 {
		return nil
	}
	for _, it := range whole.Output {
		p.Input.OfInputItemList = append(p.Input.OfInputItemList, param.Override[responses.ResponseInputItemUnionParam](json.RawMessage(it.RawJSON())))
	}
	for _, call := range result.Calls {
		output := responses.ResponseInputItemParamOfFunctionCallOutput(task.ToolResult)
		output.OfFunctionCallOutput.CallID = openai.String(call.ID)
		p.Input.OfInputItemList = append(p.Input.OfInputItemList, output)
	}
	_, err = r.hear(ctx, task, p, result)
	return err
}
