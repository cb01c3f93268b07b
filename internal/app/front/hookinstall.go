package front

import (
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/margaydev/margay/internal/app/harness"
	"github.com/margaydev/margay/internal/problem"
)

func (a *app) hookInstallCommand() *cobra.Command {
	var f editFlags
	c := &cobra.Command{
		Use:   "install [flags] [claude-code|codex|cursor]...",
		Short: "Make harnesses run margay hook at each step",
		Long: `Make harnesses run margay hook at each step.

The command edits the user's files (~/.claude/settings.json, ~/.codex/hooks.json,
~/.cursor/hooks.json), or with --project those of the working directory. It shows
the changes first, and keeps the old files in the state folder. Codex asks you to
review new hooks: type /hooks there.`,
		Example: "  margay hook install claude-code\n  margay hook install --project cursor",
		Args:    cobra.ArbitraryArgs,
		RunE:    func(_ *cobra.Command, args []string) error { return a.hooks(&f, args) },
	}
	f.add(c)
	return c
}

func (a *app) hookUninstallCommand() *cobra.Command {
	f := editFlags{undo: true}
	c := &cobra.Command{
		Use:   "uninstall [flags] [claude-code|codex|cursor]...",
		Short: "Undo margay hook install",
		Long: `Undo margay hook install.

The command restores a file to the byte if nobody has changed it since. From a
changed file it removes Margay's hooks and leaves the rest.`,
		Args: cobra.ArbitraryArgs,
		RunE: func(_ *cobra.Command, args []string) error { return a.hooks(&f, args) },
	}
	f.add(c)
	return c
}

func (a *app) hooks(f *editFlags, args []string) error {
	f.user = f.user || !f.project
	places, margay, err := a.surroundings()
	if err != nil {
		return err
	}
	command, err := shellLine(append(margay, "hook"))
	if err != nil {
		return err
	}
	return a.edit(f, args, places.Hooks(), part{
		put: func(e *fileEdit, file *harness.File, b []byte) ([]byte, error) {
			line := command + " " + string(file.Program)
			after, added, err := file.Install(b, line)
			e.events(added, "+ ", ": "+line, "= margay is already asked")
			if e.Changes && file.Program == harness.Codex {
				e.lines = append(e.lines, "Codex runs new hooks only after you have reviewed them: type /hooks there")
			}
			return after, err
		},
		take: func(e *fileEdit, file *harness.File, b []byte) ([]byte, error) {
			after, removed, err := file.Uninstall(b)
			e.events(removed, "- ", "", "= margay is not asked")
			return after, err
		},
		creates: true, nothing: "nothing to do", nothingUndone: "nothing to do",
	})
}

// events notes the events of hooks that are added or removed, with a line for
// each.
func (e *fileEdit) events(events []string, before, behind, none string) {
	e.Events, e.Changes = events, len(events) > 0
	for _, event := range events {
		e.lines = append(e.lines, before+event+behind)
	}
	if !e.Changes {
		e.lines = append(e.lines, none)
	}
}

// shellLine writes a command for the shell that a harness uses.
func shellLine(words []string) (string, error) {
	var out []string
	for _, w := range words {
		w = filepath.ToSlash(w) // shells of Windows accept it, too
		// Cursor reads everything behind "//" as a comment.
		if strings.ContainsAny(w, "\"'`$\n\r") || strings.Contains(w, "//") || strings.Contains(w, `\`) {
			return "", problem.Failure("move it, and run this again", "the path %s can't be written for every shell", harness.Shown(w))
		}
		if strings.ContainsAny(w, " ()&;<>|*?[]~#") {
			w = `"` + w + `"`
		}
		out = append(out, w)
	}
	return strings.Join(out, " "), nil
}
