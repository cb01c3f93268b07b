package harness

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/sse"
)

// Client is a Model behind an OpenAI-compatible API.
type Client struct {
	BaseURL string // what "/chat/completions" is put behind
	Header  http.Header
	Stream  bool
	HTTP    *http.Client // nil for http.DefaultClient
}

// Generate implements Model.
func (c *Client) Generate(ctx context.Context, r *Request) (Message, error) {
	body, err := encodeRequest(r, c.Stream)
	if err != nil {
		return Message{}, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimRight(c.BaseURL, "/")+"/chat/completions", bytes.NewReader(body)) //nolint:gosec // the address is the caller's own
	if err != nil {
		return Message{}, err
	}
	for k, v := range c.Header {
		req.Header[k] = v
	}
	req.Header.Set("Content-Type", "application/json")
	h := c.HTTP
	if h == nil {
		h = http.DefaultClient
	}
	resp, err := h.Do(req) //nolint:gosec // the same
	if err != nil {
		return Message{}, err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxBody+1))
	switch {
	case err != nil:
		return Message{}, err
	case len(answer) > maxBody:
		return Message{}, fmt.Errorf("the answer is larger than %d bytes", maxBody)
	case resp.StatusCode != http.StatusOK:
		return Message{}, fmt.Errorf("status %d: %.300s", resp.StatusCode, answer)
	case c.Stream:
		return readStream(answer)
	}
	var w wireResponse
	if err := json.Unmarshal(answer, &w); err != nil {
		return Message{}, err
	}
	if len(w.Choices) != 1 || w.Choices[0].Message == nil {
		return Message{}, errors.New("an answer has one choice with a message")
	}
	return decodeMessage(w.Choices[0].Message)
}

// readStream puts the events of a whole stream together.
func readStream(b []byte) (Message, error) {
	out := Message{Role: flow.RoleAssistant}
	r := sse.NewReader(bytes.NewReader(b), maxBody)
	for {
		ev, err := r.Next()
		if errors.Is(err, io.EOF) {
			return out, errors.New("the stream ended early")
		}
		if err != nil {
			return out, err
		}
		if string(ev.Data) == "[DONE]" {
			return out, nil
		}
		if len(ev.Data) == 0 {
			continue
		}
		var w wireResponse
		if err := json.Unmarshal(ev.Data, &w); err != nil {
			return out, err
		}
		for _, choice := range w.Choices {
			if choice.Delta == nil {
				continue
			}
			if text, ok := choice.Delta.Content.(string); ok {
				out.Text += text
			}
			for _, c := range choice.Delta.ToolCalls {
				i := 0
				if c.Index != nil {
					i = *c.Index
				}
				if i < 0 || i > len(out.Calls) {
					return out, fmt.Errorf("a stream's calls skip to index %d", i)
				}
				if i == len(out.Calls) {
					out.Calls = append(out.Calls, flow.ToolCall{})
				}
				call := &out.Calls[i]
				call.ID += c.ID
				call.Name += c.Function.Name
				call.Arguments += c.Function.Arguments
			}
		}
	}
}
