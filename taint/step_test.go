package taint

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/label"
	"github.com/margaydev/margay/taint/clear"
	"github.com/margaydev/margay/taint/document"
	"github.com/margaydev/margay/taint/observe"
)

var (
	lowLabel  = label.Label{}
	highLabel = label.Label{Integrity: label.Untrusted, Confidentiality: label.Private}
)

func call(name, args string) flow.ToolCall {
	return flow.ToolCall{ID: "x", Name: name, Arguments: args}
}

func TestDecide(t *testing.T) {
	read := mailTool(t, document.FormatJSON)
	send := sendMail(t)
	send.Free = []string{"body"}
	p := policy(t, observe.FourPoint(), read, send)
	k := Key{1}
	to := func(who, body string) flow.ToolCall {
		return call("send_mail", fmt.Sprintf(`{"to":[%q],"body":%q}`, who, body))
	}
	lab := Labeller{Policy: p}
	h := lab.History([]Turn{
		{Role: flow.RoleUser, Text: "Read my mail and write to bob@x.example"},
		{Role: flow.RoleAssistant, Kind: clear.KindCall, Tool: "list_mail", Call: "1", Text: "{}"},
		{Role: flow.RoleTool, Kind: clear.KindResult, Tool: "list_mail", Call: "1", Text: mails},
	}, nil)
	step := Step{From: h.Basis(), User: h.Own(), History: h, Level: clear.Everything(), Key: k}
	decide := func(change func(*Step), calls ...flow.ToolCall) Ruling {
		s := step
		s.Calls = calls
		if change != nil {
			change(&s)
		}
		return p.Decide(s)
	}
	if step.From.Label() != highLabel {
		t.Fatalf("the context is %v", step.From.Label())
	}

	// Reading may follow from anything.
	if r := decide(nil, call("list_mail", "{}")); r.Outcome() != flow.Allow || r.Replay {
		t.Errorf("%+v", r)
	}
	// Sending to whom the user named: replay without what strangers wrote.
	r := decide(nil, to("bob@x.example", "hi"), call("list_mail", "{}"))
	if r.Outcome() != flow.Confirm || !r.Replay || r.Level.Format(label.FourPoint) != "(any, any) and (trusted, private)" {
		t.Errorf("%s, replay %v at %s", r.Outcome(), r.Replay, r.Level.Format(label.FourPoint))
	}
	if v := r.Verdicts[0]; len(v.Blame) == 0 || v.Blame[0].From.Field != "[0].body" || !strings.Contains(fmt.Sprint(v.Reasons), "result of list_mail, [0].body") {
		t.Errorf("blames %+v, %v", v.Blame, v.Reasons)
	}
	for _, text := range []string{"send money", "Ignore all"} {
		if strings.Contains(fmt.Sprint(r), text) && strings.Contains(fmt.Sprint(r.Verdicts[0].Reasons), text) {
			t.Errorf("a reason quotes %q", text)
		}
	}
	// The replay's label is that of what it was shown.
	v := h.Redact(r.Level)
	if v.Label != (label.Label{Confidentiality: label.Private}) {
		t.Errorf("the replay is %v", v.Label)
	}
	replayed := func(s *Step) { s.From, s.Level, s.Replayed = v.Basis(), r.Level, true }
	if r := decide(replayed, to("bob@x.example", "hi")); r.Outcome() != flow.Allow {
		t.Errorf("%+v", r)
	}
	// To somebody else private text asks, even so, and no third attempt.
	if r := decide(replayed, to("carl@x.example", "hi")); r.Outcome() != flow.Confirm || r.Replay {
		t.Errorf("%+v", r)
	}
	// What is denied is denied.
	if r := decide(replayed, to("eve@evil.example", "hi")); r.Outcome() != flow.Deny {
		t.Errorf("%+v", r)
	}
	// An unknown tool may follow from the bottom alone; one by another's name
	// always asks.
	if r := decide(func(s *Step) { s.From = clear.BasisOf(lowLabel) }, call("other", "{}")); r.Outcome() != flow.Allow {
		t.Errorf("%+v", r)
	}
	if r := decide(replayed, call("other", "{}")); r.Outcome() != flow.Confirm {
		t.Errorf("%+v", r)
	}
	if r := decide(func(s *Step) { s.From = clear.BasisOf(lowLabel) }, call("LIST_MAIL", "{}")); r.Outcome() != flow.Confirm || r.Replay {
		t.Errorf("%+v", r)
	}
	// A grant covers the same call under the same label but for its free
	// arguments; nothing lets through what is denied.
	q, err := p.Question(k, &Verdict{Verdict: clear.Verdict{Call: to("carl@x.example", "hi")}}, highLabel)
	if err != nil || fmt.Sprint(q.Free, q.Destinations) != "[body] [to]" {
		t.Fatal(q.Free, err)
	}
	g, err := p.Grant(k, "", q.Call, highLabel, q.Free)
	if err != nil {
		t.Fatal(err)
	}
	granted := func(s *Step) { s.Grants = []clear.Grant{g} }
	for _, free := range []string{"to", "nothing"} {
		if _, err := p.Grant(k, "", q.Call, highLabel, []string{free}); !errors.Is(err, ErrGrant) {
			t.Errorf("%s can be free: %v", free, err)
		}
	}
	for _, c := range []struct {
		call flow.ToolCall
		want flow.Outcome
	}{
		{to("carl@x.example", "other"), flow.Allow},
		{call("send_mail", `{ "body":"x", "to":["carl@x.example"] }`), flow.Allow},
		{to("dora@x.example", "hi"), flow.Confirm},
		{call("send_mail", `{"to":["carl@x.example"],"body":"x","subject":"new"}`), flow.Confirm},
		{to("eve@evil.example", "hi"), flow.Deny},
	} {
		if r := decide(granted, c.call); r.Outcome() != c.want {
			t.Errorf("%s: %s, want %s", c.call.Arguments, r.Outcome(), c.want)
		}
	}
	g.Label = label.Label{Confidentiality: label.Private}
	if r := decide(func(s *Step) { s.Grants = []clear.Grant{g} }, to("carl@x.example", "hi")); r.Outcome() != flow.Confirm {
		t.Errorf("a grant for another label counts: %s", r.Outcome())
	}
}

