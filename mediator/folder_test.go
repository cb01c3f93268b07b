package mediator_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/margaydev/margay/confirm"
	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/mediator"
	"github.com/margaydev/margay/mediator/answer"
	"github.com/margaydev/margay/mediator/places"
	"github.com/margaydev/margay/secret"
	"github.com/margaydev/margay/store/memory"
)

// TestTrustedFolder: where a call works in a project that the user does not trust, he
// may trust it with his answer. The rest of the step and later calls there then count
// as the workspace's, in all sessions.
func TestTrustedFolder(t *testing.T) {
	store, keys := memory.New(), secret.NewKeys()
	newBook := func() *places.Book {
		return places.New(places.Config{Store: store, Keys: &keys, Dir: "/home/me/app", Home: "/home/me", Roots: []string{"/home/me/app"}, Project: func(p string) string {
			for _, root := range []string{"/home/me/other", "/home/me/third", "/home/me/cloned"} {
				if places.Below(p, root) {
					return root
				}
			}
			return ""
		}})
	}
	book := newBook()
	var asks []*confirm.Question
	say := func(q *confirm.Question) confirm.Answer { return confirm.Once }
	var desk *confirm.Desk
	desk = confirm.New(confirm.Config{
		Store: store, Sealer: &keys, Trust: func(ctx context.Context, q *confirm.Question) error { return book.Trust(ctx, q.Folder) },
		Asked: func(q *confirm.Question) {
			asks = append(asks, q)
			if err := desk.Answer(context.Background(), q.ID, say(q), "test"); err != nil {
				t.Error(err)
			}
		},
	})
	e := codingEngine(t, &computer{}, func(c *mediator.Config) {
		c.Keys, c.Store = keys, store
		c.Taint.Machine, c.Taint.Pins, c.Taint.Desk, c.Taint.NoReplay, c.Taint.MaxTold = book, store, desk, true, -1
	})
	// step has an agent make calls at once in a new session, and returns the questions.
	step := func(commands ...string) []*confirm.Question {
		t.Helper()
		s, err := e.Session(t.Context(), &mediator.SessionRequest{Caller: "c", Trajectory: flow.NewID()})
		if err != nil {
			t.Fatal(err)
		}
		texts := []flow.Text{
			{ID: 0, Text: "Look at the history.", Field: flow.FieldContent, Role: flow.RoleUser, Path: func() string { return "x" }},
			{ID: 1, Text: "a file of the workspace", Field: flow.FieldContent, Role: flow.RoleTool, Path: func() string { return "x" }},
		}
		turn := s.Prompt(t.Context(), &mediator.Prompt{Texts: texts, Conversation: true, Tools: []flow.OfferedTool{{Name: "Bash"}, {Name: "Read"}}, Turns: []flow.Turn{
			{Role: flow.RoleUser, Parts: []int{0}},
			{Role: flow.RoleAssistant, Calls: []flow.TurnCall{{ID: "1", Name: "Read", Arguments: `{"file":"/home/me/app/a.go"}`}}},
			{Role: flow.RoleTool, Result: "1", Parts: []int{1}},
		}})
		before, w := len(asks), &answer.Whole{}
		for i, c := range commands {
			args, err := json.Marshal(map[string]string{"command": c})
			if err != nil {
				t.Fatal(err)
			}
			w.Texts = append(w.Texts, flow.Text{ID: i, Text: string(args), Field: flow.FieldToolArguments, Tool: "Bash", Path: func() string { return "x" }})
			w.Calls = append(w.Calls, answer.ToolCallText{Name: "Bash", Arguments: i})
		}
		_, looked, err := turn.Whole(t.Context(), w, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		if len(looked.Refused) > 0 {
			t.Errorf("%q: %v", commands, looked.Refused)
		}
		return asks[before:]
	}
	offers := func(command, folder string) {
		t.Helper()
		if q := step(command); len(q) != 1 || q[0].Folder != folder {
			t.Errorf("%s: %d questions: %+v", command, len(q), q)
		} else if strings.Contains(q[0].Text(), "if you trust") != (folder != "") {
			t.Errorf("%s: %s", command, q[0].Text())
		}
	}
	offers("cd ../other && git log", "/home/me/other")
	offers("cd ../other && git log", "/home/me/other") // a yes trusts nothing
	offers("cd ../other && git log && git -C ../third log", "")
	offers("cd ../unknown && git log", "")
	offers("git push origin main", "")
	say = func(q *confirm.Question) confirm.Answer { return confirm.Trust(q.Folder) }
	if q := step("cd ../other && git log", "cd ../other && git status", "cd ../other && git diff"); len(q) != 1 || q[0].Folder != "/home/me/other" {
		t.Errorf("one step asks %d times: %+v", len(q), q)
	}
	say = func(q *confirm.Question) confirm.Answer { return confirm.Once }
	if q := step("cd ../other && git log -5", "cd ../other && go test ./..."); len(q) > 0 {
		t.Errorf("what the user trusts is asked about: %+v", q[0])
	}
	if m, err := newBook().Now(t.Context(), ""); err != nil || m.Places.Root("/home/me/other/x") != "/home/me/other" {
		t.Errorf("another process does not know it: %v", err)
	}
	// What was fetched into a project is not the user's.
	offers("cd ../third && git log", "/home/me/third")
	offers("cd ../third && tar xf /home/me/a.tgz", "")
	offers("cd ../third && git log", "")
	offers("git clone https://x.example/y ../cloned", "")
	offers("cd ../cloned && make", "")
	if all, err := book.All(t.Context()); err != nil || len(all) < 3 {
		t.Errorf("it remembers %+v, %v", all, err)
	}
}

// Who asks near the client can be answered so, too, but for another folder.
func TestTrustedFolderAsked(t *testing.T) {
	store, keys := memory.New(), secret.NewKeys()
	book := places.New(places.Config{Store: store, Keys: &keys, Dir: "/home/me/app", Home: "/home/me", Roots: []string{"/home/me/app"}, Project: func(string) string { return "/home/me/other" }})
	desk := confirm.New(confirm.Config{Store: store, Sealer: &keys, Trust: func(ctx context.Context, q *confirm.Question) error { return book.Trust(ctx, q.Folder) }})
	e := codingEngine(t, &computer{}, func(c *mediator.Config) { c.Taint.Machine, c.Taint.Desk = book, desk })
	ask := func(a confirm.Answer) (asked, made bool) {
		t.Helper()
		s, err := e.Session(t.Context(), &mediator.SessionRequest{Caller: "c", Trajectory: flow.NewID()})
		if err != nil {
			t.Fatal(err)
		}
		returned(t, s, "Read", `{"file":"/home/me/app/a.go"}`)
		p, err := s.Clear(t.Context(), &mediator.Clearing{Call: flow.ToolCall{Name: "Bash", Arguments: `{"command":"cd ../other && git log"}`}})
		if err != nil {
			t.Fatal(err)
		}
		if p == nil {
			return false, true
		}
		return true, p.Wait(t.Context(), func(*confirm.Question) { p.Answer(t.Context(), a, "elicitation") }) == nil
	}
	for _, c := range []struct {
		answer      confirm.Answer
		asked, made bool
	}{
		{confirm.Trust("/home/me"), true, false},
		{confirm.Trust("/home/me/other/x"), true, false},
		{confirm.Reads, true, false},
		{confirm.Trust("/home/me/other"), true, true},
		{confirm.Deny, false, true},
	} {
		if asked, made := ask(c.answer); asked != c.asked || made != c.made {
			t.Errorf("%s: asked %v, made %v", c.answer, asked, made)
		}
	}
}
