package hook_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/margaydev/margay/connectortest"
	"github.com/margaydev/margay/connectortest/gatewaytest"
	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/hook"
	"github.com/margaydev/margay/store/memory"
)

// Every event that carries something, in every form.
func TestConformance(t *testing.T) {
	for _, harness := range hook.Names() {
		t.Run(harness, func(t *testing.T) {
			api := connectortest.Hooks(harness)
			connectortest.Run(t, connectortest.Connector{Open: func(t testing.TB, registered []string) connectortest.Link {
				e, store := gatewaytest.Engine(t, registered)
				return &runner{t, hook.New(hook.Config{Engine: e, Key: [32]byte{9}}), store}
			}}, api)
			// Nothing that carries something is missing.
			for _, e := range hook.Carries(harness) {
				if !slices.ContainsFunc(api.Fields, func(f connectortest.Field) bool { return f.Name == e }) {
					t.Errorf("%s is in no matrix", e)
				}
			}
		})
	}
}

// runner stands for a harness that goes on as a hook says.
type runner struct {
	t     testing.TB
	h     *hook.Handler
	store *memory.Store
}

func (r *runner) Kept() []byte { return gatewaytest.Decisions(r.t, r.store) }

func (r *runner) Do(x *connectortest.Exchange) (*connectortest.Result, error) {
	event := bytes.ReplaceAll(x.Body, []byte(`"s1"`), []byte(`"`+x.Caller+`"`)) // each in a session of its own
	a := r.h.Handle(context.Background(), x.Path, event)
	res := &connectortest.Result{
		Status: a.Exit, Body: a.Out.Bytes(), Far: &connectortest.Arrived{Path: x.Path, Header: x.Header, Body: x.Body},
		Header: []connectortest.Header{{Name: "Out", Value: string(a.Out.Bytes())}, {Name: "Err", Value: string(a.Err.Bytes())}},
	}
	in, at := x.Header[0].Value, x.Header[1].Value
	switch edited := member(a.Out.Bytes(), at); {
	case a.Exit == hook.Block:
		res.Far, res.Body = nil, a.Err.Bytes()
	case plain(a):
		res.Body = nil
	case at != "" && edited != nil:
		// It goes on with what was edited; a member that nobody knows stays behind.
		body, err := replaceLast(unknownFirst.ReplaceAll(x.Body, []byte("{")), in, edited)
		if err != nil {
			return nil, err
		}
		res.Far.Body, res.Body = body, nil
	default:
		var d struct{ SystemMessage, User_message string } //nolint:revive // the name is the harness's
		if blocked(a.Out.Bytes()) {
			res.Far = nil
		} else if json.Unmarshal(a.Out.Bytes(), &d) != nil {
			return nil, fmt.Errorf("the answer is no JSON: %s", a.Out.Bytes())
		}
	}
	return res, nil
}

// unknownFirst matches a first member that no harness has.
var unknownFirst = regexp.MustCompile(`^\{"brand_new":\{[^}]*\},`)

// blocked reports whether an answer keeps something back, in any of the
// contracts.
func blocked(out []byte) bool {
	for path, value := range map[string]string{
		"decision": `"block"`, "continue": `false`, "permission": `"deny"`, "hookSpecificOutput.decision.behavior": `"deny"`,
		"hookSpecificOutput.permissionDecision": `"deny"`, "hookSpecificOutput.action": `"decline"`,
	} {
		if string(member(out, path)) == value {
			return true
		}
	}
	return false
}

// member returns a member of a document as it is written; nil for none.
func member(doc []byte, path string) json.RawMessage {
	for key := range strings.SplitSeq(path, ".") {
		var m map[string]json.RawMessage
		if json.Unmarshal(doc, &m) != nil {
			return nil
		}
		doc = m[key]
	}
	return doc
}

// replaceLast replaces the last member of an event. Where it was JSON in a
// string, so is what replaces it.
func replaceLast(body []byte, key string, value json.RawMessage) ([]byte, error) {
	was := member(body, key)
	head, ok := bytes.CutSuffix(body, append(bytes.Clone(was), '}'))
	if !ok {
		return nil, fmt.Errorf("%s is not the last member", key)
	}
	if was[0] == '"' && value[0] != '"' {
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		if err := e.Encode(string(value)); err != nil {
			return nil, err
		}
		value = bytes.TrimSuffix(b.Bytes(), []byte("\n"))
	}
	return append(append(bytes.Clone(head), value...), '}'), nil
}

// The verbs in the log are those of the boundary.
func TestVerbs(t *testing.T) {
	for event, verb := range map[string]flow.Verb{
		`"PreToolUse","tool_input":{"a":"$R"}`: flow.Call, `"PostToolUse","tool_response":"$R"`: flow.Observe, `"UserPromptSubmit","prompt":"$R"`: flow.Prompt,
	} {
		store := memory.New()
		handler(t, store, nil).Handle(context.Background(), "claude-code", []byte(expand(`{"hook_event_name":`+event+`}`)))
		entries, err := store.Decisions(context.Background(), "", 9)
		if err != nil || len(entries) != 1 || entries[0].Verb != verb {
			t.Errorf("%s: %v, %+v", event, err, entries)
		}
	}
}
