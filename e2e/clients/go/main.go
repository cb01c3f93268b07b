// Command go is a client around openai-go and anthropic-sdk-go; see package
// scenario for the protocol.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/param"

	"github.com/margaydev/margay/e2e/scenario"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "client:", err)
		os.Exit(1)
	}
}

func run() error {
	var job scenario.Job
	if err := json.NewDecoder(os.Stdin).Decode(&job); err != nil {
		return fmt.Errorf("the job can't be read: %w", err)
	}
	r := newChat(&job)
	if job.API == scenario.APIMessages {
		r = newMessages(&job)
	}
	out := json.NewEncoder(os.Stdout)
	for i := range job.Tasks {
		if err := out.Encode(perform(context.Background(), r, &job.Tasks[i])); err != nil {
			return fmt.Errorf("a result can't be written: %w", err)
		}
	}
	return nil
}

// operations are what a library can be asked to do, by their names.
type operations map[string]func(context.Context, *scenario.Task, *scenario.Result) error

func perform(ctx context.Context, ops operations, task *scenario.Task) *scenario.Result {
	result := &scenario.Result{Scenario: task.Scenario}
	op, ok := ops[task.Op]
	if !ok {
		op = func(context.Context, *scenario.Task, *scenario.Result) error { return errors.New("unknown operation") }
	}
	if err := op(ctx, task, result); err != nil {
		result.Error = failure(err)
	}
	return result
}

type runner struct{ client openai.Client }

func newChat(job *scenario.Job) operations {
	opts := []option.RequestOption{option.WithMaxRetries(0)}
	if job.BaseURL != "" {
		opts = append(opts, option.WithBaseURL(job.BaseURL))
	}
	if job.APIKey != "" {
		opts = append(opts, option.WithAPIKey(job.APIKey))
	}
	r := &runner{client: openai.NewClient(opts...)}
	return operations{
		scenario.OpModels: r.models, scenario.OpEmbeddings: r.embeddings, scenario.OpChat: r.chat, scenario.OpStream: r.stream, scenario.OpTools: r.tools,
		scenario.OpResponses: r.responses, scenario.OpResponsesStream: r.responsesStream, scenario.OpResponsesTools: r.responsesTools,
	}
}

func failure(err error) *scenario.Failure {
	f := &scenario.Failure{Message: err.Error(), Class: fmt.Sprintf("%T", err)}
	var api *openai.Error
	if errors.As(err, &api) {
		f.Status, f.Code, f.Type = api.StatusCode, api.Code, api.Type
		f.Message += " " + api.Message
		if api.Response != nil {
			f.RetryAfter = api.Response.Header.Get("Retry-After")
		}
	}
	messagesFailure(err, f)
	return f
}

func (r *runner) models(ctx context.Context, _ *scenario.Task, result *scenario.Result) error {
	pages := r.client.Models.ListAutoPaging(ctx)
	for pages.Next() {
		result.IDs = append(result.IDs, pages.Current().ID)
		result.Dump = append(result.Dump, pages.Current().RawJSON())
	}
	return pages.Err()
}

func (r *runner) embeddings(ctx context.Context, task *scenario.Task, result *scenario.Result) error {
	answer, err := r.client.Embeddings.New(ctx, openai.EmbeddingNewParams{
		Model: task.Model, Input: openai.EmbeddingNewParamsInputUnion{OfArrayOfStrings: task.Input},
	})
	if err != nil {
		return err
	}
	for _, one := range answer.Data {
		result.Vectors = append(result.Vectors, one.Embedding)
	}
	result.Dump = append(result.Dump, answer.RawJSON())
	return nil
}

// params returns a request for a conversation.
func params(task *scenario.Task) (openai.ChatCompletionNewParams, error) {
	p := openai.ChatCompletionNewParams{Model: task.Model}
	for _, m := range task.Messages {
		if m.Role == "system" {
			p.Messages = append(p.Messages, openai.SystemMessage(m.Content))
		} else {
			p.Messages = append(p.Messages, openai.UserMessage(m.Content))
		}
	}
	if task.N > 0 {
		p.N = openai.Int(int64(task.N))
	}
	if task.Logprobs {
		p.Logprobs = openai.Bool(true)
	}
	if task.Tool != nil {
		var schema openai.FunctionParameters
		if err := json.Unmarshal(task.Tool.Parameters, &schema); err != nil {
			return p, fmt.Errorf("the tool's schema: %w", err)
		}
		p.Tools = append(p.Tools, openai.ChatCompletionFunctionTool(openai.FunctionDefinitionParam{
			Name: task.Tool.Name, Description: openai.String(task.Tool.Description), Parameters: schema,
		}))
	}
	return p, nil
}

