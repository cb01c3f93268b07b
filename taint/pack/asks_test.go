package pack

import (
	"slices"
	"testing"

	"github.com/margaydev/margay/taint"
)

// A call that its pack always asks about has a sample that shows it: TestBuiltin
// holds samples to the rules.
func TestAsksAreShown(t *testing.T) {
	packs, err := All()
	if err != nil {
		t.Fatal(err)
	}
	asking := 0
	for _, p := range packs {
		for i := range p.Tools {
			tool := &p.Tools[i]
			if !slices.ContainsFunc(tool.Rules, func(r taint.Rule) bool { return r.Confirm }) {
				continue
			}
			if asking++; !slices.ContainsFunc(tool.Samples, func(s Sample) bool { return s.Ask }) {
				t.Errorf("%s of %s: no sample of a call that asks", tool.Name, p.Name)
			}
		}
	}
	if asking < 10 {
		t.Errorf("%d tools ask: the test is not what it was", asking)
	}
}
