package openairesponses

import (
	"testing"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/wire"
)

func TestRefused(t *testing.T) {
	pay := flow.RefusedCall{ToolCall: flow.ToolCall{Name: "pay", Arguments: `{}`}, Result: "no"}
	shell := flow.RefusedCall{ToolCall: flow.ToolCall{Name: "shell", Arguments: `{}`}, Result: "nor that"}
	const tools = `,"tools":[{"type":"function","name":"pay"},{"type":"shell"}]`
	for _, c := range []struct {
		body, want string
		said       []string
		calls      []flow.RefusedCall
	}{
		{
			`{"input":"hi"` + tools + `}`,
			`{"input":[{"type":"message","role":"user","content":"hi"},{"type":"message","role":"assistant","content":"Well."},{"type":"function_call","call_id":"call_margay_0","name":"pay","arguments":"{}"},{"type":"function_call_output","call_id":"call_margay_0","output":"no"},{"type":"message","role":"user","content":"nor that"}]` + tools + `}`,
			[]string{"Well."},
			[]flow.RefusedCall{pay, shell},
		},
		{
			`{"input":[{"role":"user","content":"hi"}],"tool_choice":"required"` + tools + `}`,
			`{"input":[{"role":"user","content":"hi"},{"type":"message","role":"user","content":"nor that"}],"tool_choice":"auto"` + tools + `}`,
			nil,
			[]flow.RefusedCall{shell},
		},
		{`{"input":[]}`, "", nil, []flow.RefusedCall{pay}},
		{`{}`, "", nil, []flow.RefusedCall{pay}},
		{`{`, "", nil, []flow.RefusedCall{pay}},
	} {
		r, err := parseRequest([]byte(`{}`), wire.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		if got := string(r.Refused([]byte(c.body), c.said, c.calls)); got != c.want {
			t.Errorf("%s became %s", c.body, got)
		}
	}
}
