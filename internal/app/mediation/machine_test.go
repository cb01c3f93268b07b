package mediation

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/margaydev/margay/internal/app/config"
	"github.com/margaydev/margay/internal/app/state"
	"github.com/margaydev/margay/internal/problem"
	"github.com/margaydev/margay/store/memory"
	"github.com/margaydev/margay/taint/workspace"
)

// TestPlaces: the folders that a configuration or the store names are workspaces,
// Margay's own are its own, and no folder is trusted that holds everything.
func TestPlaces(t *testing.T) {
	ctx := context.Background()
	home, dir, other := t.TempDir(), t.TempDir(), t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", "")
	t.Setenv("XDG_DATA_HOME", "")
	c := config.Default()
	c.Taint.Workspaces, c.Dir = []string{dir}, dir
	b, err := Places(c, &state.State{Store: memory.New()})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Trust(ctx, other); err != nil {
		t.Fatal(err)
	}
	m, err := b.Now(ctx, "")
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]workspace.Zone{
		filepath.Join(dir, "a.go"): workspace.Own, filepath.Join(other, "a.go"): workspace.Own, filepath.Join(home, ".config/margay/config.yaml"): workspace.Mediator,
		filepath.Join(home, ".local/share/margay/keys/seal.key"): workspace.Mediator, filepath.Join(home, ".bashrc"): workspace.Steering,
	} {
		if got := m.Places.Zone(path); got != want {
			t.Errorf("%s is %s, want %s", path, got, want)
		}
	}
	for _, wide := range []string{"/", home, filepath.Dir(home)} {
		c.Taint.Workspaces = []string{wide}
		var p *problem.Error
		if _, err := Places(c, &state.State{Store: memory.New()}); !errors.As(err, &p) || p.Hint == "" {
			t.Errorf("%s is trusted: %v", wide, err)
		}
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := Folder(link); err != nil || !slices.Equal(got, []string{link, real}) {
		t.Errorf("a link: %v, %v", got, err)
	}
}
