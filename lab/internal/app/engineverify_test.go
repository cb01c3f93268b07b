package app

import (
	"errors"
	"strings"
	"testing"

	"github.com/margaydev/margay/internal/problem"
	"github.com/margaydev/margay/lab/reference/differ"
	"github.com/margaydev/margay/lab/reference/verify"
)

// TestVerifyVerdict: a difference, and text that is held for longer, end the command with
// code 3.
func TestVerifyVerdict(t *testing.T) {
	of := func(r verify.Result) error {
		return verdict(&verify.State{Parts: map[string]*verify.Progress{"fuzzed": {Result: r}, "vectors": {Done: true}}})
	}
	if err := of(verify.Result{Texts: 1}); err != nil {
		t.Error(err)
	}
	for want, r := range map[string]verify.Result{
		"the engines differ: fuzzed":                     {Differences: []verify.Found{{What: "findings differ"}}},
		"the product holds more than the reference: ten": {Holds: map[string]*differ.Holds{"ten": {Reference: differ.Counts{By: []int{5}}, Product: differ.Counts{By: append(make([]int, 40), 20_000)}}}},
	} {
		var p *problem.Error
		if err := of(r); !errors.As(err, &p) || p.Code != problem.Findings || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
