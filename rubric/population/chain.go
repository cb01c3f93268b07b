package population

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/margaydev/margay/flow"
)

// Level declares a level of a field.
type Level struct {
	Name string
	By   By
	// Bits is the most that the level may tell: cells that would tell more are
	// merged until none does.
	Bits flow.Bits
	// As is the text for a cell, with {} for its name, or {part} for that of a
	// part; by default the names with a comma between them.
	As string
	// Rest is the name of cells that were merged: "other" by default.
	Rest string
}

// Chain is a field's levels over a population: 0 is the value as it is, the
// last the coarsest.
type Chain struct {
	pop    *Population
	reads  []int // parts of a dependent field's own value; nil where it is the population's
	spoken []map[string]int
	levels []cut
}

// cut is a level, or what a dependent field reads as its value.
type cut struct {
	view   View
	labels [][]string // by part, of cells
	as     string
	cost   flow.Bits
}

// Chain makes a field's levels, the finest first. Reads is nil for a field
// whose values are the population's, and else says what of them the field has:
// the brand of a card's number.
func (p *Population) Chain(reads By, levels []Level) (*Chain, error) {
	if len(levels) > MaxLevels {
		return nil, fmt.Errorf("a field has at most %d levels", MaxLevels)
	}
	c := &Chain{pop: p, levels: make([]cut, len(levels)+1)}
	c.levels[0] = cut{view: p.All()}
	if reads != nil {
		v, labels, err := p.base(reads)
		if err != nil {
			return nil, err
		}
		c.levels[0] = cut{view: v, labels: labels}
		c.speak()
	}
	c.levels[0].cost = p.Joint(c.levels[0].view)
	bases := make([]cut, len(levels)+1)
	bases[0] = c.levels[0]
	for i := range levels {
		v, labels, err := p.base(levels[i].By)
		if err != nil {
			return nil, at1(i, &levels[i], err)
		}
		bases[i+1] = cut{view: v, labels: labels, as: levels[i].As}
		if err := p.function(&bases[i], &bases[i+1]); err != nil {
			return nil, at1(i, &levels[i], err)
		}
		if i > 0 && levels[i].Bits > levels[i-1].Bits {
			return nil, at1(i, &levels[i], fmt.Errorf("it may tell %s, more than the finer level's %s", levels[i].Bits, levels[i-1].Bits))
		}
	}
	// From the coarsest on: what was merged there bounds what may be told
	// apart here.
	coarser := cut{view: p.nothing(), labels: make([][]string, len(p.parts))}
	for i := len(levels); i > 0; i-- {
		l := &levels[i-1]
		got, err := p.merge(bases[i], coarser, l.Bits, l.Rest)
		if err == nil {
			err = p.format(l.As)
		}
		if err != nil {
			return nil, at1(i-1, l, err)
		}
		got.cost = p.Joint(got.view)
		c.levels[i], coarser = got, got
	}
	for i := 1; i < len(c.levels); i++ {
		if c.levels[i].cost > c.levels[i-1].cost {
			return nil, at1(i-1, &levels[i-1], errors.New("it tells more than the finer level"))
		}
	}
	return c, nil
}

// LevelError is a mistake in a level.
type LevelError struct {
	Level int // index, from 0
	err   error
}

func at1(i int, l *Level, err error) error {
	return &LevelError{i, fmt.Errorf("level %s: %w", l.Name, err)}
}

func (e *LevelError) Error() string { return e.err.Error() }

// Unwrap returns the cause.
func (e *LevelError) Unwrap() error { return e.err }

// base is the cut that columns make.
func (p *Population) base(by By) (View, [][]string, error) {
	v, labels := p.nothing(), make([][]string, len(p.parts))
	if len(by) == 0 {
		return v, nil, errors.New("it keeps nothing: redact does that")
	}
	for name := range by {
		i := slices.IndexFunc(p.parts, func(q part) bool { return q.name == name })
		switch {
		case i < 0 && name == "":
			return v, nil, errors.New("of a product, say what is kept of each part")
		case i < 0:
			return v, nil, fmt.Errorf("there is no part %q", name)
		case by[name] == Whole:
			v.whole[i] = true
			continue
		}
		c, ok := p.parts[i].columns[by[name]]
		if !ok {
			return v, nil, fmt.Errorf("there is no column %q", by[name])
		}
		v.of[i], v.cells[i], labels[i] = c.of, len(c.labels), c.labels
	}
	return v, labels, nil
}

// function checks that a level is a function of the next finer one, atom by
// atom.
func (p *Population) function(fine, coarse *cut) error {
	for i := range p.parts {
		switch {
		case fine.view.whole[i] || coarse.view.of[i] == nil && !coarse.view.whole[i]:
			continue
		case coarse.view.whole[i] || fine.view.of[i] == nil:
			return fmt.Errorf("it keeps more%s than the finer level", p.partWord(i))
		}
		seen := make([]int32, fine.view.cells[i])
		for a, c := range fine.view.of[i] {
			k := coarse.view.of[i][a] + 1
			if seen[c] == 0 {
				seen[c] = k
			}
			if seen[c] != k {
				return fmt.Errorf("it is no function of the finer level: %q is in %q and in %q",
					fine.labels[i][c], coarse.labels[i][seen[c]-1], coarse.labels[i][k-1])
			}
		}
	}
	return nil
}

