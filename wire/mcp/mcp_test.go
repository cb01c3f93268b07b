package mcp

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
)

var samples = []string{
	`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"hi","n":[1,{"k":"v"}]},"_meta":{"progressToken":"p","io.modelcontextprotocol/protocolVersion":"2026-07-28"},"requestState":"s"}}`,
	`{"result":{"content":[{"type":"text","text":"{\"a\":\"b\"}"},{"type":"image","data":"iVBORw0KGgoAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA","mimeType":"image/png"}],"structuredContent":{"a":"b"},"isError":false},"jsonrpc":"2.0","id":"x"}` + "\n",
	`{"jsonrpc":"2.0","id":2,"result":{"contents":[{"uri":"a:b","blob":"aGVsbG8sIHdvcmxk"},{"uri":"a:c","blob":"AAEC/w/w/w/w/w/w/w/w/w/w/w/w/w/w/w/w/w/w/w/w/w/w/w/w/w/w/w/w/w/w/w/w"},{"uri":"a:d","text":"t"}]}}` + "\r\n",
	`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7,"reason":"why not"}}`,
	`{"jsonrpc":"2.0","id":3,"error":{"code":-32002,"message":"not found","data":{"uri":"x:y"}}}`,
	`{"jsonrpc":"2.0","id":4,"result":{"tools":[{"name":"t","description":"d","inputSchema":{"type":"object","properties":{"p":{"type":"string","default":"x"}}}}],"nextCursor":"abc"}}`,
	`[{"jsonrpc":"2.0","id":5,"method":"ping"},{"jsonrpc":"2.0","id":"6","result":{}}]`,
	`{"jsonrpc":"2.0","id":9,"result":{"action":"accept","content":{"password":"p"}}}`,
	`{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}`, `{"\u0069d":1,"jsonrpc":"2.0","method":"a"}`, `{"jsonrpc":"2.0","id":1.5,"method":"a"}`, `{"id":{"id":3}}`, "nonsense\n{}",
}

func TestEnvelope(t *testing.T) {
	for raw, want := range map[string]string{
		`{"jsonrpc":"2.0","id":1,"method":"a"}`:                                  "request 1",
		`{"jsonrpc":"2.0","id":"1","method":"a","params":{}}`:                    `request "1"`,
		`{"jsonrpc":"2.0","id":"\u0031","method":"a"}`:                           `request "1"`,
		`{"jsonrpc":"2.0","id":-7,"method":"a","x":1}`:                           "request -7",
		`{"jsonrpc":"2.0","method":"a"}`:                                         "notification ",
		`{"jsonrpc":"2.0","id":1,"result":null}`:                                 "response 1",
		`{"jsonrpc":"2.0","id":1,"result":5}`:                                    "response 1",
		`{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"m"}}`:              "failure 1",
		`{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"m"}}`:           "failure null",
		`{"jsonrpc":"2.0","error":{}}`:                                           "envelope",
		`{"jsonrpc":"1.0","id":1,"method":"a"}`:                                  "envelope",
		`{"id":1,"method":"a"}`:                                                  "envelope",
		`{"jsonrpc":"2.0","id":1}`:                                               "envelope",
		`{"jsonrpc":"2.0","id":1,"method":7}`:                                    "envelope",
		`{"jsonrpc":"2.0","id":1,"method":"a","params":"p"}`:                     "envelope",
		`{"jsonrpc":"2.0","id":1,"method":"a","result":1}`:                       "envelope",
		`{"jsonrpc":"2.0","id":1,"result":1,"error":{}}`:                         "envelope",
		`{"jsonrpc":"2.0","id":1,"result":1,"params":{}}`:                        "envelope",
		`{"jsonrpc":"2.0","id":null,"method":"a"}`:                               "id",
		`{"jsonrpc":"2.0","id":null,"result":1}`:                                 "id",
		`{"jsonrpc":"2.0","id":1.0,"method":"a"}`:                                "id",
		`{"jsonrpc":"2.0","id":1e3,"method":"a"}`:                                "id",
		`{"jsonrpc":"2.0","id":true,"method":"a"}`:                               "id",
		`{"jsonrpc":"2.0","id":"` + strings.Repeat("x", 257) + `","method":"a"}`: "id",
		`{"jsonrpc":"2.0","id":1,"ID":2,"method":"a"}`:                           "case-variant-key",
		`{"jsonrpc":"2.0","id":1,"id":1,"method":"a"}`:                           "duplicate-key",
		`[]`:         "batch",
		`"x"`:        "envelope",
		`{`:          "syntax",
		"{\"a\xff\"": "invalid-utf8",
	} {
		var p Parser
		m, err := p.Parse([]byte(raw))
		var e *Error
		got := ""
		if errors.As(err, &e) {
			got = e.Reason
		} else {
			got = []string{"request", "notification", "response", "failure"}[m.Kind] + " " + string(m.ID)
		}
		if got != want {
			t.Errorf("%.80s is %s, want %s", raw, got, want)
		}
	}
}

