package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"github.com/margaydev/margay/internal/yamldoc"
)

// maxFile bounds the configuration file.
const maxFile = 1 << 20

// Load reads the file at path, or where path is empty the one at Path, which
// need not exist; then the environment; then it calls set, if not nil, for
// what the command line says. Mistakes are of type *Error.
func Load(path string, environ []string, set func(*Config)) (*Config, error) {
	c := Default()
	named := path != ""
	if !named {
		path = Path()
	}
	b, err := read(path)
	switch {
	case err == nil:
		c.File = path
		if err := c.parse(path, b); err != nil {
			return nil, err
		}
	case errors.Is(err, fs.ErrNotExist) && !named:
	default:
		var p *fs.PathError
		if errors.As(err, &p) {
			err = p.Err
		}
		out := &Error{Where: path, Detail: fmt.Sprintf("the configuration can't be read: %v", err), Hint: "it must be a file that you can read"}
		if errors.Is(err, fs.ErrNotExist) {
			out.Hint = "margay config example > " + path + " makes one"
		}
		return nil, out
	}
	from, err := c.environment(environ)
	if err != nil {
		return nil, err
	}
	if set != nil {
		set(c)
	}
	if err := c.Check(); err != nil {
		return nil, locate(err, from, path, b)
	}
	return c, nil
}

func read(path string) ([]byte, error) {
	f, err := os.Open(filepath.Clean(path))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(b) > maxFile {
		err = fmt.Errorf("it is larger than %d bytes", maxFile)
	}
	return b, err
}

func (c *Config) parse(name string, b []byte) error {
	var deep *yamldoc.Error
	if errors.As(yamldoc.CheckDepth(name, b), &deep) {
		return &Error{Where: fmt.Sprintf("%s:%d:%d", name, deep.Line, deep.Column), Detail: deep.Detail, Hint: "margay config example shows every key"}
	}
	was := *c
	err := yaml.UnmarshalWithOptions(b, c, yaml.Strict(), yaml.DisallowUnknownField())
	if errors.Is(err, io.EOF) || err == nil && bodiless(b) {
		*c = was // the library has cleared it
		return nil
	}
	if err == nil {
		return nil
	}
	out := &Error{Where: name, Detail: firstLine(err.Error()), Hint: "margay config example shows every key"}
	var y yaml.Error
	if errors.As(err, &y) && y.GetToken() != nil && y.GetToken().Position != nil {
		p := y.GetToken().Position
		out.Where = fmt.Sprintf("%s:%d:%d", name, p.Line, p.Column)
		out.Detail = firstLine(y.GetMessage())
	}
	if m := unknownField.FindStringSubmatch(out.Detail); m != nil {
		out.Detail = "unknown key " + shown(m[1])
		if hint := meant(m[1], keysOf(reflect.TypeFor[Config]()), ""); hint != "" {
			out.Hint = hint
		}
	}
	out.Detail = plain(out.Detail)
	out.Detail = quoted.ReplaceAllStringFunc(out.Detail, func(q string) string { return shown(q[1 : len(q)-1]) })
	return out
}

// bodiless reports whether a readable document has nothing but comments.
func bodiless(b []byte) bool {
	f, err := parser.ParseBytes(b, 0)
	if err != nil {
		return false
	}
	return !slices.ContainsFunc(f.Docs, func(d *ast.DocumentNode) bool {
		return d.Body != nil && d.Body.Type() != ast.CommentType && d.Body.Type() != ast.CommentGroupType
	})
}

var (
	quoted  = regexp.MustCompile(`"[^"]*"`)
	keyLike = regexp.MustCompile(`^[A-Za-z_-]*([0-9][A-Za-z_-]*){0,2}$`)
)

// shown quotes a name in the file, for a message. It may be a secret, put there
// by mistake: a name that does not look like a key is not repeated.
func shown(name string) string {
	if len(name) > 40 || !keyLike.MatchString(name) {
		return "(not shown: it does not look like a key)"
	}
	return `"` + name + `"`
}

var unknownField = regexp.MustCompile(`unknown field "([^"]*)"`)

var (
	otherType = regexp.MustCompile(`^cannot unmarshal .* into Go (?:struct field \S+|value) of type (\S+)( \( overflow \))?$`)
	otherNode = regexp.MustCompile(`^\S+ was used where (sequence|mapping) is expected$`)
	needed    = map[string]string{
		"sequence": "a list", "mapping": "keys with values", "bool": "true or false",
		"string": "a text", "int": "a whole number", "int64": "a whole number",
	}
)

// plain says what a value must be, where the library names types of Go.
func plain(detail string) string {
	m := otherNode.FindStringSubmatch(detail)
	if t := otherType.FindStringSubmatch(detail); t != nil {
		if t[2] != "" {
			return "this number is too large"
		}
		m = t[:2]
	}
	if m == nil || needed[m[1]] == "" {
		return detail
	}
	return "this must be " + needed[m[1]]
}

func firstLine(s string) string {
	s, _, _ = strings.Cut(strings.TrimSpace(s), "\n")
	return s
}

// keysOf lists the names of all keys of a type and everything below it.
func keysOf(t reflect.Type) []string {
	for t.Kind() == reflect.Map || t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	var out []string
	if t.Kind() != reflect.Struct {
		return nil
	}
	for i := range t.NumField() {
		if key := t.Field(i).Tag.Get("yaml"); key != "-" {
			out = append(append(out, key), keysOf(t.Field(i).Type)...)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// locate adds the place where the key of a mistake was set.
func locate(err error, from map[string]string, name string, b []byte) error {
	var e *Error
	if !errors.As(err, &e) || e.key == "" || e.Where != "" {
		return err
	}
	if v, ok := from[e.key]; ok {
		e.Where = v
		return e
	}
	f, perr := parser.ParseBytes(b, 0)
	if perr != nil {
		return e
	}
	for _, d := range f.Docs {
		if n := find(d.Body, strings.Split(e.key, ".")); n != nil && n.GetToken() != nil {
			p := n.GetToken().Position
			e.Where = fmt.Sprintf("%s:%d:%d", name, p.Line, p.Column)
		}
	}
	return e
}

// find returns the value at a path of keys, or the deepest key on the way.
func find(n ast.Node, path []string) ast.Node {
	var values []*ast.MappingValueNode
	switch m := n.(type) {
	case *ast.MappingNode:
		values = m.Values
	case *ast.MappingValueNode:
		values = []*ast.MappingValueNode{m}
	default:
		return nil
	}
	for _, v := range values {
		if v.Key.GetToken() == nil || v.Key.GetToken().Value != path[0] {
			continue
		}
		if len(path) == 1 {
			if v.Value.GetToken() != nil && v.Value.Type() != ast.MappingType {
				return v.Value
			}
			return v.Key
		}
		if below := find(v.Value, path[1:]); below != nil {
			return below
		}
		return v.Key
	}
	return nil
}
