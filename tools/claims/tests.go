package main

import (
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// place is where a test is: the folder of its module, and of its package in it.
type place struct{ module, pkg string }

// function is a test in the sources.
type function struct {
	place
	skips bool // before anything else
}

var aTest = regexp.MustCompile(`^(?:Test|Fuzz)[A-Z0-9_]\w*$`)

// functions are the tests below root that this platform builds without tags,
// by name.
func functions(root string) (map[string][]function, error) {
	out := map[string][]function{}
	modules := []string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := d.Name(); d.IsDir() && path != root && (name[0] == '.' || name[0] == '_' || name == "testdata" || name == "node_modules") {
			return filepath.SkipDir
		}
		if d.IsDir() {
			if _, err := os.Stat(filepath.Join(path, "go.mod")); err == nil {
				modules = append(modules, path)
			}
			return nil
		}
		if !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		dir, file := filepath.Split(path)
		if ok, err := build.Default.MatchFile(dir, file); err != nil || !ok {
			return err
		}
		module := moduleOf(modules, path)
		rel, err := filepath.Rel(module, filepath.Dir(path))
		if err != nil {
			return err
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		in, err := filepath.Rel(root, module)
		if err != nil {
			return err
		}
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name != "TestMain" && aTest.MatchString(fn.Name.Name) {
				out[fn.Name.Name] = append(out[fn.Name.Name], function{place{filepath.ToSlash(in), filepath.ToSlash(rel)}, skips(fn)})
			}
		}
		return nil
	})
	return out, err
}

// moduleOf is the innermost module around a file. The walk has seen it first.
func moduleOf(modules []string, path string) string {
	best := ""
	for _, m := range modules {
		if strings.HasPrefix(path, m+string(filepath.Separator)) && len(m) > len(best) {
			best = m
		}
	}
	return best
}

// skips says that a test always skips: a call of Skip, Skipf or SkipNow is a
// statement of its own body, not of an if.
func skips(fn *ast.FuncDecl) bool {
	if fn.Body == nil {
		return false
	}
	return slices.ContainsFunc(fn.Body.List, func(s ast.Stmt) bool {
		e, ok := s.(*ast.ExprStmt)
		if !ok {
			return false
		}
		call, ok := e.X.(*ast.CallExpr)
		if !ok {
			return false
		}
		sel, ok := call.Fun.(*ast.SelectorExpr)
		return ok && slices.Contains([]string{"Skip", "Skipf", "SkipNow"}, sel.Sel.Name)
	})
}

// named is a test that a page names.
type named struct {
	place
	test string
	sub  string // of a subtest: what is after the slash
}

// resolve finds the test that a mark names: TestX, TestX/sub or pkg.TestX,
// where pkg is the end of a package's folder.
func resolve(tests map[string][]function, name string) (named, error) {
	name, sub, _ := strings.Cut(name, "/")
	qualified := strings.LastIndexByte(name, '.')
	if strings.Contains(sub, ".") { // the slash is the package's
		i := strings.LastIndexByte(name+"/"+sub, '.')
		name, sub, qualified = name+"/"+sub, "", i
		if j := strings.IndexByte(name[i:], '/'); j >= 0 {
			name, sub = name[:i+j], name[i+j+1:]
		}
	}
	pkg, test := "", name
	if qualified >= 0 {
		pkg, test = name[:qualified], name[qualified+1:]
	}
	var found []function
	for _, f := range tests[test] {
		at := strings.TrimPrefix("/"+f.module+"/"+f.pkg, "/.")
		if at == "/"+pkg {
			found = []function{f}
			break
		}
		if pkg == "" || strings.HasSuffix(at, "/"+pkg) {
			found = append(found, f)
		}
	}
	switch {
	case len(found) == 0:
		return named{}, fmt.Errorf("no test %s", name)
	case len(found) > 1:
		return named{}, fmt.Errorf("more than one test %s: name its package, as in %s.%s", name, found[0].pkg, test)
	case found[0].skips:
		return named{}, fmt.Errorf("test %s always skips", name)
	}
	return named{found[0].place, test, sub}, nil
}

// held resolves the tests of all claims. Those that are not there are problems.
func held(claims []Claim, tests map[string][]function) (out []named, problems []string) {
	seen := map[named]bool{}
	for _, c := range claims {
		for _, t := range c.Tests {
			n, err := resolve(tests, t)
			if err != nil {
				problems = append(problems, fmt.Sprintf("%s:%d: %v", c.Page, c.Line, err))
			} else if !seen[n] {
				seen[n] = true
				out = append(out, n)
			}
		}
	}
	return out, problems
}

// importPath is the path of a package, by the go.mod of its module.
func importPath(root string, p place) string {
	text, err := os.ReadFile(filepath.Join(root, p.module, "go.mod"))
	if err != nil {
		return err.Error()
	}
	line, _, _ := strings.Cut(string(text), "\n")
	return strings.TrimSuffix(strings.TrimPrefix(line, "module ")+"/"+p.pkg, "/.")
}
