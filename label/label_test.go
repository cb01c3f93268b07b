package label

import (
	"errors"
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
	return map[string]Lattice{"four-point": FourPoint, "machine": Machine, "sets": Sets, "custom": {Integrity: c, Confidentiality: diamond}}
}

func draw(t *rapid.T, l Lattice, name string) Label {
	elem := func(c Component, what string) Element {
		var e Element
		var err error
		switch c := c.(type) {
		case two:
			e = rapid.SampledFrom([]Element{"", c.top}).Draw(t, what)
		case three:
			e = rapid.SampledFrom([]Element{"", Workspace, Untrusted}).Draw(t, what)
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
			law("the bottom's identity", l.Join(a, Label{}) == a)
			law("upper bound", l.FlowsTo(a, ab) && l.FlowsTo(b, ab))
			law("least upper bound", !l.FlowsTo(a, c) || !l.FlowsTo(b, c) || l.FlowsTo(ab, c))
			law("reflexivity", l.FlowsTo(a, a))
			law("antisymmetry", !l.FlowsTo(a, b) || !l.FlowsTo(b, a) || a == b)
			law("transitivity", !l.FlowsTo(a, b) || !l.FlowsTo(b, c) || l.FlowsTo(a, c))
			law("the bottom below", l.FlowsTo(Label{}, a))
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

// TestParse: what each kind of lattice reads, and what it refuses.
func TestParse(t *testing.T) {
	ls := lattices(t)
	for name, texts := range map[string][]string{
		"four-point": {"(trusted, public)", "(untrusted, public)", "(trusted, private)", "(untrusted, private)"},
		"sets":       {"({}, everybody)", "({a}, {})", "({AZaz09._@:/-}, {a|b})", "({a|b}, everybody)"},
		"custom":     {"(s000, low)", "(s101, left)", "(s111, high)", "(s010, right)"},
	} {
		seen := map[Label]string{}
		for _, s := range texts {
			got, err := ls[name].Parse(s)
			if err != nil || ls[name].Format(got) != s || seen[got] != "" {
				t.Errorf("%s: %s is read as %v, like %q, %v", name, s, got, seen[got], err)
			}
			seen[got] = s
		}
		if got, err := ls[name].Parse(texts[0]); err != nil || got != (Label{}) {
			t.Errorf("%s: %s is %v, not the bottom", name, texts[0], got)
		}
	}
	for name, texts := range map[string][]string{
		"four-point": {"", "trusted, public)", "(trusted, public", "(trusted,public)", "(trusted public)", "(trusted, x)", "(x, public)", "(, )"},
		"sets":       {"(a, everybody)", "({a, everybody)", "(a}, everybody)", "({a}, everyone)", "({|}, {})", "({a||b}, {})", "({a b}, {})", "({a`}, {})", "({a,}, {})", "({[}, {})", "({{}, {})", "({;}, {})", "({ä}, {})", "({}, {a`})", "({, {})"},
		"custom":     {"(s000, lo)", "(s2, low)", "(, low)"},
	} {
		for _, s := range texts {
			if got, err := ls[name].Parse(s); !errors.Is(err, ErrLabel) {
				t.Errorf("%s: %q is read as %v, %v", name, s, got, err)
			}
		}
	}
	if got, err := Sets.Parse("({b|a|b}, {b|a})"); err != nil || got != (Label{"{a|b}", "{a|b}"}) {
		t.Errorf("a set that is not in order is %v, %v", got, err)
	}
}

// TestCustomOrder: the joins of a declared lattice are those of its diagram,
// whichever name the bottom has, and an unknown element never loses height.
func TestCustomOrder(t *testing.T) {
	above := map[string][]string{"z": {"a", "b"}, "a": {"m"}, "b": {"m", "n"}, "m": {"top"}, "n": {"top"}}
	c, err := Custom(above)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range [][3]string{
		{"z", "z", "z"}, {"z", "a", "a"}, {"z", "top", "top"}, {"a", "b", "m"}, {"a", "n", "top"}, {"m", "n", "top"}, {"b", "n", "n"}, {"a", "m", "m"}, {"top", "b", "top"},
	} {
		var e [3]Element
		for i := range x {
			if e[i], err = c.Parse(x[i]); err != nil || c.Format(e[i]) != x[i] || (e[i] == "") != (x[i] == "z") {
				t.Fatalf("%s is %q, %v", x[i], e[i], err)
			}
		}
		if c.Join(e[0], e[1]) != e[2] || c.Join(e[1], e[0]) != e[2] {
			t.Errorf("the join of %s and %s is %q, not %s", x[0], x[1], c.Join(e[0], e[1]), x[2])
		}
	}
	l := Lattice{Integrity: c, Confidentiality: c}
	for _, e := range []Element{"", "a", "top"} {
		if c.Join("other", e) != "other" || c.Join(e, "other") != "other" {
			t.Errorf("an unknown element is lost beside %q", e)
		}
		if l.FlowsTo(Label{Integrity: "other"}, Label{Integrity: e}) {
			t.Errorf("an unknown element flows to %q", e)
		}
	}
	many := map[string][]string{}
	for i := range maxElements {
		many[fmt.Sprintf("e%03d", i)] = []string{fmt.Sprintf("e%03d", i+1)}
	}
	if _, err := Custom(many); !errors.Is(err, ErrLabel) { // one more than may be
		t.Errorf("%v", err)
	}
	delete(many, fmt.Sprintf("e%03d", maxElements-1))
	if _, err := Custom(many); err != nil {
		t.Errorf("%v", err)
	}
	if one, err := Custom(map[string][]string{"only": nil}); err != nil || one.Join("", "") != "" || one.Format("") != "only" {
		t.Errorf("a lattice of one: %v", err)
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

// The machine's levels are a chain: what a trusted folder holds is between the
// user's words and the world's.
func TestMachine(t *testing.T) {
	at := func(e Element) Label { return Label{Integrity: e} }
	chain := []Element{"", Workspace, Untrusted}
	for i, a := range chain {
		for j, b := range chain {
			if got := Machine.FlowsTo(at(a), at(b)); got != (i <= j) {
				t.Errorf("%s flows to %s: %v", Machine.Format(at(a)), Machine.Format(at(b)), got)
			}
		}
	}
}