func (p *Population) partWord(i int) string {
	if p.parts[i].name == "" {
		return ""
	}
	return " of " + p.parts[i].name
}

// format checks what names a cell.
func (p *Population) format(as string) error {
	if len(as) > 200 {
		return errors.New("as has at most 200 characters")
	}
	for rest := as; ; {
		_, after, ok := strings.Cut(rest, "{")
		if !ok {
			return nil
		}
		name, next, ok := strings.Cut(after, "}")
		if !ok {
			return errors.New("as: a brace is not closed")
		}
		if !slices.ContainsFunc(p.parts, func(q part) bool { return q.name == name }) {
			return fmt.Errorf("as: there is no part %q", name)
		}
		rest = next
	}
}

// speak lets a dependent field's own values be found: the labels of what it
// reads.
func (c *Chain) speak() {
	l := &c.levels[0]
	c.spoken = make([]map[string]int, len(c.pop.parts))
	for i := range c.pop.parts {
		if l.view.of[i] == nil {
			continue
		}
		c.reads = append(c.reads, i)
		c.spoken[i] = map[string]int{}
		for a, cell := range l.view.of[i] {
			if k := fold(l.labels[i][cell]); c.spoken[i][k] == 0 {
				c.spoken[i][k] = a + 1
			}
		}
	}
}

// Levels returns the number of levels, besides 0.
func (c *Chain) Levels() int { return len(c.levels) - 1 }

// Cost is what a level tells at most; of level 0, the value as it is.
func (c *Chain) Cost(level int) flow.Bits { return c.levels[level].cost }

// View is what a level tells, for Population.Joint.
func (c *Chain) View(level int) View { return c.levels[level].view }

// atoms finds a value's atom in each part; -1 where a dependent field's own
// value does not tell.
func (c *Chain) atoms(value string) ([]int, error) {
	if len(c.reads) == 1 && len(value) <= MaxValue {
		if a := c.spoken[c.reads[0]][fold(value)]; a > 0 {
			out := make([]int, len(c.pop.parts))
			for i := range out {
				out[i] = -1
			}
			out[c.reads[0]] = a - 1
			return out, nil
		}
	}
	return c.pop.find(value)
}

// Label is the text for a value at a level; at level 0 it is the value, or of
// a dependent field what it reads. It wraps ErrOutside.
func (c *Chain) Label(level int, value string) (string, error) {
	atoms, err := c.atoms(value)
	if err != nil {
		return "", err
	}
	if level == 0 && c.reads == nil {
		return value, nil
	}
	l := &c.levels[level]
	names := make([]string, len(atoms))
	whole, err := c.wholes(l, value)
	if err != nil {
		return "", err
	}
	for i, a := range atoms {
		switch {
		case l.view.whole[i]:
			names[i] = whole[i]
		case l.view.of[i] != nil && a >= 0:
			names[i] = l.labels[i][l.view.of[i][a]]
		}
	}
	if l.as == "" {
		return strings.Join(slices.DeleteFunc(names, func(s string) bool { return s == "" }), ", "), nil
	}
	out := l.as
	pairs := make([]string, 0, 2*len(names))
	for i, n := range names {
		pairs = append(pairs, "{"+c.pop.parts[i].name+"}", n)
	}
	return strings.NewReplacer(pairs...).Replace(out), nil
}

// wholes are the texts of a value's parts, where a level keeps one as it is.
func (c *Chain) wholes(l *cut, value string) ([]string, error) {
	if !slices.Contains(l.view.whole, true) {
		return nil, nil
	}
	texts, ok := c.pop.split(value)
	if !ok || len(texts) != len(c.pop.parts) {
		return nil, ErrOutside
	}
	return texts, nil
}

// Cells returns the number of cells of a level, 1 at least. A part that is
// kept as it is counts its atoms.
func (c *Chain) Cells(level int) int {
	n := 1
	v := c.levels[level].view
	for i := range c.pop.parts {
		switch {
		case v.whole[i]:
			n *= len(c.pop.parts[i].atoms)
		case v.of[i] != nil:
			n *= v.cells[i]
		}
	}
	return n
}

// Normal returns a value's normal form: the same for values that differ in
// how they are written alone. One that is not understood is folded.
func (c *Chain) Normal(value string) string {
	if len(value) > MaxValue {
		return value
	}
	if len(c.reads) == 1 && c.spoken[c.reads[0]][fold(value)] > 0 {
		return fold(value)
	}
	if _, err := c.pop.find(value); err != nil {
		return fold(value)
	}
	texts, _ := c.pop.split(value)
	for i := range texts {
		texts[i] = c.pop.parts[i].normal(texts[i])
	}
	return strings.Join(texts, "|")
}
