package gateway

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/mediator"
	"github.com/margaydev/margay/secret"
)

// answers makes the rig's upstream answer with a whole body.
func (r *rig) answers(body string) {
	r.up.answer = func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, body)
	}
}

// streams makes it answer with events.
func (r *rig) streams(events ...string) {
	r.up.answer = func(w http.ResponseWriter, _ *http.Request) { typed(w, events...) }
}

// unnamed is a value as text, without the ids of decisions.
func unnamed(v any) string { return explains.ReplaceAllString(fmt.Sprint(v), "") }

var explains = regexp.MustCompile(`margay explain [0-9A-Z]{26}`)

// outputOf is the output of a whole response.
func outputOf(t testing.TB, body string) []any {
	t.Helper()
	var got struct{ Output []any }
	if err := json.Unmarshal([]byte(body), &got); err != nil {
		t.Fatal(err)
	}
	return got.Output
}

// pseudonymInResponses makes a rig in whose conversation resp_1 there is a
// secret, and returns what stands for it.
func pseudonymInResponses(t *testing.T, seed uint64) (r *rig, name, stream, whole string) {
	t.Helper()
	value := random(seed, 24)
	r = newRig(t, nil, value)
	r.streams(eventsOfItems(words, item{kind: "message", text: "ok"})...)
	r.post(t, responses, `{"model":"m","stream":true,"input":"use `+value+`"}`)
	received := r.up.received()
	i := strings.Index(received, "margay-api-key-")
	if i < 0 {
		t.Fatal("no pseudonym")
	}
	return r, received[i : i+len("margay-api-key-")+14],
		`{"model":"m","stream":true,"previous_response_id":"resp_1","input":"go"}`, `{"model":"m","previous_response_id":"resp_1","input":"go"}`
}

// onlyRefused reports whether a pseudonym stands in refusals alone.
func onlyRefused(s, name string) bool {
	return strings.Count(s, name) == strings.Count(s, "was not made")
}

// A call that holds a pseudonym becomes a message that says so. What is beside
// it stays, the numbers have no gap, and a whole answer is the same.
func TestRefusedCallsInResponses(t *testing.T) {
	r, name, stream, whole := pseudonymInResponses(t, 110)
	for _, k := range []string{"function_call", "custom_tool_call", "shell_call"} {
		items := []item{
			{kind: "reasoning", text: "I shall call a tool."},
			{kind: "message", text: "Calling."},
			item{kind: k}.around(name),
			{kind: "function_call", name: "look", text: `{}`},
			item{kind: k}.around("x " + name),
			{kind: "message", text: "Done."},
		}
		r.answers(wholeOf(items...))
		_, got := r.post(t, responses, whole)
		if !onlyRefused(got, name) || strings.Count(got, "was not made") != 2 {
			t.Fatalf("%s: the whole answer has the call, or no refusal", k)
		}
		want := outputOf(t, got)
		for cut := range 40 {
			r.streams(eventsOfItems(at(cut), items...)...)
			_, got := r.post(t, responses, stream)
			h := hear(t, got)
			if !onlyRefused(got, name) || h.err != "" || h.status != "completed" {
				t.Fatalf("%s cut at %d: error %q, status %q, or the call is left", k, cut, h.err, h.status)
			}
			if !strings.HasPrefix(h.texts["2"], "[margay: the call of ") || h.texts["3"] != "{}" || h.texts["5"] != "Done." {
				t.Fatalf("%s cut at %d: the stream says %v", k, cut, h.texts)
			}
			if !reflect.DeepEqual(h.output, want) && unnamed(h.output) != unnamed(want) {
				t.Fatalf("%s cut at %d: the stream ends with another output than the whole answer has", k, cut)
			}
		}
		if it := want[2].(map[string]any); it["type"] != "message" || !strings.HasPrefix(it["id"].(string), "msg_") || strings.Contains(it["id"].(string), "margay") {
			t.Errorf("%s: in the call's place is %v", k, it)
		}
	}
}

