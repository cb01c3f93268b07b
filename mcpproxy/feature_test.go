package mcpproxy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The two generations of the protocol.
var generations = []string{"2025-11-25", "2026-07-28"}

type echoIn struct {
	Text string `json:"text" jsonschema:"what to say"`
}

type weather struct {
	City string   `json:"city"`
	Temp float64  `json:"temp"`
	Tags []string `json:"tags"`
}

// everything is a server with all features of the protocol.
func everything(t testing.TB, generation string) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "everything", Title: "All of it", Version: "1.2.3"}, &mcp.ServerOptions{
		Instructions: "Use echo first.", PageSize: 3, SupportedProtocolVersions: []string{generation},
		CompletionHandler: func(_ context.Context, r *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
			return &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{Values: []string{r.Params.Argument.Value + "-one", r.Params.Argument.Value + "-two"}, Total: 2}}, nil
		},
		SubscribeHandler:   func(context.Context, *mcp.SubscribeRequest) error { return nil },
		UnsubscribeHandler: func(context.Context, *mcp.UnsubscribeRequest) error { return nil },
	})
	mcp.AddTool(s, &mcp.Tool{Name: "echo", Description: "says it again"}, func(_ context.Context, _ *mcp.CallToolRequest, in echoIn) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: in.Text}}, Meta: mcp.Meta{"example/at": "noon"}}, nil, nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "weather", Description: "structured"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, weather, error) {
		return nil, weather{"Zürich \"north\"", 21.5, []string{"mild", "dry"}}, nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "fails"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return nil, nil, errors.New("there is no such file")
	})
	mcp.AddTool(s, &mcp.Tool{Name: "media"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{
			&mcp.ImageContent{Data: []byte{0x89, 'P', 'N', 'G', 0, 1, 2, 3}, MIMEType: "image/png"},
			&mcp.AudioContent{Data: []byte{'R', 'I', 'F', 'F', 0, 0}, MIMEType: "audio/wav"},
			&mcp.ResourceLink{URI: "file:///a", Name: "a", Description: "a link"},
			&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "file:///b", Text: "embedded", MIMEType: "text/plain"}},
			&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "file:///c", Blob: []byte{0, 1, 2}, MIMEType: "application/octet-stream"}},
		}}, nil, nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "progress"}, func(ctx context.Context, r *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
		for i := range 3 {
			_ = r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Progress: float64(i), Total: 3, Message: fmt.Sprint("step ", i)})
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "done"}}}, nil, nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "touch"}, func(ctx context.Context, _ *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{}, nil, s.ResourceUpdated(ctx, &mcp.ResourceUpdatedNotificationParams{URI: "mem://1"})
	})
	mcp.AddTool(s, &mcp.Tool{Name: "logs"}, func(ctx context.Context, r *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
		_ = r.Session.Log(ctx, &mcp.LoggingMessageParams{Level: "warning", Logger: "disk", Data: map[string]any{"free": 3, "path": "/srv"}})
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "logged"}}}, nil, nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "slow"}, func(ctx context.Context, r *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
		_ = r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Message: "started"})
		select {
		case <-ctx.Done():
		case <-t.Context().Done(): // over HTTP, the library's server does not notice that its client is gone
		}
		return nil, nil, context.Canceled
	})
	ask := func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, any, error) {
		form := &mcp.ElicitParams{Mode: "form", Message: "Which name?", RequestedSchema: map[string]any{"type": "object", "properties": map[string]any{"name": map[string]any{"type": "string", "description": "yours"}}}}
		say := func(e *mcp.ElicitResult) (*mcp.CallToolResult, any, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprint(e.Action, " ", e.Content["name"])}}}, nil, nil
		}
		if generation == generations[0] {
			e, err := r.Session.Elicit(ctx, form)
			if err != nil {
				return nil, nil, err
			}
			return say(e)
		}
		if e, ok := r.Params.InputResponses["who"].(*mcp.ElicitResult); ok {
			return say(e)
		}
		return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"who": form}, RequestState: "opaque-state-7f"}, nil, nil
	}
	mcp.AddTool(s, &mcp.Tool{Name: "ask"}, func(ctx context.Context, r *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
		return ask(ctx, r)
	})
	mcp.AddTool(s, &mcp.Tool{Name: "sample"}, func(ctx context.Context, r *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
		p := &mcp.CreateMessageParams{MaxTokens: 10, SystemPrompt: "be short", Messages: []*mcp.SamplingMessage{{Role: "user", Content: &mcp.TextContent{Text: "hello?"}}}}
		say := func(c mcp.Content) (*mcp.CallToolResult, any, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{c}}, nil, nil
		}
		if generation == generations[0] {
			res, err := r.Session.CreateMessage(ctx, p)
			if err != nil {
				return nil, nil, err
			}
			return say(res.Content)
		}
		switch res := r.Params.InputResponses["m"].(type) {
		case *mcp.CreateMessageResult:
			return say(res.Content)
		case *mcp.CreateMessageWithToolsResult:
			return say(res.Content[0])
		}
		return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"m": p}, RequestState: "s2"}, nil, nil
	})
	for i := range 3 {
		s.AddResource(&mcp.Resource{URI: fmt.Sprintf("mem://%d", i), Name: fmt.Sprint("r", i), Description: "a resource", MIMEType: "text/plain"}, func(_ context.Context, r *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: r.Params.URI, Text: "content of " + r.Params.URI}, {URI: r.Params.URI, Blob: []byte{1, 0, 255}}, {URI: r.Params.URI, Blob: []byte("plain text in a blob")}}}, nil
		})
	}
	s.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: "item://{id}", Name: "items"}, func(_ context.Context, r *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		if r.Params.URI == "item://none" {
			return nil, mcp.ResourceNotFoundError(r.Params.URI)
		}
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: r.Params.URI, Text: "item"}}}, nil
	})
	for _, name := range []string{"greet", "argue", "plan", "sum"} {
		s.AddPrompt(&mcp.Prompt{Name: name, Description: "a prompt", Arguments: []*mcp.PromptArgument{{Name: "who", Description: "whom", Required: true}}}, func(_ context.Context, r *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			return &mcp.GetPromptResult{Description: "d", Messages: []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: "Hello " + r.Params.Arguments["who"]}}}}, nil
		})
	}
	return s
}

