package label

import (
	"errors"
	"fmt"
	"testing"
)

// Parse takes what Format writes, and nothing near it.
func TestParseMistakes(t *testing.T) {
	chain, err := Custom(map[string][]string{"low": {"mid"}, "mid": {"high"}})
	if err != nil {
		t.Fatal(err)
	}
	mixed := Lattice{Integrity: chain, Confidentiality: Sets.Confidentiality}
	for _, c := range []struct {
		of   Lattice
		text string
		want Label
		ok   bool
	}{
		{FourPoint, "(trusted, public)", Label{}, true},
		{FourPoint, "(untrusted, private)", Label{Untrusted, Private}, true},
		{FourPoint, "(workspace, private)", Label{}, false},
		{Machine, "(workspace, private)", Label{Workspace, Private}, true},
		{Machine, "(trusted, public)", Label{}, true},
		{Machine, "(world, public)", Label{}, false},
		{FourPoint, "(trusted, public", Label{}, false},
		{FourPoint, "trusted, public)", Label{}, false},
		{FourPoint, "(trusted public)", Label{}, false},
		{FourPoint, "(trusted,public)", Label{}, false},
		{FourPoint, "(trusted)", Label{}, false},
		{FourPoint, "(private, public)", Label{}, false},
		{FourPoint, "(, public)", Label{}, false},
		{FourPoint, "(trusted, trusted)", Label{}, false},
		{FourPoint, "", Label{}, false},
		{Sets, "({}, everybody)", Label{}, true},
		{Sets, "({bob|alice|bob}, {})", Label{"{alice|bob}", "{}"}, true},
		{Sets, "({alice, everybody)", Label{}, false},
		{Sets, "(alice}, everybody)", Label{}, false},
		{Sets, "(}, everybody)", Label{}, false},
		{Sets, "({, everybody)", Label{}, false},
		{Sets, "(, everybody)", Label{}, false},
		{Sets, "({a||b}, everybody)", Label{}, false},
		{Sets, "({}, {a b})", Label{}, false},
		{Sets, "({}, nobody)", Label{}, false},
		{mixed, "(low, everybody)", Label{}, true},
		{mixed, "(mid, everybody)", Label{Integrity: "mid"}, true},
		{mixed, "(high, {bob})", Label{"high", "{bob}"}, true},
		{mixed, "(higher, {bob})", Label{}, false},
		{mixed, "(, {bob})", Label{}, false},
	} {
		got, err := c.of.Parse(c.text)
		if c.ok && (err != nil || got != c.want) {
			t.Errorf("%s: %v, %v, want %v", c.text, got, err, c.want)
		}
		if !c.ok && !errors.Is(err, ErrLabel) {
			t.Errorf("%s: %v, %v, want ErrLabel", c.text, got, err)
		}
	}
}

// A name is made of letters and digits of ASCII and ._@:/-, and of nothing else.
func TestNamesOfSets(t *testing.T) {
	for r := rune(0); r < 0x180; r++ {
		ok := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
		for _, other := range "._@:/-" {
			ok = ok || r == other
		}
		if r == '|' {
			continue // parts names
		}
		for _, c := range []Component{Sets.Integrity, Sets.Confidentiality} {
			text := fmt.Sprintf("{x%cx}", r)
			got, err := c.Parse(text)
			if ok && (err != nil || got != Element(text)) {
				t.Errorf("%q: %q, %v", text, got, err)
			}
			if !ok && !errors.Is(err, ErrLabel) {
				t.Errorf("%q: %q, %v, want ErrLabel", text, got, err)
			}
		}
	}
}

func TestCustomChain(t *testing.T) {
	// The bottom is not the first of the names in order.
	c, err := Custom(map[string][]string{"z": {"m"}, "m": {"a"}})
	if err != nil {
		t.Fatal(err)
	}
	parsed := map[string]Element{}
	for _, n := range []string{"z", "m", "a"} {
		e, err := c.Parse(n)
		if err != nil || c.Format(e) != n {
			t.Errorf("%s is parsed as %q (%v), written as %s", n, e, err, c.Format(e))
		}
		parsed[n] = e
	}
	if parsed["z"] != "" || parsed["m"] != "m" || parsed["a"] != "a" {
		t.Errorf("elements: %q", parsed)
	}
	for _, j := range [][3]Element{
		{"", "", ""},
		{"", "m", "m"},
		{"m", "", "m"},
		{"m", "a", "a"},
		{"a", "m", "a"},
		{"m", "m", "m"},
		{"a", "", "a"},
		// What the lattice does not know stays: a label never gets lower.
		{"other", "a", "other"},
		{"a", "other", "other"},
		{"", "other", "other"},
		{"other", "", "other"},
	} {
		if got := c.Join(j[0], j[1]); got != j[2] {
			t.Errorf("%q and %q join to %q, want %q", j[0], j[1], got, j[2])
		}
	}
}

func TestCustomSize(t *testing.T) {
	chain := func(n int) map[string][]string {
		above := map[string][]string{}
		for i := range n - 1 {
			above[fmt.Sprintf("e%03d", i)] = []string{fmt.Sprintf("e%03d", i+1)}
		}
		return above
	}
	if _, err := Custom(chain(256)); err != nil {
		t.Errorf("256 elements: %v", err)
	}
	if _, err := Custom(chain(257)); !errors.Is(err, ErrLabel) {
		t.Errorf("257 elements: %v", err)
	}
}
