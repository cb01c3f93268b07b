package gateway

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"
)

// item is an item of a scripted response's output.
type item struct {
	kind string // of the item
	text string // its only one
	name string // of a call
}

const (
	hello     = `{"model":"m","input":"hello"}`
	helloSSE  = `{"model":"m","stream":true,"input":"hello"}`
	responses = "/v1/responses"
)

// json is the item with a text, which may be empty where it has only begun.
func (it item) json(i int, text, status string) string {
	switch it.kind {
	case "message":
		content := ""
		if status == "completed" {
			content = it.part(text)
		}
		return fmt.Sprintf(`{"id":"msg_%d","type":"message","status":%q,"content":[%s],"role":"assistant"}`, i, status, content)
	case "refusal":
		content := ""
		if status == "completed" {
			content = it.part(text)
		}
		return fmt.Sprintf(`{"id":"msg_%d","type":"message","status":%q,"content":[%s],"role":"assistant"}`, i, status, content)
	case "reasoning":
		summary := ""
		if status == "completed" {
			summary = it.part(text)
		}
		return fmt.Sprintf(`{"id":"rs_%d","type":"reasoning","summary":[%s],"encrypted_content":"%s"}`, i, summary, strings.Repeat("gAAAA-Bk_", 12))
	case "open reasoning":
		content := ""
		if status == "completed" {
			content = it.part(text)
		}
		return fmt.Sprintf(`{"id":"rs_%d","type":"reasoning","summary":[],"content":[%s]}`, i, content)
	case "function_call":
		return fmt.Sprintf(`{"id":"fc_%d","type":"function_call","status":%q,"arguments":%s,"call_id":"call_%d","name":%q}`, i, status, quote(text), i, it.name)
	case "custom_tool_call":
		return fmt.Sprintf(`{"id":"ctc_%d","type":"custom_tool_call","status":%q,"call_id":"call_%d","input":%s,"name":%q}`, i, status, i, quote(text), it.name)
	case "mcp_call":
		return fmt.Sprintf(`{"id":"mcp_%d","type":"mcp_call","status":%q,"approval_request_id":null,"arguments":%s,"error":null,"name":%q,"output":null,"server_label":"files"}`, i, status, quote(text), it.name)
	case "code_interpreter_call":
		return fmt.Sprintf(`{"id":"ci_%d","type":"code_interpreter_call","status":%q,"code":%s,"container_id":"cntr_1","outputs":null}`, i, status, quote(text))
	case "shell_call":
		command := ""
		if status == "completed" {
			command = quote(text)
		}
		return fmt.Sprintf(`{"id":"sh_%d","type":"shell_call","status":%q,"call_id":"call_%d","action":{"commands":[%s],"timeout_ms":null}}`, i, status, i, command)
	}
	panic(it.kind)
}

func (it item) part(text string) string {
	switch it.kind {
	case "refusal":
		return `{"type":"refusal","refusal":` + quote(text) + `}`
	case "reasoning":
		return `{"type":"summary_text","text":` + quote(text) + `}`
	case "open reasoning":
		return `{"type":"reasoning_text","text":` + quote(text) + `}`
	}
	return `{"type":"output_text","annotations":[],"logprobs":[],"text":` + quote(text) + `}`
}

// response is the response object.
func response(status string, output ...string) string {
	return fmt.Sprintf(`{"id":"resp_1","object":"response","created_at":1,"status":%q,"background":false,"error":null,"incomplete_details":null,"instructions":"Be brief.",`+
		`"max_output_tokens":null,"model":"m","output":[%s],"parallel_tool_calls":true,"previous_response_id":null,"reasoning":{"effort":null,"summary":null},`+
		`"store":true,"temperature":1.0,"text":{"format":{"type":"text"}},"tool_choice":"auto","tools":[],"top_logprobs":0,"top_p":1.0,"truncation":"disabled","usage":null,"user":null,"metadata":{}}`,
		status, strings.Join(output, ","))
}

