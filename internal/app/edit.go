package app

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/margaydev/margay/internal/config"
	"github.com/margaydev/margay/internal/harness"
)

// editFlags are those of commands that edit other programs' configuration.
type editFlags struct {
	user, project, dry, yes bool
}

func (f *editFlags) add(c *cobra.Command) {
	c.Flags().BoolVar(&f.user, "user", false, "edit the user's files alone")
	c.Flags().BoolVar(&f.project, "project", false, "edit the files of the working directory alone")
	c.Flags().BoolVar(&f.dry, "dry-run", false, "show what would change, and change nothing")
	c.Flags().BoolVar(&f.yes, "yes", false, "do not ask")
}

func (f *editFlags) wants(s harness.Scope) bool {
	return f.user == f.project || s == harness.User && f.user || s == harness.Project && f.project
}

// fileEdit is what is to become of one file.
type fileEdit struct {
	Path    string           `json:"path"`
	Program harness.Program  `json:"program"`
	Scope   harness.Scope    `json:"scope"`
	Changes bool             `json:"changes"`
	Servers []harness.Server `json:"servers,omitempty"`
	Events  []string         `json:"events,omitempty"` // those of hooks that are added or taken out
	Error   string           `json:"error,omitempty"`
	Backup  string           `json:"backup,omitempty"`

	lines []string
	apply func() error
}

// editing is what an editing command did, for --json.
type editing struct {
	Files   []fileEdit `json:"files"`
	Applied bool       `json:"applied"`
}

// review shows edits, asks, and makes them. What could not be read does not
// keep the others from being edited, and ends the command with an error.
func (a *app) review(f *editFlags, edits []fileEdit, none string) error {
	changes := slices.ContainsFunc(edits, func(e fileEdit) bool { return e.Changes })
	if !a.json {
		for i := range edits {
			e := &edits[i]
			fmt.Fprintf(a.out, "%s (%s, %s)\n", e.Path, e.Program, e.Scope)
			for _, l := range e.lines {
				fmt.Fprintln(a.out, "  "+l)
			}
			if e.Error != "" {
				fmt.Fprintln(a.out, "  ! "+e.Error)
			}
		}
	}
	if !changes {
		if !a.json {
			fmt.Fprintln(a.out, none)
		}
		return a.edited(edits, false)
	}
	if f.dry {
		return a.edited(edits, false)
	}
	if !f.yes {
		if a.json || !isTerminal(a.in) {
			return usage("add --yes, or --dry-run to see what would change", "there is nobody to ask")
		}
		fmt.Fprint(a.err, "Change these files? [y/N] ")
		line, err := bufio.NewReader(io.LimitReader(a.in, 1024)).ReadString('\n')
		if answer := strings.ToLower(strings.TrimSpace(line)); err != nil || answer != "y" && answer != "yes" {
			return failure("", "nothing was changed")
		}
	}
	for i := range edits {
		e := &edits[i]
		if !e.Changes {
			continue
		}
		if err := e.apply(); err != nil {
			e.Changes = false
			e.Error = err.Error()
			if errors.Is(err, harness.ErrChanged) {
				e.Error = "it was changed meanwhile; run this again"
			}
			if !a.json {
				fmt.Fprintf(a.out, "%s: %s\n", e.Path, e.Error)
			}
		}
	}
	return a.edited(edits, true)
}

func (a *app) edited(edits []fileEdit, applied bool) error {
	if a.json {
		if edits == nil {
			edits = []fileEdit{}
		}
		if err := a.print(editing{edits, applied}, nil); err != nil {
			return err
		}
	}
	if slices.ContainsFunc(edits, func(e fileEdit) bool { return e.Error != "" }) {
		return failure("look at the files named above", "not every file could be edited")
	}
	return nil
}

// backups are in the state folder.
func (a *app) backups() (harness.Backups, error) {
	c, err := a.load(nil)
	if err != nil {
		return harness.Backups{}, err
	}
	return harness.Backups{Dir: filepath.Join(c.State(), "backups")}, nil
}

// itself returns how other programs run this one: its path, and the flags
// that lead to the same configuration and state.
func (a *app) itself() (path string, flags []string, err error) {
	if path, err = os.Executable(); err != nil {
		return "", nil, failure("", "the path of margay is unknown: %w", err)
	}
	cfg := a.config
	if cfg == "" {
		cfg = os.Getenv(config.EnvConfig)
	}
	for _, one := range [][2]string{{"--config", cfg}, {"--state-dir", a.stateDir}} {
		if one[1] == "" {
			continue
		}
		at, err := filepath.Abs(one[1])
		if err != nil {
			return "", nil, failure("", "%w", err)
		}
		flags = append(flags, one[0], at)
	}
	return path, flags, nil
}

// begin reads a file for an edit. A file that can't be read is told.
func begin(file *harness.File) (fileEdit, *harness.Content) {
	e := fileEdit{Path: file.Path, Program: file.Program, Scope: file.Scope}
	was, err := file.Read()
	if err != nil {
		e.Error = err.Error()
		return e, nil
	}
	return e, was
}

// programsNamed are the programs named, all where none is.
func programsNamed(args []string, known []harness.Program) ([]harness.Program, error) {
	if len(args) == 0 {
		return known, nil
	}
	var out []harness.Program
	for _, name := range args {
		if !slices.Contains(known, harness.Program(name)) {
			var all []string
			for _, p := range known {
				all = append(all, string(p))
			}
			return nil, usage("programs are "+strings.Join(all, " "), "%q is no program that is known here", name)
		}
		out = append(out, harness.Program(name))
	}
	return out, nil
}
