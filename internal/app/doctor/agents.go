package doctor

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/margaydev/margay/internal/app/config"
	"github.com/margaydev/margay/internal/app/harness"
)

// checkAgents names the hooks and the wrapped MCP servers in the files of agent
// programs.
func checkAgents(c *config.Config, dir string, cs *checkups) {
	places, err := harness.Here()
	if err == nil {
		places.Project, err = filepath.Abs(dir)
	}
	if err != nil {
		cs.add("hook", Warn, "is HOME set?", "the files of agents can't be found: %v", err)
		return
	}
	each(places.Hooks(), "hook", cs, hooks)
	each(places.Servers(c.Routes()), "wrapped mcp", cs, servers)
}

// each looks at the files that exist, and at each once.
func each(files []harness.File, name string, cs *checkups, look func(*harness.File, []byte, *checkups) error) {
	harness.Each(files, func(f *harness.File, b []byte) error { return look(f, b, cs) }, func(f *harness.File, err error) {
		cs.add(name, Warn, "correct the file", "%s: %s can't be read: %v", f.Program, f.Path, err)
	})
}

func hooks(f *harness.File, b []byte, cs *checkups) error {
	found, missing, err := f.Installed(b)
	again := "margay hook install " + forScope(f) + string(f.Program)
	for _, h := range found {
		wrong, status := margayAt(h.Program)
		if wrong != "" {
			cs.add("hook", status, again, "%s: %s runs %s, which %s, at %s", f.Program, f.Path, harness.Shown(h.Program), wrong, strings.Join(h.Events, ", "))
			continue
		}
		cs.ok("hook", "%s: %s runs this program at %s", f.Program, f.Path, strings.Join(h.Events, ", "))
	}
	if len(missing) > 0 {
		cs.add("hook", Warn, again, "%s: %s does not ask margay at %s", f.Program, f.Path, strings.Join(missing, ", "))
	}
	return err
}

func servers(f *harness.File, b []byte, cs *checkups) error {
	all, err := f.Covered(b)
	for _, s := range all {
		if s.Margay == "" {
			cs.ok("wrapped mcp", "%s: %s has %s at %s", f.Program, f.Path, s.Name, s.Program)
			continue
		}
		if wrong, status := margayAt(s.Margay); wrong != "" {
			cs.add("wrapped mcp", status, "margay mcp unwrap and margay mcp wrap "+string(f.Program)+" name this program", "%s: %s runs %s through %s, which %s", f.Program, f.Path, s.Name, harness.Shown(s.Margay), wrong)
			continue
		}
		own := harness.Shown(filepath.Base(s.Program))
		switch _, err := exec.LookPath(s.Program); {
		case err == nil || errors.Is(err, exec.ErrDot):
			cs.ok("wrapped mcp", "%s: %s runs %s (%s) through this program", f.Program, f.Path, s.Name, own)
		case filepath.IsAbs(s.Program):
			cs.add("wrapped mcp", Fail, "install it, or correct the file", "%s: %s runs %s, whose program %s does not exist or can't be run", f.Program, f.Path, s.Name, own)
		default: // the agent may have another PATH or working directory
			cs.add("wrapped mcp", Warn, "install it, or name it by its whole path", "%s: %s runs %s, whose program %s is not found from here", f.Program, f.Path, s.Name, own)
		}
	}
	return err
}

// forScope is the flag that leads to the file.
func forScope(f *harness.File) string {
	if f.Scope == harness.Project {
		return "--project "
	}
	return ""
}

// margayAt says what is wrong with the margay that a file names; empty for
// nothing: it is this program.
func margayAt(program string) (wrong, status string) {
	at, err := exec.LookPath(program)
	if err != nil && !errors.Is(err, exec.ErrDot) {
		if errors.Is(err, fs.ErrPermission) {
			return "can't be run", Fail
		}
		return "does not exist", Fail
	}
	self, err := os.Executable()
	if err != nil {
		return "can't be compared with this program", Warn
	}
	one, err := os.Stat(at)
	two, err2 := os.Stat(self)
	if err != nil || err2 != nil || !os.SameFile(one, two) {
		return "is not this program", Warn
	}
	return "", OK
}
