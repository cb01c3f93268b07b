package mediator_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/mediator"
	"github.com/margaydev/margay/mediator/answer"
)

// calling is a conversation of calls of one tool, each with one result.
func calling(args ...string) *mediator.Prompt {
	p := &mediator.Prompt{Conversation: true, Turns: []flow.Turn{{Role: flow.RoleUser, Parts: []int{0}}}, Texts: texts("go on")}
	for i, a := range args {
		id, part := fmt.Sprint("call_", i), len(p.Texts)
		p.Texts = append(p.Texts,
			flow.Text{ID: part, Text: a, Field: flow.FieldToolArguments, Path: at("messages[1].tool_calls[0].function.arguments")},
			flow.Text{ID: part + 1, Text: "fine", Field: flow.FieldContent, Tool: "run", Role: flow.RoleTool, Path: at("messages[2].content")})
		p.Turns = append(p.Turns,
			flow.Turn{Role: flow.RoleAssistant, Calls: []flow.TurnCall{{ID: id, Name: "run", Arguments: a, Parts: []int{part}}}},
			flow.Turn{Role: flow.RoleTool, Result: id, Parts: []int{part + 1}})
	}
	return p
}

// answers has a turn answered by calls, and returns their arguments as the client
// gets them. They are in one choice, or where they are apart in one each.
func answers(t *testing.T, turn *mediator.Turn, streamed, apart bool, args ...string) []string {
	t.Helper()
	if turn.Denied() {
		t.Fatal("the prompt is denied")
	}
	if !streamed {
		w := &answer.Whole{}
		for i, a := range args {
			w.Texts = append(w.Texts, flow.Text{ID: i, Text: a, Field: flow.FieldToolArguments, Path: at("arguments")})
			w.Calls = append(w.Calls, answer.ToolCallText{Name: "run", Arguments: i})
		}
		_, l, err := turn.Whole(t.Context(), w, nil, nil)
		if err != nil || l.Denied() {
			t.Fatalf("%v, %+v", err, l.Decision)
		}
		got := append([]string(nil), args...)
		for i, text := range l.Edits {
			got[i] = text
		}
		return got
	}
	a := turn.Stream(t.Context(), answer.Options{}, nil)
	defer a.Free()
	for c, text := range args {
		k := flow.StreamKey{Item: c, Field: flow.FieldToolName}
		if apart {
			k.Choice, k.Item = c, 0
		}
		if err := a.Add(&answer.Event{Deltas: []flow.Delta{{Key: k, Text: []byte("run")}}, Choices: []int{k.Choice}}); err != nil {
			t.Fatal(err)
		}
		k.Field = flow.FieldToolArguments
		for _, half := range []string{text[:len(text)/2], text[len(text)/2:]} {
			if err := a.Add(&answer.Event{Raw: []byte{byte(c)}, Deltas: []flow.Delta{{Key: k, Text: []byte(half)}}, Choices: []int{k.Choice}}); err != nil {
				t.Fatal(err)
			}
		}
	}
	next, err := a.End(nil)
	if err != nil {
		t.Fatal(err)
	}
	got := make([]string, len(args))
	halves := map[byte]int{}
	for _, o := range next.Out {
		if len(o.Raw) == 0 {
			continue
		}
		c := o.Raw[0]
		half := args[c][:len(args[c])/2]
		if halves[c]++; halves[c] == 2 {
			half = args[c][len(args[c])/2:]
		}
		if o.Edit != nil {
			if text, ok := o.Edit.Text[0]; ok {
				half = string(text)
			}
		}
		got[c] += half
	}
	return got
}

const aNote = "fine\n\n[margay: the call of run was made with a part of its arguments replaced: token, found by github-pat. If it is no secret, a person can allow it: margay allow add "

