package mediator_test

import (
	"context"
	"crypto/ed25519"
	"errors"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/margaydev/margay/declassify"
	"github.com/margaydev/margay/declassify/known"
	"github.com/margaydev/margay/declassify/schema"
	"github.com/margaydev/margay/declassify/terms"
	"github.com/margaydev/margay/defend/rules"
	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/ledger"
	"github.com/margaydev/margay/mediator"
	"github.com/margaydev/margay/mediator/answer"
	"github.com/margaydev/margay/rubric"
	"github.com/margaydev/margay/secret/recognise"
	"github.com/margaydev/margay/store/memory"
)

const tripRubric = `
version: 1
rubric: trip
revision: 1
title: A trip (for tests)
expires: 2040-01-01
signature: {actions: [book-seat, find-seat, keep-note, ask-model]}
fields:
  legal-name:
    about: the name in the passport
    population:
      split: name
      product:
        - part: given
          table: {key: initial, columns: [initial, members], rows: [["*", 50000]]}
        - part: family
          table: {key: initial, columns: [initial, members], rows: [["*", 200000]]}
  dob:
    population: {dates: [1930-01-01, 2009-12-31]}
    levels:
      - {name: year, by: year, bits: 7}
coverage:
  - {id: name-path, field: legal-name, path: '(^|\.)name$'}
  - {id: name-person, field: legal-name, text: '\b(?:Maria Silva|John Doe)\b', only: true}
  - {id: date, field: dob, text: '\b\d{4}-\d{2}-\d{2}\b', only: true}
residual:
  required-service: ['^notes$']
  semi-trusted: ['^content$', '^tool-arguments$', '^notes$']
necessity:
  legal-name: {required-service: required}
  dob: {required-service: required, semi-trusted: useful}
operators:
  legal-name: {required-service: [identity, pseudonym], semi-trusted: [pseudonym]}
  dob: {required-service: [identity, pseudonym], semi-trusted: [pseudonym]}
limits: {budget: 120, caps: {required-service: 80, semi-trusted: 4, adversarial: 1}}
utility:
  required-service: {legal-name: identity, dob: identity}
samples:
  - {text: "Maria Silva, 1985-03-02", find: {legal-name: Maria Silva, dob: 1985-03-02}}
  - {text: "an aisle seat", find: {}}
`

// trip is an engine that holds calls of two tools and prompts to a rubric.
func trip(t testing.TB, change func(*mediator.Config), by func(mediator.Releaser) mediator.Releaser) (*mediator.Engine, *memory.Store) {
	t.Helper()
	store := memory.New()
	return tripOn(t, store, tripRubric, change, by), store
}

// releaseStore is what an engine and a ledger need of a store.
type releaseStore interface {
	mediator.Store
	mediator.Values
	ledger.Store
}

