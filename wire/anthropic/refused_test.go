package anthropic

import (
	"testing"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/wire"
)

func TestRefused(t *testing.T) {
	calls := []flow.RefusedCall{{ToolCall: flow.ToolCall{Name: "pay", Arguments: `{"to":"bob"}`}, Result: `"no"`}, {ToolCall: flow.ToolCall{Name: "mail", Arguments: "{,"}, Result: "nor that"}}
	for body, want := range map[string]string{
		`{"messages":[{"role":"user","content":"x"}],"tool_choice":{"type":"any"}}`:   `{"messages":[{"role":"user","content":"x"},{"role":"assistant","content":[{"type":"text","text":"Well."},{"type":"tool_use","id":"toolu_margay_0","name":"pay","input":{"to":"bob"}},{"type":"tool_use","id":"toolu_margay_1","name":"mail","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_margay_0","is_error":true,"content":"\"no\""},{"type":"tool_result","tool_use_id":"toolu_margay_1","is_error":true,"content":"nor that"}]}],"tool_choice":{"type":"auto"}}`,
		`{"thinking":{"type":"adaptive"},"messages":[{"role":"user","content":"x"}]}`: `{"thinking":{"type":"adaptive"},"messages":[{"role":"user","content":"x"},{"role":"user","content":[{"type":"text","text":"\"no\""},{"type":"text","text":"nor that"}]}]}`,
		`{"messages":[]}`: "",
		`{}`:              "",
		`{`:               "",
	} {
		r, err := parseRequest([]byte(`{"messages":[]}`), wire.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		if got := string(r.Refused([]byte(body), []string{" Well. "}, calls)); got != want {
			t.Errorf("%s became %s", body, got)
		}
	}
}
