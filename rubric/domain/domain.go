// Package domain says which values a secret field can have, how likely they are,
// and how people write them.
//
// A [Spec] declares them: a number of values of equal probability, the days
// or numbers of a range, the rows of a table, or a product of these. A [Part]
// is one of them with its atoms: sets of values that no level of a rubric
// distinguishes, each with a prior mass and a number of members that share it
// equally. Columns name coarser sets of atoms. All numbers are whole;
// everything is immutable once made.
package domain

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// MaxAtoms bounds the atoms of a part. What exceeds it is refused.
const MaxAtoms = 1 << 16

// Spec declares which values there are: one of Uniform, Dates, Numbers, Table and
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

// Splitter returns how a value of a product is cut into the texts of its n parts.
func Splitter(kind string, cut []int, n int) (func(string) ([]string, bool), error) {
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

// splitName takes the last word, or the text before a comma, as the second part.
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
	return s.Uniform != "" && s.Pattern == "" || slices.ContainsFunc(s.Product, func(part Spec) bool { return part.Open() })
}
