// Package bound bounds what the views of a family disclose by the dependency
// graphs of rubrics, whatever the values are: a second opinion on what was
// charged, for fields that depend on each other.
package bound

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/margaydev/margay/declassify/credal"
	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/ledger/charge"
	"github.com/margaydev/margay/rubric"
	"github.com/margaydev/margay/rubric/dependency"
)

// Errors of a bound. Callers refuse.
var (
	// ErrExcess says that views disclose more than is charged and the margin,
	// or that the bound can't be computed.
	ErrExcess = errors.New("audit")
	// ErrCells is an ErrExcess: views may show too many combinations of cells.
	ErrCells = excess("more than %d combinations of cells may have been shown", maxCells)
)

func excess(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrExcess}, args...)...)
}

// Dependencies are what rubrics declare about how fields depend on each other.
type Dependencies interface {
	// Graph is the dependency graph; it may be empty.
	Graph() dependency.Graph
	// Root names the field whose variable in the graph a field discloses:
	// itself, unless it is a view of another.
	Root(field string) string
	// Cells returns the kinds of cells that a level cuts a field's population
	// into, each as the number of members of every state of the field's
	// variable that are in it. Nil where the graph does not have the field.
	Cells(field string, level int) [][]float64
}

// Shown is what sinks were shown before; *shown.Family implements it.
type Shown interface {
	// Finest returns for each class the finest level of a field, plus one,
	// that sinks of the class or worse were shown; 0 for none.
	Finest(field string) [charge.Classes]int
	// Charged returns what all values of a field were charged, unweighted.
	Charged(field string) [charge.Classes]flow.Bits
}

// maxCells bounds the combinations of cells that one bound is the worst of.
const maxCells = 4096

// Auditor keeps the graphs that it has compiled, and the bounds that it has
// computed. The zero Auditor is ready; it is safe for concurrent use.
type Auditor struct {
	mu    sync.Mutex
	trees map[charge.Hash]*Tree // by the hash of the rubrics
}

// Tree is a compiled graph and the bounds that were computed of it. It is safe
// for concurrent use.
type Tree struct {
	Components []Component

	of    *credal.Tree
	at    map[string]int // variables by field
	split map[string]bool
	deps  Dependencies

	mu     sync.Mutex
	bounds map[string]flow.Bits
}

// Component is a set of fields that depend on each other.
type Component struct {
	Fields []string // sorted
	vars   []int
}

const (
	maxTrees  = 256
	maxBounds = 4096
)

// Release is a release to be audited.
type Release struct {
	By     charge.Hash   // its rubrics, as one hash
	Fields []string      // of the rubrics, sorted
	Atoms  []charge.Atom // with what they are charged
	State  *charge.State // before it
	Class  flow.Class    // of the sink
	Margin flow.Bits     // by which the bound may exceed what is charged
}

// Check bounds, for each dependency component and class, what sinks of the
// class or worse learn of any secret in it from all that they were shown. The
// bounds may exceed what the values were charged by the margin, for all
// components together; else the error wraps ErrExcess.
func (a *Auditor) Check(r *Release, before Shown, deps Dependencies) error {
	t, err := a.tree(r.By, r.Fields, deps)
	if err != nil || t == nil {
		return err
	}
	c := check{t, r, before}
	for k := 1; k <= int(r.Class); k++ {
		over := flow.Bits(0)
		for i := range t.Components {
			more, err := c.more(&t.Components[i], k)
			if err != nil {
				return err
			}
			over = over.Add(more)
		}
		if over > r.Margin {
			return excess("sinks that are %v or worse may learn %v more than is charged, the margin is %v", flow.Class(k), over, r.Margin)
		}
	}
	return nil
}

// tree compiles a graph, once. It is nil where there is none.
func (a *Auditor) tree(by charge.Hash, fields []string, deps Dependencies) (*Tree, error) {
	a.mu.Lock()
	t, ok := a.trees[by]
	a.mu.Unlock()
	if ok {
		return t, nil
	}
	t, err := Compile(fields, deps)
	if err != nil {
		return nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.trees) >= maxTrees || a.trees == nil {
		a.trees = map[charge.Hash]*Tree{}
	}
	a.trees[by] = t
	return t, nil
}

