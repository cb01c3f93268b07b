package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// mint lists, for what the kernels' values are made with, who may name it. What a
// method makes is in TestReceipts and TestReleasedBytes.
var mint = map[string][]string{
	// The verifier's phases, one by one: their parts were charged to nobody.
	"declassify.Draft":           {"lab/traj/defence"},
	"declassify.NewVerification": {"lab/traj/defence"},
	"stream/cut.NewText":         {"lab/reference/stream", "stream"},
	"stream/cut.Text":            {"lab/reference/stream", "stream"},
	"stream/cut.Own":             {"gateway", "hook", "mcpproxy"},
	"ledger/charge.NewBook":      {"ledger"},
	"taint/clear.Decide":         {"taint"},
	"taint/clear.BasisOf":        {"mediator/step"},
	"mediator/commit.Open":       {"mediator/session"},
	"mediator/commit.Book":       {"mediator/session"},
}

// minted returns what a file names of mint, and what hides such names.
func minted(t *testing.T, file string, src any) (names, hidden []string) {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), file, src, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	kernels := map[string]string{} // by their names in the file
	for _, imp := range f.Imports {
		path, _ := strconv.Unquote(imp.Path.Value)
		if path == "unsafe" {
			hidden = append(hidden, path)
		}
		path, own := strings.CutPrefix(path, module+"/")
		if !own || !slices.ContainsFunc(slices.Collect(maps.Keys(mint)), func(m string) bool { return strings.HasPrefix(m, path+".") }) {
			continue
		}
		name := path[strings.LastIndexByte(path, '/')+1:]
		if imp.Name != nil {
			name = imp.Name.Name
		}
		if name == "." {
			hidden = append(hidden, path)
		}
		kernels[name] = path
	}
	ast.Inspect(f, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if id, ok := s.X.(*ast.Ident); ok && kernels[id.Name] != "" && mint[kernels[id.Name]+"."+s.Sel.Name] != nil {
				names = append(names, kernels[id.Name]+"."+s.Sel.Name)
			}
		}
		return true
	})
	return names, hidden
}

// TestMints: what only a kernel can make is asked for where the table says, in
// the product and in the laboratory, and nothing goes past the types.
func TestMints(t *testing.T) {
	used := map[string]bool{}
	for _, p := range append(packages(t), packagesOf(t, filepath.Join(root(t), "lab"))...) {
		pkg := strings.TrimPrefix(p.ImportPath, module+"/")
		for _, f := range p.GoFiles {
			names, hidden := minted(t, filepath.Join(p.Dir, f), nil)
			for _, n := range names {
				if used[n+" "+pkg] = true; !slices.Contains(mint[n], pkg) {
					t.Errorf("%s uses %s", pkg, n)
				}
			}
			for _, h := range hidden {
				t.Errorf("%s imports %s in a way that hides what it makes", pkg, h)
			}
		}
	}
	for n, all := range mint {
		for _, pkg := range all {
			if !used[n+" "+pkg] {
				t.Errorf("%s may use %s, and does not", pkg, n)
			}
		}
	}
}

// TestMintsSeesMutants: each name is found under every name of its package.
func TestMintsSeesMutants(t *testing.T) {
	for m := range mint {
		path, name, _ := strings.Cut(m, ".")
		short := path[strings.LastIndexByte(path, '/')+1:]
		for as, in := range map[string]string{"": short, "other": "other"} {
			src := "package p\n\nimport " + as + " \"" + module + "/" + path + "\"\n\nvar x = " + in + "." + name + "\n"
			if names, _ := minted(t, "added.go", src); !slices.Equal(names, []string{m}) {
				t.Errorf("%s as %s: found %v", m, in, names)
			}
		}
		if _, hidden := minted(t, "added.go", "package p\n\nimport . \""+module+"/"+path+"\"\n"); len(hidden) != 1 {
			t.Errorf("%s: a hidden name was not seen", m)
		}
	}
	if _, hidden := minted(t, "added.go", "package p\n\nimport _ \"unsafe\"\n"); len(hidden) != 1 {
		t.Error("unsafe was not seen")
	}
}