// A call that a response has only at its end, or in one event alone.
func TestRefusedCallsWithoutDeltas(t *testing.T) {
	r, name, stream, _ := pseudonymInResponses(t, 111)
	call := item{kind: "function_call"}.around(name)
	all := eventsOfItems(words, call)
	for what, events := range map[string][]string{
		"completed alone": {all[0], `{"type":"response.completed","sequence_number":1,"response":` + wholeOf(call) + `}`},
		"items alone": {
			all[0], `{"type":"response.output_item.added","sequence_number":1,"output_index":0,"item":` + call.json(0, "", "in_progress") + `}`,
			`{"type":"response.output_item.done","sequence_number":2,"output_index":0,"item":` + call.json(0, call.text, "completed") + `}`,
			`{"type":"response.completed","sequence_number":3,"response":` + wholeOf(call) + `}`,
		},
	} {
		r.streams(events...)
		_, got := r.post(t, responses, stream)
		h := hear(t, got)
		if !onlyRefused(got, name) || h.err != "" || len(h.output) != 1 || h.output[0].(map[string]any)["type"] != "message" {
			t.Errorf("%s: the call is left, or the stream is wrong: %q %v", what, h.err, h.types)
		}
	}
}

// What a stream may not go on with ends it as a content filter does.
func TestResponsesHalt(t *testing.T) {
	value := random(112, 24)
	r := newRig(t, func(mc *mediator.Config, _ *Config) {
		mc.Policy.Generate = map[secret.Kind]flow.Action{secret.KindAPIKey: flow.ActBlock}
	}, value)
	r.streams(eventsOfItems(words, item{kind: "message", text: "First of all."}, item{kind: "message", text: "The key is " + value + ", he said."})...)
	_, got := r.post(t, responses, helloSSE)
	h := hear(t, got)
	if longest(got, value) > 3 || h.status != "incomplete" || !strings.Contains(got, `"incomplete_details":{"reason":"content_filter"}`) {
		t.Fatalf("status %q, %v", h.status, h.types)
	}
	if len(h.output) != 2 || mainTexts(h.output[0])[0] != "First of all." || !strings.HasPrefix(mainTexts(h.output[1])[0], "The key is ") {
		t.Errorf("the output so far is %v", h.output)
	}
}

// An upstream that fails, before or in mid-stream.
func TestResponsesErrors(t *testing.T) {
	value := random(113, 24)
	r := newRig(t, nil, value)
	all := eventsOfItems(words, item{kind: "message", text: "so far so good, " + value[:12]})
	r.streams(all[:len(all)-4]...)
	_, got := r.post(t, responses, helloSSE)
	if h := hear(t, got); h.err != "upstream-failed" || strings.Contains(got, value[:4]) {
		t.Errorf("broken stream: %q", h.err)
	}
	r.streams(all[0], `{"type":"error","sequence_number":1,"code":"server_error","message":"overloaded, `+value+`","param":null}`)
	_, got = r.post(t, responses, helloSSE)
	if h := hear(t, got); h.err != "server_error" || strings.Contains(got, value[:4]) || !strings.Contains(got, "overloaded") {
		t.Errorf("error event: %q in %s", h.err, got)
	}
	failed := strings.Replace(response("failed"), `"error":null`, `"error":{"code":"server_error","message":"no `+value+`"}`, 1)
	r.streams(all[0], `{"type":"response.failed","sequence_number":1,"response":`+failed+`}`)
	_, got = r.post(t, responses, helloSSE)
	if h := hear(t, got); h.status != "failed" || strings.Contains(got, value[:4]) {
		t.Errorf("failed response: %q", h.status)
	}
	r.up.answer = func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusTooManyRequests)
		_, _ = io.WriteString(w, `{"error":{"message":"slow down","type":"requests","param":null,"code":"rate_limit_exceeded"}}`)
	}
	if status, got := r.post(t, responses, helloSSE); status != http.StatusTooManyRequests || !strings.Contains(got, "slow down") {
		t.Errorf("status %d: %s", status, got)
	}
}

