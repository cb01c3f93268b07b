package declassify

import (
	"encoding/binary"
	"errors"
	"strings"
	"sync"

	"github.com/margaydev/margay/declassify/credal"
	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/ledger"
	"github.com/margaydev/margay/rubric"
)

// celled is what Rules with a graph have besides: the kinds of cells that a
// level cuts a field's population into, each as the number of members of every
// state of the field's variable that are in it. Nil where the graph does not
// have the field.
type celled interface {
	Cells(field string, level int) [][]float64
}

// maxCells bounds the combinations of cells that one bound is the worst of.
const maxCells = 4096

// auditor bounds what views tell by the rubrics' dependency graphs. It is safe
// for concurrent use.
type auditor struct {
	mu    sync.Mutex
	trees map[ledger.Hash]*tree // by the hash of the rubrics
}

// rooted is what Rules have besides where fields are views of others: the
// field whose variable a field tells of.
type rooted interface{ Root(field string) string }

// tree is a compiled graph and the bounds that were computed of it.
type tree struct {
	of     *credal.Tree
	fields []string       // that tell of a variable, sorted
	at     map[string]int // their variables
	split  map[string]bool
	parts  [][]int // its components
	part   []int   // of each variable
	rules  celled

	mu     sync.Mutex
	bounds map[string]flow.Bits
}

// seen is a field at the finest level that was shown.
type seen struct {
	field string
	level int
}

const (
	maxTrees  = 256
	maxBounds = 4096
)

