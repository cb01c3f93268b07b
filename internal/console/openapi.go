package console

import (
	"net/http"
	"reflect"
	"regexp"

	"github.com/margaydev/margay/internal/console/access"
	"github.com/margaydev/margay/internal/console/schema"
)

type object = schema.Object

// OpenAPI returns the API's document. It is made from the routes and the types
// that they answer with, so that it can't say otherwise.
func (c *Console) OpenAPI() any { return c.openAPI(nil) }

// Describe returns the document with descriptions.
// They are the comments of the source.
func Describe(d schema.Description) any { return (&Console{}).openAPI(d) }

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

func (c *Console) openAPI(d schema.Description) object {
	s := schema.New(d)
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
	failed := object{"description": "what went wrong, and what to do", "content": object{"application/json": object{"schema": s.Ref(reflect.TypeFor[Problem]())}}}
	answers := func(status, media string, out any) object {
		ok := object{"description": http.StatusText(map[string]int{"200": 200, "204": 204}[status])}
		switch {
		case out != nil:
			ok["content"] = object{"application/json": object{"schema": s.Ref(reflect.TypeOf(out))}}
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
			op["requestBody"] = object{"required": true, "content": object{"application/json": object{"schema": s.Ref(reflect.TypeOf(o.in))}}}
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
			"schemas":         s.Of,
			"securitySchemes": object{"session": object{"type": "apiKey", "in": "cookie", "name": access.CookieName}},
		},
	}
}
