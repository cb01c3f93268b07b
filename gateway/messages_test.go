package gateway

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/testkit"
	"github.com/margaydev/margay/mediator"
	"github.com/margaydev/margay/secret"
)

// written is a stream of the Messages API: each event's data begins with its
// type.
func written(events ...string) string {
	var b strings.Builder
	for _, e := range events {
		typ, _, _ := strings.Cut(strings.TrimPrefix(e, `{"type":"`), `"`)
		b.WriteString("event: " + typ + "\ndata: " + e + "\n\n")
	}
	return b.String()
}

const (
	mStart = `{"type":"message_start","message":{"id":"msg_01AbCdEfGhIjKlMn","type":"message","role":"assistant","model":"claude-m","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":25,"output_tokens":3,"service_tier":"standard"}}}`
	mPing  = `{"type":"ping"}`
	mStop  = `{"type":"message_stop"}`
)

func bStart(i int, block string) string {
	return fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":%s}`, i, block)
}

func bDelta(i int, typ, field, text string) string {
	return fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":{"type":%q,%q:%s}}`, i, typ, field, quote(text))
}

func bStop(i int) string { return fmt.Sprintf(`{"type":"content_block_stop","index":%d}`, i) }

func mDelta(reason string) string {
	return fmt.Sprintf(`{"type":"message_delta","delta":{"stop_reason":%q,"stop_sequence":null},"usage":{"output_tokens":15}}`, reason)
}

func textBlock(i int, pieces ...string) []string {
	out := []string{bStart(i, `{"type":"text","text":""}`)}
	for _, p := range pieces {
		out = append(out, bDelta(i, "text_delta", "text", p))
	}
	return append(out, bStop(i))
}

func thinkingBlock(i int, pieces ...string) []string {
	out := []string{bStart(i, `{"type":"thinking","thinking":"","signature":""}`)}
	for _, p := range pieces {
		out = append(out, bDelta(i, "thinking_delta", "thinking", p))
	}
	return append(out, bDelta(i, "signature_delta", "signature", strings.Repeat("Eq9+c/", 60)), bStop(i))
}

func callBlock(i int, name string, pieces ...string) []string {
	out := []string{bStart(i, fmt.Sprintf(`{"type":"tool_use","id":"toolu_%d","name":%q,"input":{}}`, i, name))}
	for _, p := range append([]string{""}, pieces...) {
		out = append(out, bDelta(i, "input_json_delta", "partial_json", p))
	}
	return append(out, bStop(i))
}

// told is a whole stream of blocks.
func told(reason string, blocks ...[]string) []string {
	out := []string{mStart, mPing}
	for _, b := range blocks {
		out = append(out, b...)
	}
	return append(out, mDelta(reason), mStop)
}

func (u *upstream) tells(events ...string) {
	u.answer = func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, e := range events {
			_, _ = io.WriteString(w, written(e))
			w.(http.Flusher).Flush()
		}
	}
}

const askMessage = `{"model":"claude-m","max_tokens":100,"stream":true,"messages":[{"role":"user","content":"hello"}]}`

func message(t testing.TB, stream string) *testkit.Message {
	t.Helper()
	m, err := testkit.ReadMessage(stream)
	if err != nil {
		t.Fatalf("the stream is invalid: %v\n%s", err, stream)
	}
	return m
}

