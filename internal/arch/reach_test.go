package arch

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// decides are the packages that decide what may pass: the kernels, what stands
// on them, and the parts they are made of. They reach nothing of outside, not
// even through others. New packages below these come under the same rule.
var decides = []string{
	"label/...", "flow/...", "internal/dfa/...", "internal/idnumber/...", "internal/sse/...", "internal/strictjson/...",
	"secret/...", "monitor/...", "rubric/...", "ledger/...", "wire/...",
	"stream/...", "taint/...", "declassify/...", "mediator/...",
}

// outside is what they must not reach: the network, processes, databases.
var outside = []string{"net", "net/http", "os/exec", "database/sql", "html/template"}

// reaches are the exceptions, each with its reason.
var reaches = map[string]exception{
	"declassify/smt/z3": {[]string{"os/exec"}, "runs Z3 processes, behind an interface that declassify/smt declares; nothing in declassify imports it"},
}

type exception struct {
	imports []string
	why     string
}

// matches: name is in the pattern, which ends in /... for all below, too.
func matches(pattern, name string) bool {
	above, all := strings.CutSuffix(pattern, "/...")
	return name == above || all && strings.HasPrefix(name, above+"/")
}

// reached are the imports of outside that a package must not have and has.
func reached(name string, deps []string) (bad []string) {
	if !slices.ContainsFunc(decides, func(p string) bool { return matches(p, name) }) {
		return nil
	}
	for _, o := range outside {
		if slices.Contains(deps, o) && !slices.Contains(reaches[name].imports, o) {
			bad = append(bad, o)
		}
	}
	return bad
}

// TestReach: what decides reaches no network, no process, no database.
func TestReach(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range packages(t) {
		name := strings.TrimPrefix(p.ImportPath, module+"/")
		for _, pattern := range decides {
			seen[pattern] = seen[pattern] || matches(pattern, name)
		}
		for _, bad := range reached(name, p.Deps) {
			t.Errorf("%s reaches %s", name, bad)
		}
		for _, d := range p.Deps {
			if d == module+"/lab" || strings.HasPrefix(d, module+"/lab/") {
				t.Errorf("%s reaches %s: the product imports nothing of the laboratory", name, d)
			}
		}
	}
	for _, pattern := range decides {
		if !seen[pattern] {
			t.Errorf("no package matches %s: the table is not what it was", pattern)
		}
	}
	mod, err := os.ReadFile(filepath.Join(root(t), "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(mod, []byte(module+"/")) {
		t.Error("go.mod names another module of this repository")
	}
}

// TestReachSeesMutants adds each forbidden import to a copy of each package
// that decides, and sees reached find it. The copies are in an overlay, each
// below the package it copies, so that the same pattern holds it.
func TestReachSeesMutants(t *testing.T) {
	overlay := struct{ Replace map[string]string }{map[string]string{}}
	dir := t.TempDir()
	want := map[string]string{} // by the path of the copy: the import added, or none
	dirs := []string{}
	for _, p := range packages(t) {
		name := strings.TrimPrefix(p.ImportPath, module+"/")
		if len(p.GoFiles) == 0 || !slices.ContainsFunc(decides, func(d string) bool { return matches(d, name) }) {
			continue
		}
		for i, add := range append([]string{""}, outside...) {
			if slices.Contains(p.Deps, add) {
				continue // an exception
			}
			at := filepath.Join(p.Dir, fmt.Sprintf("mutant%d", i))
			for _, f := range p.GoFiles {
				overlay.Replace[filepath.Join(at, f)] = filepath.Join(p.Dir, f)
			}
			if add != "" {
				src := filepath.Join(dir, fmt.Sprintf("%s-%d.go", strings.ReplaceAll(name, "/", "-"), i))
				text := fmt.Sprintf("package %s\n\nimport _ %q\n", p.Name, add)
				if err := os.WriteFile(src, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
				overlay.Replace[filepath.Join(at, "mutant.go")] = src
			}
			copied := fmt.Sprintf("%s/mutant%d", name, i)
			want[copied] = add
			dirs = append(dirs, "./"+copied)
		}
	}
	file := filepath.Join(dir, "overlay.json")
	b, err := json.Marshal(overlay)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, b, 0o600); err != nil {
		t.Fatal(err)
	}
	// -e: a copy lacks the files that its original embeds.
	cmd := exec.Command("go", append([]string{"list", "-e", "-json=ImportPath,Deps", "-overlay", file}, dirs...)...)
	cmd.Dir = root(t)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	seen := 0
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pkg
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimPrefix(p.ImportPath, module+"/")
		seen++
		bad := reached(name, p.Deps)
		if above, _, _ := strings.Cut(name, "/mutant"); len(reaches[above].imports) > 0 {
			bad = slices.DeleteFunc(bad, func(i string) bool { return slices.Contains(reaches[above].imports, i) })
		}
		if add := want[name]; add == "" && len(bad) > 0 || add != "" && !slices.Contains(bad, add) {
			t.Errorf("%s, a copy with %q added: reached finds %v", name, add, bad)
		}
		if len(p.Deps) < 3 && want[name] == "net/http" {
			t.Errorf("%s: go list knows of %d dependencies alone", name, len(p.Deps))
		}
	}
	if seen != len(want) || seen < 30 {
		t.Errorf("%d copies looked at, of %d", seen, len(want))
	}
}

// storeys are the folders of the product from the bottom up. Drawn as a whole,
// no import runs up.
var storeys = []string{
	"internal", "docs", "label", "flow",
	"secret", "monitor", "rubric", "ledger", "wire",
	"stream", "taint", "confirm", "screen", "declassify", "defend",
	"mediator",
	"store", "outlet", "hook", "mcpproxy", "gateway", "connectortest",
	"internal/app", "cmd",
}

// storey is where a package stands: its folder at the top, with internal/app
// apart from what everything stands on.
func storey(name string) int {
	if matches("internal/app/...", name) {
		name = "internal/app"
	} else {
		name, _, _ = strings.Cut(name, "/")
	}
	return slices.Index(storeys, name)
}

func TestNoArrowRunsUp(t *testing.T) {
	arrows := 0
	for _, p := range packages(t) {
		name := strings.TrimPrefix(p.ImportPath, module+"/")
		at := storey(name)
		if at < 0 {
			t.Errorf("%s: its folder has no place among the storeys", name)
		}
		for _, imp := range p.Imports {
			inner, ok := strings.CutPrefix(imp, module+"/")
			if !ok {
				continue
			}
			if arrows++; storey(inner) > at {
				t.Errorf("%s imports %s, which stands above it", name, inner)
			}
		}
	}
	if arrows < 100 {
		t.Errorf("only %d imports are looked at", arrows)
	}
}
