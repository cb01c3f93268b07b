package label

import (
	"fmt"
	"slices"
	"strings"
)

// custom is a finite lattice given by its Hasse diagram.
type custom struct {
	names  []string
	bottom int
	join   [][]int
}

// maxElements bounds a custom component.
const maxElements = 256

// Custom makes a component from a Hasse diagram: above lists, for every
// element, those directly above it. There must be one element below all
// others, which becomes the bottom, and every two must have a join; the error
// names a pair that has none, or an element on a cycle.
func Custom(above map[string][]string) (Component, error) {
	var names []string
	for n, ups := range above {
		names = append(names, n)
		names = append(names, ups...)
	}
	slices.Sort(names)
	names = slices.Compact(names)
	if len(names) == 0 || len(names) > maxElements {
		return nil, fmt.Errorf("%w: a lattice has 1 to %d elements", ErrLabel, maxElements)
	}
	if slices.ContainsFunc(names, func(n string) bool { return n == "" || strings.ContainsAny(n, "(), ") }) {
		return nil, fmt.Errorf("%w: names must not be empty or have a space, comma or bracket", ErrLabel)
	}
	index := map[string]int{}
	for i, n := range names {
		index[n] = i
	}
	// below[i][j]: i ⊑ j, the reflexive and transitive closure.
	below := make([][]bool, len(names))
	for i := range below {
		below[i] = make([]bool, len(names))
		below[i][i] = true
		for _, up := range above[names[i]] {
			below[i][index[up]] = true
		}
	}
	for k := range names {
		for i := range names {
			for j := range names {
				below[i][j] = below[i][j] || below[i][k] && below[k][j]
			}
		}
	}
	for i := range names {
		for j := range names {
			if i != j && below[i][j] && below[j][i] {
				return nil, fmt.Errorf("%w: %s lies on a cycle with %s", ErrLabel, names[i], names[j])
			}
		}
	}
	c := &custom{names: names}
	for i := range names {
		row := make([]int, len(names))
		for j := range names {
			k, ok := least(below, i, j)
			if !ok {
				return nil, fmt.Errorf("%w: %s and %s have no join", ErrLabel, names[i], names[j])
			}
			row[j] = k
		}
		c.join = append(c.join, row)
	}
	c.bottom = slices.IndexFunc(below, func(ups []bool) bool { return !slices.Contains(ups, false) })
	if c.bottom < 0 {
		return nil, fmt.Errorf("%w: no element lies below all others", ErrLabel)
	}
	return c, nil
}

// least returns the least element above both i and j.
func least(below [][]bool, i, j int) (int, bool) {
	for k := range below {
		if !below[i][k] || !below[j][k] {
			continue
		}
		is := true
		for m := range below {
			is = is && (!below[i][m] || !below[j][m] || below[k][m])
		}
		if is {
			return k, true
		}
	}
	return 0, false
}

func (c *custom) at(e Element) int {
	if e == "" {
		return c.bottom
	}
	return slices.Index(c.names, string(e))
}

func (c *custom) element(i int) Element {
	if i == c.bottom {
		return ""
	}
	return Element(c.names[i])
}

// Join of an unknown element is that element, which flows nowhere: a join never
// loses height.
func (c *custom) Join(a, b Element) Element {
	i, j := c.at(a), c.at(b)
	switch {
	case i < 0:
		return a
	case j < 0:
		return b
	}
	return c.element(c.join[i][j])
}

func (c *custom) Parse(s string) (Element, error) {
	i := slices.Index(c.names, s)
	if i < 0 {
		return "", fmt.Errorf("%w: unknown element %q; known elements are %s", ErrLabel, s, strings.Join(c.names, ", "))
	}
	return c.element(i), nil
}

func (c *custom) Format(e Element) string {
	if e == "" {
		return c.names[c.bottom]
	}
	return string(e)
}
