package scenario

import (
	"encoding/json"
	"strings"

	"github.com/margaydev/margay/e2e/upstream"
)

// responses are the scenarios of the Responses API.
func responses() []Scenario {
	plain := []upstream.Reply{{Choices: []upstream.Choice{{Text: prose}}}}
	const keys = "Use {known} for this,\nand {unknown} for that. Again: “{known}”!"
	return []Scenario{
		{
			Name: "responses", About: "secrets in the input and in the instructions; the answer as it was",
			task: Task{Op: OpResponses, Messages: []Message{{Role: "system", Content: "Never say {known}, nor {unknown}."}, {Role: "user", Content: asked}}},
			says: plain, user: asked, texts: []string{prose}, plants: true, more: (*judged).instructed,
		},
		{
			Name: "responses-turns", About: "a conversation that the server keeps goes on by the response's id",
			task: Task{Op: OpResponses, Messages: ask(asked), FollowUp: "And {known} once more."},
			says: plain, user: "And {known} once more.", texts: []string{prose}, plants: true, more: (*judged).continued,
		},
		{
			Name: "responses-leak", About: "the model says secrets, also as log-probabilities",
			task: Task{Op: OpResponses, Messages: ask("What are the keys?"), Logprobs: true},
			says: saying(keys), user: "What are the keys?", texts: []string{keys}, plants: true,
		},
		{
			Name: "responses-stream", About: "secrets in a prompt; text arrives while the model writes; every copy of the text is the same",
			task: Task{Op: OpResponsesStream, Messages: ask(asked), Logprobs: true, AckURL: "/ack"},
			says: []upstream.Reply{{Choices: []upstream.Choice{{Text: prose}}, AckAfter: 40}},
			user: asked, texts: []string{prose}, plants: true, more: (*judged).responseStreamed,
		},
		{
			Name: "responses-stream-leak", About: "the model says secrets a few characters at a time; every copy is edited alike",
			task: Task{Op: OpResponsesStream, Messages: ask("What are the keys?"), Logprobs: true},
			says: saying(keys), user: "What are the keys?", texts: []string{keys}, plants: true, more: (*judged).copies,
		},
		{
			Name: "responses-stream-reasoning", About: "the model thinks of secrets in its summaries",
			task:  Task{Op: OpResponsesStream, Messages: ask("What are the keys?")},
			says:  []upstream.Reply{{Choices: []upstream.Choice{{Reasoning: "They gave me {known} and {unknown}, hm.", Text: prose}}}},
			texts: []string{prose}, plants: true, more: (*judged).copies,
		},
		{
			Name: "responses-stream-leave", About: "the caller goes away; the upstream notices",
			task: Task{Op: OpResponsesStream, Messages: ask("Count."), Leave: true},
			says: []upstream.Reply{{Choices: []upstream.Choice{{Text: "One two three. "}}, Break: "endless"}}, more: (*judged).left,
		},
		{
			Name: "responses-stream-broken", About: "the upstream dies in the middle of a secret",
			task:   Task{Op: OpResponsesStream, Messages: ask("What is the key?")},
			says:   []upstream.Reply{{Choices: []upstream.Choice{{Text: "Working on it. The key is {part}"}}, Break: "close"}},
			plants: true, ours: true, more: (*judged).broken,
		},
		{
			Name: "responses-stream-error", About: "the upstream reports an error in mid-stream",
			task: Task{Op: OpResponsesStream, Messages: ask("Go on.")},
			says: []upstream.Reply{{
				Choices: []upstream.Choice{{Text: started}}, Break: "error",
				Body: `{"type":"error","error":{"type":"server_error","code":"overloaded","message":"the engine is overloaded","param":null},"sequence_number":99}`,
			}},
			ours: true, more: (*judged).midError,
		},
		{
			Name: "responses-tools", About: "parallel function calls, streamed; secrets in what the tools return",
			task: Task{Op: OpResponsesTools, Messages: ask("Look around."), Tool: runTool, ToolResult: printed},
			says: []upstream.Reply{
				{Choices: []upstream.Choice{{Text: "I will look. ", Calls: made(clean)}}},
				{Choices: []upstream.Choice{{Text: prose}}},
			},
			tool: printed, calls: clean, texts: []string{prose}, plants: true, more: (*judged).copies,
		},
		{
			Name: "responses-tools-leak", About: "the model puts secrets into a function call's arguments",
			task: Task{Op: OpResponsesTools, Messages: ask("Deploy."), Tool: runTool, ToolResult: "exit 0"},
			says: []upstream.Reply{
				{Choices: []upstream.Choice{{Calls: made(leaking)}}},
				{Choices: []upstream.Choice{{Text: prose}}},
			},
			calls: leaking, texts: []string{prose}, plants: true, more: (*judged).copies,
		},
		{
			Name: "responses-tools-pseudonym", About: "the model calls a tool with a pseudonym: a message says that it was not made, in the call's place",
			task: Task{Op: OpResponsesTools, Messages: ask("Deploy with the key {known} please."), Tool: runTool, ToolResult: "exit 0"},
			says: []upstream.Reply{
				{Compose: callWithKey},
				{Choices: []upstream.Choice{{Text: prose}}},
			},
			user: "Deploy with the key {known} please.", plants: true, ours: true, more: (*judged).responseRefused,
		},
		{
			Name: "responses-error", About: "an upstream's refusal arrives with status, body and headers",
			task: Task{Op: OpResponsesStream, Messages: ask("Hello.")},
			says: []upstream.Reply{{
				Status: 429, Header: map[string]string{"Retry-After": "7"},
				Body: `{"error":{"message":"Rate limit reached for requests","type":"requests","param":null,"code":"rate_limit_exceeded"}}`,
			}},
			more: (*judged).rateLimited,
		},
		{
			Name: "responses-error-leak", About: "an upstream's error quotes a secret",
			task: Task{Op: OpResponses, Messages: ask("Hello.")},
			says: []upstream.Reply{{
				Status: 400,
				Body:   `{"error":{"message":"the header value {known} is not valid, nor is {unknown}","type":"invalid_request_error","param":null,"code":"bad_header"}}`,
			}},
			plants: true, more: (*judged).badRequest,
		},
	}
}

