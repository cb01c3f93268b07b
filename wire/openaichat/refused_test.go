package openaichat

import (
	"testing"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/wire"
)

func TestRefused(t *testing.T) {
	calls := []flow.RefusedCall{{ToolCall: flow.ToolCall{Name: "pay", Arguments: `{"to":"bob"}`}, Result: `"no"`}, {ToolCall: flow.ToolCall{Name: "mail", Arguments: "{}"}, Result: "nor that"}}
	for body, want := range map[string]string{
		`{"messages":[{"role":"user","content":"x"} ],"tool_choice":"required"}`: `{"messages":[{"role":"user","content":"x"} ,{"role":"assistant","content":"Well.","tool_calls":[{"id":"call_margay_0","type":"function","function":{"name":"pay","arguments":"{\"to\":\"bob\"}"}},{"id":"call_margay_1","type":"function","function":{"name":"mail","arguments":"{}"}}]},{"role":"tool","tool_call_id":"call_margay_0","content":"\"no\""},{"role":"tool","tool_call_id":"call_margay_1","content":"nor that"}],"tool_choice":"auto"}`,
		`{"messages":[{"role":"user","content":"x"}],"n":2}`:                     "",
		`{"messages":[]}`: "",
		`{}`:              "",
		`{`:               "",
	} {
		r, err := parseRequest([]byte(`{"messages":[]}`), wire.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		if got := string(r.Refused([]byte(body), []string{"Well."}, calls)); got != want {
			t.Errorf("%s became %s", body, got)
		}
	}
}
