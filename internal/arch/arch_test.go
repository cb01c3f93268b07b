package arch

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/margaydev/margay"

// allowed lists, for every package, the packages of this module that it may
// import. It is ARCHITECTURE.md's layer table; the two change together.
var allowed = map[string][]string{
	// L0
	"label":               {},
	"internal/sse":        {},
	"internal/strictjson": {},
	"internal/httpedge":   {},
	"internal/completion": {"internal/strictjson"},
	"internal/yamldoc":    {},
	"internal/testkit":    {},
	"internal/arch":       {},
	// L1
	"flow": {"label"},
	// L2
	"ledger":               {"flow"},
	"secret":               {"secret/canon"},
	"secret/canon":         {},
	"secret/recognise":     {"secret"},
	"monitor":              {"flow"},
	"rubric":               {"flow", "internal/strictjson", "internal/yamldoc", "rubric/population", "rubric/predicate"},
	"rubric/population":    {"flow"},
	"rubric/predicate":     {"secret/canon"},
	"rubric/library":       {"flow", "rubric"},
	"wire":                 {"flow", "internal/sse", "internal/strictjson"},
	"wire/openaichat":      {"flow", "internal/sse", "internal/strictjson", "wire"},
	"wire/mcp":             {"flow", "internal/strictjson"},
	"wire/anthropic":       {"flow", "internal/sse", "internal/strictjson", "wire"},
	"wire/openairesponses": {"flow", "internal/sse", "internal/strictjson", "wire"},
	// L3
	"stream":                {"flow", "secret", "secret/canon", "secret/recognise"},
	"confirm":               {"flow"},
	"screen":                {"flow", "label", "taint"},
	"screen/lexical":        {"screen"},
	"screen/judge":          {"internal/completion", "screen"},
	"taint":                 {"flow", "internal/strictjson", "label"},
	"taint/pack":            {"flow", "internal/yamldoc", "label", "taint"},
	"declassify":            {"declassify/credal", "declassify/smt", "flow", "internal/strictjson", "ledger", "rubric"},
	"defend/llm":            {"declassify", "defend/rules", "internal/completion"},
	"defend/rules":          {"declassify", "rubric"},
	"declassify/smt":        {},
	"declassify/smt/z3":     {"declassify/smt"},
	"declassify/credal":     {},
	"declassify/rubriclint": {"declassify/credal", "declassify/smt", "flow", "rubric"},
	// L4
	"mediator": {"confirm", "declassify", "flow", "label", "taint", "monitor", "secret", "secret/recognise", "stream", "internal/strictjson"},
	// beside L5
	"store/memory":    {"confirm", "flow", "ledger", "mediator", "secret"},
	"store/sqlite":    {"confirm", "flow", "ledger", "mediator", "secret"},
	"store/storetest": {"confirm", "ledger", "mediator", "secret", "flow"},
	// L5
	"gateway":             {"flow", "mediator", "wire", "wire/anthropic", "wire/openaichat", "wire/openairesponses", "internal/httpedge", "internal/sse", "internal/strictjson"},
	"hook":                {"flow", "mediator", "internal/strictjson"},
	"mcpproxy":            {"confirm", "flow", "mediator", "wire/mcp", "internal/httpedge", "internal/sse"},
	"connectortest":       {},
	"gateway/gatewaytest": {"connectortest", "declassify", "defend/rules", "flow", "gateway", "ledger", "mediator", "rubric", "secret", "secret/recognise", "store/memory"},
	// L6
	"internal/config":      {"flow", "internal/yamldoc", "mediator", "secret"},
	"internal/keys":        {"secret"},
	"internal/rubrics":     {"internal/keys", "rubric"},
	"internal/environ":     {"flow", "secret", "secret/recognise"},
	"internal/console":     {"confirm", "flow", "internal/console/access", "internal/console/live", "internal/console/results", "internal/console/schema", "internal/console/view", "internal/strictjson", "mediator", "secret"},
	"internal/demo":        {"flow", "gateway", "mediator", "secret", "secret/recognise", "store/memory"},
	"train":                {"monitor"},
	"bench":                {},
	"bench/docs":           {"bench"},
	"bench/vectors":        {"bench", "secret", "secret/recognise", "stream"},
	"bench/stats":          {},
	"bench/lm":             {"monitor"},
	"bench/prism/world":    {},
	"bench/prism":          {"bench", "bench/lm", "bench/prism/method", "bench/prism/world", "bench/stats", "monitor", "train"},
	"bench/report":         {"bench"},
	"bench/dojo":           {"bench", "bench/dojo/episode", "bench/dojo/harness", "bench/dojo/known", "bench/stats", "confirm", "flow", "gateway", "label", "mediator", "monitor", "screen", "secret", "secret/recognise", "store/memory", "taint"},
	"bench/dojo/episode":   {},
	"bench/dojo/harness":   {"flow", "internal/sse"},
	"bench/dojo/known":     {},
	"bench/leakage":        {"bench", "bench/stats", "flow", "label", "screen"},
	"bench/traj/world":     {"flow"},
	"bench/traj/adversary": {"bench/traj/world", "internal/completion"},
	"bench/traj/defence":   {"bench/traj/world", "declassify", "defend/rules", "flow", "ledger", "rubric", "secret", "secret/recognise", "store/memory"},
	"bench/leak":           {"bench", "bench/stats", "gateway", "mediator", "secret", "secret/recognise", "store/memory"},
	"bench/confaide":       {"bench", "bench/stats", "bench/traj/defence", "bench/traj/world", "flow"},
	"bench/robust":         {"bench", "bench/stats", "bench/traj", "bench/traj/adversary", "bench/traj/defence", "bench/traj/world", "declassify", "flow", "rubric"},
	"bench/traj":           {"bench", "bench/stats", "bench/traj/adversary", "bench/traj/defence", "bench/traj/world", "flow"},
	"internal/console/access": {
		"internal/httpedge",
	},
	"internal/console/live": {
		"flow", "mediator",
	},
	"internal/console/results": {
		"bench", "internal/console/view",
	},
	"internal/console/schema": {},
	"internal/console/view": {
		"mediator",
	},
	"bench/prism/method": {
		"flow", "internal/completion", "mediator", "monitor", "secret", "secret/recognise", "store/memory", "stream", "train",
	},
	"bench/gateway":      {"bench", "gateway", "mediator", "secret", "secret/recognise", "store/sqlite", "stream"},
	"bench/ledger":       {"bench", "flow", "ledger", "store/memory", "store/sqlite"},
	"bench/mcp":          {"bench", "mcpproxy", "mediator", "secret", "secret/recognise", "store/sqlite"},
	"internal/problem":   {},
	"internal/state":     {"confirm", "internal/config", "internal/keys", "internal/problem", "ledger", "mcpproxy", "mediator", "secret", "secret/recognise", "store/memory", "store/sqlite"},
	"internal/serve":     {"declassify", "declassify/smt", "declassify/smt/z3", "defend/llm", "defend/rules", "internal/console", "internal/console/access", "internal/rubrics", "ledger", "rubric", "store/memory", "internal/httpedge", "confirm", "label", "screen", "screen/lexical", "taint", "taint/pack", "flow", "gateway", "hook", "internal/config", "internal/problem", "internal/state", "internal/strictjson", "mcpproxy", "mediator", "monitor", "secret"},
	"internal/report":    {"confirm", "declassify", "flow", "internal/console/view", "ledger", "mediator", "secret"},
	"internal/scan":      {"flow", "internal/config", "internal/problem", "internal/state", "mediator", "secret", "secret/recognise", "stream"},
	"internal/doctor":    {"internal/config", "internal/environ", "internal/httpedge", "internal/keys", "internal/problem", "internal/state", "store/sqlite"},
	"internal/child":     {"internal/problem"},
	"internal/harness":   {},
	"internal/localsock": {},
	"internal/app": {
		"declassify/rubriclint", "declassify/smt/z3", "internal/keys", "internal/rubrics", "rubric",
		"bench/confaide", "bench/leak", "bench/robust", "bench/traj", "bench/traj/adversary", "bench/traj/defence", "bench/traj/world", "declassify", "defend/rules", "rubric/library",
		"confirm", "internal/console", "internal/console/schema", "internal/console/view", "ledger", "bench", "bench/docs", "bench/dojo", "bench/dojo/episode", "bench/gateway", "bench/leakage", "bench/ledger", "bench/mcp", "bench/prism", "bench/prism/method", "bench/report", "bench/vectors", "flow", "internal/child", "internal/completion", "internal/config", "internal/demo", "internal/doctor", "internal/environ", "internal/harness", "internal/localsock", "hook",
		"internal/problem", "internal/report", "internal/scan", "internal/serve", "internal/state", "mcpproxy", "mediator", "monitor", "screen", "screen/judge", "screen/lexical", "secret", "secret/recognise", "store/memory", "stream", "train", "taint", "taint/pack",
	},
	"cmd/margay": {"internal/app"},
}

