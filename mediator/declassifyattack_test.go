package mediator_test

import (
	"context"
	"regexp"
	"strings"
	"testing"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/mediator"
)

var nameRE = regexp.MustCompile(`margay-[a-z-]+-[a-z2-7]{14}`)

// A guess is not confirmed: what a model says, and what a tool tells whose name
// is not known, is never given the name of a value.
func TestDeclassifyGuesses(t *testing.T) {
	for name, guess := range map[string]flow.Text{
		"an answer":                {Role: flow.RoleAssistant, Field: flow.FieldContent},
		"reasoning":                {Role: flow.RoleAssistant, Field: flow.FieldReasoning},
		"a call":                   {Role: flow.RoleAssistant, Field: flow.FieldToolArguments, Tool: "find"},
		"a result of nobody":       {Role: flow.RoleTool, Field: flow.FieldContent},
		"a role that nobody knows": {Role: "model", Field: flow.FieldContent},
	} {
		e, _ := trip(t, nil, nil)
		in := append(texts("I am Maria Silva"), guess)
		in[0].Role = flow.RoleUser
		in[1].ID, in[1].Text, in[1].Path = 1, "Maria Silva or John Doe", in[0].Path
		r := session(t, e, nil).Texts(context.Background(), in)
		if got := result(&r, in, 0); !strings.HasPrefix(got, "I am margay-legal-name-") {
			t.Fatalf("%s: %q", name, got)
		}
		if got := result(&r, in, 1); strings.Contains(got, "margay-") || strings.Contains(got, "Maria") {
			t.Errorf("%s: %q", name, got)
		}
	}
	e, _ := trip(t, nil, nil)
	in := texts("I am Maria Silva")
	given := session(t, e, nil).Texts(context.Background(), in)
	// What it was told, it may go on with.
	said := texts("I book for "+strings.TrimPrefix(result(&given, in, 0), "I am "), "Is it Maria Silva?")
	said[0].Role, said[1].Role = flow.RoleAssistant, flow.RoleAssistant
	again := session(t, e, nil).Texts(context.Background(), said)
	if got := result(&again, said, 0); got != said[0].Text || result(&again, said, 1) != "Is it [REDACTED]?" {
		t.Errorf("a name that was given became %q", got)
	}
	r := session(t, e, nil).Observe(context.Background(), &mediator.Message{Arguments: -1, Texts: texts("It is Maria Silva")})
	if got := r.Edits[0]; got != "It is [REDACTED]" {
		t.Errorf("what no tool said: %q", got)
	}
}

// What the schema does not have carries nothing: names, literals, and values
// where it has a name alone.
func TestDeclassifySmuggled(t *testing.T) {
	e, _ := trip(t, nil, nil)
	call := func(tool, args string) (string, mediator.Result) {
		c, r := session(t, e, nil).Call(context.Background(), flow.ToolCall{Name: tool, Arguments: args})
		return c.Arguments, r
	}
	for _, args := range []string{
		`{"maria_silva":""}`,
		`{"from":"SFO","x_19850302":[]}`,
		`{"from":{"maria":{"silva":""}}}`,
		`{"passengers":[{"silva":""}]}`,
		`{"":{"from":"SFO"}}`, // not the from of the schema
		`{"passengers":[{"dob":{"y1985":{}}}]}`,
		"{\"from\":\"SFO\",\"From\":\"x\"}",
		`{"from":"SFO","fr\u006fm":"x"}`,
	} {
		if out, r := call("find", args); !r.Denied() {
			t.Errorf("%s went out as %s", args, out)
		}
	}
	for args, want := range map[string]string{
		`{"from":[true,false,null]}`:                 `{"from":["[REDACTED]","[REDACTED]","[REDACTED]"]}`,
		`{"passengers":[{"dob":true}]}`:              `{"passengers":[{"dob":"NAME"}]}`,
		`{"passengers":[{"dob":19850302}]}`:          `{"passengers":[{"dob":"NAME"}]}`,
		`{"passengers":[{"name":["Maria"]}]}`:        `{"passengers":[{"name":["[REDACTED]"]}]}`,
		`[["Maria",1985]]`:                           `[["[REDACTED]","[REDACTED]"]]`,
		`"Maria"`:                                    `"[REDACTED]"`,
		"\ufeff{\"from\":\"\\u004daria\"}":           "[REDACTED]",
		`{"passengers":[{"name":null}],"seat":true}`: `{"passengers":[{"name":null}],"seat":true}`,
		`{"from":"born 1985-03-0\u200b2"}`:           `{"from":"born NAME"}`,
		`{"from":"born １９８５-０３-０２"}`:                 `{"from":"born NAME"}`,
	} {
		if out, r := call("find", args); r.Denied() || nameRE.ReplaceAllString(out, "NAME") != want {
			t.Errorf("%s went out as %s %v", args, out, r.Decision.Reasons)
		}
	}
}

