package mediation

import (
	"testing"

	"github.com/margaydev/margay/internal/app/config"
)

// A pack holds for a server under the name that its agent has it by: what the user
// names goes before the configuration, and that before what the command tells.
func TestBindServer(t *testing.T) {
	const file = "mcp__files__read_text_file"
	for name, c := range map[string]struct {
		servers      map[string]string
		named, known string
		want         bool
		fails        bool
	}{
		"nothing":               {},
		"named":                 {named: "filesystem", want: true},
		"by the pack's name":    {named: "mcp-filesystem", want: true},
		"known":                 {known: "filesystem", want: true},
		"configured":            {servers: map[string]string{"files": "memory"}, known: "filesystem"},
		"named over configured": {servers: map[string]string{"files": "memory"}, named: "filesystem", want: true},
		"no such pack":          {named: "claude-code", fails: true},
	} {
		conf := config.Default()
		conf.Taint.Servers = c.servers
		if err := BindServer(&conf.Taint, "files", c.named, c.known); (err != nil) != c.fails {
			t.Errorf("%s: %v", name, err)
		}
		p, err := Policy(&conf.Taint)
		if err != nil {
			t.Fatal(err)
		}
		if _, got := p.Tool(file); got != c.want {
			t.Errorf("%s: known is %v", name, got)
		}
		if c.servers != nil && c.servers["files"] != "memory" {
			t.Errorf("%s: the configuration was changed", name)
		}
	}
	conf := config.Default()
	if err := BindServer(&conf.Taint, "filesystem", "", "filesystem"); err != nil || len(conf.Taint.Servers) > 0 {
		t.Errorf("bound twice: %v, %v", conf.Taint.Servers, err)
	}
}
