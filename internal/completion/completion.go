// Package completion asks a language model behind an OpenAI-compatible
// chat-completions endpoint: one question, one whole answer.
//
// A question is private: it holds what may not leave. So it goes to the
// configured endpoint or nowhere. Redirects are errors. Unless the endpoint may
// be remote, the client connects only to addresses of this machine, whatever a
// name resolves to and whatever proxy the environment names. Errors hold
// neither the question nor anything that the endpoint wrote.
package completion

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/margaydev/margay/internal/strictjson"
)

// Config names an endpoint.
type Config struct {
	// BaseURL is the address without "/chat/completions", such as
	// http://127.0.0.1:8080/v1. It holds no credentials.
	BaseURL string
	Model   string
	Key     string // empty for none
	// Remote: the endpoint need not be on this machine, and may read every
	// question. The proxy that the environment names is then used.
	Remote  bool
	Timeout time.Duration // of one question; a minute where 0
}

// MaxAnswer bounds a response, in bytes.
const MaxAnswer = 1 << 20

// Client asks one endpoint. It is safe for concurrent use, and needs no Close.
type Client struct {
	cfg       Config
	url       *url.URL
	transport http.RoundTripper
	// plain: the endpoint does not support response_format. Answers must follow
	// the schema all the same.
	plain atomic.Bool
}

// New returns a client. It makes no connection yet.
func New(cfg Config) (*Client, error) {
	u, err := url.Parse(cfg.BaseURL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil {
		return nil, errors.New("an endpoint needs a base URL without credentials, such as http://127.0.0.1:8080/v1")
	}
	if cfg.Model == "" {
		return nil, errors.New("an endpoint needs the name of a model")
	}
	if strings.ContainsFunc(cfg.Key, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return nil, errors.New("the endpoint's key holds control characters, such as a newline")
	}
	if cfg.Timeout <= 0 {
		cfg.Timeout = time.Minute
	}
	return &Client{cfg: cfg, url: u.JoinPath("chat/completions"), transport: transport(cfg.Remote, nil)}, nil
}

// Question is a question to a model.
type Question struct {
	System, User string // System is empty for none
	MaxTokens    int    // of the answer
}

// Text asks and returns the answer; empty if the model says nothing.
func (c *Client) Text(ctx context.Context, q Question) (string, error) {
	return c.once(ctx, q, nil)
}

// JSON asks for an answer under a JSON schema and decodes it into v. An answer
// that parsers could read differently, or with a field that v does not have, is
// an error; the caller checks the rest of the schema. An endpoint that does not
// accept schemas is asked again without one.
func (c *Client) JSON(ctx context.Context, q Question, name string, schema map[string]any, v any) error {
	format := map[string]any{"type": "json_schema", "json_schema": map[string]any{"name": name, "strict": true, "schema": schema}}
	if c.plain.Load() {
		format = nil
	}
	text, err := c.once(ctx, q, format)
	if format != nil && (errors.Is(err, statusError(http.StatusBadRequest)) || errors.Is(err, statusError(http.StatusUnprocessableEntity))) {
		if text, err = c.once(ctx, q, nil); err == nil {
			c.plain.Store(true) // it was the schema, and nothing else of the question
		}
	}
	if err != nil {
		return err
	}
	return decode([]byte(strings.TrimSpace(text)), v)
}

// decode reads an answer strictly.
func decode(raw []byte, v any) error {
	var doc strictjson.Doc
	if err := doc.Parse(raw, strictjson.Limits{MaxBytes: MaxAnswer}); err != nil {
		return fmt.Errorf("the answer: %w", err)
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if d.Decode(v) != nil { // its errors quote the answer
		return errors.New("the answer does not follow the schema")
	}
	return nil
}

// statusError is the HTTP status of a failed request.
type statusError int

func (s statusError) Error() string {
	return fmt.Sprintf("the endpoint answered with status %d", int(s))
}

// errRedirect says that a question did not follow a redirect.
var errRedirect = errors.New("the endpoint redirects, and questions go only to the configured endpoint")

// once makes one request.
func (c *Client) once(ctx context.Context, q Question, format map[string]any) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, c.cfg.Timeout)
	defer cancel()
	type message struct {
		Role    string `json:"role"`
		Content string `json:"content"`
	}
	ask := map[string]any{"model": c.cfg.Model, "temperature": 0, "stream": false, "max_tokens": q.MaxTokens}
	ask["messages"] = []message{{"user", q.User}}
	if q.System != "" {
		ask["messages"] = []message{{"system", q.System}, {"user", q.User}}
	}
	if format != nil {
		ask["response_format"] = format
	}
	body, err := json.Marshal(ask)
	if err != nil {
		return "", err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url.String(), bytes.NewReader(body))
	if err != nil {
		return "", err
	}
	req.Header.Set("Content-Type", "application/json")
	if c.cfg.Key != "" {
		req.Header.Set("Authorization", "Bearer "+c.cfg.Key)
	}
	resp, err := c.transport.RoundTrip(req) // a transport, unlike a client, follows nothing and keeps no cookies
	if err != nil {
		return "", plainly(ctx, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode >= 300 && resp.StatusCode < 400 {
		return "", errRedirect
	}
	if resp.StatusCode != http.StatusOK {
		return "", statusError(resp.StatusCode)
	}
	raw, err := io.ReadAll(io.LimitReader(resp.Body, MaxAnswer+1))
	if err != nil {
		return "", plainly(ctx, err)
	}
	return content(raw)
}

// content is the text of a response's only choice.
func content(raw []byte) (string, error) {
	var doc strictjson.Doc
	if err := doc.Parse(raw, strictjson.Limits{MaxBytes: MaxAnswer, MaxDepth: 32}); err != nil {
		return "", fmt.Errorf("the response: %w", err)
	}
	var r struct {
		Choices []struct {
			Message struct {
				Content json.RawMessage `json:"content"`
			} `json:"message"`
		} `json:"choices"`
	}
	if json.Unmarshal(raw, &r) != nil || len(r.Choices) != 1 || r.Choices[0].Message.Content == nil {
		return "", errNoAnswer
	}
	var text string // stays empty for null: the model refuses, or ran out of tokens
	if json.Unmarshal(r.Choices[0].Message.Content, &text) != nil {
		return "", errNoAnswer
	}
	return text, nil
}

var errNoAnswer = errors.New("the response is not one choice with a message")
