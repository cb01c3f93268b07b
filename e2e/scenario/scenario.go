package scenario

import (
	"cmp"
	"encoding/json"
	"net/url"
	"slices"
	"strings"

	"github.com/margaydev/margay/e2e/upstream"
)

// Scenario is one thing that a client library does against a scripted
// upstream, and what must come of it.
//
// Texts are templates: {known} and {unknown} stand for the planted secrets,
// {part} for the first two thirds of the known one. What must arrive is a
// template, too: between its secrets everything must be as it was said.
type Scenario struct {
	Name  string
	API   string // APIChat if empty
	About string // what it shows, for people
	task  Task   // with templates; model and URLs are filled in
	says  []upstream.Reply

	user, tool string   // what the upstream must get as the last message of that role
	texts      []string // what the client must get as text, by choice
	calls      []Call   // what the client must get as tool calls
	// plants says that a secret is in what is said or asked. Without a
	// mediator the leak must be seen: otherwise the judge is blind.
	plants bool
	// ours says that with a mediator some events are the mediator's own.
	ours bool
	// more looks at what is special to this scenario.
	more func(c *judged)
}

const system = "You are a careful assistant. Answer briefly."

const prose = "Sure — here’s the plan:\n\n1. Read “config.yaml” (path: C:\\etc\\app, 100 %).\n2. Compare a<b && c>d; then run `make -j2`.\t日本語, naïve café, 🦊.\n\nThat is all; nothing was changed."

const asked = "Deploy with {known} please. The pipeline uses {unknown}; do not mix {known} up with it. Übrigens: “quotes”, \\ and 日本語."

// started is what an upstream says before it fails.
const started = "Working on it. One moment please. "

var runTool = &Tool{
	Name: "run", Description: "Runs a command and returns what it prints.",
	Parameters: json.RawMessage(`{"type":"object","properties":{"command":{"type":"string"},"env":{"type":"object"}},"required":["command"]}`),
}

const printed = "HOME=/home/dev\nACME={known}\nCI={unknown}\n{\"nested\": \"ok, {known}\"}\nexit 0"

// All returns the scenarios in the order in which they are run.
func All() []Scenario { return slices.Concat(chat(), responses(), messagesAPI()) }

// Of returns the scenarios of an API.
func Of(api string) []Scenario {
	return slices.DeleteFunc(All(), func(s Scenario) bool { return cmp.Or(s.API, APIChat) != api })
}

