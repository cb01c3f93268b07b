package gateway

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

// pseudonym makes a rig whose conversation holds a secret, and returns what
// stands for it and the conversation's body.
func pseudonym(t *testing.T, seed uint64) (r *rig, name, body string) {
	t.Helper()
	value := random(seed, 24)
	r = newRig(t, nil, value)
	r.up.answer = func(w http.ResponseWriter, _ *http.Request) {
		stream(w, delta(0, "content", "ok"), finish(0, "stop"), "[DONE]")
	}
	body = `{"model":"m","stream":true,"messages":[{"role":"user","content":"use ` + value + `"}]}`
	r.post(t, "/v1/chat/completions", body)
	received := r.up.received()
	at := strings.Index(received, "margay-api-key-")
	if at < 0 {
		t.Fatal("no pseudonym")
	}
	return r, received[at : at+len("margay-api-key-")+14], body
}

// A call that holds a pseudonym is refused, however a server writes it, and
// nothing of it is left in the stream.
func TestCallsWithPseudonym(t *testing.T) {
	call := func(c string) string { return `{"choices":[{"index":0,"delta":{"tool_calls":[` + c + `]}}]}` }
	r, name, body := pseudonym(t, 32)
	for what, events := range map[string][]string{
		"legacy": {
			`{"choices":[{"index":0,"delta":{"function_call":{"name":"send","arguments":""}}}]}`,
			`{"choices":[{"index":0,"delta":{"function_call":{"arguments":"{\"k\":\"` + name + `\"}"}}}]}`, finish(0, "function_call"),
		},
		"opening chunk without name and arguments": {
			call(`{"index":0,"id":"call_1","type":"function"}`), call(`{"index":0,"function":{"name":"send"}}`),
			call(`{"index":0,"function":{"arguments":"{\"k\":\"` + name + `\"}"}}`), finish(0, "tool_calls"),
		},
		"custom": {
			call(`{"index":0,"id":"call_1","type":"custom","custom":{"name":"send","input":""}}`),
			call(`{"index":0,"custom":{"input":"k ` + name[:9] + `"}}`), call(`{"index":0,"custom":{"input":"` + name[9:] + `"}}`), finish(0, "tool_calls"),
		},
		"object":        {call(`{"index":0,"id":"call_1","function":{"name":"send","arguments":{"k":["` + name + `"]}}}`), finish(0, "tool_calls")},
		"array":         {call(`{"index":0,"id":"call_1","function":{"name":"send","arguments":["` + name + `"]}}`), finish(0, "tool_calls")},
		"object's key":  {call(`{"index":0,"id":"call_1","function":{"name":"send","arguments":{"` + name + `":1}}}`), finish(0, "tool_calls")},
		"escaped keys":  {call(`{"index":0,"id":"call_1","\u0066unction":{"n\u0061me":"send","argument\u0073":"` + name + `"}}`), finish(0, "tool_calls")},
		"all in one":    {`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"call_1","function":{"name":"send","arguments":"` + name + `"}}]},"finish_reason":"tool_calls"}]}`},
		"two in one":    {call(`{"index":0,"id":"call_1","function":{"name":"send","arguments":"` + name + `"}},{"index":1,"id":"call_2","function":{"name":"send","arguments":"` + name + `"}}`), finish(0, "tool_calls")},
		"escaped twice": {call(`{"index":0,"id":"call_1","function":{"name":"send","arguments":` + quote(`{"k":"`+escaped(name)+`"}`) + `}}`), finish(0, "tool_calls")},
	} {
		t.Run(what, func(t *testing.T) {
			r.up.answer = func(w http.ResponseWriter, _ *http.Request) { stream(w, append(events, "[DONE]")...) }
			_, got := r.post(t, "/v1/chat/completions", body)
			if strings.Count(got, name) != strings.Count(got, "was not made") || strings.Contains(got, "call_1") || strings.Contains(got, `"name"`) {
				t.Error("something of the call was left")
			}
			if !strings.Contains(got, "the call of send was not made") || !strings.Contains(got, `"finish_reason":"stop"`) {
				t.Errorf("no refusal; finish %s", joined(t, got)["0 finish"])
			}
		})
	}
}