func TestCleanMessageIsIdentical(t *testing.T) {
	r := newRig(t, nil, random(61, 24))
	events := told(
		"tool_use", thinkingBlock(0, "Let me ", "think ☕"), textBlock(1, "I will ", "look \"it\" up.\n"),
		[]string{
			bStart(2, `{"type":"server_tool_use","id":"srvtoolu_014hJH82Qum7Td6UV8gDXThB","name":"web_search","input":{}}`),
			bDelta(2, "input_json_delta", "partial_json", `{"query":`), bDelta(2, "input_json_delta", "partial_json", ` "weather in Oslo"}`), bStop(2),
			bStart(3, `{"type":"web_search_tool_result","tool_use_id":"srvtoolu_014hJH82Qum7Td6UV8gDXThB","content":[{"type":"web_search_result","title":"Oslo","url":"https://weather.example/oslo","encrypted_content":"`+strings.Repeat("EvIBCi", 70)+`","page_age":null}]}`), bStop(3),
		},
		callBlock(4, "get_weather", `{"location":`, ` "Oslo`, `"}`), callBlock(5, "get_time"),
		[]string{
			bStart(6, `{"type":"redacted_thinking","data":"`+strings.Repeat("EmwKAh", 50)+`"}`), bStop(6),
			bStart(7, `{"type":"text","text":"","citations":[]}`), bDelta(7, "text_delta", "text", "cited"),
			`{"type":"content_block_delta","index":7,"delta":{"type":"citations_delta","citation":{"type":"char_location","cited_text":"the text","document_index":0,"document_title":"T","start_char_index":0,"end_char_index":8}}}`, bStop(7),
			bStart(8, `{"type":"something_new","notes":["a note"]}`), `{"type":"content_block_delta","index":8,"delta":{"type":"new_delta","notes":"more"}}`, bStop(8),
		},
	)
	r.up.tells(events...)
	status, got := r.post(t, "/v1/messages", askMessage, "Anthropic-Version", "2023-06-01", "X-Api-Key", "sk-ant-caller")
	if status != http.StatusOK || got != written(events...) {
		t.Errorf("status %d, the stream changed:\n%s", status, got)
	}
	message(t, got)
}

// A known secret is found wherever it stands, however it is cut.
func TestNoMessageLeaks(t *testing.T) {
	value := random(62, 24)
	r := newRig(t, nil, value)
	for cut := range len(value) + 1 {
		a, b := value[:cut], value[cut:]
		r.up.tells(told("tool_use", textBlock(0, "key: "+a, b+" end"), callBlock(1, "send", `{"k":"`+a, b+`"}`))...)
		_, got := r.post(t, "/v1/messages", askMessage)
		m := message(t, got)
		if strings.Contains(got, value) || m.Blocks[0].Text != "key: [REDACTED:api-key] end" || m.Blocks[1].Input != `{"k":"[REDACTED:api-key]"}` || m.Stop != "tool_use" {
			t.Fatalf("cut at %d: %+v", cut, m)
		}
		r.up.tells(told("end_turn", thinkingBlock(0, "the key is "+a, b+" I think"), textBlock(1, "done"))...)
		_, got = r.post(t, "/v1/messages", askMessage)
		m = message(t, got)
		if strings.Contains(m.Blocks[0].Text, value) || !strings.HasPrefix("the key is ", m.Blocks[0].Text) || m.Stop != "refusal" || len(m.Blocks) != 1 || m.Blocks[0].Signature != "" {
			t.Fatalf("thinking cut at %d: %+v", cut, m)
		}
	}
}

// whole is the answer that a stream of blocks stands for, without streaming.
func wholeMessage(reason string, blocks ...string) string {
	return `{"id":"msg_01AbCdEfGhIjKlMn","type":"message","role":"assistant","model":"claude-m","content":[` + strings.Join(blocks, ",") +
		`],"stop_reason":"` + reason + `","stop_sequence":null,"usage":{"input_tokens":25,"output_tokens":15}}`
}

