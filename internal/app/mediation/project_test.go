package mediation

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/margaydev/margay/confirm"
	"github.com/margaydev/margay/internal/app/config"
	"github.com/margaydev/margay/internal/app/state"
	"github.com/margaydev/margay/mediator/places"
	"github.com/margaydev/margay/store/memory"
)

// homeWith is a home folder with files.
func homeWith(t *testing.T, files ...string) string {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("it is not known there when files were made")
	}
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", "")
	t.Setenv("XDG_DATA_HOME", "")
	for _, f := range files {
		name, text, _ := strings.Cut(f, "=")
		name = filepath.Join(home, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return home
}

// TestProject: a project is the root of a git working tree that has been there for a
// while, is no other's module, and is named without links.
func TestProject(t *testing.T) {
	home := homeWith(
		t, "src/a/.git/description", "src/a/sub/x.go", "src/bare/.git/HEAD", "src/tree/.git=gitdir: /home/me/src/a/.git/worktrees/tree\n",
		"src/a/module/.git=gitdir: ../.git/modules/module\n", "src/plain/x.go", "src/large/.git="+strings.Repeat("gitdir: /x/.git/worktrees/y ", 1000),
	)
	for link, to := range map[string]string{"link": "src/a", "src/made": "src/tree", "src/odd/.git": "src/a/.git"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(home, link)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(filepath.Join(home, to), filepath.Join(home, link)); err != nil {
			t.Fatal(err)
		}
	}
	shared := t.TempDir() // below the folder for temporary files, and in no home
	if err := os.MkdirAll(filepath.Join(shared, ".git"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(shared, ".git/description"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	later, now := project(func() time.Time { return time.Now().Add(2 * settled) }), project(time.Now)
	for path, want := range map[string]string{
		"src/a": "src/a", "src/a/sub/x.go": "src/a", "src/a/sub/new/y.go": "src/a", "src/a/sub/x.go/z": "src/a", "src/tree/x": "src/tree",
		"src/bare": "", "src/a/module/x.go": "", "src/plain/x.go": "", "src/large": "", "src/odd": "", "link": "", "link/sub/x.go": "", "src/made": "", "src": "", "": "", "..": "",
	} {
		full := filepath.Join(home, path)
		if want != "" {
			want = filepath.Join(home, want)
		}
		if got := later(full); got != want {
			t.Errorf("%q is in %q, want %q", path, got, want)
		}
		if got := now(full); got != "" {
			t.Errorf("%q is in %q, which was just made", path, got)
		}
	}
	for _, path := range []string{shared, "src/a", "", "/"} {
		if got := later(path); got != "" {
			t.Errorf("%q is in %q", path, got)
		}
	}
	// The home folder may be under git itself.
	homeWith(t, ".git/description", "src/x.go")
	if got := later(filepath.Join(os.Getenv("HOME"), "src/x.go")); got != "" {
		t.Errorf("all of the user's files are offered: %q", got)
	}
}

// TestTrust: an answer trusts the folder of its question as long as it is one that may
// be offered.
func TestTrust(t *testing.T) {
	home := homeWith(t, "src/a/.git/description", "src/b/.git/description", "src/plain/x.go", ".config/x/.git/description", "src/node_modules/x/.git/description", "src/theirs/.git/description")
	ctx, st := t.Context(), &state.State{Store: memory.New()}
	b, err := Places(config.Default(), st)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Taint(ctx, []string{filepath.Join(home, "src/theirs/x.go")}); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(home, "src/b"), filepath.Join(home, "src/link")); err != nil {
		t.Fatal(err)
	}
	later := time.Now().Add(2 * settled)
	if err := Trust(b)(ctx, &confirm.Question{Asked: time.Now(), Folder: filepath.Join(home, "src/a")}); err == nil {
		t.Error("what was just made is trusted")
	}
	for _, folder := range []string{"", "src", "..", "src/a/sub", "src/plain", ".config/x", "src/node_modules/x", "src/theirs", "src/link", "src/nothing"} {
		if err := Trust(b)(ctx, &confirm.Question{Asked: later, Folder: filepath.Join(home, folder)}); err == nil {
			t.Errorf("%q is trusted", folder)
		}
	}
	if err := Trust(b)(ctx, &confirm.Question{Asked: later, Folder: filepath.Join(home, "src/a")}); err != nil {
		t.Fatal(err)
	}
	all, err := b.All(ctx)
	if err != nil {
		t.Fatal(err)
	}
	all = slices.DeleteFunc(all, func(p places.Place) bool { return !p.Trusted })
	if len(all) != 1 || all[0].Path != filepath.Join(home, "src/a") {
		t.Errorf("%+v are trusted", all)
	}
}
