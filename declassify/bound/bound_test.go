package bound_test

import (
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/margaydev/margay/declassify/bound"
	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/ledger/charge"
	"github.com/margaydev/margay/rubric/dependency"
)

const bit = flow.Bit

// deps are a city that tells which of 16 dates somebody was born on: of the
// second kind all are born on the first, so that the city alone tells four
// bits of it. The suburb is a view of the city.
type deps struct {
	split, none, unknown bool
}

func (d deps) Graph() dependency.Graph {
	if d.none {
		return dependency.Graph{}
	}
	g := dependency.Graph{
		Variables: []dependency.Variable{{Name: "city", States: 2}, {Name: "dob", States: 16}},
		Factors: []dependency.Factor{
			{Vars: []string{"city"}, Low: []float64{0.5, 0.5}},
			{Vars: []string{"city", "dob"}, Of: "dob", Low: append(slices.Repeat([]float64{1.0 / 16}, 16), append([]float64{1}, make([]float64, 15)...)...)},
		},
	}
	if d.split {
		g.Variables = append(g.Variables, dependency.Variable{Name: "city#2", States: 2})
		g.Factors = append(g.Factors, dependency.Factor{Vars: []string{"city#2"}, Low: []float64{0.5, 0.5}})
	}
	if d.unknown {
		g.Factors[0].Vars = []string{"nobody"}
	}
	return g
}

func (deps) Root(field string) string {
	if field == "suburb" {
		return "city"
	}
	return field
}

func (deps) Cells(field string, level int) [][]float64 {
	if (field == "city" || field == "suburb") && level == 0 {
		return [][]float64{{1, 0}, {0, 1}}
	}
	return nil
}

// before is what was shown before.
type before struct {
	finest  map[string][charge.Classes]int
	charged map[string][charge.Classes]flow.Bits
}

func (b before) Finest(field string) [charge.Classes]int        { return b.finest[field] }
func (b before) Charged(field string) [charge.Classes]flow.Bits { return b.charged[field] }

func atom(field string, level uint8, after ...flow.Bits) charge.Atom {
	a := charge.Atom{Field: field, Op: charge.Identity, Level: level, Value: charge.Hash{1}}
	if level > 0 {
		a.Op = charge.Generalize
	}
	copy(a.After[1:], after)
	return a
}

func TestCheck(t *testing.T) {
	fields := []string{"city", "dob", "name", "suburb"}
	for name, c := range map[string]struct {
		deps   deps
		before before
		atoms  []charge.Atom
		class  flow.Class
		margin flow.Bits
		fits   bool
	}{
		"charged for all":         {atoms: []charge.Atom{atom("city", 0, 4*bit)}, class: 1, fits: true},
		"charged for itself":      {atoms: []charge.Atom{atom("city", 0, bit)}, class: 1},
		"within the margin":       {atoms: []charge.Atom{atom("city", 0, bit)}, class: 1, margin: bit, fits: true},
		"over the margin":         {atoms: []charge.Atom{atom("city", 0, 0)}, class: 1, margin: bit},
		"less to worse sinks":     {atoms: []charge.Atom{atom("city", 0, 4*bit, bit)}, class: 2},
		"of no class that hears":  {atoms: []charge.Atom{atom("city", 0, 4*bit, bit)}, class: 1, fits: true},
		"a view of the city":      {atoms: []charge.Atom{atom("suburb", 0, bit)}, class: 1},
		"a field of no variable":  {atoms: []charge.Atom{atom("name", 0, 0)}, class: 1, fits: true},
		"redacted":                {atoms: []charge.Atom{{Field: "city", Op: charge.Redact, Value: charge.Hash{1}}}, class: 1, fits: true},
		"shown before":            {before: before{finest: map[string][4]int{"city": {0, 1}}, charged: map[string][4]flow.Bits{"city": {0, bit}}}, class: 1},
		"shown and charged":       {before: before{finest: map[string][4]int{"city": {0, 1}}, charged: map[string][4]flow.Bits{"city": {0, 4 * bit}}}, class: 1, fits: true},
		"shown to better ones":    {before: before{finest: map[string][4]int{"city": {0, 0, 0}}}, class: 2, fits: true},
		"two atoms of one value":  {atoms: []charge.Atom{atom("city", 0, bit), atom("city", 0, bit)}, class: 1},
		"no graph":                {deps: deps{none: true}, atoms: []charge.Atom{atom("city", 0)}, class: 1, fits: true},
		"rubrics that differ":     {deps: deps{split: true}, atoms: []charge.Atom{atom("city", 0, 9*bit)}, class: 1},
		"a level with no cells":   {atoms: []charge.Atom{atom("city", 1, 9*bit)}, class: 1},
		"a graph that is none":    {deps: deps{unknown: true}, atoms: []charge.Atom{atom("name", 0, bit)}, class: 1},
		"nothing shown, no graph": {deps: deps{split: true}, class: 3, fits: true},
	} {
		a := &bound.Auditor{}
		var wg sync.WaitGroup
		for range 3 { // the second time from memory
			wg.Go(func() {
				r := &bound.Release{By: charge.Hash{1}, Fields: fields, Atoms: c.atoms, State: charge.NewState("F"), Class: c.class, Margin: c.margin}
				err := a.Check(r, c.before, c.deps)
				if (err == nil) != c.fits || err != nil && !errors.Is(err, bound.ErrExcess) {
					t.Errorf("%s: %v", name, err)
				}
			})
		}
		wg.Wait()
	}
}
