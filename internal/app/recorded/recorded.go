// Package recorded reads recorded sessions of agents.
//
// A file has a session on each line, as JSON; one whose name ends in .gz is
// compressed:
//
//	{"id": "…", "suite": "claude", "tools": ["Read", …], "packs": ["claude-code"],
//	 "trusted": ["/home/dev/src"], "cwd": "/home/dev/src",
//	 "goal": [{"name": "Bash", "args": {…}}],
//	 "messages": [{"role": "user", "text": "…"},
//	              {"role": "assistant", "text": "…", "calls": [{"id": "…", "name": "…", "args": {…}}]},
//	              {"role": "tool", "text": "…", "callid": "…", "tool": "…"}]}
//
// Only messages is required. Fields that are not known are errors.
package recorded

import (
	"bufio"
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

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/strictjson"
	"github.com/margaydev/margay/mediator/answer"
	"github.com/margaydev/margay/mediator/session"
)

// Session is a recorded session: one line of a file.
type Session struct {
	ID    string `json:"id"`    // the line's number if it has none
	Suite string `json:"suite"` // the file's name if it has none
	// Tools are the names of those that the model is offered.
	Tools []string `json:"tools"`
	// Packs are the names of those that describe the tools.
	Packs []string `json:"packs"`
	// Trusted are folders of which the user trusts the files, and Cwd is where
	// the agent works.
	Trusted []string `json:"trusted"`
	Cwd     string   `json:"cwd"`
	// Goal are the calls that an attacker wants made.
	Goal     []Call    `json:"goal"`
	Messages []Message `json:"messages"`

	Provenance
}

// Offers are the tools that the model is offered: those that it calls, where the
// record does not say.
func (s *Session) Offers() []string {
	if len(s.Tools) > 0 {
		return s.Tools
	}
	var out []string
	for i := range s.Messages {
		for k := range s.Messages[i].Calls {
			if n := s.Messages[i].Calls[k].Name; !slices.Contains(out, n) {
				out = append(out, n)
			}
		}
	}
	return out
}

// Provenance says where a recording comes from. It is not read.
type Provenance struct {
	Model   any `json:"model"`
	Set     any `json:"set"`
	Repo    any `json:"repo"`
	Licence any `json:"licence"`
	Source  any `json:"source"`
	Session any `json:"session"`
	Version any `json:"version"`
}

// Message is what somebody said, with the calls of the assistant's.
type Message struct {
	Role  flow.Role `json:"role"`
	Text  string    `json:"text"`
	Calls []Call    `json:"calls"`
	// CallID names the call whose result a tool's message is, and Tool the tool
	// that was called. What counts is the tool that the call names.
	CallID string `json:"callid"`
	Tool   string `json:"tool"`
}

// Call is a call of a tool. One that is a goal has no id.
type Call struct {
	ID   string          `json:"id"`
	Name string          `json:"name"`
	Args json.RawMessage `json:"args"`
}

// Proposed is the call as the engine takes it.
func (c *Call) Proposed(id string) flow.ToolCall {
	return flow.ToolCall{ID: id, Name: c.Name, Arguments: session.Arguments(string(c.Args))}
}

// Whole is an answer with a text and calls.
func Whole(text string, calls []Call) *answer.Whole {
	w := &answer.Whole{}
	add := func(f flow.Field, tool, text string) int {
		id := len(w.Texts)
		w.Texts = append(w.Texts, flow.Text{ID: id, Text: text, Field: f, Tool: tool, Path: func() string { return "answer" }})
		return id
	}
	if text != "" {
		w.Says = []int{add(flow.FieldContent, "", text)}
	}
	for i := range calls {
		c := &calls[i]
		w.Calls = append(w.Calls, answer.ToolCallText{Name: c.Name, Arguments: add(flow.FieldToolArguments, c.Name, string(c.Args))})
	}
	return w
}

// fields are those of Session, for people.
const fields = "id, suite, tools, packs, trusted, cwd, goal, messages, and model, set, repo, licence, source, session and version, which are not read"

// maxLine bounds one session.
const maxLine = 32 << 20