func (u *upstream) says(status int, body string) {
	u.answer = func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// A stream says what the whole answer says, with a secret that is registered,
// one that is recognised, and none.
func TestMessageStreamsAsItIsWhole(t *testing.T) {
	known := random(63, 24)
	r := newRig(t, nil, known)
	for name, value := range map[string]string{"known": known, "unknown": "ghp_" + random(64, 36), "none": "nothing of note"} {
		for cut := 0; cut <= len(value); cut += 3 {
			a, b := value[:cut], value[cut:]
			input := `{"cmd":"echo ` + value + `","n":[1,2]}`
			r.up.says(http.StatusOK, wholeMessage("tool_use", `{"type":"text","text":"it is `+value+` here"}`, `{"type":"tool_use","id":"toolu_1","name":"run","input":`+input+`}`))
			_, got := r.post(t, "/v1/messages", strings.Replace(askMessage, "true", "false", 1))
			var whole struct {
				Content []struct {
					Text  string
					Input json.RawMessage
				}
				Stop string `json:"stop_reason"`
			}
			if err := json.Unmarshal([]byte(got), &whole); err != nil || len(whole.Content) != 2 {
				t.Fatalf("%s: %v in %s", name, err, got)
			}
			r.up.tells(told("tool_use", textBlock(0, "it is "+a, b+" here"), callBlock(1, "run", `{"cmd":"echo `+a, b+`","n":[1,2]}`))...)
			_, got = r.post(t, "/v1/messages", askMessage)
			m := message(t, got)
			if m.Blocks[0].Text != whole.Content[0].Text || m.Blocks[1].Input != string(whole.Content[1].Input) || m.Stop != whole.Stop {
				t.Errorf("%s, cut at %d: %+v, whole %+v", name, cut, m, whole)
			}
			if kept := strings.Contains(m.Blocks[0].Text, value) && strings.Contains(m.Blocks[1].Input, value); kept != (name == "none") {
				t.Errorf("%s, cut at %d: %+v", name, cut, m)
			}
		}
	}
}

// messagePseudonym is pseudonym for the Messages API.
func messagePseudonym(t *testing.T, seed uint64) (r *rig, name, body string) {
	t.Helper()
	value := random(seed, 24)
	r = newRig(t, nil, value)
	r.up.tells(told("end_turn", textBlock(0, "ok"))...)
	body = `{"model":"claude-m","stream":true,"messages":[{"role":"user","content":"use ` + value + `"}]}`
	r.post(t, "/v1/messages", body)
	received := r.up.received()
	at := strings.Index(received, "margay-api-key-")
	if at < 0 || strings.Contains(received, value) {
		t.Fatal("no pseudonym")
	}
	return r, received[at : at+len("margay-api-key-")+14], body
}

// A call that may not be made leaves a text in its place, whatever stands
// around it.
func TestMessageCallsAreRefused(t *testing.T) {
	r, name, body := messagePseudonym(t, 65)
	bad := func(i int) []string { return callBlock(i, "send", `{"k":"`+name[:9], name[9:]+`"}`) }
	good := func(i int) []string { return callBlock(i, "look", `{"q":`, `"x"}`) }
	mixed := append(append([]string{}, good(0)[:2]...), bad(1)[:2]...) // two blocks that are open at once
	mixed = append(append(append(mixed, good(0)[2:]...), bad(1)[2:]...), textBlock(2, "so")...)
	for what, c := range map[string]struct {
		blocks []string
		types  string
		stop   string
	}{
		"alone":      {bad(0), "text", "end_turn"},
		"behind":     {append(append(textBlock(0, "I send."), bad(1)...), good(2)...), "text text tool_use", "tool_use"},
		"both":       {append(append(thinkingBlock(0, "hm"), bad(1)...), bad(2)...), "thinking text text", "end_turn"},
		"open":       {mixed, "tool_use text text", "tool_use"},
		"all in one": {[]string{bStart(0, `{"type":"tool_use","id":"toolu_9","name":"send","input":{"k":"`+name+`"}}`), bStop(0)}, "text", "end_turn"},
		"a key":      {[]string{bStart(0, `{"type":"tool_use","id":"toolu_9","name":"send","input":{"`+name+`":1}}`), bStop(0)}, "text", "end_turn"},
		"no name":    {[]string{bStart(0, `{"type":"tool_use","id":"toolu_9","input":{}}`), bDelta(0, "input_json_delta", "partial_json", quote(name)), bStop(0)}, "text", "end_turn"},
		"escaped":    {[]string{bStart(0, `{"type":"tool_use","id":"toolu_9","name":"send","input":{}}`), bDelta(0, "input_json_delta", "partial_json", `{"k":"`+escaped(name)+`"}`), bStop(0)}, "text", "end_turn"},
	} {
		events := told("tool_use", c.blocks)
		r.up.tells(events...)
		_, got := r.post(t, "/v1/messages", body)
		m := message(t, got)
		var types, say []string
		for _, b := range m.Blocks {
			types = append(types, b.Type)
			if strings.Contains(b.Text, "was not made") {
				say = append(say, b.Text)
			}
		}
		if strings.Join(types, " ") != c.types || m.Stop != c.stop || len(say) == 0 || strings.Contains(got, "toolu_9") || strings.Contains(got, "send\",\"input") {
			t.Errorf("%s: %+v", what, m)
		}
		for _, b := range m.Blocks {
			if b.Type == "tool_use" && (b.Name != "look" || b.Input != `{"q":"x"}`) {
				t.Errorf("%s: a call was changed: %+v", what, b)
			}
		}
	}
	send := `{"type":"tool_use","id":"toolu_9","name":"send","input":{"k":"` + name + `"}}`
	for what, c := range map[string]struct{ body, stop string }{
		"alone": {wholeMessage("tool_use", send), "end_turn"},
		"both":  {wholeMessage("tool_use", `{"type":"text","text":"I send."}`, send, `{"type":"tool_use","id":"toolu_8","name":"look","input":{}}`), "tool_use"},
	} {
		r.up.says(http.StatusOK, c.body)
		_, got := r.post(t, "/v1/messages", body)
		if !json.Valid([]byte(got)) || !strings.Contains(got, `{"type":"text","text":"[margay: the call of send was not made`) || strings.Contains(got, "toolu_9") || !strings.Contains(got, `"stop_reason":"`+c.stop+`"`) {
			t.Errorf("whole, %s: %s", what, got)
		}
	}
}

// Thinking with a secret is not rewritten, and a client is not made to ask
// again.
func TestWholeMessageIsHalted(t *testing.T) {
	value := random(66, 24)
	r := newRig(t, nil, value)
	r.up.says(http.StatusOK, wholeMessage("end_turn", `{"type":"thinking","thinking":"it is `+value+`","signature":"`+strings.Repeat("Eq9+c/", 60)+`"}`, `{"type":"text","text":"`+value+`"}`))
	status, got := r.post(t, "/v1/messages", strings.Replace(askMessage, "true", "false", 1))
	var m struct {
		Type, Role, Model string
		Content           []struct{ Type, Text string }
		Stop              string `json:"stop_reason"`
		Usage             map[string]int
	}
	if err := json.Unmarshal([]byte(got), &m); err != nil || status != http.StatusOK || strings.Contains(got, value) {
		t.Fatalf("status %d, %v: %s", status, err, got)
	}
	if m.Type != "message" || m.Role != "assistant" || m.Model != "claude-m" || m.Stop != "refusal" || len(m.Content) != 1 || !strings.Contains(m.Content[0].Text, "margay explain") || m.Usage["output_tokens"] != 15 {
		t.Errorf("it says %s", got)
	}
	// A name may not be edited either.
	r.up.says(http.StatusOK, strings.Replace(wholeMessage("end_turn", `{"type":"text","text":"hi"}`), "msg_01AbCdEfGhIjKlMn", "msg_"+value, 1))
	if _, got = r.post(t, "/v1/messages", askMessage); strings.Contains(got, value) || !strings.Contains(got, `"stop_reason":"refusal"`) {
		t.Errorf("an answer whose id holds the secret: %s", got)
	}
}

// A private key ends an answer, wherever it stands.
func TestMessageWithPrivateKey(t *testing.T) {
	r := newRig(t, func(mc *mediator.Config, _ *Config) {
		mc.Policy.Generate = map[secret.Kind]flow.Action{secret.KindAPIKey: flow.ActBlock}
	}, random(67, 24))
	value := random(67, 24)
	r.up.tells(told("end_turn", textBlock(0, "first"), textBlock(1, "the key "+value[:9], value[9:]+" is it", " and more"), callBlock(2, "f"))...)
	_, got := r.post(t, "/v1/messages", askMessage)
	m := message(t, got)
	if strings.Contains(got, value) || m.Stop != "refusal" || m.Error != "" || m.Blocks[0].Text != "first" || len(m.Blocks) != 2 {
		t.Errorf("%+v", m)
	}
	r.up.tells(strings.Replace(mStart, `"role":`, `"note":"`+value+`","role":`, 1), mStop)
	_, got = r.post(t, "/v1/messages", askMessage)
	if m = message(t, got); m.Stop != "refusal" || strings.Contains(got, value) {
		t.Errorf("%+v", m)
	}
}

// Fields that carry text besides that of the blocks are looked at, too.
func TestNoFieldOfAMessageLeaks(t *testing.T) {
	value := random(68, 24)
	r := newRig(t, nil, value)
	block := func(b string) []string { return []string{bStart(0, b), bStop(0)} }
	text := func(d string) []string {
		return []string{bStart(0, `{"type":"text","text":""}`), fmt.Sprintf(`{"type":"content_block_delta","index":0,"delta":%s}`, d), bStop(0)}
	}
	for what, events := range map[string][]string{
		"text of a start":     told("end_turn", block(`{"type":"text","text":"`+value+`"}`)),
		"thinking of a start": told("end_turn", block(`{"type":"thinking","thinking":"`+value+`","signature":""}`)),
		"citation":            told("end_turn", text(`{"type":"citations_delta","citation":{"type":"char_location","cited_text":"`+value+`","document_title":"t"}}`)),
		"citations":           told("end_turn", block(`{"type":"text","text":"x","citations":[{"type":"char_location","document_title":"`+value+`"}]}`)),
		"an unknown delta":    told("end_turn", text(`{"type":"novel_delta","novel":"`+value+`"}`)),
		"cut in two of them":  told("end_turn", append(append(text(`{"type":"novel_delta","novel":"` + value[:11] + `"}`)[:2], text(`{"type":"novel_delta","novel":"` + value[11:] + `"}`)[1]), bStop(0))),
		"a short signature":   told("end_turn", []string{bStart(0, `{"type":"thinking","thinking":"","signature":""}`), bDelta(0, "signature_delta", "signature", value), bStop(0)}),
		"sealed data":         told("end_turn", block(`{"type":"redacted_thinking","data":"`+strings.Repeat("Abc0", 40)+value+strings.Repeat("Abc0", 40)+`"}`)),
		"sealed in pieces": told("end_turn", []string{
			bStart(0, `{"type":"thinking","thinking":"","signature":""}`), bDelta(0, "signature_delta", "signature", strings.Repeat("Abc0", 40)+value[:12]),
			bDelta(0, "signature_delta", "signature", value[12:]+strings.Repeat("Abc0", 40)), bStop(0),
		}),
		"server tool's input": told("end_turn", []string{
			bStart(0, `{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{}}`),
			bDelta(0, "input_json_delta", "partial_json", `{"query":"`+value[:7]), bDelta(0, "input_json_delta", "partial_json", value[7:]+`"}`), bStop(0),
		}),
		"server tool's whole input": told("end_turn", block(`{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"query":"`+value+`"}}`)),
		"search result":             told("end_turn", block(`{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[{"type":"web_search_result","title":"t","url":"https://x.example/?k=`+value+`"}]}`)),
		"stdout":                    told("end_turn", block(`{"type":"bash_code_execution_tool_result","tool_use_id":"srvtoolu_1","content":{"type":"bash_code_execution_result","stdout":"`+value+`","stderr":""}}`)),
		"mcp result":                told("end_turn", block(`{"type":"mcp_tool_result","tool_use_id":"mcptoolu_1","content":[{"type":"text","text":"`+value+`"}]}`)),
		"an unknown block":          told("end_turn", block(`{"type":"novel","deep":{"er":["`+value+`"]}}`)),
		"a key":                     told("end_turn", block(`{"type":"novel","`+value+`":1}`)),
		"tool's name":               told("tool_use", callBlock(0, value)),
		"tool's id":                 told("tool_use", block(`{"type":"tool_use","id":"toolu_`+value+`","name":"f","input":{}}`)),
		"stop sequence":             {mStart, `{"type":"message_delta","delta":{"stop_reason":"stop_sequence","stop_sequence":"` + value + `"},"usage":{"output_tokens":1}}`, mStop},
		"stop details":              {mStart, `{"type":"message_delta","delta":{"stop_reason":"refusal","stop_details":{"type":"refusal","explanation":"` + value + `"}},"usage":{"output_tokens":1}}`, mStop},
		"stop reason":               {mStart, `{"type":"message_delta","delta":{"stop_reason":"` + value + `"},"usage":{"output_tokens":1}}`, mStop},
		"message":                   {strings.Replace(mStart, `"content":[]`, `"content":[{"type":"text","text":"`+value+`"}]`, 1), bStop(0), mDelta("end_turn"), mStop},
		"id":                        {strings.Replace(mStart, "msg_01", "msg_"+value, 1), mDelta("end_turn"), mStop},
		"ping":                      {mStart, `{"type":"ping","note":"` + value + `"}`, mDelta("end_turn"), mStop},
		"error":                     {mStart, `{"type":"error","error":{"type":"api_error","message":"` + value + `"}}`},
		"an unknown event":          {mStart, `{"type":"novel","note":"` + value + `"}`, mDelta("end_turn"), mStop},
	} {
		r.up.tells(events...)
		_, got := r.post(t, "/v1/messages", askMessage)
		if strings.Contains(got, value) || strings.Contains(got, value[:11]) && strings.Contains(got, value[11:]) {
			t.Errorf("%s: the secret is in %s", what, got)
		}
		if what != "an unknown event" && what != "an unknown block" {
			message(t, got)
		}
	}
	// The lines of an event besides its data.
	r.up.answer = func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, written(mStart)+"event: ping\nid: "+value+"\ndata: "+mPing+"\n\n"+written(mStop))
	}
	if _, got := r.post(t, "/v1/messages", askMessage); strings.Contains(got, value) {
		t.Error("the id of an event holds the secret")
	}
}