// Where only reports are asked for no call is refused either.
func TestDeclassifyReportRefusesNothing(t *testing.T) {
	e, _ := trip(t, func(c *mediator.Config) { c.Declassify.Report = true }, nil)
	for _, args := range []string{`{"from":"A","from":"B"}`, `{"1985-03-02":1}`, `{"passengers":[{"dob":"in May"}]}`} {
		if c, r := session(t, e, nil).Call(context.Background(), flow.ToolCall{Name: "book", Arguments: args}); r.Denied() || c.Arguments != args {
			t.Errorf("%s: %s %v", args, c.Arguments, r.Decision.Reasons)
		}
	}
}

// Whoever names another trajectory in the middle of a run, such as a program
// that the agent starts, still draws on the run's budget.
func TestDeclassifyOneRunOneBudget(t *testing.T) {
	family := flow.TrajectoryID(flow.NewID())
	e, store := trip(t, func(c *mediator.Config) { c.Family = family }, nil)
	for _, named := range []string{"", flow.NewID(), flow.NewID()} {
		s, err := e.Session(t.Context(), &mediator.SessionRequest{Trajectory: named})
		if err != nil {
			t.Fatal(err)
		}
		args := `{"passengers":[{"name":"Maria Silva","dob":"1985-03-02"}]}`
		if _, r := s.Call(t.Context(), flow.ToolCall{Name: "book", Arguments: args}); r.Denied() {
			t.Fatal(r.Decision.Reasons)
		}
	}
	n := 0
	for h, err := range store.Heads(t.Context()) {
		if n++; err != nil || h.Family != family || h.Seq != 3 {
			t.Errorf("%+v %v", h, err)
		}
	}
	if n != 1 {
		t.Errorf("%d families", n)
	}
}

// A name is turned back as it was given, in its own trajectory and field, and
// nowhere else.
func TestDeclassifyForgedNames(t *testing.T) {
	e, _ := trip(t, nil, nil)
	names := func(trajectory string) (name, dob string) {
		s, err := e.Session(t.Context(), &mediator.SessionRequest{Caller: "a", Trajectory: trajectory})
		if err != nil {
			t.Fatal(err)
		}
		in := texts("I am Maria Silva, born 1985-03-02.")
		r := s.Texts(t.Context(), in)
		got := nameRE.FindAllString(result(&r, in, 0), -1)
		return got[0], got[1]
	}
	mine, other := flow.NewID(), flow.NewID()
	name, dob := names(mine)
	foreign, _ := names(other)
	if foreign == name {
		t.Fatal("two trajectories give one name")
	}
	call := func(caller, tool, args string) (string, mediator.Result) {
		s, err := e.Session(t.Context(), &mediator.SessionRequest{Caller: caller, Trajectory: mine})
		if err != nil {
			t.Fatal(err)
		}
		c, r := s.Call(t.Context(), flow.ToolCall{Name: tool, Arguments: args})
		return c.Arguments, r
	}
	last := name[:len(name)-1] + string('a'+(name[len(name)-1]-'a'+1)%26)
	for _, c := range []struct{ caller, tool, args string }{
		{"a", "book", `{"passengers":[{"name":"` + foreign + `","dob":"` + dob + `"}]}`},
		{"b", "book", `{"passengers":[{"name":"` + name + `","dob":"` + dob + `"}]}`}, // another's credential
		{"a", "book", `{"passengers":[{"name":"` + dob + `","dob":"` + name + `"}]}`},
		{"a", "book", `{"passengers":[{"name":"` + last + `","dob":"` + dob + `"}]}`},
		{"a", "book", `{"passengers":[{"name":"` + strings.ToUpper(name) + `","dob":"` + dob + `"}]}`},
		{"a", "book", `{"passengers":[{"name":"` + strings.Replace(dob, "-dob-", "-legal-name-", 1) + `","dob":"` + dob + `"}]}`},
		{"a", "book", `{"notes":"` + name + ` ` + dob + `"}`},
		{"a", "book", `{"from":"` + name + `","seat":"` + dob + `"}`},
		{"a", "book", `{"` + name + `":1}`},
		{"a", "find", `{"passengers":[{"name":"` + name + `","dob":"` + dob + `"}]}`},
		{"a", "post", `{"passengers":[{"name":"` + name + `","dob":"` + dob + `"}]}`},
		{"a", "mail", `{"to":"` + name + `"}`},
	} {
		out, r := call(c.caller, c.tool, c.args)
		if r.Denied() {
			continue
		}
		for _, s := range []string{"Maria", "Silva", "1985"} {
			if strings.Contains(out, s) {
				t.Errorf("%s of %s: %s became %s", c.tool, c.caller, c.args, out)
			}
		}
	}
	if out, r := call("a", "book", `{"passengers":[{"name":"\u006d`+name[1:]+`","dob":"`+dob+`"}]}`); r.Denied() || out != `{"passengers":[{"name":"Maria Silva","dob":"1985-03-02"}]}` {
		t.Errorf("the right names: %s %v", out, r.Decision.Reasons)
	}
}