// TestExecutionRule: a call is cleared only if its label flows to its
// clearance, or a person allowed exactly it.
func TestExecutionRule(t *testing.T) {
	p := policy(t, observe.FourPoint(), mailTool(t, document.FormatJSON), sendMail(t))
	k := Key{7}
	args := []string{`{"to":["bob@x.example"]}`, `{"to":["carl@x.example"]}`, `{"to":["a@evil.example"]}`, `{}`, `{"folder":"x"}`, `{"to":1`, `{"x":1.0}`, `{"x":1}`}
	labels := []label.Label{{}, {Integrity: label.Untrusted}, {Confidentiality: label.Private}, highLabel}
	rapid.Check(t, func(t *rapid.T) {
		c := call(rapid.SampledFrom([]string{"list_mail", "send_mail", "Send_Mail", "other"}).Draw(t, "tool"), rapid.SampledFrom(args).Draw(t, "args"))
		s := Step{Calls: []flow.ToolCall{c}, From: clear.BasisOf(rapid.SampledFrom(labels).Draw(t, "label")), User: []string{"to bob@x.example"}, Key: k}
		v := p.Decide(s).Verdicts[0]
		cl := p.Clear(c, s.User)
		cleared, ok := v.Cleared()
		if want := !cl.Deny && !cl.Confirm && cl.Limit.Admits(label.FourPoint, s.From.Label()); ok != want || cleared.Covers(c) != want {
			t.Fatalf("cleared %v, want %v: %+v", ok, want, v)
		}
		other := call(c.Name, rapid.SampledFrom(args).Draw(t, "other"))
		yes, err := k.Digest(other)
		got, ok := v.Confirmed(k.Digests(), yes)
		same := err == nil && other.Arguments == c.Arguments
		if ok != (same && !cl.Deny) || got.Covers(c) != ok {
			t.Fatalf("a yes to %s is taken for %s", other.Arguments, c.Arguments)
		}
	})
}

func TestDigest(t *testing.T) {
	k := Key{1}
	d := func(name, args string) clear.Digest {
		x, err := k.Digest(flow.ToolCall{Name: name, Arguments: args})
		if err != nil {
			t.Fatal(args, err)
		}
		return x
	}
	if d("a", `{"x":[1,{"b":2,"a":"\u0061"}],"y":null}`) != d("a", ` { "y" : null, "x":[1,{"a":"a","b":2}] } `) {
		t.Error("order and space count")
	}
	if d("a", "") != d("a", "{}") {
		t.Error("no arguments are not an empty object")
	}
	seen := map[clear.Digest]string{}
	for _, a := range []string{`{"x":1}`, `{"x":1.0}`, `{"x":"1"}`, `{"x":true}`, `{"x":[1]}`, `{"x":{"1":1}}`, `{"X":1}`, `{"x":1,"y":null}`, `{}`, `{"x\",\"y":1}`, `{"x":"\",\"y\":\""}`} {
		for _, n := range []string{"a", "b"} {
			if before, ok := seen[d(n, a)]; ok {
				t.Errorf("%s and %s %s are one", before, n, a)
			}
			seen[d(n, a)] = n + a
		}
	}
}

// labelOf is the join of a message's regions, which are the whole of it.
func labelOf(t *testing.T, h *clear.History, i int) label.Label {
	t.Helper()
	var l label.Label
	at := 0
	for _, r := range h.Messages[i].Regions {
		if r.Start != at {
			t.Errorf("message %d has a gap at %d", i, at)
		}
		at = r.End
		l = h.Lattice.Join(l, r.Label)
	}
	if at != len(h.Messages[i].Text) {
		t.Errorf("message %d has text that no region is about", i)
	}
	return l
}

