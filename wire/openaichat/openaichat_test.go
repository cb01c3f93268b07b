package openaichat

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/wire"
	"github.com/margaydev/margay/wire/events"
)

const request = `{"model":"m","stream":true,"n":2,"future":{"deep":["unheard of"]},
 "messages":[{"role":"system","content":"be\u0020kind"},{"role":"user","content":[{"type":"text","text":"hello"},{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}},{"type":"image_url","image_url":{"url":"https://x.example/?k=v"}}]},
 {"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{\"a\":1}"}}]},{"role":"tool","tool_call_id":"c1","content":"result"}],
 "tools":[{"type":"function","function":{"name":"f","description":"does f","parameters":{"type":"object","properties":{"a":{"type":"string","description":"an a"}}}}}]}`

func TestRequestParts(t *testing.T) {
	r, err := parseRequest([]byte(request), wire.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for i := range r.Parts() {
		p := &r.Parts()[i]
		got[r.Path(p)] = p.Text + p.Opaque
	}
	for path, want := range map[string]string{
		"future.deep[0]": "unheard of", "messages[0].content": "be kind", "messages[1].content[0].text": "hello",
		"messages[1].content[1].image_url.url": "image", "messages[1].content[2].image_url.url": "https://x.example/?k=v",
		"messages[2].tool_calls[0].function.arguments": `{"a":1}`, "messages[3].content": "result",
		"tools[0].function.description": "does f", "tools[0].function.parameters.properties.a.description": "an a",
	} {
		if got[path] != want {
			t.Errorf("%s is %q, want %q", path, got[path], want)
		}
	}
	for i := range r.Parts() {
		// A result is of the tool whose call it answers.
		if p := &r.Parts()[i]; p.Text == "result" && p.Tool != "f" || p.Text == "hello" && p.Tool != "" {
			t.Errorf("%s is of the tool %q", r.Path(p), p.Tool)
		}
	}
	if r.Model() != "m" || r.NumMessages() != 4 || r.MessageRole(3) != flow.RoleTool {
		t.Error("the request's own fields are wrong")
	}
	if !bytes.Equal(r.Rewrite(nil), []byte(request)) {
		t.Error("no edits changed the body")
	}
}

func TestRequestEdit(t *testing.T) {
	r, err := parseRequest([]byte(request), wire.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range r.Parts() {
		p := &r.Parts()[i]
		if p.Text != "hello" {
			continue
		}
		want := strings.Replace(request, `"hello"`, `"good \"day\""`, 1)
		if got := r.Rewrite(map[int]string{p.ID: `good "day"`}); string(got) != want {
			t.Errorf("the edit changed more than its string")
		}
	}
}

func TestKeysArePartsThatCantBeEdited(t *testing.T) {
	r, err := parseRequest([]byte(`{"metadata":{"some secret key":1}}`), wire.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range r.Parts() {
		p := &r.Parts()[i]
		if p.Key && p.Text == "some secret key" {
			if got := r.Rewrite(map[int]string{p.ID: "x"}); !bytes.Equal(got, r.Raw()) {
				t.Error("a key was edited")
			}
			return
		}
	}
	t.Error("the key is no part")
}

func TestChunk(t *testing.T) {
	var p chunkParser
	c, err := p.parse([]byte(`{"id":"x","provider":"acme","choices":[{"index":1,"delta":{"role":"assistant","content":"a\nb","refusal":"r","reasoning_content":"why","new":{"text2":["q"]},"tool_calls":[{"index":3,"id":"c","type":"function","function":{"name":"f","arguments":"{"}}],"function_call":{"name":"g","arguments":"}"}},"logprobs":{"content":[{"token":"a"}]},"finish_reason":"length"}],"usage":{"total_tokens":1}}`))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, d := range c.Deltas {
		got[fmt.Sprintf("%d %s %d %s", d.Key.Choice, d.Key.Field, d.Key.Item, d.Key.Path)] = string(d.Text)
	}
	for k, want := range map[string]string{
		"1 content 0 ": "a\nb", "1 refusal 0 ": "r", "1 reasoning 0 ": "why", "1 tool-name 3 ": "f", "1 tool-arguments 3 ": "{",
		"1 tool-name -1 ": "g", "1 tool-arguments -1 ": "}", "-1 other 0 provider": "acme",
	} {
		if got[k] != want {
			t.Errorf("%q is %q, want %q (all: %v)", k, got[k], want, got)
		}
	}
	if !strings.Contains(fmt.Sprint(got), ":q") {
		t.Error("a string of an unknown field is no delta")
	}
	if len(c.Finished) != 1 || c.Finished[0] != (wire.Finished{Choice: 1, Reason: "length"}) || !c.Usage || c.Error || c.Done {
		t.Errorf("chunk is %+v", c)
	}
	if c, err := p.parse([]byte(" [DONE]")); err != nil || !c.Done {
		t.Error("the end marker")
	}
	if c, err := p.parse([]byte(`{"error":{"message":"oops"}}`)); err != nil || !c.Error || string(c.Deltas[0].Text) != "oops" {
		t.Error("an error in mid-stream")
	}
}

// render returns a chunk with an edit, of a parser that has read nothing else.
func render(data []byte, change *edit) ([]byte, error) {
	var p chunkParser
	p.Once = true
	return p.render(data, change)
}

func TestRender(t *testing.T) {
	in := []byte(`{ "choices":[ {"index":0,"delta":{"content":"a","x":[1.50]},"logprobs":{"content":[{"token":"a"}]} },{"index":1,"delta":{"content":"b"},"logprobs":{"content":[]}}],"y":null}`)
	got, err := render(in, &edit{Edit: flow.Edit{Text: map[int][]byte{0: []byte("A\"")}}})
	want := `{ "choices":[ {"index":0,"delta":{"content":"A\"","x":[1.50]},"logprobs":null },{"index":1,"delta":{"content":"b"},"logprobs":{"content":[]}}],"y":null}`
	if err != nil || string(got) != want {
		t.Errorf("got %s, %v", got, err)
	}
	calls := []byte(`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"x"}},{"index":1,"function":{"arguments":"y"}}]},"finish_reason":"tool_calls"}]}`)
	got, err = render(calls, &edit{Edit: flow.Edit{
		Call:   func(_, i int) (int, bool) { return i - 1, i == 0 },
		Finish: func(int, string) string { return "stop" },
	}})
	want = `{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"y"}}]},"finish_reason":"stop"}]}`
	if err != nil || string(got) != want {
		t.Errorf("got %s, %v", got, err)
	}
}

func TestStrayLogprobs(t *testing.T) {
	for in, want := range map[string]bool{
		`{"choices":[{"index":0,"delta":{"content":"ab"},"logprobs":{"content":[{"token":"a","logprob":-1,"top_logprobs":[{"token":"x"}]},{"token":"b"}]}}]}`:                                                                      false,
		`{"choices":[{"index":0,"delta":{"content":"ab"},"logprobs":null}]}`:                                                                                                                                                       false,
		`{"choices":[{"index":0,"delta":{"content":"ab"},"logprobs":{"content":[{"token":"other"}]}}]}`:                                                                                                                            true,
		`{"choices":[{"index":0,"delta":{"content":"ab"},"logprobs":{"content":[{"token":"ab","note":"x"}]}}]}`:                                                                                                                    true,
		`{"choices":[{"index":0,"delta":{"content":"a"},"logprobs":{"content":[{"token":"a","top_logprobs":[{"token":"` + strings.Repeat("x", 40) + `"}]}]}}]}`:                                                                    true,
		`{"choices":[{"index":0,"delta":{"content":".get_by_name_2"},"logprobs":{"content":[{"token":".get_by_name_2","top_logprobs":[{"token":".get_by_name_2"},{"token":".addEventListener"},{"token":"_configuration("}]}]}}]}`: false,
		`{"choices":[{"index":0,"delta":{"content":"a"},"logprobs":{"content":[{"token":"a","top_logprobs":[{"token":".get_by_name_2"}]}]}}]}`:                                                                                     true,
	} {
		var p chunkParser
		c, err := p.parse([]byte(in))
		if err != nil || c.Stray != want {
			t.Errorf("%s: stray %v, %v", in, c.Stray, err)
		}
		got, err := render([]byte(in), &edit{dropLogprobs: true})
		if err != nil || strings.Contains(string(got), "token") {
			t.Errorf("logprobs were kept: %s", got)
		}
	}
	r, err := parseResponse([]byte(`{"choices":[{"index":0,"message":{"content":"ab"},"logprobs":{"content":[{"token":"other"}]}}]}`), wire.Limits{})
	if err != nil || strings.Contains(string(r.Rewrite(nil, nil)), "other") {
		t.Error("stray logprobs of a whole answer were kept")
	}
}

func TestKeysOfChunks(t *testing.T) {
	var p chunkParser
	in := []byte(`{"choices":[{"index":0,"delta":{"content":"ab","some_secret_key":1}}]}`)
	c, err := p.parse(in)
	if err != nil || len(c.Deltas) != 2 || string(c.Deltas[1].Text) != "some_secret_key" {
		t.Fatalf("deltas are %+v, %v", c.Deltas, err)
	}
	if _, err := render(in, &edit{Edit: flow.Edit{Text: map[int][]byte{1: []byte("x")}}}); err == nil {
		t.Error("a key was edited")
	}
}

func TestResponseRefusal(t *testing.T) {
	in := []byte(`{"choices":[{"index":0,"message":{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}},{"id":"b","type":"function","function":{"name":"g","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}`)
	r, err := parseResponse(in, wire.Limits{})
	if err != nil || len(r.Calls()) != 2 {
		t.Fatalf("%d calls, %v", len(r.Calls()), err)
	}
	one := string(r.Rewrite(nil, map[int]string{0: "no"}))
	if !json.Valid([]byte(one)) || !strings.Contains(one, `"content":"no"`) || strings.Contains(one, `"name":"f"`) || !strings.Contains(one, `"tool_calls"}`) {
		t.Errorf("one refused: %s", one)
	}
	both := string(r.Rewrite(nil, map[int]string{0: "no", 1: "neither"}))
	if !strings.Contains(both, `"content":"noneither"`) || !strings.Contains(both, `"finish_reason":"stop"`) || !strings.Contains(both, `"tool_calls":null`) {
		t.Errorf("both refused: %s", both)
	}
	if got := r.Rewrite(nil, nil); !bytes.Equal(got, in) {
		t.Error("no edits changed the body")
	}
}

func FuzzChunk(f *testing.F) {
	f.Add([]byte(`{"choices":[{"index":0,"delta":{"content":"a","tool_calls":[{"index":0,"function":{"arguments":"x"}}]},"finish_reason":"stop"}]}`), []byte("new"))
	f.Add([]byte(`{"choices":[{"text":"x"}],"error":"y"}`), []byte{0xff})
	f.Add([]byte(`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":{"a":1}}},{"id":"x"}]}}],"some_key":1}`), []byte(`{"b":2}`))
	f.Fuzz(func(t *testing.T, data, text []byte) {
		var p chunkParser
		c, err := p.parse(data)
		if err != nil || c.Done {
			return
		}
		n := len(c.Deltas)
		if _, err := render(data, &edit{Edit: flow.Edit{Text: map[int][]byte{n: text}}}); err == nil {
			t.Fatal("an edit past the texts was taken")
		}
		if got, err := render(data, &edit{}); err != nil || !bytes.Equal(got, bytes.TrimSpace(data)) {
			t.Fatal("no edits changed the chunk")
		}
		if n == 0 {
			return
		}
		got, err := render(data, &edit{Edit: flow.Edit{Text: map[int][]byte{0: text}}})
		if errors.Is(err, events.ErrKey) || errors.Is(err, events.ErrPlace) || errors.Is(err, events.ErrValue) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		var q chunkParser
		c, err = q.parse(got)
		if err != nil || len(c.Deltas) != n || string(c.Deltas[0].Text) != strings.ToValidUTF8(string(text), "\ufffd") && bytes.Equal(bytes.ToValidUTF8(text, nil), text) {
			t.Fatalf("edited chunk reads otherwise: %d deltas, want %d; %v", len(c.Deltas), n, err)
		}
	})
}

func FuzzRequest(f *testing.F) {
	f.Add([]byte(request))
	f.Fuzz(func(t *testing.T, body []byte) {
		r, err := parseRequest(body, wire.Limits{})
		if err != nil {
			return
		}
		edits := map[int]string{}
		for i := range r.Parts() {
			edits[r.Parts()[i].ID] = "edited"
		}
		out := r.Rewrite(edits)
		back, err := parseRequest(out, wire.Limits{})
		if err != nil || len(back.Parts()) != len(r.Parts()) && len(r.Parts()) > 0 && back.NumMessages() != r.NumMessages() {
			t.Fatalf("edited request: %v", err)
		}
	})
}

func BenchmarkChunk(b *testing.B) {
	data := []byte(`{"id":"chatcmpl-9x8y7z","object":"chat.completion.chunk","created":1760000000,"model":"m-1","system_fingerprint":"fp_1","choices":[{"index":0,"delta":{"content":" word"},"logprobs":null,"finish_reason":null}]}`)
	var p chunkParser
	b.ReportAllocs()
	for b.Loop() {
		if _, err := p.parse(data); err != nil {
			b.Fatal(err)
		}
	}
}

func parseRequest(raw []byte, lim wire.Limits) (*Request, error) {
	r, err := API{}.ParseRequest(raw, lim)
	if err != nil {
		return nil, err
	}
	return r.(*Request), nil
}

func parseResponse(raw []byte, lim wire.Limits) (*Response, error) {
	r, err := API{}.ParseResponse(raw, lim)
	if err != nil {
		return nil, err
	}
	return r.(*Response), nil
}
