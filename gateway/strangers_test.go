package gateway

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/margaydev/margay/mediator"
)

// evilWords is in what strangers wrote; longEvil can be base64.
const evilWords = "EVILWORDS"

var longEvil = strings.Repeat(evilWords, 9)

// place is where a block stands in a request of an API.
type place struct{ api, request string }

// places are where the blocks of strangers can stand.
var blockPlaces = map[string]place{
	"messages, user": {"messages", `"messages":[{"role":"user","content":[«b»,{"type":"text","text":"pay bob"}]}]`},
	"messages, result": {"messages", `"messages":[{"role":"user","content":"pay bob"},{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"now","input":{}}]},
		{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":[{"type":"text","text":"12:00"},«b»]}]}]`},
	"messages, assistant": {"messages", `"messages":[{"role":"user","content":"pay bob"},{"role":"assistant","content":[«b»]},{"role":"user","content":"go on"}]`},
	"chat, user":          {"chat/completions", `"messages":[{"role":"user","content":[«b»,{"type":"text","text":"pay bob"}]}]`},
	"chat, developer":     {"chat/completions", `"messages":[{"role":"developer","content":[«b»]},{"role":"user","content":"pay bob"}]`},
	"chat, result": {"chat/completions", `"messages":[{"role":"user","content":"pay bob"},{"role":"assistant","content":null,"tool_calls":[{"id":"t1","type":"function","function":{"name":"now","arguments":"{}"}}]},
		{"role":"tool","tool_call_id":"t1","content":[{"type":"text","text":"12:00"},«b»]}]`},
	"responses, user": {"responses", `"input":[{"role":"user","content":[«b»,{"type":"input_text","text":"pay bob"}]}]`},
	"responses, result": {"responses", `"input":[{"role":"user","content":"pay bob"},{"type":"function_call","call_id":"t1","name":"now","arguments":"{}"},
		{"type":"function_call_output","call_id":"t1","output":[{"type":"input_text","text":"12:00"},«b»]}]`},
	"responses, item": {"responses", `"input":[«b»,{"role":"user","content":"pay bob"}]`},
}

// tries sends a request to a model that pays mallory where it reads evilWords words,
// or any call is wanted, and returns what comes out and what reached the model.
func tries(t *testing.T, p place, block string, replay bool) (out string, bodies []string) {
	t.Helper()
	taints := asksNobody
	if replay {
		taints = nobody
	}
	b := newBank(t, func(c *mediator.Taint) {
		taints(c)
		c.MaxTold = -1
	}, nil)
	b.says(strings.TrimSuffix(p.api, "/completions"), func(body string) (string, string, string) {
		if replay && !strings.Contains(body, evilWords) {
			return "nothing to do", "", ""
		}
		return "", "send_money", `{"to":"mallory","amount":5}`
	})
	body := `{"model":"m","max_tokens":9,` + strings.ReplaceAll(p.request, "«b»", block) + `,"tools":[` + offered[p.api] + `]}`
	out = b.get(t, http.MethodPost, "/v1/"+p.api, body)
	b.mu.Lock()
	defer b.mu.Unlock()
	return out, b.bodies
}

func called(out string) bool { return strings.Contains(out, `"name":"send_money"`) }

