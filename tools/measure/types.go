package measure

import (
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// A Checked package is one whose every name is resolved.
type Checked struct {
	Path  string // relative to the module
	Dir   string
	Files []*ast.File
	Types *types.Package
	Info  *types.Info
}

// Loader type-checks packages of one module. Imports come from the export data
// in the build cache, which the go command fills first. Use it from one
// goroutine.
type Loader struct {
	Fset     *token.FileSet
	root     string
	export   map[string]string // by import path
	listed   []Listed
	importer types.Importer
}

// NewLoader builds what the patterns need.
func NewLoader(root string, patterns ...string) (*Loader, error) {
	listed, err := List(root, []string{"-export", "-deps"}, patterns...)
	if err != nil {
		return nil, err
	}
	l := &Loader{Fset: token.NewFileSet(), root: root, export: map[string]string{}, listed: listed}
	for _, p := range listed {
		l.export[p.ImportPath] = p.Export
	}
	l.importer = importer.ForCompiler(l.Fset, "gc", func(path string) (io.ReadCloser, error) {
		f, ok := l.export[path]
		if !ok || f == "" {
			return nil, fmt.Errorf("no export data of %s", path)
		}
		return os.Open(f)
	})
	return l, nil
}

// Paths are the packages of the module that the loader knows, as they are
// imported: what is imported comes first.
func (l *Loader) Paths() (out []string) {
	for _, p := range l.listed {
		if rel, ok := strings.CutPrefix(p.ImportPath, Module+"/"); ok {
			out = append(out, rel)
		}
	}
	return out
}

// Check parses and type-checks one package, given relative to the module.
func (l *Loader) Check(path string) (*Checked, error) {
	for _, p := range l.listed {
		if p.ImportPath != Module+"/"+path {
			continue
		}
		c := &Checked{Path: path, Dir: p.Dir}
		for _, name := range p.GoFiles {
			f, err := parser.ParseFile(l.Fset, filepath.Join(p.Dir, name), nil, parser.ParseComments|parser.SkipObjectResolution)
			if err != nil {
				return nil, err
			}
			c.Files = append(c.Files, f)
		}
		return c, l.Resolve(c)
	}
	return nil, fmt.Errorf("no package %s", path)
}

// Resolve type-checks the files of c.
func (l *Loader) Resolve(c *Checked) error {
	c.Info = &types.Info{
		Types:      map[ast.Expr]types.TypeAndValue{},
		Uses:       map[*ast.Ident]types.Object{},
		Defs:       map[*ast.Ident]types.Object{},
		Selections: map[*ast.SelectorExpr]*types.Selection{},
	}
	conf := types.Config{Importer: l.importer, Sizes: types.SizesFor("gc", runtime.GOARCH)}
	var err error
	c.Types, err = conf.Check(Module+"/"+c.Path, l.Fset, c.Files, c.Info)
	return err
}

// File is the name of the file, without its folder, that holds pos.
func (l *Loader) File(pos token.Pos) string {
	return filepath.Base(l.Fset.Position(pos).Filename)
}