// tree compiles the graph of rules, once. It is nil where there is none.
func (a *auditor) tree(by ledger.Hash, rules Rules) (*tree, error) {
	a.mu.Lock()
	t, ok := a.trees[by]
	a.mu.Unlock()
	if ok {
		return t, nil
	}
	g := rules.Graph()
	if len(g.Variables) > 0 {
		cells, ok := rules.(celled)
		if !ok {
			return nil, Audit.broken("the rubrics have a graph and no cells")
		}
		var err error
		if t, err = compile(&g, rules, cells); err != nil {
			return nil, err
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.trees) >= maxTrees || a.trees == nil {
		a.trees = map[ledger.Hash]*tree{}
	}
	a.trees[by] = t
	return t, nil
}

func compile(g *rubric.Graph, rules Rules, cells celled) (*tree, error) {
	t := &tree{rules: cells, bounds: map[string]flow.Bits{}, at: map[string]int{}, split: map[string]bool{}}
	in := credal.Graph{}
	for _, v := range g.Variables {
		in.Variables = append(in.Variables, credal.Variable(v))
		if base, _, several := strings.Cut(v.Name, "#"); several {
			t.split[base] = true // rubrics differ in what depends on it
		}
	}
	for _, f := range g.Factors {
		in.Factors = append(in.Factors, credal.Factor(f))
	}
	var err error
	if t.of, err = credal.Compile(in, credal.Limits{}); err != nil {
		return nil, Audit.broken("%w", err)
	}
	t.parts = t.of.Components()
	t.part = make([]int, t.of.Len())
	for i, part := range t.parts {
		for _, v := range part {
			t.part[v] = i
		}
	}
	for _, field := range rules.Fields() {
		root := field
		if r, ok := rules.(rooted); ok {
			root = r.Root(field)
		}
		if v, ok := t.of.Index(root); ok {
			t.fields, t.at[field] = append(t.fields, field), v
		}
		t.split[field] = t.split[field] || t.split[root]
	}
	return t, nil
}

// check bounds, for each dependency component and class, what all that sinks of
// the class or worse were shown tells of any secret in it, whatever the values
// are. It may exceed what the values were charged by the margin, all components
// taken together.
func (t *tree) check(f *family, atoms []ledger.Atom, s *ledger.State, class flow.Class, margin flow.Bits) error {
	for k := 1; k <= int(class); k++ {
		excess := flow.Bits(0)
		for i := range t.parts {
			views, err := t.views(f, atoms, i, k)
			if err != nil {
				return err
			}
			if len(views) == 0 {
				continue // nothing was shown, which tells nothing
			}
			bound, err := t.bound(i, views)
			if err != nil {
				return err
			}
			if certified := t.certified(f, atoms, s, i, k); bound > certified {
				excess = excess.Add(bound - certified)
			}
		}
		if excess > margin {
			return Audit.broken("sinks that are %v or worse may learn %v more than is charged, the margin is %v", flow.Class(k), excess, margin)
		}
	}
	return nil
}

// views are what sinks of a class or worse were shown of a component: of each
// field the finest level.
func (t *tree) views(f *family, atoms []ledger.Atom, part, k int) ([]seen, error) {
	var out []seen
	for _, field := range t.fields {
		if t.part[t.at[field]] != part {
			continue
		}
		level := f.finest[field][k]
		for j := range atoms {
			a := &atoms[j]
			if a.Field == field && a.Op >= ledger.Generalize && (level == 0 || int(a.Level)+1 < level) {
				level = int(a.Level) + 1
			}
		}
		if level == 0 {
			continue
		}
		if t.split[field] {
			return nil, Audit.broken("the rubrics differ in what depends on %s", field)
		}
		out = append(out, seen{field, level - 1})
	}
	return out, nil
}

// certified is what all values of a component were charged, unweighted.
func (t *tree) certified(f *family, atoms []ledger.Atom, s *ledger.State, part, k int) flow.Bits {
	sum := flow.Bits(0)
	in := func(field string) bool {
		v, ok := t.at[field]
		return ok && t.part[v] == part
	}
	for _, field := range t.fields {
		if in(field) {
			sum = sum.Add(f.sum[field][k])
		}
	}
	counted := make(map[ledger.Hash]bool, len(atoms))
	for i := range atoms {
		if a := &atoms[i]; !counted[a.Value] && in(a.Field) {
			counted[a.Value] = true
			sum = sum.Add(a.After[k] - s.After(a.Value)[k])
		}
	}
	return sum
}

// bound is the most that views tell of any variable of the component: the
// worst over all combinations of cells that they may be.
func (t *tree) bound(part int, views []seen) (flow.Bits, error) {
	key := make([]byte, 0, 16*len(views)+4)
	key = binary.AppendUvarint(key, uint64(part))
	for _, v := range views {
		key = append(append(key, v.field...), 0, byte(v.level))
	}
	t.mu.Lock()
	b, ok := t.bounds[string(key)]
	t.mu.Unlock()
	if ok {
		return b, nil
	}
	b, err := t.worst(part, views)
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

func (t *tree) worst(part int, views []seen) (flow.Bits, error) {
	all := 1
	rows := make([][]credal.Observation, len(views)) // the cells that each view may be
	for i, v := range views {
		cells := t.rules.Cells(v.field, v.level)
		if len(cells) == 0 {
			return 0, Audit.broken("%s has no cells at level %d", v.field, v.level)
		}
		if all *= len(cells); all > maxCells {
			return 0, Audit.broken("more than %d combinations of what may have been shown", maxCells)
		}
		for _, c := range cells {
			o, err := t.of.Left(t.at[v.field], c)
			if err != nil {
				return 0, Audit.broken("%s at level %d: %w", v.field, v.level, err)
			}
			rows[i] = append(rows[i], o)
		}
	}
	scratch := t.of.NewScratch()
	at := make([]int, len(rows))
	view := make([]credal.Observation, len(rows))
	worst := flow.Bits(0)
	for {
		for i := range rows {
			view[i] = rows[i][at[i]]
		}
		bounds, err := scratch.Bound(view)
		switch {
		case err == nil:
			for _, v := range t.parts[part] {
				worst = max(worst, flow.BitsOf(bounds[v]))
			}
		case errors.Is(err, credal.ErrInconsistent): // nobody has such values
		default:
			return 0, Audit.broken("%w", err)
		}
		i := 0
		for i < len(at) {
			if at[i]++; at[i] < len(rows[i]) {
				break
			}
			at[i] = 0
			i++
		}
		if i == len(at) {
			return worst, nil
		}
	}
}