// Everything that may hold text is a part, and nothing else is.
func TestParts(t *testing.T) {
	for _, c := range []struct {
		raw, request         string
		parts, names, states []string
	}{
		{
			samples[0], "",
			[]string{`json+arguments:{"text":"hi","n":[1,{"k":"v"}]}`},
			[]string{"tools/call", "echo", "p", "2026-07-28"},
			[]string{"s"},
		},
		{samples[1], "tools/call", []string{"text", `{"a":"b"}`, "image", "opaque:image", "image/png", `json:{"a":"b"}`}, []string{"x"}, nil},
		{samples[2], "resources/read", []string{"a:b", "hello, world", "a:c", "opaque:file", "a:d", "t"}, nil, nil},
		{samples[3], "", []string{"why not"}, []string{"notifications/cancelled"}, nil},
		{samples[4], "resources/read", []string{"not found", `json:{"uri":"x:y"}`}, nil, nil},
		{samples[5], "tools/list", []string{"d", "object", "string", "x"}, []string{"t"}, []string{"abc"}},
		{samples[7], "", []string{"accept", `json:{"password":"p"}`}, nil, nil},
		{`{"jsonrpc":"2.0","method":"x/y","params":{"unheard":["of",{"strange":"thing"}]},"extra":"e"}`, "", []string{"key:unheard", "of", "key:strange", "thing", "key:extra", "e"}, []string{"x/y"}, nil},
		{`{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"image","data":"not base64!"}]}}`, "tools/call", []string{"image", "not base64!"}, nil, nil},
		{`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":"no object"}}`, "", []string{`json+arguments:"no object"`}, []string{"tools/call", "a"}, nil},
		{`{"jsonrpc":"2.0","id":1,"result":{"resources":[{"name":"n","uri":"u:v","icons":[{"src":"data:image/png;base64,AAEC"},{"src":"https://x/y"}]}]}}`, "resources/list", []string{"n", "u:v", "opaque:image", "https://x/y"}, nil, nil},
		{`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"plain"}}`, "", []string{"info", "plain"}, []string{"notifications/message"}, nil},
		{`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":["a","b"]}}`, "", []string{"info", `json:["a","b"]`}, []string{"notifications/message"}, nil},
	} {
		var p Parser
		m, err := p.Parse([]byte(strings.TrimSpace(c.raw)))
		if err != nil {
			t.Fatalf("%s: %v", c.raw, err)
		}
		var got []string
		for _, part := range m.Parts(c.request) {
			s := part.Text
			switch {
			case part.Key:
				s = "key:" + s
			case part.Opaque != "":
				s = "opaque:" + part.Opaque
			case m.Arguments() == part.ID:
				s = "json+arguments:" + s
			case part.JSON:
				s = "json:" + s
			}
			got = append(got, s)
		}
		if !slices.Equal(got, c.parts) || !slices.Equal(m.Names(), c.names) || !slices.Equal(m.States(), c.states) {
			t.Errorf("%s:\n got %q %q %q\nwant %q %q %q", c.raw, got, m.Names(), m.States(), c.parts, c.names, c.states)
		}
	}
}

