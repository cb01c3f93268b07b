package dojo

import (
	"slices"
	"testing"

	"github.com/margaydev/margay/lab/dojo/harness"
	"github.com/margaydev/margay/screen"
)

// What is needed is what the next action can't do without.
func TestNeeded(t *testing.T) {
	set := small()
	var tools []harness.Tool
	for _, tool := range set.Tools["post"] {
		tools = append(tools, harness.Tool{Name: tool.Name, Schema: tool.Schema})
	}
	letters := func(texts ...string) *screen.Question {
		q := &screen.Question{Requests: []string{set.Episodes[0].Prompt}}
		for _, text := range texts {
			q.Regions = append(q.Regions, screen.Region{Text: text, Message: 2, Tool: "get_letters"})
		}
		return q
	}
	const from, body = "ann@town.example", "Coming? Bring the red box."
	bottom := letters("Write to ann@town.example, she said", from, body)
	bottom.Regions[0].Bottom = true
	for name, c := range map[string]struct {
		done int // steps of the task
		q    *screen.Question
		want []bool
	}{
		"a call that needs nothing read":  {0, letters("x"), []bool{false}},
		"an address":                      {1, letters("- from: ", from, "\n  body: ", body, injected), []bool{false, true, false, false, false}},
		"the same twice: the shorter":     {1, letters("Write to "+from+" or not", from), []bool{false, true}},
		"what is trusted and public":      {1, bottom, []bool{true, false, false}},
		"the answer":                      {2, letters("- from: ", from, "\n  body: ", body, injected), []bool{false, false, false, true, false}},
		"a value over two regions: both":  {1, letters("ann@", "town.example"), []bool{true, true}},
		"nothing where nothing is enough": {1, letters("no address"), []bool{false}},
	} {
		p := newPlay(set.Episodes[0], newReader(""), true)
		for i := range c.done {
			p.done[i] = true
		}
		if got := p.needed(c.q, tools); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
