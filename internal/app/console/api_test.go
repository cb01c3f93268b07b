package console

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/margaydev/margay/confirm"
	"github.com/margaydev/margay/internal/app/console/access"
	"github.com/margaydev/margay/mediator/audit"
	"github.com/margaydev/margay/store/memory"
	"github.com/margaydev/margay/store/sqlite"
)

// document is docs/api/openapi.json.
type document struct {
	Paths      map[string]map[string]apiOperation `json:"paths"`
	Components struct {
		Schemas map[string]*node `json:"schemas"`
	} `json:"components"`
}

type apiOperation struct {
	Summary     string `json:"summary"`
	RequestBody *struct {
		Content map[string]struct {
			Schema *node `json:"schema"`
		} `json:"content"`
	} `json:"requestBody"`
	Responses map[string]struct {
		Content map[string]struct {
			Schema *node `json:"schema"`
		} `json:"content"`
	} `json:"responses"`
}

type node struct {
	Ref        string           `json:"$ref"`
	AllOf      []*node          `json:"allOf"`
	Type       string           `json:"type"`
	Properties map[string]*node `json:"properties"`
	Required   []string         `json:"required"`
	Items      *node            `json:"items"`
	Additional *node            `json:"additionalProperties"`
}

// walker holds answers to their schemas, and notes which fields it has seen.
type walker struct {
	t    *testing.T
	doc  *document
	seen map[string]bool // "Type.field"
}

func (w *walker) walk(at string, s *node, v any) {
	w.t.Helper()
	name := ""
	for s.Ref != "" || len(s.AllOf) > 0 {
		if len(s.AllOf) > 0 {
			s = s.AllOf[0]
			continue
		}
		name = strings.TrimPrefix(s.Ref, "#/components/schemas/")
		if s = w.doc.Components.Schemas[name]; s == nil {
			w.t.Fatalf("%s: no schema %s", at, name)
		}
	}
	if v == nil {
		if s.Type != "array" && s.Type != "number" {
			w.t.Errorf("%s is null, and its schema says %s", at, s.Type)
		}
		return
	}
	wrong := func() { w.t.Errorf("%s is a %T, and its schema says %s", at, v, s.Type) }
	switch v := v.(type) {
	case map[string]any:
		if s.Type != "object" {
			wrong()
			return
		}
		for k, x := range v {
			p := s.Properties[k]
			if p == nil {
				p = s.Additional
			}
			if p == nil {
				w.t.Errorf("%s.%s is in no schema (%s)", at, k, name)
				continue
			}
			w.seen[name+"."+k] = true
			w.walk(at+"."+k, p, x)
		}
		for _, k := range s.Required {
			if _, ok := v[k]; !ok {
				w.t.Errorf("%s.%s is missing", at, k)
			}
		}
	case []any:
		if s.Type != "array" {
			wrong()
			return
		}
		for i, x := range v {
			w.walk(fmt.Sprintf("%s[%d]", at, i), s.Items, x)
		}
	case string:
		if s.Type != "string" {
			wrong()
		}
	case bool:
		if s.Type != "boolean" {
			wrong()
		}
	case float64:
		if s.Type != "number" && (s.Type != "integer" || v != float64(int64(v))) {
			wrong()
		}
	}
}

// The document is the server: every path and field of the one is in the other.
func TestOpenAPI(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "api", "openapi.json"))
	must(t, err)
	var doc document
	must(t, json.Unmarshal(b, &doc))
	r, paths := everything(t, "said")
	u := r.user()

	// Paths: those of the document are served, and those that are served
	// are in the document.
	served := map[string]bool{}
	source, err := os.ReadFile("console.go")
	must(t, err)
	for _, m := range regexp.MustCompile(`HandleFunc\("([A-Z]+) (/api/[^"]+)"`).FindAllStringSubmatch(string(source), -1) {
		served[strings.ToLower(m[1])+" "+m[2]] = true
	}
	for _, rt := range r.c.resources() {
		served["get "+rt.api] = true
	}
	documented := map[string]bool{}
	for path, ops := range doc.Paths {
		for method, op := range ops {
			documented[method+" "+path] = true
			if op.Summary == "" {
				t.Errorf("%s %s is not described", method, path)
			}
		}
	}
	if !maps.Equal(served, documented) {
		t.Errorf("served are\n%v\ndocumented are\n%v", slices.Sorted(maps.Keys(served)), slices.Sorted(maps.Keys(documented)))
	}

	// Fields: of every answer, and of every schema.
	w := &walker{t, &doc, map[string]bool{}}
	check := func(method, pattern, status, body string) {
		t.Helper()
		var v any
		must(t, json.Unmarshal([]byte(body), &v))
		resp := doc.Paths[pattern][method].Responses
		answer, ok := resp[status]
		if !ok {
			answer = resp["default"]
		}
		w.walk(method+" "+pattern, answer.Content["application/json"].Schema, v)
	}
	pattern := func(path string) string {
		path, _, _ = strings.Cut(path, "?")
		for _, prefix := range []string{"/trajectories/", "/questions/"} {
			if strings.HasPrefix(path, prefix) {
				return "/api" + prefix + "{id}"
			}
		}
		if strings.HasPrefix(path, "/events/") {
			return "/api/events/{seq}"
		}
		if strings.HasPrefix(path, "/rubrics/") {
			return "/api/rubrics/{hash}"
		}
		return "/api" + path
	}
	// Every event has been asked for, and secrets were found.
	for seq := range 29 {
		paths = append(paths, fmt.Sprintf("/events/%d", seq+1))
	}
	for _, path := range append(paths, "/session") {
		status, body := u.get("/api" + path)
		if status != http.StatusOK {
			t.Errorf("%s: %d", path, status)
		}
		check("get", pattern(path), "200", body)
	}
	q := r.ask(nil)
	status, body := u.send("POST", "/api/questions/"+q.ID+"/answer", `{"answer":"deny"}`)
	check("post", "/api/questions/{id}/answer", fmt.Sprint(status), body)
	status, body = u.send("POST", "/api/questions/"+q.ID+"/answer", `{"answer":"deny"}`)
	check("post", "/api/questions/{id}/answer", fmt.Sprint(status), body)
	status, body = u.send("POST", "/api/rubrics/try", `{"payload":"hello"}`)
	check("post", "/api/rubrics/try", fmt.Sprint(status), body)
	status, body = r.stranger().send("POST", "/api/session", fmt.Sprintf(`{"token":%q}`, access.Token(r.cfg.Access.Key, r.now)))
	check("post", "/api/session", fmt.Sprint(status), body)
	for name, s := range doc.Components.Schemas {
		for field := range s.Properties {
			if name == "Login" || name == "Answering" || name == "Trial" || name == "AuditProgress" || name+"."+field == "AuditPayload.tokens" || name+"."+field == "AuditEvent.detail" {
				continue // what is sent, what only streams tell, and what lists leave out
			}
			if !w.seen[name+"."+field] {
				t.Errorf("no answer has %s.%s", name, field)
			}
		}
	}
	if _, body := u.get("/api/openapi.json"); body != string(b) {
		t.Error("the document is not served")
	}
}

