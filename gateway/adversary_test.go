package gateway

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/margaydev/margay/mediator"
)

// answers makes a bank whose upstream answers every request with one body.
func answers(t *testing.T, taints func(*mediator.Taint), body string) *bank {
	t.Helper()
	b := newBank(t, taints, nil)
	b.up.answer = func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		typ := "application/json"
		if strings.HasPrefix(body, "data:") || strings.HasPrefix(body, "event:") {
			typ = "text/event-stream"
		}
		w.Header().Set("Content-Type", typ)
		_, _ = io.WriteString(w, body)
	}
	return b
}

func (b *bank) get(t *testing.T, method, path, body string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, b.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	out, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func nobody(c *mediator.Taint) { c.Desk = nil }

const (
	chatAsks   = `{"model":"m","messages":[{"role":"user","content":"hi"}],"tools":[{"type":"function","function":{"name":"wipe"}}]}`
	claudeAsks = `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"hi"}],"tools":[{"name":"wipe","input_schema":{"type":"object"}}]}`
	respAsks   = `{"model":"m","input":"hi","tools":[{"type":"function","name":"wipe"}]}`
)

// A call is one whatever its arguments look like: it never gets past its
// policy by having none.
func TestCallsOfAnyForm(t *testing.T) {
	chat := func(message string) string {
		return `{"id":"c1","object":"chat.completion","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":null,` + message + `},"finish_reason":"tool_calls"}]}`
	}
	chunks := func(delta string) string {
		return `data: {"id":"c1","object":"chat.completion.chunk","model":"m","choices":[{"index":0,"delta":{` + delta + `},"finish_reason":null}]}` + "\n\n" +
			`data: {"id":"c1","object":"chat.completion.chunk","model":"m","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}` + "\n\ndata: [DONE]\n\n"
	}
	claude := func(block string) string {
		return `{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[` + block + `],"stop_reason":"tool_use","stop_sequence":null,"usage":{"input_tokens":1,"output_tokens":1}}`
	}
	resp := func(item string) string {
		return `{"id":"resp_1","object":"response","status":"completed","model":"m","output":[` + item + `]}`
	}
	for name, c := range map[string]struct{ path, body, answer string }{
		"chat, no arguments":             {"/v1/chat/completions", chatAsks, chat(`"tool_calls":[{"id":"a","type":"function","function":{"name":"wipe"}}]`)},
		"chat, null":                     {"/v1/chat/completions", chatAsks, chat(`"tool_calls":[{"id":"a","type":"function","function":{"name":"wipe","arguments":null}}]`)},
		"chat, empty":                    {"/v1/chat/completions", chatAsks, chat(`"tool_calls":[{"id":"a","type":"function","function":{"name":"wipe","arguments":""}}]`)},
		"chat, an object":                {"/v1/chat/completions", chatAsks, chat(`"tool_calls":[{"id":"a","type":"function","function":{"name":"wipe","arguments":{}}}]`)},
		"chat, a function call":          {"/v1/chat/completions", chatAsks, chat(`"function_call":{"name":"wipe"}`)},
		"chat, a custom tool":            {"/v1/chat/completions", chatAsks, chat(`"tool_calls":[{"id":"a","type":"custom","custom":{"name":"wipe"}}]`)},
		"chat, of two one without":       {"/v1/chat/completions", chatAsks, chat(`"tool_calls":[{"id":"b","type":"function","function":{"name":"list_files","arguments":"{}"}},{"id":"a","type":"function","function":{"name":"wipe"}}]`)},
		"chat, another choice":           {"/v1/chat/completions", chatAsks, strings.Replace(chat(`"refusal":null`), `"choices":[`, `"choices":[{"index":1,"message":{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"wipe"}}]}},`, 1)},
		"chat, streamed":                 {"/v1/chat/completions", chatAsks, chunks(`"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"wipe"}}]`)},
		"chat, streamed, empty":          {"/v1/chat/completions", chatAsks, chunks(`"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"wipe","arguments":""}}]`)},
		"chat, streamed, function call":  {"/v1/chat/completions", chatAsks, chunks(`"function_call":{"name":"wipe"}`)},
		"chat, streamed, custom":         {"/v1/chat/completions", chatAsks, chunks(`"tool_calls":[{"index":0,"id":"a","type":"custom","custom":{"name":"wipe"}}]`)},
		"messages, no input":             {"/v1/messages", claudeAsks, claude(`{"type":"tool_use","id":"a","name":"wipe"}`)},
		"messages, null":                 {"/v1/messages", claudeAsks, claude(`{"type":"tool_use","id":"a","name":"wipe","input":null}`)},
		"messages, a string":             {"/v1/messages", claudeAsks, claude(`{"type":"tool_use","id":"a","name":"wipe","input":""}`)},
		"messages, streamed":             {"/v1/messages", claudeAsks, claudeEvents(`{"type":"tool_use","id":"a","name":"wipe"}`)},
		"messages, streamed, empty":      {"/v1/messages", claudeAsks, claudeEvents(`{"type":"tool_use","id":"a","name":"wipe","input":{}}`)},
		"responses, no arguments":        {"/v1/responses", respAsks, resp(`{"type":"function_call","id":"fc_1","call_id":"a","name":"wipe"}`)},
		"responses, null":                {"/v1/responses", respAsks, resp(`{"type":"function_call","id":"fc_1","call_id":"a","name":"wipe","arguments":null}`)},
		"responses, empty":               {"/v1/responses", respAsks, resp(`{"type":"function_call","id":"fc_1","call_id":"a","name":"wipe","arguments":""}`)},
		"responses, an object":           {"/v1/responses", respAsks, resp(`{"type":"function_call","id":"fc_1","call_id":"a","name":"wipe","arguments":{}}`)},
		"responses, custom":              {"/v1/responses", respAsks, resp(`{"type":"custom_tool_call","id":"fc_1","call_id":"a","name":"wipe"}`)},
		"responses, streamed":            {"/v1/responses", respAsks, respEvents(`{"type":"function_call","id":"fc_1","call_id":"a","name":"wipe"}`)},
		"responses, streamed, empty":     {"/v1/responses", respAsks, respEvents(`{"type":"function_call","id":"fc_1","call_id":"a","name":"wipe","arguments":""}`)},
		"responses, streamed, custom":    {"/v1/responses", respAsks, respEvents(`{"type":"custom_tool_call","id":"fc_1","call_id":"a","name":"wipe","input":""}`)},
		"responses, retrieved":           {"/v1/responses/resp_1", "", resp(`{"type":"function_call","id":"fc_1","call_id":"a","name":"wipe","arguments":"{}"}`)},
		"responses, retrieved, streamed": {"/v1/responses/resp_1?stream=true", "", respEvents(`{"type":"function_call","id":"fc_1","call_id":"a","name":"wipe","arguments":"{}"}`)},
	} {
		t.Run(name, func(t *testing.T) {
			b := answers(t, nobody, c.answer)
			method := http.MethodPost
			if c.body == "" {
				method = http.MethodGet
			}
			out := b.get(t, method, c.path, c.body)
			if strings.Contains(out, `"name":"wipe"`) {
				t.Errorf("the call went through: %s", out)
			}
		})
	}
}

func claudeEvents(block string) string {
	var b strings.Builder
	send := func(typ, members string) { fmt.Fprintf(&b, "event: %s\ndata: {\"type\":%q%s}\n\n", typ, typ, members) }
	send("message_start", `,"message":{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":1,"output_tokens":1}}`)
	send("content_block_start", `,"index":0,"content_block":`+block)
	send("content_block_stop", `,"index":0`)
	send("message_delta", `,"delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":9}`)
	send("message_stop", "")
	return b.String()
}

func respEvents(item string) string {
	var b strings.Builder
	n := 0
	send := func(typ, members string) {
		fmt.Fprintf(&b, "event: %s\ndata: {\"type\":%q,\"sequence_number\":%d%s}\n\n", typ, typ, n, members)
		n++
	}
	send("response.created", `,"response":{"id":"resp_1","object":"response","status":"in_progress","model":"m","output":[]}`)
	send("response.output_item.added", `,"output_index":0,"item":`+item)
	send("response.output_item.done", `,"output_index":0,"item":`+item)
	send("response.completed", `,"response":{"id":"resp_1","object":"response","status":"completed","model":"m","output":[`+item+`]}`)
	return b.String()
}
