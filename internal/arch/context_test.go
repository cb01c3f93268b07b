package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// ownContext are the functions on the path of a request that may start a
// context of their own, each with its reason.
var ownContext = map[string]string{
	"mediator.New":                  "reads the state once, before any request",
	"mediator/audit.Recorder.write": "writes for observers, behind the requests",
}

// TestContextReachesWhatWaits: on the path of a request nothing starts a
// context of its own, so that no work goes on for a client that has gone.
func TestContextReachesWhatWaits(t *testing.T) {
	found := map[string]bool{}
	files := 0
	for _, p := range packages(t) {
		name := strings.TrimPrefix(p.ImportPath, module+"/")
		if !slices.ContainsFunc([]string{"gateway/...", "mcpproxy/...", "hook/...", "mediator/..."}, func(d string) bool { return matches(d, name) }) {
			continue
		}
		for _, file := range p.GoFiles {
			files++
			fset := token.NewFileSet()
			f, err := parser.ParseFile(fset, filepath.Join(p.Dir, file), nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range f.Decls {
				at := name + "." + declared(d)
				for _, pos := range contexts(f, d) {
					found[at] = true
					if ownContext[at] == "" {
						t.Errorf("%s: %s starts a context of its own", fset.Position(pos), at)
					}
				}
			}
		}
	}
	for at, why := range ownContext {
		if !found[at] {
			t.Errorf("%s starts no context of its own any more (%s)", at, why)
		}
	}
	if files < 40 {
		t.Errorf("only %d files are looked at", files)
	}
}

// contexts are the places of a declaration that name context.Background or
// context.TODO.
func contexts(f *ast.File, d ast.Decl) (at []token.Pos) {
	pkg := ""
	for _, imp := range f.Imports {
		if imp.Path.Value == `"context"` {
			if pkg = "context"; imp.Name != nil {
				pkg = imp.Name.Name
			}
		}
	}
	if pkg == "" {
		return nil
	}
	ast.Inspect(d, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok && (s.Sel.Name == "Background" || s.Sel.Name == "TODO") {
			if x, ok := s.X.(*ast.Ident); ok && x.Name == pkg {
				at = append(at, s.Pos())
			}
		}
		return true
	})
	return at
}

// declared is the name of a function, with its receiver's, or of nothing.
func declared(d ast.Decl) string {
	fn, ok := d.(*ast.FuncDecl)
	if !ok {
		return ""
	}
	if fn.Recv == nil {
		return fn.Name.Name
	}
	of := fn.Recv.List[0].Type
	if star, ok := of.(*ast.StarExpr); ok {
		of = star.X
	}
	if gen, ok := of.(*ast.IndexExpr); ok {
		of = gen.X
	}
	if id, ok := of.(*ast.Ident); ok {
		return id.Name + "." + fn.Name.Name
	}
	return fn.Name.Name
}

// A context by another name is found, too; one that is handed on is none.
func TestContextsAreFound(t *testing.T) {
	for src, want := range map[string]int{
		"package p\nimport \"context\"\nfunc f() { g(context.Background()) }":                                      1,
		"package p\nimport c \"context\"\nvar x = c.TODO()":                                                        1,
		"package p\nimport \"context\"\nfunc f(ctx context.Context) { g(context.WithoutCancel(ctx)) }":             0,
		"package p\nimport \"x/context2\"\nfunc f() { context2.Background() }":                                     0,
		"package p\nimport \"context\"\nfunc f() { b := context.Background; g(b()); func() { context.TODO() }() }": 2,
	} {
		f, err := parser.ParseFile(token.NewFileSet(), "", src, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, d := range f.Decls {
			n += len(contexts(f, d))
		}
		if n != want {
			t.Errorf("%s\nhas %d contexts of its own, want %d", src, n, want)
		}
	}
}
