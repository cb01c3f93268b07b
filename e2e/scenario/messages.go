package scenario

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/margaydev/margay/e2e/upstream"
)

const thoughts = "They want a plan. First “config.yaml”, then `make`: 日本語, fine.\nNothing secret in it."

// messagesAPI returns the scenarios of Anthropic's Messages API.
func messagesAPI() []Scenario {
	plain := saying(prose)
	think := func(thinking, text string) []upstream.Reply {
		return []upstream.Reply{{Choices: []upstream.Choice{{Reasoning: thinking, Text: text}}}}
	}
	const leak = "Use {known} for this,\nand {unknown} for that. Again: “{known}”!"
	all := []Scenario{
		{
			Name: "models", About: "the model list, and the caller's credential for the upstream",
			task: Task{Op: OpModels}, more: (*judged).messageModels,
		},
		{
			Name: "whole", About: "secrets in a prompt; the answer as it was",
			task: Task{Op: OpChat, Messages: ask(asked)}, says: plain, user: asked, texts: []string{prose}, plants: true,
		},
		{
			Name: "system", About: "secrets in the system prompt",
			task: Task{Op: OpChat, Messages: []Message{{Role: "system", Content: asked}, {Role: "user", Content: "Go."}}},
			says: plain, user: "Go.", texts: []string{prose}, plants: true, more: (*judged).system,
		},
		{
			Name: "turns", About: "the same history goes out as the same bytes in the next turn",
			task: Task{Op: OpChat, Messages: ask(asked), FollowUp: "And {known} once more."},
			says: plain, user: "And {known} once more.", texts: []string{prose}, plants: true, more: (*judged).turns,
		},
		{
			Name: "encoded", About: "a registered secret in a prompt as base64, base16, reversed and inside JSON",
			task: Task{Op: OpChat, Messages: ask("first: {encoded}, last.")}, says: plain, texts: []string{prose}, plants: true, more: (*judged).encoded,
		},
		{
			Name: "count", About: "secrets in a request whose tokens are counted",
			task: Task{Op: OpCount, Messages: ask(asked)}, user: asked, plants: true, more: (*judged).counted,
		},
		{
			Name: "leak", About: "the model says secrets",
			task: Task{Op: OpChat, Messages: ask("What are the keys?")}, says: saying(leak), user: "What are the keys?", texts: []string{leak}, plants: true,
		},
		{
			Name: "stream", About: "secrets in a prompt; text arrives while the model writes; usage arrives",
			task: Task{Op: OpStream, Messages: ask(asked), AckURL: "/ack"},
			says: []upstream.Reply{{Choices: []upstream.Choice{{Text: prose}}, AckAfter: 40}},
			user: asked, texts: []string{prose}, plants: true, more: (*judged).acknowledged,
		},
		{
			Name: "stream-leak", About: "the model says secrets a few characters at a time",
			task: Task{Op: OpStream, Messages: ask("What are the keys?")}, says: saying(leak), user: "What are the keys?", texts: []string{leak}, plants: true,
		},
		{
			Name: "thinking", About: "thinking and its signature arrive as they were",
			task: Task{Op: OpStream, Messages: ask("Make a plan."), Thinking: true}, says: think(thoughts, prose), texts: []string{prose}, more: (*judged).thought,
		},
		{
			Name: "thinking-whole", About: "so they do without streaming",
			task: Task{Op: OpChat, Messages: ask("Make a plan."), Thinking: true}, says: think(thoughts, prose), texts: []string{prose}, more: (*judged).thought,
		},
		{
			Name: "thinking-leak", About: "the model thinks of secrets: the answer is refused in the API's terms",
			task: Task{Op: OpStream, Messages: ask("What are the keys?"), Thinking: true}, says: think("They gave me {known} and {unknown}, hm.", prose),
			plants: true, ours: true, more: (*judged).halted,
		},
		{
			Name: "thinking-leak-whole", About: "so it is without streaming",
			task: Task{Op: OpChat, Messages: ask("What are the keys?"), Thinking: true}, says: think("They gave me {known} and {unknown}, hm.", prose),
			plants: true, ours: true, more: (*judged).halted,
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
				Body: `{"type":"error","error":{"type":"overloaded_error","message":"the engine is overloaded"}}`,
			}},
			ours: true, more: (*judged).midError,
		},
		{
			Name: "tools", About: "thinking and parallel tool calls, streamed, and given back; secrets in what the tools return",
			task: Task{Op: OpTools, Messages: ask("Look around."), Tool: runTool, ToolResult: printed, Thinking: true},
			says: []upstream.Reply{
				{Choices: []upstream.Choice{{Reasoning: thoughts, Text: "I will look. ", Calls: made(clean)}}},
				{Choices: []upstream.Choice{{Text: prose}}},
			},
			tool: printed, calls: clean, texts: []string{prose}, plants: true, more: (*judged).thoughtBack,
		},
		{
			Name: "tools-leak", About: "the model puts secrets into a tool call's input",
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
				Status: http.StatusTooManyRequests, Header: map[string]string{"Retry-After": "7"},
				Body: `{"type":"error","error":{"type":"rate_limit_error","message":"Rate limit reached for requests"}}`,
			}},
			more: (*judged).messagesLimited,
		},
		{
			Name: "error-leak", About: "an upstream's error quotes a secret",
			task: Task{Op: OpStream, Messages: ask("Hello.")},
			says: []upstream.Reply{{
				Status: http.StatusBadRequest,
				Body:   `{"type":"error","error":{"type":"invalid_request_error","message":"the header value {known} is not valid, nor is {unknown}"}}`,
			}},
			plants: true, more: (*judged).messagesBad,
		},
	}
	for i := range all {
		all[i].API = APIMessages
		all[i].Name = "messages-" + all[i].Name
	}
	return all
}