// Edits touch their strings alone.
func TestRewrite(t *testing.T) {
	for _, c := range []struct {
		raw, want string
		edits     map[string]string
	}{
		{`{ "jsonrpc" : "2.0", "id":1, "result": {"content":[{"type":"text","text":"a\u0062c"},{"text":"z"}]} }`, `{ "jsonrpc" : "2.0", "id":1, "result": {"content":[{"type":"text","text":"new \"q\""},{"text":"z"}]} }`, map[string]string{"abc": `new "q"`}},
		{samples[2], `{"jsonrpc":"2.0","id":2,"result":{"contents":[{"uri":"a:b","blob":"YnllYnll"},{"uri":"a:c","blob":"AAEC/w/w/w/w/w/w/w/w/w/w/w/w/w/w/w/w/w/w/w/w/w/w/w/w/w/w/w/w/w/w/w/w"},{"uri":"a:d","text":"t"}]}}`, map[string]string{"hello, world": "byebye"}},
		// The copies agree, whichever was edited.
		{samples[1], `{"result":{"content":[{"type":"text","text":"{\"a\":\"N\"}"},{"type":"image","data":"iVBORw0KGgoAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA","mimeType":"image/png"}],"structuredContent":{"a":"N"},"isError":false},"jsonrpc":"2.0","id":"x"}`, map[string]string{`{"a":"b"}`: `{"a":"N"}`}},
		{`{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"{ \"a\": \"b\" }"}],"structuredContent":{"a":"b"}}}`, `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"{ \"a\": \"N\" }"}],"structuredContent":{ "a": "N" }}}`, map[string]string{`{ "a": "b" }`: `{ "a": "N" }`}},
		{`{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"{ \"a\": \"b\" }"}],"structuredContent":{"a":"b"}}}`, `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"{\"a\":\"N\"}"}],"structuredContent":{"a":"N"}}}`, map[string]string{`{"a":"b"}`: `{"a":"N"}`}},
		{`{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"other"}],"structuredContent":{"a":"b"}}}`, `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"other"}],"structuredContent":{"a":"N"}}}`, map[string]string{`{"a":"b"}`: `{"a":"N"}`}},
	} {
		var p Parser
		m, err := p.Parse([]byte(strings.TrimSpace(c.raw)))
		if err != nil {
			t.Fatal(err)
		}
		edits := map[int]string{}
		for _, part := range m.Parts("tools/call") {
			if text, ok := c.edits[part.Text]; ok && !part.Key {
				edits[part.ID] = text
			}
		}
		got, err := p.Rewrite(m, edits)
		if err != nil || string(got) != c.want {
			t.Errorf("got  %s\nwant %s (%v)", got, c.want, err)
		}
	}
	var p Parser
	m, _ := p.Parse([]byte(samples[0]))
	m.Parts("")
	if _, err := p.Rewrite(m, map[int]string{m.Arguments(): `{"broken`}); err == nil {
		t.Error("a message that is none was written")
	}
}

func TestSkim(t *testing.T) {
	for raw, want := range map[string][]About{
		`{"jsonrpc":"2.0","id":1,"id":2,"method":"a"}`:                        {{"2", true}},
		`{"result":{"id":5,"method":"x","y":[{"id":6}]},"id":"a\"b"`:          {{`"a\"b"`, false}},
		`{"id": 12 ,"result": "cut`:                                           {{"12", false}},
		`[{"id":1,"method":"a"},{"id":2,"result":{}},{"method":"n"},"x",[1]]`: {{"1", true}, {"2", false}},
		`{"id":1.5}`:                    nil,
		`{"id":{"id":1}`:                nil,
		`banner: {"id":3,"method":"m"}`: {{"3", true}},
		`}}}]]],,,:::`:                  nil,
		``:                              nil,
	} {
		if got := Skim([]byte(raw)); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, want %v", raw, got, want)
		}
	}
}