// What is not there, and what makes no sense, is told with what to do.
func TestBadInput(t *testing.T) {
	r := newRig(t, nil)
	r.full("x")
	u := r.user()
	for path, want := range map[string]int{
		"/trajectories/nonsense":                          404,
		"/trajectories/01ARZ3NDEKTSV4RRFFQ69G5FAZ":        404,
		"/trajectories/" + trajectoryOne + "?before=x":    400,
		"/trajectories?before=-1":                         400,
		"/events/999999":                                  404,
		"/events/x":                                       404,
		"/questions/nobody":                               404,
		"/rubrics":                                        404,
		"/rubrics/" + hashOne:                             404,
		"/nothing":                                        404,
		"/stream":                                         400,
		"/stream?topic=trajectory&id=x":                   400,
		"/stream?topic=overview&after=x":                  400,
		"/questions/01ARZ3NDEKTSV4RRFFQ69G5FAZ/arguments": 404,
		"/stream?topic=overview&after=99999999999999999999999":         400,
		"/trajectories/01ARZ3NDEKTSV4RRFFQ69G5FAV/../../../etc/passwd": 0,
	} {
		status, body := u.get("/api" + path)
		if want == 0 {
			if strings.Contains(body, "root:") {
				t.Errorf("%s: %s", path, body)
			}
			continue
		}
		if status != want || !strings.Contains(body, `"hint":"`) || !strings.Contains(body, `"error":"`) {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
	for _, path := range []string{"/console/trajectories/01ARZ3NDEKTSV4RRFFQ69G5FAZ", "/console/events/x", "/console/confirmations/nobody", "/console/nothing"} {
		if status, body := u.get(path); status != http.StatusNotFound || !strings.Contains(body, "What to do") {
			t.Errorf("%s: %d", path, status)
		}
	}
}

// stuck is a store that can be read and not written.
type stuck struct{ *memory.Store }

func (stuck) AnswerQuestion(context.Context, string, confirm.Answer, string, time.Time) error {
	return fmt.Errorf("/x/margay.db: %w: make /x/margay.db and its folder writable for you", sqlite.ErrReadOnly)
}

// A database that can be read and not written shows what it has, and says what
// to do where something would have to be written.
func TestReadOnlyDatabase(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Lost = func() (int64, bool) { return 7, true } })
	q := r.ask(nil)
	r.c.cfg.Desk = confirm.New(confirm.Config{Store: stuck{r.store}, Sealer: &r.keys})
	u := r.user()
	if status, body := u.get("/console/"); status != http.StatusOK || !strings.Contains(body, "Events are not kept at the moment") || !strings.Contains(body, "7 events were not kept") {
		t.Errorf("the overview: %d", status)
	}
	if status, body := u.send("POST", "/api/questions/"+q.ID+"/answer", `{"answer":"once"}`); status != http.StatusServiceUnavailable || !strings.Contains(body, "can't be written") || !strings.Contains(body, "writable for you") {
		t.Errorf("an answer: %d %s", status, body)
	}
	if status, _ := u.get("/console/confirmations"); status != http.StatusOK {
		t.Errorf("the queue: %d", status)
	}
}

// A database that is gone is told of on every page.
func TestClosedDatabase(t *testing.T) {
	db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "margay.db"), sqlite.Options{})
	must(t, err)
	r := newRig(t, func(c *Config) { c.Events = db })
	must(t, db.AppendEvents(t.Context(), []audit.Event{{ID: "E", Trajectory: trajectoryOne, Kind: audit.KindStep, At: r.now}}))
	u := r.user()
	if status, _ := u.get("/console/trajectories/" + trajectoryOne); status != http.StatusOK {
		t.Errorf("before: %d", status)
	}
	must(t, db.Close())
	for _, path := range []string{"/api/overview", "/console/", "/api/trajectories"} {
		if status, body := u.get(path); status != http.StatusServiceUnavailable || !strings.Contains(body, "margay doctor") {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
}