// forbidden are imports that a package must not reach, not even through
// others: the trusted base does no input or output.
var forbidden = map[string][]string{
	"taint":                {"net/http", "os/exec", "database/sql"},
	"ledger":               {"net/http", "os/exec", "database/sql"},
	"declassify":           {"net/http", "os/exec", "database/sql"},
	"declassify/credal":    {"net/http", "os/exec", "database/sql"},
	"label":                {"net/http", "os/exec", "database/sql"},
	"rubric":               {"net/http", "os/exec", "database/sql"},
	"flow":                 {"net/http", "os/exec", "database/sql"},
	"secret":               {"net/http", "os/exec", "database/sql"},
	"secret/canon":         {"net/http", "os/exec", "database/sql"},
	"wire":                 {"net/http", "os/exec", "database/sql"},
	"wire/openaichat":      {"net/http", "os/exec", "database/sql"},
	"wire/mcp":             {"net/http", "os/exec", "database/sql"},
	"wire/anthropic":       {"net/http", "os/exec", "database/sql"},
	"monitor":              {"net/http", "os/exec", "database/sql"},
	"mediator":             {"database/sql", module + "/internal/completion"},
	"internal/sse":         {"net/http"},
	"secret/recognise":     {"database/sql", module + "/internal/completion"},
	"wire/openairesponses": {"net/http", "os/exec", "database/sql"},
	"declassify/smt":       {"net", "net/http", "os/exec", "database/sql"},
	"declassify/smt/z3":    {"net", "net/http", "database/sql"},
}