// No string of a request leaves with a secret.
func TestNoMessageRequestLeaks(t *testing.T) {
	value := random(69, 24)
	sig := strings.Repeat("Eq9+c/", 60)
	for what, body := range map[string]string{
		"prompt":         `{"messages":[{"role":"user","content":"use ` + value + `"}]}`,
		"block":          `{"messages":[{"role":"user","content":[{"type":"text","text":"` + value + `"}]}]}`,
		"system":         `{"system":"` + value + `","messages":[]}`,
		"system blocks":  `{"system":[{"type":"text","text":"` + value + `","cache_control":{"type":"ephemeral"}}],"messages":[]}`,
		"tool result":    `{"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"` + value + `"}]}]}`,
		"result blocks":  `{"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":[{"type":"text","text":"` + value + `"}]}]}]}`,
		"input":          `{"messages":[{"role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"f","input":{"a":[{"b":"` + value + `"}]}}]}]}`,
		"input's key":    `{"messages":[{"role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"f","input":{"` + value + `":1}}]}]}`,
		"thinking":       `{"messages":[{"role":"user","content":"x"},{"role":"assistant","content":[{"type":"thinking","thinking":"` + value + `","signature":"` + sig + `"},{"type":"text","text":"hm"}]},{"role":"user","content":"and"}]}`,
		"new thinking":   `{"messages":[{"role":"user","content":"x"},{"role":"assistant","content":[{"type":"thinking","thinking":"` + value + `","signature":"` + sig + `"},{"type":"tool_use","id":"toolu_1","name":"f","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"y"}]}]}`,
		"document":       `{"messages":[{"role":"user","content":[{"type":"document","source":{"type":"text","media_type":"text/plain","data":"` + value + `"}}]}]}`,
		"image's URL":    `{"messages":[{"role":"user","content":[{"type":"image","source":{"type":"url","url":"https://x.example/` + value + `"}}]}]}`,
		"no base64":      `{"messages":[{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"` + sig + ` ` + value + `"}}]}]}`,
		"description":    `{"tools":[{"name":"f","description":"` + value + `","input_schema":{"type":"object"}}],"messages":[]}`,
		"schema":         `{"tools":[{"name":"f","input_schema":{"type":"object","properties":{"a":{"type":"string","default":"` + value + `"}}}}],"messages":[]}`,
		"user_id":        `{"metadata":{"user_id":"` + value + `"},"messages":[]}`,
		"stop sequences": `{"stop_sequences":["` + value + `"],"messages":[]}`,
		"model":          `{"model":"` + value + `","messages":[]}`,
		"cache_control":  `{"system":[{"type":"text","text":"x","cache_control":{"type":"ephemeral","ttl":"` + value + `"}}],"messages":[]}`,
		"signature":      `{"messages":[{"role":"assistant","content":[{"type":"thinking","thinking":"x","signature":"` + value + `"}]}]}`,
		"tool_use_id":    `{"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"` + value + `","content":"x"}]}]}`,
		"mcp server":     `{"mcp_servers":[{"type":"url","url":"https://x.example","name":"n","authorization_token":"` + value + `"}],"messages":[]}`,
	} {
		for _, path := range []string{"/v1/messages", "/v1/messages/count_tokens"} {
			r := newRig(t, nil, value)
			r.up.says(http.StatusOK, `{"input_tokens":12}`)
			status, got := r.post(t, path, body)
			if strings.Contains(r.up.received(), value) || strings.Contains(got, value) || strings.Contains(r.log.String(), value) || strings.Contains(r.kept(t), value) {
				t.Errorf("%s: the secret got out", what)
			}
			switch status {
			case http.StatusOK:
				if got != `{"input_tokens":12}` {
					t.Errorf("%s: the count is %s", what, got)
				}
			case http.StatusBadRequest:
				if what != "new thinking" || !strings.HasPrefix(got, `{"type":"error","error":{"type":"invalid_request_error","message":"margay: `) {
					t.Errorf("%s: %s", what, got)
				}
			case http.StatusForbidden:
				if !strings.HasPrefix(got, `{"type":"error","error":{"type":"permission_error","message":"margay: `) || !strings.Contains(got, "margay explain") {
					t.Errorf("%s: %s", what, got)
				}
			default:
				t.Errorf("%s: status %d", what, status)
			}
			if what == "thinking" && (status != http.StatusOK || !strings.Contains(r.up.received(), `"content":[{"type":"text","text":"hm"}]`)) {
				t.Errorf("earlier thinking was not left out: %d", status)
			}
			if what == "new thinking" && (status != http.StatusBadRequest || !strings.Contains(got, "it is signed")) {
				t.Errorf("thinking of the turn that goes on: %d %s", status, got)
			}
		}
	}
}

