package lexical

import (
	"fmt"
	"strings"
	"testing"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/screen"
)

// TestWorkIsBounded: no text, request or name of an argument takes work that grows with
// the square of its length.
func TestWorkIsBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: reads large texts, one after the other")
	}
	const n = 1 << 16
	list := "[" + strings.TrimSuffix(strings.Repeat(`"a",`, n/8), ",") + "]"
	for name, q := range map[string]*screen.Question{
		"function words":  {Regions: []screen.Region{{Text: strings.Repeat("some ", n)}}, Answer: "some"},
		"more of them":    {Regions: []screen.Region{{Text: strings.Repeat("very an ", n/2)}}, Requests: []string{strings.Repeat("out of ", n/2)}, Answer: "very"},
		"a long name":     {Regions: []screen.Region{{Text: "a b"}}, Calls: []flow.ToolCall{{Name: "t", Arguments: fmt.Sprintf(`{%q:%s}`, strings.Repeat("ab ", n/8), list)}}},
		"a long field":    {Regions: []screen.Region{{Text: "a", Field: strings.Repeat("out of very ", n/8)}}, Calls: []flow.ToolCall{{Name: "t", Arguments: list}}},
		"times and dates": {Requests: []string{strings.Repeat("monday zebra ", n/8)}, Regions: []screen.Region{{Text: "x"}}, Answer: strings.Repeat("3:15 2026-03-04 ", n/16)},
	} {
		if out, err := (Screener{}).Relevant(t.Context(), q); err != nil || len(out) != len(q.Regions) {
			t.Errorf("%s: %v, %v", name, out, err)
		}
	}
}

// TestNothingProposed: without a proposal nothing can be compared, so everything counts.
func TestNothingProposed(t *testing.T) {
	if _, err := (Screener{}).Relevant(t.Context(), &screen.Question{Requests: []string{"hi"}, Regions: []screen.Region{{Text: "x"}}}); err == nil {
		t.Error("no error where nothing is proposed")
	}
}
