package yamldoc

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"
)

// Schema is a JSON Schema. Its references go to its own $defs.
type Schema struct {
	root    jsonschema.Schema
	all     *jsonschema.Resolved
	compile func() error // once, when the schema is used first
}

// NewSchema returns the schema of a text.
func NewSchema(text []byte) *Schema {
	s := &Schema{}
	s.compile = sync.OnceValue(func() (err error) {
		if err = json.Unmarshal(text, &s.root); err == nil {
			s.all, err = s.root.Resolve(nil)
		}
		return err
	})
	return s
}

// Check holds the document to a schema. Errors are of type *Error, at the
// innermost place that the schema refuses.
func (d *Document) Check(s *Schema) error {
	if err := s.compile(); err != nil {
		return &Error{File: d.File, Detail: err.Error(), Err: err}
	}
	var v any
	if err := d.Decode(&v); err != nil {
		return err
	}
	if err := s.all.Validate(v); err != nil {
		at, why := s.innermost(&s.root, v, nil, err)
		return d.Place(Where(errors.New(complaint(why)), at...))
	}
	return nil
}

// schemaPath is the way through the schema, which means nothing to the author of
// a document.
var schemaPath = regexp.MustCompile(`^(?:validating .*?: )+`)

// complaint is an error without its way through the schema.
func complaint(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return schemaPath.ReplaceAllString(line, "")
}

// refuses returns why a part of the schema refuses a value.
func (s *Schema) refuses(part *jsonschema.Schema, v any) error {
	one := part.CloneSchemas()
	if part != &s.root {
		one.Defs = s.root.CloneSchemas().Defs
	}
	r, err := one.Resolve(nil)
	if err != nil {
		return err
	}
	return r.Validate(v)
}

// innermost follows a refusal down the value. It runs only for documents that
// are refused, and they are bounded.
func (s *Schema) innermost(part *jsonschema.Schema, v any, at []string, err error) (place []string, why error) {
	if name, ok := strings.CutPrefix(part.Ref, "#/$defs/"); ok && s.root.Defs[name] != nil {
		if err := s.refuses(s.root.Defs[name], v); err != nil {
			return s.innermost(s.root.Defs[name], v, at, err)
		}
	}
	switch v := v.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			sub, named := part.Properties[key]
			if !named {
				sub = part.AdditionalProperties
			}
			next := append(slices.Clone(at), key)
			if part.PropertyNames != nil {
				if err := s.refuses(part.PropertyNames, key); err != nil {
					return next, err
				}
			}
			if sub == nil {
				continue
			}
			if err := s.refuses(sub, v[key]); err != nil {
				if !named && sub.Not != nil && len(sub.Properties) == 0 {
					return next, fmt.Errorf("unknown key; known keys are %s", strings.Join(slices.Sorted(maps.Keys(part.Properties)), ", "))
				}
				return s.innermost(sub, v[key], next, err)
			}
		}
	case []any:
		for i, item := range v {
			if part.Items == nil {
				break
			}
			if err := s.refuses(part.Items, item); err != nil {
				return s.innermost(part.Items, item, append(slices.Clone(at), strconv.Itoa(i)), err)
			}
		}
	}
	// Of several forms, the one that fits best: the one that fails farthest in.
	place, why = at, err
	for _, sub := range slices.Concat(part.AllOf, part.AnyOf, part.OneOf) {
		if err := s.refuses(sub, v); err != nil {
			if p, w := s.innermost(sub, v, at, err); len(p) > len(place) {
				place, why = p, w
			}
		}
	}
	if len(place) == len(at) && len(part.OneOf) > 0 && s.refuses(&jsonschema.Schema{OneOf: part.OneOf}, v) != nil {
		why = forms(part.OneOf)
	}
	return place, why
}

// forms names the allowed forms, for a value that has none or several of them.
func forms(of []*jsonschema.Schema) error {
	var keys, types []string
	for _, s := range of {
		keys = append(keys, s.Required...)
		if s.Type != "" {
			types = append(types, s.Type)
		}
	}
	switch len(of) {
	case len(keys):
		return errors.New("exactly one of these keys is needed: " + strings.Join(keys, ", "))
	case len(types):
		return errors.New("it needs one of these types: " + strings.Join(types, ", "))
	default:
		return errors.New("it needs exactly one of the forms that are allowed here")
	}
}