// What a conversation taught is known in what goes on with it by name, and in
// nothing else.
func TestResponsesPrevious(t *testing.T) {
	value := random(114, 32) // alone it is nothing that a rule knows
	for how, c := range map[string][2]string{
		"response":     {`{"model":"m",`, `{"model":"m","previous_response_id":"resp_1",`},
		"conversation": {`{"model":"m","conversation":"conv_1",`, `{"model":"m","conversation":{"id":"conv_1"},`},
	} {
		for _, stream := range []bool{false, true} {
			r := newRig(t, nil)
			if r.answers(wholeOf(item{kind: "message", text: "ok"})); stream {
				r.streams(eventsOfItems(words, item{kind: "message", text: "ok"})...)
			}
			one := trajectoryOf(t, r, c[0]+`"input":"export API_TOKEN=`+value+`"}`)
			two := trajectoryOf(t, r, c[1]+`"input":"again: `+value+`"}`)
			if got := r.up.received(); one != two || strings.Contains(got, value) || strings.Count(got, "margay-") != 2 {
				t.Errorf("%s, streaming %v: what was learnt is not known, or is another trajectory's", how, stream)
			}
			three := trajectoryOf(t, r, strings.NewReplacer("resp_1", "resp_9", "conv_1", "conv_9").Replace(c[1])+`"input":"again: `+value+`"}`)
			if three == one || !strings.Contains(r.up.received(), value) {
				t.Errorf("%s: another conversation is the same trajectory", how)
			}
		}
	}
}

func trajectoryOf(t *testing.T, r *rig, body string) string {
	t.Helper()
	req, err := http.NewRequest(http.MethodPost, r.url+responses, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body)
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("status %d", resp.StatusCode)
	}
	return resp.Header.Get("Margay-Trajectory")
}

// What a server keeps is mediated when it is fetched; what belongs to a
// trajectory is still known there.
func TestStoredResponses(t *testing.T) {
	value := random(115, 24)
	r := newRig(t, nil, value)
	long := "resp_68f0a1b2c3d4819a9f0e1d2c3b4a59687766554433221100"
	text := item{kind: "message", text: "it is " + value}
	stored := strings.Replace(wholeOf(text), "resp_1", long, 1)
	for name, c := range map[string]struct {
		method, path, body, answer, want string
	}{
		"get":          {http.MethodGet, "/" + long, "", stored, strings.ReplaceAll(stored, value, "[REDACTED:api-key]")},
		"clean":        {http.MethodGet, "/" + long + "?include[]=reasoning.encrypted_content", "", wholeOf(item{kind: "message", text: "ok"}), wholeOf(item{kind: "message", text: "ok"})},
		"input items":  {http.MethodGet, "/" + long + "/input_items?limit=20", "", `{"object":"list","data":[` + text.json(0, text.text, "completed") + `],"first_id":"msg_0","last_id":"msg_0","has_more":false}`, `{"object":"list","data":[` + text.json(0, "it is [REDACTED:api-key]", "completed") + `],"first_id":"msg_0","last_id":"msg_0","has_more":false}`},
		"delete":       {http.MethodDelete, "/" + long, "", `{"id":"` + long + `","object":"response","deleted":true}`, `{"id":"` + long + `","object":"response","deleted":true}`},
		"cancel":       {http.MethodPost, "/" + long + "/cancel", "", strings.Replace(stored, "completed", "cancelled", 1), strings.Replace(strings.ReplaceAll(stored, value, "[REDACTED:api-key]"), "completed", "cancelled", 1)},
		"compact":      {http.MethodPost, "/compact", hello, `{"id":"` + long + `","object":"response.compaction","created_at":1,"output":[{"id":"cmp_1","type":"compaction","encrypted_content":"` + strings.Repeat("gAAAAAB_", 30) + `"}],"usage":{"input_tokens":1}}`, ""},
		"input tokens": {http.MethodPost, "/input_tokens", hello, `{"object":"response.input_tokens","input_tokens":11}`, `{"object":"response.input_tokens","input_tokens":11}`},
		"unfinished":   {http.MethodGet, "/" + long, "", response("in_progress", item{kind: "message"}.json(0, "it is "+value[:20], "completed")), response("in_progress")},
		"queued":       {http.MethodPost, "", `{"model":"m","background":true,"input":"hello"}`, response("queued"), response("queued")},
	} {
		r.answers(c.answer)
		header := []string{"Authorization", "Bearer caller-key"}
		if c.body != "" {
			header = append(header, "Content-Type", "application/json")
		}
		status, got := r.do(t, c.method, responses+c.path, c.body, header...)
		if want := cmpOr(c.want, c.answer); status != http.StatusOK || got != want {
			t.Errorf("%s: status %d:\n%s\nwant\n%s", name, status, got, want)
		}
	}
	if status, _ := r.do(t, http.MethodGet, responses+"/"+value, ""); status != http.StatusForbidden {
		t.Errorf("a secret as an id: status %d", status)
	}
	if status, got := r.do(t, http.MethodGet, responses, "", "Connection", "Upgrade", "Upgrade", "websocket"); status != http.StatusUpgradeRequired || !strings.Contains(got, "WebSocket") {
		t.Errorf("WebSocket: status %d: %s", status, got)
	}
	if status, _ := r.post(t, responses+"/"+long+"/something", hello); status != http.StatusNotFound {
		t.Errorf("another path: status %d", status)
	}
}