// wholeOf is the response that has the items.
func wholeOf(items ...item) string {
	var output []string
	for i, it := range items {
		output = append(output, it.json(i, it.text, "completed"))
	}
	return response("completed", output...)
}

// eventsOfItems is the stream of them, each text cut in pieces.
func eventsOfItems(cut func(string) []string, items ...item) []string {
	var out []string
	say := func(typ, rest string) {
		out = append(out, fmt.Sprintf(`{"type":%q,"sequence_number":%d,%s}`, typ, len(out), rest))
	}
	say("response.created", `"response":`+response("in_progress"))
	say("response.in_progress", `"response":`+response("in_progress"))
	for i, it := range items {
		at := fmt.Sprintf(`"output_index":%d`, i)
		say("response.output_item.added", at+`,"item":`+it.json(i, "", "in_progress"))
		typ, index, member, pad := "", "", "", ""
		switch it.kind {
		case "message":
			typ, index, member, pad = "response.output_text", `,"content_index":0`, "text", `,"logprobs":[]`
		case "refusal":
			typ, index, member = "response.refusal", `,"content_index":0`, "refusal"
		case "reasoning":
			typ, index, member = "response.reasoning_summary_text", `,"summary_index":0`, "text"
		case "open reasoning":
			typ, index, member = "response.reasoning_text", `,"content_index":0`, "text"
		case "function_call":
			typ, member = "response.function_call_arguments", "arguments"
		case "custom_tool_call":
			typ, member = "response.custom_tool_call_input", "input"
		case "mcp_call":
			typ, member = "response.mcp_call_arguments", "arguments"
		case "code_interpreter_call":
			typ, member = "response.code_interpreter_call_code", "code"
		case "shell_call":
			typ, index, member = "response.shell_call_command", `,"command_index":0`, "command"
		}
		id := fmt.Sprintf(`"item_id":"it_%d",%s%s`, i, at, index)
		part := map[string]string{"message": "response.content_part", "refusal": "response.content_part", "open reasoning": "response.content_part", "reasoning": "response.reasoning_summary_part"}[it.kind]
		if part != "" {
			say(part+".added", id+`,"part":`+it.part(""))
		}
		for n, piece := range cut(it.text) {
			say(typ+".delta", fmt.Sprintf(`%s,"delta":%s%s,"obfuscation":"%s"`, id, quote(piece), pad, "Xy7bPq2mK"[:n%9]))
		}
		say(typ+".done", fmt.Sprintf(`%s,%q:%s%s`, id, member, quote(it.text), pad))
		if part != "" {
			say(part+".done", id+`,"part":`+it.part(it.text))
		}
		say("response.output_item.done", at+`,"item":`+it.json(i, it.text, "completed"))
	}
	say("response.completed", `"response":`+wholeOf(items...))
	return out
}

// words cuts a text as a model writes it.
func words(s string) []string { return strings.SplitAfter(s, " ") }

// at cuts a text at a byte.
func at(n int) func(string) []string {
	return func(s string) []string { return []string{s[:min(n, len(s))], s[min(n, len(s)):]} }
}

// typed writes events as the API does, with a line for the type.
func typed(w http.ResponseWriter, events ...string) {
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	_, _ = io.WriteString(w, framed(events))
}

func framed(events []string) string {
	var b strings.Builder
	for _, e := range events {
		var t struct{ Type string }
		_ = json.Unmarshal([]byte(e), &t)
		fmt.Fprintf(&b, "event: %s\ndata: %s\n\n", t.Type, e)
	}
	return b.String()
}

// heard is what a client makes of a stream.
type heard struct {
	types  []string
	output []any             // of the response that ended it
	texts  map[string]string // what deltas added up to, by item
	status string
	err    string
}

