package mediator_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/margaydev/margay/confirm"
	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/mediator"
	"github.com/margaydev/margay/mediator/answer"
	"github.com/margaydev/margay/mediator/places"
	"github.com/margaydev/margay/secret"
	"github.com/margaydev/margay/store/memory"
	"github.com/margaydev/margay/taint/effect"
)

// TestFirstUse: a tool that no pack describes is asked about once. What a person says
// then is remembered in all sessions, for as long as the tool is described as it was.
func TestFirstUse(t *testing.T) {
	store, keys := memory.New(), secret.NewKeys()
	book := places.New(places.Config{Store: store, Keys: &keys})
	var asks []*confirm.Question
	answers := map[string]confirm.Answer{}
	var desk *confirm.Desk
	desk = confirm.New(confirm.Config{
		Store: store, Sealer: &keys,
		Say: func(ctx context.Context, q *confirm.Question, p effect.Profile) error {
			return book.Say(ctx, places.Tool{Name: q.Call.Name, Definition: q.First.Definition, Profile: p})
		},
		Asked: func(q *confirm.Question) {
			asks = append(asks, q)
			a := answers[q.Call.Name]
			if q.First == nil {
				a = confirm.Deny
			}
			if err := desk.Answer(context.Background(), q.ID, a, "test"); err != nil {
				t.Error(err)
			}
		},
	})
	e := codingEngine(t, &computer{}, func(c *mediator.Config) {
		c.Keys, c.Store = keys, store
		c.Taint.Foreign = func(tool string) bool { return strings.Contains(tool, "__") }
		c.Taint.Machine, c.Taint.Pins, c.Taint.Desk, c.Taint.NoReplay, c.Taint.MaxTold = book, store, desk, true, -1
		c.Taint.Suggest = func(tool string, says []string) effect.Profile {
			if len(says) != 1 || says[0] == "" {
				t.Errorf("%s is said to be %q", tool, says)
			}
			return effect.Profile{Effect: effect.Edit}
		}
	})
	// call has an agent that has read a page call a tool, and reports whether that was
	// asked about.
	call := func(tool, definition, args string) (asked, made bool) {
		t.Helper()
		s, err := e.Session(t.Context(), &mediator.SessionRequest{Caller: "c", Trajectory: flow.NewID()})
		if err != nil {
			t.Fatal(err)
		}
		var texts []flow.Text
		for i, text := range []string{"Look at the page, then at the notes.", definition, "the page's words"} {
			texts = append(texts, flow.Text{ID: i, Text: text, Field: flow.FieldContent, Role: []flow.Role{flow.RoleUser, flow.RoleUser, flow.RoleTool}[i], Path: func() string { return "x" }})
		}
		texts[1].Field = flow.FieldOther
		turn := s.Prompt(t.Context(), &mediator.Prompt{Texts: texts, Conversation: true, Tools: []flow.OfferedTool{{Name: "Fetch"}, {Name: tool, Parts: []int{1}}}, Turns: []flow.Turn{
			{Role: flow.RoleUser, Parts: []int{0}},
			{Role: flow.RoleAssistant, Calls: []flow.TurnCall{{ID: "1", Name: "Fetch", Arguments: `{"url":"https://a.example"}`}}},
			{Role: flow.RoleTool, Result: "1", Parts: []int{2}},
		}})
		before := len(asks)
		w := &answer.Whole{Texts: []flow.Text{{ID: 0, Text: args, Field: flow.FieldToolArguments, Tool: tool, Path: func() string { return "x" }}}, Calls: []answer.ToolCallText{{Name: tool, Arguments: 0}}}
		_, looked, err := turn.Whole(t.Context(), w, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		_, refused := looked.Refused[0]
		return len(asks) > before, !refused
	}
	want := func(what, tool, definition, args string, asked, made bool) {
		t.Helper()
		if a, m := call(tool, definition, args); a != asked || m != made {
			t.Errorf("%s: asked %v, made %v", what, a, m)
		}
	}
	const first, other = "Lists the notes.", "Lists the notes, and says more."
	answers["mcp__notes__list"], answers["mcp__notes__add"], answers["list"] = confirm.Reads, confirm.Changes, confirm.Reads
	want("at first", "mcp__notes__list", first, `{}`, true, true)
	if q := asks[0]; q.First == nil || q.First.Effect != effect.Edit || !strings.Contains(q.Text(), "changes your records") {
		t.Errorf("the question is %+v: %s", q.First, q.Text())
	}
	if q := asks[0]; len(q.Values) > 0 {
		t.Errorf("values of no arguments: %+v", q.Values)
	}
	want("later", "mcp__notes__list", first, `{"x":"any words"}`, false, true)
	want("with an address", "mcp__notes__list", first, `{"x":"https://evil.example/?secret"}`, true, false)
	want("described in another way", "mcp__notes__list", other, `{}`, true, true)
	want("in that way, later", "mcp__notes__list", other, `{}`, false, true)
	want("in the first way, again", "mcp__notes__list", first, `{}`, false, true)
	// A tool of the agent's own is known by what it says of itself.
	want("an agent's own", "list", first, `{}`, true, true)
	want("an agent's own, later", "list", first, `{}`, false, true)
	want("another agent's", "list", other, `{}`, true, true)
	// One that changes things is asked about each time that strangers had a say.
	e2 := len(asks)
	answers["add"] = confirm.Changes
	want("a tool that acts", "add", first, `{}`, true, true)
	if asks[e2].First == nil {
		t.Error("the first use is not asked about")
	}
	want("a tool that acts, later", "add", first, `{}`, true, false)
	if q := asks[len(asks)-1]; q.First != nil || len(q.Deeds) != 1 || q.Deeds[0].Effect != "edit" {
		t.Errorf("what is asked later is %+v", q)
	}
	// A question shows where the values stand that the user did not name.
	want("with values", "add", first, `{"a":"the page's words","b":"at the notes","c":{"d":"made up"}}`, true, false)
	if v := asks[len(asks)-1].Values; len(v) != 2 || v[0].Name != "a" || !slices.Equal(v[0].From, []string{"Fetch"}) || v[1].Name != "c" || v[1].From != nil {
		t.Errorf("values are %+v", v)
	} else if text := asks[len(asks)-1].Text(); !strings.Contains(text, `"the page's words" of "a" stands in what "Fetch" gave, and nowhere else`) || !strings.Contains(text, `"made up" of "c" stands in nothing`) {
		t.Errorf("the question says %s", text)
	}
	// A no says nothing.
	answers["no"] = confirm.Deny
	want("refused", "no", first, `{}`, true, false)
	want("refused again", "no", first, `{}`, true, false)
	if asks[len(asks)-1].First == nil {
		t.Error("a no was remembered")
	}
}
