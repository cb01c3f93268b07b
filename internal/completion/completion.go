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
	form      atomic.Int32 // the first that the endpoint may support
}

// How answers under a schema are asked for. Endpoints refuse what they do not
// support; answers must follow the schema all the same.
const (
	formSchema int32 = iota // response_format
	formTool                // the arguments of a call that is forced
	formPlain               // by the question's own words
)

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

// Usage is what an endpoint says that a question took, in tokens; 0 where it says
// nothing.
type Usage struct {
	Prompt int64 `json:"prompt_tokens"`
	Answer int64 `json:"completion_tokens"`
}

// Text asks and returns the answer; empty if the model says nothing.
func (c *Client) Text(ctx context.Context, q Question) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, c.cfg.Timeout)
	defer cancel()
	var r reply
	err := c.once(ctx, c.ask(q), &r)
	return r.text, err
}

// JSON asks for an answer under a JSON schema and decodes it into v. An answer
// that parsers could read differently, or with a field that v does not have, is
// an error; the caller checks the rest of the schema. An endpoint that does not
// accept schemas is asked for a call of a tool with this name, and else without
// either. The time limit is that of all of it.
func (c *Client) JSON(ctx context.Context, q Question, name string, schema map[string]any, v any) (Usage, error) {
	ctx, cancel := context.WithTimeout(ctx, c.cfg.Timeout)
	defer cancel()
	var r reply
	var err error
	for form := c.form.Load(); ; form++ {
		body := c.ask(q)
		switch form {
		case formSchema:
			body["response_format"] = map[string]any{"type": "json_schema", "json_schema": map[string]any{"name": name, "strict": true, "schema": schema}}
		case formTool:
			body["tools"] = []any{map[string]any{"type": "function", "function": map[string]any{"name": name, "parameters": schema}}}
			body["tool_choice"] = map[string]any{"type": "function", "function": map[string]any{"name": name}}
			r.tool = name
		default:
			r.tool = ""
		}
		if err = c.once(ctx, body, &r); err == nil {
			c.form.Store(form) // it was the form, and nothing else of the question
			break
		}
		if !refused(form, err) {
			return Usage{}, err
		}
	}
	return r.usage, decode([]byte(strings.TrimSpace(r.text)), v)
}

// refused reports whether an endpoint may not support a form. Of tools servers say
// so with several statuses.
func refused(form int32, err error) bool {
	var status statusError
	if form == formPlain || !errors.As(err, &status) {
		return false
	}
	switch int(status) {
	case http.StatusBadRequest, http.StatusUnprocessableEntity:
		return true
	case http.StatusNotFound, http.StatusInternalServerError, http.StatusNotImplemented:
		return form == formTool
	}
	return false
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

// ask is the body of a question.
func (c *Client) ask(q Question) map[string]any {
	type message struct {
		Role    string `json:"role"`
		Content string `json:"content"`
	}
	ask := map[string]any{"model": c.cfg.Model, "temperature": 0, "stream": false, "max_tokens": q.MaxTokens}
	ask["messages"] = []message{{"user", q.User}}
	if q.System != "" {
		ask["messages"] = []message{{"system", q.System}, {"user", q.User}}
	}
	return ask
}

// once makes one request.
func (c *Client) once(ctx context.Context, ask map[string]any, r *reply) error {
	body, err := json.Marshal(ask)
	if err != nil {
		return err
	}
	raw, err := c.send(ctx, c.url, body)
	if err != nil {
		return err
	}
	return r.read(raw)
}

// reply is the answer in a response.
type reply struct {
	tool  string // whose arguments it is, if the model calls it; empty for none
	text  string // empty if the model refuses, or ran out of tokens
	usage Usage
}

// read takes the answer from a response's only choice.
func (r *reply) read(raw []byte) error {
	var doc strictjson.Doc
	if err := doc.Parse(raw, strictjson.Limits{MaxBytes: MaxAnswer, MaxDepth: 32}); err != nil {
		return fmt.Errorf("the response: %w", err)
	}
	var in struct {
		Choices []struct {
			Message struct {
				Content json.RawMessage `json:"content"`
				Calls   json.RawMessage `json:"tool_calls"`
			} `json:"message"`
		} `json:"choices"`
		Usage json.RawMessage `json:"usage"`
	}
	if json.Unmarshal(raw, &in) != nil || len(in.Choices) != 1 {
		return errNoAnswer
	}
	var took Usage
	if json.Unmarshal(in.Usage, &took) == nil && took.Prompt >= 0 && took.Answer >= 0 {
		r.usage = took
	}
	m := &in.Choices[0].Message
	var calls []struct {
		Function struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"function"`
	}
	switch {
	case r.tool != "" && m.Calls != nil && (json.Unmarshal(m.Calls, &calls) != nil || len(calls) > 1 || len(calls) == 1 && calls[0].Function.Name != r.tool):
		return errNoAnswer
	case len(calls) == 1:
		r.text = calls[0].Function.Arguments
	case m.Content == nil || json.Unmarshal(m.Content, &r.text) != nil:
		return errNoAnswer
	}
	return nil
}

var errNoAnswer = errors.New("the response is not one choice with a message")
