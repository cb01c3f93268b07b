package yamldoc

import (
	"errors"
	"strings"
	"testing"
)

// What nests without end is refused before it is parsed.
func TestCheckDepth(t *testing.T) {
	for _, deep := range []string{strings.Repeat("[", 100_000), strings.Repeat("{a: ", 20_000), "a: 1\nb:\n" + strings.Repeat("- ", 50_000), strings.Repeat("? ", 50_000), strings.Repeat("[", 65)} {
		var e *Error
		if _, err := Read("x", []byte(deep), 1<<20, "it", 1); !errors.As(err, &e) || !strings.Contains(e.Detail, "deeper than 64") || e.Line == 0 {
			t.Errorf("%.20s…: %v", deep, err)
		}
	}
	for _, flat := range []string{strings.Repeat("- [[1], {a: [2]}]\n", 1000), "a: \"" + strings.Repeat("[", 1000) + "\"\n", "a: |\n  " + strings.Repeat("[ - ", 1000) + "\n", strings.Repeat("[", 64) + strings.Repeat("]", 64)} {
		if err := CheckDepth("x", []byte(flat)); err != nil {
			t.Errorf("%.20s…: %v", flat, err)
		}
	}
}
