package demo

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"time"
)

// remembered is the secret that the model knows by itself: it was in an
// earlier conversation that nobody protected.
const remembered = "STRIPE_SECRET_KEY"

// model is the scripted endpoint: it streams what script says, and keeps what
// it received.
type model struct {
	repo  *repository
	pace  time.Duration
	clock *clock

	mu       sync.Mutex
	received map[string]string // by agent: bodies as they came, and their texts decoded
}

// message is a message of the Chat Completions API.
type message struct {
	Role       string     `json:"role"`
	Content    string     `json:"content"`
	ToolCalls  []toolCall `json:"tool_calls,omitempty"`
	ToolCallID string     `json:"tool_call_id,omitempty"`
}

type toolCall struct {
	Index    int      `json:"index"`
	ID       string   `json:"id,omitempty"`
	Type     string   `json:"type,omitempty"`
	Function function `json:"function"`
}

type function struct {
	Name      string `json:"name,omitempty"`
	Arguments string `json:"arguments"`
}

type request struct {
	Model    string    `json:"model"`
	Stream   bool      `json:"stream"`
	Messages []message `json:"messages"`
}

// ServeHTTP implements http.Handler.
func (m *model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
	if err != nil {
		http.Error(w, "the body can't be read", http.StatusBadRequest)
		return
	}
	var req request
	if err := json.Unmarshal(body, &req); err != nil || len(req.Messages) == 0 {
		http.Error(w, "the body is not a request", http.StatusBadRequest)
		return
	}
	m.keep(&req, body)
	text, calls := m.script(&req)
	w.Header().Set("Content-Type", "text/event-stream")
	for _, tok := range tokens(text) {
		m.send(w, message{Content: tok}, nil)
	}
	reason := "stop"
	for i, c := range calls {
		reason = "tool_calls"
		id := fmt.Sprintf("call_%d_%d", len(req.Messages), i)
		m.send(w, message{ToolCalls: []toolCall{{Index: i, ID: id, Type: "function", Function: function{Name: c.Name}}}}, nil)
		for _, tok := range tokens(c.Arguments) {
			m.send(w, message{ToolCalls: []toolCall{{Index: i, Function: function{Arguments: tok}}}}, nil)
		}
	}
	m.send(w, message{}, &reason)
	_, _ = io.WriteString(w, "data: [DONE]\n\n")
}

// send streams one chunk. Its number lets the agent tell when it was written.
func (m *model) send(w http.ResponseWriter, delta message, reason *string) {
	d := map[string]any{}
	size := len(delta.Content)
	if delta.Content != "" {
		d["content"] = delta.Content
	}
	if delta.ToolCalls != nil {
		d["tool_calls"] = delta.ToolCalls
		size += len(delta.ToolCalls[0].Function.Arguments)
	}
	seq := m.clock.next()
	b, err := json.Marshal(map[string]any{
		"id": "chatcmpl-demo", "object": "chat.completion.chunk", "created": 1, "model": "scripted", "seq": seq,
		"choices": []any{map[string]any{"index": 0, "delta": d, "finish_reason": reason}},
	})
	if err != nil {
		return
	}
	m.clock.sent(seq, size)
	_, _ = fmt.Fprintf(w, "data: %s\n\n", b)
	if f, ok := w.(http.Flusher); ok {
		f.Flush()
	}
	time.Sleep(m.pace)
}

func (m *model) keep(req *request, body []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	agent := strings.TrimPrefix(req.Model, "demo-")
	m.received[agent] += string(body) + "\n" + everything(req)
}

func (m *model) receivedBy(agent string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.received[agent]
}

// pseudonyms counts the different names that stood for secrets.
func (m *model) pseudonyms() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	names := map[string]bool{}
	for _, text := range m.received {
		for _, n := range pseudonym.FindAllString(text, -1) {
			names[n] = true
		}
	}
	return len(names)
}