func cmpOr(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// No part of a request leaks, and what is no text passes.
func TestNoPartOfAResponsesRequestLeaks(t *testing.T) {
	value := random(116, 24)
	for name, body := range map[string]string{
		"input":          `{"input":"` + value + `"}`,
		"message":        `{"input":[{"role":"user","content":"` + value + `"}]}`,
		"part":           `{"input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"` + value + `"}]}]}`,
		"instructions":   `{"instructions":"` + value + `","input":"x"}`,
		"developer list": `{"instructions":[{"role":"developer","content":"` + value + `"}],"input":"x"}`,
		"call":           `{"input":[{"type":"function_call","call_id":"c","name":"f","arguments":"{\"k\":\"` + value + `\"}"}]}`,
		"call's name":    `{"input":[{"type":"function_call","call_id":"c","name":"` + value + `","arguments":"{}"}]}`,
		"result":         `{"input":[{"type":"function_call_output","call_id":"c","output":"` + value + `"}]}`,
		"result parts":   `{"input":[{"type":"function_call_output","call_id":"c","output":[{"type":"input_text","text":"` + value + `"}]}]}`,
		"custom result":  `{"input":[{"type":"custom_tool_call_output","call_id":"c","output":"` + value + `"}]}`,
		"shell result":   `{"input":[{"type":"shell_call_output","call_id":"c","output":[{"stdout":"` + value + `","stderr":"","outcome":{"type":"exit","exit_code":0}}]}]}`,
		"local shell":    `{"input":[{"type":"local_shell_call","call_id":"c","action":{"type":"exec","command":["echo","` + value + `"],"env":{"K":"` + value + `"}}}]}`,
		"patch":          `{"input":[{"type":"apply_patch_call","call_id":"c","operation":{"type":"create_file","path":"a","diff":"+` + value + `"}}]}`,
		"summary":        `{"input":[{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"` + value + `"}]}]}`,
		"not encrypted":  `{"input":[{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"` + value + `"}]}`,
		"tool":           `{"input":"x","tools":[{"type":"function","name":"f","description":"` + value + `","parameters":{"properties":{"k":{"description":"` + value + `"}}}}]}`,
		"mcp header":     `{"input":"x","tools":[{"type":"mcp","server_label":"s","server_url":"https://x.example/` + value + `","headers":{"X-Key":"` + value + `"},"authorization":"` + value + `"}]}`,
		"variable":       `{"input":"x","prompt":{"id":"pmpt_1","variables":{"city":"` + value + `"}}}`,
		"metadata":       `{"input":"x","metadata":{"a":"` + value + `"}}`,
		"key":            `{"input":"x","metadata":{"` + value + `":"a"}}`,
		"image URL":      `{"input":[{"role":"user","content":[{"type":"input_image","image_url":"https://x.example/?k=` + value + `"}]}]}`,
		"file's name":    `{"input":[{"role":"user","content":[{"type":"input_file","filename":"` + value + `","file_data":"data:text/plain;base64,aGVsbG8="}]}]}`,
		"reference":      `{"input":[{"type":"item_reference","id":"` + value + `"}]}`,
		"previous":       `{"input":"x","previous_response_id":"` + value + `"}`,
		"unknown item":   `{"input":[{"type":"new_thing","payload":{"deep":["` + value + `"]}}]}`,
		"escaped":        `{"input":"` + escaped(value) + `"}`,
	} {
		r := newRig(t, nil, value)
		r.answers(wholeOf(item{kind: "message", text: "ok"}))
		for _, path := range []string{"", "/compact", "/input_tokens"} {
			status, _ := r.post(t, responses+path, body)
			if got := r.up.received(); strings.Contains(got, value) || strings.Contains(got, escaped(value)) || status != http.StatusOK && status != http.StatusForbidden {
				t.Errorf("%s%s: status %d, or the secret reached the upstream", name, path, status)
			}
			if strings.Contains(r.log.String(), value) || strings.Contains(r.kept(t), value) {
				t.Errorf("%s%s: the secret is in the log or the store", name, path)
			}
		}
	}
	r := newRig(t, nil, value)
	r.answers(wholeOf(item{kind: "message", text: "ok"}))
	body := `{"model":"gpt-5","input":[{"role":"user","content":[{"type":"input_text","text":"look"},{"type":"input_image","image_url":"data:image/png;base64,` + strings.Repeat("iVBOR", 40) + `"}]},` +
		`{"type":"reasoning","id":"rs_68f0a1b2c3d4819a9f0e1d2c3b4a5968","summary":[],"encrypted_content":"` + strings.Repeat("gAAAAA-Bk_", 60) + `"},` +
		`{"type":"function_call","id":"fc_68f0a1b2c3d4819a9f0e1d2c3b4a5968","call_id":"call_AbCdEfGhIjKlMnOpQrStUvWx","name":"f","arguments":"{\"a\":1}"},{"type":"function_call_output","call_id":"call_AbCdEfGhIjKlMnOpQrStUvWx","output":"{\"b\": 2}"}],"store":false,"include":["reasoning.encrypted_content"]}`
	if status, _ := r.post(t, responses, body); status != http.StatusOK || !strings.HasPrefix(r.up.received(), body) {
		t.Errorf("a clean request changed, or status %d", status)
	}
}

// Logprobs that Margay asked for do not reach the client, and the client's own
// go out with their text alone.
func TestResponsesLogprobs(t *testing.T) {
	value := random(117, 24)
	r := newRig(t, func(_ *mediator.Config, g *Config) { g.AskLogprobs = true }, value)
	lp := func(tokens ...string) string {
		var out []string
		for _, s := range tokens {
			out = append(out, `{"token":`+quote(s)+`,"bytes":[`+strings.Trim(numbers(s), "[]")+`],"logprob":-0.5,"top_logprobs":[{"token":`+quote(s)+`,"bytes":null,"logprob":-0.5}]}`)
		}
		return `"logprobs":[` + strings.Join(out, ",") + `]`
	}
	const none = `"logprobs":[]`
	text := "so it goes"
	plain := eventsOfItems(func(string) []string { return []string{"so ", "it goes"} }, item{kind: "message", text: text})
	told := func(top string) []string {
		var out []string
		for _, e := range plain {
			switch {
			case strings.Contains(e, `"delta":"so "`):
				e = strings.Replace(e, none, lp("so", " "), 1)
			case strings.Contains(e, `"delta":"it goes"`):
				e = strings.Replace(e, none, lp("it", " goes"), 1)
			case strings.Contains(e, `"text":"so it goes"`):
				e = strings.Replace(e, none, lp("so", " ", "it", " goes"), 1)
			}
			out = append(out, strings.Replace(e, `"top_logprobs":0`, `"top_logprobs":`+top, 1))
		}
		return out
	}
	r.streams(told("20")...)
	if _, got := r.post(t, responses, helloSSE); got != framed(plain) {
		t.Errorf("what Margay asked for is in the stream, or more is gone:\n%s", got)
	}
	if !strings.Contains(r.up.received(), `"include":["message.output_text.logprobs"],"top_logprobs":20`) {
		t.Error("Margay did not ask")
	}
	r.streams(told("2")...)
	if _, got := r.post(t, responses, `{"model":"m","stream":true,"input":"hello","top_logprobs":2,"include":["message.output_text.logprobs"]}`); got != framed(told("2")) {
		t.Errorf("the client's own logprobs changed:\n%s", got)
	}
	// They go with a text that is edited, and where they say something else.
	for name, tokens := range map[string][]string{"edited": {"so ", value}, "stray": {value}} {
		text := map[string]string{"edited": "so " + value, "stray": "so it goes"}[name]
		var events []string
		for _, e := range eventsOfItems(func(s string) []string { return []string{s} }, item{kind: "message", text: text}) {
			if strings.Contains(e, quote(text)) {
				e = strings.Replace(e, none, lp(tokens...), 1)
			}
			events = append(events, e)
		}
		r.streams(events...)
		_, got := r.post(t, responses, `{"model":"m","stream":true,"input":"hello","top_logprobs":2}`)
		hear(t, got)
		whole := strings.Replace(wholeOf(item{kind: "message", text: text}), none, lp(tokens...), 1)
		r.answers(whole)
		_, other := r.post(t, responses, `{"model":"m","input":"hello","top_logprobs":2}`)
		for _, s := range []string{got, other} {
			if strings.Contains(s, value) || strings.Contains(s, strings.Trim(numbers(value), "[]")) || strings.Contains(s, `"token"`) {
				t.Errorf("%s: a secret is in logprobs", name)
			}
		}
	}
}

// The server that keeps a conversation waits for the results of calls that
// were not made: it gets them with what goes on with it.
func TestRefusedCallsAreAnswered(t *testing.T) {
	for _, streaming := range []bool{false, true} {
		r, name, _, _ := pseudonymInResponses(t, 118)
		items := []item{item{kind: "function_call"}.around(name), {kind: "function_call", name: "look", text: `{}`}, item{kind: "custom_tool_call"}.around(name), item{kind: "shell_call"}.around(name)}
		say := func(events []string, whole string) {
			if r.answers(whole); streaming {
				r.streams(events...)
			}
		}
		in := func(conversation string) ([]string, string) {
			events, whole := eventsOfItems(words, items...), wholeOf(items...)
			for i := range events {
				events[i] = strings.ReplaceAll(strings.Replace(events[i], `"store":true`, `"store":true`+conversation, 1), "resp_1", "resp_2")
			}
			return events, strings.ReplaceAll(strings.Replace(whole, `"store":true`, `"store":true`+conversation, 1), "resp_1", "resp_2")
		}
		say(in(""))
		r.post(t, responses, `{"previous_response_id":"resp_1","input":"go"}`)
		say(eventsOfItems(words, item{kind: "message", text: "ok"}), wholeOf(item{kind: "message", text: "ok"}))
		asked := func(body string) string {
			from := len(r.up.received())
			if status, got := r.post(t, responses, body); status != http.StatusOK {
				t.Fatalf("status %d: %s", status, got)
			}
			return r.up.received()[from:]
		}
		const first, second, third = `{"type":"function_call_output","call_id":"call_0","output":"[margay: the call of run was not made`, `{"type":"custom_tool_call_output","call_id":"call_2","output":"[margay`, `{"type":"shell_call_output","call_id":"call_3","output":[{"stdout":"","stderr":"[margay`
		for _, body := range []string{`{"previous_response_id":"resp_2","input":"and?"}`, `{"previous_response_id":"resp_2","input":[{"role":"user","content":"and?"}]}`, `{"input":[],"previous_response_id":"resp_2"}`, `{"previous_response_id":"resp_2"}`} {
			got := asked(body)
			var sent struct{ Input []map[string]any }
			if err := json.NewDecoder(strings.NewReader(got)).Decode(&sent); err != nil {
				t.Fatalf("the request is no JSON: %v", err)
			}
			if !strings.Contains(got, first) || !strings.Contains(got, second) || !strings.Contains(got, third) || strings.Contains(got, "call_1") {
				t.Errorf("streaming %v: the results are not there: %s", streaming, got)
			}
			if last := sent.Input[len(sent.Input)-1]; strings.Contains(body, "and?") && last["content"] != "and?" || len(sent.Input) < 3 {
				t.Errorf("the input is %v", sent.Input)
			}
		}
		if got := asked(`{"previous_response_id":"resp_1","input":"and?"}`); strings.Contains(got, "call_0") {
			t.Error("another conversation got the results")
		}
		say(func() ([]string, string) {
			events, whole := eventsOfItems(words, item{kind: "message", text: "ok"}), wholeOf(item{kind: "message", text: "ok"})
			for i := range events {
				events[i] = strings.ReplaceAll(events[i], "resp_1", "resp_2")
			}
			return events, strings.ReplaceAll(whole, "resp_1", "resp_2")
		}())
		asked(`{"input":"something else"}`)
		if got := asked(`{"previous_response_id":"resp_2","input":"and?"}`); strings.Contains(got, "call_0") {
			t.Error("an answer got the results of another one that had its name")
		}
		// A conversation gets them once, but not by a request that fails.
		say(in(`,"conversation":{"id":"conv_1"}`))
		r.post(t, responses, `{"conversation":"conv_1","previous_response_id":"resp_1","input":"go"}`)
		r.up.answer = func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTooManyRequests) }
		r.post(t, responses, `{"conversation":"conv_1","input":"and?"}`)
		say(eventsOfItems(words, item{kind: "message", text: "ok"}), wholeOf(item{kind: "message", text: "ok"}))
		for i := range 2 {
			if got := asked(`{"conversation":"conv_1","input":"and?"}`); strings.Contains(got, first) != (i == 0) {
				t.Errorf("streaming %v, time %d: the conversation's results are wrong", streaming, i)
			}
		}
	}
}