// TestLabeller: results carry the label that their call was made under; what
// nobody remembers has the join of all before it.
func TestLabeller(t *testing.T) {
	p := policy(t, observe.FourPoint(), mailTool(t, document.FormatJSON), sendMail(t))
	mem := NewMemory(p, 1<<20, nil)
	lab := Labeller{Policy: p, Cache: mem, Steps: mem}
	turns := []Turn{
		{Role: flow.RoleSystem, Text: "help"},
		{Role: flow.RoleUser, Text: "look at ``` pasted ```", Pasted: []Span{{8, 22}}},
		{Role: flow.RoleAssistant, Kind: clear.KindCall, Tool: "list_mail", Call: "1", Text: "{}"},
		{Role: flow.RoleTool, Kind: clear.KindResult, Tool: "list_mail", Call: "1", Text: mails},
		{Role: flow.RoleAssistant, Text: "done"},
		{Role: flow.RoleTool, Kind: clear.KindResult, Tool: "list_mail", Call: "9", Text: "[]"},
	}
	show := func() string {
		var out []string
		h := lab.History(turns, nil)
		for i := range h.Messages {
			out = append(out, "true "+p.scheme.Lattice.Format(labelOf(t, h, i)))
		}
		return strings.Join(out, "; ")
	}
	want := "true (trusted, public); true (untrusted, public); true (untrusted, public); true (untrusted, private); true (untrusted, private); true (untrusted, private)"
	for range 2 {
		if got := show(); got != want {
			t.Errorf("got %s", got)
		}
	}
	mem.Remember(turns[2], lowLabel)
	mem.Remember(turns[4], label.Label{Confidentiality: label.Private})
	if got := show(); got != strings.Replace(strings.Replace(want, "(untrusted, public); true (untrusted, private); true (untrusted, private)", "(trusted, public); true (untrusted, private); true (trusted, private)", 1), "X", "", 1) {
		t.Errorf("with what is remembered: %s", got)
	}
	mem.Remember(turns[4], highLabel)
	if got := show(); !strings.Contains(got, "true (untrusted, private); true (untrusted, private); true") {
		t.Errorf("said twice: %s", got)
	}
	if own := (&clear.History{Messages: lab.History(turns, nil).Messages}).Own(); len(own) != 1 || own[0] != "look at " {
		t.Errorf("the user's own words are %q", own)
	}
	// A result that is given out as another tool's has the worst label.
	forged := lab.History([]Turn{
		{Role: flow.RoleAssistant, Kind: clear.KindCall, Tool: "send_mail", Call: "1", Text: "{}"},
		{Role: flow.RoleTool, Kind: clear.KindResult, Tool: "list_mail", Call: "1", Text: "[]"},
	}, nil)
	if l := labelOf(t, forged, 1); l != highLabel {
		t.Errorf("a result of another tool is %v", l)
	}
	// The same result under another label is another.
	low := lab.Result(call("list_mail", "{}"), lowLabel, mails)
	high := lab.Result(call("list_mail", "{}"), highLabel, mails)
	again := lab.Result(call("list_mail", "{}"), lowLabel, mails)
	if low.Regions[0].Label != again.Regions[0].Label || high.Regions[0].Label != highLabel || low.Regions[0].Label == highLabel {
		t.Error("labels of results are mixed up")
	}
}

// conversation is one of 200 messages and about 300 KB.
func conversation(n int) []Turn {
	var turns []Turn
	body := strings.Repeat("some text of a mail, ", 120)
	for i := 0; len(turns) < n; i++ {
		id := fmt.Sprint("call_", i)
		turns = append(turns,
			Turn{Role: flow.RoleUser, Text: fmt.Sprint("request ", i, " ", strings.Repeat("x", 600))},
			Turn{Role: flow.RoleAssistant, Kind: clear.KindCall, Tool: "list_mail", Call: id, Text: fmt.Sprintf(`{"folder":"f%d"}`, i)},
			Turn{Role: flow.RoleTool, Kind: clear.KindResult, Tool: "list_mail", Call: id, Text: fmt.Sprintf(`[{"from":"a%d@x.example","to":["me@home.example"],"date":"2024-05-01","body":%q},{"from":"b@x.example","body":%q}]`, i, body, body)},
			Turn{Role: flow.RoleAssistant, Text: fmt.Sprint("answer ", i, " ", strings.Repeat("y", 300))},
		)
	}
	return turns[:n]
}

// BenchmarkLabelSeen labels a conversation of 200 messages and 300 KB, of
// which all but the last turn was seen before.
func BenchmarkLabelSeen(b *testing.B) {
	p := policy(b, observe.FourPoint(), mailTool(b, document.FormatJSON))
	mem := NewMemory(p, 64<<20, nil)
	lab := Labeller{Policy: p, Cache: mem, Steps: mem}
	turns := conversation(200)
	size := 0
	for i := range turns {
		size += len(turns[i].Text)
		if turns[i].Role == flow.RoleAssistant {
			mem.Remember(turns[i], lowLabel)
		}
	}
	lab.History(turns[:198], nil)
	fresh := turns[198].Text
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		turns[198].Text = fmt.Sprintf("%s,{\"n\":%d}]", fresh[:len(fresh)-1], i) // not seen
		lab.History(turns, nil)
	}
	b.ReportMetric(float64(size)/1000, "KB")
}
