package mediation

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/margaydev/margay/internal/app/config"
	"github.com/margaydev/margay/internal/problem"
	"github.com/margaydev/margay/taint/workspace"
)

// TestMachine: the folders that a configuration names are workspaces, Margay's own
// are its own, and no folder is trusted that holds everything.
func TestMachine(t *testing.T) {
	home, dir := t.TempDir(), t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", "")
	t.Setenv("XDG_DATA_HOME", "")
	c := config.Default()
	c.Taint.Workspaces, c.Dir = []string{dir}, dir
	m, err := Machine(c)
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]workspace.Zone{
		filepath.Join(dir, "a.go"): workspace.Own, filepath.Join(home, ".config/margay/config.yaml"): workspace.Mediator,
		filepath.Join(home, ".local/share/margay/keys/seal.key"): workspace.Mediator, filepath.Join(home, ".bashrc"): workspace.Steering,
	} {
		if got := m.Zone(path); got != want {
			t.Errorf("%s is %s, want %s", path, got, want)
		}
	}
	for _, wide := range []string{"/", home} {
		c.Taint.Workspaces = []string{wide}
		var p *problem.Error
		if _, err := Machine(c); !errors.As(err, &p) || p.Hint == "" {
			t.Errorf("%s is trusted: %v", wide, err)
		}
	}
}
