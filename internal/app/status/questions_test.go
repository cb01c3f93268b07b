package status

import (
	"errors"
	"maps"
	"testing"
	"time"

	"github.com/margaydev/margay/confirm"
	"github.com/margaydev/margay/flow"
)

// A regret is a yes with a later no to the same thing in the same session.
func TestRegrets(t *testing.T) {
	start := time.Unix(1_800_000_000, 0)
	reach := func(to string) []confirm.Deed {
		return []confirm.Deed{{Effect: "observe", To: "/x"}, {Effect: "reach", To: to}}
	}
	type asked struct {
		session      string
		call, grant  byte
		tool         string
		deeds        []confirm.Deed
		answer       confirm.Answer
		sealedForAll bool
	}
	yes, no := confirm.Once, confirm.Deny
	for name, c := range map[string]struct {
		asked []asked
		want  int
	}{
		"the same call":             {[]asked{{"a", 1, 0, "Bash", nil, yes, false}, {"a", 1, 0, "Bash", nil, no, false}}, 1},
		"two of the same":           {[]asked{{"a", 1, 0, "Bash", nil, yes, false}, {"a", 1, 0, "Bash", nil, yes, false}, {"a", 1, 0, "Bash", nil, no, false}}, 2},
		"one no more":               {[]asked{{"a", 1, 0, "Bash", nil, yes, false}, {"a", 1, 0, "Bash", nil, no, false}, {"a", 1, 0, "Bash", nil, no, false}}, 1},
		"another session":           {[]asked{{"a", 1, 1, "x", nil, yes, false}, {"b", 1, 1, "x", nil, no, false}}, 0},
		"a no before":               {[]asked{{"a", 1, 0, "x", nil, no, false}, {"a", 1, 0, "x", nil, yes, false}}, 0},
		"free arguments":            {[]asked{{"a", 1, 9, "x", reach(""), confirm.Trajectory, false}, {"a", 2, 9, "x", reach(""), no, false}}, 1},
		"the same place":            {[]asked{{"a", 1, 0, "Bash", reach("https://x"), yes, false}, {"a", 2, 0, "Bash", reach("https://x"), no, false}}, 1},
		"another place":             {[]asked{{"a", 1, 0, "Bash", reach("https://x"), yes, false}, {"a", 2, 0, "Bash", reach("https://y"), no, false}}, 0},
		"no place":                  {[]asked{{"a", 1, 0, "Bash", []confirm.Deed{{Effect: "run"}}, yes, false}, {"a", 2, 0, "Bash", []confirm.Deed{{Effect: "run"}}, no, false}}, 0},
		"a tool that nothing knows": {[]asked{{"a", 1, 0, "x", nil, yes, false}, {"a", 2, 0, "x", nil, no, false}}, 1},
		"another tool":              {[]asked{{"a", 1, 0, "x", nil, yes, false}, {"a", 2, 0, "y", nil, no, false}}, 0},
		"not to be opened":          {[]asked{{"a", 1, 0, "x", nil, yes, true}, {"a", 2, 0, "x", nil, no, true}}, 0},
		"the same call, sealed":     {[]asked{{"a", 1, 0, "x", nil, yes, true}, {"a", 1, 0, "x", nil, no, true}}, 1},
	} {
		var rows []confirm.Row
		of := map[string]*asked{}
		for i := range c.asked {
			a := &c.asked[i]
			id := string(rune('a' + i))
			at := start.Add(time.Duration(i) * time.Minute)
			rows = append(rows, confirm.Row{ID: id, Trajectory: flow.TrajectoryID(a.session), Digest: [32]byte{a.call}, Grant: [32]byte{a.grant}, Asked: at, Expires: at.Add(time.Minute), Answer: a.answer, By: "terminal", Answered: at.Add(time.Second)})
			of[id] = a
		}
		open := func(r *confirm.Row) (*confirm.Question, error) {
			a := of[r.ID]
			if a.sealedForAll {
				return nil, errors.New("sealed")
			}
			return &confirm.Question{Call: flow.ToolCall{Name: a.tool}, Deeds: a.deeds}, nil
		}
		if got := Count(rows, open, start, start.Add(time.Hour)); got.Regrets != c.want || got.Asked != len(rows) {
			t.Errorf("%s: %+v, want %d regrets", name, got, c.want)
		}
	}
}

func TestCount(t *testing.T) {
	start := time.Unix(1_800_000_000, 0)
	row := func(minute int, a confirm.Answer, by string) confirm.Row {
		at := start.Add(time.Duration(minute) * time.Minute)
		return confirm.Row{ID: string(rune('a' + minute)), Digest: [32]byte{byte(minute)}, Asked: at, Expires: at.Add(2 * time.Minute), Answer: a, By: by, Answered: at}
	}
	rows := []confirm.Row{
		row(0, confirm.Deny, "terminal"), // before
		row(1, confirm.Once, "terminal"), row(2, confirm.Trajectory, "console: alice"), row(3, confirm.Deny, "elicitation"), row(4, "", ""), row(9, "", ""),
	}
	got := Count(rows, func(*confirm.Row) (*confirm.Question, error) { return nil, errors.New("sealed") }, start.Add(time.Minute), start.Add(10*time.Minute))
	want := Questions{Since: got.Since, Asked: 5, Once: 1, Session: 1, No: 1, Expired: 1, Waiting: 1, Unread: 3}
	by := got.By
	if got.By = nil; got.Asked != want.Asked || got.Once != 1 || got.Session != 1 || got.No != 1 || got.Expired != 1 || got.Waiting != 1 || got.Unread != 3 || got.Regrets != 0 {
		t.Errorf("%+v, want %+v", got, want)
	}
	if !maps.Equal(by, map[string]int{"terminal": 1, "console": 1, "elicitation": 1}) {
		t.Errorf("answered by %v", by)
	}
}