func (c *judged) instructed() {
	r, err := upstream.ResponsesOf(c.got[0].Body)
	if err != nil {
		c.problem("the request's body can't be read")
		return
	}
	c.match("the instructions", r.Instructions, c.s.task.Messages[0].Content, true)
}

// continued: the second request names the first response, and has nothing of
// the conversation so far.
func (c *judged) continued() {
	if len(c.got) != 2 {
		c.problem("the upstream was asked %d times, expected 2", len(c.got))
		return
	}
	r, err := upstream.ResponsesOf(c.got[1].Body)
	if err != nil || r.Previous == "" || len(r.Chat().Messages) != 1 {
		c.problem("the second request does not go on with the first response")
		return
	}
	// One value has one name in the whole conversation.
	first, _, _ := strings.Cut(strings.TrimPrefix(chatOf(&c.got[0]).Last("user"), "Deploy with "), " ")
	second, _, _ := strings.Cut(strings.TrimPrefix(chatOf(&c.got[1]).Last("user"), "And "), " ")
	if first != second {
		c.problem("the secret has another pseudonym in the second turn")
	}
}

// event is what all events of a stream have.
type event struct {
	Type     string `json:"type"`
	Number   int    `json:"sequence_number"`
	Index    int    `json:"output_index"`
	Delta    string `json:"delta"`
	Logprobs []struct {
		Token string `json:"token"`
	} `json:"logprobs"`
	Item     json.RawMessage `json:"item"`
	Response struct {
		Output []json.RawMessage `json:"output"`
	} `json:"response"`
}

// copies: the numbers of the events have no gap, and what the response has in
// the end is what its items were, and these what their pieces add up to.
func (c *judged) copies() {
	next, items, texts := 0, map[int]string{}, map[int]string{}
	ends := 0
	for _, d := range c.result.Dump {
		var e event
		if err := json.Unmarshal([]byte(d), &e); err != nil {
			c.problem("an event can't be read: it has another shape")
			return
		}
		if e.Type == "response.created" {
			next, items, texts = 0, map[int]string{}, map[int]string{}
		}
		if e.Number != next {
			c.problem("%s has the number %d, expected %d", e.Type, e.Number, next)
		}
		next++
		switch e.Type {
		case "response.output_item.done":
			items[e.Index] = itemText(e.Item)
			if items[e.Index] != texts[e.Index] {
				c.problem("item %d is another text than its pieces", e.Index)
			}
		case "response.completed":
			ends++
			if len(e.Response.Output) != len(items) {
				c.problem("the response has %d items, expected %d", len(e.Response.Output), len(items))
			}
			for i, it := range e.Response.Output {
				if itemText(it) != items[i] {
					c.problem("item %d of the response is another text than it was", i)
				}
			}
		}
		if strings.HasSuffix(e.Type, ".delta") {
			texts[e.Index] += e.Delta
		}
	}
	if ends == 0 {
		c.problem("no response is complete")
	}
}

// itemText joins the texts of an item.
func itemText(raw json.RawMessage) string {
	var it struct {
		Arguments        string
		Content, Summary []struct{ Text string }
	}
	if json.Unmarshal(raw, &it) != nil {
		return "?"
	}
	text := it.Arguments
	for _, p := range append(it.Content, it.Summary...) {
		text += p.Text
	}
	return text
}

// responseStreamed: text arrived while the upstream still held back the rest,
// and untouched log-probabilities are those of the text.
func (c *judged) responseStreamed() {
	c.copies()
	if !c.got[0].Acked {
		c.problem("no text arrived while the model was writing")
	}
	var said strings.Builder
	for _, d := range c.result.Dump {
		var e event
		if json.Unmarshal([]byte(d), &e) == nil && e.Type == "response.output_text.delta" {
			for _, t := range e.Logprobs {
				said.WriteString(t.Token)
			}
		}
	}
	if said.String() != prose {
		c.problem("the log-probabilities' tokens are not the text (%d bytes of %d)", said.Len(), len(prose))
	}
}

func (c *judged) responseRefused() {
	c.copies()
	c.refused()
}
