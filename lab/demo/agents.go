package demo

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// agents are the roles of the pipeline, in the order of their turns.
var agents = []string{"planner", "researcher", "coder", "executor"}

const task = "Release the payments service to production."

// maxRounds bounds the requests of one turn.
const maxRounds = 4

// pipeline is what the agents share.
type pipeline struct {
	repo    *repository
	base    string // of the model API
	chat    string // the outside service
	clock   *clock
	client  *http.Client
	shared  []string // what the agents handed on, only ever appended to
	refused int
	done    bool
}

// turn is one agent's turn. It returns what the agent hands on.
func (p *pipeline) turn(ctx context.Context, name string) (string, error) {
	msgs := []message{
		{Role: "system", Content: "You are the " + name + " of a team that releases software."},
		{Role: "user", Content: strings.Join(append([]string{task}, p.shared...), "\n\n")},
	}
	var said []string
	for range maxRounds {
		answer, err := p.ask(ctx, name, msgs)
		if err != nil {
			return "", err
		}
		said = append(said, answer.Content)
		msgs = append(msgs, answer)
		switch {
		case len(answer.ToolCalls) > 0:
			for _, c := range answer.ToolCalls {
				msgs = append(msgs, message{Role: "tool", ToolCallID: c.ID, Content: p.tool(ctx, &c)})
			}
			continue
		case strings.Contains(answer.Content, "[margay:"):
			// The call was not made, and the model was told why.
			p.refused++
			msgs = append(msgs, message{Role: "user", Content: "Go on as the note says."})
			continue
		}
		break
	}
	handed := name + ": " + strings.Join(said, "\n")
	p.shared = append(p.shared, handed)
	return handed, nil
}

// tool does what a call asks for.
func (p *pipeline) tool(ctx context.Context, c *toolCall) string {
	var args struct{ Path, Channel, Text string }
	if err := json.Unmarshal([]byte(c.Function.Arguments), &args); err != nil {
		return "the arguments are not JSON"
	}
	switch c.Function.Name {
	case "read_file":
		text, ok := p.repo.files[args.Path]
		if !ok {
			return "no such file"
		}
		return args.Path + ":\n" + text + "\n"
	case "post_message":
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.chat+"/"+args.Channel, strings.NewReader(c.Function.Arguments))
		if err != nil {
			return "failed"
		}
		resp, err := p.client.Do(req)
		if err != nil {
			return "failed"
		}
		_ = resp.Body.Close()
		p.done = true
		return "posted"
	}
	return "no such tool"
}

// chunk is the part of a chunk that the agents read.
type chunk struct {
	Seq     int `json:"seq"`
	Choices []struct {
		Delta message `json:"delta"`
	} `json:"choices"`
	Error *struct{ Message string } `json:"error"`
}

// ask sends a conversation and reads the streamed answer.
func (p *pipeline) ask(ctx context.Context, agent string, msgs []message) (message, error) {
	out := message{Role: "assistant"}
	body, err := json.Marshal(request{Model: "demo-" + agent, Stream: true, Messages: msgs})
	if err != nil {
		return out, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.base+"/chat/completions", bytes.NewReader(body))
	if err != nil {
		return out, err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := p.client.Do(req)
	if err != nil {
		return out, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return out, fmt.Errorf("the model answered with status %d", resp.StatusCode)
	}
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok || data == "[DONE]" {
			continue
		}
		var c chunk
		if err := json.Unmarshal([]byte(data), &c); err != nil {
			return out, fmt.Errorf("a chunk is not JSON: %w", err)
		}
		if c.Error != nil {
			return out, errors.New("the stream ended with an error")
		}
		p.clock.got(c.Seq)
		for i := range c.Choices {
			out.join(&c.Choices[i].Delta)
		}
	}
	return out, lines.Err()
}

// join appends a delta to an answer.
func (m *message) join(d *message) {
	m.Content += d.Content
	for _, c := range d.ToolCalls {
		i := slices.IndexFunc(m.ToolCalls, func(t toolCall) bool { return t.Index == c.Index })
		if i < 0 {
			m.ToolCalls = append(m.ToolCalls, c)
			continue
		}
		m.ToolCalls[i].Function.Name += c.Function.Name
		m.ToolCalls[i].Function.Arguments += c.Function.Arguments
	}
}

// service is an outside party: it keeps what it is sent.
type service struct {
	mu  sync.Mutex
	got strings.Builder
}

// ServeHTTP implements http.Handler.
func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.got.Write(b)
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
	}
}

func (s *service) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.got.String()
}

// clock measures how long chunks are on their way, and how much text is. It
// is safe for concurrent use.
type clock struct {
	mu     sync.Mutex
	seq    int
	onWay  map[int]sending
	text   int // bytes on their way
	held   int // the most that were
	delays []time.Duration
}

type sending struct {
	at   time.Time
	size int
}

func newClock() *clock { return &clock{onWay: map[int]sending{}} }

func (c *clock) next() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seq++
	return c.seq
}

func (c *clock) sent(seq, size int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.onWay[seq] = sending{time.Now(), size}
	c.text += size
	c.held = max(c.held, c.text)
}

func (c *clock) got(seq int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s, ok := c.onWay[seq]; ok {
		delete(c.onWay, seq)
		c.text -= s.size
		c.delays = append(c.delays, time.Since(s.at))
	}
}

func (c *clock) measure(r *Run) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r.Tokens, r.MaxHeld = c.seq, c.held
	if len(c.delays) == 0 {
		return
	}
	slices.Sort(c.delays)
	at := func(q float64) float64 { return milliseconds(c.delays[int(q*float64(len(c.delays)-1))]) }
	r.DelayP50, r.DelayP99, r.DelayMax = at(0.5), at(0.99), at(1)
}
