package mediation

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/margaydev/margay/internal/app/config"
	"github.com/margaydev/margay/internal/problem"
	"github.com/margaydev/margay/taint/act"
	"github.com/margaydev/margay/taint/workspace"
)

// machine is the computer that this process runs on, as the tools of an agent
// find it. It is immutable, and safe for concurrent use.
type machine struct{ act.Machine }

// Machine is the machine of a configuration: the folders that it trusts are
// workspaces. Nothing remembers which files strangers had a part in, so that
// their text causes no edit unasked.
func Machine(c *config.Config) (*act.Machine, error) {
	w := workspace.Config{Home: home(), State: own(c)}
	for _, dir := range c.Taint.Workspaces {
		full, err := filepath.Abs(dir)
		if err == nil && (full == filepath.Dir(full) || full == w.Home) {
			err = errors.New("it is too wide; trust the folder of a project")
		}
		if err != nil {
			return nil, problem.Usage(taintHint, "taint.workspaces: %s: %w", dir, err)
		}
		// Agents name folders as the system does, and as the user does.
		w.Roots = append(w.Roots, full)
		if real, err := filepath.EvalSymlinks(full); err == nil && real != full {
			w.Roots = append(w.Roots, real)
		}
	}
	return &act.Machine{Dir: c.Dir, Home: w.Home, Places: workspace.New(w)}, nil
}

// own are the folders and files that are Margay's: configuration, state and keys.
func own(c *config.Config) []string {
	out := []string{filepath.Dir(config.Path()), c.State(), c.Keys()}
	for _, file := range []string{c.File, c.StorePath()} {
		if full, err := filepath.Abs(file); err == nil && file != "" && file != "memory" {
			out = append(out, full)
		}
	}
	return out
}

// Now implements step.Machine.
func (m machine) Now(_ context.Context, dir string) (*act.Machine, error) {
	if dir == "" {
		return &m.Machine, nil
	}
	return m.In(dir), nil
}

// Taint implements step.Machine. It is not called: the machine says that nothing
// remembers files.
func (machine) Taint(context.Context, []string) error {
	return errors.New("nothing remembers files")
}

// home is the user's home folder; empty where it is not known.
func home() string {
	dir, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	return dir
}
