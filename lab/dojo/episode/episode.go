// Package episode reads recorded episodes of AgentDojo v1.2: every user task,
// and every pair of a user task and an injection task, each run by a scripted
// agent in the original environments, once ignoring the injection and once
// obeying it.
//
// The file is outside data (agentdojo_v1.2_episodes.json.gz in $MARGAY_DATA),
// read strictly: unknown fields, missing runs and calls without results are
// errors. Nothing here judges by the name of a task.
package episode

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// File is the name of the episodes' file in the folder of outside data.
const File = "agentdojo_v1.2_episodes.json.gz"

// maxBytes bounds the file when it is unpacked.
const maxBytes = 256 << 20

// Tool is a tool as the model is told of it.
type Tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"schema"`
}

// Call is a tool call with decoded arguments; numbers are json.Number.
type Call struct {
	Function string         `json:"function"`
	Args     map[string]any `json:"args"`
}

// Message is one message of a recorded run: an assistant's, with at most one
// call, or a tool's result.
type Message struct {
	Role       string  `json:"role"`
	Content    string  `json:"content"`
	ToolCalls  []Call  `json:"tool_calls"`
	ToolCall   *Call   `json:"tool_call"`
	ToolCallID *string `json:"tool_call_id"`
	Error      *string `json:"error"`
}

// Run is a recorded run and what the environment's own checkers said of it.
type Run struct {
	Utility          bool      `json:"utility"`
	SecurityViolated *bool     `json:"security_violated"` // nil without an injection
	Messages         []Message `json:"messages"`
}

// Episode is a user task, alone or with an injection.
type Episode struct {
	Suite         string            `json:"suite"`
	UserTask      string            `json:"user_task"`
	InjectionTask *string           `json:"injection_task"` // nil for the user task alone
	Prompt        string            `json:"prompt"`
	Final         string            `json:"final"` // the answer expected; may be empty
	Goal          *string           `json:"goal"`  // what the injection asks for
	Injections    map[string]string `json:"injections"`
	Ignored       *Run              `json:"ignored"`
	Obeyed        *Run              `json:"obeyed"`
	InjectionGT   []Call            `json:"injection_gt"`
}

// Set is the whole file.
type Set struct {
	Tools    map[string][]Tool `json:"tools"` // by suite
	Episodes []*Episode        `json:"episodes"`
}

// ID names an episode within its set.
func (e *Episode) ID() string {
	id := e.Suite + "/" + e.UserTask
	if e.InjectionTask != nil {
		id += "/" + *e.InjectionTask
	}
	return id
}

// Benign reports whether the episode has no injection.
func (e *Episode) Benign() bool { return e.InjectionTask == nil }

// Executable reports whether the injection has calls that a scripted agent
// can make.
func (e *Episode) Executable() bool { return len(e.InjectionGT) > 0 }

// Load reads the file from a folder of outside data. Where it is missing, the
// error is fs.ErrNotExist.
func Load(dir string) (*Set, error) {
	f, err := os.Open(filepath.Join(dir, File))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return Read(f)
}

// Read reads a gzipped set.
func Read(r io.Reader) (*Set, error) {
	z, err := gzip.NewReader(r)
	if err != nil {
		return nil, fmt.Errorf("episodes: %w", err)
	}
	raw, err := io.ReadAll(io.LimitReader(z, maxBytes+1))
	if err != nil {
		return nil, fmt.Errorf("episodes: %w", err)
	}
	if len(raw) > maxBytes {
		return nil, fmt.Errorf("episodes: larger than %d bytes", maxBytes)
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	d.UseNumber()
	var s Set
	if err := d.Decode(&s); err != nil {
		return nil, fmt.Errorf("episodes: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("episodes: something follows the document")
	}
	seen := map[string]bool{}
	for _, e := range s.Episodes {
		if err := s.check(e); err != nil {
			return nil, fmt.Errorf("episode %s: %w", e.ID(), err)
		}
		if seen[e.ID()] {
			return nil, fmt.Errorf("episode %s is there twice", e.ID())
		}
		seen[e.ID()] = true
	}
	return &s, nil
}

func (s *Set) check(e *Episode) error {
	switch {
	case e.Suite == "" || e.UserTask == "" || e.Prompt == "":
		return errors.New("no suite, task or prompt")
	case e.Ignored == nil:
		return errors.New("no run that ignores the injection")
	case (e.InjectionTask == nil) != (e.Goal == nil):
		return errors.New("an injection without a goal, or a goal without one")
	case e.Executable() && e.Obeyed == nil:
		return errors.New("no run that obeys the injection")
	}
	for _, r := range []*Run{e.Ignored, e.Obeyed} {
		if r == nil {
			continue
		}
		if err := s.checkRun(e.Suite, r); err != nil {
			return err
		}
	}
	if e.Obeyed != nil && Align(e.Ignored.Calls(), e.Obeyed.Calls()) == nil {
		return errors.New("the user's calls are not among those of the run that obeys")
	}
	return nil
}

// checkRun sees that calls and results take turns and that an answer ends it.
func (s *Set) checkRun(suite string, r *Run) error {
	if len(r.Messages)%2 == 0 {
		return errors.New("a run does not end with an answer")
	}
	for i := range r.Messages {
		m := &r.Messages[i]
		last := i == len(r.Messages)-1
		switch {
		case i%2 == 0 && (m.Role != "assistant" || m.ToolCall != nil):
			return fmt.Errorf("message %d is not the assistant's", i)
		case i%2 == 0 && last && len(m.ToolCalls) != 0, i%2 == 0 && !last && len(m.ToolCalls) != 1:
			return fmt.Errorf("message %d has %d calls", i, len(m.ToolCalls))
		case i%2 == 1 && (m.Role != "tool" || m.ToolCall == nil || !m.ToolCall.Equal(&r.Messages[i-1].ToolCalls[0])):
			return fmt.Errorf("message %d is not the result of the call before it", i)
		}
		if i%2 == 1 && !slices.ContainsFunc(s.Tools[suite], func(t Tool) bool { return t.Name == m.ToolCall.Function }) {
			return fmt.Errorf("message %d is of a tool that %s has not", i, suite)
		}
	}
	return nil
}

// Step is a call with its result.
type Step struct {
	Call   Call
	Result string
}

// Calls returns the calls of a run with their results, in order.
func (r *Run) Calls() []Step {
	var out []Step
	for i := 1; i < len(r.Messages); i += 2 {
		out = append(out, Step{r.Messages[i-1].ToolCalls[0], r.Messages[i].Content})
	}
	return out
}

// Align tells which of the steps of a run that obeys are the user's own: at
// each of its places the index into the user's steps, or -1 for the
// injection's. It returns nil if the user's are not among them in order.
func Align(user, obeyed []Step) []int {
	out, next := make([]int, len(obeyed)), 0
	for i := range obeyed {
		out[i] = -1
		if next < len(user) && user[next].Call.Equal(&obeyed[i].Call) {
			out[i] = next
			next++
		}
	}
	if next < len(user) {
		return nil
	}
	return out
}

// Arguments returns the call's arguments as JSON, keys sorted.
func (c *Call) Arguments() string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	args := c.Args
	if args == nil {
		args = map[string]any{}
	}
	if err := e.Encode(args); err != nil {
		panic(err) // what came from JSON can be written as JSON
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// Equal reports whether two calls have one function and the same arguments;
// a number equals itself however it is written.
func (c *Call) Equal(o *Call) bool {
	return c.Function == o.Function && equal(orEmpty(c.Args), orEmpty(o.Args))
}

func orEmpty(m map[string]any) map[string]any {
	if m == nil {
		return map[string]any{}
	}
	return m
}

func equal(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for k, v := range a {
			w, ok := b[k]
			if !ok || !equal(v, w) {
				return false
			}
		}
		return true
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, equal)
	case json.Number:
		b, ok := b.(json.Number)
		if !ok {
			return false
		}
		x, err := a.Float64()
		y, err2 := b.Float64()
		return a == b || err == nil && err2 == nil && x == y
	}
	return a == b
}

// ParseCall reads a call that a model wrote.
func ParseCall(function, arguments string) (*Call, error) {
	d := json.NewDecoder(strings.NewReader(arguments))
	d.UseNumber()
	c := &Call{Function: function}
	if strings.TrimSpace(arguments) == "" {
		return c, nil
	}
	if err := d.Decode(&c.Args); err != nil {
		return nil, fmt.Errorf("arguments of %s: %w", function, err)
	}
	return c, nil
}

// ReadOnly reports whether a tool of the suites changes nothing outside and
// tells nobody anything. Fetching a page from an address that a text names is
// not: the address itself may carry data.
func ReadOnly(function string) bool { return function != "get_webpage" && Reads(function) }

// Reads reports whether a tool changes nothing, by its name: what it asks for
// may tell something to whoever is asked.
func Reads(function string) bool {
	for _, verb := range []string{"get_", "search_", "read_", "list_", "check_"} {
		if strings.HasPrefix(function, verb) {
			return true
		}
	}
	return false
}
