// Package schema makes JSON schemas of types, as encoding/json writes them.
package schema

import (
	"encoding/json"
	"reflect"
	"strings"
	"time"
)

var timeType = reflect.TypeFor[time.Time]()

// Object is a JSON Object.
type Object = map[string]any

// Description is a type's or a field's, by "Type" and "Type.Field".
type Description map[string]string

// Set are the schemas of structures by their types' names, which must differ.
// It is for one goroutine.
type Set struct {
	Of   Object
	said Description
}

// New returns a set that has none yet.
func New(said Description) *Set { return &Set{Of: Object{}, said: said} }

// Ref refers to the schema of a structure, which it makes.
func (s *Set) Ref(t reflect.Type) Object {
	if _, ok := s.Of[t.Name()]; !ok {
		s.Of[t.Name()] = Object{} // it may hold itself
		s.Of[t.Name()] = s.structure(t)
	}
	return Object{"$ref": "#/components/schemas/" + t.Name()}
}

func (s *Set) structure(t reflect.Type) Object {
	properties, required := Object{}, []string{}
	s.fields(t, properties, &required)
	out := Object{"type": "object", "properties": properties}
	if len(required) > 0 {
		out["required"] = required
	}
	if text := s.said[t.Name()]; text != "" {
		out["description"] = text
	}
	return out
}

func (s *Set) fields(t reflect.Type, properties Object, required *[]string) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "":
			s.fields(f.Type, properties, required)
			continue
		case name == "-" || !f.IsExported():
			continue
		case name == "":
			name = f.Name
		}
		schema := s.value(f.Type)
		if text := s.said[t.Name()+"."+f.Name]; text != "" {
			if _, ref := schema["$ref"]; ref {
				schema = Object{"allOf": []any{schema}}
			}
			schema["description"] = text
		}
		properties[name] = schema
		if !strings.Contains(options, "omit") {
			*required = append(*required, name)
		}
	}
}

func (s *Set) value(t reflect.Type) Object {
	switch {
	case t == timeType:
		return Object{"type": "string", "format": "date-time"}
	case t == reflect.TypeFor[time.Duration]():
		return Object{"type": "integer", "description": "nanoseconds"}
	case t.Implements(reflect.TypeFor[json.Marshaler]()), t.Implements(reflect.TypeFor[interface{ MarshalText() ([]byte, error) }]()):
		return Object{"type": "string"}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return s.value(t.Elem())
	case reflect.Struct:
		return s.Ref(t)
	case reflect.Slice, reflect.Array:
		return Object{"type": "array", "items": s.value(t.Elem())}
	case reflect.Map:
		return Object{"type": "object", "additionalProperties": s.value(t.Elem())}
	case reflect.Bool:
		return Object{"type": "boolean"}
	case reflect.String:
		return Object{"type": "string"}
	case reflect.Float64:
		return Object{"type": "number"}
	default:
		return Object{"type": "integer"}
	}
}
