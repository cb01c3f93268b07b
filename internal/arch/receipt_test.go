package arch

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const chargePath = module + "/ledger/charge"

// mints are the packages that may have a receipt made: the verifier, which takes
// a release through all of its phases first.
var mints = []string{"declassify"}

// minting returns where a package uses what returns a receipt: the kernel's
// Commit, or a method of an interface that it implements. A further file is
// added to the package's own; empty for none.
func minting(t *testing.T, exports map[string]string, p *pkg, more string) (found []string) {
	t.Helper()
	fset := token.NewFileSet()
	var files []*ast.File
	add := func(name string, src any) {
		f, err := parser.ParseFile(fset, name, src, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	for _, f := range p.GoFiles {
		add(filepath.Join(p.Dir, f), nil)
	}
	if more != "" {
		add("added.go", more)
	}
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	conf := types.Config{Importer: importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) {
		if f := exports[path]; f != "" {
			return os.Open(f)
		}
		return nil, fmt.Errorf("no export data of %s", path)
	})}
	if _, err := conf.Check(p.ImportPath, fset, files, info); err != nil {
		t.Fatal(err)
	}
	for id, obj := range info.Uses {
		fn, ok := obj.(*types.Func)
		if !ok || fn.Pkg() == nil {
			continue
		}
		results := fn.Signature().Results()
		for i := range results.Len() {
			if results.At(i).Type().String() == chargePath+".Receipt" {
				found = append(found, fmt.Sprintf("%s: %s", fset.Position(id.Pos()), fn.FullName()))
			}
		}
	}
	slices.Sort(found)
	return found
}

// TestReceipts: a receipt is made where the verifier has one made, and nowhere
// else. Then it adds a call to a copy of another package and sees that found.
func TestReceipts(t *testing.T) {
	var near []*pkg // packages that could
	args := []string{"list", "-export", "-deps", "-json=ImportPath,Export", chargePath}
	all := packages(t)
	for i := range all {
		p := &all[i]
		if p.ImportPath == chargePath || !slices.Contains(p.Deps, chargePath) || !mentions(t, p, "Commit") {
			continue
		}
		near = append(near, p)
		args = append(args, p.ImportPath)
	}
	cmd := exec.Command("go", args...)
	cmd.Dir = root(t)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	exports := map[string]string{}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct{ ImportPath, Export string }
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		exports[p.ImportPath] = p.Export
	}
	mutants := 0
	for _, p := range near {
		name := strings.TrimPrefix(p.ImportPath, module+"/")
		found := minting(t, exports, p, "")
		if may := slices.Contains(mints, name); may != (len(found) > 0) {
			t.Errorf("%s may have receipts made: %v, and does so: %v", name, may, found)
		}
		if slices.Contains(mints, name) {
			continue
		}
		added := fmt.Sprintf("package %s\n\nimport (\n\t\"context\"\n\n\t\"%s\"\n)\n\nfunc added(b *charge.Book, e *charge.Entry) { f := b.Commit; _, _ = f(context.Background(), e) }\n", p.Name, chargePath)
		if len(minting(t, exports, p, added)) == 0 {
			t.Errorf("%s: a receipt that is made was not found", name)
		}
		mutants++
	}
	if mutants == 0 {
		t.Error("no package to try it on")
	}
}

// mentions reports whether the sources of a package have a text.
func mentions(t *testing.T, p *pkg, text string) bool {
	t.Helper()
	for _, f := range p.GoFiles {
		b, err := os.ReadFile(filepath.Join(p.Dir, f))
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(b, []byte(text)) {
			return true
		}
	}
	return false
}
