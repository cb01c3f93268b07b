package gateway

import (
	"encoding/json"
	"io"
	"net/http"
	"reflect"
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
			if !reflect.DeepEqual(h.output, want) {
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

// What a conversation taught is known in what goes on with it by name.
func TestResponsesPrevious(t *testing.T) {
	learnt := "gh" + "p_" + random(114, 36)
	mark := learnt[4:] // alone it is no token that a rule knows
	for how, next := range map[string]string{
		"response":     `{"model":"m","previous_response_id":"resp_1","input":"again: ` + mark + `"}`,
		"conversation": `{"model":"m","conversation":{"id":"conv_1"},"input":"again: ` + learnt + `"}`,
	} {
		r := newRig(t, nil)
		first := `{"model":"m","input":"the token is ` + learnt + `"}`
		if how == "conversation" {
			first = `{"model":"m","conversation":"conv_1","input":"the token is ` + learnt + `"}`
		}
		r.answers(wholeOf(item{kind: "message", text: "ok"}))
		one := trajectoryOf(t, r, first)
		two := trajectoryOf(t, r, next)
		if one != two {
			t.Errorf("%s: another trajectory", how)
		}
		if three := trajectoryOf(t, r, strings.Replace(strings.Replace(next, "resp_1", "resp_9", 1), "conv_1", "conv_9", 1)); three == one {
			t.Errorf("%s: the trajectory of another one", how)
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
