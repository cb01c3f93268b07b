package recorded

import (
	"path"
	"slices"
	"strings"

	"github.com/margaydev/margay/mediator/places"
	"github.com/margaydev/margay/secret"
	"github.com/margaydev/margay/store/memory"
)

// Machine is the computer that a session was recorded on, as far as the record
// says: workspaces are roots and, with trusted, the folders that the session
// trusts, and labels follow the files that its calls write. A record does not show
// which folders are projects: project says it, as places.Config has it; nil for nobody.
func Machine(s *Session, keys *secret.Keys, trusted bool, project func(path string) string, roots ...string) *places.Book {
	c := places.Config{Store: memory.New(), Keys: keys, Roots: roots, Dir: s.Cwd, Home: homeOf(s.Cwd), Project: project}
	if c.Home != "" {
		c.State = []string{c.Home + "/.config/margay", c.Home + "/.local/share/margay"}
	}
	if trusted {
		c.Roots = slices.Concat(roots, s.Trusted)
	}
	return places.New(c)
}

// homeOf is the home folder that a path is below, as systems name them.
func homeOf(dir string) string {
	parts := strings.Split(path.Clean("/"+dir), "/")
	if len(parts) > 2 && (parts[1] == "Users" || parts[1] == "home") {
		return "/" + parts[1] + "/" + parts[2]
	}
	if len(parts) > 1 && parts[1] == "root" {
		return "/root"
	}
	return ""
}
