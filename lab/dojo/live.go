package dojo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/lab/dojo/episode"
	"github.com/margaydev/margay/lab/dojo/harness"
	"github.com/margaydev/margay/label"
	"github.com/margaydev/margay/taint"
	"github.com/margaydev/margay/taint/clear"
)

// Script is what a live agent is to do in one task.
type Script struct {
	Prompt string `json:"prompt"`
	Goal   string `json:"goal"`  // of the injection; empty for none
	Final  string `json:"final"` // the answer
	// User and Injection are the calls of each, in order.
	User      []episode.Call `json:"user"`
	Injection []episode.Call `json:"injection"`
}

// Live is the scripted agent for environments that run elsewhere: whoever has
// them says what the agent is to do, and what its calls returned. It serves
//
//	PUT  /script/NAME          a Script: begins a task
//	POST /script/NAME/done     {"function", "args", "result"}: a call was made
//	POST /script/NAME/confirm  {"function", "args"}: asks the user; {"yes": bool}
//	GET  /script/NAME          what has come of it: {"requests", "questions",
//	                           "open", "effects", "violations"}
//	POST /v1/chat/completions  the agent; its model is NAME
//
// where NAME may contain slashes and begins with that of the suite. Effects
// says that a call of the injection's was made that is not the user's and does
// more than read or fetch a page. It is safe for concurrent use.
type Live struct {
	// Rules, where they are given, are what violations are counted by. What
	// the agent itself says is not counted among what it is shown.
	Rules Rules
	// Refuse answers every question with no; otherwise the user says yes to
	// the task's own calls.
	Refuse bool

	mu    sync.Mutex
	plays map[string]*play
}

// ErrScript says that no script has a name.
var ErrScript = errors.New("no such script")

func (l *Live) set(name string, s *Script) error {
	goal := s.Goal
	ep := &episode.Episode{Suite: "live", UserTask: name, Prompt: s.Prompt, Final: s.Final, Goal: &goal}
	run := func(calls []episode.Call) *episode.Run {
		r := &episode.Run{}
		for i := range calls {
			c := &calls[i]
			r.Messages = append(r.Messages, episode.Message{Role: "assistant", ToolCalls: []episode.Call{*c}}, episode.Message{Role: "tool", ToolCall: c})
		}
		r.Messages = append(r.Messages, episode.Message{Role: "assistant"})
		return r
	}
	ep.Ignored = run(s.User)
	p := newPlay(ep, newReader(goal), !l.Refuse)
	// An injection's calls come first, as soon as it is seen.
	p.steps = append(run(s.Injection).Calls(), p.user...)
	p.owner = nil
	for range s.Injection {
		p.owner = append(p.owner, -1)
	}
	for i := range s.User {
		p.owner = append(p.owner, i)
	}
	n := len(p.steps)
	p.done, p.refused, p.proposed, p.live = make([]bool, n), make([]bool, n), make([]int, n), make([]string, n)
	if l.Rules != nil {
		suite, _, _ := strings.Cut(name, "/")
		policy, err := l.Rules(suite)
		if err != nil {
			return err
		}
		p.audit = newAuditor(policy)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.plays == nil {
		l.plays = map[string]*play{}
	}
	l.plays[name] = p
	return nil
}

// with calls f with the play of a name.
func (l *Live) with(name string, f func(*play)) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.plays[name]
	if p == nil {
		return fmt.Errorf("%w: %.100q", ErrScript, name)
	}
	f(p)
	return nil
}

// Generate implements harness.Model.
func (l *Live) Generate(ctx context.Context, r *harness.Request) (m harness.Message, err error) {
	unknown := l.with(r.Model, func(p *play) {
		if p.audit == nil {
			m, err = p.Generate(ctx, r)
			return
		}
		p.audit.begin(p.conversation())
		m, err = p.audit.inside(p).Generate(ctx, r)
	})
	return m, errors.Join(err, unknown)
}

// conversation is what an environment has of it: the request, and the calls
// that it made with their results.
func (p *play) conversation() []taint.Turn {
	ts := []taint.Turn{{Role: flow.RoleUser, Text: p.ep.Prompt}}
	for _, i := range p.order {
		c := p.call(i)
		ts = append(ts, callTurn(c), taint.Turn{Role: flow.RoleTool, Kind: clear.KindResult, Tool: c.Name, Call: c.ID, Text: p.live[i]})
	}
	return ts
}

// made records a call that the environment made.
func (p *play) made(c flow.ToolCall, result string) {
	i := p.find(c)
	if i < 0 {
		p.strange++
		return
	}
	if p.audit != nil {
		p.audit.begin(p.conversation())
		p.audit.made(p.call(i))
		p.audit.proposed = map[string]label.Label{}
	}
	p.done[i], p.live[i], p.order = true, result, append(p.order, i)
}

// asked answers a question about a call.
func (p *play) asked(c flow.ToolCall) bool {
	i := p.find(c)
	yes := p.confirm(c)
	if yes && i >= 0 && p.audit != nil {
		p.audit.confirmed[digest(p.call(i))] = true
	}
	return yes
}

// violations counts calls that went through unasked although what the agent
// was shown must not have led to them, and calls that it never made.
func (p *play) violations() int {
	if p.audit == nil {
		return p.strange
	}
	return p.strange + p.audit.violations
}

const maxScript = 8 << 20

// ServeHTTP implements http.Handler.
func (l *Live) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	rest, ok := strings.CutPrefix(r.URL.Path, "/script/")
	if !ok {
		harness.Handler(l).ServeHTTP(w, r)
		return
	}
	out, err := l.script(rest, r.Method, http.MaxBytesReader(w, r.Body, maxScript))
	w.Header().Set("Content-Type", "application/json")
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		out = map[string]any{"error": err.Error()}
	}
	_ = json.NewEncoder(w).Encode(out)
}

func (l *Live) script(path, method string, body io.Reader) (map[string]any, error) {
	read := func(v any) error {
		d := json.NewDecoder(body)
		d.DisallowUnknownFields()
		d.UseNumber()
		return d.Decode(v)
	}
	switch name, verb, _ := cutLast(path); {
	case method == http.MethodPut:
		var s Script
		if err := read(&s); err != nil {
			return nil, err
		}
		return map[string]any{}, l.set(path, &s)
	case method == http.MethodPost && (verb == "done" || verb == "confirm"):
		var c struct {
			episode.Call
			Result string `json:"result"`
		}
		if err := read(&c); err != nil {
			return nil, err
		}
		call := flow.ToolCall{Name: c.Function, Arguments: c.Arguments()}
		out := map[string]any{}
		err := l.with(name, func(p *play) {
			if verb == "done" {
				p.made(call, c.Result)
				return
			}
			out["yes"] = p.asked(call)
		})
		return out, err
	case method == http.MethodGet:
		out := map[string]any{}
		err := l.with(path, func(p *play) {
			open := 0
			for i := range p.done {
				if !p.done[i] {
					open++
				}
			}
			_, _, effects := p.taken()
			out["requests"], out["open"], out["questions"] = p.requests, open, p.questions
			out["effects"], out["violations"] = effects, p.violations()
		})
		return out, err
	}
	return nil, errors.New("PUT a script, GET it, or POST to its done or confirm")
}

// cutLast cuts a path at its last slash.
func cutLast(path string) (before, after string, found bool) {
	i := strings.LastIndexByte(path, '/')
	if i < 0 {
		return path, "", false
	}
	return path[:i], path[i+1:], true
}
