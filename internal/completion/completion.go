// Package completion asks a language model behind an OpenAI-compatible
// chat-completions endpoint: one question, one whole answer.
//
// What is asked is private: it is what may not leave. So a question goes to
// the configured endpoint or nowhere. Redirects are errors, and unless the
// endpoint may be remote, only addresses of this machine are connected to,
// whatever a name resolves to and whatever proxy the environment names. Errors
// hold neither the question nor anything that the endpoint wrote.
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
	// BaseURL is what "/chat/completions" is put behind, such as
	// http://127.0.0.1:8080/v1. It holds no credentials.
	BaseURL string
	Model   string
	Key     string // empty for none
	// Remote: the endpoint need not be on this machine, and may read all that
	// it is asked. It is then reached by the proxy that the environment names.
	Remote  bool
	Timeout time.Duration // of one question; a minute where 0
}

// MaxAnswer bounds a response, in bytes.
const MaxAnswer = 1 << 20

// Client asks one endpoint. It is safe for concurrent use, and holds nothing
// that would have to be closed.
type Client struct {
	cfg       Config
	url       *url.URL
	transport http.RoundTripper
	// plain: the endpoint knows no response_format; what it answers is held to
	// the schema all the same.
	plain atomic.Bool
}

// New returns a client. Nothing is connected to yet.
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

// Question is what a model is asked.
type Question struct {
	System, User string // System is empty for none
	MaxTokens    int    // of the answer
}

// Text asks and returns what the model says; empty where it says nothing.
func (c *Client) Text(ctx context.Context, q Question) (string, error) {
	return c.once(ctx, q, nil)
}

// JSON asks for an answer under a JSON schema and decodes it into v. An answer
// that parsers could read differently, or with a field that v does not have, is
// an error; what the schema says besides is the caller's to check. An endpoint
// that takes no schemas is asked again without one.
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
		return errors.New("the answer is not of the schema")
	}
	return nil
}

// statusError is a status that no answer comes with.
type statusError int

func (s statusError) Error() string {
	return fmt.Sprintf("the endpoint answered with status %d", int(s))
}

// errRedirect says where a question did not go.
var errRedirect = errors.New("the endpoint redirects, which is not followed: a question would go to where nobody allowed it")

// once makes one request.
func (c *Client) once(ctx context.Context, q Question, format map[string]any) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, c.cfg.Timeout)
	defer cancel()
	type message struct {
		Role    string `json:"role"`
		Content string `json:"content"`
	}
	ask := map[string]any{"model": c.cfg.Model, "temperature": 0, "stream": false, "max_tokens": q.MaxTokens}
	messages := []message{{"user", q.User}}
	if q.System != "" {
		messages = []message{{"system", q.System}, {"user", q.User}}
	}
	ask["messages"] = messages
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
	choices := doc.Find(0, "choices")
	if choices < 0 || doc.Nodes[choices].Kind != strictjson.Array {
		return "", errNoAnswer
	}
	n, said := 0, -1
	doc.Children(choices, func(choice int) bool {
		n++
		said = doc.Find(doc.Find(choice, "message"), "content")
		return true
	})
	if n != 1 || said < 0 {
		return "", errNoAnswer
	}
	switch doc.Nodes[said].Kind {
	case strictjson.String:
		return doc.Text(said), nil
	case strictjson.Null: // it refuses, or ran out of tokens
		return "", nil
	default:
		return "", errNoAnswer
	}
}

var errNoAnswer = errors.New("the response is not one choice with a message")
