package mediation

import (
	"errors"
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
