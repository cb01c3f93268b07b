package mediation

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/margaydev/margay/confirm"
	"github.com/margaydev/margay/internal/app/config"
	"github.com/margaydev/margay/internal/app/state"
	"github.com/margaydev/margay/internal/problem"
	"github.com/margaydev/margay/mediator"
	"github.com/margaydev/margay/mediator/places"
	"github.com/margaydev/margay/taint/effect"
)

// Places are what a configuration and a store know of the computer that this
// process runs on: the folders that either trusts are workspaces.
func Places(c *config.Config, st *state.State) (*places.Book, error) {
	b := places.Config{Store: st.Store, Keys: &st.Keys, Dir: c.Dir, Home: home(), State: own(c), Project: project(time.Now)}
	for _, dir := range c.Taint.Workspaces {
		names, err := Folder(dir)
		if err != nil {
			return nil, problem.Usage(taintHint, "taint.workspaces: %s: %w", dir, err)
		}
		b.Roots = append(b.Roots, names...)
	}
	return places.New(b), nil
}

// Say remembers in a book what a person says that a question's tool does.
func Say(b *places.Book) func(context.Context, *confirm.Question, effect.Profile) error {
	return func(ctx context.Context, q *confirm.Question, p effect.Profile) error {
		return b.Say(ctx, places.Tool{Name: q.Call.Name, Definition: q.First.Definition, Profile: p})
	}
}

// Trust trusts the folder that a question offers, if it could still be offered: it must
// have been there for a day when the question was asked, and hold nothing of strangers'.
func Trust(b *places.Book) func(context.Context, *confirm.Question) error {
	return func(ctx context.Context, q *confirm.Question) error {
		if _, err := b.Now(ctx, ""); err != nil {
			return err
		}
		names, err := Folder(q.Folder)
		switch root := project(func() time.Time { return q.Asked })(q.Folder); {
		case err != nil:
			return err
		case root == "" || root != q.Folder || !b.MayOffer(root):
			return errors.New("the folder is another one now; margay trust add trusts it")
		}
		return b.Trust(ctx, names...)
	}
}

// settled is how long a project must have been there for a question to offer it: what
// an agent has just cloned or unpacked is not the user's.
const settled = 24 * time.Hour

// project is the root of the git working tree that a path is in, where it is sure that
// it is a project of the user's, and empty elsewhere.
func project(now func() time.Time) func(path string) string {
	return func(path string) string {
		root, made := workingTree(path)
		if _, err := Folder(root); root == "" || err != nil || now().Sub(made) < settled {
			return ""
		}
		return root
	}
}

// workingTree is the root of the git working tree that a path is in, and when it was
// made; empty where that is not sure. Links lead elsewhere, and a tree that another one
// holds as a module is seldom the user's.
func workingTree(path string) (root string, made time.Time) {
	for dir := filepath.Clean(path); filepath.IsAbs(dir) && dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		mark := filepath.Join(dir, ".git")
		at, err := os.Lstat(mark)
		switch {
		case errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR):
			continue
		case err != nil:
			return "", made
		case at.IsDir():
			mark = filepath.Join(mark, "description") // git writes it once
		default:
			if text, err := os.ReadFile(mark); at.Size() > 4096 || !at.Mode().IsRegular() || err != nil || !strings.Contains(string(text), "/.git/worktrees/") {
				return "", made
			}
		}
		real, err := filepath.EvalSymlinks(dir)
		made, known := changed(mark)
		if err != nil || real != dir || !known || scratch(dir) {
			return "", made
		}
		return dir, made
	}
	return "", made
}

// scratch reports whether a folder is below one for temporary files that is not the
// user's own.
func scratch(dir string) bool {
	temp, err := filepath.EvalSymlinks(os.TempDir())
	return err != nil || !places.Below(dir, home()) && places.Below(dir, temp)
}

// Changed forgets what a person said of a tool that describes itself in another way
// now.
func Changed(st *state.State) func(ctx context.Context, tool string) error {
	book := places.New(places.Config{Store: st.Store, Keys: &st.Keys})
	return func(ctx context.Context, tool string) error {
		_, err := book.Unsay(ctx, tool)
		return err
	}
}

// Untrusted notes where an agent works. It returns that folder if labels
// are looked at and the user does not trust it yet, and what trusts it.
func Untrusted(ctx context.Context, c *config.Config, st *state.State) (dir string, trust func() error, err error) {
	dir, gone := os.Getwd()
	if c.Dir = dir; gone != nil || c.Taint.Mode == "off" { // a folder that is gone is in no workspace
		return "", nil, nil
	}
	b, err := Places(c, st)
	if err != nil {
		return "", nil, err
	}
	on, err := b.Now(ctx, dir)
	if err != nil {
		return "", nil, problem.Unexpected(err)
	}
	names, wide := Folder(dir)
	if wide != nil || on.Places.Root(dir) != "" {
		return "", nil, nil
	}
	return names[0], func() error { return problem.Unexpected(b.Trust(ctx, names...)) }, nil
}

// ForgetServer forgets what an agent's MCP server said of its tools when they were
// first seen, and returns how many there were. Name is that of the agent's
// configuration.
func ForgetServer(ctx context.Context, st *state.State, name string) (n int, err error) {
	for _, prefix := range []string{"mcp__", ""} { // as Claude Code and Codex name tools, and as others do
		gone, err := st.Store.Unpin(ctx, mediator.OfferingServer(&st.Keys, prefix+name))
		if err != nil {
			return n, err
		}
		n += gone
	}
	// What was said of its tools was said of what it said then.
	_, err = places.New(places.Config{Store: st.Store, Keys: &st.Keys}).Unsay(ctx, name)
	return n, err
}

// Folder returns the names of a folder that a user may trust: the absolute path as
// he gives it, and as the system does, since agents use both. A folder of many
// projects is too wide.
func Folder(dir string) ([]string, error) {
	full, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	names := []string{full}
	if real, err := filepath.EvalSymlinks(full); err == nil && real != full {
		names = append(names, real)
	}
	for _, n := range names {
		if n == filepath.Dir(n) || n == home() || n == filepath.Dir(home()) {
			return nil, errors.New("it is too wide; trust the folder of a project")
		}
	}
	return names, nil
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

// home is the user's home folder; empty where it is not known.
func home() string {
	dir, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	return dir
}
