package mediation

import (
	"strings"
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

// TestBindLocal: a server works on this machine if its command is known, whatever pack
// it has, or if the configuration says so.
func TestBindLocal(t *testing.T) {
	for name, c := range map[string]struct {
		lists        map[string][]string
		named, known string
		want         string
	}{
		"known":            {known: "filesystem", want: "files"},
		"named and known":  {named: "filesystem", known: "filesystem", want: "files"},
		"named":            {named: "filesystem"},
		"said":             {named: "filesystem", lists: map[string][]string{"local-servers": {"files"}}, want: "files"},
		"another's is":     {named: "filesystem", lists: map[string][]string{"local-servers": {"git"}}, want: "git"},
		"nobody knows any": {},
	} {
		conf := config.Default()
		conf.Taint.Lists = c.lists
		if err := BindServer(&conf.Taint, "files", c.named, c.known); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(conf.Taint.Lists["local-servers"], " "); got != c.want {
			t.Errorf("%s: %q work here, want %q", name, got, c.want)
		}
		if len(c.lists) == 0 && len(c.lists["local-servers"]) > 0 {
			t.Errorf("%s: the configuration was changed", name)
		}
	}
}