func tripOn(t testing.TB, store releaseStore, text string, change func(*mediator.Config), by func(mediator.Releaser) mediator.Releaser) *mediator.Engine {
	t.Helper()
	r, err := rubric.Parse("trip.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	key := ed25519.NewKeyFromSeed(make([]byte, 32))
	reg := rubric.NewRegistry(rubric.Config{Keys: []ed25519.PublicKey{key.Public().(ed25519.PublicKey)}})
	if _, err := reg.Add("trip", rubric.Sign(r, key)); err != nil {
		t.Fatal(err)
	}
	book, err := ledger.NewBook(ledger.Config{Store: store, Key: key})
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range [][]byte{r.Canonical(), terms.Fallback()} {
		if _, err := book.KeepRubric(t.Context(), b); err != nil {
			t.Fatal(err)
		}
	}
	v, err := declassify.New(declassify.Config{
		Resolve: func(q rubric.Query) (declassify.Rules, error) { return reg.Resolve(q) },
		Ledger:  book, History: store, Defender: rules.Defender{}, Key: [32]byte{1}, Ask: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	tools := map[string]schema.Tool{}
	for name, class := range map[string]flow.Class{"book": flow.RequiredService, "find": flow.SemiTrusted, "post": flow.Adversarial} {
		tools[name] = schema.Tool{
			Name: name, Action: name + "-seat", Sink: name, Class: class, Channel: flow.ChannelTool,
			Args: []schema.Arg{{Path: "passengers.*.name", Field: "legal-name"}, {Path: "passengers.*.dob", Field: "dob"}, {Path: "from"}, {Path: "notes", Free: true}, {Path: "seat"}},
		}
	}
	for name, class := range map[string]flow.Class{"note": flow.SemiTrusted, "archive": flow.RequiredService, "diary": flow.SemiTrusted} {
		tools[name] = schema.Tool{
			Name: name, Action: "keep-note", Sink: name, Class: class, Channel: flow.ChannelMemory,
			Args: []schema.Arg{{Path: "passengers.*.name", Field: "legal-name"}, {Path: "passengers.*.dob", Field: "dob"}, {Path: "notes", Free: true}},
		}
	}
	d := &mediator.Declassify{
		Verifier: v, Memories: []string{"archive", "diary", "note"},
		Tool: func(call flow.ToolCall) (schema.Tool, bool) { t, ok := tools[call.Name]; return t, ok },
		Model: func(flow.Sink) (schema.Tool, bool) {
			return schema.Tool{
				Name: "model", Action: "ask-model", Sink: "model", Class: flow.SemiTrusted, Channel: flow.ChannelModel,
				Args: []schema.Arg{{Path: "other"}, {Path: "*", Free: true}},
			}, true
		},
	}
	if by != nil {
		d.Verifier = by(v)
	}
	e, err := mediator.New(func() mediator.Config {
		set, err := recognise.Default()
		if err != nil {
			t.Fatal(err)
		}
		cfg := mediator.Config{Config: mediator.SessionConfig{Rules: set, Keys: keys, Store: store, Values: store}, Declassify: d}
		if change != nil {
			change(&cfg)
		}
		return cfg
	}())
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// The model plans with names that it never saw the values of, the service gets
// the values, and nobody else does.
func TestDeclassify(t *testing.T) {
	e, store := trip(t, nil, nil)
	in := texts("I am Maria Silva, born 1985-03-02. Book me a seat.")
	r := session(t, e, nil).Texts(context.Background(), in)
	got := result(&r, in, 0)
	words := strings.FieldsFunc(got, func(r rune) bool { return r == ' ' || r == ',' || r == '.' })
	if r.Decision.Outcome != flow.Rewrite || strings.Contains(got, "Maria") || strings.Contains(got, "1985") || len(words) != 9 {
		t.Fatalf("%s %q", r.Decision.Outcome, got)
	}
	name, dob := words[2], words[4]
	again := session(t, e, nil).Texts(context.Background(), in)
	if result(&again, in, 0) != got {
		t.Errorf("the same text becomes %q", result(&again, in, 0))
	}
	args := func(tool, name, dob, notes string) (string, mediator.Result) {
		c, r := session(t, e, nil).Call(context.Background(), flow.ToolCall{Name: tool, Arguments: `{"passengers":[{"name":"` + name + `", "dob":"` + dob + `"}],"from":"SFO","notes":"` + notes + `","seat":12}`})
		return c.Arguments, r
	}
	out := func(name, dob, notes string) string {
		return `{"passengers":[{"name":"` + name + `", "dob":"` + dob + `"}],"from":"SFO","notes":"` + notes + `","seat":12}`
	}
	for _, c := range []struct{ tool, name, dob, notes, want string }{
		{"book", name, dob, "", out("Maria Silva", "1985-03-02", "")},
		{"book", "Maria Silva", "1985-03-02", "aisle", out("Maria Silva", "1985-03-02", "aisle")},
		{"find", name, dob, "for " + name, out(name, dob, "for "+name)},
		{"find", "Maria Silva", "1985-03-02", "born 1985-03-02", out("[REDACTED]", dob, "born "+dob)},
		{"post", name, "1985-03-02", "x", out("[REDACTED]", "[REDACTED]", "[REDACTED]")},
	} {
		got, r := args(c.tool, c.name, c.dob, c.notes)
		if got != c.want || r.Denied() {
			t.Errorf("%s: %s %s %v\nwant %s", c.tool, r.Decision.Outcome, got, r.Decision.Reasons, c.want)
		}
	}
	// Where no rubric is for what is done, arguments that hold no secret by their
	// schema pass but for what is known by its form.
	for from, want := range map[string]string{
		"SFO": "SFO", "Gate 4, at 12:30 on 2026-12-01": "Gate 4, at 12:30 on 2026-12-01",
		"mail m.silva@post.example": "mail [REDACTED]", "card 4111 1111 1111 1111.": "card [REDACTED].", "born on 2.3.1985": "born on [REDACTED]",
		"call +351 912 345 678 or 078-05-1120": "call [REDACTED] or [REDACTED]", name: name,
	} {
		c, r := session(t, e, nil).Call(context.Background(), flow.ToolCall{Name: "post", Arguments: `{"from":"` + from + `"}`})
		if c.Arguments != `{"from":"`+want+`"}` || r.Denied() {
			t.Errorf("%s became %s %v", from, c.Arguments, r.Decision.Reasons)
		}
	}
	// What the service needs and can't be given is a refusal that the model
	// can read.
	if _, r := args("book", "somebody", "in May", ""); !r.Denied() || !strings.Contains(r.Decision.Reasons[len(r.Decision.Reasons)-1].Detail, "was not made") {
		t.Errorf("%s %v", r.Decision.Outcome, r.Decision.Reasons)
	}
	// Names that the schema does not have are text, and can't be edited.
	_, r = session(t, e, nil).Call(context.Background(), flow.ToolCall{Name: "find", Arguments: `{"1985-03-02":true}`})
	if !r.Denied() {
		t.Errorf("a date went out as a name: %v", r.Decision.Reasons)
	}
	_, r = session(t, e, nil).Call(context.Background(), flow.ToolCall{Name: "find", Arguments: `{"from":"A","from":"1985-03-02"}`})
	if !r.Denied() {
		t.Errorf("arguments that can be read in two ways went out: %v", r.Decision.Reasons)
	}
	// A tool that nobody configured is not the verifier's, and pseudonyms are
	// not turned back for it.
	if _, r := args("mail", name, "", ""); !r.Denied() {
		t.Errorf("%v", r.Decision.Reasons)
	}
	log, _ := logged(t, store)
	// Ids and times can have these digits inside longer words.
	if s := regexp.MustCompile(`Maria|Silva|\b1985\b`).FindString(log); s != "" {
		t.Errorf("the log holds %q", s)
	}
}

// Answers, streamed or whole, have their calls decided as they go out.
func TestDeclassifyAnswers(t *testing.T) {
	e, _ := trip(t, nil, nil)
	src := []source{
		{flow.StreamKey{Field: flow.FieldToolName, Item: 0}, "find"},
		{flow.StreamKey{Field: flow.FieldToolArguments, Item: 0}, `{"from":"SFO","passengers":[{"name":"Maria Silva"}]}`},
		{flow.StreamKey{Field: flow.FieldToolName, Item: 1}, "book"},
		{flow.StreamKey{Field: flow.FieldToolArguments, Item: 1}, `{"passengers":[{"dob":"in May"}]}`},
	}
	for seed := range uint64(20) {
		a := play(session(t, e, nil), src, rand.New(rand.NewPCG(seed, 1)))
		if a.err != nil || a.text[src[1].key] != `{"from":"SFO","passengers":[{"name":"[REDACTED]"}]}` || !a.refused[1] {
			t.Fatalf("%v %v %v", a.err, a.text, a.refused)
		}
	}
	whole := session(t, e, nil).Answer(context.Background(), &answer.Whole{
		Texts: []flow.Text{{ID: 0, Text: src[1].text, Field: flow.FieldToolArguments}, {ID: 1, Text: src[3].text, Field: flow.FieldToolArguments}},
		Calls: []answer.ToolCallText{{Name: "find", Arguments: 0}, {Name: "book", Arguments: 1}},
	})
	if whole.Edits[0] != `{"from":"SFO","passengers":[{"name":"[REDACTED]"}]}` || whole.Refused[1] == "" || whole.Refused[0] != "" {
		t.Errorf("%v %v", whole.Edits, whole.Refused)
	}
}

// What tools tell is a release to the model. What somebody may have planted
// never gets the pseudonym of a value.
func TestDeclassifyObservations(t *testing.T) {
	for _, trusted := range []bool{true, false} {
		e, _ := trip(t, func(c *mediator.Config) { c.Declassify.Trusted = func(string) bool { return trusted } }, nil)
		in := texts("I am Maria Silva")
		r := session(t, e, nil).Texts(context.Background(), in)
		known := strings.TrimPrefix(result(&r, in, 0), "I am ")
		m := &mediator.Message{Tool: "mail", Arguments: -1, Texts: []flow.Text{
			{ID: 0, Text: "Is it Maria Silva or John Doe?", Field: flow.FieldContent, Tool: "mail"},
			{ID: 1, Text: `{"who": "Maria Silva", "n": 7}`, JSON: true, Field: flow.FieldContent, Tool: "mail"},
		}}
		r = session(t, e, nil).Observe(context.Background(), m)
		want := "Is it [REDACTED] or [REDACTED]?"
		json := `{"who": "[REDACTED]", "n": 7}`
		if trusted {
			json = `{"who": "` + known + `", "n": 7}`
		}
		if got := r.Edits[0]; trusted != strings.Contains(got, "Is it "+known+" or margay-legal-name-") || !trusted && got != want || r.Edits[1] != json {
			t.Errorf("trusted %v: %q %q", trusted, got, r.Edits[1])
		}
	}
}

// undecided is a verifier whose ledger can't be written.
type undecided struct{}

func (undecided) Release(context.Context, declassify.Candidate) (declassify.Release, error) {
	return declassify.Release{}, errors.New("no")
}

func (undecided) Learn(context.Context, flow.TrajectoryID, []known.Value) error {
	return errors.New("no")
}

// What can't be decided is not sent, and where only reports are asked for
// nothing changes.
func TestDeclassifyFailsClosed(t *testing.T) {
	nobody := func(mediator.Releaser) mediator.Releaser { return undecided{} }
	call := flow.ToolCall{Name: "find", Arguments: `{"from":"SFO"}`}
	e, _ := trip(t, nil, nobody)
	if _, r := session(t, e, nil).Call(context.Background(), call); !r.Denied() {
		t.Error("a call went out undecided")
	}
	if r := session(t, e, nil).Texts(context.Background(), texts("hello there")); !r.Denied() {
		t.Error("a prompt went out undecided")
	}
	// Nor is what was decided with reasons, and can't be written down.
	note := flow.ToolCall{Name: "post", Arguments: `{"notes":"an aisle seat"}`}
	for _, on := range []bool{false, true} {
		e, _ = trip(t, func(c *mediator.Config) { c.Store = &broken{Store: memory.New(), method: "append", on: on} }, nil)
		if _, r := session(t, e, nil).Call(context.Background(), note); r.Denied() != on {
			t.Errorf("the log fails: %t, and the call's outcome is %s", on, r.Decision.Outcome)
		}
	}
	// Nor a call with a private key, whatever is admitted of the rest.
	e, _ = trip(t, nil, nil)
	key := "-----BEGIN PRIVATE KEY-----\\n" + strings.Repeat("MIIEowIBAAKCAQEA0Z3VS5JJcds3xf0x", 8) + "\\n-----END PRIVATE KEY-----"
	if _, r := session(t, e, nil).Call(context.Background(), flow.ToolCall{Name: "book", Arguments: `{"from":"SFO","notes":"` + key + `"}`}); !r.Denied() {
		t.Errorf("a call with a private key: %s", r.Decision.Outcome)
	}
	// Nor what would have to be changed where nothing can be.
	e, _ = trip(t, nil, nil)
	fixed := texts("I am Maria Silva", "an aisle seat")
	fixed[0].Fixed = true
	if r := session(t, e, nil).Texts(context.Background(), fixed); !r.Denied() || len(r.Edits) > 0 {
		t.Errorf("a fixed text went out: %s %v", r.Decision.Outcome, r.Edits)
	}
	e, _ = trip(t, func(c *mediator.Config) { c.OnErrorPass = true }, nobody)
	if _, r := session(t, e, nil).Call(context.Background(), call); r.Denied() {
		t.Error("a call was denied, and it is to pass")
	}
	e, _ = trip(t, func(c *mediator.Config) { c.Declassify.Report = true }, nil)
	in := texts("I am Maria Silva")
	if r := session(t, e, nil).Texts(context.Background(), in); result(&r, in, 0) != in[0].Text || r.Denied() {
		t.Errorf("%v", r.Edits)
	}
	c, r := session(t, e, nil).Call(context.Background(), flow.ToolCall{Name: "post", Arguments: `{"notes":"Maria Silva"}`})
	if r.Denied() || c.Arguments != `{"notes":"Maria Silva"}` {
		t.Errorf("%s %s", r.Decision.Outcome, c.Arguments)
	}
	// Who only looks on changes nothing either, whatever rubrics say.
	e, _ = trip(t, func(c *mediator.Config) { c.Observe = true }, nil)
	in = texts("I am Maria Silva")
	if r := session(t, e, nil).Texts(context.Background(), in); result(&r, in, 0) != in[0].Text || r.Denied() {
		t.Errorf("%s %v", r.Decision.Outcome, r.Edits)
	}
	c, r = session(t, e, nil).Call(context.Background(), flow.ToolCall{Name: "post", Arguments: `{"notes":"Maria Silva"}`})
	if r.Denied() || c.Arguments != `{"notes":"Maria Silva"}` {
		t.Errorf("%s %s", r.Decision.Outcome, c.Arguments)
	}
}