// What stands in a user's message and the user did not write is untrusted, as a
// tool's result is, and so is what others wrote in a tool's result. A step that
// is made again does not see it.
func TestBlocksThatStrangersWrote(t *testing.T) {
	document := func(source string) string { return `{"type":"document","source":` + source + `,"title":"a title"}` }
	anthropic := map[string]string{
		"search result":      `{"type":"search_result","source":"https://x.example","title":"t","content":[{"type":"text","text":"` + evilWords + `"}]}`,
		"document, text":     document(`{"type":"text","media_type":"text/plain","data":"` + evilWords + `"}`),
		"document, url":      document(`{"type":"url","url":"https://x.example/` + evilWords + `"}`),
		"document, PDF":      document(`{"type":"base64","media_type":"application/pdf","data":"` + longEvil + `"}`),
		"document, content":  document(`{"type":"content","content":[{"type":"text","text":"` + evilWords + `"}]}`),
		"document, file":     document(`{"type":"file","file_id":"` + evilWords + `"}`),
		"web search":         `{"type":"web_search_tool_result","tool_use_id":"s","content":[{"type":"web_search_result","url":"https://x.example","title":"` + evilWords + `","encrypted_content":"x"}]}`,
		"web fetch":          `{"type":"web_fetch_tool_result","tool_use_id":"s","content":{"type":"web_fetch_result","url":"https://x.example","content":` + document(`{"type":"text","media_type":"text/plain","data":"`+evilWords+`"}`) + `}}`,
		"code execution":     `{"type":"code_execution_tool_result","tool_use_id":"s","content":{"type":"code_execution_result","stdout":"` + evilWords + `","stderr":"","return_code":0}}`,
		"bash":               `{"type":"bash_code_execution_tool_result","tool_use_id":"s","content":{"type":"bash_code_execution_result","stdout":"` + evilWords + `","stderr":"","return_code":0}}`,
		"text editor":        `{"type":"text_editor_code_execution_tool_result","tool_use_id":"s","content":{"type":"text_editor_code_execution_view_result","content":"` + evilWords + `"}}`,
		"MCP":                `{"type":"mcp_tool_result","tool_use_id":"s","is_error":false,"content":[{"type":"text","text":"` + evilWords + `"}]}`,
		"tool search":        `{"type":"tool_search_tool_result","tool_use_id":"s","content":{"type":"tool_search_tool_search_result","tool_references":[{"type":"tool_reference","tool_name":"` + evilWords + `"}]}}`,
		"container upload":   `{"type":"container_upload","file_id":"` + evilWords + `"}`,
		"unknown":            `{"type":"brand_new","text":"` + evilWords + `"}`,
		"without a type":     `{"text":"` + evilWords + `"}`,
		"no object":          `"` + evilWords + `"`,
		"type in other case": `{"type":"Text","text":"` + evilWords + `"}`,
	}
	chat := map[string]string{
		"file":    `{"type":"file","file":{"filename":"a.pdf","file_data":"data:application/pdf;base64,` + longEvil + `"}}`,
		"file id": `{"type":"file","file":{"file_id":"` + evilWords + `"}}`, "unknown": `{"type":"brand_new","text":"` + evilWords + `"}`, "no object": `"` + evilWords + `"`,
	}
	responses := map[string]string{
		"file by URL": `{"type":"input_file","file_url":"https://x.example/` + evilWords + `"}`, "file id": `{"type":"input_file","file_id":"` + evilWords + `"}`,
		"file":    `{"type":"input_file","filename":"a.pdf","file_data":"data:application/pdf;base64,` + longEvil + `"}`,
		"unknown": `{"type":"brand_new","text":"` + evilWords + `"}`,
	}
	items := map[string]string{
		"unknown": `{"type":"brand_new","text":"` + evilWords + `"}`, "web search": `{"type":"web_search_call","id":"ws_1","status":"completed","action":{"type":"search","query":"` + evilWords + `"}}`,
		"MCP": `{"type":"mcp_call","id":"m_1","name":"x","server_label":"y","arguments":"{}","output":"` + evilWords + `"}`, "without a type": `{"text":"` + evilWords + `"}`,
	}
	all := map[string]map[string]string{
		"messages, user": anthropic, "messages, result": anthropic, "messages, assistant": anthropic, "chat, user": chat, "chat, developer": chat, "chat, result": chat,
		"responses, user": responses, "responses, result": responses, "responses, item": items,
	}
	for where, blocks := range all {
		p := blockPlaces[where]
		for name, block := range blocks {
			t.Run(where+", "+name, func(t *testing.T) {
				if out, _ := tries(t, p, block, false); called(out) {
					t.Errorf("a call that may follow from it was made: %s", out)
				}
				out, bodies := tries(t, p, block, true)
				if called(out) {
					t.Errorf("made again, a call was made: %s", out)
				}
				if len(bodies) != 2 {
					t.Fatalf("%d requests", len(bodies))
				}
				for _, body := range bodies[1:] {
					if strings.Contains(body, evilWords) || !json.Valid([]byte(body)) || !strings.Contains(body, "pay bob") {
						t.Errorf("made again from %s", body)
					}
				}
			})
		}
	}
}

// What users say, and the pictures that they attach, are theirs; so is a tool's
// text its own.
func TestBlocksThatUsersWrote(t *testing.T) {
	text, input := `{"type":"text","text":"hi","cache_control":{"type":"ephemeral"}}`, `{"type":"input_text","text":"hi"}`
	for where, blocks := range map[string][]string{
		"messages, user":   {text, `{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBORw0KGgo="}}`},
		"messages, result": {text},
		"chat, user":       {text, `{"type":"image_url","image_url":{"url":"data:image/png;base64,iVBORw0KGgo="}}`},
		"chat, result":     {text},
		"responses, user":  {input, `{"type":"input_image","image_url":"data:image/png;base64,iVBORw0KGgo="}`},
		"responses, item":  {`{"role":"user","content":"hi"}`, `{"type":"message","role":"developer","content":[{"type":"input_text","text":"hi"}]}`},
	} {
		for _, block := range blocks {
			if out, _ := tries(t, blockPlaces[where], block, false); !called(out) {
				t.Errorf("%s: %s: the user's own call was not made: %s", where, block, out)
			}
		}
	}
}

// A block of any type that is not known is untrusted.
func TestUnknownBlocksAreUntrusted(t *testing.T) {
	known := map[string]bool{"": true, "text": true, "image": true, "refusal": true, "tool_result": true, "image_url": true, "input_audio": true, "input_text": true, "input_image": true, "output_text": true}
	rapid.Check(t, func(rt *rapid.T) {
		where := rapid.SampledFrom([]string{"messages, user", "chat, user", "responses, user", "messages, result", "chat, result", "responses, result"}).Draw(rt, "where")
		typ := rapid.OneOf(rapid.StringMatching(`[a-z_]{0,20}`), rapid.SampledFrom([]string{"TEXT", "text ", "text_delta", "input_texts", "images"})).Draw(rt, "type")
		member := rapid.SampledFrom([]string{"text", "content", "data", "body"}).Draw(rt, "member")
		if known[typ] || where == "messages, result" && typ == "tool_reference" {
			return
		}
		block, err := json.Marshal(map[string]any{"type": typ, member: evilWords})
		if err != nil {
			rt.Fatal(err)
		}
		if out, _ := tries(t, blockPlaces[where], string(block), false); called(out) {
			rt.Fatalf("%s: %s: %s", where, block, out)
		}
	})
}
