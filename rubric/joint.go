package rubric

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/rubric/population"
)

// joint is what views of one value, with its parts and dependent fields, tell
// together. All of them are of fields and levels that there are.
func (r *Rubric) joint(views []View) flow.Bits {
	seen := map[*field]levels{} // by root
	for _, v := range views {
		f := r.fields[v.Field]
		seen[f.root] = seen[f.root].add(f, v.Level)
	}
	var sum flow.Bits
	done := map[*tie]bool{}
	for _, name := range r.names {
		f := r.fields[name]
		switch {
		case f.root != f || f.tie == nil && seen[f] == nil || f.tie != nil && done[f.tie]:
		case f.tie == nil:
			sum = sum.Add(seen[f].cost(f))
		default:
			done[f.tie] = true
			sum = sum.Add(f.tie.cost(seen))
		}
	}
	return sum
}

// levels are the finest levels that are seen of the fields over one
// population, in the order of the fields' names.
type levels []seenLevel

type seenLevel struct {
	field *field
	level int
}

func (ls levels) add(f *field, level int) levels {
	for i := range ls {
		if ls[i].field == f {
			ls[i].level = min(ls[i].level, level)
			return ls
		}
	}
	ls = append(ls, seenLevel{f, level})
	slices.SortFunc(ls, func(a, b seenLevel) int { return strings.Compare(a.field.name, b.field.name) })
	return ls
}

func (ls levels) key() string {
	var b strings.Builder
	for _, l := range ls {
		fmt.Fprintf(&b, "%s@%d ", l.field.name, l.level)
	}
	return b.String()
}

func (ls levels) view(root *field) population.View {
	vs := make([]population.View, len(ls))
	for i, l := range ls {
		vs[i] = l.field.chain.View(l.level)
	}
	return root.pop.Meet(vs...)
}

// cost of views over the population of a root field. Within one chain it is
// that of the finest level.
func (ls levels) cost(root *field) flow.Bits {
	if len(ls) == 1 {
		return ls[0].field.chain.Cost(ls[0].level)
	}
	return root.memo.get(ls.key(), func() flow.Bits { return root.pop.Joint(ls.view(root)) })
}

// cost of views over the populations of a component; never less than that of
// one population alone.
func (t *tie) cost(seen map[*field]levels) flow.Bits {
	key, least := "", flow.Bits(0)
	for _, f := range t.fields {
		if seen[f] != nil {
			key += seen[f].key()
			least = max(least, seen[f].cost(f))
		}
	}
	if key == "" {
		return 0
	}
	return max(least, t.memo.get(key, func() flow.Bits {
		views := map[*field]population.View{}
		for _, f := range t.fields {
			if seen[f] != nil {
				views[f] = seen[f].view(f)
			}
		}
		return t.joint(views)
	}))
}

// generalize names a value's cell at a level.
func (f *field) generalize(level int, value string) (string, error) {
	if level < 0 || level > len(f.levels) {
		return "", ErrLevel
	}
	s, err := f.chain.Label(level, value)
	if errors.Is(err, population.ErrOutside) {
		return "", ErrOutside
	}
	return s, err
}

// observe says what a view leaves of the graph's variable.
func (f *field) observe(level int, value string) ([]Seen, error) {
	t := f.root.tie
	if t == nil {
		return nil, nil
	}
	if level < 0 || level > len(f.levels) {
		return nil, ErrLevel
	}
	left, err := t.states[slices.Index(t.fields, f.root)].Left(f.chain, level, value)
	if err != nil {
		return nil, ErrOutside
	}
	return []Seen{{f.root.name, left}}, nil
}
