package replay

import (
	"context"
	"errors"
	"path"
	"strings"

	"github.com/margaydev/margay/taint/act"
	"github.com/margaydev/margay/taint/workspace"
)

// machine is the one that a session was recorded on, as far as the record says:
// its folders are those that the session trusts.
type machine struct {
	dir, home string
	places    *workspace.Workspace
}

func newMachine(s *Session, trusted bool) *machine {
	m := &machine{dir: s.Cwd, home: homeOf(s.Cwd)}
	c := workspace.Config{Home: m.home}
	if m.home != "" {
		c.State = []string{m.home + "/.config/margay", m.home + "/.local/share/margay"}
	}
	if trusted {
		c.Roots = s.Trusted
	}
	m.places = workspace.New(c)
	return m
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

// Now implements step.Machine.
func (m *machine) Now(context.Context, string) (*act.Machine, error) {
	return &act.Machine{Dir: m.dir, Home: m.home, Places: m.places}, nil
}

// Taint implements step.Machine. As in margay serve nothing remembers files, and it
// is not called.
func (m *machine) Taint(context.Context, []string) error {
	return errors.New("nothing remembers files")
}