// hear reads a stream as a client does. All that it is told several times must
// be the same each time, and its numbers must have no gap.
func hear(t testing.TB, text string) heard {
	t.Helper()
	h := heard{texts: map[string]string{}}
	items := map[int]any{}
	n := 0
	for _, block := range strings.Split(text, "\n\n") {
		typ, rest, _ := strings.Cut(block, "\n")
		data, ok := strings.CutPrefix(rest, "data: ")
		if !ok {
			continue
		}
		var ev map[string]any
		if err := json.Unmarshal([]byte(data), &ev); err != nil {
			t.Fatalf("event is no JSON: %v", err)
		}
		if typ != "event: "+ev["type"].(string) {
			t.Fatalf("%s has the type %v", typ, ev["type"])
		}
		if int(ev["sequence_number"].(float64)) != n {
			t.Fatalf("%s has the number %v, want %d", typ, ev["sequence_number"], n)
		}
		n++
		kind := ev["type"].(string)
		h.types = append(h.types, kind)
		index, _ := ev["output_index"].(float64)
		same := func(what string, got any) {
			t.Helper()
			if key := fmt.Sprint(index); h.texts[key] != got {
				t.Fatalf("%s of %s is not what its deltas are (%d bytes, %d)", what, kind, len(fmt.Sprint(got)), len(h.texts[key]))
			}
		}
		switch {
		case strings.HasSuffix(kind, ".delta"):
			h.texts[fmt.Sprint(index)] += ev["delta"].(string)
		case kind == "response.output_item.done":
			items[int(index)] = ev["item"]
			for _, s := range mainTexts(ev["item"]) {
				same("item", s)
			}
		case strings.HasSuffix(kind, "_part.done"):
			for _, f := range []string{"text", "refusal"} {
				if s, ok := ev["part"].(map[string]any)[f]; ok {
					same("part", s)
				}
			}
		case strings.HasSuffix(kind, ".done"):
			for _, f := range []string{"text", "refusal", "arguments", "input", "code", "command"} {
				if s, ok := ev[f]; ok {
					same(f, s)
				}
			}
		case kind == "error":
			h.err = ev["code"].(string)
		case kind == "response.completed" || kind == "response.incomplete" || kind == "response.failed":
			r := ev["response"].(map[string]any)
			h.status, h.output = r["status"].(string), r["output"].([]any)
			for i, it := range h.output {
				if kind == "response.completed" && !reflect.DeepEqual(items[i], it) {
					t.Fatalf("item %d of the response is not the one that was streamed", i)
				}
			}
		}
	}
	return h
}

// mainTexts are those texts of an item that are streamed.
func mainTexts(v any) []string {
	it := v.(map[string]any)
	var out []string
	for _, f := range []string{"content", "summary"} {
		parts, _ := it[f].([]any)
		for _, p := range parts {
			for _, f := range []string{"text", "refusal"} {
				if s, ok := p.(map[string]any)[f].(string); ok {
					out = append(out, s)
				}
			}
		}
	}
	for _, f := range []string{"arguments", "input", "code"} {
		if s, ok := it[f].(string); ok {
			out = append(out, s)
		}
	}
	if a, ok := it["action"].(map[string]any); ok {
		out = append(out, a["commands"].([]any)[0].(string))
	}
	return out
}

// kinds are the items whose text is streamed.
var kinds = []string{"message", "refusal", "reasoning", "open reasoning", "function_call", "custom_tool_call", "mcp_call", "code_interpreter_call", "shell_call"}

// around puts a value into a text of a kind.
func (it item) around(value string) item {
	switch it.kind {
	case "function_call", "mcp_call":
		it.name, it.text = "run", `{"cmd":"echo `+value+`","n":[1]}`
	case "custom_tool_call", "shell_call", "code_interpreter_call":
		it.name, it.text = "run", "echo "+value+"; true"
	default:
		it.text = "it is " + value + ", yes"
	}
	return it
}

