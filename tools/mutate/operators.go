package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/margaydev/margay/tools/measure"
)

// A Mutant is one change of one place.
type Mutant struct {
	Key       string `json:"key"` // what is changed and where, by names alone: it outlives changes of other lines
	Package   string `json:"package"`
	File      string `json:"file"` // relative to the module
	Line      int    `json:"line"`
	Operator  string `json:"operator"`
	Diff      string `json:"diff"`
	Result    string `json:"result"`
	Explained string `json:"explained,omitempty"` // why it survives

	path       string // of the file
	src        []byte // of the file, unchanged
	start, end int    // the bytes that text replaces
	text       string
}

// Results.
const (
	killed      = "killed"
	timedOut    = "timeout" // killed, too
	survived    = "survived"
	notCompiled = "not compiled"
)

// What each token becomes, by operator.
var tokens = map[string]map[token.Token]token.Token{
	"comparison": {token.EQL: token.NEQ, token.NEQ: token.EQL, token.LSS: token.GEQ, token.GEQ: token.LSS, token.GTR: token.LEQ, token.LEQ: token.GTR},
	"boundary":   {token.LSS: token.LEQ, token.LEQ: token.LSS, token.GTR: token.GEQ, token.GEQ: token.GTR},
	"boolean":    {token.LAND: token.LOR, token.LOR: token.LAND},
	"arithmetic": {
		token.ADD: token.SUB, token.SUB: token.ADD, token.MUL: token.QUO, token.QUO: token.MUL, token.REM: token.MUL,
		token.AND: token.OR, token.OR: token.AND, token.XOR: token.AND, token.AND_NOT: token.AND, token.SHL: token.SHR, token.SHR: token.SHL,
		token.ADD_ASSIGN: token.SUB_ASSIGN, token.SUB_ASSIGN: token.ADD_ASSIGN, token.MUL_ASSIGN: token.QUO_ASSIGN, token.QUO_ASSIGN: token.MUL_ASSIGN,
		token.AND_ASSIGN: token.OR_ASSIGN, token.OR_ASSIGN: token.AND_ASSIGN, token.XOR_ASSIGN: token.AND_ASSIGN, token.AND_NOT_ASSIGN: token.AND_ASSIGN,
		token.SHL_ASSIGN: token.SHR_ASSIGN, token.SHR_ASSIGN: token.SHL_ASSIGN, token.INC: token.DEC, token.DEC: token.INC,
	},
}

// operatorNames keeps the order of candidates fixed.
var operatorNames = []string{"comparison", "boundary", "boolean", "arithmetic"}

// maker makes the mutants of one file.
type maker struct {
	l    *measure.Loader
	c    *measure.Checked
	src  []byte
	path string
	fn   string // the declaration it is in
	seen map[string]int
	out  []*Mutant
}

// candidates are all mutants of a package, in the order of its files.
func candidates(l *measure.Loader, c *measure.Checked) (out []*Mutant) {
	seen := map[string]int{}
	for _, f := range c.Files {
		path := filepath.Join(c.Dir, l.File(f.Package))
		src, err := os.ReadFile(path)
		if err != nil {
			continue // it was read a moment ago
		}
		m := &maker{l: l, c: c, src: src, path: path, seen: seen}
		for _, d := range f.Decls {
			m.fn = name(d)
			if gen, ok := d.(*ast.GenDecl); ok && gen.Tok == token.IMPORT {
				continue
			}
			ast.Inspect(d, func(n ast.Node) bool {
				m.node(n)
				return true
			})
		}
		out = append(out, m.out...)
	}
	return out
}

func (m *maker) offset(pos token.Pos) int { return m.l.Fset.Position(pos).Offset }

func (m *maker) text(n ast.Node) string { return string(m.src[m.offset(n.Pos()):m.offset(n.End())]) }

// add takes the mutant of node n in which the bytes from start to end read as
// text.
func (m *maker) add(operator string, n ast.Node, start, end int, text string) {
	from, to := m.offset(n.Pos()), m.offset(n.End())
	was := string(m.src[from:to])
	is := string(m.src[from:start]) + text + string(m.src[end:to])
	if is == "" {
		is = "(nothing)"
	}
	key := fmt.Sprintf("%s %s: %s: %s -> %s", m.c.Path, m.fn, operator, short(was), short(is))
	if m.seen[key]++; m.seen[key] > 1 {
		key = fmt.Sprintf("%s #%d", key, m.seen[key])
	}
	m.out = append(m.out, &Mutant{
		Key: key, Package: m.c.Path, File: m.c.Path + "/" + filepath.Base(m.path), Operator: operator,
		Line: m.l.Fset.Position(n.Pos()).Line, Diff: diff(m.src, start, end, text),
		path: m.path, src: m.src, start: start, end: end, text: text,
	})
}

func (m *maker) token(n ast.Node, at token.Pos, tok token.Token) {
	for _, operator := range operatorNames {
		if to, ok := tokens[operator][tok]; ok {
			m.add(operator, n, m.offset(at), m.offset(at)+len(tok.String()), to.String())
		}
	}
}

func (m *maker) replace(operator string, n ast.Node, text string) {
	m.add(operator, n, m.offset(n.Pos()), m.offset(n.End()), text)
}