// transcript is all that a client sees, in an order that does not depend on
// which of two notifications comes first.
type transcript struct {
	mu    sync.Mutex
	lines []string
	came  sync.Cond
}

func newTranscript() *transcript {
	t := &transcript{}
	t.came.L = &t.mu
	return t
}

func (t *transcript) add(what string, v any, err error) {
	b, _ := json.Marshal(v)
	if err != nil {
		b = []byte("error: " + err.Error())
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.addLine(what, b)
}

// addLine adds a line. The caller holds mu.
func (t *transcript) addLine(what string, b []byte) {
	t.lines = append(t.lines, what+" "+string(b))
	t.came.Broadcast()
}

// addOnce adds the first line of a kind.
func (t *transcript) addOnce(what string, v any) {
	b, _ := json.Marshal(v)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.count(what) == 0 {
		t.addLine(what, b)
	}
}

// count returns how many lines begin with a word. The caller holds mu.
func (t *transcript) count(what string) (n int) {
	for _, l := range t.lines {
		if strings.HasPrefix(l, what+" ") {
			n++
		}
	}
	return n
}

func (t *transcript) has(what string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.count(what) > 0
}

// wait waits for n lines that begin with a word.
func (t *transcript) wait(what string, n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for t.count(what) < n {
		t.came.Wait()
	}
}

func (t *transcript) sorted() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Sorted(slices.Values(t.lines))
}

