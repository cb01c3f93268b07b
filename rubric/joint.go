package rubric

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/rubric/population"
)

// joint is what views of one value, with its parts and dependent fields, disclose
// together. All their fields and levels exist.
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
			sum = sum.Add(r.tied(f.tie, seen))
		}
	}
	return sum
}

// levels are the finest levels that were shown of the fields over one
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
	slices.SortFunc(ls, func(a, b seenLevel) int { return strings.Compare(a.field.Name, b.field.Name) })
	return ls
}

func (ls levels) key() string {
	var b strings.Builder
	for _, l := range ls {
		fmt.Fprintf(&b, "%s@%d ", l.field.Name, l.level)
	}
	return b.String()
}

func (ls levels) view(root *field) population.View {
	vs := make([]population.View, len(ls))
	for i, l := range ls {
		vs[i] = l.field.Chain.View(l.level)
	}
	return root.Population.Meet(vs...)
}

// cost of views over the population of a root field. Within one chain it is
// that of the finest level.
func (ls levels) cost(root *field) flow.Bits {
	if len(ls) == 1 {
		return ls[0].field.Chain.Cost(ls[0].level)
	}
	return root.memo.get(ls.key(), func() flow.Bits { return root.Population.Joint(ls.view(root)) })
}

// tied is the cost of views over the populations of a component; never less
// than that of one population alone.
func (r *Rubric) tied(t *tie, seen map[*field]levels) flow.Bits {
	key, least := "", flow.Bits(0)
	views := map[string]population.View{}
	for _, name := range t.Fields() {
		if f := r.fields[name]; seen[f] != nil {
			key += seen[f].key()
			least = max(least, seen[f].cost(f))
			views[name] = seen[f].view(f)
		}
	}
	if key == "" {
		return 0
	}
	return max(least, t.memo.get(key, func() flow.Bits { return t.Joint(views) }))
}

// generalize names a value's cell at a level.
func (f *field) generalize(level int, value string) (string, error) {
	if level < 0 || level > len(f.Levels) {
		return "", ErrLevel
	}
	s, err := f.Chain.Label(level, value)
	if errors.Is(err, population.ErrOutside) {
		return "", ErrOutside
	}
	return s, err
}

// memo keeps what was computed once.
type memo struct {
	mu sync.RWMutex
	of map[string]flow.Bits
}

func (m *memo) get(key string, compute func() flow.Bits) flow.Bits {
	m.mu.RLock()
	b, ok := m.of[key]
	m.mu.RUnlock()
	if ok {
		return b
	}
	b = compute()
	const most = 1 << 14
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.of == nil {
		m.of = map[string]flow.Bits{}
	}
	if len(m.of) < most {
		m.of[key] = b
	}
	return b
}
