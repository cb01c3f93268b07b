package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/margaydev/margay/tools/measure"
)

const source = `package p

import "errors"

const most = 3

var errMany = errors.New("too many")

func check(n int, ok bool) (string, error) {
	if ok && n < most {
		n++
		println(n)
	}
	for range 2 {
		continue
	}
	if !ok {
		return "", errMany
	}
	return "x", nil
}
`

// in makes a module that holds the source and loads it.
func in(t *testing.T) (string, *measure.Loader, *measure.Checked) {
	t.Helper()
	root := t.TempDir()
	test := "package p\n\nimport \"testing\"\n\nfunc TestCheck(t *testing.T) {\n\tif s, _ := check(1, true); s != \"x\" {\n\t\tt.Error(s)\n\t}\n}\n"
	for name, text := range map[string]string{"go.mod": "module " + measure.Module + "\n\ngo 1.26\n", "p/p.go": source, "p/p_test.go": test} {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	l, err := measure.NewLoader(root, "./p")
	if err != nil {
		t.Fatal(err)
	}
	c, err := l.Check("p")
	if err != nil {
		t.Fatal(err)
	}
	return root, l, c
}

func TestCandidates(t *testing.T) {
	_, l, c := in(t)
	var compiled, not []string
	for _, m := range candidates(l, c) {
		if key := strings.TrimPrefix(m.Key, "p "); compiles(l, c, m) {
			compiled = append(compiled, key)
		} else {
			not = append(not, key)
		}
	}
	want := []string{
		"most: constant: 3 -> (3 + 1)",
		"most: constant: 3 -> (3 - 1)",
		"check: boolean: ok && n < most -> ok || n < most",
		"check: condition: ok && n < most -> !(ok && n < most)",
		"check: comparison: n < most -> n >= most",
		"check: boundary: n < most -> n <= most",
		"check: statement: n++ -> (nothing)",
		"check: statement: println(n) -> (nothing)",
		"check: arithmetic: n++ -> n--",
		"check: constant: 2 -> (2 + 1)",
		"check: constant: 2 -> (2 - 1)",
		"check: statement: continue -> (nothing)",
		"check: boolean: !ok -> ok",
		"check: return: errMany -> nil",
		`check: return: "x" -> ""`,
	}
	slices.Sort(want)
	slices.Sort(compiled)
	if !slices.Equal(compiled, want) {
		t.Errorf("candidates:\n%s\nwant:\n%s", strings.Join(compiled, "\n"), strings.Join(want, "\n"))
	}
	if len(not) != 0 {
		t.Errorf("these do not compile: %q", not)
	}
}

func TestReportOfMutants(t *testing.T) {
	root, _, _ := in(t)
	explain := "# Mutants\n\n- `` p check: boolean: !ok -> ok #2 ``: another one.\n- `` p check: statement: println(n) -> (nothing) ``: a line that is printed guards nothing.\n"
	if err := os.MkdirAll(filepath.Join(root, "docs"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "docs", "mutants.md"), []byte(explain), 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := run(root, []string{"p"}, 100, 1, 2, false, false)
	if err != nil {
		t.Fatal(err)
	}
	results := map[string]*Mutant{}
	for _, m := range r.Mutants {
		results[m.Key] = m
	}
	if m := results[`p check: return: "x" -> ""`]; m == nil || m.Result != killed {
		t.Errorf("a wrong result is not noticed: %+v", m)
	}
	if m := results["p check: boundary: n < most -> n <= most"]; m == nil || m.Result != survived || m.Explained != "" {
		t.Errorf("a boundary that no test meets: %+v", m)
	}
	if m := results["p check: statement: println(n) -> (nothing)"]; m == nil || m.Result != survived || m.Explained == "" {
		t.Errorf("a survivor that is explained: %+v", m)
	}
	if r.Killed+r.Survived != len(r.Mutants) || len(r.Mutants) != 15 || r.Explained != 1 {
		t.Errorf("%d killed, %d survived, %d explained of %d", r.Killed, r.Survived, r.Explained, len(r.Mutants))
	}
}
