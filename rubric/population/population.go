// Package population cuts the values of a secret field into coarser and
// coarser cells, and computes exactly how many bits a cell discloses: in the
// worst case over the population, to the adversary with the best guesses.
//
// A [Population] is a product of independent parts; most have one. Package
// domain says which values a part has, and which of them no level
// distinguishes. A [Chain] is a field's levels, each a function of the next
// finer one. [Population.Joint] is what several views of one value disclose
// together.
//
// All numbers are whole or fractions of big integers; only the last step, the
// logarithm, is rounded, upwards. Everything is immutable once made.
package population

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"

	"github.com/margaydev/margay/rubric/domain"
)

// ErrOutside says that a value is not in the population. It does not hold the
// value.
var ErrOutside = errors.New("the value is outside of the population")

// Limits of a population. What exceeds one is refused.
const (
	MaxParts  = 6
	MaxLevels = 12
	MaxValue  = 4096 // bytes of a value that is looked at
)

// Whole is, in a By, a part as it is.
const Whole = "whole"

// By says what a level keeps: a column for each part that it does not leave
// out. A population that is not a product has one part, with the empty name.
type By map[string]string

// UnmarshalJSON takes a column, too: that of the only part.
func (b *By) UnmarshalJSON(j []byte) error {
	if len(j) > 0 && j[0] == '"' {
		var s string
		err := json.Unmarshal(j, &s)
		*b = By{"": s}
		return err
	}
	return json.Unmarshal(j, (*map[string]string)(b))
}

// Population is a product of parts.
type Population struct {
	parts []*domain.Part
	split func(string) ([]string, bool)
}

// New makes a population whose parts are fine enough for its uses.
func New(spec *domain.Spec, uses []By) (*Population, error) {
	p := &Population{split: func(s string) ([]string, bool) { return []string{s}, true }}
	specs := []domain.Spec{*spec}
	if spec.Product != nil {
		if len(spec.Product) > MaxParts {
			return nil, fmt.Errorf("a product has at most %d parts", MaxParts)
		}
		specs = spec.Product
		var err error
		if p.split, err = domain.Splitter(spec.Split, spec.Cut, len(specs)); err != nil {
			return nil, err
		}
	}
	for i := range specs {
		s := &specs[i]
		switch {
		case spec.Product != nil && s.Name == "":
			return nil, fmt.Errorf("part %d of the product has no name", i+1)
		case s.Product != nil && spec.Product != nil:
			return nil, errors.New("a product of products is not read: list all parts")
		case slices.ContainsFunc(p.parts, func(o *domain.Part) bool { return o.Name == s.Name }):
			return nil, fmt.Errorf("the part %q comes twice", s.Name)
		}
		var columns []string
		for _, u := range uses {
			if c, ok := u[s.Name]; ok && c != Whole {
				columns = append(columns, c)
			}
		}
		one, err := domain.New(s, columns)
		if err != nil {
			if s.Name != "" {
				err = fmt.Errorf("part %q: %w", s.Name, err)
			}
			return nil, err
		}
		p.parts = append(p.parts, one)
	}
	return p, nil
}

// Members returns the number of values.
func (p *Population) Members() *big.Int {
	n := big.NewInt(1)
	for i := range p.parts {
		n.Mul(n, p.parts[i].Members)
	}
	return n
}

// find returns the atom of each part, and the value's normal form.
func (p *Population) find(value string) (atoms []int, normal string, err error) {
	if len(value) > MaxValue {
		return nil, "", ErrOutside
	}
	texts, ok := p.split(value)
	if !ok || len(texts) != len(p.parts) {
		return nil, "", ErrOutside
	}
	atoms = make([]int, len(p.parts))
	for i := range p.parts {
		if atoms[i], texts[i], ok = p.parts[i].Find(texts[i]); !ok {
			return nil, "", ErrOutside
		}
	}
	return atoms, strings.Join(texts, "|"), nil
}
