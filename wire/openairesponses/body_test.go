package openairesponses

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/wire"
)

func partsOf(b wire.Body) map[string]wire.Part {
	out := map[string]wire.Part{}
	ps := b.Parts()
	for i := range ps {
		p := ps[i]
		if !p.Key {
			out[b.Path(&ps[i])] = p
		}
	}
	return out
}

func TestRequestParts(t *testing.T) {
	r, err := parseRequest(fixture(t, "request.json"), wire.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	got := partsOf(r)
	for path, want := range map[string]wire.Part{
		"instructions":                         {Text: "Answer in one sentence; never guess.", Role: flow.RoleSystem, Field: flow.FieldContent},
		"input[0].content":                     {Message: 1, Text: "Use metres.", Role: flow.RoleDeveloper, Field: flow.FieldContent},
		"input[1].content[0].text":             {Message: 2, Text: "How high is the Elbe?", Role: flow.RoleUser, Field: flow.FieldContent},
		"input[1].content[1].image_url":        {Message: 2, Opaque: "image", Role: flow.RoleUser, Field: flow.FieldContent},
		"input[1].content[2].filename":         {Message: 2, Text: "plan.pdf", Role: flow.RoleTool, Field: flow.FieldContent},
		"input[1].content[2].file_data":        {Message: 2, Opaque: "file", Role: flow.RoleTool, Field: flow.FieldContent},
		"input[1].content[3].image_url":        {Message: 2, Text: "https://pictures.example/elbe.png", Role: flow.RoleUser, Field: flow.FieldContent},
		"input[2].summary[0].text":             {Message: 3, Text: "Two gauges matter.", Role: flow.RoleAssistant, Field: flow.FieldReasoning},
		"input[3].content[0].text":             {Message: 4, Text: "I look it up.", Role: flow.RoleAssistant, Field: flow.FieldContent},
		"input[4].name":                        {Message: 5, Text: "river_level", Role: flow.RoleAssistant, Field: flow.FieldToolName, Tool: "river_level"},
		"input[4].arguments":                   {Message: 5, Text: `{"river":"Elbe"}`, Role: flow.RoleAssistant, Field: flow.FieldToolArguments, Tool: "river_level"},
		"input[5].output":                      {Message: 6, Text: `{"metres": 3.2}`, Role: flow.RoleTool, Field: flow.FieldContent, Tool: "river_level"},
		"input[6].output[0].stdout":            {Message: 7, Text: "ok", Role: flow.RoleTool, Field: flow.FieldContent},
		"input[7].output.image_url":            {Message: 8, Opaque: "image", Role: flow.RoleTool, Field: flow.FieldContent},
		"input[9].notes[0]":                    {Message: 10, Text: "and a note", Role: flow.RoleAssistant},
		"tools[0].description":                 {Message: -1, Text: "Tells how high a river stands."},
		"tools[1].server_url":                  {Message: -1, Text: "https://tides.example/mcp"},
		"prompt.variables.village":             {Message: -1, Text: "upper village"},
		"prompt.variables.who.text":            {Message: -1, Text: "a neighbour", Field: flow.FieldContent},
		"metadata.purpose":                     {Message: -1, Text: "fixture"},
		"user":                                 {Message: -1, Text: "somebody"},
		"a_new_field.deep[0]":                  {Message: -1, Text: "unheard of"},
		"text.format.schema.properties.metres": {},
	} {
		p, ok := got[path]
		if want.Text == "" && want.Opaque == "" {
			continue
		}
		p.ID, want.Choice = 0, -1
		if !ok || p != want {
			t.Errorf("%s is %+v, not %+v", path, p, want)
		}
	}
	for path := range got {
		if strings.Contains(path, "encrypted_content") || strings.HasSuffix(path, "].type") && got[path].Text != "a_new_item" {
			t.Errorf("%s is told as text", path)
		}
	}
	if _, ok := got["input[8].id"]; !ok {
		t.Error("an id of the client's is not looked at")
	}
	var roles []string
	for i := range r.NumMessages() {
		roles = append(roles, string(r.MessageRole(i)))
		if !json.Valid(r.MessageRaw(i)) {
			t.Errorf("message %d is no JSON", i)
		}
	}
	if want := "[system developer user assistant assistant assistant tool tool tool user assistant]"; fmt.Sprint(roles) != want {
		t.Errorf("roles are %v, not %s", roles, want)
	}
}

func TestPrevious(t *testing.T) {
	for body, want := range map[string]string{
		`{"input":"x"}`: "",
		`{"previous_response_id":"resp_1","input":"x"}`:                 "resp_1",
		`{"conversation":"conv_1","input":"x"}`:                         "conv_1",
		`{"conversation":{"id":"conv_1"},"input":"x"}`:                  "conv_1",
		`{"conversation":null,"previous_response_id":null,"input":"x"}`: "",
	} {
		r, err := parseRequest([]byte(body), wire.Limits{})
		if err != nil || r.Previous() != want {
			t.Errorf("%s goes on with %q: %v", body, r.Previous(), err)
		}
	}
}

func TestAskLogprobs(t *testing.T) {
	for body, want := range map[string]string{
		`{"input":"x"}`:                                      `{"input":"x","include":["message.output_text.logprobs"],"top_logprobs":20}`,
		`{"input":"x","include":null }`:                      `{"input":"x","include":["message.output_text.logprobs"] ,"top_logprobs":20}`,
		`{"include":[],"input":"x"}`:                         `{"include":["message.output_text.logprobs"],"input":"x","top_logprobs":20}`,
		`{"include":["a.b" ],"input":"x"}`:                   `{"include":["a.b" ,"message.output_text.logprobs"],"input":"x","top_logprobs":20}`,
		`{"input":"x","top_logprobs":0}`:                     "",
		`{"input":"x","include":["` + logprobsWanted + `"]}`: "",
		`{"input":"x","include":"all"}`:                      "",
		`{"input":"x","Include":1}`:                          "",
		`{"prompt":{"id":"p"}}`:                              "",
	} {
		r, err := parseRequest([]byte(body), wire.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		got, ok := r.AskLogprobs([]byte(body))
		if ok != (want != "") || ok && string(got) != want {
			t.Errorf("%s becomes %s, %v", body, got, ok)
		}
	}
}

func TestResponseParts(t *testing.T) {
	r, err := parseResponse(fixture(t, "response.json"), wire.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	got := partsOf(r)
	for path, want := range map[string]wire.Part{
		"instructions":              {Choice: -1, Text: "Answer in one sentence; never guess.", Field: flow.FieldContent},
		"output[0].summary[0].text": {Text: "Two gauges matter.", Field: flow.FieldReasoning},
		"output[1].content[0].text": {Text: "I look it up.", Field: flow.FieldContent},
		"output[2].name":            {Text: "river_level", Field: flow.FieldToolName, Tool: "river_level"},
		"output[2].arguments":       {Text: `{"river":"Elbe"}`, Field: flow.FieldToolArguments, Tool: "river_level"},
		"tools[1].server_label":     {Choice: -1, Text: "tide-tables"},
	} {
		p := got[path]
		p.ID, p.Role, want.Message = 0, "", -1
		if p != want {
			t.Errorf("%s is %+v, not %+v", path, p, want)
		}
	}
	if c := r.Calls(); len(c) != 1 || c[0].Name != "river_level" || r.Parts()[c[0].Arguments].Text != `{"river":"Elbe"}` {
		t.Errorf("calls are %+v", c)
	}
	if r.ID() != "resp_6a1f0c2e9b7d4853a1f0c2e9b7d48530aa" || r.Logprobs() || !slices.Contains(r.Names(), r.ID()) {
		t.Errorf("id %s, logprobs %v", r.ID(), r.Logprobs())
	}
}

// Edits of a body are exact: the new texts are in their places, and nothing
// else has changed.
func TestRewriteIsExact(t *testing.T) {
	bodies := map[string][]byte{"request.json": fixture(t, "request.json"), "response.json": fixture(t, "response.json")}
	parse := func(name string, b []byte) (wire.Body, func(map[int]string) []byte) {
		if name == "request.json" {
			r, err := parseRequest(b, wire.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			return r, r.Rewrite
		}
		r, err := parseResponse(b, wire.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		return r, func(e map[int]string) []byte { return r.Rewrite(e, nil) }
	}
	rapid.Check(t, func(rt *rapid.T) {
		name := rapid.SampledFrom([]string{"request.json", "response.json"}).Draw(rt, "body")
		b, rewrite := parse(name, bodies[name])
		if string(rewrite(nil)) != string(bodies[name]) {
			rt.Fatal("the body changed without an edit")
		}
		edits := map[int]string{}
		for _, p := range b.Parts() {
			if !p.Fixed && p.Opaque == "" && rapid.IntRange(0, 2).Draw(rt, "edit") == 0 {
				edits[p.ID] = rapid.StringMatching(`[a-z"\\\n☕ ]{0,9}`).Draw(rt, "text")
			}
		}
		again, _ := parse(name, rewrite(edits))
		before, after := b.Parts(), again.Parts()
		if len(before) != len(after) {
			rt.Fatalf("%d parts, not %d", len(after), len(before))
		}
		for i := range before {
			want := before[i]
			if text, ok := edits[want.ID]; ok {
				want.Text = text
			}
			want.Tool, after[i].Tool = "", "" // a name may have been edited
			if after[i] != want {
				rt.Fatalf("%s is %+v, not %+v", again.Path(&after[i]), after[i], want)
			}
		}
	})
}

func FuzzRequest(f *testing.F) {
	f.Add(fixture(f, "request.json"))
	f.Add([]byte(`{"input":[{"type":"function_call","arguments":{"a":["b"]}}],"conversation":{"id":1},"include":[]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		r, err := parseRequest(body, wire.Limits{MaxBytes: 1 << 16})
		if err != nil {
			return
		}
		if string(r.Rewrite(nil)) != string(body) {
			t.Fatal("the body changed without an edit")
		}
		for i := range r.NumMessages() {
			if !json.Valid(r.MessageRaw(i)) {
				t.Fatal("a message is no JSON")
			}
			_ = r.MessageRole(i)
		}
		edits := map[int]string{}
		for _, p := range r.Parts() {
			_ = r.Path(&p)
			edits[p.ID] = "X\"Y"
		}
		out := r.Rewrite(edits)
		if !json.Valid(out) {
			t.Fatal("the edited body is no JSON")
		}
		if asked, ok := r.AskLogprobs(out); ok {
			again, err := parseRequest(asked, wire.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			if _, ok := again.AskLogprobs(asked); ok {
				t.Fatal("it asks again")
			}
		}
	})
}

func FuzzResponse(f *testing.F) {
	f.Add(fixture(f, "response.json"), uint64(5))
	f.Add([]byte(`{"status":"in_progress","output":[{"type":"message"}],"top_logprobs":2}`), uint64(0))
	f.Add([]byte(`{"output":[{"type":"function_call","arguments":{"a":["b"]}},{"type":"message","content":[{"text":"ab","logprobs":[{"token":"ab"}]}]}]}`), uint64(1))
	f.Fuzz(func(t *testing.T, body []byte, which uint64) {
		r, err := parseResponse(body, wire.Limits{MaxBytes: 1 << 16})
		if err != nil {
			return
		}
		if len(r.stray) == 0 && r.cut < 0 && string(r.Rewrite(nil, nil)) != string(body) {
			t.Fatal("the body changed without an edit")
		}
		edits, refused := map[int]string{}, map[int]string{}
		for _, p := range r.Parts() {
			_, _ = r.Tokens(&p)
			if which>>(p.ID%64)&1 == 1 {
				edits[p.ID] = "X\"Y"
			}
		}
		for i := range r.Calls() {
			if which>>(i%64)&1 == 0 {
				refused[i] = "no"
			}
		}
		if which%3 == 0 {
			r.DropLogprobs()
		}
		if out := r.Rewrite(edits, refused); !json.Valid(out) {
			t.Fatalf("the edited body is no JSON: %s", out)
		}
	})
}

// FuzzStream: no stream makes the codec panic; what is not edited goes out as
// it came; any edit gives an event, or an error; and any stream can be ended.
func FuzzStream(f *testing.F) {
	for _, name := range streams(f) {
		f.Add(fixture(f, name), uint64(0))
		f.Add(fixture(f, name), uint64(0x5555aaaa))
	}
	f.Fuzz(func(t *testing.T, raw []byte, which uint64) {
		if len(raw) > 1<<16 {
			return
		}
		s := &Stream{}
		s.Reset(wire.Limits{MaxBytes: 1 << 16}, which&2 != 0)
		calls := map[int]bool{}
		n := 0
		for _, ev := range split(t, raw) {
			if ev.Data == nil || ev.Incomplete {
				continue
			}
			c, err := s.Parse(ev)
			if err != nil {
				return
			}
			n++
			o := &flow.Outgoing{Raw: ev.Raw, Data: ev.Data}
			if which>>(n%64)&1 == 1 {
				o.Edit = &flow.Edit{Text: map[int][]byte{}, Call: func(_, item int) (int, bool) { return item, calls[item] }}
				for i, d := range c.Deltas {
					if i%3 == 0 {
						o.Edit.Text[i] = []byte(`"X"`)
					}
					if d.Key.Choice == 0 && d.Key.Field == flow.FieldToolArguments && !calls[d.Key.Item] {
						calls[d.Key.Item] = true
						o.Notices = append(o.Notices, flow.Notice{Item: d.Key.Item, Text: "no"})
					}
				}
			} else if len(calls) == 0 {
				out, err := s.Append(nil, o)
				if err != nil || string(out) != string(ev.Raw) {
					t.Fatalf("an event changed: %v", err)
				}
				continue
			}
			out, err := s.Append(nil, o)
			if err != nil {
				return // nothing more goes out
			}
			for _, g := range split(t, out) {
				if g.Data != nil && !json.Valid(g.Data) && string(g.Data) != string(ev.Data) {
					t.Fatalf("an edited event is no JSON: %s", g.Data)
				}
			}
		}
		for _, end := range [][]byte{s.Halt(nil), s.Fail(nil, &wire.Problem{Message: "m", Code: "c"})} {
			if got := split(t, end); len(got) != 1 || !json.Valid(got[0].Data) {
				t.Fatalf("the end is no JSON: %s", end)
			}
		}
	})
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
