package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/label"
	"github.com/margaydev/margay/mediator"
	"github.com/margaydev/margay/mediator/answer"
	"github.com/margaydev/margay/mediator/session"
	"github.com/margaydev/margay/secret/recognise"
	"github.com/margaydev/margay/store/memory"
	"github.com/margaydev/margay/taint"
	"github.com/margaydev/margay/taint/document"
	"github.com/margaydev/margay/taint/observe"
	"github.com/margaydev/margay/wire"
	"github.com/margaydev/margay/wire/anthropic"
	"github.com/margaydev/margay/wire/openaichat"
	"github.com/margaydev/margay/wire/openairesponses"
)

// talk is a conversation that every API can tell.
type talk []talked

// talked is what the user says, or a call of a tool with its result, or an
// answer.
type talked struct {
	user, answer string
	tool         string
	results      []string // the result's parts
	letters      []letter // the result of inbox
}

// letter is a record whose structure says who may see it.
type letter struct {
	By   string   `json:"by"`
	To   []string `json:"to"`
	Text string   `json:"text"`
}

// forBob reports whether Bob may see a letter: it is below the level of a mail
// to him, in a lattice of people.
func (l *letter) forBob() bool {
	return l.By == "bob@x.example" || slices.Contains(l.To, "bob@x.example")
}

func drawLetter(t *rapid.T) letter {
	person := rapid.SampledFrom([]string{"ann@x.example", "bob@x.example", "eve@evil.example"})
	return letter{person.Draw(t, "by"), rapid.SliceOfN(person, 1, 3).Draw(t, "to"), rapid.StringMatching(`[a-zA-Z ,.]{0,30}`).Draw(t, "text")}
}

// secretTools are those whose results are above the level of send_money.
var secretTools = []string{"read_mail", "no_pack_knows"}

func talks(t *rapid.T) talk {
	word := rapid.StringMatching(`[a-zA-Z0-9 .,:{}"\\-]{1,40}`)
	var out talk
	for range rapid.IntRange(1, 4).Draw(t, "turns") {
		out = append(out, talked{user: "u " + word.Draw(t, "user")})
		for range rapid.IntRange(0, 3).Draw(t, "calls") {
			tool := rapid.SampledFrom([]string{"read_mail", "list_files", "no_pack_knows", "now", "inbox"}).Draw(t, "tool")
			if tool == "inbox" {
				out = append(out, talked{tool: tool, letters: rapid.SliceOfN(rapid.Custom(drawLetter), 1, 3).Draw(t, "letters")})
				continue
			}
			out = append(out, talked{tool: tool, results: rapid.SliceOfN(word, 1, 3).Draw(t, "results")})
		}
		if rapid.Bool().Draw(t, "answered") {
			out = append(out, talked{answer: "a " + word.Draw(t, "answer")})
		}
	}
	return append(out, talked{user: "pay bob"})
}

// otherwise is a talk in which what is above the level reads otherwise. Letters
// for Bob are below it where the level is that of a mail to him.
func (tk talk) otherwise(t *rapid.T, toBob bool) talk {
	out := append(talk(nil), tk...)
	tainted := false
	for i := range out {
		out[i].letters = slices.Clone(out[i].letters)
		for k := range out[i].letters {
			if l := &out[i].letters[k]; !toBob || !l.forBob() {
				*l = rapid.Custom(drawLetter).Filter(func(l letter) bool { return !toBob || !l.forBob() }).Draw(t, "other letter")
				tainted = true
			}
		}
		for _, s := range secretTools {
			if out[i].tool == s {
				out[i].results = rapid.SliceOfN(rapid.StringN(0, 60, -1), 1, 4).Draw(t, "other results")
				tainted = true
			}
		}
		// What the assistant said after it is above the level, too.
		if tainted && out[i].answer != "" {
			out[i].answer = "a " + rapid.StringN(1, 40, -1).Draw(t, "other answer")
		}
	}
	return out
}

func js(v any) string { b, _ := json.Marshal(v); return string(b) }

