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
			for _, cuts := range [][]int{nil, {off - 3}, {off + 4}, every(len(text), 64)} {
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

// A gate may close inside a value, at another place for each form, while the forms are
// read as one.
func TestGatesInValues(t *testing.T) {
	pair := pairs(t)["rules"]
	lines := func(n int) string { return strings.Repeat("run on ", n/7+1)[:n] }
	found := 0
	for _, c := range []struct{ gate, value string }{
		{"bsn", "1112&#50;2333"},
		{"sourcegraph", "9b1f03&#99;7a2e45d68b7c01f29d3e45a619b1f03c7"},
	} {
		for off := 4090; off < 4130; off++ {
			text := c.gate + "\n" + lines(3900) + strings.Repeat("%41 \n", 4)
			text += lines(off-len(text)-1) + " " + c.value + ", "
			read := pair.Read([]byte(text))
			found += len(read.Found())
			for _, cuts := range [][]int{nil, {off + 4}, every(len(text), 64)} {
				if d := read.Under(cuts); d != nil {
					t.Fatalf("%s, %d: %v", c.gate, off, d)
				}
			}
		}
	}
	if found < 5 || found > 75 {
		t.Errorf("%d values were found of 80", found)
	}
}
