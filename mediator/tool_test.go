package mediator_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/mediator"
)

func at(name string) func() string { return func() string { return name } }

// Names and states can't be edited: a secret in one stops the message, in both
// directions.
func TestToolNames(t *testing.T) {
	known := random(61, 32)
	e, _ := engine(t, nil, known)
	ctx := context.Background()
	for what, m := range map[string]mediator.Message{
		"name":  {Arguments: -1, Names: []string{"ping", known}},
		"state": {Arguments: -1, States: []string{"cursor=" + known}},
		"form":  {Arguments: -1, Names: []string{token(62)}},
		"key":   {Arguments: -1, Texts: []flow.Text{{Text: "x " + known, Fixed: true, Path: at("k")}}},
	} {
		if r := session(t, e, nil).Observe(ctx, &m); !r.Denied() {
			t.Errorf("%s: observed", what)
		}
		if r := session(t, e, nil).Send(ctx, &m); !r.Denied() {
			t.Errorf("%s: sent", what)
		}
	}
	clean := mediator.Message{Arguments: -1, Names: []string{"tools/list", random(63, 40)}, States: []string{random(64, 80)}, Texts: []flow.Text{{Text: "hello", Path: at("x")}}}
	if r := session(t, e, nil).Observe(ctx, &clean); r.Denied() || len(r.Findings) > 0 {
		t.Errorf("clean names: %+v", r.Decision)
	}
	if r := session(t, e, nil).Send(ctx, &clean); r.Denied() || len(r.Findings) > 0 {
		t.Errorf("clean names: %+v", r.Decision)
	}
}

// What was decided does not pass as it came because its client has gone, even
// where failures pass: on_error: pass is for what could not be decided.
func TestGoneIsNoFailure(t *testing.T) {
	known := random(65, 32)
	e, store := engine(t, func(c *mediator.Config) { c.OnErrorPass = true }, known)
	for _, verb := range []flow.Verb{flow.Call, flow.Observe, flow.Generate} {
		ctx, cancel := context.WithCancel(t.Context())
		m := mediator.Message{Arguments: -1, Texts: []flow.Text{{Text: "x " + known, Field: flow.FieldContent, Path: func() string { cancel(); return "x" }}}}
		r := session(t, e, nil).Decide(ctx, verb, &m)
		if ctx.Err() == nil || !r.Denied() || r.Decision.Outcome != flow.Deny {
			t.Errorf("%s: %+v", verb, r.Decision)
		}
		if en, err := store.Decision(t.Context(), r.Decision.ID); err != nil || en.Outcome != flow.Deny {
			t.Errorf("%s: the log has %+v, %v", verb, en, err)
		}
	}
}

// A state is often a signed token; a name is none.
func TestToolStateIsAToken(t *testing.T) {
	known := random(68, 32)
	e, _ := engine(t, nil, known)
	enc := base64.RawURLEncoding.EncodeToString
	jwt := func(claim string) string {
		return enc([]byte(`{"alg":"HS256","typ":"JWT"}`)) + "." + enc([]byte(`{"sub":"1234567890","iat":1516239022,"x":"`+claim+`"}`)) + "." + enc([]byte(random(69, 32)))
	}
	state := mediator.Message{Arguments: -1, States: []string{jwt("plain words")}}
	name := mediator.Message{Arguments: -1, Names: state.States}
	inside := mediator.Message{Arguments: -1, States: []string{jwt("the key is " + known)}}
	for verb, do := range map[string]func(*mediator.Message) mediator.Result{
		"observe": func(m *mediator.Message) mediator.Result {
			return session(t, e, nil).Observe(context.Background(), m)
		},
		"send": func(m *mediator.Message) mediator.Result {
			r := session(t, e, nil).Send(context.Background(), m)
			return r.Result
		},
	} {
		if r := do(&state); r.Denied() {
			t.Errorf("%s: a signed state is denied", verb)
		}
		if r := do(&name); !r.Denied() {
			t.Errorf("%s: a signed name passes", verb)
		}
		if r := do(&inside); !r.Denied() {
			t.Errorf("%s: a registered secret inside a signed state passes", verb)
		}
	}
}

// An edited JSON value is one.
func TestToolJSON(t *testing.T) {
	known := random(65, 12) + `"\` + random(66, 12)
	e, _ := engine(t, nil, known)
	value, err := json.Marshal(map[string]any{"a": []string{"x" + known + "y"}, "password": "Hq7-Vx2mmT9s", "n": 1})
	if err != nil {
		t.Fatal(err)
	}
	m := &mediator.Message{Arguments: -1, Texts: []flow.Text{{ID: 3, Text: string(value), JSON: true, Path: at("v")}}}
	sent := session(t, e, nil).Send(context.Background(), m)
	for verb, r := range map[string]mediator.Result{"observe": session(t, e, nil).Observe(context.Background(), m), "send": sent.Result} {
		got := r.Edits[3]
		var v struct {
			A        []string
			Password string
			N        int
		}
		if err := json.Unmarshal([]byte(got), &v); r.Denied() || err != nil || len(v.A) != 1 || v.N != 1 {
			t.Fatalf("%s: %v, %d findings", verb, err, len(r.Findings))
		}
		if strings.Contains(v.A[0], known) || v.Password == "Hq7-Vx2mmT9s" {
			t.Errorf("%s: a secret is left", verb)
		}
	}
}

// What a connector says is in the log, without the secrets that the other side
// may have put into a name; and denies where it says so.
func TestToolNotes(t *testing.T) {
	known := random(67, 32)
	e, store := engine(t, nil, known)
	ctx := context.Background()
	s := session(t, e, nil)
	r := s.Note(ctx, flow.Observe, flow.Deny, flow.Reason{Code: "odd", Detail: "the tool " + known + " is odd"})
	en, err := store.Decision(ctx, r.Decision.ID)
	if err != nil || !r.Denied() || len(en.Reasons) != 1 || en.Reasons[0].Code != "odd" || strings.Contains(en.Reasons[0].Detail, known) {
		t.Errorf("%v, %d reasons", err, len(en.Reasons))
	}
	m := &mediator.Message{Arguments: -1, Notes: []flow.Reason{{Code: "changed", Detail: known}}}
	if r := s.Observe(ctx, m); r.Denied() || len(r.Decision.Reasons) != 1 || strings.Contains(r.Decision.Reasons[0].Detail, known) {
		t.Error("a note denies, is lost, or tells a secret")
	}
	m.Denied = true
	if r := s.Observe(ctx, m); !r.Denied() {
		t.Error("what the connector denied passes")
	}
	watching, _ := engine(t, func(c *mediator.Config) { c.Observe = true })
	if r := session(t, watching, nil).Observe(ctx, m); r.Denied() {
		t.Error("it is denied while observing")
	}
}

// Arguments that are too large to be decided are refused.
func TestToolArgumentsTooLarge(t *testing.T) {
	e, _ := engine(t, nil)
	m := &mediator.Message{Tool: "t", Texts: []flow.Text{{Text: `{"a":"` + strings.Repeat("word ", 2<<20) + `"}`, Path: at("a")}}}
	if r := session(t, e, nil).Send(context.Background(), m); !r.Denied() || r.Refusal == "" {
		t.Error("they were sent")
	}
}
