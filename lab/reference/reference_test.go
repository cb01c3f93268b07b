package reference

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/margaydev/margay/"

// shared is what the copies may use of the product: packages, or names of those that
// hold an engine as well.
var shared = map[string][]string{
	"flow":             nil,
	"secret/plausible": nil,
	"secret/rarity":    nil,
	"stream/cut":       nil,
	"secret": {
		"Fingerprint", "Keys", "Kind", "KindAPIKey", "KindCard", "KindConnectionString", "KindEmail", "KindIBAN", "KindIP", "KindNationalID",
		"KindPassword", "KindPhone", "KindPrivateKey", "KindSecret", "KindToken", "KindUUID", "KindWebhook", "Record", "Source", "SourceDeclared",
		"SourceDiscovered", "SourceRegistered",
	},
	"secret/recognise": {"Allow", "ClassCredential", "ClassDiscovery", "ClassPersonal", "PrivateKeyID", "Rule"},
	"stream":           {"AppendRedaction", "Config", "DefaultMaxHeld", "Finding", "KindUndecided", "RuleRisk", "RuleUndecided", "RuleVault"},
}

// TestSharesNoEngine: the copies use no part of the engine that they are compared
// with.
func TestSharesNoEngine(t *testing.T) {
	files, err := filepath.Glob("*/*.go")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, name := range files {
		switch dir := filepath.Dir(name); dir {
		case "ahocorasick", "dfa", "canon", "match", "recognise", "stream":
		default:
			continue // it compares
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		n++
		local := map[string]string{} // what a package is called here
		for _, imp := range f.Imports {
			p, _ := strconv.Unquote(imp.Path.Value)
			inner, ours := strings.CutPrefix(p, module)
			if !ours || strings.HasPrefix(inner, "lab/reference/") {
				continue
			}
			names, ok := shared[inner]
			if !ok {
				t.Errorf("%s imports %s, which the reference must not share", name, inner)
			}
			if names == nil {
				continue
			}
			if as := path.Base(inner); imp.Name == nil {
				local[as] = inner
			} else {
				local[imp.Name.Name] = inner
			}
		}
		ast.Inspect(f, func(node ast.Node) bool {
			sel, ok := node.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if x, ok := sel.X.(*ast.Ident); ok && x.Obj == nil && local[x.Name] != "" && !slices.Contains(shared[local[x.Name]], sel.Sel.Name) {
				t.Errorf("%s uses %s of %s, which may be of the engine", name, sel.Sel.Name, local[x.Name])
			}
			return true
		})
	}
	if n < 15 {
		t.Errorf("only %d files were read", n)
	}
}