// ReadFile reads the sessions of a file, the first n of them, or all if n is 0.
// A file whose name ends in .gz is decompressed.
func ReadFile(path string, n int) ([]*Session, error) {
	f, err := os.Open(filepath.Clean(path))
	if err != nil {
		return nil, err // it names the file
	}
	defer f.Close()
	var r io.Reader = f
	name := filepath.Base(path)
	if strings.HasSuffix(name, ".gz") {
		if r, err = gzip.NewReader(bufio.NewReader(f)); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return Read(r, name, n)
}

// Read reads sessions, one a line. Name is what errors and sessions without a
// suite call the file.
func Read(r io.Reader, name string, n int) ([]*Session, error) {
	s := bufio.NewScanner(r)
	s.Buffer(nil, maxLine)
	suite := strings.TrimSuffix(strings.TrimSuffix(name, ".gz"), ".jsonl")
	var out []*Session
	line := 0
	for (n <= 0 || len(out) < n) && s.Scan() {
		line++
		if len(bytes.TrimSpace(s.Bytes())) == 0 {
			continue
		}
		one, err := parse(s.Bytes())
		if err != nil {
			return nil, fmt.Errorf("%s, line %d: %w", name, line, err)
		}
		if one.ID == "" {
			one.ID = fmt.Sprint(line)
		}
		if one.Suite == "" {
			one.Suite = suite
		}
		out = append(out, one)
	}
	switch err := s.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return nil, fmt.Errorf("%s, line %d: longer than %d bytes", name, line+1, maxLine)
	case err != nil:
		return nil, fmt.Errorf("%s, after line %d: %w", name, line, err)
	case len(out) == 0:
		return nil, fmt.Errorf("%s: no sessions", name)
	}
	return out, nil
}

// parse reads one line. A mistyped field must not change what is measured, so
// unknown ones are refused.
func parse(line []byte) (*Session, error) {
	var doc strictjson.Doc
	if err := doc.ParseObject(line, strictjson.Limits{}); err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	s := &Session{}
	if err := d.Decode(s); err != nil {
		what := strings.TrimPrefix(err.Error(), "json: ")
		if strings.HasPrefix(what, "unknown field") {
			return nil, fmt.Errorf("%s; a session has %s", what, fields)
		}
		return nil, errors.New(what)
	}
	return s, s.check()
}

func (s *Session) check() error {
	if len(s.Messages) == 0 {
		return errors.New("no messages")
	}
	for i := range s.Goal {
		if err := s.Goal[i].check(); err != nil {
			return fmt.Errorf("goal %d: %w", i+1, err)
		}
	}
	calls := map[string]bool{}
	for i := range s.Messages {
		m := &s.Messages[i]
		if err := m.check(); err != nil {
			return fmt.Errorf("message %d: %w", i+1, err)
		}
		for _, c := range m.Calls {
			calls[c.ID] = true
		}
		if m.Role == flow.RoleTool && !calls[m.CallID] {
			return fmt.Errorf("message %d: it is the result of the call %q, and no message before it has that call", i+1, m.CallID)
		}
	}
	return nil
}

func (m *Message) check() error {
	switch m.Role {
	case flow.RoleSystem, flow.RoleDeveloper, flow.RoleUser, flow.RoleAssistant, flow.RoleTool:
	case "":
		return errors.New("no role")
	default:
		return fmt.Errorf("unknown role %q; known roles are system, developer, user, assistant and tool", m.Role)
	}
	switch {
	case len(m.Calls) > 0 && m.Role != flow.RoleAssistant:
		return fmt.Errorf("a message of the role %s has calls", m.Role)
	case m.CallID != "" && m.Role != flow.RoleTool:
		return fmt.Errorf("a message of the role %s has a callid", m.Role)
	case m.CallID == "" && m.Role == flow.RoleTool:
		return errors.New("a tool's message without a callid")
	}
	for i := range m.Calls {
		err := m.Calls[i].check()
		if err == nil && m.Calls[i].ID == "" {
			err = errors.New("no id")
		}
		if err != nil {
			return fmt.Errorf("call %d: %w", i+1, err)
		}
	}
	return nil
}

func (c *Call) check() error {
	switch {
	case c.Name == "":
		return errors.New("no name")
	case len(c.Args) == 0:
		return errors.New("no args")
	case c.Args[0] != '{':
		return errors.New("args are not an object")
	}
	return nil
}