// So it is in an answer that does not stream, with or without content.
func TestCallsWithPseudonymInWholeAnswers(t *testing.T) {
	r, name, body := pseudonym(t, 33)
	for what, message := range map[string]string{
		"no content":    `{"role":"assistant","tool_calls":[{"id":"call_1","type":"function","function":{"name":"send","arguments":"` + name + `"}}]}`,
		"null content":  `{"content":null,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"send","arguments":"` + name + `"}}]}`,
		"content":       `{"tool_calls":[{"id":"call_1","type":"function","function":{"name":"send","arguments":"` + name + `"}}],"content":"sure"}`,
		"content parts": `{"content":[{"type":"text","text":"sure"}],"tool_calls":[{"id":"call_1","function":{"name":"send","arguments":"` + name + `"}}]}`,
		"no parts":      `{"content":[],"tool_calls":[{"id":"call_1","function":{"name":"send","arguments":"` + name + `"}}]}`,
		"custom":        `{"tool_calls":[{"id":"call_1","type":"custom","custom":{"name":"send","input":"` + name + `"}}]}`,
		"object":        `{"tool_calls":[{"id":"call_1","function":{"name":"send","arguments":{"k":"` + name + `"}}}]}`,
		"legacy":        `{"function_call":{"name":"send","arguments":{"k":"` + name + `"}}}`,
	} {
		t.Run(what, func(t *testing.T) {
			r.up.answer = func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				fmt.Fprintf(w, `{"id":"x","choices":[{"index":0,"message":%s,"finish_reason":"tool_calls"}]}`, message)
			}
			_, got := r.post(t, "/v1/chat/completions", body)
			if !json.Valid([]byte(got)) || strings.Count(got, name) != 1 || strings.Contains(got, "call_1") {
				t.Errorf("something of the call was left, or the answer is no JSON")
			}
			if !strings.Contains(got, "the call of send was not made") || !strings.Contains(got, `"finish_reason":"stop"`) {
				t.Errorf("no refusal in %s", got)
			}
			if strings.Contains(message, "sure") && !strings.Contains(got, "sure") {
				t.Error("the content was lost")
			}
		})
	}
}

// A secret in arguments that are written as JSON is edited, and they stay so.
func TestObjectArgumentsAreEdited(t *testing.T) {
	value := random(34, 24)
	r := newRig(t, nil, value)
	args := `{"cmd":"echo ` + value + `","n":[1, 2]}`
	want := `{"cmd":"echo [REDACTED:api-key]","n":[1, 2]}`
	r.up.answer = func(w http.ResponseWriter, req *http.Request) {
		if req.Header.Get("X-Mode") == "stream" {
			stream(w, `{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"f","arguments":`+args+`}}]}}]}`, finish(0, "tool_calls"), "[DONE]")
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"choices":[{"index":0,"message":{"tool_calls":[{"id":"c","function":{"name":"f","arguments":`+args+`}}]}}]}`)
	}
	for _, mode := range []string{"stream", "whole"} {
		if _, got := r.post(t, "/v1/chat/completions", ask, "X-Mode", mode); !strings.Contains(got, `"arguments":`+want) || strings.Contains(got, value) {
			t.Errorf("%s: the arguments are wrong", mode)
		}
	}
}

// What comes besides the body holds no secret either: headers, trailers,
// informational responses, and identifiers.
func TestNoHeaderLeaks(t *testing.T) {
	value := random(36, 24)
	r := newRig(t, nil, value)
	for _, typ := range []string{"text/event-stream", "application/json"} {
		r.up.answer = func(w http.ResponseWriter, _ *http.Request) {
			h := w.Header()
			h.Set("Link", "<https://x.example/"+value+">; rel=preload")
			w.WriteHeader(http.StatusEarlyHints)
			h.Del("Link")
			h.Set("Content-Type", typ)
			h.Set("X-Request-Id", "req-"+value)
			h.Set("X-Encoded", base64.StdEncoding.EncodeToString([]byte(value)))
			h.Set("X-Ordinary", "8d3e0b8a-6f0c-4d0e-9c54-8f5b7f6c2a11")
			h.Set("Openai-Version", "2020-10-01")
			h.Set("Trailer", "X-Checksum, X-Plain")
			if typ == "application/json" {
				_, _ = io.WriteString(w, `{"id":"x","choices":[]}`)
			} else {
				stream(w, delta(0, "content", "ok"), finish(0, "stop"), "[DONE]")
			}
			h.Set("X-Checksum", value)
			h.Set("X-Plain", "yes")
			h.Set(http.TrailerPrefix+"X-Late", value)
		}
		req, err := http.NewRequest(http.MethodPost, r.url+"/v1/chat/completions", strings.NewReader(ask))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadAll(resp.Body); err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		all := fmt.Sprint(resp.Header, resp.Trailer)
		if strings.Contains(all, value) || strings.Contains(all, base64.StdEncoding.EncodeToString([]byte(value))) {
			t.Errorf("%s: a header holds the secret", typ)
		}
		if resp.Header.Get("X-Ordinary") == "" || resp.Header.Get("Openai-Version") == "" || resp.Header.Get("Margay-Trajectory") == "" {
			t.Errorf("%s: an ordinary header was lost: %v", typ, resp.Header)
		}
		if typ == "text/event-stream" && resp.Trailer.Get("X-Plain") != "yes" {
			t.Errorf("an ordinary trailer was lost: %v", resp.Trailer)
		}
	}
	r.up.answer = func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"id":"chatcmpl-`+value+`","choices":[]}`)
	}
	if status, got := r.post(t, "/v1/chat/completions", ask); status != http.StatusBadGateway || strings.Contains(got, value) {
		t.Errorf("an answer with a secret id: status %d", status)
	}
}

