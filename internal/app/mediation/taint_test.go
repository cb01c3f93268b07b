package mediation

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/margaydev/margay/internal/app/config"
	"github.com/margaydev/margay/internal/problem"
	"github.com/margaydev/margay/taint/pack"
)

// The built-in packs go together, in every lattice, and so does each suite
// alone.
func TestPolicy(t *testing.T) {
	c := config.Default().Taint
	p, err := Policy(&c)
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range []string{"Bash", "Read", "mcp__github__create_issue"} {
		if _, ok := p.Tool(tool); !ok {
			t.Errorf("no pack knows %s", tool)
		}
	}
	c.Lattice, c.Self = "sets", "me@example.com"
	if _, err := Policy(&c); err != nil {
		t.Error(err)
	}
	for _, name := range pack.Names() {
		c := config.Default().Taint
		c.Packs = []string{name}
		if _, err := Policy(&c); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	// A pack of the user's adds to the built-in ones, or takes the place of one.
	own := filepath.Join(t.TempDir(), "own.yaml")
	for _, kind := range []string{"server: notes", "server: fetch"} {
		text := "version: 1\npack: own\ntitle: A server\n" + kind + "\nschemas: its own\ntools:\n  - name: note\n    worst: It writes.\n    why: It does.\n    policy: [{effect: edit, why: it writes}]\n    samples: [{args: {}, effect: edit}]\n"
		if err := os.WriteFile(own, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		c := config.Default().Taint
		c.Packs = []string{own}
		if p, err = Policy(&c); err != nil {
			t.Fatal(err)
		}
		_, replaced := p.Tool("mcp__fetch__fetch")
		if _, ok := p.Tool("Bash"); !ok || replaced == (kind == "server: fetch") {
			t.Errorf("%s: the built-in packs: %v, %v", kind, ok, replaced)
		}
	}
	c = config.Default().Taint
	c.Servers = map[string]string{"gh": "github"}
	if p, err = Policy(&c); err != nil {
		t.Fatal(err)
	}
	if _, ok := p.Tool("mcp__gh__create_issue"); !ok {
		t.Error("a server by another name has no pack")
	}
	for _, bad := range []func(*config.Taint){
		func(c *config.Taint) { c.Packs = []string{"nonsense"} },
		func(c *config.Taint) { c.Packs = []string{"/no/such.yaml"} },
		func(c *config.Taint) { c.Packs = []string{"mcp-github", "mcp-github"} },
		func(c *config.Taint) { c.Servers = map[string]string{"gh": "nothing"} },
		func(c *config.Taint) { c.Lattice, c.Self = "sets", "a b" },
	} {
		c := config.Default().Taint
		bad(&c)
		var p *problem.Error
		if _, err := Policy(&c); !errors.As(err, &p) || p.Hint == "" {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
