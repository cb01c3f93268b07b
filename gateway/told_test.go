package gateway

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/margaydev/margay/confirm"
	"github.com/margaydev/margay/mediator"
)

// eachWire runs a test on all APIs, streamed and not.
func eachWire(t *testing.T, f func(t *testing.T, api string, streamed bool)) {
	t.Helper()
	for _, api := range []string{"chat/completions", "messages", "responses"} {
		for _, streamed := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/streamed=%v", api, streamed), func(t *testing.T) { f(t, api, streamed) })
		}
	}
}

// readMailAnd is a request after a mail was read; more are further members.
func readMailAnd(api string, streamed bool, more string) string {
	switch api {
	case "messages":
		return fmt.Sprintf(`{"model":"m","max_tokens":9,"stream":%v%s,"messages":[{"role":"user","content":"read my mail"},{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"read_mail","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":%s}]}],"tools":[%s]}`, streamed, more, quote(evil), offered[api])
	case "responses":
		return fmt.Sprintf(`{"model":"m","stream":%v%s,"input":[{"role":"user","content":"read my mail"},{"type":"function_call","call_id":"t1","name":"read_mail","arguments":"{}"},{"type":"function_call_output","call_id":"t1","output":%s}],"tools":[{"type":"function","name":"read_mail"},{"type":"function","name":"send_money"}]}`, streamed, more, quote(evil))
	}
	return fmt.Sprintf(`{"model":"m","stream":%v%s,"messages":[{"role":"user","content":"read my mail"},{"role":"assistant","content":null,"tool_calls":[{"id":"t1","type":"function","function":{"name":"read_mail","arguments":"{}"}}]},{"role":"tool","tool_call_id":"t1","content":%s}],"tools":[%s]}`, streamed, more, quote(evil), offered[api])
}

