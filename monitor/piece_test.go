package monitor

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestPieces(t *testing.T) {
	for text, want := range map[string]string{
		"The quick fox":           "The| quick| fox",
		"configuration":           "conf|igur|ation",
		"StripeKey=sk_live_9xQ":   "Stripe|Key|=|sk|_|live|_|9|x|Q",
		"AKIAQ3EGRP":              "AKI|AQ|3|EGRP",
		"3fae9c 20240131":         "3|fae|9|c| 202|401|31",
		"a\n\n\nb   c\t\td":       "a|\n\n|\n|b|  | c|\t\t|d",
		"------ \"x\": ...":       "----|--| \"|x|\"|:| ...",
		"naïveté 日本語 qkzjwvbnm":   "naï|veté| 日|本語| qkz|jwvbnm",
		"DBPass HTTPServer iPods": "DB|Pass| HTT|P|Server| i|Pods",
	} {
		if got := strings.Join(pieces(text), "|"); got != want {
			t.Errorf("%q: %s, not %s", text, got, want)
		}
	}
}

// TestPieceLaws: pieces make up the text, cut no character, and do not depend
// on the chunks that the text came in.
func TestPieceLaws(t *testing.T) {
	part := rapid.SampledFrom([]string{" ", "\n", "\t", "a", "e", "Z", "QK", "word", "7", "123", "é", "日", "𝒜", "-", "--", "://", "_", "\x80", "longerword"})
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOf(part).Draw(t, "text"), "")
		whole := pieces(text)
		if strings.Join(whole, "") != text || slices.Contains(whole, "") {
			t.Fatalf("%q makes %q", text, whole)
		}
		for _, p := range whole {
			if utf8.ValidString(text) && !utf8.ValidString(p) {
				t.Fatalf("%q cuts a character: %q", text, whole)
			}
		}
		var got []string
		rest := ""
		for left := text; left != ""; {
			n := rapid.IntRange(1, len(left)).Draw(t, "chunk")
			rest, left = rest+left[:n], left[n:]
			for {
				n, ok := piece(rest)
				if !ok {
					break
				}
				got, rest = append(got, rest[:n]), rest[n:]
			}
			if len(rest) >= 10 {
				t.Fatalf("%q is not cut", rest)
			}
		}
		if got = append(got, pieces(rest)...); !slices.Equal(got, whole) {
			t.Fatalf("%q in chunks, %q whole", got, whole)
		}
	})
}