// Identifiers and padding as providers make them are no secrets.
func TestOrdinaryNamesPass(t *testing.T) {
	r := newRig(t, nil, random(37, 24))
	var events []string
	for i, id := range []string{
		"chatcmpl-BqG7XzK3m2vL9pWc5nR8tY1aD4eF6", "chatcmpl-8f14e45fceea167a5a36dedd4bea2543", "gen-1741820000-AbCdEfGhIjKlMnOpQrSt",
		"cmpl-7a1b2c3d4e5f", "8d3e0b8a-6f0c-4d0e-9c54-8f5b7f6c2a11", "req_01JPV8Z3T7Q2M5N6R9X4",
	} {
		for j, model := range []string{"gpt-4o-mini-2024-07-18", "accounts/fireworks/models/llama-v3p1-405b-instruct", "deepseek-r1:70b-q4_K_M"} {
			events = append(events, fmt.Sprintf(`{"id":%q,"object":"chat.completion.chunk","created":17418200%02d,"model":%q,"system_fingerprint":"fp_%010x","choices":[{"index":0,"delta":{"content":"word "},"finish_reason":null}],"obfuscation":%q}`,
				id, i*10+j, model, i*7919+j, random(uint64(100+i), 3+j*6)))
		}
	}
	events = append(events, finish(0, "stop"), "[DONE]")
	r.up.answer = func(w http.ResponseWriter, _ *http.Request) { stream(w, events...) }
	if _, got := r.post(t, "/v1/chat/completions", ask); got != "data: "+strings.Join(events, "\n\ndata: ")+"\n\n" {
		t.Errorf("the stream changed: %s", got)
	}
}

// An answer's end is not its stream's end: what the upstream sends after it still
// arrives, trailers too.
func TestAfterDone(t *testing.T) {
	r := newRig(t, nil)
	read := make(chan struct{})
	r.up.answer = func(w http.ResponseWriter, req *http.Request) {
		w.Header().Set("Trailer", "X-Plain")
		stream(w, delta(0, "content", "ok"), finish(0, "stop"), "[DONE]")
		select {
		case <-read:
		case <-req.Context().Done():
			t.Error("the upstream's stream was closed at the end of the answer")
		}
		_, _ = io.WriteString(w, ": bye\n\n")
		w.Header().Set("X-Plain", "yes")
	}
	resp, err := http.Post(r.url+"/v1/chat/completions", "application/json", strings.NewReader(ask))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	in := bufio.NewReader(resp.Body)
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		if line == "data: [DONE]\n" {
			break
		}
	}
	close(read)
	rest, err := io.ReadAll(in)
	if err != nil || !strings.HasSuffix(string(rest), ": bye\n\n") || resp.Trailer.Get("X-Plain") != "yes" {
		t.Errorf("behind the end came %q, %v, %v", rest, resp.Trailer, err)
	}
}