// render tells a talk in an API.
func (tk talk) render(api string) string {
	var turns []string
	for i, s := range tk {
		id := fmt.Sprintf("c%d", i)
		var parts []string
		results := s.results
		if s.letters != nil {
			results = []string{js(s.letters)}
		}
		for _, r := range results {
			kind := "text"
			if api == "responses" {
				kind = "input_text"
			}
			parts = append(parts, fmt.Sprintf(`{"type":%q,"text":%s}`, kind, js(r)))
		}
		content := "[" + strings.Join(parts, ",") + "]"
		switch {
		case s.user != "":
			turns = append(turns, fmt.Sprintf(`{"role":"user","content":%s}`, js(s.user)))
		case s.answer != "":
			turns = append(turns, fmt.Sprintf(`{"role":"assistant","content":%s}`, js(s.answer)))
		case api == "messages":
			turns = append(turns, fmt.Sprintf(`{"role":"assistant","content":[{"type":"tool_use","id":%q,"name":%q,"input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":%q,"content":%s}]}`, id, s.tool, id, content))
		case api == "responses":
			turns = append(turns, fmt.Sprintf(`{"type":"function_call","call_id":%q,"name":%q,"arguments":"{}"},{"type":"function_call_output","call_id":%q,"output":%s}`, id, s.tool, id, content))
		default:
			turns = append(turns, fmt.Sprintf(`{"role":"assistant","content":null,"tool_calls":[{"id":%q,"type":"function","function":{"name":%q,"arguments":"{}"}}]},{"role":"tool","tool_call_id":%q,"content":%s}`, id, s.tool, id, content))
		}
	}
	key, tools := "messages", offered["chat/completions"]
	switch api {
	case "messages":
		tools = offered["messages"]
	case "responses":
		key, tools = "input", `{"type":"function","name":"send_money"},{"type":"function","name":"read_mail"}`
	}
	return fmt.Sprintf(`{"model":"m","max_tokens":9,%q:[%s],"tools":[%s],"stream":true}`, key, strings.Join(turns, ","), tools)
}

// schemes are the lattices that there are: two points, sets of people, and one
// that somebody declared.
func schemes(t *testing.T) map[string]observe.Scheme {
	t.Helper()
	sets, err := observe.Sets("me@x.example")
	if err != nil {
		t.Fatal(err)
	}
	authors, err := label.Custom(map[string][]string{"user": {"partner", "vendor"}, "partner": {"stranger"}, "vendor": {"stranger"}})
	if err != nil {
		t.Fatal(err)
	}
	rooms, err := label.Custom(map[string][]string{"public": {"sales", "staff"}, "sales": {"board"}, "staff": {"board"}})
	if err != nil {
		t.Fatal(err)
	}
	custom, err := observe.Custom(label.Lattice{Integrity: authors, Confidentiality: rooms}, "vendor", "staff")
	if err != nil {
		t.Fatal(err)
	}
	return map[string]observe.Scheme{"four-point": observe.FourPoint(), "sets": sets, "custom": custom}
}