// drive uses every feature of a server.
func drive(ctx context.Context, tb testing.TB, generation string, transport mcp.Transport) []string {
	tb.Helper()
	t := newTranscript()
	c := mcp.NewClient(&mcp.Implementation{Name: "client", Version: "0"}, &mcp.ClientOptions{
		CreateMessageHandler: func(_ context.Context, r *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
			t.add("asked-to-sample", r.Params, nil)
			return &mcp.CreateMessageResult{Model: "m", Role: "assistant", StopReason: "endTurn", Content: &mcp.TextContent{Text: "hello yourself"}}, nil
		},
		ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			t.add("asked", r.Params, nil)
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"name": "Ada"}}, nil
		},
		LoggingMessageHandler:       func(_ context.Context, r *mcp.LoggingMessageRequest) { t.add("log", r.Params, nil) },
		ResourceUpdatedHandler:      func(_ context.Context, r *mcp.ResourceUpdatedNotificationRequest) { t.addOnce("updated", r.Params) },
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) { t.add("progressed", r.Params, nil) },
	})
	cs, err := c.Connect(ctx, transport, &mcp.ClientSessionOptions{ProtocolVersion: generation})
	if err != nil {
		tb.Fatal(err)
	}
	defer cs.Close()
	t.add("init", cs.InitializeResult(), nil)
	if generation == generations[0] {
		t.add("level", nil, cs.SetLoggingLevel(ctx, &mcp.SetLoggingLevelParams{Level: "debug"}))
		t.add("ping", nil, cs.Ping(ctx, nil))
	}
	var tools, prompts, resources []any
	for v, err := range cs.Tools(ctx, nil) {
		tools = append(tools, v, err)
	}
	for v, err := range cs.Prompts(ctx, nil) {
		prompts = append(prompts, v, err)
	}
	for v, err := range cs.Resources(ctx, nil) {
		resources = append(resources, v, err)
	}
	t.add("tools", tools, nil)
	t.add("prompts", prompts, nil)
	t.add("resources", resources, nil)
	templates, err := cs.ListResourceTemplates(ctx, nil)
	t.add("templates", templates, err)
	call := func(ctx context.Context, name string, args any, meta mcp.Meta) {
		res, err := cs.CallTool(ctx, &mcp.CallToolParams{Name: name, Arguments: args, Meta: meta})
		t.add("call "+name, res, err)
	}
	call(ctx, "echo", map[string]any{"text": "hi  \u00e9 \"quoted\" \n <b>"}, nil)
	call(ctx, "echo", map[string]any{"wrong": 1}, nil)
	call(ctx, "missing", nil, nil)
	for _, name := range []string{"weather", "fails", "media", "ask", "sample"} {
		call(ctx, name, map[string]any{}, nil)
	}
	call(ctx, "logs", map[string]any{}, mcp.Meta{"io.modelcontextprotocol/logLevel": "debug"})
	t.wait("log", 1)
	call(ctx, "progress", map[string]any{}, mcp.Meta{"progressToken": "tok-1"})
	t.wait("progressed", 3)
	for _, uri := range []string{"mem://1", "item://9", "item://none", "nowhere://"} {
		res, err := cs.ReadResource(ctx, &mcp.ReadResourceParams{URI: uri})
		t.add("read "+uri, res, err)
	}
	if generation == generations[0] {
		t.add("subscribe", nil, cs.Subscribe(ctx, &mcp.SubscribeParams{URI: "mem://1"}))
		// The library's server drops what it announces while its client has no
		// stream open.
		for !t.has("updated") {
			if _, err := cs.CallTool(ctx, &mcp.CallToolParams{Name: "touch"}); err != nil {
				tb.Fatal(err)
			}
		}
		t.add("unsubscribe", nil, cs.Unsubscribe(ctx, &mcp.UnsubscribeParams{URI: "mem://1"}))
	}
	p, err := cs.GetPrompt(ctx, &mcp.GetPromptParams{Name: "greet", Arguments: map[string]string{"who": "Bob"}})
	t.add("prompt", p, err)
	p, err = cs.GetPrompt(ctx, &mcp.GetPromptParams{Name: "nobody"})
	t.add("prompt", p, err)
	comp, err := cs.Complete(ctx, &mcp.CompleteParams{Argument: mcp.CompleteParamsArgument{Name: "who", Value: "B"}, Ref: &mcp.CompleteReference{Type: "ref/prompt", Name: "greet"}})
	t.add("complete", comp, err)
	var many sync.WaitGroup
	for i := range 20 {
		many.Go(func() { call(ctx, "echo", map[string]any{"text": fmt.Sprint("at once ", i)}, nil) })
	}
	many.Wait()
	slow, cancel := context.WithCancel(ctx)
	go func() {
		t.wait("progressed", 4)
		cancel()
	}()
	call(slow, "slow", map[string]any{}, mcp.Meta{"progressToken": "tok-2"})
	cancel()
	call(ctx, "echo", map[string]any{"text": "still here"}, nil)
	return t.sorted()
}
