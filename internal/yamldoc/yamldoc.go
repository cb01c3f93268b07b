// Package yamldoc reads the YAML documents that people write for Margay: it
// refuses what makes YAML mean more than it shows, checks the rest against a
// JSON Schema, and gives every mistake a line and a column.
package yamldoc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// Error is a mistake in a document.
type Error struct {
	File         string
	Line, Column int // from 1; 0 where there is none
	Detail       string
	Err          error // the cause, which says more; may be nil
}

// Error returns where and what in one line.
func (e *Error) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("%s: %s", e.File, e.Detail)
	}
	return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Column, e.Detail)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// fault is a mistake at a place of the document.
type fault struct {
	at  []string
	err error
}

func (f *fault) Error() string { return f.err.Error() }

func (f *fault) Unwrap() error { return f.err }

// Where puts a place before an error's own: the keys and indexes that lead
// there. Document.Place turns it into a position.
func Where(err error, at ...string) error {
	if err == nil {
		return nil
	}
	var f *fault
	if errors.As(err, &f) {
		return &fault{append(slices.Clone(at), f.at...), f.err}
	}
	return &fault{at, err}
}

// Document is a document that was read. It may be used from several
// goroutines.
type Document struct {
	File string
	JSON []byte // the document as JSON
	root ast.Node

	origin func(at []string) (*Document, []string)
}

// Read reads a document of at most a number of bytes, one per file. Kind says
// what it is, with its article, as in "a pack". Where the document has the key
// version, it must be the one that is known: else errors wrap ErrVersion. Errors are
// of type *Error.
func Read(file string, b []byte, most int, kind string, version int) (*Document, error) {
	if len(b) > most {
		return nil, &Error{File: file, Detail: fmt.Sprintf("%s has at most %d bytes", kind, most)}
	}
	if err := CheckDepth(file, b); err != nil {
		return nil, err
	}
	f, err := parser.ParseBytes(b, 0)
	if err != nil {
		return nil, syntax(file, err)
	}
	if len(f.Docs) != 1 || f.Docs[0].Body == nil {
		return nil, &Error{File: file, Detail: kind + " is one YAML document"}
	}
	d := &Document{File: file, root: f.Docs[0].Body}
	check := &plain{}
	if ast.Walk(check, d.root); check.bad != nil {
		pos := check.bad.GetToken().Position
		return nil, &Error{File: file, Line: pos.Line, Column: pos.Column, Detail: "anchors, aliases, tags and merge keys are not allowed"}
	}
	var raw any
	if err := yaml.NodeToValue(d.root, &raw); err != nil {
		return nil, syntax(file, err)
	}
	// Through JSON, so that callers see only JSON's types.
	if d.JSON, err = json.Marshal(raw); err != nil {
		return nil, &Error{File: file, Detail: "a key must be text: " + err.Error()}
	}
	return d, d.Version(version)
}

// FromJSON is a document that nobody wrote by hand: its mistakes have no
// position.
func FromJSON(file string, b []byte) *Document { return &Document{File: file, JSON: b} }

// Composed is a document made of others. Origin returns the one that a place is
// from, and the place there; mistakes have that position.
func Composed(file string, b []byte, origin func(at []string) (*Document, []string)) *Document {
	return &Document{File: file, JSON: b, origin: origin}
}

// source is the document that a place is from, and the place in it.
func (d *Document) source(at []string) (*Document, []string) {
	if d.origin == nil {
		return d, at
	}
	return d.origin(at)
}

// Unmarshal is json.Unmarshal that keeps numbers as they are written.
func Unmarshal(b []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	return d.Decode(v)
}

// Decode reads the document into v. Errors are of type *Error.
func (d *Document) Decode(v any) error {
	if err := json.Unmarshal(d.JSON, v); err != nil {
		return &Error{File: d.File, Detail: err.Error(), Err: err}
	}
	return nil
}

// ErrVersion says that a document has a format version that this program does
// not read.
var ErrVersion = errors.New("the format version is unknown")

// Version holds the document's key version, where it has one, to the only
// version that is read. Errors are of type *Error and wrap ErrVersion.
func (d *Document) Version(known int) error {
	var v struct{ Version any }
	if json.Unmarshal(d.JSON, &v) != nil || v.Version == nil || fmt.Sprint(v.Version) == strconv.Itoa(known) {
		return nil // the schema says what else is wrong
	}
	return d.Place(Where(fmt.Errorf("%w: it is %v, and this program reads version %d", ErrVersion, v.Version, known), "version"))
}

// Place is a mistake's *Error, with the position of the place that Where gave
// it; nil for nil.
func (d *Document) Place(err error) error {
	if err == nil {
		return nil
	}
	e := &Error{File: d.File, Detail: err.Error(), Err: err}
	var f *fault
	if errors.As(err, &f) {
		e.Err = f.err
		_, at := d.source(f.at)
		e.File, e.Line, e.Column = d.At(f.at...)
		e.Detail = f.err.Error()
		if len(at) > 0 {
			e.Detail = strings.Join(at, ".") + ": " + e.Detail
		}
	}
	return e
}

// At returns the file that a place is in, and the position of the innermost node
// on the way to it; 0 where there is none.
func (d *Document) At(at ...string) (file string, line, column int) {
	of, at := d.source(at)
	line, column = of.position(at)
	return of.File, line, column
}

func (d *Document) position(at []string) (line, column int) {
	n := d.root
	for n != nil {
		if t := n.GetToken(); t != nil && t.Position != nil {
			line, column = t.Position.Line, t.Position.Column
		}
		if m, ok := n.(*ast.MappingNode); ok && len(m.Values) > 0 {
			p := m.Values[0].Key.GetToken().Position
			line, column = p.Line, p.Column
		}
		if len(at) == 0 {
			return line, column
		}
		next := ast.Node(nil)
		switch n := n.(type) {
		case *ast.MappingNode:
			for _, v := range n.Values {
				if keyText(v) == at[0] {
					p := v.Key.GetToken().Position
					line, column, next = p.Line, p.Column, v.Value
				}
			}
		case *ast.MappingValueNode:
			if keyText(n) == at[0] {
				next = n.Value
			}
		case *ast.SequenceNode:
			if i, err := strconv.Atoi(at[0]); err == nil && i >= 0 && i < len(n.Values) {
				next = n.Values[i]
			}
		}
		n, at = next, at[1:]
	}
	return line, column
}

func keyText(v *ast.MappingValueNode) string {
	if s, ok := v.Key.(*ast.StringNode); ok {
		return s.Value
	}
	return v.Key.String()
}

// plain refuses what makes YAML mean more than it shows.
type plain struct{ bad ast.Node }

// Visit implements ast.Visitor.
func (p *plain) Visit(n ast.Node) ast.Visitor {
	switch n.(type) {
	case *ast.AnchorNode, *ast.AliasNode, *ast.TagNode, *ast.MergeKeyNode:
		p.bad = n
		return nil
	}
	return p
}

func syntax(file string, err error) error {
	e := &Error{File: file, Detail: strings.SplitN(err.Error(), "\n", 2)[0], Err: err}
	var y yaml.Error
	if errors.As(err, &y) {
		e.Detail = y.GetMessage()
		if t := y.GetToken(); t != nil {
			e.Line, e.Column = t.Position.Line, t.Position.Column
		}
	}
	return e
}
