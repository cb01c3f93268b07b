package visible

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// No text that is shown holds what can't be seen, or changes how the rest is
// seen; ordinary text stays as it is, and what is visible stays so.
func TestText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.String().Draw(t, "text") + string(rapid.SampledFrom([]rune("a\n\t\x1b\x00\x7f\u202e\u2066\u200b\u2028\ue000\u3164")).Draw(t, "sign"))
		out := Text(s)
		if strings.ContainsFunc(out, unseen) || Text(out) != out || len(out) < utf8.RuneCountInString(s) {
			t.Fatalf("%q is shown as %q", s, out)
		}
	})
	for in, want := range map[string]string{"naïve — 漢字\n\tx": "naïve — 漢字\n\tx", "\x1b[31m": "␛[31m", "a\u202eb": "a⟨U+202E⟩b", "\x7f": "␡"} {
		if got := Text(in); got != want {
			t.Errorf("%q is shown as %q", in, got)
		}
	}
}