// Compile compiles the dependency graph of some fields, which are sorted. It is
// nil if nothing depends on anything.
func Compile(fields []string, deps Dependencies) (*Tree, error) {
	g := deps.Graph()
	if len(g.Variables) == 0 {
		return nil, nil //nolint:nilnil // there is nothing to bound
	}
	t := &Tree{deps: deps, bounds: map[string]flow.Bits{}, at: map[string]int{}, split: map[string]bool{}}
	for _, v := range g.Variables {
		if base, _, several := strings.Cut(v.Name, "#"); several {
			t.split[base] = true // rubrics differ in what depends on it
		}
	}
	var err error
	if t.of, err = credal.Compile(g); err != nil {
		return nil, excess("%w", err)
	}
	for _, vars := range t.of.Components() {
		t.Components = append(t.Components, Component{vars: vars})
	}
	for _, field := range fields {
		root := deps.Root(field)
		t.split[field] = t.split[field] || t.split[root]
		v, ok := t.of.Index(root)
		if !ok {
			continue
		}
		t.at[field] = v
		i := slices.IndexFunc(t.Components, func(c Component) bool { return slices.Contains(c.vars, v) })
		t.Components[i].Fields = append(t.Components[i].Fields, field)
	}
	return t, nil
}

// check is one release against one graph.
type check struct {
	*Tree
	*Release
	before Shown
}

// more is by how much the bound of a component exceeds what was charged.
func (c *check) more(part *Component, k int) (flow.Bits, error) {
	views, err := c.views(part, k)
	if err != nil || len(views) == 0 { // nothing was shown, which discloses nothing
		return 0, err
	}
	bound, err := c.bound(part, views)
	if err != nil {
		return 0, err
	}
	return max(0, bound-c.certified(part, k)), nil
}

// views are what sinks of a class or worse were shown of a component: of each
// field the finest level.
func (c *check) views(part *Component, k int) ([]rubric.View, error) {
	var out []rubric.View
	for _, field := range part.Fields {
		level := c.before.Finest(field)[k]
		for j := range c.Atoms {
			a := &c.Atoms[j]
			if a.Field == field && a.Op >= charge.Generalize && (level == 0 || int(a.Level)+1 < level) {
				level = int(a.Level) + 1
			}
		}
		if level == 0 {
			continue
		}
		if c.split[field] {
			return nil, excess("the rubrics differ in what depends on %s", field)
		}
		out = append(out, rubric.View{Field: field, Level: level - 1})
	}
	return out, nil
}

// certified is what all values of a component were charged, unweighted.
func (c *check) certified(part *Component, k int) flow.Bits {
	sum := flow.Bits(0)
	for _, field := range part.Fields {
		sum = sum.Add(c.before.Charged(field)[k])
	}
	counted := make(map[charge.Hash]bool, len(c.Atoms))
	for i := range c.Atoms {
		if a := &c.Atoms[i]; !counted[a.Value] && slices.Contains(part.Fields, a.Field) {
			counted[a.Value] = true
			sum = sum.Add(a.After[k] - c.State.After(a.Value)[k])
		}
	}
	return sum
}

// bound is Worst, computed once for the same views.
func (t *Tree) bound(part *Component, views []rubric.View) (flow.Bits, error) {
	key := make([]byte, 0, 16*len(views))
	for _, v := range views {
		key = append(append(key, v.Field...), 0, byte(v.Level))
	}
	t.mu.Lock()
	b, ok := t.bounds[string(key)]
	t.mu.Unlock()
	if ok {
		return b, nil
	}
	b, err := t.Worst(part, views)
	if err != nil {
		return 0, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.bounds) >= maxBounds {
		clear(t.bounds)
	}
	t.bounds[string(key)] = b
	return b, nil
}

// Worst is the most that views of fields of a component disclose of any variable
// in it: the worst over all combinations of cells that they may show.
func (t *Tree) Worst(part *Component, views []rubric.View) (flow.Bits, error) {
	all := 1
	rows := make([][]credal.Observation, len(views)) // the cells that each view may show
	for i, v := range views {
		cells := t.deps.Cells(v.Field, v.Level)
		if len(cells) == 0 {
			return 0, excess("%s has no cells at level %d", v.Field, v.Level)
		}
		if all *= len(cells); all > maxCells {
			return 0, ErrCells
		}
		for _, c := range cells {
			o, err := t.of.Left(t.at[v.Field], c)
			if err != nil {
				return 0, excess("%s at level %d: %w", v.Field, v.Level, err)
			}
			rows[i] = append(rows[i], o)
		}
	}
	scratch, view := t.of.NewScratch(), make([]credal.Observation, len(rows))
	worst := flow.Bits(0)
	for n := range all {
		for i, row := range rows {
			view[i] = row[n%len(row)]
			n /= len(row)
		}
		bounds, err := scratch.Bound(view)
		if errors.Is(err, credal.ErrInconsistent) {
			continue // nobody has such values
		}
		if err != nil {
			return 0, excess("%w", err)
		}
		for _, v := range part.vars {
			worst = max(worst, flow.BitsOf(bounds[v]))
		}
	}
	return worst, nil
}