func (r *runner) chat(ctx context.Context, task *scenario.Task, result *scenario.Result) error {
	p, err := params(task)
	if err != nil {
		return err
	}
	answer, err := r.client.Chat.Completions.New(ctx, p)
	if err != nil {
		return err
	}
	result.Dump = append(result.Dump, answer.RawJSON())
	if task.FollowUp != "" {
		p.Messages = append(p.Messages, openai.AssistantMessage(answer.Choices[0].Message.Content), openai.UserMessage(task.FollowUp))
		if answer, err = r.client.Chat.Completions.New(ctx, p); err != nil {
			return err
		}
		result.Dump = append(result.Dump, answer.RawJSON())
	}
	take(answer, result)
	return nil
}

func take(answer *openai.ChatCompletion, result *scenario.Result) {
	result.Usage = map[string]int{
		"prompt_tokens": int(answer.Usage.PromptTokens), "completion_tokens": int(answer.Usage.CompletionTokens), "total_tokens": int(answer.Usage.TotalTokens),
	}
	result.Choices = nil
	for i := range answer.Choices {
		c := &answer.Choices[i]
		choice := scenario.Choice{Index: int(c.Index), Text: c.Message.Content, Finish: c.FinishReason}
		for _, call := range c.Message.ToolCalls {
			choice.Calls = append(choice.Calls, scenario.Call{ID: call.ID, Name: call.Function.Name, Arguments: call.Function.Arguments})
		}
		result.Choices = append(result.Choices, choice)
	}
}

func (r *runner) stream(ctx context.Context, task *scenario.Task, result *scenario.Result) error {
	p, err := params(task)
	if err != nil {
		return err
	}
	return r.read(ctx, task, p, result)
}

// read streams one answer into result.
func (r *runner) read(ctx context.Context, task *scenario.Task, p openai.ChatCompletionNewParams, result *scenario.Result) (err error) {
	p.StreamOptions.IncludeUsage = openai.Bool(true)
	chunks := r.client.Chat.Completions.NewStreaming(ctx, p)
	defer func() {
		if e := chunks.Close(); err == nil {
			err = e
		}
	}()
	var whole openai.ChatCompletionAccumulator
	begun := false
	for chunks.Next() {
		chunk := chunks.Current()
		result.Dump = append(result.Dump, chunk.RawJSON())
		if !whole.AddChunk(chunk) {
			return errors.New("the accumulator refuses a chunk")
		}
		first := !begun && len(chunk.Choices) > 0 && chunk.Choices[0].Delta.Content != ""
		begun = begun || first
		if first && task.AckURL != "" {
			if err := acknowledge(ctx, task.AckURL); err != nil {
				return err
			}
		}
		if begun && task.Leave {
			break
		}
	}
	take(&whole.ChatCompletion, result)
	return chunks.Err()
}

func acknowledge(ctx context.Context, url string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

func (r *runner) tools(ctx context.Context, task *scenario.Task, result *scenario.Result) error {
	p, err := params(task)
	if err != nil {
		return err
	}
	if err := r.read(ctx, task, p, result); err != nil {
		return err
	}
	if len(result.Choices) == 0 {
		return errors.New("the answer has no choices")
	}
	first := result.Choices[0]
	result.Calls = first.Calls
	if len(first.Calls) == 0 {
		return nil
	}
	said := openai.ChatCompletionAssistantMessageParam{}
	said.Content.OfString = param.NewOpt(first.Text)
	for _, call := range first.Calls {
		said.ToolCalls = append(said.ToolCalls, openai.ChatCompletionMessageToolCallUnionParam{OfFunction: &openai.ChatCompletionMessageFunctionToolCallParam{
			ID: call.ID, Function: openai.ChatCompletionMessageFunctionToolCallFunctionParam{Name: call.Name, Arguments: call.Arguments},
		}})
	}
	p.Messages = append(p.Messages, openai.ChatCompletionMessageParamUnion{OfAssistant: &said})
	for _, call := range first.Calls {
		p.Messages = append(p.Messages, openai.ToolMessage(task.ToolResult, call.ID))
	}
	return r.read(ctx, task, p, result)
}
