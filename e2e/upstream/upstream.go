// Package upstream is a scripted model API: it speaks enough of OpenAI's and
// Anthropic's HTTP interfaces for real client libraries, answers exactly as
// scripted, and keeps what it received and sent, byte for byte.
//
// The request's model selects the answer: [Server.Script] gives a model its
// replies, one for each assistant message that the conversation already has.
// A model without a script answers what follows "say: " in the last user
// message, or else repeats that message.
//
// Replies are generated from the script alone, with fixed ids and times, so
// that the same request is always answered with the same bytes. Everything
// carries a field that no client library knows (x_vendor): whatever is in
// between must not lose it.
package upstream

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// maxBody bounds what is read of a request, in bytes.
const maxBody = 8 << 20

// Reply is one scripted answer of a chat model.
type Reply struct {
	// Status and Body answer with an HTTP error instead; Header goes with it.
	Status int
	Header map[string]string
	Body   string

	Choices []Choice
	// Compose, if not nil, makes the choices from the request instead.
	Compose func(*Chat) []Choice
	// AckAfter stops a stream when that many runes of the first choice are
	// out, until somebody calls GET /ack?model=…: it shows whether text
	// arrives while the model is still writing. 0 never stops.
	AckAfter int
	// Break ends a stream when all text is out, in mid-stream: "close" drops
	// the connection, "error" sends an error event with Body's error object,
	// "endless" goes on with words until the caller goes away.
	Break string
}

// Choice is one alternative of a reply.
type Choice struct {
	Reasoning string // sent as reasoning_content, before the text
	Text      string
	Calls     []Call
}

// Call is a tool call of a reply.
type Call struct{ ID, Name, Arguments string }

// Chat is a decoded request for a chat completion.
type Chat struct {
	Model    string `json:"model"`
	Messages []struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
	} `json:"messages"`
	N             int  `json:"n"`
	Stream        bool `json:"stream"`
	Logprobs      bool `json:"logprobs"`
	StreamOptions struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
}

// Last returns the text of the last message with a role, "" if there is none.
func (c *Chat) Last(role string) string {
	for _, m := range slices.Backward(c.Messages) {
		if m.Role == role {
			return contentText(m.Content)
		}
	}
	return ""
}

func contentText(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	var parts []struct {
		Text string `json:"text"`
	}
	if json.Unmarshal(raw, &parts) != nil {
		return ""
	}
	var b strings.Builder
	for _, p := range parts {
		b.WriteString(p.Text)
	}
	return b.String()
}

// Exchange is one request and what became of it.
type Exchange struct {
	Path   string
	Model  string
	Header http.Header
	Body   []byte // as received
	Sent   []byte // the answer's body, as far as it was written
	// Acked says that the caller showed, in mid-stream, that text had arrived.
	Acked bool
	// Gone says that the caller went away before the answer was complete.
	Gone bool
}

// Server is the scripted API. It is an http.Handler, safe for concurrent use.
type Server struct {
	open      sync.WaitGroup // requests being answered
	mu        sync.Mutex
	scripts   map[string][]Reply
	exchanges []*Exchange
	acks      map[string]chan struct{}
}

// New returns a server without scripts.
func New() *Server {
	return &Server{scripts: map[string][]Reply{}, acks: map[string]chan struct{}{}}
}

// Script sets what a model says: reply i where the conversation has i
// assistant messages (the last one from there on).
func (s *Server) Script(model string, replies ...Reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.scripts[model] = replies
}

// Exchanges waits until no request is being answered, and returns those since
// the last call in the order in which they ended. It must not be called while
// new requests may still come in.
func (s *Server) Exchanges() []Exchange {
	s.open.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Exchange
	for _, e := range s.exchanges {
		out = append(out, *e)
	}
	s.exchanges = nil
	return out
}

func (s *Server) ack(model string) chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.acks[model]
	if c == nil {
		c = make(chan struct{}, 16)
		s.acks[model] = c
	}
	return c
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/ack" {
		select {
		case s.ack(r.URL.Query().Get("model")) <- struct{}{}:
		default: // more than anybody waits for
		}
		w.WriteHeader(http.StatusNoContent)
		return
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody))
	if err != nil {
		return
	}
	e := &Exchange{Path: r.URL.RequestURI(), Header: r.Header.Clone(), Body: body}
	out := &recorder{ResponseWriter: w, s: s, e: e}
	s.open.Add(1)
	defer func() {
		defer s.open.Done()
		s.mu.Lock()
		s.exchanges = append(s.exchanges, e)
		s.mu.Unlock()
	}()
	switch r.Method + " " + r.URL.Path {
	case "GET /v1/models":
		if r.Header.Get("Anthropic-Version") != "" {
			e.Model = MessagesModels
			out.json(http.StatusOK, messageModels())
			return
		}
		out.json(http.StatusOK, models())
	case "POST /v1/messages", "POST /v1/messages/count_tokens":
		s.messages(out, r, body)
	case "POST /v1/embeddings":
		s.embeddings(out, body)
	case "POST /v1/chat/completions":
		s.chat(out, r, body)
	case "POST /v1/responses":
		s.responses(out, r, body)
	default:
		out.error(http.StatusNotFound, "not_found", "unknown path "+r.Method+" "+r.URL.Path)
	}
}

