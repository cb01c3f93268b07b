package front

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/margaydev/margay/internal/app/config"
	"github.com/margaydev/margay/internal/app/invocation"
	"github.com/margaydev/margay/internal/cli"
	"github.com/margaydev/margay/internal/problem"
)

func TestServerName(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"npx", "-y", "@modelcontextprotocol/server-everything", "--x"}, "server-everything"},
		{[]string{"/usr/bin/uvx", "mcp-server-git"}, "mcp-server-git"},
		{[]string{"docker", "run", "-i", "--rm", "mcp/fetch"}, "fetch"},
		{[]string{"/opt/servers/files", "/srv"}, "files"},
		{[]string{"node", "--token=x y"}, "node"},
		{[]string{"node", "a b"}, "mcp-server"},
	} {
		shown, id := serverName("", c.args)
		if shown != c.want {
			t.Errorf("%v is %s, want %s", c.args, shown, c.want)
		}
		if _, other := serverName("", append(c.args, "more")); other == id {
			t.Errorf("%v is the same with another argument", c.args)
		}
		if _, named := serverName("n", c.args); named == id {
			t.Errorf("%v is the same with a name", c.args)
		}
	}
	_, a := serverName("n", []string{"x"})
	if _, b := serverName("n", []string{"y"}); a != b {
		t.Error("a name does not make it the same server")
	}
}

func TestFamilyFromEnv(t *testing.T) {
	t.Setenv(config.EnvTrajectory, "01ARZ3NDEKTSV4RRFFQ69G5FAV")
	if id, err := familyFromEnv(); err != nil || id != "01ARZ3NDEKTSV4RRFFQ69G5FAV" {
		t.Errorf("%s, %v", id, err)
	}
	t.Setenv(config.EnvTrajectory, "nonsense")
	if _, err := familyFromEnv(); err == nil {
		t.Error("nonsense was taken")
	}
	t.Setenv(config.EnvTrajectory, "")
	if id, err := familyFromEnv(); err != nil || id != "" {
		t.Errorf("%s, %v without a run", id, err)
	}
}

// Entries of a program of another name would not be found again.
func TestEditsNeedTheName(t *testing.T) {
	for _, undo := range []bool{false, true} {
		a := &app{App: &invocation.App{Command: cli.Command{Out: io.Discard, Err: io.Discard}, StateDir: t.TempDir()}}
		err := a.edit(&editFlags{undo: undo, dry: true}, nil, nil, part{})
		var p *problem.Error
		if named := errors.As(err, &p) && strings.Contains(err.Error(), "the name margay") && p.Hint != ""; named == undo {
			t.Errorf("undo %v: %v", undo, err)
		}
	}
}
