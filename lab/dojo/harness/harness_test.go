package harness

import (
	"context"
	"encoding/json"
	"errors"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/margaydev/margay/flow"
)

// What a Model is asked and answers is the same over HTTP, streamed or not.
func TestOverHTTP(t *testing.T) {
	var asked *Request
	var answer Message
	var fails error
	srv := httptest.NewServer(Handler(ModelFunc(func(_ context.Context, r *Request) (Message, error) {
		asked = r
		return answer, fails
	})))
	defer srv.Close()
	text := rapid.StringOf(rapid.RuneFrom([]rune("aé ☕\n\"\\{}🦉")))
	rapid.Check(t, func(t *rapid.T) {
		answer = Message{Role: flow.RoleAssistant, Text: text.Draw(t, "text")}
		for i := range rapid.IntRange(0, 3).Draw(t, "calls") {
			args, err := json.Marshal(map[string]string{"v": text.Draw(t, "argument")})
			if err != nil {
				t.Fatal(err)
			}
			answer.Calls = append(answer.Calls, flow.ToolCall{ID: "c" + string(rune('0'+i)), Name: "tool", Arguments: string(args)})
		}
		r := &Request{
			Model: "m",
			Messages: []Message{
				{Role: flow.RoleUser, Text: text.Draw(t, "request")},
				{Role: flow.RoleAssistant, Calls: []flow.ToolCall{{ID: "a", Name: "get", Arguments: "{}"}}},
				{Role: flow.RoleTool, Text: "done", CallID: "a", Tool: "get"},
			},
			Tools: []Tool{{"get", "gets", json.RawMessage(`{"type":"object"}`)}},
		}
		c := &Client{BaseURL: srv.URL + "/v1/", Stream: rapid.Bool().Draw(t, "stream")}
		got, err := c.Generate(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, answer) {
			t.Fatalf("answered %+v, want %+v", got, answer)
		}
		if !reflect.DeepEqual(asked, r) {
			t.Fatalf("asked %+v, want %+v", asked, r)
		}
	})
	fails = errors.New("no such episode")
	if _, err := (&Client{BaseURL: srv.URL}).Generate(t.Context(), &Request{}); err == nil || !strings.Contains(err.Error(), "no such episode") {
		t.Errorf("error is %v", err)
	}
}

type counter int

func (c *counter) Execute(call flow.ToolCall) string { *c++; return "did " + call.Name }

func TestLoop(t *testing.T) {
	var did counter
	m := ModelFunc(func(_ context.Context, r *Request) (Message, error) {
		if last := r.Messages[len(r.Messages)-1]; last.Text == "did b" {
			return Message{Text: "ready"}, nil
		}
		return Message{Calls: []flow.ToolCall{{ID: "1", Name: "a"}, {ID: "2", Name: "b"}}}, nil
	})
	msgs, err := Loop(t.Context(), m, &did, &Request{Messages: []Message{{Role: flow.RoleUser, Text: "go"}}}, 9)
	if err != nil || len(msgs) != 5 || msgs[4].Text != "ready" || did != 2 {
		t.Errorf("%+v, %d calls, %v", msgs, did, err)
	}
	msgs, err = Loop(t.Context(), ModelFunc(func(context.Context, *Request) (Message, error) {
		return Message{Calls: []flow.ToolCall{{Name: "x"}}}, nil
	}), &did, &Request{}, 3)
	if err != nil || len(msgs) != 6 {
		t.Errorf("a loop without end has %d messages, %v", len(msgs), err)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"x"}]},{"role":"assistant","content":null,"tool_calls":[{"id":"1","function":{"name":"f","arguments":"{}"}}]}]}`))
	f.Add([]byte(`{"messages":[{"content":7}]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, stream, err := decodeRequest(b)
		if err != nil {
			return
		}
		again, err := encodeRequest(r, stream)
		if err != nil {
			return // a schema that is not JSON
		}
		if _, _, err := decodeRequest(again); err != nil {
			t.Errorf("%s becomes %s: %v", b, again, err)
		}
	})
}
