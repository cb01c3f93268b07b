package front

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/margaydev/margay/internal/app/harness"
	"github.com/margaydev/margay/internal/cli"
	"github.com/margaydev/margay/internal/problem"
)

// editFlags are those of commands that edit other programs' configuration.
type editFlags struct {
	user, project, dry, yes, undo bool
}

func (f *editFlags) add(c *cobra.Command) {
	c.Flags().BoolVar(&f.user, "user", false, "edit only the user's files")
	c.Flags().BoolVar(&f.project, "project", false, "edit only the files of the working directory")
	c.Flags().BoolVar(&f.dry, "dry-run", false, "show what would change, and change nothing")
	c.Flags().BoolVar(&f.yes, "yes", false, "do not ask")
}

func (f *editFlags) wants(s harness.Scope) bool {
	return f.user == f.project || s == harness.User && f.user || s == harness.Project && f.project
}

// part is what Margay puts into files of other programs: its hooks, or itself in
// front of MCP servers.
type part struct {
	// put and take return a file's content with the part and without it, and
	// note in e what that changes.
	put, take func(e *fileEdit, file *harness.File, b []byte) ([]byte, error)
	creates   bool // put may make the file
	// What to print if nothing changes.
	nothing, nothingUndone string
}

// edit puts a part into files of the named programs, or removes it.
func (a *app) edit(f *editFlags, args []string, files []harness.File, p part) error {
	var known []string
	for i := range files {
		known = append(known, string(files[i].Program))
	}
	known = slices.Compact(known)
	for _, name := range args {
		if !slices.Contains(known, name) {
			return problem.Usage("programs are "+strings.Join(known, " "), "unknown program %q", name)
		}
	}
	if path, err := os.Executable(); err == nil && !f.undo && !harness.Margay(path) {
		return problem.Failure("name the program margay, and run this again", "this program is called %s, and Margay knows its entries by the name margay", harness.Shown(filepath.Base(path)))
	}
	c, err := a.Load(nil)
	if err != nil {
		return err
	}
	backups := harness.Backups{Dir: filepath.Join(c.State(), "backups")}
	var edits []fileEdit
	for i := range files {
		file := &files[i]
		if len(args) > 0 && !slices.Contains(args, string(file.Program)) || !f.wants(file.Scope) {
			continue
		}
		e := fileEdit{Path: file.Path, Program: file.Program, Scope: file.Scope}
		was, err := file.Read()
		switch {
		case e.failed(err):
		case !was.Exists && !p.creates:
			continue
		case !was.Exists && f.undo:
			e.lines = append(e.lines, "= the file does not exist")
		case f.undo:
			e.take(p, file, was, backups)
		default:
			e.put(p, file, was, backups)
		}
		edits = append(edits, e)
	}
	if len(edits) == 0 && !a.JSON {
		fmt.Fprintln(a.Out, "no configuration of these programs was found")
	}
	if f.undo {
		return a.review(f, edits, p.nothingUndone)
	}
	return a.review(f, edits, p.nothing)
}

// fileEdit is a planned edit of one file.
type fileEdit struct {
	Path    string           `json:"path"`
	Program harness.Program  `json:"program"`
	Scope   harness.Scope    `json:"scope"`
	Changes bool             `json:"changes"`
	Servers []harness.Server `json:"servers,omitempty"`
	Events  []string         `json:"events,omitempty"` // of hooks that are added or removed
	Error   string           `json:"error,omitempty"`
	Backup  string           `json:"backup,omitempty"`

	lines []string
	apply func() error
}

// put plans to put a part into a file.
func (e *fileEdit) put(p part, file *harness.File, was *harness.Content, k harness.Backups) {
	after, err := p.put(e, file, was.Bytes)
	if e.failed(err) || !e.Changes {
		return
	}
	var original []byte
	if was.Exists {
		// The backup is the file without Margay, even if some of the part was
		// there before.
		if original, err = p.take(&fileEdit{}, file, was.Bytes); e.failed(err) {
			return
		}
		e.Backup = k.Of(file)
		e.lines = append(e.lines, "the current file is kept as "+e.Backup)
	}
	e.apply = func() error { return k.Write(file, was, original, after) }
}