// office is a policy in a scheme: money follows trusted text alone, a mail may
// carry what its recipients may see.
func office(t *testing.T, scheme observe.Scheme) *taint.Policy {
	t.Helper()
	path := func(s string) document.Path {
		p, err := document.ParsePath(s)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	address, err := observe.NewType("address")
	if err != nil {
		t.Fatal(err)
	}
	reads := []taint.Rule{{Source: taint.ReachAny, Reader: taint.ReachAny}}
	policy, err := taint.New(taint.Config{Scheme: scheme, Tools: []taint.Tool{
		{Name: "read_mail", Rules: reads},
		{Name: "list_files", Rules: reads, Result: observe.Annotation{Default: observe.Mark{Trusted: true}}},
		{Name: "now", Result: observe.Annotation{Default: observe.Mark{Trusted: true, Public: true}}},
		{Name: "inbox", Rules: reads, Result: observe.Annotation{
			Formats: []document.Format{document.FormatJSON}, Structure: &observe.Mark{Trusted: true, Public: true},
			Records: []observe.Record{{At: path("[*]"), Sources: []document.Path{path("by")}, Readers: []document.Path{path("by"), path("to[*]")}, Type: address}},
			Fields:  []observe.Field{{At: path("[*].by")}, {At: path("[*].to")}, {At: path("[*].text")}},
		}},
		{Name: "send_money", Args: []string{"to", "amount"}, Rules: []taint.Rule{{Reader: taint.ReachHigh}}},
		{Name: "send_mail", Args: []string{"to", "body"}, Rules: []taint.Rule{{Source: taint.ReachHigh, Readers: []document.Path{path("to")}}}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	return policy
}

// For random conversations, lattices and calls, what is above the call's level
// leaves no trace in the request for the step that is made again: its bytes are
// the same, whatever it says and however long it is.
func TestNoInterference(t *testing.T) {
	rules, err := recognise.Default()
	if err != nil {
		t.Fatal(err)
	}
	calls := map[string]flow.ToolCall{
		"money": {Name: "send_money", Arguments: `{"to":"bob","amount":5}`},
		"mail":  {Name: "send_mail", Arguments: `{"to":"bob@x.example","body":"hi"}`},
	}
	for scheme, s := range schemes(t) {
		e, err := mediator.New(mediator.Config{Config: session.Config{Rules: rules, Keys: keys, Store: memory.New()}, Taint: &mediator.Taint{Policy: office(t, s), Foreign: func(string) bool { return false }}})
		if err != nil {
			t.Fatal(err)
		}
		for what, call := range calls {
			t.Run(scheme+"/"+what, func(t *testing.T) {
				i := interference{e: e, call: call, people: scheme == "sets" && what == "mail"}
				rapid.Check(t, i.check)
				if i.replays == 0 {
					t.Error("no step was made again")
				}
				if i.people && i.letters == 0 && !testing.Short() { // a fifth of the draws may have none
					t.Error("no letter was shown")
				}
			})
		}
	}
}

// interference is one lattice and one call.
type interference struct {
	e                *mediator.Engine
	call             flow.ToolCall
	people           bool // what its recipients may see is below its level
	replays, letters int
}

// withheld is a call whose step is made again once, and that does not go on.
type withheld struct {
	*call
	shown string
}

func (w *withheld) Withhold(x *flow.Withheld) []byte {
	b := w.call.Withhold(x)
	w.shown = string(b)
	return b
}

func (w *withheld) GoOn([]string, []flow.RefusedCall) []byte { return nil }

func (i *interference) check(t *rapid.T) {
	a := talks(t)
	b := a.otherwise(t, i.people)
	for name, api := range map[string]wire.API{"chat": openaichat.API{}, "messages": anthropic.API{}, "responses": openairesponses.API{}} {
		var bodies []string
		for _, tk := range []talk{a, b} {
			req, err := api.ParseRequest([]byte(tk.render(name)), wire.Limits{})
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			s, err := i.e.Session(t.Context(), &mediator.SessionRequest{Caller: flow.NewID()})
			if err != nil {
				t.Fatal(err)
			}
			c := &call{session: s}
			alone := &withheld{call: c}
			turn := (&Gateway{}).prompt(httptest.NewRequest(http.MethodPost, "/", nil), c, req, &route{})
			w := &answer.Whole{
				Texts: []flow.Text{{Text: i.call.Arguments, Field: flow.FieldToolArguments, Path: func() string { return "" }}},
				Calls: []answer.ToolCallText{{Name: i.call.Name}},
			}
			if _, _, err = turn.Whole(t.Context(), w, alone, func(context.Context, []byte) (*answer.Whole, error) {
				return nil, errReplay
			}); err != nil {
				t.Fatal(err)
			}
			shown := alone.shown
			if shown == "" {
				bodies = append(bodies, "nothing at stake")
				continue
			}
			i.replays++
			body := shown
			if strings.Contains(body, "bob@x.example") {
				i.letters++
			}
			if !json.Valid([]byte(body)) {
				t.Fatalf("%s: the body is no JSON: %s", name, body)
			}
			bodies = append(bodies, numbered(body))
		}
		if bodies[0] != bodies[1] {
			t.Fatalf("%s: what is above the level shows:\n%s\n%s", name, bodies[0], bodies[1])
		}
	}
}

// numbered has pseudonyms by their order: what they are is drawn for each trajectory.
func numbered(body string) string {
	var seen []string
	return pseudonyms.ReplaceAllStringFunc(body, func(name string) string {
		if !slices.Contains(seen, name) {
			seen = append(seen, name)
		}
		return fmt.Sprintf("pseudonym %d", slices.Index(seen, name))
	})
}

var pseudonyms = regexp.MustCompile(`margay-[a-z-]+-[a-z0-9]{10,}`)

// BenchmarkPlan is what labels cost for a conversation of 200 messages and 300
// KB, all but the last turn of which was seen before: labelling it, wrapping
// its results and writing the body. Without labels it is what its texts cost.
func BenchmarkPlan(b *testing.B) {
	policy, err := taint.New(taint.Config{Scheme: observe.FourPoint(), Tools: []taint.Tool{{Name: "read_mail"}, {Name: "send_money"}}})
	if err != nil {
		b.Fatal(err)
	}
	rules, err := recognise.Default()
	if err != nil {
		b.Fatal(err)
	}
	var tk talk
	mail := strings.Repeat("The committee met again in the long hall by the river. ", 80)
	for i := range 66 {
		tk = append(tk, talked{user: fmt.Sprintf("look %d", i)}, talked{tool: "read_mail", results: []string{mail + fmt.Sprint(i)}})
	}
	req, err := openaichat.API{}.ParseRequest([]byte(tk.render("chat")), wire.Limits{})
	if err != nil {
		b.Fatal(err)
	}
	for _, with := range []bool{false, true} {
		cfg := mediator.Config{Config: session.Config{Rules: rules, Keys: keys, Store: memory.New()}}
		if with {
			cfg.Taint = &mediator.Taint{Policy: policy}
		}
		e, err := mediator.New(cfg)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(fmt.Sprintf("labels=%v", with), func(b *testing.B) {
			b.SetBytes(int64(len(req.Raw())))
			for b.Loop() {
				s, err := e.Session(b.Context(), &mediator.SessionRequest{Caller: "c", Trajectory: "01ARZ3NDEKTSV4RRFFQ69G5FAV"})
				if err != nil {
					b.Fatal(err)
				}
				(&Gateway{}).prompt(httptest.NewRequest(http.MethodPost, "/", nil), &call{session: s}, req, &route{})
			}
		})
	}
}
