package act

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
)

// TestLateExpressionsCompile: what is compiled when it is needed compiles.
func TestLateExpressionsCompile(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, name := range files {
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(x ast.Node) bool {
			call, ok := x.(*ast.CallExpr)
			if !ok {
				return true
			}
			of, named := call.Fun.(*ast.Ident)
			if !named || of.Name != "late" || len(call.Args) != 1 {
				return true
			}
			// One that is put together is compiled by the tests of what it is for.
			if lit, ok := call.Args[0].(*ast.BasicLit); ok {
				n++
				expr, err := strconv.Unquote(lit.Value)
				if err == nil {
					_, err = regexp.Compile(expr)
				}
				if err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
			return true
		})
	}
	if n < 40 {
		t.Errorf("%d expressions are found", n)
	}
}
