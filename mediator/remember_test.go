package mediator_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/ledger/charge"
	"github.com/margaydev/margay/mediator"
	"github.com/margaydev/margay/store/memory"
)

// remembering is a session of a caller's in a trajectory of its own.
func remembering(t testing.TB, e *mediator.Engine, caller, trajectory string) *mediator.Session {
	t.Helper()
	s, err := e.Session(t.Context(), &mediator.SessionRequest{Caller: caller, Trajectory: trajectory})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// named tells a trajectory of Maria Silva and returns the name she gets there.
func named(t testing.TB, s *mediator.Session) string {
	t.Helper()
	in := texts("I am Maria Silva")
	r := s.Texts(t.Context(), in)
	name := strings.TrimPrefix(result(&r, in, 0), "I am ")
	if !nameRE.MatchString(name) {
		t.Fatalf("she is %q", name)
	}
	return name
}

func asks(t testing.TB, s *mediator.Session, tool, args string) (string, mediator.Result) {
	t.Helper()
	c, r := s.Call(t.Context(), flow.ToolCall{Name: tool, Arguments: args})
	return c.Arguments, r
}

// What one trajectory remembers another one can go on with: under a name of the
// memory's own, which stands for the value wherever its rubric admits that. It
// is charged to both.
func TestRemember(t *testing.T) {
	e, store := trip(t, nil, nil)
	first, second := flow.NewID(), flow.NewID()
	mine := named(t, remembering(t, e, "a", first))
	out, r := asks(t, remembering(t, e, "a", first), "note", `{"notes":"`+mine+` likes aisles"}`)
	kept := nameRE.FindString(out)
	if r.Denied() || r.Decision.Verb != flow.Remember || kept == "" || kept == mine || out != `{"notes":"`+kept+` likes aisles"}` {
		t.Fatalf("%s %s %s %v", r.Decision.Verb, r.Decision.Outcome, out, r.Decision.Reasons)
	}
	// It is written again as it was, in whatever trajectory, and a second
	// memory has names of its own.
	if again, r := asks(t, remembering(t, e, "a", second), "note", `{"notes":"`+kept+` likes aisles"}`); again != out || r.Denied() {
		t.Errorf("again: %s %v", again, r.Decision.Reasons)
	}
	if other, r := asks(t, remembering(t, e, "a", second), "diary", `{"notes":"`+kept+`"}`); r.Denied() || strings.Contains(other, kept) || !nameRE.MatchString(other) {
		t.Errorf("another memory: %s %v", other, r.Decision.Reasons)
	}
	// A later trajectory reads the name, and may use it where its value may go.
	read := remembering(t, e, "a", second).Observe(t.Context(), &mediator.Message{Tool: "recall", Arguments: -1, Texts: []flow.Text{{Text: kept + " likes aisles", Field: flow.FieldContent, Tool: "recall", Path: func() string { return "result" }}}})
	if read.Denied() || len(read.Edits) > 0 {
		t.Errorf("read back: %v %v", read.Edits, read.Decision.Reasons)
	}
	book := func(caller, trajectory, tool string) (string, mediator.Result) {
		return asks(t, remembering(t, e, caller, trajectory), tool, `{"passengers":[{"name":"`+kept+`","dob":"1985-03-02"}]}`)
	}
	if got, r := book("a", second, "book"); got != `{"passengers":[{"name":"Maria Silva","dob":"1985-03-02"}]}` {
		t.Errorf("booked for %s %v", got, r.Decision.Reasons)
	}
	for _, c := range [][3]string{{"a", second, "find"}, {"a", second, "post"}, {"a", second, "mail"}, {"b", second, "book"}, {"", second, "book"}} {
		if got, r := book(c[0], c[1], c[2]); !r.Denied() && strings.Contains(got, "Maria") {
			t.Errorf("%v: %s", c, got)
		}
	}
	// Each family has what it told, and heard, in its chain.
	for family, channels := range map[string][]flow.Channel{
		first: {flow.ChannelModel, flow.ChannelMemory}, second: {flow.ChannelMemory, flow.ChannelMemory, flow.ChannelModel, flow.ChannelTool},
	} {
		got, err := store.Entries(t.Context(), flow.TrajectoryID(family), 0, 99)
		if err != nil || len(got) < len(channels) {
			t.Fatalf("%d entries %v", len(got), err)
		}
		for i, want := range channels {
			if en, err := charge.Decode(got[i].Bytes); err != nil || en.Channel != want || len(en.Atoms) == 0 {
				t.Errorf("entry %d is of %s with %d atoms", i, en.Channel, len(en.Atoms))
			}
		}
	}
	if _, r := asks(t, remembering(t, e, "a", first), "archive", `{"passengers":[{"dob":"in May"}]}`); !r.Denied() || r.Decision.Verb != flow.Remember {
		t.Errorf("%s %s", r.Decision.Verb, r.Decision.Outcome)
	}
	log, _ := logged(t, store)
	if !strings.Contains(log, `"remember"`) || strings.Contains(log, "Maria") {
		t.Error("the log has no such verb, or a value")
	}
}

// A secret that stands in a memory as it is, is held to the rubrics of who reads
// it, and charged there.
func TestRememberedSecretsAreCharged(t *testing.T) {
	e, store := trip(t, nil, nil)
	first, second := flow.NewID(), flow.NewID()
	mine := named(t, remembering(t, e, "", first))
	args := `{"passengers":[{"name":"` + mine + `"}],"notes":"for Maria Silva"}`
	out, r := asks(t, remembering(t, e, "", first), "archive", args)
	if r.Denied() || !strings.HasPrefix(out, `{"passengers":[{"name":"Maria Silva"}]`) {
		t.Fatalf("%s %v", out, r.Decision.Reasons)
	}
	read := remembering(t, e, "", second).Observe(t.Context(), &mediator.Message{Tool: "recall", Arguments: -1, Texts: []flow.Text{{Text: out, JSON: true, Field: flow.FieldContent, Tool: "recall", Path: func() string { return "result" }}}})
	if strings.Contains(read.Edits[0], "Maria") || !strings.Contains(read.Edits[0], `"name":"[REDACTED]"`) {
		t.Errorf("read back: %q %v", read.Edits[0], read.Decision.Reasons)
	}
	if got, r := asks(t, remembering(t, e, "", second), "book", `{"passengers":[{"name":"Maria Silva","dob":"1985-03-02"}]}`); r.Denied() {
		t.Fatalf("%s %v", got, r.Decision.Reasons)
	}
	got, err := store.Entries(t.Context(), flow.TrajectoryID(second), 0, 9)
	if err != nil || len(got) != 2 {
		t.Fatalf("%d entries %v", len(got), err)
	}
	if en, err := charge.Decode(got[1].Bytes); err != nil || en.Charge < 20*flow.Bit {
		t.Errorf("charged %v: what another trajectory told is this one's to pay", en.Charge)
	}
}

// A model does not learn from a memory whether its guess is right: beside the
// name of a value, the value itself gets none.
func TestRememberConfirmsNoGuess(t *testing.T) {
	for _, told := range []bool{false, true} {
		e, _ := trip(t, func(c *mediator.Config) {
			if told {
				c.Declassify.Model = nil // it is told everything, and has no need to guess
			}
		}, nil)
		id := flow.NewID()
		mine := ""
		if !told {
			mine = named(t, remembering(t, e, "", id))
		}
		out, r := asks(t, remembering(t, e, "", id), "note", `{"notes":"`+mine+` is Maria Silva, or John Doe, of 1985-03-02","passengers":[{"name":"Maria Silva","dob":"1985-03-02"}]}`)
		names := nameRE.FindAllString(out, -1)
		if r.Denied() || strings.Contains(out, "Maria") || strings.Contains(out, "1985") {
			t.Fatalf("%s %v", out, r.Decision.Reasons)
		}
		if !told && len(names) != 1 || told && (len(names) != 2 || names[0] != names[1]) {
			t.Errorf("told %v: %s", told, out)
		}
		if !told {
			continue
		}
		// What became a name in the memory is turned back later.
		if got, r := asks(t, remembering(t, e, "", flow.NewID()), "book", `{"passengers":[{"name":"Maria Silva","dob":"`+names[0]+`"}]}`); got != `{"passengers":[{"name":"Maria Silva","dob":"1985-03-02"}]}` {
			t.Errorf("%s %v", got, r.Decision.Reasons)
		}
	}
}

// A run is one person's, whatever credentials its processes have, and so is the
// next run; what a caller of a shared mediator keeps is nobody else's.
func TestRememberedByRuns(t *testing.T) {
	store := memory.New()
	engine := func(family string) *mediator.Engine {
		return tripOn(t, store, tripRubric, func(c *mediator.Config) { c.Family = flow.TrajectoryID(family) }, nil)
	}
	// What a run names is forgotten with it; what it remembers is not.
	run := tripOn(t, store, tripRubric, func(c *mediator.Config) {
		c.Family, c.Values, c.Declassify.Kept = flow.TrajectoryID(flow.NewID()), memory.New(), store
	}, nil)
	mine := named(t, remembering(t, run, "key-1", ""))
	out, r := asks(t, remembering(t, run, "key-1", ""), "note", `{"notes":"`+mine+`"}`)
	kept := nameRE.FindString(out)
	if r.Denied() || kept == "" {
		t.Fatalf("%s %v", out, r.Decision.Reasons)
	}
	args := `{"passengers":[{"name":"` + kept + `","dob":"1985-03-02"}]}`
	if got, r := asks(t, remembering(t, engine(flow.NewID()), "key-2", ""), "book", args); !strings.Contains(got, "Maria Silva") {
		t.Errorf("the next run: %s %v", got, r.Decision.Reasons)
	}
	if got, r := asks(t, remembering(t, engine(""), "key-1", ""), "book", args); !r.Denied() && strings.Contains(got, "Maria") {
		t.Errorf("a mediator for many: %s", got)
	}
}

// A credential's name means nothing beyond its trajectory, whatever a memory is
// told.
func TestRememberNoCredentials(t *testing.T) {
	e, _ := trip(t, nil, nil)
	token := token(91)
	id := flow.NewID()
	in := texts("deploy with " + token)
	r := remembering(t, e, "", id).Texts(t.Context(), in)
	name := nameRE.FindString(result(&r, in, 0))
	if name == "" {
		t.Fatalf("it has no name: %v", r.Decision.Reasons)
	}
	for _, args := range []string{`{"notes":"` + name + `"}`, `{"notes":"` + token + `"}`} {
		out, r := asks(t, remembering(t, e, "", id), "note", args)
		if strings.Contains(out, token) {
			t.Fatal("it is remembered as it is")
		}
		for _, kept := range nameRE.FindAllString(out, -1) {
			if got, r := asks(t, remembering(t, e, "", flow.NewID()), "book", `{"passengers":[{"name":"`+kept+`","dob":"1985-03-02"}],"notes":"`+kept+`"}`); strings.Contains(got, token) {
				t.Errorf("it came back: %v", r.Decision.Reasons)
			}
		}
		if r.Decision.Verb != flow.Remember {
			t.Error(r.Decision.Verb)
		}
	}
}

// forgetful keeps no values.
type forgetful struct{ mediator.Values }

func (forgetful) PutValues(context.Context, [32]byte, map[string][]byte, time.Time) error {
	return errors.New("full")
}

// Nothing is remembered under a name whose value could not be kept, and a
// name whose value nobody knows stays what it is.
func TestRememberFailsClosed(t *testing.T) {
	store := memory.New()
	id := flow.NewID()
	mine := named(t, remembering(t, tripOn(t, store, tripRubric, nil, nil), "", id))
	broken := tripOn(t, store, tripRubric, func(c *mediator.Config) { c.Values = forgetful{c.Values} }, nil)
	if out, r := asks(t, remembering(t, broken, "", id), "note", `{"notes":"`+mine+`"}`); !r.Denied() {
		t.Errorf("%s went out", out)
	}
	if out, r := asks(t, remembering(t, broken, "", id), "note", `{"notes":"an aisle"}`); r.Denied() || out != `{"notes":"an aisle"}` {
		t.Errorf("%s %v", out, r.Decision.Reasons)
	}
	lost := tripOn(t, memory.New(), tripRubric, nil, nil)
	if out, r := asks(t, remembering(t, lost, "", id), "note", `{"notes":"`+mine+`"}`); r.Denied() || out != `{"notes":"`+mine+`"}` {
		t.Errorf("%s %v", out, r.Decision.Reasons)
	}
	// The name of an argument can't be changed.
	if out, r := asks(t, remembering(t, tripOn(t, store, tripRubric, nil, nil), "", id), "note", `{"`+mine+`":"x"}`); !r.Denied() {
		t.Errorf("%s went out", out)
	}
}

// Whatever stands between names, each becomes the memory's own and nothing else
// changes; what was a name already stays.
func TestRememberedNames(t *testing.T) {
	e, _ := trip(t, nil, nil)
	id := flow.NewID()
	mine := named(t, remembering(t, e, "", id))
	first, _ := asks(t, remembering(t, e, "", id), "note", `{"notes":"`+mine+`"}`)
	kept := nameRE.FindString(first)
	mangled := mine[:len(mine)-1] + string('a'+(mine[len(mine)-1]-'a'+1)%26)
	rapid.Check(t, func(rt *rapid.T) {
		pieces := rapid.SliceOfN(rapid.SampledFrom([]string{mine, kept, " ", ",", "aisle", "margay-", "\\n", "é", mangled + "."}), 1, 12).Draw(rt, "pieces")
		in := strings.Join(pieces, " ")
		out, r := asks(t, remembering(t, e, "", id), "note", `{"notes":"`+in+`"}`)
		if want := `{"notes":"` + strings.ReplaceAll(in, mine, kept) + `"}`; r.Denied() || out != want {
			rt.Fatalf("%s became %s, and not %s: %v", in, out, want, r.Decision.Reasons)
		}
	})
}
