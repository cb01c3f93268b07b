package rubric

// Graph says which secret fields tell about which, for the audit. It has the
// shape of credal.Graph, which this package is below of.
type Graph struct {
	Variables []Variable
	Factors   []Factor
}

// Variable is a secret whose values fall into finitely many states.
type Variable struct {
	Name   string
	States int
	// Members says how many values each state stands for, all equally likely
	// given the state; nil for one each.
	Members []float64
}

// Factor is an interval potential over variables, the last of which changes
// fastest; with Of, a table of probabilities of that variable given the others.
type Factor struct {
	Vars      []string
	Of        string
	Low, High []float64 // nil High: the same as Low
}

// Seen is what a view of a value leaves of a variable of the graph: how many
// members of each state it may still be.
type Seen struct {
	Variable string
	Left     []float64
}
