package console

import (
	"encoding/json"
	"net/http"
	"reflect"
	"regexp"
	"strings"
	"time"

	"github.com/margaydev/margay/internal/console/access"
)

// object is a JSON object.
type object = map[string]any

// Description is a type's or a field's, by "Type" and "Type.Field". The file
// docs/api/openapi.json has them from the comments of the source.
type Description map[string]string

// OpenAPI returns the API's document. It is made from the routes and the types
// that they answer with, so that it can't say otherwise.
func (c *Console) OpenAPI() any { return c.openAPI(nil) }

// Describe returns the document with descriptions.
func Describe(d Description) any { return (&Console{}).openAPI(d) }

var pathParameter = regexp.MustCompile(`\{([a-z]+)\}`)

// operation is one that is no resource.
type operation struct {
	method, path, summary string
	in, out               any // nil: none
	status                string
	media                 string
	query                 []parameter
}

func operations() []operation {
	return []operation{
		{"post", "/api/session", "Open a session by a one-time token, or by a name and a password; sets the cookie of the session", access.Login{}, access.Session{}, "200", "", nil},
		{"delete", "/api/session", "End the session", nil, nil, "204", "", nil},
		{"post", "/api/questions/{id}/answer", "Answer a question; of two answers the first counts", Answering{}, Question{}, "200", "", nil},
		{"post", "/api/rubrics/try", "Tell what a release would come to under the rubrics, as the first of a new trajectory or the next of one; nothing is sent, charged or kept. For operators", Trial{}, Tried{}, "200", "", nil},
		{"get", "/api/questions/{id}/arguments", "All arguments of a call, as text", nil, nil, "200", "text/plain", nil},
		{"get", "/api/stream", "Server-sent events: row (an event of the trajectory, as HTML), tokens (those of an answer under way), part (a part of the overview, or the queue), count (questions that wait), reset (too much was missed: load again). Resumes behind Last-Event-ID", nil, nil, "200", "text/event-stream", []parameter{{"topic", "overview, questions, trajectory or none"}, {"id", "the trajectory"}, {"after", "seq of the last event that was seen"}}},
		{"get", "/api/openapi.json", "This document", nil, nil, "200", "application/json", nil},
	}
}

// Answering is the body of an answer.
type Answering struct {
	Answer string `json:"answer"` // once, trajectory or deny
}

func (c *Console) openAPI(d Description) object {
	s := schemas{of: object{}, said: d}
	paths := object{}
	put := func(path, method string, op object) {
		if _, ok := paths[path]; !ok {
			paths[path] = object{}
		}
		paths[path].(object)[method] = op
	}
	describe := func(path, summary string, query []parameter) object {
		op := object{"summary": summary}
		params := []any{}
		for _, m := range pathParameter.FindAllStringSubmatch(path, -1) {
			params = append(params, object{"name": m[1], "in": "path", "required": true, "schema": object{"type": "string"}})
		}
		for _, q := range query {
			params = append(params, object{"name": q.name, "in": "query", "description": q.meaning, "schema": object{"type": "string"}})
		}
		if len(params) > 0 {
			op["parameters"] = params
		}
		return op
	}
	failed := object{"description": "what went wrong, and what to do", "content": object{"application/json": object{"schema": s.ref(reflect.TypeFor[Problem]())}}}
	answers := func(status, media string, out any) object {
		ok := object{"description": http.StatusText(map[string]int{"200": 200, "204": 204}[status])}
		switch {
		case out != nil:
			ok["content"] = object{"application/json": object{"schema": s.ref(reflect.TypeOf(out))}}
		case media != "":
			ok["content"] = object{media: object{"schema": object{}}}
		}
		return object{status: ok, "default": failed}
	}
	for _, r := range c.resources() {
		op := describe(r.api, r.summary, r.query)
		op["responses"] = answers("200", "", r.of)
		put(r.api, "get", op)
	}
	for _, o := range operations() {
		op := describe(o.path, o.summary, o.query)
		op["responses"] = answers(o.status, o.media, o.out)
		if o.in != nil {
			op["requestBody"] = object{"required": true, "content": object{"application/json": object{"schema": s.ref(reflect.TypeOf(o.in))}}}
		}
		if o.path == "/api/session" && o.method == "post" {
			op["security"] = []any{}
		}
		put(o.path, o.method, op)
	}
	return object{
		"openapi":  "3.1.0",
		"info":     object{"title": "Margay's console", "version": "1", "description": "All that the pages of the console show and do. Changes need the csrf of GET /api/session in the header Margay-CSRF."},
		"paths":    paths,
		"security": []any{object{"session": []any{}}},
		"components": object{
			"schemas":         s.of,
			"securitySchemes": object{"session": object{"type": "apiKey", "in": "cookie", "name": access.CookieName}},
		},
	}
}

// schemas are made from types as encoding/json writes them.
type schemas struct {
	of   object
	said Description
}

func (s *schemas) ref(t reflect.Type) object {
	if _, ok := s.of[t.Name()]; !ok {
		s.of[t.Name()] = object{} // it may hold itself
		s.of[t.Name()] = s.structure(t)
	}
	return object{"$ref": "#/components/schemas/" + t.Name()}
}

func (s *schemas) structure(t reflect.Type) object {
	properties, required := object{}, []string{}
	s.fields(t, properties, &required)
	out := object{"type": "object", "properties": properties}
	if len(required) > 0 {
		out["required"] = required
	}
	if text := s.said[t.Name()]; text != "" {
		out["description"] = text
	}
	return out
}

func (s *schemas) fields(t reflect.Type, properties object, required *[]string) {
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
				schema = object{"allOf": []any{schema}}
			}
			schema["description"] = text
		}
		properties[name] = schema
		if !strings.Contains(options, "omit") {
			*required = append(*required, name)
		}
	}
}

func (s *schemas) value(t reflect.Type) object {
	switch {
	case t == timeType:
		return object{"type": "string", "format": "date-time"}
	case t == reflect.TypeFor[time.Duration]():
		return object{"type": "integer", "description": "nanoseconds"}
	case t.Implements(reflect.TypeFor[json.Marshaler]()), t.Implements(reflect.TypeFor[interface{ MarshalText() ([]byte, error) }]()):
		return object{"type": "string"}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return s.value(t.Elem())
	case reflect.Struct:
		return s.ref(t)
	case reflect.Slice, reflect.Array:
		return object{"type": "array", "items": s.value(t.Elem())}
	case reflect.Map:
		return object{"type": "object", "additionalProperties": s.value(t.Elem())}
	case reflect.Bool:
		return object{"type": "boolean"}
	case reflect.String:
		return object{"type": "string"}
	case reflect.Float64:
		return object{"type": "number"}
	default:
		return object{"type": "integer"}
	}
}
