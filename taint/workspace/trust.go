package workspace

import (
	"path"
	"slices"
	"strings"
)

// Config is what a Workspace is made of. Paths are absolute and clean.
type Config struct {
	Roots []string // the folders that the user trusts
	Home  string   // the user's home folder; empty where it is not known
	State []string // Margay's own folders and files
}

// Workspace knows the zones of a machine's paths. It is immutable and safe for
// concurrent use.
type Workspace struct {
	roots, state []string
	home         string
}

// New returns a Workspace. A root that is not an absolute, clean path is none.
func New(c Config) *Workspace {
	w := &Workspace{state: slices.Clone(c.State), home: c.Home}
	for _, r := range c.Roots {
		if path.IsAbs(r) && path.Clean(r) == r && r != "/" {
			w.roots = append(w.roots, r)
		}
	}
	// The longest first: a folder in another is its own root.
	slices.SortFunc(w.roots, func(a, b string) int { return len(b) - len(a) })
	return w
}

// within reports whether a path is a folder or below it, and the rest.
func within(p, dir string) (rest string, ok bool) {
	if p == dir {
		return "", true
	}
	return strings.CutPrefix(p, strings.TrimSuffix(dir, "/")+"/")
}

// Root is the trusted folder that a path is in; empty for none.
func (w *Workspace) Root(full string) string {
	for _, r := range w.roots {
		if _, ok := within(full, r); ok {
			return r
		}
	}
	return ""
}

// With is the Workspace with one more root.
func (w *Workspace) With(root string) *Workspace {
	return New(Config{Roots: append(slices.Clone(w.roots), root), Home: w.home, State: w.state})
}

// Around reports whether a folder holds the home folder or a root, or is one.
func (w *Workspace) Around(full string) bool {
	return slices.ContainsFunc(append(slices.Clone(w.roots), w.home), func(dir string) bool {
		_, ok := within(dir, full)
		return ok && dir != ""
	})
}

// MayOffer reports whether a person may be offered to trust a folder, as far as its
// path says: a plain path that hides nothing, of no place that packages, downloads,
// settings, scratch files or Margay's own are kept in.
func (w *Workspace) MayOffer(full string) bool {
	if _, plain := w.Resolve("", full); !plain || w.home == "" || w.Root(full) != "" || w.Zone(full) != Outside || w.Above(full) {
		return false
	}
	low, home := strings.ToLower(full), strings.ToLower(w.home)
	if _, ok := within(home, low); ok { // it is around the home folder
		return false
	}
	if rest, ok := within(low, home); ok {
		low = rest
	}
	low = "/" + strings.TrimPrefix(low, "/")
	if strings.HasPrefix(low, "/library/") {
		return false
	}
	for _, trees := range worktrees {
		low = strings.ReplaceAll(low, "/"+trees+"/", "/")
	}
	return !slices.ContainsFunc(strings.Split(low, "/"), func(part string) bool {
		return strings.HasPrefix(part, ".") || slices.Contains(foreignNames, part) || slices.Contains(unowned, part)
	})
}

// Above reports whether a folder holds some of Margay's own.
func (w *Workspace) Above(full string) bool {
	return slices.ContainsFunc(w.state, func(dir string) bool {
		rest, ok := within(strings.ToLower(dir), strings.ToLower(full))
		return ok && rest != ""
	})
}

// Matches reports whether a pattern of a shell's matches a path of Margay's own or a
// folder above it. A path is a pattern of itself.
func (w *Workspace) Matches(pattern string) bool {
	parts := strings.Split(strings.ToLower(pattern), "/")
	return slices.ContainsFunc(w.state, func(dir string) bool {
		own := strings.Split(strings.ToLower(dir), "/")
		if len(parts) < len(own) && !strings.ContainsAny(pattern, "*?[") {
			return false
		}
		for i := range min(len(parts), len(own)) {
			hidden := strings.HasPrefix(own[i], ".") && !strings.HasPrefix(parts[i], ".")
			if ok, err := path.Match(parts[i], own[i]); !ok && err == nil || hidden {
				return false
			}
		}
		return true
	})
}

// Zone says what a path is. One that is not absolute and clean is Outside.
func (w *Workspace) Zone(full string) Zone {
	if !path.IsAbs(full) || path.Clean(full) != full {
		return Outside
	}
	for _, dir := range w.state {
		if _, ok := within(strings.ToLower(full), strings.ToLower(dir)); ok {
			return Mediator
		}
	}
	if root := w.Root(full); root != "" {
		rest, _ := within(full, root)
		return inRoot(strings.ToLower(rest))
	}
	low := strings.ToLower(full)
	if rest, ok := within(full, w.home); ok && w.home != "" {
		if matches(strings.ToLower(rest), plans) {
			return Own
		}
		if matches(strings.ToLower(rest), homeSteering) {
			return Steering
		}
		return Outside
	}
	switch {
	case matches(low, systemSteering):
		return Steering
	case matches(low, scratch):
		return Scratch
	case matches(low, system):
		return System
	}
	return Outside
}

// inRoot is the zone of a path below a trusted folder, in lower case: some file
// systems do not tell cases apart.
func inRoot(rest string) Zone {
	if rest == "" {
		return Own
	}
	// An agent's own copies of the workspace are workspaces.
	for _, trees := range worktrees {
		if below, ok := within(rest, trees); ok && below != "" {
			_, below, _ = strings.Cut(below, "/")
			return inRoot(below)
		}
	}
	for _, p := range plans {
		if _, ok := within(rest, p); ok {
			return Own
		}
	}
	if rest == ".github" || rest == ".gitlab" || matches(rest, steering) {
		return Steering
	}
	if matches(rest, foreign) {
		return Foreign
	}
	if matches(rest, []string{".git"}) {
		return Steering
	}
	if path.Base(rest) == "head" { // of a repository of its own, whose settings run programs
		return Steering
	}
	for part := range strings.SplitSeq(rest, "/") {
		switch {
		case slices.Contains(steeringNames, part):
			return Steering
		case slices.Contains(foreignNames, part):
			return Foreign
		}
	}
	return Own
}

// matches reports whether a path is one of some others or below one.
func matches(p string, dirs []string) bool {
	return slices.ContainsFunc(dirs, func(d string) bool {
		_, ok := within(p, d)
		return ok
	})
}

// Resolve makes a path as it is written absolute and clean, from a working
// directory. It reports false where a shell or a program could read it as another
// one: of a pattern, a variable, or with characters that nobody sees.
func (w *Workspace) Resolve(dir, p string) (string, bool) {
	if p == "" || len(p) > 4096 || strings.ContainsAny(p, "\\*?$`[]{}<>|;&\"'") || strings.ContainsFunc(p, hidden) {
		return "", false
	}
	switch rest, home := strings.CutPrefix(p, "~"); {
	case home && w.home != "" && (rest == "" || rest[0] == '/'):
		return path.Join(w.home, rest), true
	case home: // another user's, or a file whose name starts so
		return "", false
	case path.IsAbs(p):
		return path.Clean(p), true
	case path.IsAbs(dir):
		return path.Join(dir, p), true
	}
	return "", false
}

// hidden reports whether a character is not seen, or changes how others are.
func hidden(r rune) bool {
	return r < ' ' || r == 0x7f || r >= 0x80 && r <= 0xa0 || r == 0xad || r >= 0x200b && r <= 0x200f || r >= 0x2028 && r <= 0x202e ||
		r >= 0x2060 && r <= 0x206f || r == 0xfeff || r >= 0xe0000 && r <= 0xe01ef || r == 0xfffd
}
