// Package openapi reads the operations of an OpenAPI document (3.0 or 3.1, JSON or
// YAML) as the tools that frameworks make of them.
//
// A document is a claim of whoever wrote it, and so is a method: POST says that an
// operation acts, but GET does not prove that one only reads. Nothing is fetched. A
// document that can be read in two ways is refused, and so are references to other
// documents. Work and memory are bounded: an operation that is too large to be read
// wholly says so, and counts as one that acts.
package openapi

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/margaydev/margay/internal/strictjson"
	"github.com/margaydev/margay/internal/yamldoc"
)

const (
	maxBytes  = 8 << 20
	maxYAML   = 2 << 20  // bytes
	maxLines  = 1 << 15  // of YAML: reading it takes the square of the keys of an object
	maxRef    = 1000     // bytes of a reference
	maxTrail  = 64       // references within one another
	maxValues = 16 << 10 // of an operation, with all that it refers to; members and 32 bytes of a text count as more
	maxHosts  = 8        // that a note lists
	maxTypes  = 24
)

var (
	limits = strictjson.Limits{MaxBytes: maxBytes, MaxDepth: 100, MaxNodes: 1 << 20}
	// methods claim to read only, or not.
	methods = map[string]bool{"get": true, "head": true, "options": true, "query": true, "post": false, "put": false, "patch": false, "delete": false, "trace": false}
	others  = regexp.MustCompile(`^(summary|description|servers|parameters|x-.*)$`)
	version = regexp.MustCompile(`^3\.[01](\.[0-9]+)?$`)
	escapes = strings.NewReplacer("~1", "/", "~0", "~")
)

type object = map[string]any

// What a value is, or nothing.
func text(v any) string        { s, _ := v.(string); return s }
func list(v any) []any         { l, _ := v.([]any); return l }
func members(v any) object     { o, _ := v.(object); return o }
func sorted(o object) []string { return slices.Sorted(maps.Keys(o)) }

// operation is one, with the path that it is of.
type operation struct {
	method, path string
	item, of     object
}

func (o *operation) String() string {
	return fmt.Sprintf("%.10s %.100q", strings.ToUpper(o.method), o.path)
}

// Parse reads a document, and returns its title and its operations, of which there
// are at most a number.
func Parse(file string, b []byte, most int) (title string, tools []Tool, err error) {
	d, err := read(file, b)
	if err != nil {
		return "", nil, err
	}
	all, err := d.operations()
	if err == nil && (len(all) == 0 || len(all) > most) {
		err = fmt.Errorf("it has %d operations; a pack has 1 to %d: keep those that your agent has", len(all), most)
	}
	names := map[string]*operation{}
	for i := 0; i < len(all) && err == nil; i++ {
		var t Tool
		if t, err = d.tool(&all[i]); err != nil {
			err = fmt.Errorf("%s: %w", &all[i], err)
		} else if same := names[strings.ToLower(t.Name)]; same != nil {
			err = fmt.Errorf("%s and %s make tools of one name, %q: give each an operationId of its own", same, &all[i], t.Name)
		}
		names[strings.ToLower(t.Name)], tools = &all[i], append(tools, t)
	}
	return text(members(d["info"])["title"]), tools, err
}

// document is one that was read.
type document object

func read(file string, b []byte) (d document, err error) {
	if trimmed := bytes.TrimSpace(b); bytes.HasPrefix(trimmed, []byte("{")) {
		b = trimmed
	} else if bytes.Count(b, []byte("\n"))+bytes.Count(b, []byte("\r")) > maxLines {
		return nil, fmt.Errorf("a document in YAML has at most %d lines: convert it to JSON", maxLines)
	} else if y, err := yamldoc.Read(file, b, maxYAML, "an OpenAPI document in YAML", 1); err == nil {
		b = y.JSON
	} else {
		return nil, err
	}
	if err = new(strictjson.Doc).ParseObject(b, limits); err == nil {
		err = yamldoc.Unmarshal(b, &d)
	}
	if v := fmt.Sprint(d["openapi"]); d["swagger"] != nil {
		err = errors.New("it is Swagger 2.0, which is not read: convert it to OpenAPI 3, such as with swagger2openapi")
	} else if err == nil && !version.MatchString(v) {
		err = fmt.Errorf("its version of OpenAPI is %.20q", v)
	}
	return d, err
}

