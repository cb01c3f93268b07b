package workspace

import (
	"path"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func sample() *Workspace {
	return New(Config{Roots: []string{"/work/app", "/work/app/sub", "relative", "/"}, Home: "/home/me", State: []string{"/home/me/.config/margay", "/home/me/.local/share/margay"}})
}

func TestZone(t *testing.T) {
	w := sample()
	for p, want := range map[string]Zone{
		"/work/app":                                    Own,
		"/work/app/a.go":                               Own,
		"/work/app/Makefile":                           Steering,
		"/work/app/package.json":                       Steering,
		"/work/app/target/debug/x":                     Own,
		"/work/application/a.go":                       Outside,
		"/work/other/a.go":                             Outside,
		"/work/app/node_modules/x/index.js":            Foreign,
		"/work/app/web/node_modules":                   Foreign,
		"/work/app/vendor/x/y.go":                      Foreign,
		"/work/app/.venv/lib/a.py":                     Foreign,
		"/work/app/.git/FETCH_HEAD":                    Foreign,
		"/work/app/.git/hooks/pre-commit":              Steering,
		"/work/app/.git/config":                        Steering,
		"/work/app/.git":                               Steering,
		"/work/app/.github":                            Steering,
		"/work/app/.git/commondir":                     Steering,
		"/home/me/.config/MARGAY/x":                    Mediator,
		"/work/app/.git/index":                         Steering,
		"/work/app/.GitHub/Workflows/ci.yml":           Steering,
		"/work/app/CLAUDE.md":                          Steering,
		"/work/app/docs/AGENTS.md":                     Steering,
		"/work/app/.claude/settings.json":              Steering,
		"/work/app/.claude/plans/x.md":                 Own,
		"/work/app/.claude/worktrees/x/a.go":           Own,
		"/work/app/.claude/worktrees/x/AGENTS.md":      Steering,
		"/work/app/.claude/worktrees/x/node_modules/y": Foreign,
		"/work/app/.claude/worktrees":                  Steering,
		"/work/app/sub/CLAUDE.md":                      Steering,
		"/home/me/.bashrc":                             Steering,
		"/home/me/.ssh/authorized_keys":                Steering,
		"/home/me/.config/systemd/user/x":              Steering,
		"/home/me/.config/margay/config.yaml":          Mediator,
		"/home/me/.local/share/margay/margay.db":       Mediator,
		"/home/me/Downloads/x":                         Outside,
		"/home/me":                                     Outside,
		"/tmp/x":                                       Scratch,
		"/etc/cron.d/x":                                Steering,
		"/etc/issue":                                   System,
		"/usr/bin/git":                                 System,
		"/dev/null":                                    System,
		"/dev/sda":                                     Outside,
		"/dev/tcp/x/80":                                Outside,
		"/":                                            Outside,
		"relative/x":                                   Outside,
		"/work/app/../x":                               Outside,
		"/work/app/./x":                                Outside,
		"":                                             Outside,
	} {
		if got := w.Zone(p); got != want {
			t.Errorf("%s is %s, want %s", p, got, want)
		}
	}
	if got := w.Root("/work/app/sub/x"); got != "/work/app/sub" {
		t.Errorf("the root is %s", got)
	}
	for p, want := range map[string]bool{"/home/me": true, "/home/me/.CONFIG": true, "/": true, "/home/me/.config/margay": false, "/work": false} {
		if w.Above(p) != want {
			t.Errorf("%s holds Margay's own: %v", p, !want)
		}
	}
	if got := w.Root("/work"); got != "" {
		t.Errorf("the root is %s", got)
	}
}

func TestMatches(t *testing.T) {
	w := sample()
	for p, want := range map[string]bool{
		"/home/me/.config/*/x": true, "/home/me/.c*": true, "/home/me/.config/MAR?AY/x": true, "/home/me/.config/margay/x": true, "/home/*/.config/[m]argay/x": true, "/home/me/.config/[": true,
		"/home/me/*": false, "/home/me/.config/git/*": false, "/home/me/.config": false, "/work/*": false, "/home/me/.config/*.yaml": false,
	} {
		if got := w.Matches(p); got != want {
			t.Errorf("%s matches: %v", p, got)
		}
	}
}

func TestResolve(t *testing.T) {
	w := sample()
	for _, c := range []struct{ dir, p, want string }{
		{"/work/app", "a.go", "/work/app/a.go"},
		{"/work/app", "./b/../a.go", "/work/app/a.go"},
		{"/work/app", "../../etc/passwd", "/etc/passwd"},
		{"/work/app", "/x/../y", "/y"},
		{"", "/y", "/y"},
		{"", "~/x", "/home/me/x"},
		{"", "~", "/home/me"},
		{"", "a", ""},
		{"rel", "a", ""},
		{"/w", "~root/x", ""},
		{"/w", "", ""},
		{"/w", "*.go", ""},
		{"/w", "$HOME/x", ""},
		{"/w", "a\x00b", ""},
		{"/w", "a\u200bb", ""},
		{"/w", "a\u202eb", ""},
		{"/w", `a\b`, ""},
	} {
		got, ok := w.Resolve(c.dir, c.p)
		if got != c.want || ok != (c.want != "") {
			t.Errorf("%q in %q is %q, %v", c.p, c.dir, got, ok)
		}
	}
}

// A path that resolves is in a trusted folder only if its text says so, whatever
// goes up and down in it.
func TestResolveStays(t *testing.T) {
	w := sample()
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOfN(rapid.SampledFrom([]string{"..", ".", "a", "work", "app", "", "etc"}), 1, 8).Draw(t, "parts")
		got, ok := w.Resolve("/work/app", strings.Join(parts, "/"))
		if !ok {
			return
		}
		if !path.IsAbs(got) || path.Clean(got) != got {
			t.Fatalf("%q is not clean", got)
		}
		z := w.Zone(got)
		inside := got == "/work/app" || strings.HasPrefix(got, "/work/app/")
		if inside != (w.Root(got) != "") || !inside && z == Own {
			t.Fatalf("%q is %s", got, z)
		}
	})
}

