// Package label has security labels and their lattices.
//
// The label of a text says who influenced it (integrity) and who may see it
// (confidentiality). When two texts are combined, their labels join;
// text may flow to a place whose label is at least as high. The bottom of
// every lattice is (trusted, public).
//
// Source: RTBAS; Denning's lattice model; Myers and Liskov for sets.
package label

import (
	"errors"
	"fmt"
	"strings"
)

// Element is one component of a label, in its lattice's canonical text form,
// so that equal elements are equal strings. The empty Element is the
// component's bottom.
type Element string

// Label is a pair of an integrity and a confidentiality element of a lattice.
// The zero Label is (trusted, public), the bottom of every lattice. Labels of
// one lattice are comparable with ==.
type Label struct {
	Integrity       Element
	Confidentiality Element
}

// Component is a finite join-semilattice with a bottom, the empty Element.
// Implementations are immutable and safe for concurrent use.
type Component interface {
	// Join returns the least element that both flow to.
	Join(a, b Element) Element
	// Parse returns the canonical form of an element, or an error that names
	// the known elements.
	Parse(s string) (Element, error)
	// Format returns an element's name for people, also for the bottom.
	Format(e Element) string
}

// Lattice is the product of two components. It is immutable and safe for
// concurrent use.
type Lattice struct {
	Integrity       Component
	Confidentiality Component
}

// Join returns the least label that both a and b flow to.
func (l Lattice) Join(a, b Label) Label {
	return Label{l.Integrity.Join(a.Integrity, b.Integrity), l.Confidentiality.Join(a.Confidentiality, b.Confidentiality)}
}

// FlowsTo reports whether a ⊑ b: a join b is b.
func (l Lattice) FlowsTo(a, b Label) bool { return l.Join(a, b) == b }

// Format writes a label as (integrity, confidentiality).
func (l Lattice) Format(a Label) string {
	return "(" + l.Integrity.Format(a.Integrity) + ", " + l.Confidentiality.Format(a.Confidentiality) + ")"
}

// ErrLabel says that a text is not a label of a lattice.
var ErrLabel = errors.New("not a label")

// Parse reads what Format wrote.
func (l Lattice) Parse(s string) (Label, error) {
	inner, ok := strings.CutPrefix(s, "(")
	inner, ok2 := strings.CutSuffix(inner, ")")
	i, c, ok3 := strings.Cut(inner, ", ")
	if !ok || !ok2 || !ok3 {
		return Label{}, fmt.Errorf("%w: a label looks like (trusted, public)", ErrLabel)
	}
	integrity, err := l.Integrity.Parse(i)
	if err != nil {
		return Label{}, err
	}
	confidentiality, err := l.Confidentiality.Parse(c)
	return Label{integrity, confidentiality}, err
}