// What an agent sends and gets is passed on byte for byte, with its headers.
func TestOrdinaryMessagesPass(t *testing.T) {
	r := newRig(t, nil, random(70, 24))
	body, err := os.ReadFile("../wire/anthropic/testdata/request-agent.json")
	if err != nil {
		t.Fatal(err)
	}
	header := map[string]string{
		"Content-Type": "application/json", "X-Api-Key": "sk-ant-api03-" + random(71, 80), "Anthropic-Version": "2023-06-01",
		"Anthropic-Beta": "claude-code-20250219,interleaved-thinking-2025-05-14,fine-grained-tool-streaming-2025-05-14", "Anthropic-Dangerous-Direct-Browser-Access": "true",
		"User-Agent": "claude-cli/2.1.177 (external, cli)", "X-App": "cli", "X-Stainless-Lang": "js", "X-Stainless-Package-Version": "0.90.0", "X-Stainless-Retry-Count": "0",
		"X-Stainless-Os": "Linux", "X-Stainless-Runtime-Version": "v24.3.0", "X-Stainless-Timeout": "600", "X-Claude-Code-Session-Id": "0b6f2c1e-9a43-4e0a-8c55-5d1f0a2b3c4d",
		"Accept": "application/json",
	}
	flat := []string{}
	for k, v := range header {
		flat = append(flat, k, v)
	}
	user := `{\"device_id\":\"` + strings.Repeat("3f9c1a7e", 8) + `\",\"account_uuid\":\"7c9e6679-7425-40de-944b-e07fc1f90ae7\",\"session_id\":\"0b6f2c1e-9a43-4e0a-8c55-5d1f0a2b3c4d\"}`
	r.up.tells(told("end_turn", textBlock(0, "ok"))...)
	if status, _ := r.do(t, http.MethodPost, "/v1/messages", `{"metadata":{"user_id":"`+user+`"},"messages":[]}`, flat...); status != http.StatusOK || !strings.Contains(r.up.received(), user) {
		t.Errorf("status %d: a user_id that is JSON changed:\n%s", status, r.up.received())
	}
	files, err := filepath.Glob("../wire/anthropic/testdata/*.sse")
	if err != nil || len(files) == 0 {
		t.Fatal("no fixtures")
	}
	for _, f := range files {
		raw, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		r.up.answer = func(w http.ResponseWriter, req *http.Request) {
			for k, v := range header {
				if req.Header.Get(k) != v {
					t.Errorf("the header %s arrived as %q", k, req.Header.Get(k))
				}
			}
			w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
			w.Header().Set("Request-Id", "req_011CSHoEeqs5C35K2UUqR7Fy")
			w.Header().Set("Anthropic-Organization-Id", "7c9e6679-7425-40de-944b-e07fc1f90ae7")
			_, _ = w.Write(raw)
		}
		r.up.got.Reset()
		status, got := r.do(t, http.MethodPost, "/v1/messages?beta=true", string(body), flat...)
		// Text that was not decided when the upstream failed is not told.
		if status != http.StatusOK || got != string(raw) && !strings.HasSuffix(f, "error.sse") {
			t.Errorf("%s: status %d, the answer changed:\n%s", f, status, got)
		}
		if !strings.HasPrefix(r.up.received(), string(body)) {
			t.Errorf("%s: the request changed", f)
		}
	}
	if kept := r.kept(t); strings.Contains(kept, `"action":"pseudonym"`) || strings.Contains(kept, `"action":"redact"`) {
		t.Errorf("something was found: %s", kept)
	}
	for _, f := range []string{"response-tool-use", "response-count", "response-error"} {
		raw, err := os.ReadFile("../wire/anthropic/testdata/" + f + ".json")
		if err != nil {
			t.Fatal(err)
		}
		r.up.says(http.StatusOK, string(raw))
		if _, got := r.post(t, "/v1/messages", string(body)); got != string(raw) {
			t.Errorf("%s changed: %s", f, got)
		}
	}
}

