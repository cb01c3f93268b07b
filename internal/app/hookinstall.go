package app

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/margaydev/margay/internal/harness"
)

var hookPrograms = []harness.Program{harness.ClaudeCode, harness.Codex, harness.Cursor}

func (a *app) hookInstallCommand() *cobra.Command {
	var f editFlags
	c := &cobra.Command{
		Use:   "install [flags] [claude-code|codex|cursor]...",
		Short: "Have harnesses run margay hook at every step",
		Long: `Have harnesses run margay hook at every step.

Without --project the user's files are edited: ~/.claude/settings.json,
~/.codex/hooks.json, ~/.cursor/hooks.json; with it those of the working
directory. What changes is shown first, and what a file was is kept in the state
folder. Codex asks you to review new hooks: type /hooks there.`,
		Example: "  margay hook install claude-code\n  margay hook install --project cursor",
		Args:    cobra.ArbitraryArgs,
		RunE: func(_ *cobra.Command, args []string) error {
			return a.hooks(&f, args, installing)
		},
	}
	f.add(c)
	return c
}

func (a *app) hookUninstallCommand() *cobra.Command {
	var f editFlags
	c := &cobra.Command{
		Use:   "uninstall [flags] [claude-code|codex|cursor]...",
		Short: "Take back what margay hook install did",
		Long: `Take back what margay hook install did.

A file that nobody changed since is as it was, to the byte. From one that was
changed Margay's hooks are taken out, and the rest is left.`,
		Args: cobra.ArbitraryArgs,
		RunE: func(_ *cobra.Command, args []string) error {
			return a.hooks(&f, args, uninstalling)
		},
	}
	f.add(c)
	return c
}

// hookEdit says what is to become of a file of hooks.
type hookEdit func(e *fileEdit, f *harness.File, was *harness.Content, k harness.Backups, command string)

func (a *app) hooks(f *editFlags, args []string, how hookEdit) error {
	programs, err := programsNamed(args, hookPrograms)
	if err != nil {
		return err
	}
	places, err := harness.Here()
	if err != nil {
		return failure("is HOME set?", "%w", err)
	}
	k, err := a.backups()
	if err != nil {
		return err
	}
	margay, flags, err := a.itself()
	if err != nil {
		return err
	}
	scopes := []harness.Scope{harness.User}
	if f.project {
		scopes = []harness.Scope{harness.Project}
		if f.user {
			scopes = []harness.Scope{harness.User, harness.Project}
		}
	}
	var edits []fileEdit
	for _, p := range programs {
		for _, scope := range scopes {
			file, _ := places.Hooks(p, scope)
			e, was := begin(&file)
			if was != nil {
				command, err := shellLine(append(append([]string{margay}, flags...), "hook", string(p)))
				if err != nil {
					return err
				}
				how(&e, &file, was, k, command)
			}
			edits = append(edits, e)
		}
	}
	return a.review(f, edits, "nothing to do")
}

func installing(e *fileEdit, f *harness.File, was *harness.Content, k harness.Backups, command string) {
	after, added, err := f.Install(was.Bytes, command)
	if e.failed(err) {
		return
	}
	e.Events, e.Changes = added, len(added) > 0
	for _, event := range added {
		e.lines = append(e.lines, "+ "+event+": "+command)
	}
	if !e.Changes {
		e.lines = append(e.lines, "= margay is asked already")
		return
	}
	// What a backup keeps is the file without Margay, also where some hooks
	// were there before.
	original, _, err := f.Uninstall(was.Bytes)
	if was.Exists && e.failed(err) {
		return
	}
	if was.Exists {
		e.Backup = k.Of(f)
		e.lines = append(e.lines, "the file as it is is kept as "+e.Backup)
	}
	if f.Program == harness.Codex {
		e.lines = append(e.lines, "Codex runs new hooks only after you reviewed them: type /hooks there")
	}
	e.apply = func() error { return k.Write(f, was, original, after) }
}

func uninstalling(e *fileEdit, f *harness.File, was *harness.Content, k harness.Backups, _ string) {
	if !was.Exists {
		e.lines = append(e.lines, "= there is no such file")
		return
	}
	exact := k.Exact(f, was)
	_, removed, err := f.Uninstall(was.Bytes)
	if err != nil && !exact {
		e.failed(fmt.Errorf("%w; the file as it was before margay is %s", err, k.Of(f)))
		return
	}
	e.Events, e.Changes = removed, exact || len(removed) > 0
	for _, event := range slices.Backward(removed) {
		e.lines = append(e.lines, "- "+event)
	}
	switch {
	case !e.Changes:
		e.lines = append(e.lines, "= margay is not asked")
	case !exact:
		e.lines = append(e.lines, "the file was changed since: margay's hooks are taken out, and the rest left as it is")
	}
	e.apply = func() error {
		_, err := k.Undo(f, was, func(b []byte) ([]byte, error) {
			after, _, err := f.Uninstall(b)
			return after, err
		})
		return err
	}
}

// shellLine writes a command as harnesses hand it to a shell.
func shellLine(words []string) (string, error) {
	var out []string
	for _, w := range words {
		w = filepath.ToSlash(w) // which shells of Windows take, too
		// Cursor reads everything behind "//" as a comment.
		if strings.ContainsAny(w, "\"'`$\n\r") || strings.Contains(w, "//") || strings.Contains(w, `\`) {
			return "", failure("move it, and run this again", "the path %s can't be written for every shell", harness.Shown(w))
		}
		if strings.ContainsAny(w, " ()&;<>|*?[]~#") {
			w = `"` + w + `"`
		}
		out = append(out, w)
	}
	return strings.Join(out, " "), nil
}