// A stream may be fetched again from one of its events on.
func TestResponsesResume(t *testing.T) {
	value := random(119, 24)
	r := newRig(t, nil, value)
	all := eventsOfItems(func(s string) []string { return strings.Split(s, "") }, item{kind: "message", text: "it is " + value + ", yes"})
	for from := range all {
		r.streams(all[from:]...)
		status, got := r.do(t, http.MethodGet, responses+"/resp_1?stream=true&starting_after=1", "")
		said := ""
		for line := range strings.Lines(got) {
			var ev struct{ Delta string }
			if data, ok := strings.CutPrefix(line, "data: "); ok && json.Unmarshal([]byte(data), &ev) == nil {
				said += ev.Delta
			}
		}
		const most = 12 // of the value are missing: the rest is still known by its parts
		if n := max(longest(got, value), longest(said, value)); status != http.StatusOK || n > 3 && from <= 10+most {
			t.Fatalf("from event %d: status %d, %d characters in a row came out", from, status, n)
		}
		if from == 0 {
			hear(t, got)
		}
	}
	clean := eventsOfItems(words, item{kind: "message", text: "it is all well"})
	r.streams(clean[5:]...)
	if _, got := r.do(t, http.MethodGet, responses+"/resp_1?stream=true&starting_after=4", ""); got != framed(clean[5:]) {
		t.Error("the rest of a clean stream changed")
	}
}
