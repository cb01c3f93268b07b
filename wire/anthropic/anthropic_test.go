package anthropic

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/strictjson"
	"github.com/margaydev/margay/wire"
)

var _ wire.API = API{}

// long is data that the server alone can read.
var long = strings.Repeat("Ab3/+x", 40)

var request = `{"model":"claude-m","max_tokens":64,"stream":true,"future":{"deep":["unheard of"]},
 "system":[{"type":"text","text":"be\u0020kind","cache_control":{"type":"ephemeral","ttl":"1h"}}],
 "messages":[
 {"role":"user","content":"hello"},
 {"role":"assistant","content":[{"type":"thinking","thinking":"earlier thought","signature":"` + long + `"},{"type":"text","text":"sure"},{"type":"tool_use","id":"toolu_1","name":"find","input":{"q":"needle","n":[1,"two"]}}]},
 {"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":[{"type":"text","text":"found"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"` + long + `"}}]}]},
 {"role":"assistant","content":[{"type":"text","text":"done"}]},
 {"role":"user","content":[{"type":"document","source":{"type":"text","media_type":"text/plain","data":"a plain document"},"title":"a title"},{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"` + long + `"}},{"type":"image","source":{"type":"url","url":"https://x.example/?k=v"}}]},
 {"role":"assistant","content":[{"type":"thinking","thinking":"this thought","signature":"` + long + `"},{"type":"redacted_thinking","data":"` + long + `"},{"type":"tool_use","id":"toolu_2","name":"find","input":{}}]},
 {"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_2","content":"nothing"}]}],
 "tools":[{"name":"find","description":"finds","input_schema":{"type":"object","properties":{"q":{"type":"string","description":"what"}}}}],
 "metadata":{"user_id":"somebody"},"stop_sequences":["the end"]}`

func parts(t *testing.T, b wire.Body) map[string]wire.Part {
	t.Helper()
	out := map[string]wire.Part{}
	ps := b.Parts()
	for i := range ps {
		if !ps[i].Key {
			out[b.Path(&ps[i])] = ps[i]
		}
	}
	return out
}

