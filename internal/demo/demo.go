package demo

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/margaydev/margay/gateway"
	"github.com/margaydev/margay/mediator"
	"github.com/margaydev/margay/secret"
	"github.com/margaydev/margay/secret/recognise"
	"github.com/margaydev/margay/store/memory"
)

// AgentReport is what one agent's turn leaked.
type AgentReport struct {
	Agent    string   `json:"agent"`
	ToModel  []string `json:"leaked_to_model"` // names of secrets, never values
	ToOthers []string `json:"leaked_to_others"`
}

// Run is one pass of the pipeline.
type Run struct {
	Margay     bool           `json:"margay"`
	Agents     []AgentReport  `json:"agents"`
	Leaks      int            `json:"leaks"`
	Findings   map[string]int `json:"findings,omitempty"` // by action and kind
	MaxHeld    int64          `json:"max_held_bytes"`
	MaxDelay   time.Duration  `json:"max_delay_ns"`
	Pseudonyms int            `json:"pseudonyms"`
	Elapsed    time.Duration  `json:"elapsed_ns"`
}

// Report is the whole demonstration.
type Report struct {
	Secrets int    `json:"secrets"`
	Without Run    `json:"without"`
	With    Run    `json:"with"`
	Seed    uint64 `json:"seed"`
}

var agents = []string{"planner", "researcher", "coder", "executor"}

// Play runs the demonstration.
func Play(ctx context.Context, seed uint64, tell func(string)) (*Report, error) {
	ps := plant(seed)
	r := &Report{Secrets: len(ps), Seed: seed}
	var err error
	tell("Four agents work on a payments service. One reads .env.production; the model repeats what it sees.")
	if r.Without, err = play(ctx, ps, false); err != nil {
		return nil, err
	}
	r.With, err = play(ctx, ps, true)
	return r, err
}

// model is the scripted endpoint. It keeps what it received.
type model struct {
	own planted
	mu  sync.Mutex
	got string
}

func (m *model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	if err != nil {
		http.Error(w, "bad body", http.StatusBadRequest)
		return
	}
	var req struct {
		Messages []struct{ Role, Content string }
	}
	if err := json.Unmarshal(body, &req); err != nil || len(req.Messages) == 0 {
		http.Error(w, "bad request", http.StatusBadRequest)
		return
	}
	m.mu.Lock()
	m.got = string(body)
	m.mu.Unlock()
	seen := ""
	for _, msg := range req.Messages {
		seen += msg.Content + "\n"
	}
	text, tool, args := script(strings.TrimPrefix(req.Messages[0].Content, "agent: "), seen, m.own)
	w.Header().Set("Content-Type", "text/event-stream")
	send := func(delta any, finish any) {
		b, _ := json.Marshal(map[string]any{
			"id": "chatcmpl-demo", "object": "chat.completion.chunk", "created": 1, "model": "scripted",
			"choices": []any{map[string]any{"index": 0, "delta": delta, "finish_reason": finish}},
		})
		fmt.Fprintf(w, "data: %s\n\n", b)
		w.(http.Flusher).Flush()
		time.Sleep(time.Millisecond) // a model takes its time
	}
	for _, tok := range tokens(text) {
		send(map[string]string{"content": tok}, nil)
	}
	reason := "stop"
	if tool != "" {
		reason = "tool_calls"
		call := func(fn map[string]string, id string) any {
			c := map[string]any{"index": 0, "function": fn}
			if id != "" {
				c["id"], c["type"] = id, "function"
			}
			return map[string]any{"tool_calls": []any{c}}
		}
		send(call(map[string]string{"name": tool, "arguments": ""}, "call_1"), nil)
		for _, tok := range tokens(args) {
			send(call(map[string]string{"arguments": tok}, ""), nil)
		}
	}
	send(map[string]string{}, reason)
	fmt.Fprint(w, "data: [DONE]\n\n")
}

// tokens cuts a text about as a tokenizer does.
func tokens(s string) []string {
	var out []string
	for len(s) > 0 {
		n := min(4, len(s))
		if i := strings.IndexByte(s[1:], ' '); i >= 0 && i+1 < n {
			n = i + 1
		}
		out = append(out, s[:n])
		s = s[n:]
	}
	return out
}