// operations lists them by path and method.
func (d document) operations() (out []operation, err error) {
	paths := members(d["paths"])
	for _, path := range sorted(paths) {
		o := operation{method: "path", path: path, item: members(paths[path])}
		if ref := text(o.item["$ref"]); ref != "" && len(o.item) == 1 {
			v, err := d.at(ref)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", &o, err)
			}
			o.item = members(v)
		}
		for _, o.method = range sorted(o.item) {
			o.of = members(o.item[o.method])
			if _, is := methods[o.method]; is && o.of != nil && strings.HasPrefix(path, "/") {
				out = append(out, o)
			} else if !others.MatchString(o.method) && !strings.HasPrefix(path, "x-") {
				return nil, fmt.Errorf("path %.100q: %.20q is not an operation, or the path does not start with /", path, o.method)
			}
		}
	}
	return out, nil
}

// at returns what a reference leads to.
func (d document) at(ref string) (any, error) {
	if u, err := url.Parse(ref); !strings.HasPrefix(ref, "#") {
		if err == nil {
			ref = u.Redacted()
		}
		return nil, fmt.Errorf("the reference %.200q leads to another document: bundle all into one; Margay fetches nothing", ref)
	}
	pointer, err := url.PathUnescape(ref)
	v, found := any(object(d)), err == nil && len(ref) <= maxRef && strings.HasPrefix(pointer+"/", "#/")
	for _, step := range strings.Split(pointer, "/")[1:] {
		in := list(v)
		next, is := members(v)[escapes.Replace(step)]
		if i, err := strconv.Atoi(step); err == nil && i >= 0 && i < len(in) {
			next, is = in[i], true
		}
		v, found = next, found && is
	}
	if !found {
		return nil, fmt.Errorf("the reference %.100q leads nowhere", ref)
	}
	return v, nil
}

// expander copies values, with what they refer to in place of references. A reference
// to what it stands in ends there.
type expander struct {
	document
	left int
	cut  bool // something was left out
	err  error
}

// What a value is: a schema or another part of an operation, a schema for each name, or
// a value of the user's, in which nothing is a reference.
const schema, names, data = 0, 1, 2

var (
	places = map[string]int{"properties": names, "patternProperties": names, "dependentSchemas": names, "$defs": names, "definitions": names, "default": data, "enum": data, "const": data, "example": data, "examples": data}
	// unseen say nothing of arguments.
	unseen = regexp.MustCompile(`^(externalDocs|xml|discriminator|callbacks|responses|x-.*)$`)
)

func (x *expander) expand(v any, at int, trail []string) any {
	o, all, out := members(v), list(v), object{}
	if x.left -= 1 + len(o) + len(all) + len(text(v))/32; x.left < 0 || len(trail) > maxTrail {
		x.cut = true
		return nil
	}
	if ref := text(o["$ref"]); ref != "" && at == schema {
		if !slices.Contains(trail, ref) {
			to, err := x.at(ref)
			x.err = cmp.Or(x.err, err)
			out["$ref"] = x.expand(to, schema, append(slices.Clip(trail), ref))
		}
		if len(o) == 1 {
			return out["$ref"]
		}
	}
	for _, k := range sorted(o) {
		next := []int{places[k], schema, data}[at]
		if out[k] == nil && !(at == schema && unseen.MatchString(k)) {
			out[k] = x.expand(o[k], next, trail)
		}
	}
	if all = slices.Clone(all); o != nil {
		return out
	}
	for i := range all {
		all[i] = x.expand(all[i], at, trail)
	}
	if all != nil {
		return all
	}
	return v
}