func (m *maker) node(n ast.Node) {
	switch n := n.(type) {
	case *ast.BinaryExpr:
		m.token(n, n.OpPos, n.Op)
	case *ast.UnaryExpr:
		if n.Op == token.NOT || n.Op == token.SUB {
			operator := "boolean"
			if n.Op == token.SUB {
				operator = "arithmetic"
			}
			m.add(operator, n, m.offset(n.OpPos), m.offset(n.OpPos)+1, "")
		}
	case *ast.IncDecStmt:
		m.token(n, n.TokPos, n.Tok)
	case *ast.AssignStmt:
		m.token(n, n.TokPos, n.Tok)
	case *ast.Ident:
		if obj := m.c.Info.Uses[n]; obj == types.Universe.Lookup("true") {
			m.replace("boolean", n, "false")
		} else if obj == types.Universe.Lookup("false") {
			m.replace("boolean", n, "true")
		}
	case *ast.BasicLit:
		if n.Kind == token.INT {
			m.replace("constant", n, "("+n.Value+" + 1)")
			m.replace("constant", n, "("+n.Value+" - 1)")
		}
	case *ast.IfStmt:
		m.condition(n.Cond)
	case *ast.ForStmt:
		m.condition(n.Cond)
	case *ast.ReturnStmt:
		for _, e := range n.Results {
			m.returned(e)
		}
	case *ast.BlockStmt:
		m.statements(n.List)
	case *ast.CaseClause:
		m.statements(n.Body)
	case *ast.CommClause:
		m.statements(n.Body)
	}
}

// condition negates what comparison and boolean do not.
func (m *maker) condition(e ast.Expr) {
	switch e := e.(type) {
	case nil:
		return
	case *ast.BinaryExpr:
		if _, ok := tokens["comparison"][e.Op]; ok {
			return
		}
	case *ast.UnaryExpr:
		return
	}
	m.replace("condition", e, "!("+m.text(e)+")")
}

// returned replaces what is returned by the zero of its type, a bool by its
// opposite.
func (m *maker) returned(e ast.Expr) {
	t := m.c.Info.Types[e].Type
	if t == nil {
		return
	}
	zero := ""
	switch u := t.Underlying().(type) {
	case *types.Basic:
		switch {
		case u.Info()&types.IsBoolean != 0:
			if m.c.Info.Types[e].Value != nil {
				return // a constant, which boolean turns
			}
			zero = "!(" + m.text(e) + ")"
		case u.Info()&types.IsNumeric != 0:
			zero = "0"
		case u.Info()&types.IsString != 0:
			zero = `""`
		}
	case *types.Pointer, *types.Slice, *types.Map, *types.Interface, *types.Signature, *types.Chan:
		zero = "nil"
	case *types.Struct, *types.Array:
		zero = "*new(" + types.TypeString(t, func(p *types.Package) string {
			if p == m.c.Types {
				return ""
			}
			return p.Name()
		}) + ")"
		if lit, ok := e.(*ast.CompositeLit); ok && len(lit.Elts) == 0 {
			return
		}
	}
	if zero == "" || zero == m.text(e) {
		return
	}
	m.replace("return", e, zero)
}

func (m *maker) statements(list []ast.Stmt) {
	for _, s := range list {
		switch s := s.(type) {
		case *ast.ExprStmt, *ast.IncDecStmt, *ast.DeferStmt, *ast.GoStmt, *ast.SendStmt, *ast.BranchStmt:
			m.replace("statement", s, "")
		case *ast.AssignStmt:
			if s.Tok != token.DEFINE && m.text(s.Lhs[0]) != "_" {
				m.replace("statement", s, "")
			}
		case *ast.ReturnStmt:
			if len(s.Results) == 0 {
				m.replace("statement", s, "")
			}
		}
	}
}

// mutated is the text of the file.
func (m *Mutant) mutated() []byte {
	return slices.Concat(m.src[:m.start], []byte(m.text), m.src[m.end:])
}

// compiles type-checks the package with the mutant in it.
func compiles(l *measure.Loader, c *measure.Checked, m *Mutant) bool {
	f, err := parser.ParseFile(l.Fset, m.path, m.mutated(), parser.SkipObjectResolution)
	if err != nil {
		return false
	}
	with := &measure.Checked{Path: c.Path, Dir: c.Dir}
	for _, of := range c.Files {
		if filepath.Join(c.Dir, l.File(of.Package)) == m.path {
			of = f
		}
		with.Files = append(with.Files, of)
	}
	return l.Resolve(with) == nil
}

// diff are the lines before and after.
func diff(src []byte, start, end int, text string) string {
	from := strings.LastIndexByte(string(src[:start]), '\n') + 1
	to := len(src)
	if i := strings.IndexByte(string(src[end:]), '\n'); i >= 0 {
		to = end + i
	}
	var b strings.Builder
	for _, l := range strings.Split(string(src[from:to]), "\n") {
		b.WriteString("  - " + strings.TrimSpace(l) + "\n")
	}
	for _, l := range strings.Split(string(src[from:start])+text+string(src[end:to]), "\n") {
		b.WriteString("  + " + strings.TrimSpace(l) + "\n")
	}
	return b.String()
}

// short is one line of at most 90 bytes.
func short(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > 90 {
		s = strings.ToValidUTF8(s[:60], "") + " … " + strings.ToValidUTF8(s[len(s)-27:], "")
	}
	return s
}

// name is that of a declared function, with its receiver's, or of the first
// name of another declaration.
func name(d ast.Decl) string {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil {
			return d.Name.Name
		}
		of := d.Recv.List[0].Type
		if star, ok := of.(*ast.StarExpr); ok {
			of = star.X
		}
		switch g := of.(type) {
		case *ast.IndexExpr:
			of = g.X
		case *ast.IndexListExpr:
			of = g.X
		}
		if id, ok := of.(*ast.Ident); ok {
			return id.Name + "." + d.Name.Name
		}
		return d.Name.Name
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.ValueSpec:
				return s.Names[0].Name
			case *ast.TypeSpec:
				return s.Name.Name
			}
		}
	}
	return ""
}
