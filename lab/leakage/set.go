package leakage

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strconv"

	"github.com/goccy/go-yaml"

	"github.com/margaydev/margay/internal/yamldoc"
)

// Limits of a folder of tasks.
const (
	maxFiles = 64
	maxFile  = 1 << 20
)

// Set is a folder of tasks that somebody wrote.
type Set struct {
	Hash   string // SHA-256 of the files' names and bytes
	Suites []string
	Tasks  []*Task
}

// Open reads the tasks of a folder, in the format of
// docs/format/leakage-task.md. A mistake in one file refuses all of them.
func Open(files fs.FS) (*Set, error) {
	s, mistakes := read(files)
	if len(mistakes) > 0 {
		return nil, mistakes[0]
	}
	return s, nil
}

// read reads a folder and finds the mistakes of all its files: the first of
// each task.
func read(files fs.FS) (*Set, []error) {
	names, err := fs.Glob(files, "*.yaml")
	switch {
	case err != nil:
		return nil, []error{err}
	case len(names) == 0:
		return nil, []error{errors.New("there are no .yaml files here")}
	case len(names) > maxFiles:
		return nil, []error{fmt.Errorf("there are %d .yaml files here; at most %d are read", len(names), maxFiles)}
	}
	s, hash, ids := &Set{}, sha256.New(), map[string]bool{}
	var bad []error
	for _, name := range names {
		b, err := fs.ReadFile(files, name)
		if err != nil {
			bad = append(bad, err)
			continue
		}
		fmt.Fprintf(hash, "%s %x\n", name, sha256.Sum256(b))
		f, doc, err := readFile(name, b)
		if err == nil && slices.Contains(s.Suites, f.Suite) {
			err = doc.Place(at(fmt.Errorf("suite %q is another file's, too; give each file a suite of its own", f.Suite), "suite"))
		}
		if err != nil {
			bad = append(bad, err)
			continue
		}
		s.Suites = append(s.Suites, f.Suite)
		for i := range f.Tasks {
			t := &f.Tasks[i]
			t.Suite, t.of = f.Suite, f
			err := t.check()
			switch {
			case err == nil && ids[t.ID]:
				err = at(fmt.Errorf("two tasks %q; an id is used once in a folder", t.ID), "id")
			case err == nil && t.Vary != nil:
				err = at(errors.New("only tasks that are built in are varied; take it out"), "vary")
			}
			if err != nil {
				bad = append(bad, doc.Place(at(err, "tasks", i)))
			}
			ids[t.ID] = true
			s.Tasks = append(s.Tasks, t)
		}
	}
	s.Hash = hex.EncodeToString(hash.Sum(nil))
	return s, bad
}

var named = regexp.MustCompile(`^[a-z][a-z0-9-]*$`)

// readFile reads what a file says besides its tasks, which it leaves unchecked.
func readFile(name string, b []byte) (*file, *yamldoc.Document, error) {
	doc, err := yamldoc.Read(name, b, maxFile, "a file of tasks", 1)
	if err != nil {
		return nil, nil, err
	}
	f := &file{}
	if err := yaml.UnmarshalWithOptions(b, f, yaml.Strict()); err != nil {
		return nil, nil, decoding(name, err)
	}
	switch {
	case f.Version != 1:
		err = at(errors.New("write version: 1"), "version")
	case !named.MatchString(f.Suite):
		err = at(fmt.Errorf("%q is no name of a suite; write small letters, digits and -", f.Suite), "suite")
	case len(f.Categories) == 0:
		err = at(errors.New("list the categories of private data"), "categories")
	case len(f.Tools) == 0:
		err = at(errors.New("describe the tools that tasks call"), "tools")
	case len(f.Tasks) == 0:
		err = at(errors.New("a file needs a task"), "tasks")
	}
	for i, c := range f.Categories {
		if err == nil && (!named.MatchString(c) || slices.Contains(f.Categories[:i], c)) {
			err = at(fmt.Errorf("%q is no name of a category, or is there twice; write small letters, digits and -", c), "categories", strconv.Itoa(i))
		}
	}
	return f, doc, doc.Place(err)
}

// decoding is a mistake that the decoder found, with its position.
func decoding(name string, err error) error {
	e := &yamldoc.Error{File: name, Detail: err.Error(), Err: err}
	var y yaml.Error
	if errors.As(err, &y) {
		e.Detail = y.GetMessage() + "; docs/format/leakage-task.md lists the keys"
		if t := y.GetToken(); t != nil {
			e.Line, e.Column = t.Position.Line, t.Position.Column
		}
	}
	return e
}
