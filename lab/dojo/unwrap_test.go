package dojo

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/margaydev/margay/taint/observe"
)

func TestUnwrap(t *testing.T) {
	for _, s := range []string{"", "text", observe.WrapOpen + "x" + observe.WrapNotice + "⟦U+0041⟧" + observe.WrapEnd, observe.Wrap("x", "y") + "\n"} {
		if got, ok := unwrap(s); ok {
			t.Errorf("%q is taken for wrapped: %q", s, got)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text") + string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes"))
		if got, ok := unwrap(observe.Wrap(rapid.String().Draw(t, "tool"), text)); !ok || got != text {
			t.Errorf("%q comes back as %q, %v", text, got, ok)
		}
	})
}