func chat() []Scenario {
	plain := []upstream.Reply{{Choices: []upstream.Choice{{Text: prose}}}}
	return []Scenario{
		{
			Name: "models", About: "the model list, and the caller's credential for the upstream",
			task: Task{Op: OpModels}, more: (*judged).models,
		},
		{
			Name: "chat", About: "secrets in a prompt; the answer as it was",
			task: Task{Op: OpChat, Messages: ask(asked)}, says: plain, user: asked, texts: []string{prose}, plants: true,
		},
		{
			Name: "chat-turns", About: "the same history goes out as the same bytes in the next turn",
			task: Task{Op: OpChat, Messages: ask(asked), FollowUp: "And {known} once more."},
			says: plain, user: "And {known} once more.", texts: []string{prose}, plants: true, more: (*judged).turns,
		},
		{
			Name: "chat-encoded", About: "a registered secret in a prompt as base64, base16, reversed and inside JSON",
			task: Task{Op: OpChat, Messages: ask("first: {encoded}, last.")}, says: plain, texts: []string{prose}, plants: true, more: (*judged).encoded,
		},
		{
			Name: "chat-leak", About: "the model says secrets",
			task: Task{Op: OpChat, Messages: ask("What are the keys?"), Logprobs: true},
			says: saying("Use {known} for this,\nand {unknown} for that. Again: “{known}”!"), user: "What are the keys?",
			texts: []string{"Use {known} for this,\nand {unknown} for that. Again: “{known}”!"}, plants: true,
		},
		{
			Name: "chat-n2", About: "two choices, one of which leaks",
			task: Task{Op: OpChat, Messages: ask("What are the keys?"), N: 2},
			says: saying(prose, "It is {known}. And {unknown}."), texts: []string{prose, "It is {known}. And {unknown}."}, plants: true,
		},
		{
			Name: "stream", About: "secrets in a prompt; text arrives while the model writes; log-probabilities and usage arrive",
			task: Task{Op: OpStream, Messages: ask(asked), Logprobs: true, AckURL: "/ack"},
			says: []upstream.Reply{{Choices: []upstream.Choice{{Text: prose}}, AckAfter: 40}},
			user: asked, texts: []string{prose}, plants: true, more: (*judged).streamed,
		},
		{
			Name: "stream-leak", About: "the model says secrets a few characters at a time, also as log-probabilities",
			task: Task{Op: OpStream, Messages: ask("What are the keys?"), Logprobs: true},
			says: saying("Use {known} for this,\nand {unknown} for that. Again: “{known}”!"), user: "What are the keys?",
			texts: []string{"Use {known} for this,\nand {unknown} for that. Again: “{known}”!"}, plants: true,
		},
		{
			Name: "stream-reasoning", About: "the model thinks of secrets in a field that the library does not know",
			task:  Task{Op: OpStream, Messages: ask("What are the keys?")},
			says:  []upstream.Reply{{Choices: []upstream.Choice{{Reasoning: "They gave me {known} and {unknown}, hm.", Text: prose}}}},
			texts: []string{prose}, plants: true,
		},
		{
			Name: "stream-n2", About: "two choices, interleaved, one of which leaks",
			task: Task{Op: OpStream, Messages: ask("What are the keys?"), N: 2},
			says: saying("It is {known}. And {unknown}.", prose), texts: []string{"It is {known}. And {unknown}.", prose}, plants: true,
		},
		{
			Name: "stream-leave", About: "the caller goes away; the upstream notices",
			task: Task{Op: OpStream, Messages: ask("Count."), Leave: true},
			says: []upstream.Reply{{Choices: []upstream.Choice{{Text: "One two three. "}}, Break: "endless"}}, more: (*judged).left,
		},
		{
			Name: "stream-broken", About: "the upstream dies in the middle of a secret",
			task:   Task{Op: OpStream, Messages: ask("What is the key?")},
			says:   []upstream.Reply{{Choices: []upstream.Choice{{Text: "Working on it. The key is {part}"}}, Break: "close"}},
			plants: true, ours: true, more: (*judged).broken,
		},
		{
			Name: "stream-error", About: "the upstream reports an error in mid-stream",
			task: Task{Op: OpStream, Messages: ask("Go on.")},
			says: []upstream.Reply{{
				Choices: []upstream.Choice{{Text: started}}, Break: "error",
				Body: `{"error":{"message":"the engine is overloaded","type":"server_error","param":null,"code":"overloaded"}}`,
			}},
			ours: true, more: (*judged).midError,
		},
		{
			Name: "tools", About: "parallel tool calls, streamed; secrets in what the tools return",
			task: Task{Op: OpTools, Messages: ask("Look around."), Tool: runTool, ToolResult: printed},
			says: []upstream.Reply{
				{Choices: []upstream.Choice{{Text: "I will look. ", Calls: made(clean)}}},
				{Choices: []upstream.Choice{{Text: prose}}},
			},
			tool: printed, calls: clean, texts: []string{prose}, plants: true,
		},
		{
			Name: "tools-leak", About: "the model puts secrets into a tool call's arguments",
			task: Task{Op: OpTools, Messages: ask("Deploy."), Tool: runTool, ToolResult: "exit 0"},
			says: []upstream.Reply{
				{Choices: []upstream.Choice{{Calls: made(leaking)}}},
				{Choices: []upstream.Choice{{Text: prose}}},
			},
			calls: leaking, texts: []string{prose}, plants: true,
		},
		{
			Name: "tools-pseudonym", About: "the model calls a tool with a pseudonym that it was given: refused in words, not made",
			task: Task{Op: OpTools, Messages: ask("Deploy with the key {known} please."), Tool: runTool, ToolResult: "exit 0"},
			says: []upstream.Reply{
				{Compose: callWithKey},
				{Choices: []upstream.Choice{{Text: prose}}},
			},
			user: "Deploy with the key {known} please.", plants: true, ours: true, more: (*judged).refused,
		},
		{
			Name: "error", About: "an upstream's refusal arrives with status, body and headers",
			task: Task{Op: OpChat, Messages: ask("Hello.")},
			says: []upstream.Reply{{
				Status: 429, Header: map[string]string{"Retry-After": "7"},
				Body: `{"error":{"message":"Rate limit reached for requests","type":"requests","param":null,"code":"rate_limit_exceeded"}}`,
			}},
			more: (*judged).rateLimited,
		},
		{
			Name: "error-leak", About: "an upstream's error quotes a secret",
			task: Task{Op: OpStream, Messages: ask("Hello.")},
			says: []upstream.Reply{{
				Status: 400,
				Body:   `{"error":{"message":"the header value {known} is not valid, nor is {unknown}","type":"invalid_request_error","param":null,"code":"bad_header"}}`,
			}},
			plants: true, more: (*judged).badRequest,
		},
		{
			Name: "embeddings", About: "secrets in inputs; vectors as they were",
			task:   Task{Op: OpEmbeddings, Input: []string{"plain text", "with {known} and {unknown} inside"}},
			plants: true, more: (*judged).embedded,
		},
	}
}

