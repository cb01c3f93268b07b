package gateway

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/mediator"
	"github.com/margaydev/margay/mediator/answer"
	"github.com/margaydev/margay/mediator/session"
	"github.com/margaydev/margay/secret/recognise"
	"github.com/margaydev/margay/store/memory"
	"github.com/margaydev/margay/wire"
	"github.com/margaydev/margay/wire/anthropic"
	"github.com/margaydev/margay/wire/openaichat"
	"github.com/margaydev/margay/wire/openairesponses"
)

// A password that the model made up passes, and none that it may have from what it
// was shown: in whatever member of the request, as a picture or a file, or by a
// server that looks it up.
func TestMadeUp(t *testing.T) {
	const text = "DB_PASSWORD=Xk9vQ4tR7wZ1\n"
	const (
		chat      = `{"model":"m","messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"Make a password."}]`
		responses = `{"model":"m","instructions":"Be brief.","input":"Make a password."`
		messages  = `{"model":"m","max_tokens":9,"system":"Be brief.","messages":[{"role":"user","content":[{"type":"text","text":"Make a password."}]}]`
	)
	rules, err := recognise.Default()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		api    wire.API
		body   string
		passes bool
	}{
		{openaichat.API{}, chat + `}`, true},
		{openaichat.API{}, chat + `,"temperature":0,"stream":true,"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object"}}}]}`, true},
		{openaichat.API{}, chat + `,"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object","properties":{"x":{"const":"Xk9vQ4tR7wZ1"}}}}}]}`, false},
		{openaichat.API{}, chat + `,"tools":[{"type":"web_search"}]}`, false},
		{openaichat.API{}, chat + `,"web_search_options":{}}`, false},
		{openaichat.API{}, chat + `,"data_sources":[{"type":"azure_search"}]}`, false},
		{openaichat.API{}, chat + `,"metadata":{"note":"Xk9vQ4tR7wZ1"}}`, false},
		{openaichat.API{}, `{"model":"gpt-4o-search-preview","messages":[{"role":"user","content":"Make a password."}]}`, false},
		{openaichat.API{}, `{"model":"m","messages":[{"role":"user","content":"It is Xk9v-Q4tR-7wZ1."}]}`, false},
		{openaichat.API{}, `{"model":"m","messages":[{"role":"user","content":"It is \u0058k9vQ4tR7wZ1."}]}`, false},
		{openaichat.API{}, `{"model":"m","messages":[{"role":"user","name":"bob","content":[{"type":"text","text":"What is it?"},{"type":"image_url","image_url":{"url":"https://x.example/a.png"}}]}]}`, false},
		{openaichat.API{}, `{"model":"m","messages":[{"role":"user","content":[{"type":"file","file":{"file_id":"file-1"}}]}]}`, false},
		{openaichat.API{}, `{"model":"m","messages":[{"role":"user","content":"What is it?"},{"role":"assistant","content":"hi","images":[{"image_url":{"url":"https://x.example/a.png"}}]},{"role":"user","content":"And?"}]}`, false},
		{openaichat.API{}, `{"model":"m","messages":[{"role":"user","content":"What is it?"},{"role":"assistant","content":null,"audio":{"id":"audio_1"}},{"role":"user","content":"And?"}]}`, false},
		{openaichat.API{}, `{"model":"m","messages":[{"role":"user","content":"Go."},{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{\"a\":1}"}}]},{"role":"tool","tool_call_id":"c1","content":"done"}]}`, true},

		{openairesponses.API{}, responses + `}`, true},
		{openairesponses.API{}, responses + `,"reasoning":{"effort":"low"},"tools":[{"type":"function","name":"f","parameters":{}},{"type":"local_shell"}]}`, true},
		{openairesponses.API{}, responses + `,"tools":[{"type":"shell","environment":{"type":"container_reference","container_id":"c"}}]}`, false},
		{openairesponses.API{}, responses + `,"tools":[{"type":"file_search","vector_store_ids":["v"]}]}`, false},
		{openairesponses.API{}, responses + `,"prompt":{"id":"pmpt_1"}}`, false},
		{openairesponses.API{}, responses + `,"previous_response_id":"resp_1"}`, false},
		{openairesponses.API{}, responses + `,"conversation":"conv_1"}`, false},
		{openairesponses.API{}, `{"model":"m","input":[{"role":"user","content":[{"type":"input_text","text":"What is it?"},{"type":"input_image","image_url":"https://x.example/a.png"}]}]}`, false},
		{openairesponses.API{}, `{"model":"m","input":[{"role":"user","content":[{"type":"input_file","file_id":"file-1"}]}]}`, false},
		{openairesponses.API{}, `{"model":"m","input":[{"role":"user","content":"Go."},{"type":"function_call","call_id":"c1","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"c1","output":"done"}]}`, true},

		{anthropic.API{}, messages + `}`, true},
		{anthropic.API{}, messages + `,"stream":true,"thinking":{"type":"enabled","budget_tokens":1024},"tools":[{"name":"f","input_schema":{"type":"object"}}]}`, true},
		{anthropic.API{}, messages + `,"tools":[{"type":"web_search_20250305","name":"web_search"}]}`, false},
		{anthropic.API{}, messages + `,"mcp_servers":[{"type":"url","url":"https://x.example","name":"x"}]}`, false},
		{anthropic.API{}, messages + `,"container":"c"}`, false},
		{anthropic.API{}, `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":[{"type":"image","source":{"type":"url","url":"https://x.example/a.png"}},{"type":"text","text":"What is it?"}]}]}`, false},
		{anthropic.API{}, `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":[{"type":"document","source":{"type":"file","file_id":"f"}}]}]}`, false},
		{anthropic.API{}, `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"Go."},{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"c2ln"},{"type":"tool_use","id":"t1","name":"f","input":{"deep":{"a":["b"]}}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":[{"type":"text","text":"done"}]}]}]}`, true},
		{anthropic.API{}, `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"Go."},{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"f","input":{"deep":{"a":["b"]}}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":[{"type":"image","source":{"type":"url","url":"https://x.example/a.png"}}]}]}]}`, false},
	} {
		req, err := c.api.ParseRequest([]byte(c.body), wire.Limits{})
		if err != nil {
			t.Errorf("%s: %v", c.body, err)
			continue
		}
		e, err := mediator.New(mediator.Config{Config: session.Config{Rules: rules, Keys: keys, Store: memory.New()}})
		if err != nil {
			t.Fatal(err)
		}
		s, err := e.Session(t.Context(), &mediator.SessionRequest{Caller: flow.NewID()})
		if err != nil {
			t.Fatal(err)
		}
		turn := (&Gateway{}).prompt(httptest.NewRequest(http.MethodPost, "/", nil), &call{session: s}, req, &route{})
		_, looked, err := turn.Whole(t.Context(), &answer.Whole{Texts: []flow.Text{{Text: text, Field: flow.FieldContent, Path: func() string { return "content" }}}}, nil, nil)
		if passes := len(looked.Edits) == 0; err != nil || passes != c.passes {
			t.Errorf("%T: %s: passes %v, want %v: %v", c.api, c.body, passes, c.passes, err)
		}
	}
}
