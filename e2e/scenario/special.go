package scenario

import (
	"encoding/json"
	"math"
	"slices"
	"strings"

	"github.com/margaydev/margay/e2e/leak"
	"github.com/margaydev/margay/e2e/upstream"
)

func (c *judged) models() {
	if !slices.Equal(c.result.IDs, upstream.Models) {
		c.problem("the model list is %q, expected %q", c.result.IDs, upstream.Models)
	}
	if c.got[0].Header.Get("Authorization") != "Bearer "+c.apiKey {
		c.problem("the caller's credential did not reach the upstream")
	}
}

// turns: the second request begins with the first one's messages, byte for
// byte, so that a provider's prompt cache hits.
func (c *judged) turns() {
	if len(c.got) != 2 {
		c.problem("the upstream was asked %d times, expected 2", len(c.got))
		return
	}
	first, second := messages(&c.got[0]), messages(&c.got[1])
	if len(first) == 0 || len(second) <= len(first) {
		c.problem("the second request does not continue the first")
		return
	}
	for i := range first {
		if string(first[i]) != string(second[i]) {
			c.problem("message %d is another in the second turn", i)
		}
	}
}

func messages(e *upstream.Exchange) []json.RawMessage {
	var body struct {
		Messages []json.RawMessage `json:"messages"`
	}
	if json.Unmarshal(e.Body, &body) != nil {
		return nil
	}
	return body.Messages
}

func (c *judged) encoded() {
	text := c.last("user")
	if !strings.HasPrefix(text, "first: ") || !strings.HasSuffix(text, ", last.") {
		c.problem("the text around the secrets is another")
	}
}

// streamed: text arrived while the upstream still held back the rest, and
// untouched log-probabilities are those of the text.
func (c *judged) streamed() {
	if !c.got[0].Acked {
		c.problem("no text arrived while the model was writing")
	}
	var said strings.Builder
	for _, d := range c.result.Dump {
		var chunk struct {
			Choices []struct {
				Logprobs struct {
					Content []struct {
						Token string `json:"token"`
					} `json:"content"`
				} `json:"logprobs"`
			} `json:"choices"`
		}
		if json.Unmarshal([]byte(d), &chunk) == nil && len(chunk.Choices) > 0 {
			for _, t := range chunk.Choices[0].Logprobs.Content {
				said.WriteString(t.Token)
			}
		}
	}
	if said.String() != prose {
		c.problem("the log-probabilities' tokens are not the text (%d bytes of %d)", said.Len(), len(prose))
	}
}

func (c *judged) left() {
	if c.result.Error != nil {
		c.problem("the library raised %s", c.result.Error.Class)
	}
	if !c.got[0].Gone {
		c.problem("the upstream went on after the caller had gone")
	}
}

func (c *judged) broken() {
	if c.result.Error == nil {
		c.problem("the library took a broken stream for a complete one")
	}
	if len(c.result.Choices) != 1 || !strings.HasPrefix(c.result.Choices[0].Text, "Working on it. ") {
		c.problem("the text before the break did not arrive")
	}
	part := c.secrets.fill("{part}")
	for _, choice := range c.result.Choices {
		if leaked := leak.Longest(part, []byte(choice.Text)) >= leak.MinRun; leaked && c.mediated {
			c.problem("the beginning of a secret was released")
		}
	}
}

func (c *judged) midError() {
	if e := c.result.Error; e == nil || !strings.Contains(e.Message, "the engine is overloaded") {
		c.problem("the library did not raise the upstream's error")
	}
	// The last words may be missing: what is not decided yet when a stream
	// fails is not released.
	const least = "Working on it."
	if len(c.result.Choices) != 1 || !strings.HasPrefix(c.result.Choices[0].Text, least) || !strings.HasPrefix(started, c.result.Choices[0].Text) {
		c.problem("the text before the error did not arrive")
	}
}

func (c *judged) refused() {
	if !c.mediated {
		if len(c.result.Calls) != 1 {
			c.problem("the client got %d tool calls, expected 1", len(c.result.Calls))
		}
		return
	}
	if len(c.result.Calls) != 0 {
		c.problem("a call with a pseudonym reached the client")
	}
	if c.result.Error != nil || len(c.result.Choices) != 1 {
		c.problem("the client got no answer")
		return
	}
	if text := c.result.Choices[0].Text; !strings.HasPrefix(text, "Deploying. ") || !strings.Contains(text, "was not made") {
		c.problem("the refusal is not said")
	}
	if c.result.Choices[0].Finish != c.end() {
		c.problem("the answer ended with %q, expected %s", c.result.Choices[0].Finish, c.end())
	}
}

func (c *judged) rateLimited() {
	e := c.result.Error
	if e == nil {
		c.problem("the library raised no error")
		return
	}
	if e.Status != 429 || e.Code != "rate_limit_exceeded" || e.Type != "requests" || e.RetryAfter != "7" {
		c.problem("the error is status %d, code %q, type %q, retry after %q", e.Status, e.Code, e.Type, e.RetryAfter)
	}
	if !strings.Contains(e.Message, "Rate limit reached for requests") {
		c.problem("the error's message is another")
	}
	if want := c.s.says[0].Body; string(c.got[0].Sent) != want {
		c.problem("the upstream sent something else")
	}
}

func (c *judged) badRequest() {
	e := c.result.Error
	if e == nil || e.Status != 400 || e.Code != "bad_header" {
		c.problem("the library did not raise the upstream's error")
		return
	}
	if c.mediated && !strings.Contains(e.Message, "REDACTED:") {
		c.problem("the error's message is not redacted")
	}
}

func (c *judged) embedded() {
	if c.result.Error != nil {
		c.problem("the library raised %s (status %d)", c.result.Error.Class, c.result.Error.Status)
		return
	}
	if len(c.result.Vectors) != 2 {
		c.problem("the client got %d vectors, expected 2", len(c.result.Vectors))
		return
	}
	for i, v := range c.result.Vectors {
		want := upstream.Vector(i)
		same := len(v) == len(want)
		for k := 0; same && k < len(v); k++ {
			same = math.Abs(v[k]-float64(want[k])) < 1e-7
		}
		if !same {
			c.problem("vector %d is another", i)
		}
	}
	var body struct {
		Input []string `json:"input"`
	}
	if json.Unmarshal(c.got[0].Body, &body) != nil || len(body.Input) != 2 {
		c.problem("the upstream got other inputs")
		return
	}
	c.match("the first input", body.Input[0], c.s.task.Input[0], true)
	c.match("the second input", body.Input[1], c.s.task.Input[1], true)
}
