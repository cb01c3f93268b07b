package population

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/yamldoc"
	"github.com/margaydev/margay/rubric/domain"
)

// Level declares a level of a field.
type Level struct {
	Name string
	By   By
	// Bits is the most that the level may disclose: cells that would disclose
	// more are merged until none does.
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
	view View
	as   string
	cost flow.Bits
}

// Chain makes a field's levels, the finest first. Reads is nil for a field
// whose values are the population's, and else says what of them the field has:
// the brand of a card's number.
func (p *Population) Chain(reads By, levels []Level) (*Chain, error) {
	if len(levels) > MaxLevels {
		return nil, fmt.Errorf("a field has at most %d levels", MaxLevels)
	}
	c := &Chain{pop: p, levels: make([]cut, len(levels)+1)}
	c.levels[0].view = p.All()
	if reads != nil {
		var err error
		if c.levels[0].view, err = p.base(reads); err != nil {
			return nil, err
		}
		c.speak()
	}
	c.levels[0].cost = p.Joint(c.levels[0].view)
	bases := []View{c.levels[0].view}
	for i := range levels {
		l := &levels[i]
		v, err := p.base(l.By)
		if err == nil {
			err = p.function(bases[i], v)
		}
		if err == nil && i > 0 && l.Bits > levels[i-1].Bits {
			err = fmt.Errorf("it may disclose %s, more than the finer level's %s", l.Bits, levels[i-1].Bits)
		}
		if err != nil {
			return nil, place(i, l, err)
		}
		bases = append(bases, v)
	}
	// From the coarsest on: what was merged there limits what may be
	// distinguished here.
	coarser := p.nothing()
	for i := len(levels); i > 0; i-- {
		l := &levels[i-1]
		v, err := p.merge(bases[i], coarser, l.Bits, l.Rest)
		if err == nil {
			err = p.format(l.As)
		}
		if err != nil {
			return nil, place(i-1, l, err)
		}
		c.levels[i], coarser = cut{v, l.As, p.Joint(v)}, v
	}
	for i := 1; i < len(c.levels); i++ {
		if c.levels[i].cost > c.levels[i-1].cost {
			return nil, place(i-1, &levels[i-1], errors.New("it discloses more than the finer level"))
		}
	}
	return c, nil
}

// place says at which level a mistake is.
func place(i int, l *Level, err error) error {
	return yamldoc.Where(fmt.Errorf("level %s: %w", l.Name, err), "levels", strconv.Itoa(i))
}

// base is the view that columns make.
func (p *Population) base(by By) (View, error) {
	v := p.nothing()
	if len(by) == 0 {
		return v, errors.New("it keeps nothing: redact does that")
	}
	for name := range by {
		i := slices.IndexFunc(p.parts, func(q *domain.Part) bool { return q.Name == name })
		switch {
		case i < 0 && name == "":
			return v, errors.New("for a product, name what is kept of each part")
		case i < 0:
			return v, fmt.Errorf("unknown part %q", name)
		case by[name] == Whole:
			v[i].whole = true
			continue
		}
		c, ok := p.parts[i].Columns[by[name]]
		if !ok {
			return v, fmt.Errorf("unknown column %q", by[name])
		}
		v[i] = side{of: c.Of, cells: len(c.Labels), labels: c.Labels}
	}
	return v, nil
}

// function checks that a level is a function of the next finer one, atom by
// atom.
func (p *Population) function(finer, coarser View) error {
	for i := range p.parts {
		fine, coarse := finer[i], coarser[i]
		switch {
		case fine.whole || coarse.of == nil && !coarse.whole:
			continue
		case coarse.whole || fine.of == nil:
			return fmt.Errorf("it keeps more%s than the finer level", p.partWord(i))
		}
		seen := make([]int32, fine.cells)
		for a, c := range fine.of {
			k := coarse.of[a] + 1
			if seen[c] == 0 {
				seen[c] = k
			}
			if seen[c] != k {
				return fmt.Errorf("it is not a function of the finer level: %q is in %q and in %q",
					fine.labels[c], coarse.labels[seen[c]-1], coarse.labels[k-1])
			}
		}
	}
	return nil
}

