package rubric

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// Version is the only format version that this program reads.
const Version = 1

// MaxBytes bounds a rubric's text.
const MaxBytes = 4 << 20

// Schema is the JSON Schema of rubrics.
//
//go:embed schema.json
var Schema []byte

// ErrVersion says that a rubric, or a signed one, is of another format
// version.
var ErrVersion = errors.New("the format version is unknown")

// Error is a mistake in a rubric.
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

// where puts a place before an error's own.
func where(err error, at ...string) error {
	if err == nil {
		return nil
	}
	var f *fault
	if errors.As(err, &f) {
		return &fault{append(slices.Clone(at), f.at...), f.err}
	}
	return &fault{at, err}
}

// source is the text that a rubric was read from, for positions.
type source struct {
	file string
	root ast.Node // nil where it was read from canonical bytes
}

// position is a mistake's *Error.
func (s *source) position(err error) error {
	e := &Error{File: s.file, Detail: err.Error(), Err: err}
	var f *fault
	if errors.As(err, &f) {
		e.Err = f.err
		e.Line, e.Column = find(s.root, f.at)
		if len(f.at) > 0 {
			e.Detail = strings.Join(f.at, ".") + ": " + f.err.Error()
		}
	}
	return e
}

// find returns the position of the innermost node on the way to a place.
func find(n ast.Node, at []string) (line, column int) {
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

func (p *plain) Visit(n ast.Node) ast.Visitor {
	switch n.(type) {
	case *ast.AnchorNode, *ast.AliasNode, *ast.TagNode, *ast.MergeKeyNode:
		p.bad = n
		return nil
	}
	return p
}

// compiled is the JSON Schema, compiled once.
var compiled = sync.OnceValues(func() (*jsonschema.Schema, error) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(Schema))
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("rubric.json", doc); err != nil {
		return nil, err
	}
	return c.Compile("rubric.json")
})

// Parse reads a rubric from YAML, compiles and checks it. Errors are of type
// *Error, with a position.
func Parse(file string, b []byte) (*Rubric, error) {
	src := &source{file: file}
	if len(b) > MaxBytes {
		return nil, &Error{File: file, Detail: fmt.Sprintf("a rubric has at most %d bytes", MaxBytes)}
	}
	f, err := parser.ParseBytes(b, 0)
	if err != nil {
		return nil, syntaxError(file, err)
	}
	if len(f.Docs) != 1 || f.Docs[0].Body == nil {
		return nil, &Error{File: file, Detail: "a rubric is one YAML document"}
	}
	src.root = f.Docs[0].Body
	check := &plain{}
	ast.Walk(check, src.root)
	if check.bad != nil {
		pos := check.bad.GetToken().Position
		return nil, &Error{File: file, Line: pos.Line, Column: pos.Column, Detail: "anchors, aliases, tags and merge keys are not read"}
	}
	var raw any
	if err := yaml.NodeToValue(src.root, &raw); err != nil {
		return nil, syntaxError(file, err)
	}
	// Through JSON, so that all sees JSON's types alone.
	j, err := json.Marshal(raw)
	if err != nil {
		return nil, &Error{File: file, Detail: "what is no text can't be a key: " + err.Error()}
	}
	return build(src, j)
}

// build makes a rubric of a JSON document.
func build(src *source, j []byte) (*Rubric, error) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(j))
	if err != nil {
		return nil, &Error{File: src.file, Detail: err.Error()}
	}
	if m, ok := doc.(map[string]any); ok {
		if v, is := m["version"]; is && fmt.Sprint(v) != strconv.Itoa(Version) {
			return nil, src.position(where(fmt.Errorf("%w: it is %v, and this program reads version %d", ErrVersion, v, Version), "version"))
		}
	}
	schema, err := compiled()
	if err != nil {
		return nil, &Error{File: src.file, Detail: err.Error()}
	}
	if err := schema.Validate(doc); err != nil {
		return nil, src.position(schemaFault(err))
	}
	canonical, err := canonicalJSON(doc)
	if err != nil {
		return nil, src.position(err)
	}
	d := json.NewDecoder(bytes.NewReader(canonical))
	d.UseNumber()
	r := &Rubric{source: src, canonical: canonical}
	if err := d.Decode(&r.doc); err != nil {
		return nil, &Error{File: src.file, Detail: err.Error()}
	}
	if err := r.compile(); err != nil {
		return nil, src.position(err)
	}
	return r, nil
}

func syntaxError(file string, err error) error {
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

// schemaFault is the deepest of the schema's complaints.
func schemaFault(err error) error {
	var v *jsonschema.ValidationError
	if !errors.As(err, &v) {
		return err
	}
	best := v
	var walk func(*jsonschema.ValidationError)
	walk = func(v *jsonschema.ValidationError) {
		if len(v.Causes) == 0 && (len(best.Causes) > 0 || len(v.InstanceLocation) > len(best.InstanceLocation)) {
			best = v
		}
		for _, c := range v.Causes {
			walk(c)
		}
	}
	walk(v)
	return &fault{best.InstanceLocation, errors.New(best.ErrorKind.LocalizedString(message.NewPrinter(language.English)))}
}
