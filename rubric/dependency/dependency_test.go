package dependency_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/rubric/dependency"
	"github.com/margaydev/margay/rubric/domain"
	"github.com/margaydev/margay/rubric/population"
)

// fields are of four values each, in two cells of two.
func fields(t *testing.T, names ...string) func(string) (*dependency.Field, error) {
	t.Helper()
	known := map[string]*dependency.Field{}
	for _, name := range names {
		by := population.By{"": "band 2"}
		pop, err := population.New(&domain.Spec{Numbers: []int64{0, 3, 1}}, []population.By{by})
		if err != nil {
			t.Fatal(err)
		}
		chain, err := pop.Chain(nil, []population.Level{{Name: "half", By: by, Bits: flow.Bit}})
		if err != nil {
			t.Fatal(err)
		}
		known[name] = &dependency.Field{Name: name, Levels: []string{"half"}, Population: pop, Chain: chain}
	}
	return func(name string) (*dependency.Field, error) {
		if f := known[name]; f != nil {
			return f, nil
		}
		return nil, fmt.Errorf("there is no field %q", name)
	}
}

func row(low, high string, n ...json.Number) []any {
	out := []any{low, high}
	for _, x := range n {
		out = append(out, x)
	}
	return out
}

// Where one field says the half of the other for certain, showing one shows a
// bit of the other, and both halves together tell no more than one.
func TestJoint(t *testing.T) {
	find := fields(t, "a", "b", "c")
	cs, err := dependency.New([]dependency.Table{{Between: []string{"b@half", "a@half"}, Kind: "conditional", Table: [][]any{row("0-1", "0-1", "1"), row("2-3", "2-3", "1")}}}, find)
	if err != nil || len(cs) != 1 || strings.Join(cs[0].Fields(), " ") != "a b" {
		t.Fatal(cs, err)
	}
	c := cs[0]
	a, _ := find("a")
	b, _ := find("b")
	view := func(f *dependency.Field, level int) population.View { return f.Chain.View(level) }
	for _, one := range []struct {
		views map[string]population.View
		want  flow.Bits
	}{
		{nil, 0},
		{map[string]population.View{"a": view(a, 1)}, flow.Bit},
		{map[string]population.View{"a": view(a, 1), "b": view(b, 1)}, flow.Bit},
		{map[string]population.View{"a": view(a, 0)}, 2 * flow.Bit},
		{map[string]population.View{"a": view(a, 0), "b": view(b, 0)}, 3 * flow.Bit},
	} {
		if got := c.Joint(one.views); got != one.want {
			t.Errorf("%d views tell %v, want %v", len(one.views), got, one.want)
		}
	}
	if c.Whole() != 4*flow.Bit {
		t.Errorf("all of it is %v", c.Whole())
	}
	if g := c.Graph(); len(g.Variables) != 2 || len(g.Factors) != 2 || g.Variables[0].States != 2 {
		t.Errorf("%+v", g)
	}
	seen, err := c.Left("a", a.Chain, 1, "3")
	if err != nil || fmt.Sprint(seen) != "{a [0 2]}" {
		t.Error(seen, err)
	}
	other, err := dependency.New([]dependency.Table{{Between: []string{"b@half", "a@half"}, Kind: "joint", Table: [][]any{row("0-1", "0-1", "1")}}}, fields(t, "a", "b"))
	if err != nil || dependency.Same(c, other[0]) || !dependency.Same(c, c) || dependency.Same(c, nil) || !dependency.Same(nil, nil) {
		t.Error("components are compared by what they say", err)
	}
}

// Tables that share a field make one component, others two.
func TestComponents(t *testing.T) {
	joint := func(a, b string) dependency.Table {
		return dependency.Table{Between: []string{a + "@half", b + "@half"}, Kind: "joint", Else: []any{json.Number("1")}, Table: [][]any{row("0-1", "0-1", "2", "3")}}
	}
	for _, c := range []struct {
		tables []dependency.Table
		want   string
	}{
		{nil, "[]"},
		{[]dependency.Table{joint("d", "c"), joint("b", "a")}, "[[a b] [c d]]"},
		{[]dependency.Table{joint("d", "c"), joint("b", "a"), joint("c", "b")}, "[[a b c d]]"},
	} {
		cs, err := dependency.New(c.tables, fields(t, "a", "b", "c", "d"))
		if err != nil {
			t.Fatal(err)
		}
		names := [][]string{}
		for _, one := range cs {
			names = append(names, one.Fields())
		}
		if fmt.Sprint(names) != c.want {
			t.Errorf("%v, want %s", names, c.want)
		}
	}
}

func TestRefusals(t *testing.T) {
	good := row("0-1", "0-1", "1")
	for _, c := range []struct {
		between string
		kind    string
		rows    [][]any
		want    string
	}{
		{"a@half x@half", "joint", [][]any{good}, `no field "x"`},
		{"a@half a@half", "joint", [][]any{good}, "a comes twice"},
		{"a@half b@third", "joint", [][]any{good}, `unknown level "third" of b`},
		{"a@half b@half", "joint", [][]any{row("0-1", "9", "1")}, `b has no cell "9"`},
		{"a@half b@half", "joint", [][]any{good, good}, "the row comes twice"},
		{"a@half b@half", "joint", [][]any{{"0-1", "0-1"}}, "a row has a cell of each of 2 fields"},
		{"a@half b@half", "joint", [][]any{row("0-1", "0-1", "-1")}, "not negative"},
		{"a@half b@half", "joint", [][]any{row("0-1", "0-1", "2", "1")}, "the lower bound is above"},
		{"a@half b@half", "joint", [][]any{{"0-1", "0-1", "x"}}, "after the cells come numbers"},
		{"a@half b@half", "conditional", [][]any{good}, "given 2-3 do not sum to one"},
		{"a@half b@half", "joint", nil, "no state possible"},
	} {
		_, err := dependency.New([]dependency.Table{{Between: strings.Fields(c.between), Kind: c.kind, Table: c.rows}}, fields(t, "a", "b"))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.between, err, c.want)
		}
	}
}
