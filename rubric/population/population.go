// Package population cuts the values of a secret field into coarser and
// coarser cells, and computes what knowing a cell tells: exactly, as the worst
// case over the population of the adversary that guesses best.
//
// A [Population] is a product of independent parts; most have one. A part is
// made of atoms, sets of values that no level tells apart, each with a prior
// mass and a number of members that share it equally. A [Chain] is a field's
// levels, each a function of the next finer one. What several views of one
// value tell together is [Population.Joint].
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
)

// ErrOutside says that a value is not in the population. It does not hold the
// value.
var ErrOutside = errors.New("the value is outside of the population")

// Limits of a population. What exceeds one is refused.
const (
	MaxAtoms  = 1 << 16 // of a part
	MaxParts  = 6
	MaxLevels = 12
	MaxValue  = 4096 // bytes of a value that is looked at
)

// Whole is, in a By, a part as it is.
const Whole = "whole"

// Spec declares a population: one of Uniform, Dates, Numbers, Table and
// Product.
type Spec struct {
	Name string `json:"part,omitempty"` // of a part of a product

	// Uniform is the number of values, as 1000, 10^9 or 2^128.
	Uniform Count  `json:"uniform,omitempty"`
	Ignore  string `json:"ignore,omitempty"` // characters that are left out first

	// Pattern is an RE2 that a whole value matches, of whatever kind it is.
	Pattern string `json:"pattern,omitempty"`

	Dates []string `json:"dates,omitempty"` // first and last day, as 2006-01-02
	Order string   `json:"order,omitempty"` // of 03/04/1990: "dmy", the default, or "mdy"

	Numbers []int64 `json:"numbers,omitempty"` // first, last, and the step between values

	Table *Table `json:"table,omitempty"`

	Product []Spec `json:"product,omitempty"`
	Split   string `json:"split,omitempty"` // how a value falls into parts: "at", "comma", "name" or "cut"
	Cut     []int  `json:"cut,omitempty"`   // for "cut": where, from the end if negative
}

// Count is a number of values, as ParseCount reads it. In JSON it is a text or
// a whole number.
type Count string

// UnmarshalJSON takes both forms.
func (c *Count) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		return json.Unmarshal(b, (*string)(c))
	}
	*c = Count(b)
	return nil
}

// By says what a level keeps: a column for each part that it does not leave
// out. A population that is no product has one part, with the empty name.
type By map[string]string

// Population is a product of parts.
type Population struct {
	parts []part
	split func(string) ([]string, bool)
}

// New makes a population whose parts are fine enough for what is used of it.
func New(spec *Spec, uses []By) (*Population, error) {
	p := &Population{split: func(s string) ([]string, bool) { return []string{s}, true }}
	specs := []Spec{*spec}
	if spec.Product != nil {
		if len(spec.Product) > MaxParts {
			return nil, fmt.Errorf("a product has at most %d parts", MaxParts)
		}
		specs = spec.Product
		var err error
		if p.split, err = splitter(spec.Split, spec.Cut, len(specs)); err != nil {
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
		case slices.ContainsFunc(p.parts, func(o part) bool { return o.name == s.Name }):
			return nil, fmt.Errorf("the part %q comes twice", s.Name)
		}
		var columns []string
		for _, u := range uses {
			if c, ok := u[s.Name]; ok && c != Whole {
				columns = append(columns, c)
			}
		}
		one, err := newPart(s, columns)
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
		n.Mul(n, p.parts[i].members)
	}
	return n
}

// Atoms returns the number of atoms of all parts.
func (p *Population) Atoms() int {
	n := 0
	for i := range p.parts {
		n += len(p.parts[i].atoms)
	}
	return n
}

// find returns the atom of each part.
func (p *Population) find(value string) ([]int, error) {
	if len(value) > MaxValue {
		return nil, ErrOutside
	}
	texts, ok := p.split(value)
	if !ok || len(texts) != len(p.parts) {
		return nil, ErrOutside
	}
	out := make([]int, len(p.parts))
	for i := range p.parts {
		if out[i], ok = p.parts[i].find(texts[i]); !ok {
			return nil, ErrOutside
		}
	}
	return out, nil
}

// splitter cuts a value into n texts.
func splitter(kind string, cut []int, n int) (func(string) ([]string, bool), error) {
	switch {
	case kind != "cut" && cut != nil:
		return nil, errors.New("cut is for split: cut")
	case kind == "at" && n == 2:
		return func(s string) ([]string, bool) {
			s = strings.TrimSpace(s)
			i := strings.LastIndexByte(s, '@')
			if i < 1 || i == len(s)-1 {
				return nil, false
			}
			return []string{s[:i], s[i+1:]}, true
		}, nil
	case kind == "name" && n == 2:
		return splitName, nil
	case kind == "comma" && n >= 2:
		return func(s string) ([]string, bool) {
			fields := strings.Split(s, ",")
			if len(fields) < n {
				return nil, false
			}
			first := len(fields) - n + 1
			out := []string{strings.TrimSpace(strings.Join(fields[:first], ","))}
			for _, f := range fields[first:] {
				out = append(out, strings.TrimSpace(f))
			}
			return out, true
		}, nil
	case kind == "cut" && n == len(cut)+1:
		return func(s string) ([]string, bool) {
			s = strip(s, " -")
			var out []string
			from := 0
			for _, c := range cut {
				if c < 0 {
					c += len(s)
				}
				if c <= from || c >= len(s) {
					return nil, false
				}
				out = append(out, s[from:c])
				from = c
			}
			return append(out, s[from:]), true
		}, nil
	case kind == "at" || kind == "name":
		return nil, fmt.Errorf("split: %s makes two parts, there are %d", kind, n)
	case kind == "cut":
		return nil, fmt.Errorf("%d cuts make %d parts, there are %d", len(cut), len(cut)+1, n)
	default:
		return nil, fmt.Errorf("a product needs split: at, comma, name or cut, not %q", kind)
	}
}

// splitName takes the last word, or what stands before a comma, as the second
// part.
func splitName(s string) ([]string, bool) {
	if family, given, ok := strings.Cut(s, ","); ok {
		s = given + " " + strings.ReplaceAll(strings.TrimSpace(family), " ", "-")
	}
	words := strings.Fields(s)
	if len(words) < 2 {
		return nil, false
	}
	return []string{strings.Join(words[:len(words)-1], " "), words[len(words)-1]}, true
}

// strip leaves characters out.
func strip(s, chars string) string {
	if !strings.ContainsAny(s, chars) {
		return s
	}
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(chars, r) {
			return -1
		}
		return r
	}, s)
}

// Open reports whether texts of any kind are in a population, or in a part of
// it: one that lists nothing and has no pattern. Such a value may say more than
// the population has members.
func (s *Spec) Open() bool {
	for i := range s.Product {
		if s.Product[i].Open() {
			return true
		}
	}
	return s.Uniform != "" && s.Pattern == ""
}