func TestRequestParts(t *testing.T) {
	r, err := parseRequest([]byte(request), wire.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	got := parts(t, r)
	for path, want := range map[string]wire.Part{
		"future.deep[0]":                                 {Text: "unheard of", Message: -1},
		"system[0].text":                                 {Text: "be kind", Message: 0, Role: flow.RoleSystem, Field: flow.FieldContent},
		"messages[0].content":                            {Text: "hello", Message: 1, Role: flow.RoleUser, Field: flow.FieldContent},
		"messages[1].content[0].thinking":                {Text: "earlier thought", Message: 2, Role: flow.RoleAssistant, Field: flow.FieldReasoning},
		"messages[1].content[2].name":                    {Text: "find", Message: 2, Role: flow.RoleAssistant, Tool: "find"},
		"messages[1].content[2].input.q":                 {Text: "needle", Message: 2, Role: flow.RoleAssistant, Tool: "find", Field: flow.FieldToolArguments},
		"messages[1].content[2].input.n[1]":              {Text: "two", Message: 2, Role: flow.RoleAssistant, Tool: "find", Field: flow.FieldToolArguments},
		"messages[2].content[0].content[0].text":         {Text: "found", Message: 3, Role: flow.RoleTool, Tool: "find", Field: flow.FieldContent},
		"messages[2].content[0].content[1].source.data":  {Opaque: "image", Message: 3, Role: flow.RoleTool, Tool: "find", Field: flow.FieldContent},
		"messages[4].content[0].source.data":             {Text: "a plain document", Message: 5, Role: flow.RoleTool, Field: flow.FieldContent},
		"messages[4].content[1].source.data":             {Opaque: "file", Message: 5, Role: flow.RoleTool, Field: flow.FieldContent},
		"messages[4].content[2].source.url":              {Text: "https://x.example/?k=v", Message: 5, Role: flow.RoleUser, Field: flow.FieldContent},
		"messages[5].content[0].thinking":                {Text: "this thought", Message: 6, Role: flow.RoleAssistant, Field: flow.FieldReasoning, Fixed: true},
		"messages[6].content[0].content":                 {Text: "nothing", Message: 7, Role: flow.RoleTool, Tool: "find", Field: flow.FieldContent},
		"tools[0].description":                           {Text: "finds", Message: -1},
		"tools[0].input_schema.properties.q.description": {Text: "what", Message: -1},
		"metadata.user_id":                               {Text: "somebody", Message: -1},
		"stop_sequences[0]":                              {Text: "the end", Message: -1},
	} {
		p, ok := got[path]
		p.ID, want.Choice = 0, -1
		if !ok || p != want {
			t.Errorf("%s is %+v, want %+v", path, p, want)
		}
	}
	for path := range got {
		if strings.Contains(path, "signature") || strings.Contains(path, "cache_control") || strings.HasSuffix(path, "type") {
			t.Errorf("%s is a text", path)
		}
	}
	if r.Model() != "claude-m" || r.NumMessages() != 8 || r.MessageRole(0) != flow.RoleSystem || r.MessageRole(3) != flow.RoleTool || r.Previous() != "" {
		t.Error("the request's own fields are wrong")
	}
	if !bytes.Equal(r.Rewrite(nil), []byte(request)) {
		t.Error("no edits changed the body")
	}
}

// A user_id that is JSON is looked at value by value.
func TestUserIDInJSON(t *testing.T) {
	r, err := parseRequest([]byte(`{"metadata":{"user_id":"{\"device_id\":\"d1\",\"other\":[7,\"x\"]}","more":"m"}}`), wire.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	edits := map[int]string{}
	for i := range r.Parts() {
		p := &r.Parts()[i]
		got = append(got, fmt.Sprintf("%s %s %v", r.Path(p), p.Text, p.Fixed))
		edits[p.ID] = "e"
	}
	if want := `[metadata.user_id d1 true metadata.user_id [7,"x"] true metadata.user_id other true metadata{} more true metadata.more m false]`; fmt.Sprint(got) != want {
		t.Errorf("parts are %v", got)
	}
	if got := string(r.Rewrite(edits)); got != strings.Replace(string(r.Raw()), `"m"`, `"e"`, 1) {
		t.Errorf("edited: %s", got)
	}
}

// What only looks like the server's own data is text.
func TestNotSealed(t *testing.T) {
	for _, body := range []string{
		`{"messages":[{"role":"assistant","content":[{"type":"thinking","thinking":"","signature":"short"}]}]}`,
		`{"messages":[{"role":"assistant","content":[{"type":"thinking","thinking":"","signature":"` + long + ` with words"}]}]}`,
		`{"messages":[{"role":"assistant","content":[{"type":"tool_use","name":"f","input":{"type":"thinking","signature":"` + long + `"}}]}]}`,
		`{"messages":[{"role":"assistant","content":[{"type":"tool_use","name":"f","input":{"source":{"type":"base64","data":"` + long + `"}}}]}]}`,
		`{"messages":[{"role":"user","content":[{"type":"text","text":"","signature":"` + long + `"}]}]}`,
		`{"metadata":{"type":"redacted_thinking","data":"` + long + `"}}`,
	} {
		r, err := parseRequest([]byte(body), wire.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for _, p := range r.Parts() {
			found = found || strings.Contains(p.Text, "short") || strings.HasPrefix(p.Text, long)
		}
		if !found {
			t.Errorf("nobody looks at %.100s", body)
		}
	}
}

func edit(t *testing.T, body, old, now string) string {
	t.Helper()
	r, err := parseRequest([]byte(body), wire.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	edits := map[int]string{}
	for _, p := range r.Parts() {
		if p.Text == old {
			edits[p.ID] = now
		}
	}
	return string(r.Rewrite(edits))
}

func TestRequestEdit(t *testing.T) {
	if got, want := edit(t, request, "hello", `good "day"`), strings.Replace(request, `"hello"`, `"good \"day\""`, 1); got != want {
		t.Error("the edit changed more than its string")
	}
	compacted := `{"messages":[{"role":"assistant","content":[{"type":"compaction","content":"so far"}]},{"role":"user","content":"go on"}]}`
	if got := edit(t, compacted, "so far", "x"); got != compacted {
		t.Error("a signed summary was changed")
	}
	if got := edit(t, request, "this thought", "x"); got != request {
		t.Error("thinking of the turn that goes on was changed")
	}
}

// Thinking of earlier turns is left out where its text would change.
func TestThinkingIsLeftOut(t *testing.T) {
	think := func(s string) string { return `{"type":"thinking","thinking":"` + s + `","signature":"x"}` }
	text := `{"type":"text","text":"t"}`
	for in, want := range map[string]string{
		think("s") + `, ` + text:                   text,
		text + ` , ` + think("s"):                  text,
		text + `,` + think("s") + ` ,` + text:      text + ` ,` + text,
		think("s") + `,` + think("s") + `,` + text: text,
		text + `,` + think("s") + `,` + think("s"): text,
		think("s"):                    leftOut,
		think("s") + `,` + think("s"): leftOut,
		think("s") + `,` + think("a") + `,` + think("s"): think("a"),
		think("a") + `,` + think("s") + `,` + text:       think("a") + `,` + text,
	} {
		body := `{"messages":[{"role":"assistant","content":[` + in + `]},{"role":"user","content":"go on"}]}`
		if got := edit(t, body, "s", "r"); got != strings.Replace(body, in, want, 1) {
			t.Errorf("%s became %s", in, got)
		}
	}
}

// Two requests of one conversation, as clients write them, have the same
// beginning.
func TestMessagesAreKnownAgain(t *testing.T) {
	first := `{"system":[{"type":"text","text":"x-anthropic-billing-header: cc_version=1.2; cch=36ee5;"},{"type":"text","text":"be kind","cache_control":{"type":"ephemeral"}}],
	 "messages":[{"role":"user","content":[{"type":"text","text":"hello","cache_control":{"type":"ephemeral"}}]}]}`
	second := `{"system":[{"type":"text","text":"x-anthropic-billing-header: cc_version=1.2; cch=0aaa9;"},{"type":"text","text":"be kind"}],
	 "messages":[{"content":"hello","role":"user"},{"role":"assistant","content":[{"type":"text","text":"yes"}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"x","cache_control":{"type":"ephemeral"}}]}]}`
	third := `{"system":"be kind","messages":[{"role":"user","content":"hello"},{"role":"assistant","content":"yes"},{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"x"}]}]}`
	other := `{"system":"be kind","messages":[{"role":"user","content":"hello there"}]}`
	raw := func(body string) (out []string) {
		r, err := parseRequest([]byte(body), wire.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		for i := range r.NumMessages() {
			out = append(out, string(r.MessageRole(i))+string(r.MessageRaw(i)))
		}
		return out
	}
	a, b, c := raw(first), raw(second), raw(third)
	if fmt.Sprint(b) != fmt.Sprint(c) || fmt.Sprint(a) != fmt.Sprint(b[:2]) {
		t.Errorf("the conversation is another each time:\n%q\n%q\n%q", a, b, c)
	}
	if raw(other)[1] == a[1] {
		t.Error("another message is the same")
	}
}

func TestBadRequests(t *testing.T) {
	for _, body := range []string{``, `[]`, `{"a":1,"a":2}`, `{"model":1,"Model":2}`, "{\"a\":\"\xff\"}", `{"messages":[}`} {
		if _, err := parseRequest([]byte(body), wire.Limits{}); err == nil {
			t.Errorf("%q was taken", body)
		}
	}
	for _, body := range []string{`{}`, `{"messages":1,"system":2}`, `{"messages":[1,null,"x",[]],"system":[1,{"text":3}]}`, `{"messages":[{"content":[1,"x",{"type":7}]},{"content":{"type":"thinking"}}]}`} {
		r, err := parseRequest([]byte(body), wire.Limits{})
		if err != nil {
			t.Errorf("%q: %v", body, err)
			continue
		}
		for i := range r.NumMessages() {
			r.MessageRaw(i)
		}
	}
}

var answer = `{"id":"msg_01","type":"message","role":"assistant","model":"claude-m","content":[{"type":"thinking","thinking":"hm","signature":"` + long + `"},{"type":"redacted_thinking","data":"` + long + `"},
 {"type":"text","text":"here","citations":[{"type":"char_location","cited_text":"quoted","document_title":null}]},
 {"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"query":"weather"}},
 {"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[{"type":"web_search_result","title":"Weather","url":"https://w.example","encrypted_content":"` + long + `"}]},
 {"type":"tool_use","id":"toolu_1","name":"f","input":{"a": 1}}, {"type":"tool_use","id":"toolu_2","name":"g","input":{}}],
 "stop_reason":"tool_use","stop_sequence":null,"usage":{"input_tokens":7,"output_tokens":9,"service_tier":"standard"}}`

func TestResponse(t *testing.T) {
	r, err := parseResponse([]byte(answer), wire.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	got := parts(t, r)
	for path, want := range map[string]wire.Part{
		"content[0].thinking":                {Text: "hm", Field: flow.FieldReasoning, Fixed: true},
		"content[2].text":                    {Text: "here", Field: flow.FieldContent},
		"content[2].citations[0].cited_text": {Text: "quoted"},
		"content[3].input.query":             {Text: "weather", Tool: "web_search"},
		"content[4].content[0].title":        {Text: "Weather", Field: flow.FieldContent},
		"content[5].name":                    {Text: "f", Field: flow.FieldToolName, Tool: "f"},
		"content[5].input":                   {Text: `{"a": 1}`, Field: flow.FieldToolArguments, Tool: "f"},
		"content[6].input":                   {Text: `{}`, Field: flow.FieldToolArguments, Tool: "g"},
	} {
		p := got[path]
		p.ID, p.Message, p.Role = 0, 0, ""
		if p != want {
			t.Errorf("%s is %+v, want %+v", path, p, want)
		}
	}
	if names := strings.Join(r.Names(), " "); names != strings.Join([]string{"msg_01", "claude-m", long, long, "srvtoolu_1", "srvtoolu_1", long, "toolu_1", "toolu_2"}, " ") {
		t.Errorf("names are %.80s…", names)
	}
	if calls := r.Calls(); len(calls) != 2 || calls[0].Name != "f" || calls[1].Name != "g" {
		t.Errorf("calls are %+v", calls)
	}
	if !bytes.Equal(r.Rewrite(nil, nil), []byte(answer)) {
		t.Error("no edits changed the answer")
	}
	input := got["content[5].input"].ID
	if got, want := string(r.Rewrite(map[int]string{input: `{"a":"x"}`}, nil)), strings.Replace(answer, `{"a": 1}`, `{"a":"x"}`, 1); got != want {
		t.Errorf("an edited input: %s", got)
	}
	if got, want := string(r.Rewrite(map[int]string{input: `{"a":`}, nil)), strings.Replace(answer, `{"a": 1}`, `{}`, 1); got != want {
		t.Errorf("an input that is JSON no more: %s", got)
	}
	one := strings.Replace(answer, `{"type":"tool_use","id":"toolu_1","name":"f","input":{"a": 1}}`, `{"type":"text","text":"no \"f\""}`, 1)
	if got := string(r.Rewrite(map[int]string{input: "x"}, map[int]string{0: `no "f"`})); got != one {
		t.Errorf("one refused: %s", got)
	}
	both := strings.Replace(one, `{"type":"tool_use","id":"toolu_2","name":"g","input":{}}`, `{"type":"text","text":"nor g"}`, 1)
	both = strings.Replace(both, `"stop_reason":"tool_use"`, `"stop_reason":"end_turn"`, 1)
	if got := string(r.Rewrite(nil, map[int]string{0: `no "f"`, 1: "nor g"})); got != both {
		t.Errorf("both refused: %s", got)
	}
	body, ok := r.Halted("m-1", "because")
	var m struct {
		Model   string
		Content []struct{ Type, Text string }
		Stop    string `json:"stop_reason"`
		Usage   map[string]int
	}
	if err := json.Unmarshal(body, &m); err != nil || !ok || m.Model != "m-1" || len(m.Content) != 1 || m.Content[0].Text != "[because]" || m.Stop != "refusal" || m.Usage["output_tokens"] != 9 {
		t.Errorf("halted: %s, %v", body, err)
	}
}

func TestOtherAnswers(t *testing.T) {
	for _, body := range []string{
		`{"input_tokens":2095}`,
		`{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"},"request_id":"req_011C"}`,
		`{"data":[{"type":"model","id":"claude-m","display_name":"Claude M","created_at":"2026-01-01T00:00:00Z"}],"has_more":false,"first_id":"claude-m","last_id":"claude-m"}`,
		`"just a string"`, `[]`, `{"type":"message"}`, `{"type":"message","content":"x"}`, `{"type":"message","content":[1,"x",null]}`,
	} {
		r, err := parseResponse([]byte(body), wire.Limits{})
		if err != nil || string(r.Rewrite(nil, nil)) != body || len(r.Calls()) != 0 {
			t.Errorf("%s: %v", body, err)
			continue
		}
		if _, ok := r.Halted("m", "x"); ok && !strings.Contains(body, `"content":[`) {
			t.Errorf("%s is a message", body)
		}
	}
}

func TestErrorBody(t *testing.T) {
	for status, want := range map[int]string{
		400: "invalid_request_error", 415: "invalid_request_error", 401: "authentication_error", 403: "permission_error", 404: "not_found_error", 501: "not_found_error",
		413: "request_too_large", 429: "rate_limit_error", 500: "api_error", 502: "api_error", 503: "api_error", 504: "timeout_error", 529: "overloaded_error", 0: "api_error",
	} {
		var e struct {
			Type  string
			Error struct{ Type, Message string }
		}
		b := API{}.ErrorBody(&wire.Problem{Status: status, Message: `margay: "no"`, Code: "denied"})
		var d strictjson.Doc
		if json.Unmarshal(b, &e) != nil || d.Parse(b, wire.Limits{}) != nil || e.Type != "error" || e.Error.Type != want || e.Error.Message != `margay: "no" [denied]` {
			t.Errorf("%d: %s", status, b)
		}
	}
}

func parseRequest(raw []byte, lim wire.Limits) (*Request, error) {
	r, err := API{}.ParseRequest(raw, lim)
	if err != nil {
		return nil, err
	}
	return r.(*Request), nil
}

func parseResponse(raw []byte, lim wire.Limits) (*Response, error) {
	r, err := API{}.ParseResponse(raw, lim)
	if err != nil {
		return nil, err
	}
	return r.(*Response), nil
}
