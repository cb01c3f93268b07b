package openapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/margaydev/margay/internal/strictjson"
	"github.com/margaydev/margay/internal/yamldoc"
	"github.com/margaydev/margay/taint/effect"
	"github.com/margaydev/margay/taint/suggest"
)

func parcels(t testing.TB) []byte {
	t.Helper()
	b, err := os.ReadFile("testdata/parcels.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func arguments(t testing.TB, tool *Tool) []string {
	t.Helper()
	var d struct {
		InputSchema struct{ Properties object }
	}
	if err := json.Unmarshal(tool.Definition, &d); err != nil {
		t.Fatal(err)
	}
	return sorted(d.InputSchema.Properties)
}

func proposal(tool *Tool) suggest.Proposal {
	d := suggest.Definition(tool.Name, tool.Definition)
	return suggest.Propose(&d)
}

// A document is read alike as YAML and JSON: operations are tools, with what the
// document says of them.
func TestParse(t *testing.T) {
	b := parcels(t)
	title, tools, err := Parse("parcels.yaml", b, 300)
	if err != nil || title != "Parcel Desk" {
		t.Fatal(title, err)
	}
	doc, err := yamldoc.Read("parcels.yaml", b, len(b), "it", 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, version := range []string{"3.0.3", "3.1.0"} {
		_, same, err := Parse("-", []byte(strings.Replace(string(doc.JSON), "3.0.3", version, 1)), 300)
		if err != nil || fmt.Sprint(same) != fmt.Sprint(tools) {
			t.Errorf("as JSON it is %v: %v", same, err)
		}
	}
	want := []struct {
		name, args, notes string
		reads             bool
	}{
		{"listParcels", "limit", `It is GET "/parcels", with the operationId "listParcels". It reaches "{region}.parcels.example".|Its method claims that it only reads; a claim loosens nothing.|` +
			`Fields of its result, by its response schema: {"[*].id": id, "[*].sent": datetime, "[*].weight": number}`, true},
		{"sendParcel", "callback_url id note parts sent weight", `It is POST "/parcels", with the operationId "sendParcel". It reaches "{region}.parcels.example".|By its method, path or operationId it acts.`, false},
		{"cancel_parcel", "id", `It is DELETE "/parcels/{id}", with the operationId "cancel-parcel". It reaches "{region}.parcels.example".|By its method, path or operationId it acts.|It is deprecated.`, false},
		{"get_parcels_id", "id", `It is GET "/parcels/{id}", with the operationId "". It reaches "{region}.parcels.example".|Its method claims that it only reads; a claim loosens nothing.|` +
			`Fields of its result, by its response schema: {"id": id, "sent": datetime, "weight": number}`, true},
		{"read_return_parcels__id__return_get", "", `It is GET "/parcels/{id}/return", with the operationId "read_return_parcels__id__return_get". It reaches "the document's host", "labels.example".|` +
			`Its method claims that it only reads; a claim loosens nothing.`, true},
	}
	if len(tools) != len(want) {
		t.Fatalf("%d tools", len(tools))
	}
	for i, w := range want {
		got := &tools[i]
		if args := strings.Join(arguments(t, got), " "); got.Name != w.name || args != w.args || strings.Join(got.Notes, "|") != w.notes {
			t.Errorf("%s(%s): %s\nwant %s(%s): %s", got.Name, args, strings.Join(got.Notes, "|"), w.name, w.args, w.notes)
		}
		if p := proposal(got); (p.Effect == effect.Observe) != w.reads {
			t.Errorf("%s seems to %s", got.Name, p.Effect)
		}
	}
	if strings.Contains(fmt.Sprint(tools), "user:pw") {
		t.Error("what stands before a server's host is shown")
	}
}

// document makes a document with paths and components.
func documentOf(paths, components string) []byte {
	return []byte(`{"openapi":"3.1.0","info":{"title":"x"},"paths":` + paths + `,"components":` + components + `}`)
}

// one parses a document with one operation.
func one(t *testing.T, paths, components string) *Tool {
	t.Helper()
	_, tools, err := Parse("x", documentOf(paths, components), 1)
	if err != nil {
		t.Fatal(err)
	}
	return &tools[0]
}

func get(member string) string {
	return `{"/a":{"get":{"operationId":"listNotes","summary":"Lists notes",` + member + `}}}`
}

func body(schema string) string {
	return `"requestBody":{"content":{"application/json":{"schema":` + schema + `}}}`
}

func TestRefused(t *testing.T) {
	for name, c := range map[string]struct{ document, says string }{
		"nothing":                {``, "one YAML document"},
		"a list":                 {`[]`, "a JSON object is expected"},
		"swagger":                {`{"swagger":"2.0","paths":{}}`, "Swagger 2.0, which is not read: convert it to OpenAPI 3"},
		"swagger in YAML":        {"swagger: 2.0\npaths: {}\n", "Swagger 2.0"},
		"version 3.2":            {`{"openapi":"3.2.0","paths":{}}`, `its version of OpenAPI is "3.2.0"`},
		"no version":             {`{"paths":{}}`, "its version of OpenAPI is"},
		"no operations":          {`{"openapi":"3.0.0","paths":{}}`, "it has 0 operations"},
		"a key twice":            {`{"openapi":"3.0.0","openapi":"3.0.0"}`, "duplicate key"},
		"a key in two ways":      {`{"openapi":"3.0.0","paths":{"/a":{},"/A":{}}}`, "differ by case alone"},
		"a key twice, YAML":      {"openapi: 3.0.0\nopenapi: 3.0.0\n", "already defined"},
		"deep":                   {`{"openapi":` + strings.Repeat(`{"a":`, 200) + "1" + strings.Repeat("}", 201), "nested deeper"},
		"deep YAML":              {"openapi: " + strings.Repeat("[", 100_000), "nests deeper"},
		"anchors":                {"openapi: 3.0.0\na: &a [x, x]\nb: &b [*a, *a]\npaths: {}\n", "anchors, aliases"},
		"a merge":                {"openapi: 3.0.0\na: {<<: {b: c}}\n", "merge keys are not allowed"},
		"large":                  {`{"openapi":"3.0.0","x":"` + strings.Repeat("x", maxBytes) + `"}`, "larger than"},
		"large YAML":             {"openapi: 3.0.0\nx: " + strings.Repeat("x", maxYAML), "has at most"},
		"not a path":             {string(documentOf(`{"a":{"get":{}}}`, `{}`)), `path "a": "get" is not an operation`},
		"not a method":           {string(documentOf("{\"/a\":{\"ge\\u001bt\":{}}}", `{}`)), `path "/a": "ge\x1bt" is not an operation`},
		"not an operation":       {string(documentOf(`{"/a":{"get":[]}}`, `{}`)), `"get" is not an operation`},
		"one operationId":        {string(documentOf(`{"/a":{"get":{"operationId":"x"}},"/b":{"put":{"operationId":"x"}}}`, `{}`)), `GET "/a" and PUT "/b" make tools of one name, "x"`},
		"by case":                {string(documentOf(`{"/a":{"get":{"operationId":"getit"}},"/b":{"get":{"operationId":"getIt"}}}`, `{}`)), `make tools of one name, "getIt"`},
		"by odd letters":         {string(documentOf(`{"/a":{"get":{"operationId":"get.it"}},"/b":{"get":{"operationId":"get/it"}}}`, `{}`)), `make tools of one name, "get_it"`},
		"by path":                {string(documentOf(`{"/a/b":{"get":{}},"/a/{b}":{"get":{}}}`, `{}`)), `give each an operationId`},
		"a remote schema":        {string(documentOf(get(body(`{"$ref":"https://user:pw@x.example/y.json#/z"}`)), `{}`)), `GET "/a": the reference "https://user:xxxxx@x.example/y.json#/z" leads to another document`},
		"a file":                 {string(documentOf(get(`"parameters":[{"$ref":"common.yaml#/limit"}]`), `{}`)), `"common.yaml#/limit" leads to another document`},
		"a remote path":          {string(documentOf(`{"/a":{"$ref":"//x.example/a"}}`, `{}`)), `PATH "/a": the reference "//x.example/a" leads to another document`},
		"a remote answer":        {string(documentOf(get(`"responses":{"200":{"$ref":"x.yaml"}}`), `{}`)), `"x.yaml" leads to another document`},
		"in what is referred to": {string(documentOf(get(body(`{"$ref":"#/components/schemas/A"}`)), `{"schemas":{"A":{"properties":{"b":{"$ref":"b.json"}}}}}`)), `"b.json" leads to another document`},
		"nowhere":                {string(documentOf(get(body(`{"$ref":"#/components/schemas/A"}`)), `{}`)), `"#/components/schemas/A" leads nowhere`},
		"an anchor":              {string(documentOf(get(body(`{"$ref":"#A"}`)), `{}`)), `"#A" leads nowhere`},
		"beside a path":          {string(documentOf(`{"/a":{"$ref":"#/components/pathItems/A","get":{}}}`, `{"pathItems":{"A":{"delete":{}}}}`)), `"$ref" is not an operation`},
	} {
		if _, tools, err := Parse("x.yaml", []byte(c.document), 300); err == nil || !strings.Contains(err.Error(), c.says) || len(err.Error()) > 500 {
			t.Errorf("%s: %v, %.600v\nwant %s", name, tools, err, c.says)
		}
	}
	var bad *strictjson.Error
	if _, _, err := Parse("x", []byte(`{"a":1,"a":2}`), 1); !errors.As(err, &bad) || bad.Code != strictjson.DuplicateKey {
		t.Errorf("a key twice: %v", err)
	}
}

// A document of any number of operations is refused, without reading all of it where
// that takes long.
func TestManyOperations(t *testing.T) {
	var asJSON, asYAML strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&asJSON, `,"/p%d":{"get":{"operationId":"o%d"}}`, i, i)
		fmt.Fprintf(&asYAML, "  /%d: {get: {}}\n", i)
	}
	for document, says := range map[string]string{
		`{"openapi":"3.0.0","paths":{` + asJSON.String()[1:] + "}}":                            "it has 100000 operations; a pack has 1 to 300",
		"openapi: 3.0.0\npaths:\n" + asYAML.String():                                           "at most 32768 lines: convert it to JSON",
		"openapi: 3.0.0\npaths:\n" + strings.ReplaceAll(asYAML.String(), "\n", "\r"):           "at most 32768 lines: convert it to JSON",
		"openapi: 3.0.0\npaths:\n" + asYAML.String()[:strings.Index(asYAML.String(), "/301:")]: "it has 301 operations",
	} {
		if _, _, err := Parse("x", []byte(document), 300); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%d bytes: %.200v, want %s", len(document), err, says)
		}
	}
}

