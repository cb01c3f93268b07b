package measure

import (
	"go/ast"
	"go/types"
	"slices"
	"strings"
)

// Face are the exported functions and methods of the packages at and below of
// that the given packages use, sorted. Calls through exported fields that hold
// functions count, too.
func (l *Loader) Face(of string, users ...string) ([]string, error) {
	found := map[string]bool{}
	for _, user := range users {
		c, err := l.Check(user)
		if err != nil {
			return nil, err
		}
		for _, obj := range c.Info.Uses {
			if fn, ok := obj.(*types.Func); ok && fn.Exported() && within(obj, of) {
				found[strings.ReplaceAll(fn.Origin().FullName(), Module+"/", "")] = true
			}
		}
		for _, f := range c.Files {
			ast.Inspect(f, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok {
					return true
				}
				sel, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr)
				if !ok {
					return true
				}
				if s := c.Info.Selections[sel]; s != nil && s.Kind() == types.FieldVal && within(s.Obj(), of) {
					found["("+strings.ReplaceAll(types.TypeString(s.Recv(), nil), Module+"/", "")+")."+s.Obj().Name()] = true
				}
				return true
			})
		}
	}
	var out []string
	for name := range found {
		out = append(out, name)
	}
	slices.Sort(out)
	return out, nil
}

// within: obj is of a package at or below the one given.
func within(obj types.Object, of string) bool {
	if obj.Pkg() == nil {
		return false
	}
	rel := strings.TrimPrefix(obj.Pkg().Path(), Module+"/")
	return rel == of || strings.HasPrefix(rel, of+"/")
}