type pkg struct {
	ImportPath string
	Dir        string
	Imports    []string
	Deps       []string
	GoFiles    []string
}

func packages(t *testing.T) []pkg {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Dir,Imports,Deps,GoFiles", "./...")
	cmd.Dir = root(t)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var all []pkg
	d := json.NewDecoder(bytes.NewReader(out))
	for {
		var p pkg
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
}

func root(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestImports(t *testing.T) {
	for _, p := range packages(t) {
		name := strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/")
		may, ok := allowed[name]
		if !ok {
			t.Errorf("package %s is not in the table: give it a layer", name)
			continue
		}
		for _, imp := range p.Imports {
			if inner, ok := strings.CutPrefix(imp, module+"/"); ok && !slices.Contains(may, inner) {
				t.Errorf("%s imports %s: imports point down, as the table has it", name, inner)
			}
		}
		for _, bad := range forbidden[name] {
			if slices.Contains(p.Deps, bad) {
				t.Errorf("%s reaches %s", name, bad)
			}
		}
	}
}

func TestPackageComments(t *testing.T) {
	for _, p := range packages(t) {
		if len(p.GoFiles) == 0 {
			continue
		}
		n := 0
		for _, f := range p.GoFiles {
			file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, f), nil, parser.ParseComments|parser.PackageClauseOnly)
			if err != nil {
				t.Fatal(err)
			}
			n += comment(file)
			if file.Doc != nil && file.Name.Name != "main" && !strings.HasPrefix(file.Doc.Text(), "Package "+file.Name.Name) {
				t.Errorf("%s/%s: the package comment begins with something else than its name", p.ImportPath, f)
			}
		}
		if n != 1 {
			t.Errorf("%s has %d package comments", p.ImportPath, n)
		}
	}
}

func comment(f *ast.File) int {
	if f.Doc == nil {
		return 0
	}
	return 1
}

// TestFileLength: a file is a thought of under 600 lines.
func TestFileLength(t *testing.T) {
	err := filepath.WalkDir(root(t), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == ".git" || d.Name() == ".cache") {
			return fs.SkipDir
		}
		most := 600
		if strings.HasSuffix(path, "_test.go") {
			most = 800
		}
		if d.IsDir() || !strings.HasSuffix(path, ".go") {
			return nil
		}
		b, err := os.ReadFile(path)
		if n := bytes.Count(b, []byte("\n")); n > most {
			t.Errorf("%s has %d lines; split it by concept", path, n)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
