package mediator_test

import (
	"context"
	"strings"
	"testing"

	"github.com/margaydev/margay/declassify/schema"
	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/mediator"
)

func sendArgs(t *testing.T, s *mediator.Session, tool, args string) (out, refused, told string) {
	t.Helper()
	d := s.Send(context.Background(), &mediator.Message{Tool: tool, Texts: []flow.Text{{Text: args, Field: flow.FieldToolArguments, Path: func() string { return tool }}}})
	out = args
	if text, ok := d.Edits[0]; ok {
		out = text
	}
	return out, d.Refusal, d.Told
}

// TestResultsAreKnown: what a tool returns under a field of its schema is that field's
// wherever it leaves.
func TestResultsAreKnown(t *testing.T) {
	e, _ := trip(t, func(c *mediator.Config) {
		c.Declassify.Results = func(tool string) []schema.Arg {
			if tool != "lookup" {
				return nil
			}
			return []schema.Arg{{Path: "users.*.full", Field: "legal-name"}, {Path: "users.*.id"}}
		}
	}, nil)
	s := session(t, e, nil)
	for _, tool := range []string{"search", "lookup"} {
		out, _, _ := sendArgs(t, s, "post", `{"from":"A. Weber, 4711, in Ulm"}`)
		if out != `{"from":"A. Weber, 4711, in Ulm"}` {
			t.Fatalf("before: %s", out)
		}
		r := s.Observe(context.Background(), &mediator.Message{Tool: tool, Arguments: -1, Texts: []flow.Text{
			{Text: `{"users":[{"full":"Anna Weber","id":"4711"},{"full":null}]}`, JSON: true, Field: flow.FieldContent, Tool: tool},
		}})
		if r.Denied() {
			t.Fatal(r.Decision.Reasons)
		}
	}
	if out, _, _ := sendArgs(t, session(t, e, nil), "post", `{"from":"A. Weber, 4711, in Ulm"}`); out != `{"from":"[REDACTED], 4711, in Ulm"}` {
		t.Errorf("after: %s", out)
	}
}

// TestWithheldIsTold: a call that is made with less than it says comes with a note on
// what is withheld, and one that is made as it is with none.
func TestWithheldIsTold(t *testing.T) {
	e, _ := trip(t, nil, nil)
	s := session(t, e, nil)
	out, refused, told := sendArgs(t, s, "find", `{"passengers":[{"name":"Maria Silva","dob":"1985-03-02"}],"from":"SFO","notes":"born 1985-03-02"}`)
	if refused != "" || strings.Contains(out, "Maria") || !strings.Contains(told, "dob replaced, legal-name redacted") || !strings.Contains(told, "margay explain 0") || strings.Contains(told, "Maria") {
		t.Errorf("%s, told %q, refused %q", out, told, refused)
	}
	for _, args := range []string{`{"from":"SFO"}`, `{"passengers":[{"name":"Maria Silva","dob":"1985-03-02"}]}`} {
		if _, refused, told := sendArgs(t, s, "book", args); told != "" {
			t.Errorf("%s: told %q, refused %q", args, told, refused)
		}
	}
}

// TestUnmadeIsUncharged: a call that is not made since the name of an argument would have
// to be changed is not charged.
func TestUnmadeIsUncharged(t *testing.T) {
	e, store := trip(t, nil, nil)
	s := session(t, e, nil)
	_, refused, _ := sendArgs(t, s, "find", `{"from":"SFO","seat":{"born 1985-03-02":1},"passengers":[{"dob":"1985-03-02"}]}`)
	got, err := store.Entries(t.Context(), s.ID(), 0, 9)
	if err != nil || len(got) > 0 || !strings.Contains(refused, "name or another text that can't be edited") {
		t.Errorf("%d entries, %v, refused %q", len(got), err, refused)
	}
}
