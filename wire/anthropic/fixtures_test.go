package anthropic

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/sse"
	"github.com/margaydev/margay/internal/testkit"
	"github.com/margaydev/margay/wire"
)

// Fixtures are streams as the API's documentation and its SDK's types have
// them. They go out as they came.
func TestFixtures(t *testing.T) {
	files, err := filepath.Glob("testdata/*.sse")
	if err != nil || len(files) < 5 {
		t.Fatalf("%d fixtures, %v", len(files), err)
	}
	for _, f := range files {
		raw, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := testkit.ReadMessage(string(raw)); err != nil {
			t.Errorf("%s: %v", f, err)
		}
		var s Stream
		s.Reset(wire.Limits{}, false)
		in := sse.NewReader(bytes.NewReader(raw), 1<<20)
		var out []byte
		for {
			e, err := in.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			c, err := s.Parse(e)
			if err != nil {
				t.Fatalf("%s: %v", f, err)
			}
			for _, d := range c.Deltas {
				if d.Key.Path == "key" {
					t.Errorf("%s: the key %s is not known", f, d.Text)
				}
			}
			if !c.Typed {
				t.Errorf("%s: an event's type is not known", f)
			}
			if out, err = s.Append(out, &flow.Outgoing{Raw: e.Raw, Data: e.Data, Edit: &flow.Edit{}}); err != nil {
				t.Fatal(err)
			}
		}
		if !bytes.Equal(out, raw) {
			t.Errorf("%s: no edits changed the stream", f)
		}
	}
	bodies, err := filepath.Glob("testdata/*.json")
	if err != nil || len(bodies) < 3 {
		t.Fatalf("%d bodies, %v", len(bodies), err)
	}
	for _, f := range bodies {
		raw, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		var b wire.Body
		if strings.Contains(f, "request") {
			b, err = parseRequest(raw, wire.Limits{})
		} else {
			b, err = parseResponse(raw, wire.Limits{})
		}
		if err != nil {
			t.Fatalf("%s: %v", f, err)
		}
		for _, p := range b.Parts() {
			if p.Key && !strings.Contains(b.Path(&p), "input") && !strings.Contains(b.Path(&p), "properties") {
				t.Errorf("%s: the key %s is not known", f, p.Text)
			}
		}
	}
}

func FuzzStream(f *testing.F) {
	f.Add([]byte(begin), []byte(start(0, `{"type":"tool_use","id":"t","name":"f","input":{"a":1}}`)), []byte("x"))
	f.Add([]byte(start(0, `{"type":"text","text":""}`)), []byte(delta(0, `{"type":"text_delta","text":"a"}`)), []byte{0xff})
	f.Add([]byte(start(0, `{"type":"thinking","thinking":""}`)), []byte(delta(0, `{"type":"signature_delta","signature":"`+long+`"}`)), []byte(""))
	f.Add([]byte(reasonFor("tool_use")), []byte(`{"type":"error","error":{"type":"api_error","message":"x"}}`), []byte("y"))
	f.Fuzz(func(t *testing.T, first, second, text []byte) {
		var s Stream
		s.Reset(wire.Limits{}, false)
		for _, data := range [][]byte{first, second, second} {
			if bytes.ContainsAny(data, "\r\n") {
				return // no line of data
			}
			c, err := s.Parse(&sse.Event{Data: data})
			if err != nil {
				return
			}
			raw := append(append([]byte("data: "), data...), "\n\n"...)
			if got, err := s.Append(nil, &flow.Outgoing{Raw: raw, Data: data, Edit: &flow.Edit{}}); err != nil || !bytes.Equal(got, raw) {
				t.Fatalf("no edits changed the event: %v", err)
			}
			n := len(c.Deltas)
			if _, err := s.Append(nil, &flow.Outgoing{Raw: raw, Data: data, Edit: &flow.Edit{Text: map[int][]byte{n: text}}}); err == nil {
				t.Fatal("an edit past the texts was taken")
			}
			for i := range n {
				got, err := s.Append(nil, &flow.Outgoing{Raw: raw, Data: data, Edit: &flow.Edit{Text: map[int][]byte{i: text}}})
				if err != nil {
					continue
				}
				var back parser
				back.Once = true
				b, err := back.parse(&sse.Event{Data: bytes.TrimSuffix(bytes.TrimPrefix(got, []byte("data: ")), []byte("\n\n"))})
				if err != nil {
					t.Fatalf("the edited event: %v", err)
				}
				if len(b.Deltas) == n && string(b.Deltas[i].Text) != strings.ToValidUTF8(string(text), "\ufffd") && bytes.Equal(bytes.ToValidUTF8(text, nil), text) {
					t.Fatalf("the edited text reads %q", b.Deltas[i].Text)
				}
			}
			s.Halt(nil)
		}
	})
}

