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
	"sync"
	"testing"
)

const module = "github.com/margaydev/margay"

// allowed lists, for every package, the packages of this module that it may
// import. It is ARCHITECTURE.md's layer table; the two change together.
var allowed = map[string][]string{
	// L0
	"label":                {},
	"internal/recent":      {},
	"internal/sse":         {},
	"internal/strictjson":  {},
	"docs/api":             {},
	"internal/address":     {},
	"internal/httpedge":    {"internal/address", "internal/sse"},
	"internal/completion":  {"internal/address", "internal/strictjson"},
	"internal/ahocorasick": {},
	"internal/dfa":         {},
	"internal/idnumber":    {},
	"internal/yamldoc":     {},
	"internal/testkit":     {},
	"internal/arch":        {},
	// L1
	"flow": {"label"},
	// L2
	"ledger":                      {"flow", "ledger/charge"},
	"ledger/charge":               {"flow"},
	"secret":                      {},
	"secret/match":                {"secret", "secret/canon", "secret/match/memo", "secret/rarity"},
	"secret/match/memo":           {},
	"secret/rarity":               {},
	"secret/plausible":            {"internal/dfa", "secret/rarity"},
	"secret/canon":                {},
	"secret/origin":               {"secret/canon"},
	"secret/spoken":               {},
	"secret/recognise":            {"internal/ahocorasick", "internal/dfa", "internal/idnumber", "secret", "secret/plausible", "secret/recognise/armour", "secret/recognise/expression"},
	"secret/recognise/armour":     {},
	"secret/recognise/expression": {},
	"secret/recognise/own":        {"secret", "secret/recognise"},
	"monitor":                     {"flow", "monitor/cue"},
	"monitor/cue":                 {"internal/ahocorasick"},
	"rubric":                      {"flow", "internal/yamldoc", "rubric/dependency", "rubric/document", "rubric/domain", "rubric/fallback", "rubric/include", "rubric/population", "rubric/predicate", "rubric/signed"},
	"rubric/dependency":           {"flow", "internal/yamldoc", "rubric/population"},
	"rubric/document":             {"flow", "internal/yamldoc", "rubric/dependency", "rubric/domain", "rubric/include", "rubric/population"},
	"rubric/fallback":             {"rubric/predicate"},
	"rubric/lint":                 {"flow", "rubric", "rubric/document"},
	"rubric/signed":               {"internal/yamldoc"},
	"rubric/include":              {"internal/yamldoc"},
	"rubric/domain":               {"secret/spoken"},
	"rubric/population":           {"flow", "internal/yamldoc", "rubric/domain", "secret/spoken"},
	"rubric/predicate":            {"internal/dfa", "internal/idnumber", "internal/yamldoc", "secret/canon"},
	"rubric/library":              {"flow", "rubric"},
	"wire":                        {"flow", "internal/sse", "internal/strictjson"},
	"wire/body":                   {"flow", "internal/strictjson", "wire"},
	"wire/events":                 {"flow", "internal/sse", "internal/strictjson", "wire", "wire/body"},
	"wire/openaichat":             {"flow", "internal/sse", "internal/strictjson", "wire", "wire/body", "wire/events"},
	"wire/mcp":                    {"flow", "internal/strictjson", "wire/body"},
	"wire/anthropic":              {"flow", "internal/sse", "internal/strictjson", "wire", "wire/body", "wire/events"},
	"wire/openairesponses":        {"flow", "internal/sse", "internal/strictjson", "wire", "wire/body", "wire/events"},
	// L3
	"stream":                {"flow", "secret", "secret/canon", "secret/match", "secret/recognise", "stream/cut"},
	"stream/cut":            {},
	"confirm":               {"flow", "taint/effect"},
	"screen":                {"flow", "label", "taint/clear"},
	"screen/lexical":        {"screen"},
	"screen/judge":          {"internal/completion", "internal/recent", "screen"},
	"screen/saliency":       {"internal/completion", "screen"},
	"taint":                 {"flow", "internal/address", "label", "taint/act", "taint/clear", "taint/document", "taint/effect", "taint/observe", "taint/profile", "taint/quote", "taint/workspace", "taint/wish"},
	"taint/quote":           {"label"},
	"taint/codemode":        {},
	"taint/act":             {"taint/codemode", "taint/document", "taint/effect", "taint/shell", "taint/workspace"},
	"taint/document":        {"internal/strictjson"},
	"taint/observe":         {"flow", "internal/idnumber", "label", "taint/document"},
	"taint/clear":           {"flow", "label"},
	"taint/effect":          {},
	"taint/workspace":       {},
	"taint/wish":            {"taint/observe"},
	"taint/profile":         {"taint/document", "taint/effect", "taint/wish"},
	"taint/suggest":         {"taint/effect"},
	"taint/shell":           {"taint/effect", "taint/shell/forge", "taint/shell/inline", "taint/shell/printed", "taint/shell/table", "taint/workspace"},
	"taint/shell/forge":     {},
	"taint/shell/inline":    {},
	"taint/shell/printed":   {},
	"taint/shell/table":     {"taint/effect"},
	"declassify/clause":     {"declassify/evidence", "declassify/smt", "flow", "rubric"},
	"declassify/span":       {"declassify/evidence", "rubric"},
	"taint/pack":            {"flow", "internal/yamldoc", "label", "taint", "taint/act", "taint/document", "taint/effect", "taint/observe", "taint/workspace"},
	"declassify/bound":      {"declassify/credal", "flow", "ledger/charge", "rubric", "rubric/dependency"},
	"declassify/evidence":   {"internal/strictjson", "rubric"},
	"declassify/known":      {"flow", "rubric", "secret/canon", "secret/spoken"},
	"declassify/schema":     {"flow"},
	"declassify/rule":       {"declassify/bound", "declassify/clause", "declassify/evidence", "ledger/charge"},
	"declassify/terms":      {"flow", "ledger/charge", "rubric", "rubric/fallback"},
	"declassify/choice":     {"flow", "rubric"},
	"declassify/shown":      {"flow", "ledger/charge", "rubric"},
	"declassify/recount":    {"flow", "ledger/charge", "rubric", "rubric/fallback"},
	"declassify":            {"declassify/bound", "declassify/choice", "declassify/clause", "declassify/evidence", "declassify/known", "declassify/rule", "declassify/schema", "declassify/shown", "declassify/smt", "declassify/span", "declassify/terms", "flow", "ledger/charge", "rubric"},
	"defend/llm":            {"declassify", "declassify/evidence", "defend/rules", "internal/completion"},
	"defend/rules":          {"declassify", "declassify/evidence", "rubric"},
	"defend/tagger":         {"declassify", "declassify/evidence", "declassify/span", "defend/rules", "flow"},
	"declassify/smt":        {"declassify/smt/sexpr"},
	"declassify/smt/sexpr":  {},
	"declassify/smt/z3":     {"declassify/smt"},
	"declassify/credal":     {"rubric/dependency"},
	"declassify/rubriclint": {"declassify/bound", "declassify/smt", "flow", "rubric", "rubric/lint"},
	// L4
	"mediator":          {"flow", "mediator/altered", "mediator/answer", "mediator/disclose", "mediator/session", "mediator/step", "secret", "taint/clear"},
	"mediator/answer":   {"flow", "mediator/altered", "mediator/audit", "mediator/session", "monitor", "secret", "secret/match", "secret/recognise", "stream", "taint/clear"},
	"mediator/altered":  {"flow", "internal/recent", "mediator/audit"},
	"mediator/places":   {"secret", "taint/act", "taint/effect", "taint/workspace"},
	"mediator/commit":   {"flow"},
	"mediator/disclose": {"confirm", "declassify", "declassify/known", "declassify/rule", "declassify/schema", "flow", "internal/strictjson", "mediator/altered", "mediator/audit", "mediator/session", "rubric", "secret", "secret/match", "secret/recognise", "stream"},
	"mediator/session":  {"confirm", "flow", "internal/recent", "label", "mediator/altered", "mediator/audit", "mediator/commit", "monitor", "secret", "secret/origin", "secret/match", "secret/plausible", "secret/recognise", "stream", "stream/cut", "taint", "taint/clear", "taint/document", "taint/quote"},
	"mediator/step":     {"confirm", "flow", "internal/recent", "label", "mediator/audit", "mediator/session", "secret", "taint", "taint/act", "taint/clear", "taint/document", "taint/effect", "taint/observe", "taint/wish"},
	"mediator/audit":    {"flow", "monitor", "secret", "stream"},
	// beside L5
	"store":           {"mediator/audit", "secret"},
	"store/memory":    {"confirm", "flow", "ledger", "ledger/charge", "mediator/audit", "secret", "store"},
	"store/sqlite":    {"confirm", "flow", "ledger", "ledger/charge", "mediator/audit", "secret", "store"},
	"store/storetest": {"confirm", "ledger", "ledger/charge", "mediator/audit", "secret", "flow", "store"},
	// L5
	"gateway":                   {"flow", "mediator", "outlet", "stream/cut", "wire", "wire/anthropic", "wire/openaichat", "wire/openairesponses", "internal/httpedge", "internal/recent", "internal/sse", "internal/strictjson", "mediator/answer", "mediator/audit"},
	"hook":                      {"flow", "mediator", "mediator/session", "internal/strictjson", "stream/cut"},
	"outlet":                    {"stream/cut"},
	"mcpproxy/pin":              {"flow", "wire/mcp"},
	"mcpproxy/token":            {},
	"mcpproxy":                  {"confirm", "flow", "mediator", "wire/mcp", "internal/httpedge", "internal/recent", "outlet", "internal/sse", "stream/cut", "mcpproxy/pin", "mcpproxy/token"},
	"connectortest":             {},
	"connectortest/gatewaytest": {"connectortest", "declassify", "declassify/schema", "declassify/terms", "defend/rules", "flow", "gateway", "ledger", "ledger/charge", "mediator", "mediator/session", "rubric", "secret", "secret/match", "secret/recognise", "store/memory"},
	// L6
	"internal/app/config":  {"flow", "internal/address", "internal/problem", "internal/yamldoc", "mediator", "secret", "secret/recognise/own"},
	"internal/app/keys":    {"secret"},
	"internal/app/environ": {"flow", "secret", "secret/match", "secret/recognise"},
	"internal/app/console": {"confirm", "docs/api", "flow", "internal/app/console/access", "internal/app/console/live", "internal/app/console/view", "internal/strictjson", "internal/visible", "mediator", "secret", "mediator/audit"},
	"internal/app/console/access": {
		"internal/address", "internal/httpedge",
	},
	"internal/app/console/live": {
		"flow", "mediator/audit",
	},
	"internal/app/console/view": {
		"flow", "internal/visible", "mediator/audit",
	},
	"internal/problem":       {},
	"internal/visible":       {},
	"internal/cli":           {"internal/problem", "internal/visible"},
	"internal/app/state":     {"confirm", "internal/app/config", "internal/app/keys", "internal/problem", "ledger", "mediator", "mediator/places", "secret", "secret/recognise", "secret/recognise/own", "store/memory", "store/sqlite", "mediator/audit", "mcpproxy/pin"},
	"internal/app/report":    {"confirm", "declassify", "declassify/recount", "declassify/terms", "flow", "internal/app/console/view", "ledger", "ledger/charge", "mediator", "secret", "mediator/audit"},
	"internal/app/scan":      {"flow", "internal/app/config", "internal/problem", "internal/app/state", "mediator", "secret", "secret/match", "secret/recognise", "stream", "mediator/audit", "mediator/session"},
	"internal/app/doctor":    {"internal/app/harness", "internal/app/serve", "internal/app/config", "internal/app/environ", "internal/app/invocation", "internal/httpedge", "internal/app/keys", "internal/app/rubrics", "internal/problem", "internal/app/state", "rubric", "store/sqlite"},
	"internal/app/child":     {"internal/problem"},
	"internal/app/harness":   {},
	"internal/app/localsock": {},
	"internal/app/recorded": {
		"flow", "internal/strictjson", "mediator/answer", "mediator/places", "mediator/session", "secret", "store/memory",
	},
	"internal/app/servers": {
		"internal/app/config", "internal/app/invocation", "internal/app/mediation", "internal/app/serve", "internal/app/state", "internal/cli", "internal/problem", "mcpproxy/pin",
	},
	"internal/app/drafts/openapi": {"internal/strictjson", "internal/yamldoc", "taint/suggest"},
	"internal/app/drafts": {
		"internal/app/child", "internal/app/config", "internal/app/drafts/openapi", "internal/app/harness", "internal/app/invocation", "internal/app/localsock", "internal/app/servers",
		"internal/cli", "internal/problem", "internal/strictjson", "rubric", "rubric/library", "taint/effect", "taint/pack", "taint/suggest",
	},
	"internal/app/simulate": {
		"confirm", "flow", "internal/app/config", "internal/app/invocation", "internal/app/mediation", "internal/app/recorded", "internal/app/state",
		"internal/cli", "internal/problem", "mediator", "mediator/answer", "mediator/session", "secret", "secret/recognise", "store/memory", "taint/effect", "taint/pack",
	},
	"internal/app/status": {
		"confirm", "internal/app/config", "internal/app/harness", "internal/app/invocation", "internal/app/localsock", "internal/app/mediation",
		"internal/app/state", "internal/cli", "internal/problem", "store", "taint/effect",
	},
	"internal/app/watch": {},
	"internal/app": {
		"internal/app/config", "internal/app/decisions",
		"internal/app/doctor", "internal/app/environ", "internal/app/evidence", "internal/app/front", "internal/app/invocation",
		"internal/app/keys", "internal/app/policies", "internal/app/rubrics", "internal/app/serve", "internal/app/state", "internal/app/status", "internal/app/trust", "internal/app/values",
		"internal/cli", "internal/problem", "rubric", "secret/recognise",
	},
	"internal/app/invocation": {
		"flow", "internal/app/config", "internal/app/state", "internal/cli", "internal/problem", "mediator/audit",
	},
	"internal/app/front": {
		"internal/address",
		"confirm", "flow", "hook", "internal/app/child", "internal/app/config", "internal/app/environ", "internal/app/harness",
		"internal/app/invocation", "internal/app/localsock", "internal/app/mediation", "internal/app/serve", "internal/app/servers", "internal/app/state", "internal/app/watch", "internal/cli", "internal/problem",
		"mcpproxy", "mediator/audit", "secret", "secret/recognise", "store/memory", "mcpproxy/pin",
	},
	"internal/app/decisions": {
		"confirm", "flow", "internal/app/config", "internal/app/invocation", "internal/app/mediation", "internal/app/state", "internal/cli", "internal/problem",
		"mediator/audit", "mediator/places", "secret", "stream",
	},
	"internal/app/evidence": {
		"confirm", "declassify", "declassify/recount", "declassify/terms", "flow", "internal/app/config", "internal/app/invocation", "internal/app/report", "internal/app/state",
		"internal/cli", "internal/problem", "ledger", "ledger/charge", "mediator", "mediator/session",
	},
	"internal/app/policies": {
		"declassify/rubriclint", "declassify/smt/z3", "flow", "internal/app/config", "internal/app/invocation", "internal/app/mediation",
		"internal/app/drafts", "internal/app/rehearse", "internal/app/rubrics", "internal/app/simulate", "internal/app/state", "internal/cli", "internal/problem", "rubric", "rubric/library", "rubric/lint", "rubric/signed", "taint",
		"store/memory", "taint/act", "taint/document", "taint/observe", "taint/pack",
	},
	"internal/app/trust": {
		"internal/app/config", "internal/app/invocation", "internal/app/mediation", "internal/app/state", "internal/cli", "internal/problem",
		"mediator/places", "store", "taint/effect",
	},
	"internal/app/values": {"flow", "internal/app/config", "internal/app/environ", "internal/app/invocation", "internal/app/scan", "internal/app/state", "internal/cli", "internal/problem", "secret", "secret/match", "secret/recognise"},
	"internal/app/mediation": {
		"confirm", "declassify", "declassify/known", "declassify/schema", "declassify/smt", "declassify/smt/z3", "declassify/terms", "defend/llm", "defend/rules", "defend/tagger", "flow", "internal/app/config",
		"internal/app/rubrics", "internal/app/state", "internal/completion", "internal/problem", "internal/strictjson", "label", "ledger", "ledger/charge",
		"mediator", "mediator/places", "monitor", "rubric", "screen", "screen/judge", "screen/lexical", "screen/saliency", "secret", "store/memory", "taint", "taint/clear", "taint/effect",
		"taint/observe", "taint/pack", "taint/suggest",
	},
	"internal/app/rehearse": {
		"declassify", "declassify/rule", "declassify/schema", "declassify/terms", "defend/rules", "flow", "internal/app/config", "internal/app/mediation", "ledger", "mediator/disclose", "rubric", "store/memory",
	},
	"internal/app/mediation/mediationtest": {
		"internal/app/config", "internal/app/rubrics", "rubric/library",
	},
	"internal/app/console/source": {
		"declassify", "declassify/schema", "defend/rules", "flow", "internal/app/config", "internal/app/console", "internal/app/mediation", "internal/app/rubrics",
		"internal/app/state", "internal/problem", "ledger", "ledger/charge", "mediator", "rubric", "rubric/lint", "rubric/signed", "taint/pack", "mediator/disclose",
	},
	"internal/app/serve": {
		"internal/address",
		"confirm", "flow", "gateway", "hook", "internal/app/config", "internal/app/console", "internal/app/console/access", "internal/app/console/source",
		"internal/app/mediation", "internal/app/state", "internal/httpedge", "internal/problem", "internal/strictjson", "mcpproxy",
		"mediator", "mediator/audit", "mediator/session", "secret", "store/memory",
	},
	"internal/app/rubrics": {
		"internal/app/config", "internal/app/keys", "rubric", "rubric/include", "rubric/library", "rubric/signed",
	},
	"cmd/margay": {"internal/app"},
}

// forbidden are imports that packages must not reach besides those that
// reach_test.go forbids, not even through others.
var forbidden = map[string][]string{
	"internal/dfa":         {"os"},
	"mediator/...":         {module + "/internal/completion"},
	"secret/recognise/...": {module + "/internal/completion"},
}

type pkg struct {
	ImportPath string
	Name       string
	Dir        string
	Imports    []string
	Deps       []string
	GoFiles    []string
}

// packages are those of the product. One go list serves all tests.
func packages(t *testing.T) []pkg {
	t.Helper()
	product.Do(func() { product.all = packagesOf(t, root(t)) })
	return product.all
}

var product struct {
	sync.Once
	all []pkg
}

// packagesOf are those of the module in a folder.
func packagesOf(t *testing.T, dir string) []pkg {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Name,Dir,Imports,Deps,GoFiles", "./...")
	cmd.Dir = dir
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
		for pattern, all := range forbidden {
			for _, bad := range all {
				if matches(pattern, name) && slices.Contains(p.Deps, bad) {
					t.Errorf("%s reaches %s", name, bad)
				}
			}
		}
	}
}

func TestPackageComments(t *testing.T) {
	for _, p := range append(packages(t), packagesOf(t, filepath.Join(root(t), "lab"))...) {
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