func TestReferences(t *testing.T) {
	for name, c := range map[string]struct{ operation, components, args string }{
		"a cycle":               {body(`{"$ref":"#/components/schemas/A"}`), `{"schemas":{"A":{"properties":{"a":{"$ref":"#/components/schemas/A"},"b":{}}}}}`, "a b"},
		"a cycle of references": {body(`{"$ref":"#/components/schemas/A"}`), `{"schemas":{"A":{"$ref":"#/components/schemas/B"},"B":{"$ref":"#/components/schemas/A"}}}`, "body"},
		"itself":                {body(`{"$ref":"#/components/schemas/A"}`), `{"schemas":{"A":{"$ref":"#/components/schemas/A","properties":{"x":{}}}}}`, "x"},
		"the root":              {body(`{"properties":{"x":{"$ref":"#"}}}`), `{}`, "x"},
		"beside":                {body(`{"$ref":"#/components/schemas/A","properties":{"b":{}}}`), `{"schemas":{"A":{"properties":{"a":{}}}}}`, "a b"},
		"escapes":               {body(`{"$ref":"#/components/schemas/a~1b~01%20c"}`), `{"schemas":{"a/b~1 c":{"properties":{"x":{}}}}}`, "x"},
		"an index":              {`"parameters":[{"name":"a","in":"query"},{"$ref":"#/paths/~1a/get/parameters/0"}]`, `{}`, "a a__query"},
		"of a body":             {`"requestBody":{"$ref":"#/components/requestBodies/A"}`, `{"requestBodies":{"A":{"content":{"text/plain":{"schema":{"type":"string"}}}}}}`, "body"},
		"a name":                {body(`{"properties":{"$ref":{"type":"string"}}}`), `{}`, "$ref"},
		"an example":            {body(`{"properties":{"x":{"example":{"$ref":"https://x.example"},"enum":[{"$ref":"y"}]}}}`), `{}`, "x"},
		"a name taken":          {`"parameters":[{"name":"id","in":"path"}],` + body(`{"properties":{"id":{}}}`), `{}`, "id id__path"},
		"in parts":              {body(`{"allOf":[{"properties":{"a":{}}},{"allOf":[{"properties":{"b":{}}}]}]}`), `{}`, "a b"},
		"a list":                {body(`{"type":"array","items":{"properties":{"a":{}}}}`), `{}`, "body"},
		"no body":               {`"parameters":[]`, `{}`, ""},
	} {
		tool := one(t, get(c.operation), c.components)
		if args := strings.Join(arguments(t, tool), " "); args != c.args || slices.ContainsFunc(tool.Notes, func(s string) bool { return strings.Contains(s, "TOO LARGE") }) {
			t.Errorf("%s: arguments %s, want %s; %s", name, args, c.args, tool.Notes)
		}
	}
	tool := one(t, `{"/a":{"$ref":"#/components/pathItems/A"}}`, `{"pathItems":{"A":{"get":{"operationId":"x"}}}}`)
	if tool.Name != "x" {
		t.Errorf("of a path elsewhere: %+v", tool)
	}
}

