// Package measure counts what the repository limits: code lines by package
// and by kernel, references between the files of a package that run back up,
// and the functions of the mediator that the connectors call.
//
// A code line is a line of a non-test Go file that is neither blank nor
// comment. A kernel is its packages together with every package of the module
// that they import.
package measure

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/scanner"
	"go/token"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Module is the path of the module that is measured.
const Module = "github.com/margaydev/margay"

// A Table is the part of the limits file that says what is what.
type Table struct {
	Kernels    map[string][]string `json:"kernels"`    // by guarantee: packages, relative to the module
	TestsOnly  []string            `json:"tests_only"` // packages that no product code imports
	Connectors []string            `json:"connectors"` // L5
}

// ReadTable reads the limits file below root.
func ReadTable(root string) (Table, error) {
	var t Table
	b, err := os.ReadFile(filepath.Join(root, "internal", "arch", "limits.json"))
	if err != nil {
		return t, err
	}
	return t, json.Unmarshal(b, &t)
}

// A Package is one folder of non-test Go files.
type Package struct {
	Path  string `json:"path"` // relative to the module
	Lines int    `json:"lines"`
	Files int    `json:"files"`
}

// Packages counts the packages of the module at root, sorted by path. Other
// modules below it, testdata and hidden folders are left out.
func Packages(root string) ([]Package, error) {
	by := map[string]*Package{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() {
			if path == root {
				return nil
			}
			if _, err := os.Stat(filepath.Join(path, "go.mod")); err == nil || name[0] == '.' || name[0] == '_' || name == "testdata" || name == "node_modules" {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		src, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		n, err := CodeLines(src)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		rel, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if by[rel] == nil {
			by[rel] = &Package{Path: rel}
		}
		by[rel].Lines += n
		by[rel].Files++
		return nil
	})
	if err != nil {
		return nil, err
	}
	var out []Package
	for _, p := range by {
		out = append(out, *p)
	}
	slices.SortFunc(out, func(a, b Package) int { return strings.Compare(a.Path, b.Path) })
	return out, nil
}

// CodeLines counts the lines of a Go file that hold a part of a token. The
// blank lines of a raw string are blank.
func CodeLines(src []byte) (int, error) {
	fset := token.NewFileSet()
	file := fset.AddFile("", -1, len(src))
	var s scanner.Scanner
	var errs scanner.ErrorList
	s.Init(file, src, func(pos token.Position, msg string) { errs.Add(pos, msg) }, 0)
	lines := bytes.Split(src, []byte("\n"))
	n, last := 0, 0 // last is the last line that was counted
	for {
		pos, tok, lit := s.Scan()
		if tok == token.EOF {
			return n, errs.Err()
		}
		if tok == token.SEMICOLON && lit == "\n" {
			continue // put in by the scanner
		}
		first := file.Line(pos)
		end := first
		if tok == token.STRING {
			// The scanner drops carriage returns from raw strings, but no newline.
			end += strings.Count(lit, "\n")
		}
		for l := max(first, last+1); l <= end; l++ {
			if len(bytes.TrimSpace(lines[l-1])) > 0 {
				n++
			}
		}
		last = max(last, end)
	}
}

// A Kernel is what one guarantee depends on.
type Kernel struct {
	Guarantee string    `json:"guarantee"`
	Packages  []string  `json:"packages"`
	Missing   []string  `json:"missing,omitempty"` // packages of the table that are not there
	Closure   []Package `json:"closure"`           // its packages and all that they import
	Lines     int       `json:"lines"`
}

// Kernels counts the kernels of the table, sorted by guarantee, and all of
// them together, each package once.
func Kernels(root string, t Table, packages []Package) (kernels []Kernel, together int, err error) {
	lines := map[string]Package{}
	for _, p := range packages {
		lines[p.Path] = p
	}
	all := map[string]bool{}
	for guarantee, of := range t.Kernels {
		k := Kernel{Guarantee: guarantee}
		for _, p := range of {
			if _, ok := lines[p]; ok {
				k.Packages = append(k.Packages, p)
			} else {
				k.Missing = append(k.Missing, p)
			}
		}
		if len(k.Packages) > 0 {
			listed, err := List(root, []string{"-deps"}, Patterns(k.Packages...)...)
			if err != nil {
				return nil, 0, err
			}
			for _, l := range listed {
				rel, ok := strings.CutPrefix(l.ImportPath, Module+"/")
				if !ok {
					continue
				}
				k.Closure = append(k.Closure, lines[rel])
				k.Lines += lines[rel].Lines
				if !all[rel] {
					all[rel] = true
					together += lines[rel].Lines
				}
			}
		}
		kernels = append(kernels, k)
	}
	slices.SortFunc(kernels, func(a, b Kernel) int { return strings.Compare(a.Guarantee, b.Guarantee) })
	return kernels, together, nil
}

// Patterns are the arguments by which the go command knows packages of the
// module.
func Patterns(packages ...string) []string {
	out := make([]string, len(packages))
	for i, p := range packages {
		out[i] = "./" + p
	}
	return out
}

// Listed is what go list tells of a package.
type Listed struct {
	ImportPath, Dir, Export string
	GoFiles                 []string
	Standard                bool
}

// List runs go list at root.
func List(root string, flags []string, patterns ...string) ([]Listed, error) {
	args := append([]string{"list", "-json=ImportPath,Dir,Export,GoFiles,Standard"}, flags...)
	cmd := exec.Command("go", append(args, patterns...)...)
	cmd.Dir = root
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w\n%s", err, stderr.Bytes())
	}
	var all []Listed
	d := json.NewDecoder(bytes.NewReader(out))
	for {
		var l Listed
		if err := d.Decode(&l); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		all = append(all, l)
	}
}
