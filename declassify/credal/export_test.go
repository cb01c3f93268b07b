package credal

import "fmt"

// Cell observes that the value of variable v lies in one of the states.
func (t *Tree) Cell(v int, states ...int) (Observation, error) {
	if v >= len(t.vars) {
		return Observation{}, fmt.Errorf("credal: no variable %d", v)
	}
	o := Observation{Var: v, Low: make([]float64, t.vars[v].States)}
	for _, s := range states {
		if s < 0 || s >= len(o.Low) {
			return Observation{}, fmt.Errorf("credal: variable %q has no state %d", t.vars[v].Name, s)
		}
		o.Low[s] = 1
	}
	return o, nil
}

// Bound is Scratch.Bound with a scratch of its own.
func (t *Tree) Bound(view []Observation) ([]float64, error) {
	return t.NewScratch().Bound(view)
}

// Treewidth is the number of variables in the largest clique, less one.
func (t *Tree) Treewidth() int {
	width := 0
	for _, c := range t.cliques {
		width = max(width, len(c.vars)-1)
	}
	return width
}