// A line that is too large is told by its id, and takes no memory.
func TestTooLarge(t *testing.T) {
	in := NewReader(strings.NewReader(`{"result":"`+strings.Repeat("x", 1<<20)+`","id":77}`+"\n"+`{"a":1}`+"\n"+"cut"), 1000)
	l, err := in.Next()
	if err != nil || !l.TooLarge || l.Raw != nil || !reflect.DeepEqual(l.About, []About{{"77", false}}) {
		t.Errorf("%+v, %v", l, err)
	}
	if l, err := in.Next(); err != nil || string(l.Raw) != "{\"a\":1}\n" {
		t.Errorf("%+v, %v", l, err)
	}
	if l, err := in.Next(); err != nil || !l.Cut || string(l.Raw) != "cut" {
		t.Errorf("%+v, %v", l, err)
	}
}

// What a tool says of itself is the same in any order and spacing, and
// another thing with any other word.
func TestTools(t *testing.T) {
	list := func(tools string) []Tool {
		var p Parser
		m, err := p.Parse([]byte(`{"jsonrpc":"2.0","id":1,"result":{"tools":[` + tools + `]}}`))
		if err != nil {
			t.Fatal(err)
		}
		return m.Tools()
	}
	base := list(`{"name":"a","description":"d","inputSchema":{"type":"object","properties":{"x":{"type":"string"}}}}`)[0]
	for tool, same := range map[string]bool{
		`{"inputSchema":{"properties":{"x":{"type":"string"}},"type":"object"}, "description":"\u0064", "name":"a"}`:                   true,
		`{"name":"a","description":"d","inputSchema":{"type":"object","properties":{"x":{"type":"string"}}},"_meta":{"x":"y"}}`:        true,
		`{"name":"a","description":"d ","inputSchema":{"type":"object","properties":{"x":{"type":"string"}}}}`:                         false,
		`{"name":"a","description":"d","inputSchema":{"type":"object","properties":{"y":{"type":"string"}}}}`:                          false,
		`{"name":"a","description":"d","title":"","inputSchema":{"type":"object","properties":{"x":{"type":"string"}}}}`:               false,
		`{"name":"a","inputSchema":{"type":"object","properties":{"x":{"type":"string"}}},"title":"d"}`:                                false,
		`{"name":"a","description":"d","inputSchema":{"type":"object","properties":{"x":{"type":"string"}}},"outputSchema":{}}`:        false,
		`{"name":"a","description":"d","inputSchema":{"type":"object","properties":{"x":{"type":"string"}}},"annotations":{"a":true}}`: false,
	} {
		if got := list(tool)[0]; (string(got.Canonical) == string(base.Canonical)) != same {
			t.Errorf("%s: the same: %v, want %v", tool, !same, same)
		}
	}
	if got := list(`{"name":"a"},7,{"name":"b"}`); len(got) != 3 || got[2].Name != "b" {
		t.Errorf("%+v", got)
	}
}

// Messages of Margay's own are messages.
func TestRender(t *testing.T) {
	for _, raw := range [][]byte{
		NewFailure(`"x"`, CodeDenied, "m \"q\"", "r", "D"), NewFailure("", CodeParse, "m", "r", ""), NewRefusal("7", true, "no"), NewRefusal("7", false, "no"),
	} {
		var p Parser
		m, err := p.Parse(raw)
		if err != nil || m.Kind != Response && m.Kind != Failure {
			t.Errorf("%s: %v", raw, err)
		}
	}
	if a := string(NewRefusal("7", false, "no")); strings.Contains(a, "resultType") {
		t.Error("the older generation has no types of results")
	}
}

func TestHeaderText(t *testing.T) {
	for in, want := range map[string]string{"plain": "plain", "=?base64?aMOp?=": "hé", "=?base64?x": "=?base64?x"} {
		if got, ok := HeaderText(in); got != want || !ok {
			t.Errorf("%s is %q", in, got)
		}
	}
	if _, ok := HeaderText("=?base64?!?="); ok {
		t.Error("broken base64 was taken")
	}
}
