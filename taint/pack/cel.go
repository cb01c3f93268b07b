package pack

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/margaydev/margay/internal/yamldoc"
	"github.com/margaydev/margay/taint"
)

// Conditions were CEL expressions once. Nothing runs them any more: a pack that
// has one is refused, with the conditions to write instead. What the packs used
// of CEL reads as Go, so that Go's parser serves.

// celGrammar is what an expression that can't be translated is answered with.
const celGrammar = "{arg: PATH, matches: RE2 | prefix: [TEXT] | one-of: [TEXT, true] | present: true, any: true, not: true} (docs/format/pack.md)"

// celOf finds the first condition of a document that is a CEL expression, as an
// error that says what to write instead; nil where there is none.
func celOf(doc *yamldoc.Document) error {
	var v any
	if err := doc.Decode(&v); err != nil {
		return nil //nolint:nilerr // the caller has that error
	}
	at, expr := findCEL(v)
	if at == nil {
		return nil
	}
	says := ""
	instead := celGrammar
	if conds, ok := translate(expr); ok {
		var parts []string
		for i := range conds {
			parts = append(parts, conds[i].flow())
		}
		instead, says = strings.Join(parts, ", "), ", and keep its says"
	}
	return doc.Place(yamldoc.Where(fmt.Errorf("%w: packs have no CEL any more; instead write %s%s", taint.ErrCond, instead, says), at...))
}

// findCEL returns the place of a text with the key cel, and the text.
func findCEL(v any) (at []string, expr string) {
	switch v := v.(type) {
	case map[string]any:
		if s, ok := v["cel"].(string); ok {
			return []string{"cel"}, s
		}
		for _, k := range slices.Sorted(maps.Keys(v)) {
			if at, expr = findCEL(v[k]); at != nil {
				return append([]string{k}, at...), expr
			}
		}
	case []any:
		for i := range v {
			if at, expr = findCEL(v[i]); at != nil {
				return append([]string{strconv.Itoa(i)}, at...), expr
			}
		}
	}
	return nil, ""
}

// translate returns conditions that ask what an expression asks; false where
// there are none that ask the same.
func translate(expr string) ([]cond, bool) {
	if len(expr) > 4000 {
		return nil, false
	}
	e, err := parser.ParseExpr(expr)
	if err != nil {
		return nil, false
	}
	out, ok := celNames{"args": ""}.conds(e)
	c := &compiler{}
	each(c, "when", out, c.cond)
	return out, ok && c.err == nil
}

// celNames are the paths that names in an expression stand for.
type celNames map[string]string

func (n celNames) conds(e ast.Expr) ([]cond, bool) {
	switch e := e.(type) {
	case *ast.ParenExpr:
		return n.conds(e.X)
	case *ast.UnaryExpr:
		c, ok := n.one(e.X)
		c.Not = !c.Not
		return []cond{c}, ok && e.Op == token.NOT && !c.Any && !c.Optional
	case *ast.CallExpr:
		return n.call(e)
	case *ast.BinaryExpr:
		switch e.Op {
		case token.LAND:
			if arg, ok := n.has(e.X); ok {
				c, ok := n.one(e.Y)
				ok = ok && c.Arg == arg && !c.Any
				c.Optional = true
				return []cond{c}, ok
			}
			a, ok := n.conds(e.X)
			b, ok2 := n.conds(e.Y)
			return append(a, b...), ok && ok2
		case token.LOR:
			a, ok := n.one(e.X)
			b, ok2 := n.one(e.Y)
			x, y := a.expression(), b.expression()
			return []cond{{Arg: a.Arg, Any: a.Any, Matches: x + "|" + y}}, ok && ok2 && a.Arg == b.Arg && a.Any == b.Any && x != "" && y != ""
		case token.EQL, token.NEQ:
			arg, ok := n.path(e.X)
			v, ok2 := celScalar(e.Y)
			return []cond{{Arg: arg, OneOf: []scalar{v}, Not: e.Op == token.NEQ}}, ok && ok2
		}
	}
	return nil, false
}

