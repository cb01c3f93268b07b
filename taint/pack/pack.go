// Package pack loads packs: files that say of the tools of a harness, a server
// or a suite what their results are and what their calls need. What it makes
// is a taint.Policy; nothing of it is trusted beyond that.
//
// The format is in docs/format/pack.md; schema.json is its JSON Schema. Every
// mistake is an *Error with a position. The packs that come with Margay are
// in packs/.
package pack

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

	"github.com/margaydev/margay/label"
	"github.com/margaydev/margay/taint"
)

// Version is the only format version that this program reads.
const Version = 1

// maxBytes bounds a pack's file.
const maxBytes = 1 << 20

// Schema is the JSON Schema of packs.
//
//go:embed schema.json
var Schema []byte

// Pack is a loaded pack.
type Pack struct {
	Name    string
	Title   string
	Kind    Kind
	For     string // the harness, server or suite
	Schemas string // where names and parameters of the tools were read
	Scheme  *taint.Scheme
	Tools   []Tool
	File    string

	root ast.Node
}

// Kind is what a pack is for.
type Kind string

// Kinds. Tools of a server have its name before theirs where a harness offers
// them: mcp__github__create_issue.
const (
	Harness Kind = "harness"
	Server  Kind = "server"
	Suite   Kind = "suite"
)

// Tool is a tool of a pack.
type Tool struct {
	taint.Tool
	Worst   string // the worst that it can do
	Why     string // why its policy is as it is
	Samples []Sample
	Policy  []string // its rules in words
}

// Sample is an input with what is expected of it.
type Sample struct {
	Args   string // JSON
	User   []string
	Lists  map[string][]string
	Result *string           // a result, or nil for a call
	Format *string           // that the result is read as; "none" for none of the pack's
	Labels map[string]string // of a result, by field: words
	Sets   map[string]string // the same as labels of the sets lattice
	Admit  string            // of a call: words
	Ask    bool
	Deny   bool
	at     []string
}

// Error is a mistake in a pack.
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

// position is a mistake's *Error.
func (p *Pack) position(err error) error {
	e := &Error{File: p.File, Detail: err.Error(), Err: err}
	var f *fault
	if errors.As(err, &f) {
		e.Err = f.err
		e.Line, e.Column = find(p.root, f.at)
		e.Detail = strings.Join(f.at, ".") + ": " + f.err.Error()
		if len(f.at) == 0 {
			e.Detail = f.err.Error()
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
			if i, err := strconv.Atoi(at[0]); err == nil && i < len(n.Values) {
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
	if err := c.AddResource("pack.json", doc); err != nil {
		return nil, err
	}
	return c.Compile("pack.json")
})

// Load reads a pack. Errors are of type *Error.
func Load(file string, b []byte) (*Pack, error) {
	p := &Pack{File: file}
	if len(b) > maxBytes {
		return nil, &Error{File: file, Detail: fmt.Sprintf("a pack has at most %d bytes", maxBytes)}
	}
	f, err := parser.ParseBytes(b, 0)
	if err != nil {
		return nil, syntaxError(file, err)
	}
	if len(f.Docs) != 1 || f.Docs[0].Body == nil {
		return nil, &Error{File: file, Detail: "a pack is one YAML document"}
	}
	p.root = f.Docs[0].Body
	check := &plain{}
	ast.Walk(check, p.root)
	if check.bad != nil {
		pos := check.bad.GetToken().Position
		return nil, &Error{File: file, Line: pos.Line, Column: pos.Column, Detail: "anchors, aliases, tags and merge keys are not read"}
	}
	var raw any
	if err := yaml.NodeToValue(p.root, &raw); err != nil {
		return nil, syntaxError(file, err)
	}
	if m, ok := raw.(map[string]any); ok {
		if v, is := m["version"]; is && fmt.Sprint(v) != strconv.Itoa(Version) {
			return nil, p.position(where(fmt.Errorf("version %v is unknown: this program reads version %d", v, Version), "version"))
		}
	}
	// Through JSON, so that the schema sees JSON's types alone.
	j, err := json.Marshal(raw)
	if err != nil {
		return nil, &Error{File: file, Detail: "what is no text can't be a key: " + err.Error()}
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(j))
	if err != nil {
		return nil, &Error{File: file, Detail: err.Error()}
	}
	schema, err := compiled()
	if err != nil {
		return nil, &Error{File: file, Detail: err.Error()}
	}
	if err := schema.Validate(doc); err != nil {
		return nil, p.position(schemaFault(err))
	}
	var d document
	if err := json.Unmarshal(j, &d); err != nil {
		return nil, &Error{File: file, Detail: err.Error()}
	}
	if err := d.compile(p); err != nil {
		return nil, p.position(err)
	}
	return p, nil
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

// scheme compiles a pack's own lattice.
func (l *lattice) scheme() (*taint.Scheme, error) {
	i, err := label.Custom(l.Integrity)
	if err != nil {
		return nil, where(err, "integrity")
	}
	c, err := label.Custom(l.Confidentiality)
	if err != nil {
		return nil, where(err, "confidentiality")
	}
	s, err := taint.Custom(label.Lattice{Integrity: i, Confidentiality: c}, l.Untrusted, l.Private)
	return &s, err
}
