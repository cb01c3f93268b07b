package rubriclint

import (
	"errors"
	"fmt"
	"strings"

	"github.com/margaydev/margay/declassify/credal"
	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/rubric"
)

// maxViews bounds the combinations of views of a component, maxCells those of
// cells that one of them may be. Beyond them nothing is found; the audit
// itself refuses what it can't bound.
const (
	maxViews = 512
	maxCells = 4096
)

// Audit finds views that the operators admit together, for sinks of one class,
// and that the audit would refuse whatever the values are: by the dependency
// graph they tell more than their certified cost and the margin.
func Audit(res *rubric.Resolved) ([]string, error) {
	t, err := compile(res)
	if err != nil || t == nil {
		return nil, err
	}
	margin := res.Limits().Margin
	var out []string
	for _, part := range t.Components() {
		var fields []string
		for _, f := range res.Fields() {
			if v, ok := t.Index(res.Root(f)); ok && contains(part, v) {
				fields = append(fields, f)
			}
		}
		seen := map[string]bool{}
		for _, class := range classes {
			for _, views := range combos(res, fields, class) {
				key := fmt.Sprint(views)
				if len(views) == 0 || seen[key] {
					continue
				}
				seen[key] = true
				bound, err := worst(res, t, part, views)
				if err != nil {
					return nil, err
				}
				if joint := res.Joint(views); bound > joint.Add(margin) {
					out = append(out, fmt.Sprintf("%s tell up to %v, and are certified at %v with a margin of %v: the audit refuses them", describe(views), bound, joint, margin))
				}
			}
		}
	}
	return out, nil
}

func contains(list []int, v int) bool {
	for _, x := range list {
		if x == v {
			return true
		}
	}
	return false
}

func describe(views []rubric.View) string {
	out := make([]string, len(views))
	for i, v := range views {
		out[i] = fmt.Sprintf("%s at level %d", v.Field, v.Level)
	}
	return strings.Join(out, " and ")
}

// combos are the combinations of levels that operators on fields admit.
func combos(res *rubric.Resolved, fields []string, class flow.Class) [][]rubric.View {
	out := [][]rubric.View{nil}
	for _, f := range fields {
		now := out
		for _, o := range res.Operators(f, class) {
			if o.Kind < rubric.Generalize {
				continue
			}
			for _, c := range now {
				if len(out) == maxViews {
					return out
				}
				out = append(out, append(c[:len(c):len(c)], rubric.View{Field: f, Level: o.Level}))
			}
		}
	}
	return out
}

// worst is the most that views tell of a variable of a component, over all
// cells that they may be.
func worst(res *rubric.Resolved, t *credal.Tree, part []int, views []rubric.View) (flow.Bits, error) {
	rows := make([][]credal.Observation, len(views))
	all := 1
	for i, v := range views {
		at, _ := t.Index(res.Root(v.Field))
		for _, c := range res.Cells(v.Field, v.Level) {
			o, err := t.Left(at, c)
			if err != nil {
				return 0, err
			}
			rows[i] = append(rows[i], o)
		}
		if all *= len(rows[i]); all > maxCells {
			return 0, nil
		}
	}
	scratch, view := t.NewScratch(), make([]credal.Observation, len(views))
	most := flow.Bits(0)
	for n := range all {
		for i := range rows {
			view[i] = rows[i][n%len(rows[i])]
			n /= len(rows[i])
		}
		bounds, err := scratch.Bound(view)
		if errors.Is(err, credal.ErrInconsistent) {
			continue // nobody has such values
		}
		if err != nil {
			return 0, err
		}
		for _, v := range part {
			most = max(most, flow.BitsOf(bounds[v]))
		}
	}
	return most, nil
}
