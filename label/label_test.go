package label

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// powerset is the Hasse diagram of the subsets of n things: a lattice.
func powerset(n int) map[string][]string {
	name := func(s int) string { return fmt.Sprintf("s%0*b", n, s) }
	out := map[string][]string{}
	for s := range 1 << n {
		out[name(s)] = nil
		for i := range n {
			if s&(1<<i) == 0 {
				out[name(s)] = append(out[name(s)], name(s|1<<i))
			}
		}
	}
	return out
}

func lattices(t testing.TB) map[string]Lattice {
	c, err := Custom(powerset(3))
	if err != nil {
		t.Fatal(err)
	}
	diamond, err := Custom(map[string][]string{"low": {"left", "right"}, "left": {"high"}, "right": {"high"}})
	if err != nil {
		t.Fatal(err)
	}
	return map[string]Lattice{"four-point": FourPoint, "sets": Sets, "custom": {Integrity: c, Confidentiality: diamond}}
}

func draw(t *rapid.T, l Lattice, name string) Label {
	elem := func(c Component, what string) Element {
		var e Element
		var err error
		switch c := c.(type) {
		case two:
			e = rapid.SampledFrom([]Element{"", c.top}).Draw(t, what)
		case *custom:
			e = c.element(rapid.IntRange(0, len(c.names)-1).Draw(t, what))
		default:
			names := rapid.SliceOfN(rapid.SampledFrom([]string{"alice", "bob", "web", "mail:x@y.z"}), 0, 4).Draw(t, what)
			if e, err = c.Parse("{" + strings.Join(names, "|") + "}"); err != nil {
				t.Fatal(err)
			}
			if rapid.Bool().Draw(t, what+" bottom") {
				e = ""
			}
		}
		return e
	}
	return Label{elem(l.Integrity, name+" integrity"), elem(l.Confidentiality, name+" confidentiality")}
}

func TestLaws(t *testing.T) {
	for name, l := range lattices(t) {
		t.Run(name, rapid.MakeCheck(func(t *rapid.T) {
			a, b, c := draw(t, l, "a"), draw(t, l, "b"), draw(t, l, "c")
			law := func(what string, ok bool) {
				if !ok {
					t.Fatalf("%s fails for %s %s %s", what, l.Format(a), l.Format(b), l.Format(c))
				}
			}
			ab := l.Join(a, b)
			law("idempotence", l.Join(a, a) == a)
			law("commutativity", ab == l.Join(b, a))
			law("associativity", l.Join(ab, c) == l.Join(a, l.Join(b, c)))
			law("the bottom's identity", l.Join(a, l.Bottom()) == a)
			law("upper bound", l.FlowsTo(a, ab) && l.FlowsTo(b, ab))
			law("least upper bound", !l.FlowsTo(a, c) || !l.FlowsTo(b, c) || l.FlowsTo(ab, c))
			law("reflexivity", l.FlowsTo(a, a))
			law("antisymmetry", !l.FlowsTo(a, b) || !l.FlowsTo(b, a) || a == b)
			law("transitivity", !l.FlowsTo(a, b) || !l.FlowsTo(b, c) || l.FlowsTo(a, c))
			law("the bottom below", l.FlowsTo(l.Bottom(), a))
			law("monotonicity", !l.FlowsTo(a, b) || l.FlowsTo(l.Join(a, c), l.Join(b, c)))
			back, err := l.Parse(l.Format(a))
			law("round trip", err == nil && back == a)
		}))
	}
}

func TestSetsOrder(t *testing.T) {
	parse := func(s string) Label {
		l, err := Sets.Parse(s)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	a, b := parse("({web}, {alice|bob})"), parse("({mail|web}, {alice})")
	if !Sets.FlowsTo(a, b) || Sets.FlowsTo(b, a) {
		t.Error("more sources and fewer readers are higher")
	}
	if got := Sets.Format(Sets.Join(parse("({x}, {alice})"), parse("({y}, {bob})"))); got != "({x|y}, {})" {
		t.Errorf("join is %s", got)
	}
}

func TestCustomMistakes(t *testing.T) {
	for name, c := range map[string]struct {
		above map[string][]string
		want  string
	}{
		"cycle":      {map[string][]string{"a": {"b"}, "b": {"a"}}, "cycle"},
		"no join":    {map[string][]string{"low": {"x", "y"}}, "x and y have no join"},
		"two joins":  {map[string][]string{"o": {"a", "b"}, "a": {"c", "d"}, "b": {"c", "d"}, "c": {"t"}, "d": {"t"}}, "have no join"},
		"no bottom":  {map[string][]string{"a": {"t"}, "b": {"t"}}, "below all"},
		"empty":      {nil, "1 to"},
		"bad name":   {map[string][]string{"a b": nil}, "names"},
		"empty name": {map[string][]string{"": {"b"}}, "names"},
	} {
		if _, err := Custom(c.above); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

func FuzzParse(f *testing.F) {
	ls := lattices(f)
	for _, s := range []string{"(trusted, public)", "({a|b}, everybody)", "({}, {})", "(s101, left)", "(", "(a, b", "({|}, {a,})"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for name, l := range ls {
			a, err := l.Parse(s)
			if err != nil {
				continue
			}
			if b, err := l.Parse(l.Format(a)); err != nil || a != b {
				t.Errorf("%s: %q does not round trip", name, s)
			}
		}
	})
}
