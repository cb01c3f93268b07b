package declassify

import (
	"encoding/binary"
	"errors"
	"sync"

	"github.com/margaydev/margay/declassify/credal"
	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/ledger"
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

// tree is a compiled graph and the bounds that were computed of it.
type tree struct {
	of     *credal.Tree
	fields []string // of its variables
	parts  [][]int  // its components
	rules  celled

	mu     sync.Mutex
	bounds map[string]flow.Bits
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
		t = &tree{rules: cells, bounds: map[string]flow.Bits{}}
		in := credal.Graph{}
		for _, v := range g.Variables {
			in.Variables = append(in.Variables, credal.Variable(v))
			t.fields = append(t.fields, v.Name)
		}
		for _, f := range g.Factors {
			in.Factors = append(in.Factors, credal.Factor(f))
		}
		var err error
		if t.of, err = credal.Compile(in, credal.Limits{}); err != nil {
			return nil, Audit.broken("%w", err)
		}
		t.parts = t.of.Components()
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.trees) >= maxTrees || a.trees == nil {
		a.trees = map[ledger.Hash]*tree{}
	}
	a.trees[by] = t
	return t, nil
}

// check bounds, for each dependency component and class, what all that sinks of
// the class or worse were shown tells of any secret in it, whatever the values
// are. It may exceed what the values were charged by the margin, all components
// taken together.
func (t *tree) check(f *family, atoms []ledger.Atom, s *ledger.State, class flow.Class, margin flow.Bits) error {
	for k := 1; k <= int(class); k++ {
		excess := flow.Bits(0)
		for _, part := range t.parts {
			levels, touched := t.levels(f, atoms, part, k)
			if !touched {
				continue
			}
			bound, err := t.bound(part, levels)
			if err != nil {
				return err
			}
			certified := t.certified(f, atoms, s, part, k)
			if bound > certified {
				excess = excess.Add(bound - certified)
			}
		}
		if excess > margin {
			return Audit.broken("sinks that are %v or worse may learn %v more than is charged, the margin is %v", flow.Class(k), excess, margin)
		}
	}
	return nil
}

// levels are the finest that sinks of a class or worse were shown of each
// variable of a component, plus one; 0 for none. Components of which nothing
// was shown tell nothing.
func (t *tree) levels(f *family, atoms []ledger.Atom, part []int, k int) (levels []int, touched bool) {
	levels = make([]int, len(part))
	for i, v := range part {
		levels[i] = f.finest[t.fields[v]][k]
		for j := range atoms {
			a := &atoms[j]
			if a.Field == t.fields[v] && a.Op >= ledger.Generalize {
				if n := int(a.Level) + 1; levels[i] == 0 || n < levels[i] {
					levels[i] = n
				}
			}
		}
		touched = touched || levels[i] > 0
	}
	return levels, touched
}

// certified is what all values of a component were charged, unweighted.
func (t *tree) certified(f *family, atoms []ledger.Atom, s *ledger.State, part []int, k int) flow.Bits {
	sum := flow.Bits(0)
	in := func(field string) bool {
		for _, v := range part {
			if t.fields[v] == field {
				return true
			}
		}
		return false
	}
	for _, v := range part {
		sum = sum.Add(f.sum[t.fields[v]][k])
	}
	seen := make(map[ledger.Hash]bool, len(atoms))
	for i := range atoms {
		if a := &atoms[i]; !seen[a.Value] && in(a.Field) {
			seen[a.Value] = true
			sum = sum.Add(a.After[k] - s.After(a.Value)[k])
		}
	}
	return sum
}

// bound is the most that views at these levels tell of any variable of the
// component: the worst over all combinations of cells that there may be.
func (t *tree) bound(part, levels []int) (flow.Bits, error) {
	key := make([]byte, 0, 4*len(part)+4)
	key = binary.AppendUvarint(key, uint64(part[0]))
	for _, l := range levels {
		key = binary.AppendUvarint(key, uint64(l))
	}
	t.mu.Lock()
	b, ok := t.bounds[string(key)]
	t.mu.Unlock()
	if ok {
		return b, nil
	}
	b, err := t.worst(part, levels)
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

func (t *tree) worst(part, levels []int) (flow.Bits, error) {
	var seen [][]credal.Observation // by variable, the cells that it may be in
	all := 1
	for i, v := range part {
		if levels[i] == 0 {
			continue
		}
		cells := t.rules.Cells(t.fields[v], levels[i]-1)
		if len(cells) == 0 {
			return 0, Audit.broken("%s has no cells at level %d", t.fields[v], levels[i]-1)
		}
		if all *= len(cells); all > maxCells {
			return 0, Audit.broken("more than %d combinations of what may have been shown", maxCells)
		}
		row := make([]credal.Observation, len(cells))
		for j, c := range cells {
			o, err := t.of.Left(v, c)
			if err != nil {
				return 0, Audit.broken("%s at level %d: %w", t.fields[v], levels[i]-1, err)
			}
			row[j] = o
		}
		seen = append(seen, row)
	}
	scratch := t.of.NewScratch()
	at := make([]int, len(seen))
	view := make([]credal.Observation, len(seen))
	worst := flow.Bits(0)
	for {
		for i := range seen {
			view[i] = seen[i][at[i]]
		}
		bounds, err := scratch.Bound(view)
		switch {
		case err == nil:
			for _, v := range part {
				worst = max(worst, flow.BitsOf(bounds[v]))
			}
		case errors.Is(err, credal.ErrInconsistent): // nobody has such values
		default:
			return 0, Audit.broken("%w", err)
		}
		i := 0
		for i < len(at) {
			if at[i]++; at[i] < len(seen[i]) {
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