// TestMayOffer: what may be offered to trust is no place of packages, downloads,
// settings, scratch files or Margay's own, and its name shows all that it is.
func TestMayOffer(t *testing.T) {
	w := New(Config{Roots: []string{"/work/app", "/home/me/wks/cli/.worktrees/3"}, Home: "/home/me", State: []string{"/home/me/.config/margay", "/srv/margay/state"}})
	for p, want := range map[string]bool{
		"/home/me/src/other":                  true,
		"/work/other":                         true,
		"/home/me/wks/cli":                    true,
		"/home/me/wks/cli/.worktrees/1":       true,
		"/home/me/src/with space":             true,
		"/work/app":                           false, // trusted already
		"/work/app/sub":                       false,
		"/home/me":                            false,
		"/home":                               false,
		"/":                                   false,
		"":                                    false,
		"other":                               false,
		"/home/me/src/../other":               false,
		"/srv/margay":                         false,
		"/srv":                                false,
		"/home/me/.config/margay":             false,
		"/home/me/.config/nvim":               false,
		"/home/me/.cache/x":                   false,
		"/home/me/.cargo/registry/src/x":      false,
		"/home/me/go/pkg/mod/x.example/y":     false,
		"/home/me/src/other/node_modules/x":   false,
		"/home/me/src/other/Vendor/x":         false,
		"/home/me/src/.venv/lib":              false,
		"/usr/lib/python3/site-packages/x":    false,
		"/home/me/venvs/x/site-packages/y":    false,
		"/home/me/Downloads/x":                false,
		"/home/me/Library/Caches/x":           false,
		"/home/me/tmp/x":                      false,
		"/tmp/x":                              false,
		"/var/tmp/x":                          false,
		"/private/var/folders/a/b/T/x":        false,
		"/dev/shm/x":                          false,
		"/etc/x":                              false,
		"/home/me/src/a\u202eb":               false,
		"/home/me/src/a\nb":                   false,
		"/home/me/src/$HOME":                  false,
		"/home/me/src/`id`":                   false,
		"/home/me/.codex/worktrees/ab92/mise": false,
		"/home/me/.codex/plugins/cache/x":     false,
		"/home/me/.claude/worktrees/x":        false,
	} {
		if got := w.MayOffer(p); got != want {
			t.Errorf("%q may be offered: %v", p, got)
		}
	}
	if New(Config{}).MayOffer("/work/other") {
		t.Error("it may be offered where the home folder is not known")
	}
}

// A folder that may be offered is nobody's, and trusting it trusts what is below it and
// nothing else.
func TestWith(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := sample()
		name := rapid.SampledFrom([]string{"app", "other", "home", "me", "work", "tmp", "vendor", ".git", ".config", "margay", "src", "node_modules"})
		draw := func(what string) string { return "/" + strings.Join(rapid.SliceOfN(name, 1, 5).Draw(t, what), "/") }
		root, p := draw("root"), draw("path")
		if !w.MayOffer(root) {
			return
		}
		if w.Zone(root) != Outside || w.Root(root) != "" || w.Above(root) {
			t.Fatalf("%s may be offered, and is %s", root, w.Zone(root))
		}
		then := w.With(root)
		if then.MayOffer(root) || then.Zone(root) != Own {
			t.Fatalf("%s is not trusted then", root)
		}
		if _, below := within(p, root); !below && then.Zone(p) != w.Zone(p) {
			t.Fatalf("%s is %s, and was %s, as %s is trusted", p, then.Zone(p), w.Zone(p), root)
		}
		if z := w.Zone(p); z == Mediator && then.Zone(p) != Mediator {
			t.Fatalf("%s was Margay's own", p)
		}
	})
}
