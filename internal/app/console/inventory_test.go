package console

import (
	"reflect"
	"strings"
	"testing"

	"github.com/margaydev/margay/internal/app/console/view"
)

// What is shown is masked in place, by several requests at once.
func TestPacksAreShownAsCopies(t *testing.T) {
	packs := func() Packs {
		return Packs{Mode: "on one", Packs: []Pack{{Name: "the pack", Tools: []PackTool{{Name: "the tool", Worst: "the worst", Policy: []string{"the policy"}}}}}, Findings: []PackFinding{{Detail: "the detail"}}}
	}
	kept := packs()
	shown := kept.Clone()
	view.Mask(&shown, strings.ToUpper)
	if !reflect.DeepEqual(kept, packs()) {
		t.Errorf("masking what is shown changed what is kept: %+v", kept)
	}
	if shown.Packs[0].Tools[0].Policy[0] != "THE POLICY" {
		t.Errorf("what is shown is not masked: %+v", shown)
	}
}