// What doubles with each reference, or is large by itself, is cut; it says so, and is
// not taken for reading.
func TestTooLarge(t *testing.T) {
	double := `{"schemas":{"s40":{"type":"string"}`
	chain := `{"schemas":{"s5000":{"type":"string"}`
	for i := range 40 {
		double += fmt.Sprintf(`,"s%d":{"allOf":[{"$ref":"#/components/schemas/s%d"},{"$ref":"#/components/schemas/s%d"}]}`, i, i+1, i+1)
	}
	for i := range 5000 {
		chain += fmt.Sprintf(`,"s%d":{"$ref":"#/components/schemas/s%d"}`, i, i+1)
	}
	var wide strings.Builder
	for i := range 50_000 {
		fmt.Fprintf(&wide, `,"p%d":{}`, i)
	}
	s0 := body(`{"$ref":"#/components/schemas/s0"}`)
	if p := proposal(one(t, get(`"tags":[]`), `{}`)); p.Effect != effect.Observe {
		t.Fatalf("a small one seems to %s: the test is not what it was", p.Effect)
	}
	for name, tool := range map[string]*Tool{
		"doubles": one(t, get(s0), double+`}}`),
		"a chain": one(t, get(s0), chain+`}}`),
		"wide":    one(t, get(s0), `{"schemas":{"s0":{"properties":{`+wide.String()[1:]+`}}}}`),
		"long":    one(t, get(`"description":"`+strings.Repeat("Lists notes. ", 50_000)+`"`), `{}`),
	} {
		if !slices.ContainsFunc(tool.Notes, func(s string) bool { return strings.HasPrefix(s, "IT IS TOO LARGE") }) || len(tool.Definition) > 1<<20 {
			t.Errorf("%s: %d bytes, %s", name, len(tool.Definition), tool.Notes)
		}
		if p := proposal(tool); p.Effect == effect.Observe {
			t.Errorf("%s seems to %s", name, p.Effect)
		}
	}
	answer := one(t, get(`"responses":{"200":{"content":{"application/json":{"schema":{"$ref":"#/components/schemas/s0"}}}}}`), double+`}}`)
	if !slices.Contains(answer.Notes, "Its response schema is too large: there are more fields.") || proposal(answer).Effect != effect.Observe {
		t.Errorf("of an answer: %s", answer.Notes)
	}
}