func (p *Population) partWord(i int) string {
	if p.parts[i].Name == "" {
		return ""
	}
	return " of " + p.parts[i].Name
}

// format checks what names a cell.
func (p *Population) format(as string) error {
	if len(as) > 200 {
		return errors.New("as has at most 200 characters")
	}
	for _, m := range placeholder.FindAllStringSubmatch(as, -1) {
		if m[2] == "" {
			return errors.New("as: a brace is not closed")
		}
		if !slices.ContainsFunc(p.parts, func(q *domain.Part) bool { return q.Name == m[1] }) {
			return fmt.Errorf("as: unknown part %q", m[1])
		}
	}
	return nil
}

// placeholder is a part's name in braces, of which the last may be missing.
var placeholder = regexp.MustCompile(`\{([^}]*)(\}?)`)

// speak lets a dependent field's own values be found: the labels of what it
// reads.
func (c *Chain) speak() {
	c.spoken = make([]map[string]int, len(c.pop.parts))
	for i, read := range c.levels[0].view {
		if read.of == nil {
			continue
		}
		c.reads = append(c.reads, i)
		c.spoken[i] = map[string]int{}
		for a, cell := range read.of {
			if k := domain.Fold(read.labels[cell]); c.spoken[i][k] == 0 {
				c.spoken[i][k] = a + 1
			}
		}
	}
}

// Cost is what a level discloses at most; of level 0, the value as it is.
func (c *Chain) Cost(level int) flow.Bits { return c.levels[level].cost }

// View is what a level discloses, for Population.Joint.
func (c *Chain) View(level int) View { return c.levels[level].view }

// find returns a value's atom in each part, -1 where a dependent field's own
// value leaves it open, and the value's normal form.
func (c *Chain) find(value string) (atoms []int, normal string, err error) {
	if len(c.reads) == 1 && len(value) <= MaxValue {
		folded := domain.Fold(value)
		if a := c.spoken[c.reads[0]][folded]; a > 0 {
			atoms = slices.Repeat([]int{-1}, len(c.pop.parts))
			atoms[c.reads[0]] = a - 1
			return atoms, folded, nil
		}
	}
	return c.pop.find(value)
}

// Label is the text for a value at a level; at level 0 it is the value, or of
// a dependent field what it reads. It wraps ErrOutside.
func (c *Chain) Label(level int, value string) (string, error) {
	atoms, _, err := c.find(value)
	if err != nil {
		return "", err
	}
	if level == 0 && c.reads == nil {
		return value, nil
	}
	l := &c.levels[level]
	names := make([]string, len(atoms))
	texts, whole := c.pop.split(value)
	for i, a := range atoms {
		switch known := l.view[i]; {
		case known.whole && (!whole || len(texts) != len(atoms)):
			return "", ErrOutside
		case known.whole:
			names[i] = texts[i]
		case known.of != nil && a >= 0:
			names[i] = known.labels[known.of[a]]
		}
	}
	if l.as == "" {
		return strings.Join(slices.DeleteFunc(names, func(s string) bool { return s == "" }), ", "), nil
	}
	pairs := make([]string, 0, 2*len(names))
	for i, n := range names {
		pairs = append(pairs, "{"+c.pop.parts[i].Name+"}", n)
	}
	return strings.NewReplacer(pairs...).Replace(l.as), nil
}

// Cells returns the number of cells of a level, 1 at least. A part that is
// kept as it is counts its atoms.
func (c *Chain) Cells(level int) int {
	n := 1
	for i, known := range c.levels[level].view {
		switch {
		case known.whole:
			n *= len(c.pop.parts[i].Atoms)
		case known.of != nil:
			n *= known.cells
		}
	}
	return n
}