// says has the upstream of a bank answer in any API.
func (b *bank) says(api string, model reads) {
	b.up.answer = func(w http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		body := string(raw)
		b.mu.Lock()
		b.bodies = append(b.bodies, body)
		b.mu.Unlock()
		streamed := strings.Contains(body, `"stream":true`)
		text, tool, args := model(body)
		switch api {
		case "messages":
			claudeSays(w, streamed, text, tool, args)
		case "responses":
			item := `{"type":"message","id":"msg_1","status":"completed","role":"assistant","content":[{"type":"output_text","text":` + quote(text) + `,"annotations":[],"logprobs":[]}]}`
			if tool != "" {
				item = fmt.Sprintf(`{"type":"function_call","id":"fc_1","call_id":"a","name":%q,"arguments":%s}`, tool, quote(args))
			}
			if streamed {
				w.Header().Set("Content-Type", "text/event-stream")
				_, _ = io.WriteString(w, respEvents(item))
				return
			}
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"id":"resp_1","object":"response","status":"completed","model":"m","output":[`+item+`]}`)
		default:
			chatSays(w, streamed, text, tool, args)
		}
	}
}

// heeds is a model that does what the mail says until it is told no.
func heeds(body string) (text, tool, args string) {
	switch {
	case strings.Contains(body, "was not made"):
		return "Then I pay nobody.", "", ""
	case strings.Contains(body, "EVIL"):
		return "Right away.", "send_money", `{"to":"mallory","amount":1000}`
	}
	return "I have nothing to do.", "", ""
}

// Where a person says no, the model is told in the same turn, and the client
// gets what it says then, alone.
func TestTold(t *testing.T) {
	eachWire(t, func(t *testing.T, api string, streamed bool) {
		for _, more := range []string{"", `,"tool_choice":{"type":"function"}`} {
			b := newBank(t, nil, nil)
			b.says(api, heeds)
			stop := b.answering(t, always(confirm.Deny))
			out := b.get(t, http.MethodPost, "/v1/"+api, readMailAnd(api, streamed, more))
			stop()
			if !strings.Contains(out, "Then I pay nobody.") || strings.Contains(out, "Right away") || strings.Contains(out, "mallory") || strings.Contains(out, "nothing to do") {
				t.Errorf("the client got %s", out)
			}
			if len(b.bodies) != 3 {
				t.Fatalf("%d requests: %q", len(b.bodies), b.bodies)
			}
			last := b.bodies[2]
			if !json.Valid([]byte(last)) || !strings.Contains(last, `"name":"send_money"`) || !strings.Contains(last, "mallory") || !strings.Contains(last, "the user said no") || strings.Contains(last, `"tool_choice":{"type":"function"}`) {
				t.Errorf("the model was told %s", last)
			}
		}
	})
}

// A person is asked about the same call, streamed or not, in any API.
func TestAskedInAnyAPI(t *testing.T) {
	eachWire(t, func(t *testing.T, api string, streamed bool) {
		b := newBank(t, nil, nil)
		b.says(api, heeds)
		stop := b.answering(t, always(confirm.Deny))
		b.get(t, http.MethodPost, "/v1/"+api, readMailAnd(api, streamed, ""))
		asked := stop()
		if len(asked) != 1 || asked[0].Sink != "mallory" || asked[0].Call.Arguments != `{"amount":1000,"to":"mallory"}` {
			t.Errorf("asked about %+v", asked)
		}
	})
}

// A turn with thinking can't be put together again: its model is told in words.
func TestToldWhereItThinks(t *testing.T) {
	for _, streamed := range []bool{false, true} {
		b := newBank(t, nobody, nil)
		b.says("messages", heeds)
		out := b.get(t, http.MethodPost, "/v1/messages", readMailAnd("messages", streamed, `,"thinking":{"type":"enabled","budget_tokens":1024}`))
		if last := b.bodies[len(b.bodies)-1]; !strings.Contains(out, "Then I pay nobody.") || !strings.Contains(last, `{"role":"user","content":[{"type":"text","text":"[margay: the call of send_money was not made`) || strings.Contains(last, "mallory\"") {
			t.Errorf("the model was told %s, the client %s", last, out)
		}
	}
}

// A model that does not heed it is told once, and asked about once.
func TestToldOnce(t *testing.T) {
	eachWire(t, func(t *testing.T, api string, streamed bool) {
		for most, requests := range map[int]int{0: 3, 3: 5, -1: 2} {
			b := newBank(t, func(c *mediator.Taint) { c.MaxTold = most }, nil)
			b.says(api, func(body string) (text, tool, args string) {
				if strings.Contains(body, "EVIL") {
					return "Right away.", "send_money", `{"to":"mallory","amount":1000}`
				}
				return "I have nothing to do.", "", ""
			})
			stop := b.answering(t, always(confirm.Deny))
			out := b.get(t, http.MethodPost, "/v1/"+api, readMailAnd(api, streamed, ""))
			asked := stop()
			if !strings.Contains(out, "I have nothing to do.") || strings.Contains(out, "mallory") || len(b.bodies) != requests || len(asked) != 1 {
				t.Errorf("told %d times: %d requests, %d questions, the client got %s", most, len(b.bodies), len(asked), out)
			}
		}
	})
}

// Where one call of several is allowed, it is made, and the model hears of the
// other one with its result.
func TestToldOfSome(t *testing.T) {
	for _, streamed := range []bool{false, true} {
		b := newBank(t, func(c *mediator.Taint) { c.NoReplay = true }, nil)
		b.up.answer = func(w http.ResponseWriter, r *http.Request) {
			raw, _ := io.ReadAll(r.Body)
			b.bodies = append(b.bodies, string(raw))
			if streamed {
				stream(w, callDelta(0, 0, "send_money", `{"to":"bob","amount":5}`), callDelta(0, 1, "send_money", `{"to":"mallory","amount":5}`), finish(0, "tool_calls"), "[DONE]")
				return
			}
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"id":"c1","object":"chat.completion","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":null,"tool_calls":[
				{"id":"a","type":"function","function":{"name":"send_money","arguments":"{\"to\":\"bob\",\"amount\":5}"}},{"id":"b","type":"function","function":{"name":"send_money","arguments":"{\"to\":\"mallory\",\"amount\":5}"}}]},"finish_reason":"tool_calls"}]}`)
		}
		stop := b.answering(t, func(q *confirm.Question) confirm.Answer {
			if strings.Contains(q.Call.Arguments, "mallory") {
				return confirm.Deny
			}
			return confirm.Once
		})
		said, calls := b.send(t, streamed, readMail)
		stop()
		if len(calls) != 1 || !strings.Contains(calls[0], "bob") || !strings.Contains(said, "was not made") || len(b.bodies) != 1 {
			t.Errorf("streamed %v: %q, %q, %d requests", streamed, said, calls, len(b.bodies))
		}
	}
}
