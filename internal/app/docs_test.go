package app

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/margaydev/margay/internal/app/config"
	"github.com/margaydev/margay/internal/testkit"
)

var update = flag.Bool("update", false, "write docs/cli.md")

// upToDate holds a page to what it is made from, or writes it with -update.
func upToDate(t *testing.T, got string, path ...string) {
	t.Helper()
	file := filepath.Join(append([]string{"..", "..", "docs"}, path...)...)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if want, err := os.ReadFile(file); err != nil || got != string(want) {
		t.Errorf("%s is out of date: go generate ./internal/app (%v)", file, err)
	}
}

// The reference is written from the commands; each of them, and every flag, says
// what it does.
func TestReferenceIsUpToDate(t *testing.T) {
	got := reference(newApp().root())
	upToDate(t, got, "cli.md")
	for _, l := range strings.Split(got, "\n") {
		if strings.HasPrefix(l, "| `--") && strings.HasSuffix(l, "|  |") {
			t.Errorf("no description: %s", l)
		}
	}
}

// reference is docs/cli.md.
func reference(root *cobra.Command) string {
	var b strings.Builder
	b.WriteString("<!-- Written by go generate ./internal/app; do not edit. -->\n\n# The command line\n\n" + root.Long + "\n\n")
	b.WriteString("Exit codes: 0 done, 1 failed, 2 wrong usage or configuration, 3 findings (`scan`, and where `lint`, `verify`, `list` and `test` say so); `margay run` returns its command's code, or 1 if that is 0 and coverage failed; `margay hook` 0 or 2. " +
		"An error is one line, `margay: what is wrong`, and one more, `hint: what to do next`; with `--json` it is a document on standard error. " +
		"Results go to standard output, progress and logs to standard error. No command prints the value of a secret.\n\n")
	testkit.Reference(&b, root)
	b.WriteString("## Environment\n\n| variable | meaning |\n|---|---|\n" +
		"| `MARGAY_CONFIG` | the configuration file, where `--config` names none |\n" +
		"| `MARGAY_KEYS` | the three keys as 96 bytes in base64, instead of key files; a first start with them needs `--new-state`, since a lost database looks the same |\n" +
		"| `MARGAY_LEDGER_KEY` | the key that signs the ledger as 32 bytes in base64, instead of a key file |\n" +
		"| `MARGAY_TRAJECTORY` | the trajectory that `margay run` gives to its child, for `margay mcp` |\n" +
		"| `MARGAY_<KEY>` | any key of the configuration: `limits.held` is `MARGAY_LIMITS_HELD` |\n" +
		"| `OPENAI_BASE_URL`, `OPENAI_API_BASE` | the upstream, where nothing else names one |\n" +
		"| `HTTPS_PROXY`, `NO_PROXY`, `SSL_CERT_FILE` | on the way to upstreams |\n" +
		"| `NO_COLOR` | no colour on a terminal |\n\n" +
		"## Configuration\n\n`margay config example`:\n\n```yaml\n" + config.Example + "```\n")
	return b.String()
}

// Every command, at whatever depth, explains itself and takes --json.
func TestEveryCommandHasHelp(t *testing.T) {
	n := 0
	var look func(c *cobra.Command, path []string)
	look = func(c *cobra.Command, path []string) {
		var out strings.Builder
		if code := Main(append(path, "--help"), strings.NewReader(""), &out, &out); code != 0 {
			t.Errorf("%v: exit code %d", path, code)
		}
		help := out.String()
		if c.Short == "" || !strings.Contains(help, "Usage:") || !strings.Contains(help, "--json") {
			t.Errorf("%v: no help, or no --json:\n%s", path, help)
		}
		for _, s := range c.Commands() {
			if !s.Hidden && s.Name() != "help" && s.Name() != "completion" {
				n++
				look(s, append(path[:len(path):len(path)], s.Name()))
			}
		}
	}
	look(newApp().root(), nil)
	if n < 40 {
		t.Errorf("%d commands: the test is not what it was", n)
	}
}