// Models are listed in the shape of the API that the client speaks.
func TestModelsOfMessages(t *testing.T) {
	value := random(72, 24)
	r := newRig(t, nil, value)
	raw, err := os.ReadFile("../wire/anthropic/testdata/response-models.json")
	if err != nil {
		t.Fatal(err)
	}
	r.up.says(http.StatusOK, string(raw))
	if status, got := r.do(t, http.MethodGet, "/v1/models?limit=20", "", "Anthropic-Version", "2023-06-01"); status != http.StatusOK || got != string(raw) {
		t.Errorf("%d: %s", status, got)
	}
	for _, q := range [][2]string{{http.MethodGet, "/v1/models/" + value}, {http.MethodPost, "/v1/messages/batches"}, {http.MethodGet, "/v1/files"}, {http.MethodGet, "/nowhere"}} {
		status, got := r.do(t, q[0], q[1], "", "Anthropic-Version", "2023-06-01")
		if status < 400 || !strings.HasPrefix(got, `{"type":"error","error":{"type":"`) || strings.Contains(got, value) {
			t.Errorf("%s: %d %s", q[1], status, got)
		}
	}
	for body, want := range map[string]string{`{"a":1,"a":2}`: "[duplicate-key]", `[]`: "[syntax]"} {
		if status, got := r.post(t, "/v1/messages", body); status != http.StatusBadRequest || !strings.Contains(got, `"invalid_request_error"`) || !strings.Contains(got, want) {
			t.Errorf("%s: %d %s", body, status, got)
		}
	}
}