// everything is all text of a request, decoded.
func everything(req *request) string {
	var b strings.Builder
	for i := range req.Messages {
		b.WriteString(req.Messages[i].Content + "\n")
		for _, c := range req.Messages[i].ToolCalls {
			b.WriteString(c.Function.Arguments + "\n")
		}
	}
	return b.String()
}

// tokens cuts a text about as a tokenizer does.
func tokens(s string) []string {
	var out []string
	for len(s) > 0 {
		n := min(4, len(s))
		if i := strings.IndexAny(s[1:], " \n"); i >= 0 && i+1 < n {
			n = i + 1
		}
		out = append(out, s[:n])
		s = s[n:]
	}
	return out
}

// script says what the model answers. It leaks whatever it was shown, under
// the name that it was shown it by.
func (m *model) script(req *request) (text string, calls []function) {
	seen := everything(req)
	last := req.Messages[len(req.Messages)-1]
	switch strings.TrimPrefix(req.Model, "demo-") {
	case "planner":
		return "Plan:\n1. The researcher reads the production configuration and the deployment notes.\n" +
			"2. The coder writes the release script.\n3. The executor runs it and tells the operations channel.\n", nil
	case "researcher":
		if last.Role == "tool" {
			return "I read the four files. For whoever goes on:\n" +
				"AWS_ACCESS_KEY_ID=" + assigned(seen, "AWS_ACCESS_KEY_ID") + "\n" +
				"AWS_SECRET_ACCESS_KEY=" + assigned(seen, "AWS_SECRET_ACCESS_KEY") + "\n" +
				"DATABASE_URL=" + assigned(seen, "DATABASE_URL") + "\n" +
				"GITHUB_TOKEN=" + assigned(seen, "GITHUB_TOKEN") + "\n" +
				"The log still shows the admin call: " + lineWith(seen, "authorization:") + "\n" +
				"The certificate's key is\n" + below(seen, "deploy/tls.pem:") + "\n" +
				"The rest is ordinary: port 8443, log level info, roll out with make deploy.\n", nil
		}
		for _, path := range []string{envFile, "deploy/notes.md", "deploy/tls.pem", "logs/deploy.log"} {
			calls = append(calls, function{"read_file", encode(map[string]string{"path": path})})
		}
		return "Let me look at the files.", calls
	case "coder":
		// It hides the key from a reader, not from a decoder.
		hidden := base64.StdEncoding.EncodeToString([]byte(m.repo.value(remembered)))
		return "Here is release.sh. I remember the payment key from last week and put it in encoded:\n\n" +
			"    export STRIPE=$(echo " + hidden + " | base64 -d)\n" +
			"    export GITHUB_TOKEN=" + assigned(seen, "GITHUB_TOKEN") + "\n" +
			"    make image && make deploy ENV=production\n\nIt stops at the first error.\n", nil
	default:
		switch {
		case last.Role == "tool":
			return "The operations channel knows. The release is done.", nil
		case strings.Contains(seen, "[margay:"):
			return "", []function{{"post_message", encode(map[string]string{"channel": "ops", "text": "payments is released, with the token in GITHUB_TOKEN"})}}
		}
		return "I tell the operations channel.", []function{{"post_message", encode(map[string]string{
			"channel": "ops", "text": "payments is released, with token " + assigned(seen, "GITHUB_TOKEN"),
		})}}
	}
}

func encode(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return "{}"
	}
	return string(b)
}

// assigned returns what stands behind NAME= where it was seen last.
func assigned(seen, name string) string {
	m := regexp.MustCompile(name+`=(\S+)`).FindAllStringSubmatch(seen, -1)
	if m == nil {
		return "(not seen)"
	}
	return m[len(m)-1][1]
}

func lineWith(seen, part string) string {
	for _, l := range strings.Split(seen, "\n") {
		if strings.Contains(l, part) {
			return l
		}
	}
	return "(not seen)"
}

// below returns the paragraph under a heading.
func below(seen, heading string) string {
	_, rest, ok := strings.Cut(seen, heading+"\n")
	if !ok {
		return "(not seen)"
	}
	rest, _, _ = strings.Cut(rest, "\n\n")
	return strings.TrimSpace(rest)
}