// A method, a path and an operationId make a proposal stricter, and nothing else does.
func TestStricter(t *testing.T) {
	for _, method := range sorted(map[string]any{"get": 1, "head": 1, "options": 1, "query": 1, "post": 1, "put": 1, "patch": 1, "delete": 1, "trace": 1}) {
		for _, c := range []struct {
			path, rest string
			reads      bool
		}{
			{"/notes", `"operationId":"listNotes","summary":"Lists notes"`, true},
			{"/notes/delete", `"operationId":"listNotes","summary":"Lists notes"`, false},
			{"/notes\u200b", `"operationId":"listNotes","summary":"Lists notes"`, false},
			{"/notes", `"operationId":"list\u0000Notes","summary":"Lists notes"`, false},
			{"/notes", `"operationId":"deleteNotes","summary":"Lists notes"`, false},
			{"/notes", `"operationId":"listNotes","summary":"Lists\u200b notes"`, false},
			{"/notes", `"operationId":"send","summary":"Sends a note to a person"`, false},
		} {
			tool := one(t, `{"`+c.path+`":{"`+method+`":{`+c.rest+`}}}`, `{}`)
			if reads := proposal(tool).Effect == effect.Observe; reads != (c.reads && methods[method]) {
				t.Errorf("%s %q {%s}: reads is %v", method, c.path, c.rest, reads)
			}
			if strings.ContainsAny(strings.Join(tool.Notes, "")+tool.Name, "\x00\u200b\n") {
				t.Errorf("%q shows what can't be seen", tool.Notes)
			}
		}
	}
}