// A stream that breaks off, or goes against the API, ends with an error that
// clients know.
func TestMessageStreamFails(t *testing.T) {
	value := random(73, 24)
	r := newRig(t, nil, value)
	begun := []string{mStart, bStart(0, `{"type":"text","text":""}`), bDelta(0, "text_delta", "text", "so far "), bDelta(0, "text_delta", "text", value[:10])}
	for what, events := range map[string][]string{
		"upstream-failed": begun,
		"strict-json":     append(begun[:4:4], `{"type":"content_block_delta","index":3,"delta":{"type":"text_delta","text":"x"}}`),
		"Overloaded":      append(begun[:4:4], `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`),
	} {
		r.up.tells(events...)
		_, got := r.post(t, "/v1/messages", askMessage)
		m := message(t, got)
		if !strings.Contains(m.Error, what) || m.Stop != "" || m.Blocks[0].Text != "so far " {
			t.Errorf("%s: %+v", what, m)
		}
	}
}

// The end of one conversation's requests is known by its beginning, however a
// client marks it for the cache.
func TestMessageTrajectory(t *testing.T) {
	r := newRig(t, nil)
	trajectory := func(body string) string {
		r.up.tells(told("end_turn", textBlock(0, "ok"))...)
		req, err := http.NewRequest(http.MethodPost, r.url+"/v1/messages", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
		return resp.Header.Get("Margay-Trajectory")
	}
	first := trajectory(`{"system":[{"type":"text","text":"x-anthropic-billing-header: cch=1"},{"type":"text","text":"be kind"}],"messages":[{"role":"user","content":[{"type":"text","text":"hello","cache_control":{"type":"ephemeral"}}]}]}`)
	again := trajectory(`{"system":[{"type":"text","text":"x-anthropic-billing-header: cch=2"},{"type":"text","text":"be kind"}],"messages":[{"role":"user","content":"hello"},{"role":"assistant","content":"ok"},{"role":"user","content":"more"}]}`)
	other := trajectory(`{"system":"be kind","messages":[{"role":"user","content":"good day"}]}`)
	if first == "" || first != again || first == other {
		t.Errorf("trajectories %s, %s, %s", first, again, other)
	}
}