// clean are arguments with escapes that a stream cuts through.
var clean = []Call{
	{ID: "call_a1", Name: "run", Arguments: `{"command":"ls -l \"C:\\\\dir\" \u00fc\ud83e\udd8a | grep -v '^#'","env":{"N":"1","DEEP":{"list":[1,2.50,null,true]}}}`},
	{ID: "call_b2", Name: "run", Arguments: `{"command":"echo done"}`},
}

var leaking = []Call{{ID: "call_c3", Name: "run", Arguments: `{"command":"deploy --key {known} --fast","env":{"CI":"{unknown}","MODE":"prod"}}`}}

func made(calls []Call) []upstream.Call {
	var out []upstream.Call
	for _, c := range calls {
		out = append(out, upstream.Call(c))
	}
	return out
}

func ask(user string) []Message {
	return []Message{{Role: "system", Content: system}, {Role: "user", Content: user}}
}

func saying(texts ...string) []upstream.Reply {
	var choices []upstream.Choice
	for _, t := range texts {
		choices = append(choices, upstream.Choice{Text: t})
	}
	return []upstream.Reply{{Choices: choices}}
}

// callWithKey calls a tool with what the user's message has for the key.
func callWithKey(c *upstream.Chat) []upstream.Choice {
	_, after, _ := strings.Cut(c.Last("user"), "the key ")
	key, _, _ := strings.Cut(after, " ")
	args, err := json.Marshal(map[string]string{"command": "deploy --key " + key})
	if err != nil {
		return nil
	}
	return []upstream.Choice{{Text: "Deploying. ", Calls: []upstream.Call{{ID: "call_d4", Name: "run", Arguments: string(args)}}}}
}

// Model is the model by which the upstream knows the scenario.
func (s *Scenario) Model() string { return "scripted-" + s.Name }

// Task returns what the client is to do. control is the upstream's own base
// URL, without /v1.
func (s *Scenario) Task(secrets Secrets, control string) Task {
	t := s.task
	t.Scenario, t.Model = s.Name, s.Model()
	t.Messages = nil
	for _, m := range s.task.Messages {
		m.Content = secrets.fill(m.Content)
		t.Messages = append(t.Messages, m)
	}
	t.FollowUp, t.ToolResult = secrets.fill(t.FollowUp), secrets.fill(t.ToolResult)
	t.Input = nil
	for _, in := range s.task.Input {
		t.Input = append(t.Input, secrets.fill(in))
	}
	if t.AckURL != "" {
		t.AckURL = control + t.AckURL + "?model=" + url.QueryEscape(t.Model)
	}
	return t
}

// Script teaches the upstream its part.
func (s *Scenario) Script(secrets Secrets, up *upstream.Server) {
	var replies []upstream.Reply
	for _, r := range s.says {
		r.Body = secrets.fill(r.Body)
		var choices []upstream.Choice
		for _, c := range r.Choices {
			c.Text, c.Reasoning = secrets.fill(c.Text), secrets.fill(c.Reasoning)
			var calls []upstream.Call
			for _, call := range c.Calls {
				call.Arguments = secrets.fill(call.Arguments)
				calls = append(calls, call)
			}
			c.Calls = calls
			choices = append(choices, c)
		}
		r.Choices = choices
		replies = append(replies, r)
	}
	up.Script(s.Model(), replies...)
}
