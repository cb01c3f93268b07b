package mcp

import (
	"encoding/json"
	"slices"
	"testing"
)

func TestElicits(t *testing.T) {
	for raw, want := range map[string]bool{
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"capabilities":{"elicitation":{}}}}`:                                         true,
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"capabilities":{"elicitation":{"form":{},"url":{}}}}}`:                       true,
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"capabilities":{"elicitation":{"url":{}}}}}`:                                 false,
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"capabilities":{"elicitation":null}}}`:                                       false,
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`:                                                                          false,
		`{"jsonrpc":"2.0","id":1,"method":"initialize"}`:                                                                                      false,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"capabilities":{"elicitation":{}}}}`:                                         false,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{"io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}}}`: true,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{"io.modelcontextprotocol/clientCapabilities":{"sampling":{}}}}}`:    false,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":["elicitation"]}`:                                                             false,
	} {
		var p Parser
		m, err := p.Parse([]byte(raw))
		if err != nil || m.Elicits() != want {
			t.Errorf("%s: %v, %v", raw, m.Elicits(), err)
		}
	}
}

func TestResults(t *testing.T) {
	for raw, want := range map[string][]string{
		`{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}],"isError":true,"_meta":{"x":"y"}}`: {"a\nb"},
		`{"resultType":"complete","content":[],"structuredContent":{"k": 1}}`:                                  {`{"k": 1}`},
		`{"content":[{"type":"text","text":"a"},{"type":"image","data":"x"}]}`:                                 {"a", `{"content":[{"type":"text","text":"a"},{"type":"image","data":"x"}]}`},
		`{"content":"a"}`:                     {`{"content":"a"}`},
		`{"content":[{"text":"a"}]}`:          {`{"content":[{"text":"a"}]}`},
		`{"resultType":"input_required"}`:     {`{"resultType":"input_required"}`},
		`["a"]`:                               {`["a"]`},
		`{"content":[],"more":"words of it"}`: {`{"content":[],"more":"words of it"}`},
	} {
		var p Parser
		m, err := p.Parse([]byte(`{"jsonrpc":"2.0","id":1,"result":` + raw + `}`))
		if err != nil {
			t.Fatal(err)
		}
		if got := m.Results(); !slices.Equal(got, want) {
			t.Errorf("%s: %q", raw, got)
		}
	}
}

// What is taken out of a request and put into another comes back, and nothing
// else changes in it.
func FuzzCarry(f *testing.F) {
	f.Add(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"requestState":"s","name":"a","inputResponses":{"x":{}},"arguments":{"a": [1]}}}`, `"requestState":"t"`)
	f.Add(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"requestState":"s"}}`, ``)
	f.Add(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{ }}`, `}`)
	f.Fuzz(func(t *testing.T, raw, members string) {
		p, again := Parser{Limits: Limits{MaxBytes: 1 << 16}}, Parser{Limits: Limits{MaxBytes: 1 << 17}}
		m, err := p.Parse([]byte(raw))
		if err != nil || m.Kind != Request {
			return
		}
		out, err := m.Carry("")
		if err != nil {
			return
		}
		bare, err := again.Parse(out)
		if err != nil {
			t.Fatalf("%s became %s: %v", raw, out, err)
		}
		if bare.Carried() != "" || bare.Method != m.Method || bare.ID != m.ID || bare.CallArguments() != m.CallArguments() || bare.Target() != m.Target() {
			t.Errorf("%s became %s", raw, out)
		}
		if out, err = m.Carry(m.Carried()); err != nil {
			t.Fatal(err)
		}
		if back, err := again.Parse(out); err != nil || back.Carried() != m.Carried() {
			t.Errorf("%s became %s: %v", raw, out, err)
		}
		_, _ = m.Carry(members)
	})
}

// Whatever a question says, the messages are JSON, and it is shown as it is.
func FuzzForm(f *testing.F) {
	f.Add("send \"x\"\u2028", "key", "state")
	f.Fuzz(func(t *testing.T, message, key, state string) {
		choices := []Choice{{"once", message}, {"deny", key}}
		for _, raw := range [][]byte{NewElicitation(`"a"`, message, choices), NewInputRequired("1", key, message, choices, state), NewCancelled(`"a"`)} {
			if !json.Valid(raw) {
				t.Errorf("%s", raw)
			}
		}
	})
}
