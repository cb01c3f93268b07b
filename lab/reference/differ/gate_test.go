package differ

import (
	"strings"
	"testing"
)

// A gate closes at another place of a text that is unescaped than of the text itself.
// Around those places, the engines agree.
func TestGatesOfForms(t *testing.T) {
	pair := pairs(t)["rules"]
	found := 0
	for _, escapes := range []string{`\n`, `\u0041 x`, "½", `\n\n\n\n\n\n`} {
		for off := 4040; off < 4110; off++ {
			text := "bsn " + escapes + "\n" + strings.Repeat("the committee met again\n", 200)
			text = text[:off] + " 111222333 and on"
			read := pair.Read([]byte(text))
			found += len(read.Found())
			for _, cuts := range [][]int{nil, {off - 3}, {off + 4}, every(64, len(text))} {
				if d := read.Under(cuts); d != nil {
					t.Fatalf("%q, %d bytes before: %v", escapes, off, d)
				}
			}
		}
	}
	if found < 50 || found > 250 {
		t.Errorf("%d numbers were found of 280", found)
	}
}
