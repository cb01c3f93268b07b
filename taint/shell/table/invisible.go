package table

import (
	"unicode"
)

// Invisible reports whether a character is not seen, or changes how others are.
func Invisible(r rune) bool {
	return r < ' ' && r != '\n' && r != '\t' && r != '\r' || r == 0x7f || r == 0xfffd || unicode.In(r, unicode.Cf, unicode.Co, unicode.Zl, unicode.Zp) ||
		r >= 0xfe00 && r <= 0xfe0f || r == 0x3164 || r == 0x115f || r == 0x1160 || r > 0x7f && unicode.IsSpace(r)
}
