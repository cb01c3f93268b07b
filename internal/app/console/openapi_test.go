package console

import (
	"cmp"
	"encoding/json"
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/margaydev/margay/internal/app/console/access"
)

var update = flag.Bool("update", false, "write docs/api/openapi.json")

// The console's API is written from the types that it answers with.
func TestAPIIsUpToDate(t *testing.T) {
	said := description{}
	for _, dir := range []string{".", "access", "view", "../../../mediator/audit", "../../../confirm", "../../../flow"} {
		describe(t, said, dir)
	}
	got, err := json.MarshalIndent(openAPI(said), "", " ")
	must(t, err)
	got = append(got, '\n')
	file := filepath.Join("..", "..", "..", "docs", "api", "openapi.json")
	if *update {
		must(t, os.WriteFile(file, got, 0o644))
		return
	}
	if want, err := os.ReadFile(file); err != nil || string(got) != string(want) {
		t.Errorf("%s is out of date: go generate ./internal/app (%v)", file, err)
	}
}

// describe collects the comments of a folder's types.
func describe(t *testing.T, said description, dir string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(filepath.FromSlash(dir), "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatal(dir, err)
	}
	for _, f := range files {
		if strings.HasSuffix(f, "_test.go") {
			continue
		}
		tree, err := parser.ParseFile(token.NewFileSet(), f, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(tree, func(n ast.Node) bool {
			d, ok := n.(*ast.GenDecl)
			if !ok {
				return true
			}
			for _, s := range d.Specs {
				if t, ok := s.(*ast.TypeSpec); ok {
					describeType(said, schemaName(tree.Name.Name, t.Name.Name), t, d.Doc.Text())
				}
			}
			return false
		})
	}
}

func describeType(said description, as string, t *ast.TypeSpec, doc string) {
	fields, ok := t.Type.(*ast.StructType)
	if !ok || !t.Name.IsExported() {
		return
	}
	said[as] = strings.Join(strings.Fields(doc), " ")
	for _, f := range fields.Fields.List {
		text := strings.Join(strings.Fields(f.Doc.Text()+" "+f.Comment.Text()), " ")
		for _, name := range f.Names {
			said[as+"."+name.Name] = text
		}
	}
}

// object is a JSON object.
type object = map[string]any

// operation is a method on a path of the API.
type operation struct {
	method, path, summary string
	in, out               any    // values of the types of its bodies; nil: none
	status                int    // 0: 200
	media                 string // of an answer that is not JSON of a type
	query                 []parameter
}

// parameter is one of a query.
type parameter struct{ name, meaning string }

var operations = []operation{
	{method: "get", path: "/api/overview", summary: "Trajectories now, decisions over time, upstreams and what waits for an answer", out: Overview{}},
	{method: "get", path: "/api/trajectories", summary: "Trajectories, the one that something happened in last first", out: Trajectories{}, query: []parameter{{"before", "last_seq of the last one of the page before"}}},
	{method: "get", path: "/api/trajectories/{id}", summary: "What happened in a trajectory, and the labels of what its model was shown", out: Trajectory{}, query: []parameter{{"before", "seq of the first event of the page before"}}},
	{method: "get", path: "/api/events/{seq}", summary: "One event with its detail: the tokens' risks, and the masked text where texts are kept", out: Event{}},
	{method: "get", path: "/api/questions", summary: "Calls that wait for a person's answer", out: Questions{}, query: []parameter{{"all", "1: the latest answered and expired ones, too"}}},
	{method: "get", path: "/api/questions/{id}", summary: "One call, exactly as it would be made, and what forced the question", out: Question{}},
	{method: "get", path: "/api/packs", summary: "Packs in force, and what lint finds in them", out: Packs{}},
	{method: "get", path: "/api/rubrics", summary: "Rubrics of the registry with their signatures, and what lint finds in them", out: RubricList{}},
	{method: "get", path: "/api/rubrics/{hash}", summary: "One rubric: its limits, and what each way of showing a field costs", out: Rubric{}},
	{method: "get", path: "/api/secrets", summary: "Registered secrets by name, kind and source, and when each was found last; never a value", out: SecretList{}},
	{method: "get", path: "/api/session", summary: "Who is asking, and the token that changes need", out: access.Session{}},
	{method: "post", path: "/api/session", summary: "Open a session by a one-time token, or by a name and a password; sets the cookie of the session", in: access.Login{}, out: access.Session{}},
	{method: "delete", path: "/api/session", summary: "End the session", status: http.StatusNoContent},
	{method: "post", path: "/api/questions/{id}/answer", summary: "Answer a question; of two answers the first counts", in: Answering{}, out: Question{}},
	{method: "post", path: "/api/rubrics/try", summary: "Tell what a release would come to under the rubrics, as the first of a new trajectory or the next of one; nothing is sent, charged or kept. For operators", in: Trial{}, out: Tried{}},
	{method: "get", path: "/api/questions/{id}/arguments", summary: "All arguments of a call, as text", media: "text/plain"},
	{method: "get", path: "/api/stream", summary: "Server-sent events: row (an event of the trajectory, as HTML), tokens (those of an answer under way), part (a part of the overview, or the queue), count (questions that wait), reset (too much was missed: load again). Resumes behind Last-Event-ID", media: "text/event-stream", query: []parameter{{"topic", "overview, questions, trajectory or none"}, {"id", "the trajectory"}, {"after", "seq of the last event that was seen"}}},
	{method: "get", path: "/api/openapi.json", summary: "This document", media: "application/json"},
}

var pathParameter = regexp.MustCompile(`\{([a-z]+)\}`)

// openAPI is the API's document.
func openAPI(said description) object {
	all := &schemas{of: object{}, said: said}
	paths := map[string]object{}
	failed := object{"description": "what went wrong, and what to do", "content": object{"application/json": object{"schema": all.ref(reflect.TypeFor[Problem]())}}}
	for _, o := range operations {
		op := object{"summary": o.summary}
		params := []any{}
		for _, m := range pathParameter.FindAllStringSubmatch(o.path, -1) {
			params = append(params, object{"name": m[1], "in": "path", "required": true, "schema": object{"type": "string"}})
		}
		for _, q := range o.query {
			params = append(params, object{"name": q.name, "in": "query", "description": q.meaning, "schema": object{"type": "string"}})
		}
		if len(params) > 0 {
			op["parameters"] = params
		}
		status := cmp.Or(o.status, http.StatusOK)
		ok := object{"description": http.StatusText(status)}
		switch {
		case o.out != nil:
			ok["content"] = object{"application/json": object{"schema": all.ref(reflect.TypeOf(o.out))}}
		case o.media != "":
			ok["content"] = object{o.media: object{"schema": object{}}}
		}
		op["responses"] = object{strconv.Itoa(status): ok, "default": failed}
		if o.in != nil {
			op["requestBody"] = object{"required": true, "content": object{"application/json": object{"schema": all.ref(reflect.TypeOf(o.in))}}}
		}
		if o.path == "/api/session" && o.method == "post" {
			op["security"] = []any{}
		}
		if paths[o.path] == nil {
			paths[o.path] = object{}
		}
		paths[o.path][o.method] = op
	}
	return object{
		"openapi":  "3.1.0",
		"info":     object{"title": "Margay's console", "version": "1", "description": "All that the pages of the console show and do. Changes need the csrf of GET /api/session in the header Margay-CSRF."},
		"paths":    paths,
		"security": []any{object{"session": []any{}}},
		"components": object{
			"schemas":         all.of,
			"securitySchemes": object{"session": object{"type": "apiKey", "in": "cookie", "name": access.CookieName}},
		},
	}
}

// description is a type's or a field's, by "Type" and "Type.Field".
type description map[string]string

// schemas are the JSON schemas of structures, as encoding/json writes them, by
// their names, which must differ.
type schemas struct {
	of   object
	said description
}

// schemaName is a type's name among all schemas. The events of package audit
// share plain names, such as Event, with the console's own types.
func schemaName(pkg, name string) string {
	if pkg == "audit" {
		return "Audit" + name
	}
	return name
}

func nameOf(t reflect.Type) string { return schemaName(path.Base(t.PkgPath()), t.Name()) }

// ref refers to the schema of a structure, which it makes.
func (s *schemas) ref(t reflect.Type) object {
	if _, ok := s.of[nameOf(t)]; !ok {
		s.of[nameOf(t)] = object{} // it may hold itself
		s.of[nameOf(t)] = s.structure(t)
	}
	return object{"$ref": "#/components/schemas/" + nameOf(t)}
}

func (s *schemas) structure(t reflect.Type) object {
	properties, required := object{}, []string{}
	s.fields(t, properties, &required)
	out := object{"type": "object", "properties": properties}
	if len(required) > 0 {
		out["required"] = required
	}
	if text := s.said[nameOf(t)]; text != "" {
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
		if text := s.said[nameOf(t)+"."+f.Name]; text != "" {
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
	case t == reflect.TypeFor[time.Time]():
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

type inner struct {
	N  int       `json:"n"`
	At time.Time `json:"at,omitzero"`
}

type outer struct {
	inner
	Name   string             `json:"name"`
	Took   time.Duration      `json:"took,omitempty"`
	Next   *outer             `json:"next"`
	Shares map[string]float64 `json:"shares"`
	Hidden bool               `json:"-"`
	Plain  []inner
	own    int
}

// A schema has the fields that encoding/json writes, and requires those that it
// always does.
func TestSchema(t *testing.T) {
	s := &schemas{object{}, description{"outer": "the outer", "outer.Name": "its name", "outer.Next": "the next"}}
	_ = outer{own: 1}
	ref, err := json.Marshal(s.ref(reflect.TypeFor[outer]()))
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(s.of)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"inner":{"properties":{"at":{"format":"date-time","type":"string"},"n":{"type":"integer"}},"required":["n"],"type":"object"},` +
		`"outer":{"description":"the outer","properties":{"Plain":{"items":{"$ref":"#/components/schemas/inner"},"type":"array"},"at":{"format":"date-time","type":"string"},"n":{"type":"integer"},` +
		`"name":{"description":"its name","type":"string"},"next":{"allOf":[{"$ref":"#/components/schemas/outer"}],"description":"the next"},"shares":{"additionalProperties":{"type":"number"},"type":"object"},` +
		`"took":{"description":"nanoseconds","type":"integer"}},"required":["n","name","next","shares","Plain"],"type":"object"}}`
	if string(got) != want || string(ref) != `{"$ref":"#/components/schemas/outer"}` {
		t.Errorf("%s\n%s\nwant %s", ref, got, want)
	}
}
