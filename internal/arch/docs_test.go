package arch

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	aTest     = regexp.MustCompile(`\b(?:Test|Fuzz|Benchmark)[A-Z]\w+`)
	aGoTest   = regexp.MustCompile("go test ([^`\n]*)")
	aSelector = regexp.MustCompile(`-(run|bench) +'?([^\s']+)'?`)
	aPackage  = regexp.MustCompile(`(?:^| )(\./[\w./]+)`)
	aModule   = regexp.MustCompile(`^-C (\w+) `)
	aScript   = regexp.MustCompile(`\bscripts/[\w.-]+`)
	aTarget   = regexp.MustCompile("`make ([a-z0-9-]+)")
	aLink     = regexp.MustCompile(`\]\(([^)\s#]+)(?:#[^)]*)?\)`)
)

// Documents name tests, commands, scripts and files that are there: a
// guarantee whose test is gone, or a figure whose command finds nothing, is
// none.
func TestDocumentsNameWhatIsThere(t *testing.T) {
	root := filepath.Join("..", "..")
	tests := testsOf(t, root) // by folder
	named := func(dir, pattern string) bool {
		re, err := regexp.Compile(pattern)
		if err != nil {
			return false
		}
		for d, names := range tests {
			if dir != "" && d != dir && !strings.HasPrefix(d, strings.TrimSuffix(dir, "...")) {
				continue
			}
			for _, n := range names {
				if re.MatchString(n) {
					return true
				}
			}
		}
		return false
	}
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	there := func(parts ...string) bool {
		_, err := os.Stat(filepath.Join(parts...))
		return err == nil
	}
	var seen [5]int
	for _, doc := range documents(t, root) {
		text, err := os.ReadFile(filepath.Join(root, doc))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range aTest.FindAll(text, -1) {
			if seen[0]++; !named("", "^"+string(name)) { // a name may stand for those that begin with it
				t.Errorf("%s names %s, which is nowhere", doc, name)
			}
		}
		for _, c := range aGoTest.FindAllSubmatch(text, -1) {
			dir := aPackage.FindSubmatch(c[1])
			if dir == nil {
				continue
			}
			in := filepath.ToSlash(filepath.Clean(string(dir[1])))
			if module := aModule.FindSubmatch(c[1]); module != nil {
				in = string(module[1]) + "/" + in
			}
			for _, s := range aSelector.FindAllSubmatch(c[1], -1) {
				what := string(s[2])
				if what == "-" || what == "^$" || what == "." {
					continue
				}
				if seen[1]++; !named(in, what) {
					t.Errorf("%s has the command %q, by which nothing runs", doc, c[0])
				}
			}
		}
		for _, s := range aScript.FindAll(text, -1) {
			if seen[2]++; !there(root, strings.TrimRight(string(s), ".-")) {
				t.Errorf("%s names %s, which is not there", doc, s)
			}
		}
		for _, m := range aTarget.FindAllSubmatch(text, -1) {
			if seen[3]++; !bytes.Contains(makefile, append([]byte("\n"), append(m[1], ':')...)) {
				t.Errorf("%s names the target %s, which the Makefile does not have", doc, m[1])
			}
		}
		for _, l := range aLink.FindAllSubmatch(text, -1) {
			if link := string(l[1]); !strings.Contains(link, ":") {
				if seen[4]++; !there(root, filepath.Dir(doc), link) {
					t.Errorf("%s links to %s, which is not there", doc, link)
				}
			}
		}
	}
	for i, n := range seen {
		if n < 5 {
			t.Errorf("of kind %d only %d are named: the test is not what it was", i, n)
		}
	}
}

// documents are the pages that people read.
func documents(t *testing.T, root string) (out []string) {
	t.Helper()
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/*/*.md"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range found {
			rel, err := filepath.Rel(root, f)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, rel)
		}
	}
	return out
}

// testsOf are the functions of tests, by folder.
func testsOf(t *testing.T, root string) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := d.Name(); d.IsDir() && len(name) > 2 && (name[0] == '.' || name == "testdata" || name == "node_modules") {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && aTest.MatchString(fn.Name.Name) {
				out[filepath.ToSlash(rel)] = append(out[filepath.ToSlash(rel)], fn.Name.Name)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