func play(ctx context.Context, ps []planted, protect bool) (Run, error) {
	run := Run{Margay: protect, Findings: map[string]int{}}
	m := &model{own: ps[2]}
	addr, stop, err := listen(m)
	if err != nil {
		return run, err
	}
	defer stop()
	target := "http://" + addr
	var mu sync.Mutex
	if protect {
		g, err := guard(target, ps, &run, &mu)
		if err != nil {
			return run, err
		}
		defer g.Close()
		gaddr, gstop, err := listen(g)
		if err != nil {
			return run, err
		}
		defer gstop()
		target = "http://" + gaddr
	}
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	start := time.Now()
	shared := "Task: prepare the deployment of the payments service."
	for _, name := range agents {
		if name == "researcher" {
			shared += "\n[read_file .env.production]\n" + repository(ps)
		}
		before := leaked(ps, shared)
		text, err := ask(ctx, client, target, name, shared)
		if err != nil {
			return run, fmt.Errorf("%s: %w", name, err)
		}
		a := AgentReport{Agent: name, ToModel: leaked(ps, m.received()), ToOthers: leaked(ps, text)}
		_ = before
		run.Leaks += len(a.ToModel) + len(a.ToOthers)
		run.Pseudonyms = max(run.Pseudonyms, strings.Count(m.received(), "margay-"))
		run.Agents = append(run.Agents, a)
		shared += "\n" + name + ": " + text
	}
	run.Elapsed = time.Since(start)
	return run, nil
}

func (m *model) received() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.got
}

// guard is a gateway as margay run makes one. The secret that the model knows
// by itself is registered, as margay run registers what .env holds.
func guard(target string, ps []planted, run *Run, mu *sync.Mutex) (*gateway.Gateway, error) {
	rules, err := recognise.Default()
	if err != nil {
		return nil, err
	}
	keys := secret.NewKeys()
	rec, _, err := secret.Prepare(&keys, "00000000000000000000000001", ps[2].name, secret.KindAPIKey, secret.SourceRegistered, "demo", []byte(ps[2].value), time.Now())
	if err != nil {
		return nil, err
	}
	e, err := mediator.New(mediator.Config{
		Rules: rules, Keys: keys, Store: memory.New(), Ephemeral: []secret.Record{rec},
		Listener: mediator.Listener{Decided: func(en mediator.LogEntry) {
			mu.Lock()
			defer mu.Unlock()
			for _, f := range en.Findings {
				run.Findings[string(f.Action)+" "+string(f.Kind)]++
			}
		}},
	})
	if err != nil {
		return nil, err
	}
	u, err := url.Parse(target + "/v1")
	if err != nil {
		return nil, err
	}
	return gateway.New(gateway.Config{Engine: e, Upstream: u, Log: slog.New(slog.DiscardHandler), Streamed: func(s gateway.StreamStats) {
		mu.Lock()
		defer mu.Unlock()
		run.MaxHeld, run.MaxDelay = max(run.MaxHeld, s.MaxHeld), max(run.MaxDelay, s.MaxDelay)
	}})
}

// listen serves h on a free loopback port.
func listen(h http.Handler) (addr string, stop func(), err error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	s := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = s.Serve(ln)
	}()
	return ln.Addr().String(), func() { _ = s.Close(); <-done }, nil
}

// ask is one agent's turn: a streaming request like any client's.
func ask(ctx context.Context, c *http.Client, target, agent, shared string) (string, error) {
	body, err := json.Marshal(map[string]any{"model": "scripted", "stream": true, "messages": []any{
		map[string]string{"role": "system", "content": "agent: " + agent}, map[string]string{"role": "user", "content": shared},
	}})
	if err != nil {
		return "", err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, target+"/v1/chat/completions", bytes.NewReader(body))
	if err != nil {
		return "", err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := c.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return "", fmt.Errorf("status %d", resp.StatusCode)
	}
	var text strings.Builder
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok || data == "[DONE]" {
			continue
		}
		var chunk struct {
			Choices []struct {
				Delta struct {
					Content   string
					ToolCalls []struct {
						Function struct{ Name, Arguments string }
					} `json:"tool_calls"`
				}
			}
		}
		if err := json.Unmarshal([]byte(data), &chunk); err != nil {
			return "", err
		}
		for _, ch := range chunk.Choices {
			text.WriteString(ch.Delta.Content)
			for _, tc := range ch.Delta.ToolCalls {
				text.WriteString(tc.Function.Name + tc.Function.Arguments)
			}
		}
	}
	return text.String(), lines.Err()
}
