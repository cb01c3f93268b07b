package rubriclint

import (
	"errors"
	"fmt"
	"strings"

	"github.com/margaydev/margay/declassify/bound"
	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/rubric"
)

// maxViews bounds the combinations of views of a component. Beyond it nothing
// is found.
const maxViews = 512

// Audit finds views that the operators admit together, for sinks of one class,
// and that the audit would refuse for some values: by the dependency graph they
// disclose more than their certified cost and the margin. Where views may show
// too many cells to bound, nothing is found; the audit itself refuses them. The
// error says that the graph is too wide to be audited: treewidth above 4, or
// cliques of more than 4,096 states.
func Audit(res *rubric.Resolved) ([]string, error) {
	t, err := bound.Compile(res.Fields(), res)
	if err != nil || t == nil {
		return nil, err
	}
	margin := res.Limits().Margin
	var out []string
	for i := range t.Components {
		part := &t.Components[i]
		seen := map[string]bool{}
		for _, class := range classes {
			for _, views := range combos(res, part.Fields, class) {
				key := fmt.Sprint(views)
				if len(views) == 0 || seen[key] {
					continue
				}
				seen[key] = true
				worst, err := t.Worst(part, views)
				if errors.Is(err, bound.ErrCells) {
					continue
				}
				if err != nil {
					return nil, err
				}
				if joint := res.Joint(views); worst > joint.Add(margin) {
					out = append(out, fmt.Sprintf("%s disclose up to %v, and are certified at %v with a margin of %v: the audit refuses them", describe(views), worst, joint, margin))
				}
			}
		}
	}
	return out, nil
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