// recorder keeps what is written.
type recorder struct {
	http.ResponseWriter
	s *Server
	e *Exchange
}

func (w *recorder) Write(p []byte) (int, error) {
	n, err := w.ResponseWriter.Write(p)
	w.s.mu.Lock()
	w.e.Sent = append(w.e.Sent, p[:n]...)
	w.s.mu.Unlock()
	return n, err
}

func (w *recorder) flush() { _ = http.NewResponseController(w.ResponseWriter).Flush() }

func (w *recorder) json(status int, v any) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(fmt.Sprintf("upstream: an answer can't be encoded: %v", err))
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes()) // a caller that has gone away is none of ours
}

func (w *recorder) error(status int, code, message string) {
	w.json(status, map[string]any{"error": map[string]any{"message": message, "type": "invalid_request_error", "param": nil, "code": code}})
}

// MessagesModels stands for the model of a request for the list of models of
// the Messages API.
const MessagesModels = "scripted-messages-models"

// Models are the ids that the model list has.
var Models = []string{"scripted-large", "scripted-small"}

func models() any {
	var data []any
	for _, id := range Models {
		data = append(data, map[string]any{"id": id, "object": "model", "created": created, "owned_by": "e2e", "x_vendor": vendor})
	}
	return map[string]any{"object": "list", "data": data}
}

// Vector returns the embedding of the input at a place.
func Vector(index int) []float32 {
	v := make([]float32, 48)
	for i := range v {
		v[i] = float32(math.Sin(float64(index*len(v)+i))) / 4
	}
	return v
}

func (s *Server) embeddings(w *recorder, body []byte) {
	var in struct {
		Model          string          `json:"model"`
		Input          json.RawMessage `json:"input"`
		EncodingFormat string          `json:"encoding_format"`
	}
	var inputs []string
	if err := json.Unmarshal(body, &in); err != nil {
		w.error(http.StatusBadRequest, "bad_json", "the body is not JSON")
		return
	}
	w.e.Model = in.Model
	if json.Unmarshal(in.Input, &inputs) != nil {
		inputs = []string{""}
	}
	var data []any
	for i := range inputs {
		var v any = Vector(i)
		if in.EncodingFormat == "base64" {
			b, err := binary.Append(nil, binary.LittleEndian, Vector(i))
			if err != nil {
				panic(fmt.Sprintf("upstream: a vector can't be encoded: %v", err))
			}
			v = base64.StdEncoding.EncodeToString(b)
		}
		data = append(data, map[string]any{"object": "embedding", "index": i, "embedding": v})
	}
	w.json(http.StatusOK, map[string]any{
		"object": "list", "data": data, "model": in.Model, "x_vendor": vendor,
		"usage": map[string]int{"prompt_tokens": 7 * len(inputs), "total_tokens": 7 * len(inputs)},
	})
}

func (s *Server) chat(w *recorder, r *http.Request, body []byte) {
	c := &Chat{N: 1}
	if err := json.Unmarshal(body, c); err != nil {
		w.error(http.StatusBadRequest, "bad_json", "the body is not JSON")
		return
	}
	w.e.Model = c.Model
	reply, err := s.reply(c)
	switch {
	case err != nil:
		w.error(http.StatusBadRequest, "no_script", err.Error())
	case reply.Status != 0:
		for name, value := range reply.Header {
			w.Header().Set(name, value)
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(reply.Status)
		_, _ = io.WriteString(w, reply.Body)
	case c.Stream:
		s.stream(w, r, c, reply)
	default:
		w.json(http.StatusOK, whole(c, reply))
	}
}

func (s *Server) reply(c *Chat) (*Reply, error) {
	s.mu.Lock()
	replies := s.scripts[c.Model]
	s.mu.Unlock()
	var reply Reply
	if len(replies) == 0 {
		text := c.Last("user")
		if _, after, ok := strings.Cut(text, "say: "); ok {
			text = after
		}
		reply.Choices = []Choice{{Text: text}}
	} else {
		turn := 0
		for _, m := range c.Messages {
			if m.Role == "assistant" {
				turn++
			}
		}
		reply = replies[min(turn, len(replies)-1)]
	}
	if reply.Compose != nil {
		reply.Choices = reply.Compose(c)
	}
	if reply.Status == 0 && len(reply.Choices) != c.N {
		return nil, errors.New("the script has another number of choices than the request asks for")
	}
	return &reply, nil
}
