// Package visible makes untrusted text safe to show: it replaces invisible
// characters, and those that control a terminal, by visible signs.
package visible

import (
	"fmt"
	"strings"
	"unicode"
)

// Text replaces each character of s that is invisible, or changes how the rest is
// shown, by a visible sign: ANSI escapes, direction marks, zero-width
// characters. Line ends and tabs stay.
func Text(s string) string {
	if !strings.ContainsFunc(s, unseen) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		switch {
		case !unseen(r):
			b.WriteRune(r)
		case r < 0x20:
			b.WriteRune(0x2400 + r) // the control's picture
		case r == 0x7f:
			b.WriteRune('␡')
		default:
			fmt.Fprintf(&b, "⟨U+%04X⟩", r)
		}
	}
	return b.String()
}

// Line is Text for a field of a line: line ends and tabs are replaced, too, so
// that nobody who chooses a name makes a line of a list.
func Line(s string) string {
	return lines.Replace(Text(s))
}

var lines = strings.NewReplacer("\n", "␊", "\t", "␉")

func unseen(r rune) bool {
	if r == '\n' || r == '\t' {
		return false
	}
	return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Zl, r) || unicode.Is(unicode.Zp, r) || unicode.Is(unicode.Co, r) || r == '\u115f' || r == '\u3164' || r == '\uffa0'
}