// The result of a call that was made with a part replaced has a note, in each
// later turn the same; in whichever choice of the answer it was, and nowhere but
// in this trajectory.
func TestAlteredCall(t *testing.T) {
	key := "-----BEGIN PRIVATE KEY-----\\n" + strings.Repeat(random(313, 64)+"\\n", 8) + "-----END PRIVATE KEY-----"
	for i, streamed := range []bool{false, true, true} {
		value, apart := token(310), i == 2
		args := `{"key":"` + value + `"}`
		e, store := engine(t, nil)
		other := &mediator.SessionRequest{Caller: "caller", Trajectory: "01BX5ZZKBKACTAV9WEVGEMMVRZ"}
		// The call before it is not made, so that the client has none.
		got := answers(t, session(t, e, nil).Prompt(t.Context(), calling()), streamed, apart, `{"key":"`+key+`"}`, args)[1]
		if got != `{"key":"[REDACTED:token]"}` {
			t.Fatalf("the client got %s", got)
		}
		history := []string{got}
		first := ""
		for range 2 {
			p := calling(append(history, `{"key":"[REDACTED:token]", "x":1}`)...)
			turn := session(t, e, nil).Prompt(t.Context(), p)
			text := turn.Edits[2*len(history)]
			if len(turn.Edits) != 1 || !strings.HasPrefix(text, aNote) || strings.Contains(text, value) || first != "" && text != first {
				t.Fatalf("streamed %v: %v", streamed, turn.Edits)
			}
			first = text
		}
		id := first[len(aNote) : len(aNote)+26]
		if f, _, err := store.FindingByID(t.Context(), id); err != nil || f.Rule != "github-pat" {
			t.Errorf("streamed %v: the log has %+v, %v", streamed, f, err)
		}
		fixed := calling(history...)
		fixed.Texts[2*len(history)].Fixed = true
		again, _ := engine(t, nil)
		for name, turn := range map[string]*mediator.Turn{
			"a text that can't be edited": session(t, e, nil).Prompt(t.Context(), fixed),
			"another trajectory":          session(t, e, other).Prompt(t.Context(), calling(history...)),
			"after a restart":             session(t, again, nil).Prompt(t.Context(), calling(history...)),
			"before its result":           session(t, e, nil).Prompt(t.Context(), calling()),
		} {
			if len(turn.Edits) > 0 {
				t.Errorf("streamed %v, %s: %v", streamed, name, turn.Edits)
			}
		}
	}
}

// Nothing is told where nothing is changed.
func TestAlteredCallObserved(t *testing.T) {
	for _, streamed := range []bool{false, true} {
		e, _ := engine(t, func(c *mediator.Config) { c.Observe = true })
		args := `{"key":"` + token(311) + `"}`
		if got := answers(t, session(t, e, nil).Prompt(t.Context(), calling()), streamed, false, args); got[0] != args {
			t.Fatalf("the client got %s", got)
		}
		if turn := session(t, e, nil).Prompt(t.Context(), calling(args)); len(turn.Edits) > 0 {
			t.Errorf("streamed %v: %v", streamed, turn.Edits)
		}
	}
}

// An answer that its client does not get brings no note.
func TestAlteredCallOfAnAnswerThatFails(t *testing.T) {
	e, _ := engine(t, nil)
	turn := session(t, e, nil).Prompt(t.Context(), calling())
	a := turn.Stream(t.Context(), answer.Options{}, nil)
	for _, d := range []flow.Delta{{Key: flow.StreamKey{Field: flow.FieldToolName}, Text: []byte("run")}, {Key: flow.StreamKey{Field: flow.FieldToolArguments}, Text: []byte(`{"key":"` + token(312) + `"}`)}} {
		if err := a.Add(&answer.Event{Deltas: []flow.Delta{d}, Choices: []int{0}, Finished: []int{0}}); err != nil {
			t.Fatal(err)
		}
	}
	a.Free()
	if turn := session(t, e, nil).Prompt(t.Context(), calling(`{"key":"[REDACTED:token]"}`)); len(turn.Edits) > 0 {
		t.Errorf("%v", turn.Edits)
	}
}