// take plans to remove a part from a file.
func (e *fileEdit) take(p part, file *harness.File, was *harness.Content, k harness.Backups) {
	exact := k.Exact(file, was)
	if _, err := p.take(e, file, was.Bytes); err != nil && !exact {
		e.failed(fmt.Errorf("%w; the file as it was before margay is %s", err, k.Of(file)))
		return
	}
	if e.Changes = e.Changes || exact; !e.Changes {
		return
	}
	if !exact {
		e.lines = append(e.lines, "the file was changed since: margay's part is removed, and the rest left as it is")
	}
	e.apply = func() error {
		_, err := k.Undo(file, was, func(b []byte) ([]byte, error) { return p.take(&fileEdit{}, file, b) })
		return err
	}
}

// failed notes an error in place of everything that was noted so far. It reports
// whether there was one.
func (e *fileEdit) failed(err error) bool {
	if err != nil {
		*e = fileEdit{Path: e.Path, Program: e.Program, Scope: e.Scope, Error: err.Error()}
	}
	return err != nil
}

// editing is what an editing command did, for --json.
type editing struct {
	Files   []fileEdit `json:"files"`
	Applied bool       `json:"applied"`
}

// review shows edits, asks, and makes them. A file that can't be read does not
// stop the others from being edited, but the command fails.
func (a *app) review(f *editFlags, edits []fileEdit, none string) error {
	out := a.Out
	if a.JSON {
		out = io.Discard
	}
	for i := range edits {
		e := &edits[i]
		fmt.Fprintf(out, "%s (%s, %s)\n", e.Path, e.Program, e.Scope)
		for _, l := range e.lines {
			cli.Fprintf(out, "  %s\n", l)
		}
		if e.Error != "" {
			cli.Fprintf(out, "  ! %s\n", e.Error)
		}
	}
	changes := slices.ContainsFunc(edits, func(e fileEdit) bool { return e.Changes })
	if !changes {
		fmt.Fprintln(out, none)
	}
	apply := changes && !f.dry
	if apply && !f.yes {
		if err := a.agree(); err != nil {
			return err
		}
	}
	for i := range edits {
		e := &edits[i]
		if !apply || !e.Changes {
			continue
		}
		if err := e.apply(); err != nil {
			e.Changes, e.Error = false, err.Error()
			if errors.Is(err, harness.ErrChanged) {
				e.Error = "somebody else changed it meanwhile; run this again"
			}
			fmt.Fprintf(out, "%s: %s\n", e.Path, e.Error)
		}
	}
	if a.JSON {
		if err := a.Print(editing{append([]fileEdit{}, edits...), apply}, nil); err != nil {
			return err
		}
	}
	if slices.ContainsFunc(edits, func(e fileEdit) bool { return e.Error != "" }) {
		return problem.Failure("see the errors above", "some files could not be edited")
	}
	return nil
}

// agree asks whether to go on.
func (a *app) agree() error {
	switch yes, asked := a.Ask("Change these files?"); {
	case !asked:
		return problem.Usage("add --yes, or --dry-run to see what would change", "standard input is not a terminal: nobody can agree to the change")
	case !yes:
		return problem.Failure("", "nothing was changed")
	}
	return nil
}

// surroundings returns where agent programs keep their configuration, and the
// command by which they run this one: its path, and the flags that lead to the
// same configuration and state.
func (a *app) surroundings() (places harness.Places, margay []string, err error) {
	if places, err = harness.Here(); err != nil {
		return places, nil, problem.Failure("is HOME set?", "%w", err)
	}
	path, err := os.Executable()
	if err != nil {
		return places, nil, problem.Failure("", "the path of margay is unknown: %w", err)
	}
	margay = []string{path}
	for _, one := range [][2]string{{"--config", a.ConfigPath()}, {"--state-dir", a.StateDir}} {
		if one[1] == "" {
			continue
		}
		at, err := filepath.Abs(one[1])
		if err != nil {
			return places, nil, problem.Failure("", "%w", err)
		}
		margay = append(margay, one[0], at)
	}
	return places, margay, nil
}
