// Package label has security labels and the lattices they live in.
package label

// Label is a pair of an integrity and a confidentiality element of a lattice.
// The zero Label is (trusted, public), the bottom of the four-point lattice.
type Label struct {
	Integrity       Element
	Confidentiality Element
}

// Element is one component of a label, in its lattice's canonical text form.
// The empty Element is the component's bottom.
type Element string