func TestTypes(t *testing.T) {
	schema := `{"type":"object","properties":{"n":{"anyOf":[{"type":"integer"},{"type":"null"}]},"w":{"type":"string"},"on":{"type":"boolean"},"at":{"type":"string","format":"date-time"},
		"day":{"type":"string","format":"date"},"by":{"type":"object","properties":{"mail":{"type":"string","format":"email"},"odd name":{"type":"integer"}}},"of":{"type":"array","items":{"$ref":"#/components/schemas/N","description":"x"}}}}`
	for responses, want := range map[string]string{
		`{"200":{"content":{"application/json":{"schema":` + schema + `}}},"404":{"content":{"application/json":{"schema":{"type":"integer"}}}}}`: `{"at": datetime, "by.mail": address, "day": date, "n": integer, "of[*]": number, "on": boolean}`,
		`{"default":{"content":{"text/plain":{"schema":{"type":"integer"}}}}}`:                                                                    `{"$": integer}`,
		`{"404":{"content":{"text/plain":{"schema":{"type":"integer"}}}}}`:                                                                        "",
	} {
		notes := strings.Join(one(t, get(`"responses":`+responses), `{"schemas":{"N":{"type":"number"}}}`).Notes, "\n")
		if _, got, _ := strings.Cut(notes, "by its response schema: "); got != want {
			t.Errorf("%s: %s, want %s", responses, got, want)
		}
	}
}

func TestNotes(t *testing.T) {
	many := strings.Repeat(`{"url":"https://x.example"},`, 20)
	for member, want := range map[string]string{
		`"servers":[{"url":"https://u:p@x.example:8443/v1?k=s"}]`:             `It reaches "x.example:8443".`,
		`"servers":[{"url":"//x.example/v1"},{"url":"{scheme}://y.example"}]`: `It reaches "x.example", "y.example".`,
		`"servers":[{"url":"{server}/v1"},{"url":"/v1"},{}]`:                  `It reaches "{server}", "the document's host", "the document's host".`,
		`"servers":[]`:                                     `It reaches the document's host.`,
		`"servers":[` + many[:len(many)-1] + `]`:           strings.Repeat(`, "x.example"`, maxHosts)[2:] + ", and more.",
		`"callbacks":{"done":{"{$request.body#/url}":{}}}`: "It has callbacks: the service may call an address that an argument names.",
		`"deprecated":true`:                                "It is deprecated.",
		`"deprecated":false,"tags":["deprecated"]`:         `with the operationId "listNotes". It reaches the document's host.|Its method claims that it only reads; a claim loosens nothing.`,
	} {
		if got := strings.Join(one(t, get(member), `{}`).Notes, "|"); !strings.Contains(got, want) || strings.Contains(got, "u:p") {
			t.Errorf("%s: %s, want %s", member, got, want)
		}
	}
}

// Whatever a document is, it is refused, or each of its operations is a tool with a
// name of its own and notes without what can't be seen.
func FuzzParse(f *testing.F) {
	f.Add(parcels(f))
	f.Add(documentOf(get(body(`{"$ref":"#/components/schemas/A"}`)), `{"schemas":{"A":{"properties":{"a":{"$ref":"#/components/schemas/A"}}}}}`))
	f.Add([]byte("openapi: 3.1.0\npaths:\n  /a~b/{c}:\n    post: {parameters: [{name: \"\\u202e\", in: query}]}\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		_, tools, err := Parse("x", b, 300)
		if err != nil {
			if strings.ContainsAny(err.Error(), "\n\x1b") {
				t.Errorf("%q has several lines", err)
			}
			return
		}
		names := map[string]bool{}
		for i := range tools {
			if names[strings.ToLower(tools[i].Name)] || tools[i].Name == "" || !json.Valid(tools[i].Definition) {
				t.Errorf("%+v", tools[i])
			}
			names[strings.ToLower(tools[i].Name)] = true
			if strings.ContainsAny(strings.Join(tools[i].Notes, ""), "\n\x1b\u202e\u2028") {
				t.Errorf("%q", tools[i].Notes)
			}
			arguments(t, &tools[i])
		}
	})
}