func TestCleanResponsesAreIdentical(t *testing.T) {
	r := newRig(t, nil, random(101, 20))
	var items []item
	for _, k := range kinds {
		items = append(items, item{kind: k}.around("naïve café ☕ — \"quoted\" <tag> https://example.org/a?b=c and so on"))
	}
	for name, events := range map[string][]string{
		"words": eventsOfItems(words, items...), "bytes": eventsOfItems(func(s string) []string { return strings.Split(s, "") }, items...),
	} {
		r.up.answer = func(w http.ResponseWriter, _ *http.Request) { typed(w, events...) }
		if _, got := r.post(t, responses, helloSSE); got != framed(events) {
			t.Errorf("%s: the stream changed", name)
		}
	}
	r.up.answer = func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, wholeOf(items...))
	}
	if _, got := r.post(t, responses, hello); got != wholeOf(items...) {
		t.Error("the whole response changed")
	}
}

// A secret in any text of an item, cut anywhere, stays here; everything else
// comes through, in every copy, and as in a whole answer.
func TestResponsesSecretsNeverReachTheClient(t *testing.T) {
	registered := random(102, 24)
	unknown := "gh" + "p_" + random(103, 36)
	r := newRig(t, nil, registered)
	for _, value := range []string{registered, unknown} {
		for _, k := range kinds {
			it := item{kind: k}.around(value)
			r.up.answer = func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				_, _ = io.WriteString(w, wholeOf(it, item{kind: "message", text: "Done."}))
			}
			_, got := r.post(t, responses, hello)
			var buffered struct{ Output []any }
			if err := json.Unmarshal([]byte(got), &buffered); err != nil {
				t.Fatal(err)
			}
			if n := longest(got, value); n > 3 {
				t.Fatalf("%s whole: %d characters in a row came out", k, n)
			}
			from := strings.Index(it.text, value)
			for cut := from; cut <= from+len(value); cut++ {
				r.up.answer = func(w http.ResponseWriter, _ *http.Request) {
					typed(w, eventsOfItems(at(cut), it, item{kind: "message", text: "Done."})...)
				}
				_, got := r.post(t, responses, helloSSE)
				if n := longest(got, value); n > 3 {
					t.Fatalf("%s cut at %d: %d characters in a row came out", k, cut, n)
				}
				h := hear(t, got)
				if want := it.text[:from] + "[REDACTED:"; h.err != "" || !strings.HasPrefix(h.texts["0"], want) || !strings.HasSuffix(h.texts["0"], "]"+it.text[from+len(value):]) || h.texts["1"] != "Done." {
					t.Fatalf("%s cut at %d: the stream is wrong: error %q, %q", k, cut, h.err, h.texts["0"])
				}
				if !reflect.DeepEqual(h.output, buffered.Output) {
					t.Fatalf("%s cut at %d: the stream ends with another output than the whole answer has", k, cut)
				}
			}
		}
	}
}

// What Codex tells about its session is no credential, wherever it stands; a
// secret beside it is one.
func TestSessionsOfCodex(t *testing.T) {
	const id = "0199f0c2-7c1d-7d42-9a61-2f6c8d1b7e11"
	key := "sk_live_" + random(77, 32)
	for _, leak := range []string{"", key} {
		r := newRig(t, nil, key)
		r.up.answer = func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"id":"resp_1","object":"response","status":"completed","output":[]}`)
		}
		tags := `{"session_id":"` + id + `","note":"` + leak + `"}`
		status, body := r.post(t, "/v1/responses", `{"model":"m","input":"hi","prompt_cache_key":"`+id+`","client_metadata":{"x-codex-turn-metadata":`+quote(tags)+`}}`,
			"Session_id", id, "X-Codex-Turn-Metadata", tags)
		if leak == "" && status != http.StatusOK {
			t.Errorf("status %d: %s", status, body)
		}
		if strings.Contains(r.up.received(), key) {
			t.Error("the secret beside the session left")
		}
	}
}