func messagesOf(e *upstream.Exchange) *upstream.Messages {
	var m upstream.Messages
	if err := json.Unmarshal(e.Body, &m); err != nil {
		return &upstream.Messages{} // what is looked for is then not found
	}
	return &m
}

func (c *judged) messageModels() {
	if !slices.Equal(c.result.IDs, upstream.Models) {
		c.problem("the model list is %q, expected %q", c.result.IDs, upstream.Models)
	}
	// Libraries of the API's later version send a bearer token.
	h := c.got[0].Header
	if h.Get("X-Api-Key") != c.apiKey && h.Get("Authorization") != "Bearer "+c.apiKey || h.Get("Anthropic-Version") == "" {
		c.problem("the caller's credential or the API's version did not reach the upstream")
	}
}

func (c *judged) system() {
	c.match("the system prompt", messagesOf(&c.got[0]).SystemText(), asked, true)
}

func (c *judged) counted() {
	if c.result.Error != nil || c.result.Usage["input_tokens"] != upstream.MessagesUsage["input_tokens"] {
		c.problem("the count is %v", c.result.Usage)
	}
}

func (c *judged) acknowledged() {
	if !c.got[0].Acked {
		c.problem("no text arrived while the model was writing")
	}
}

// thought: thinking is signed, so it must be as it was.
func (c *judged) thought() {
	if len(c.result.Choices) != 1 || c.result.Choices[0].Thinking != thoughts || !slices.Equal(c.result.Choices[0].Signatures, []string{upstream.Signature}) {
		c.problem("the thinking or its signature is another")
	}
}

// thoughtBack: it must be so on its way back, too.
func (c *judged) thoughtBack() {
	if len(c.got) != 2 {
		c.problem("the upstream was asked %d times, expected 2", len(c.got))
		return
	}
	for _, m := range messagesOf(&c.got[1]).Messages {
		var blocks []struct{ Type, Thinking, Signature string }
		if m.Role != "assistant" || json.Unmarshal(m.Content, &blocks) != nil || len(blocks) == 0 {
			continue
		}
		if b := blocks[0]; b.Type == "thinking" && b.Thinking == thoughts && b.Signature == upstream.Signature {
			return
		}
	}
	c.problem("the upstream did not get the thinking back as it was")
}

// halted: nothing of the answer behind the secret arrives, and the client can
// tell why.
func (c *judged) halted() {
	if !c.mediated {
		return
	}
	if c.result.Error != nil || len(c.result.Choices) != 1 {
		c.problem("the client got no answer")
		return
	}
	a := c.result.Choices[0]
	if a.Finish != "refusal" {
		c.problem("the answer ended with %q, expected refusal", a.Finish)
	}
	if !strings.HasPrefix("They gave me ", a.Thinking) || len(strings.Join(a.Signatures, "")) > 0 {
		c.problem("thinking was changed")
	}
	if strings.Contains(a.Text, "nothing was changed") {
		c.problem("the answer went on")
	}
}

func (c *judged) messagesLimited() {
	e := c.result.Error
	if e == nil {
		c.problem("the library raised no error")
		return
	}
	if e.Status != http.StatusTooManyRequests || e.Type != "rate_limit_error" || e.RetryAfter != "7" || !strings.Contains(e.Message, "Rate limit reached for requests") {
		c.problem("the error is status %d, type %q, retry after %q", e.Status, e.Type, e.RetryAfter)
	}
}

func (c *judged) messagesBad() {
	e := c.result.Error
	if e == nil || e.Status != http.StatusBadRequest || e.Type != "invalid_request_error" {
		c.problem("the library did not raise the upstream's error")
		return
	}
	if c.mediated && !strings.Contains(e.Message, "REDACTED:") {
		c.problem("the error's message is not redacted")
	}
}