func FuzzRequest(f *testing.F) {
	f.Add([]byte(request))
	f.Add([]byte(`{"messages":[{"role":"assistant","content":[{"type":"thinking","thinking":"abc"},{"type":"thinking","thinking":"def"}]},{"role":"user","content":"x"}]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		r, err := parseRequest(body, wire.Limits{})
		if err != nil {
			return
		}
		if !bytes.Equal(r.Rewrite(nil), body) {
			t.Fatal("no edits changed the body")
		}
		edits := map[int]string{}
		for _, p := range r.Parts() {
			edits[p.ID] = "edited"
		}
		for i := range r.NumMessages() {
			r.MessageRaw(i)
			r.MessageRole(i)
		}
		back, err := parseRequest(r.Rewrite(edits), wire.Limits{})
		if err != nil || back.NumMessages() != r.NumMessages() {
			t.Fatalf("edited request: %v", err)
		}
	})
}

func FuzzResponse(f *testing.F) {
	f.Add([]byte(answer))
	f.Add([]byte(`{"type":"message","content":[{"type":"tool_use","name":"f","input":"x"},{"type":"tool_use","input":[{"type":"tool_use"}]}],"stop_reason":"tool_use"}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		r, err := parseResponse(body, wire.Limits{})
		if err != nil {
			return
		}
		if !bytes.Equal(r.Rewrite(nil, nil), body) {
			t.Fatal("no edits changed the answer")
		}
		edits, refused := map[int]string{}, map[int]string{}
		for _, p := range r.Parts() {
			edits[p.ID] = "edited"
		}
		for i := range r.Calls() {
			refused[i] = "no"
		}
		for _, e := range []map[int]string{edits, nil} {
			for _, ref := range []map[int]string{refused, nil} {
				if _, err := parseResponse(r.Rewrite(e, ref), wire.Limits{}); err != nil {
					t.Fatalf("edited answer: %v", err)
				}
			}
		}
		if b, ok := r.Halted("m", "w"); ok {
			if _, err := parseResponse(b, wire.Limits{}); err != nil {
				t.Fatalf("halted answer: %v", err)
			}
		}
	})
}

func BenchmarkEvent(b *testing.B) {
	for name, data := range map[string]string{
		"text":     delta(0, `{"type":"text_delta","text":" word"}`),
		"thinking": delta(0, `{"type":"thinking_delta","thinking":" word"}`),
		"input":    delta(0, `{"type":"input_json_delta","partial_json":" \"word\""}`),
	} {
		b.Run(name, func(b *testing.B) {
			var s Stream
			s.Reset(wire.Limits{}, false)
			e := ev(data)
			if _, err := s.Parse(ev(start(0, `{"type":"tool_use","name":"f","input":{}}`))); err != nil {
				b.Fatal(err)
			}
			buf := make([]byte, 0, 4<<10)
			o := &flow.Outgoing{Raw: e.Raw, Data: e.Data}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := s.Parse(e); err != nil {
					b.Fatal(err)
				}
				if _, err := s.Append(buf, o); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