// one is the condition of an expression that comes to one.
func (n celNames) one(e ast.Expr) (cond, bool) {
	cs, ok := n.conds(e)
	if !ok || len(cs) != 1 {
		return cond{}, false
	}
	return cs[0], true
}

func (n celNames) call(e *ast.CallExpr) ([]cond, bool) {
	sel, is := e.Fun.(*ast.SelectorExpr)
	if !is {
		return nil, false
	}
	arg, ok := n.path(sel.X)
	if ok && sel.Sel.Name == "exists" && len(e.Args) == 2 {
		name, is := e.Args[0].(*ast.Ident)
		if !is {
			return nil, false
		}
		c, ok := celNames{name.Name: arg + "[*]"}.one(e.Args[1])
		ok = ok && !c.Any && !c.Optional
		c.Any = true
		return []cond{c}, ok
	}
	if !ok || len(e.Args) != 1 {
		return nil, false
	}
	v, ok := celScalar(e.Args[0])
	ok = ok && !v.Truth
	switch sel.Sel.Name {
	case "matches":
		return []cond{{Arg: arg, Matches: v.Text}}, ok
	case "startsWith":
		return []cond{{Arg: arg, Prefix: []string{v.Text}}}, ok
	case "contains":
		return []cond{{Arg: arg, Matches: regexp.QuoteMeta(v.Text)}}, ok
	}
	return nil, false
}

// has is the argument of has(args.x).
func (n celNames) has(e ast.Expr) (string, bool) {
	c, is := e.(*ast.CallExpr)
	if !is || len(c.Args) != 1 {
		return "", false
	}
	f, is := c.Fun.(*ast.Ident)
	arg, ok := n.path(c.Args[0])
	return arg, ok && is && f.Name == "has" && !strings.ContainsAny(arg, ".[")
}

// path is the path that an expression selects.
func (n celNames) path(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.Ident:
		p, ok := n[e.Name]
		return p, ok
	case *ast.SelectorExpr:
		p, ok := n.path(e.X)
		return strings.TrimPrefix(p+"."+e.Sel.Name, "."), ok
	}
	return "", false
}

func celScalar(e ast.Expr) (scalar, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		s, err := strconv.Unquote(e.Value)
		return scalar{Text: s}, e.Kind == token.STRING && err == nil
	case *ast.Ident:
		return scalar{Text: e.Name, Truth: true}, e.Name == "true" || e.Name == "false"
	}
	return scalar{}, false
}

// expression is a condition on a text as an RE2 expression; empty for none.
func (c *cond) expression() string {
	switch {
	case c.Not || c.Optional:
		return ""
	case len(c.Prefix) == 1:
		return "^" + regexp.QuoteMeta(c.Prefix[0])
	case strings.Contains(c.Matches, "(?"): // flags would reach beyond it
		return "(?:" + c.Matches + ")"
	}
	return c.Matches
}

// flow writes a translated condition as YAML.
func (c *cond) flow() string {
	quote := func(s string) string {
		b, _ := json.Marshal(s) // a text always has a form
		return string(b)
	}
	out := "{arg: " + quote(c.Arg)
	switch {
	case c.Matches != "":
		out += ", matches: " + quote(c.Matches)
	case c.Prefix != nil:
		out += ", prefix: [" + quote(c.Prefix[0]) + "]"
	default:
		v := c.OneOf[0].Text
		if !c.OneOf[0].Truth {
			v = quote(v)
		}
		out += ", one-of: [" + v + "]"
	}
	for _, f := range []struct {
		is   bool
		name string
	}{{c.Any, "any"}, {c.Not, "not"}, {c.Optional, "optional"}} {
		if f.is {
			out += ", " + f.name + ": true"
		}
	}
	return out + "}"
}
