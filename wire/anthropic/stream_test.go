package anthropic

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/sse"
	"github.com/margaydev/margay/internal/testkit"
	"github.com/margaydev/margay/wire"
)

// ev is an event with its type.
func ev(data string) *sse.Event {
	typ, _, _ := strings.Cut(strings.TrimPrefix(data, `{"type":"`), `"`)
	raw := "event: " + typ + "\ndata: " + data + "\n\n"
	return &sse.Event{Raw: []byte(raw), Type: []byte(typ), Data: []byte(data)}
}

func start(i int, block string) string {
	return fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":%s}`, i, block)
}

func delta(i int, delta string) string {
	return fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":%s}`, i, delta)
}

func stop(i int) string { return fmt.Sprintf(`{"type":"content_block_stop","index":%d}`, i) }

const (
	begin = `{"type":"message_start","message":{"id":"msg_01","type":"message","role":"assistant","model":"claude-m","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":5,"output_tokens":2,"service_tier":"standard"}}}`
	end   = `{"type":"message_stop"}`
)

func reasonFor(reason string) string {
	return fmt.Sprintf(`{"type":"message_delta","delta":{"stop_reason":%q,"stop_sequence":null},"usage":{"output_tokens":9}}`, reason)
}

// What a parser says of each event of a stream.
func TestEvents(t *testing.T) {
	var s Stream
	s.Reset(wire.Limits{}, false)
	if s.Open() {
		t.Error("an answer is open before it begins")
	}
	for _, c := range []struct{ event, want string }{
		{`{"type":"ping"}`, ``},
		{begin, `names=msg_01,claude-m usage`},
		{start(0, `{"type":"thinking","thinking":"a","signature":""}`), `0/reasoning/0/!=a -1/other/0/content_block.signature=`},
		{delta(0, `{"type":"thinking_delta","thinking":"b\n"}`), "0/reasoning/0/!=b\n"},
		{delta(0, `{"type":"signature_delta","signature":"`+long+`"}`), `names=` + long},
		{delta(0, `{"type":"signature_delta","signature":"`+long+`"}`), `names=` + (long + long)[max(0, len(long)-tailLength):]},
		{delta(0, `{"type":"signature_delta","signature":"not sealed"}`), `0/other/0/signature_delta.delta.signature!=not sealed`},
		{stop(0), `ended=0`},
		{start(1, `{"type":"text","text":""}`), `0/content/1/=`},
		{delta(1, `{"type":"text_delta","text":"t"}`), `0/content/1/=t`},
		{delta(1, `{"type":"citations_delta","citation":{"type":"char_location","cited_text":"c","document_title":"d"}}`), `-1/other/1/delta.citation.cited_text=c -1/other/1/delta.citation.document_title=d`},
		{stop(1), `ended=1`},
		{start(2, `{"type":"tool_use","id":"toolu_1","name":"f","input":{}}`), `0/tool-name/2/=f names=toolu_1`},
		{delta(2, `{"type":"input_json_delta","partial_json":"{\"a\":"}`), `0/tool-arguments/2/={"a":`},
		{delta(2, `{"type":"input_json_delta","partial_json":{"odd":"x"}}`), `0/tool-arguments/2/={"odd":"x"}`},
		{stop(2), `ended=2`},
		{start(3, `{"type":"tool_use","id":"toolu_2","name":"g","input":{"b":"c"}}`), `0/tool-name/3/=g 0/tool-arguments/3/={"b":"c"} names=toolu_2`},
		{stop(3), `ended=3`},
		{start(4, `{"type":"tool_use"}`), `0/tool-arguments/4/=`},
		{stop(4), `ended=4`},
		{start(5, `{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{}}`), `-1/other/5/content_block.name=web_search names=srvtoolu_1`},
		{delta(5, `{"type":"input_json_delta","partial_json":"{\"q"}`), `0/other/5/input={"q`},
		{delta(5, `{"type":"input_json_delta","partial_json":"\":1}"}`), `0/other/5/input=":1}`},
		{stop(5), `ended=5`},
		{
			start(6, `{"type":"code_execution_tool_result","tool_use_id":"srvtoolu_1","content":{"type":"code_execution_result","stdout":"out","stderr":"","content":[{"type":"code_execution_output","file_id":"file_1"}]}}`),
			`-1/other/6/content_block.content.stdout=out -1/other/6/content_block.content.stderr= names=srvtoolu_1,file_1`,
		},
		{stop(6), `ended=6`},
		{start(7, `{"type":"redacted_thinking","data":"`+long+`"}`), `names=` + long},
		{stop(7), `ended=7`},
		{start(8, `{"type":"novel","words":["x"],"a key of it":1}`), `-1/other/8/content_block.type=novel -1/other/8/content_block.words[0]=x -1/other/0/key=words -1/other/0/key=a key of it`},
		{delta(8, `{"type":"novel_delta","deep":{"words":"y"}}`), `-1/other/8/delta.type=novel_delta 0/other/8/novel_delta.delta.deep.words=y -1/other/0/key=deep -1/other/0/key=words`},
		{stop(8), `ended=8`},
		{
			`{"type":"message_delta","delta":{"stop_reason":"stop_sequence","stop_sequence":"the end","container":{"id":"container_1","expires_at":"2026"}},"usage":{"output_tokens":11}}`,
			`-1/other/0/delta.stop_sequence=the end -1/other/0/delta.container.expires_at=2026 names=container_1 finished=stop_sequence usage`,
		},
		{end, `done`},
	} {
		got, err := s.Parse(ev(c.event))
		if err != nil {
			t.Fatalf("%s: %v", c.event, err)
		}
		if told := tell(got); told != c.want {
			t.Errorf("%s\n\ttells %q\n\twant  %q", c.event, told, c.want)
		}
		if open := c.event != `{"type":"ping"}` && c.event != end; s.Open() != open {
			t.Errorf("%s: open is %v", c.event, s.Open())
		}
	}
	got, err := s.Parse(ev(`{"type":"error","error":{"type":"overloaded_error","message":"busy"},"request_id":"req_1"}`))
	if err != nil || !got.Error || tell(got) != "-1/other/0/error.message=busy names=req_1" {
		t.Errorf("an error: %s, %v", tell(got), err)
	}
}

// tell writes a chunk down.
func tell(c *wire.Chunk) string {
	var out []string
	for _, d := range c.Deltas {
		path := d.Key.Path
		if d.Fixed {
			path += "!"
		}
		out = append(out, fmt.Sprintf("%d/%s/%d/%s=%s", d.Key.Choice, d.Key.Field, d.Key.Item, path, d.Text))
	}
	if len(c.Names) > 0 {
		out = append(out, "names="+string(bytes.Join(c.Names, []byte(","))))
	}
	for _, e := range c.Ended {
		out = append(out, fmt.Sprintf("ended=%d", e.Item))
	}
	for _, f := range c.Finished {
		out = append(out, "finished="+f.Reason)
	}
	if c.Usage {
		out = append(out, "usage")
	}
	if c.Done {
		out = append(out, "done")
	}
	return strings.ReplaceAll(strings.Join(out, " "), "/other/", "/other/")
}

// A message may begin with blocks, to which the next ones are added.
func TestMessageWithBlocks(t *testing.T) {
	var s Stream
	s.Reset(wire.Limits{}, false)
	first := strings.Replace(begin, `"content":[]`, `"content":[{"type":"text","text":"so far"}]`, 1)
	c, err := s.Parse(ev(first))
	if err != nil || !strings.HasPrefix(tell(c), "0/content/0/=so far ") {
		t.Fatalf("%s, %v", tell(c), err)
	}
	if _, err := s.Append(nil, &flow.Outgoing{Raw: ev(first).Raw, Data: []byte(first)}); err != nil {
		t.Fatal(err)
	}
	if c, err = s.Parse(ev(delta(0, `{"type":"text_delta","text":" on"}`))); err != nil || tell(c) != "0/content/0/= on" {
		t.Errorf("%s, %v", tell(c), err)
	}
	if got := string(s.Halt(nil)); !strings.HasPrefix(got, "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n") || !strings.Contains(got, `"usage":{"output_tokens":2}`) {
		t.Errorf("halted: %s", got)
	}
}

// What clients would read differently, or not at all, ends the stream.
func TestBadStreams(t *testing.T) {
	text := start(0, `{"type":"text","text":""}`)
	plain := func(data string) *sse.Event {
		return &sse.Event{Raw: []byte("data: " + data + "\n\n"), Data: []byte(data)}
	}
	odd := ev(delta(0, `{"type":"text_delta","text":"x"}`))
	odd.Type = []byte("ping")
	untyped := ev(`{"index":0,"delta":{"text":"x"}}`)
	untyped.Type = []byte("content_block_delta")
	for name, events := range map[string][]*sse.Event{
		"no JSON":                 {ev(`{`)},
		"no object":               {ev(`[]`)},
		"duplicate key":           {ev(`{"type":"ping","type":"ping"}`)},
		"no index":                {ev(`{"type":"content_block_start","content_block":{}}`)},
		"a gap":                   {ev(start(1, `{"type":"text","text":""}`))},
		"begun twice":             {ev(text), ev(text)},
		"not begun":               {ev(delta(0, `{"type":"text_delta","text":"x"}`))},
		"ended":                   {ev(text), ev(stop(0)), ev(delta(0, `{"type":"text_delta","text":"x"}`))},
		"ended, with a template":  {ev(text), ev(delta(0, `{"type":"text_delta","text":"x"}`)), ev(stop(0)), ev(delta(0, `{"type":"text_delta","text":"x"}`))},
		"ended twice":             {ev(text), ev(stop(0)), ev(stop(0))},
		"another type":            {ev(text), odd},
		"data without a type":     {ev(text), untyped},
		"some have a type":        {ev(text), plain(delta(0, `{"type":"text_delta","text":"x"}`))},
		"some have none":          {plain(text), ev(delta(0, `{"type":"text_delta","text":"x"}`))},
		"a second message":        {ev(begin), ev(begin)},
		"begun twice by messages": {ev(strings.Replace(begin, `[]`, `[{"type":"text","text":""}]`, 1)), ev(text)},
	} {
		var s Stream
		s.Reset(wire.Limits{}, false)
		for i, e := range events {
			_, err := s.Parse(e)
			if last := i == len(events)-1; (err != nil) != last {
				t.Errorf("%s: event %d: %v", name, i, err)
			}
		}
	}
	var s Stream
	s.Reset(wire.Limits{}, false)
	for i := range maxBlocks + 1 {
		if _, err := s.Parse(ev(start(i, `{"type":"text","text":""}`))); (err != nil) != (i == maxBlocks) {
			t.Fatalf("block %d: %v", i, err)
		}
	}
}

// Streams without types of events are read, too.
func TestUntypedStream(t *testing.T) {
	var s Stream
	s.Reset(wire.Limits{}, false)
	for _, data := range []string{begin, start(0, `{"type":"text","text":""}`), delta(0, `{"type":"text_delta","text":"x"}`), stop(0), reasonFor("end_turn"), end} {
		if _, err := s.Parse(&sse.Event{Raw: []byte("data: " + data + "\n\n"), Data: []byte(data)}); err != nil {
			t.Errorf("%s: %v", data, err)
		}
	}
}

func TestAppend(t *testing.T) {
	drop := func(_, i int) (int, bool) { return i, i == 1 }
	for name, c := range map[string]struct {
		data string
		edit flow.Edit
		say  []flow.Notice
		want string // data; an error with "!"
	}{
		"text":               {delta(0, `{"type":"text_delta","text":"a"}`), flow.Edit{Text: map[int][]byte{0: []byte(`"b"`)}}, nil, delta(0, `{"type":"text_delta","text":"\"b\""}`)},
		"spaces stay":        {`{ "type": "content_block_delta", "index": 0, "delta": { "type": "text_delta", "text": "a" } }`, flow.Edit{Text: map[int][]byte{0: nil}}, nil, `{ "type": "content_block_delta", "index": 0, "delta": { "type": "text_delta", "text": "" } }`},
		"input":              {start(0, `{"type":"tool_use","name":"f","input":{"a":1}}`), flow.Edit{Text: map[int][]byte{1: []byte(`{"b":2}`)}}, nil, start(0, `{"type":"tool_use","name":"f","input":{"b":2}}`)},
		"no JSON":            {start(0, `{"type":"tool_use","name":"f","input":{"a":1}}`), flow.Edit{Text: map[int][]byte{1: []byte(`{"b":`)}}, nil, "!"},
		"thinking":           {delta(0, `{"type":"thinking_delta","thinking":"a"}`), flow.Edit{Text: map[int][]byte{0: []byte("b")}}, nil, "!"},
		"a key":              {delta(0, `{"type":"x","a key":1}`), flow.Edit{Text: map[int][]byte{1: []byte("b")}}, nil, "!"},
		"no place":           {delta(0, `{"type":"text_delta","text":"a"}`), flow.Edit{Text: map[int][]byte{1: []byte("b")}}, nil, "!"},
		"a mark":             {start(0, `{"type":"tool_use","input":{}}`), flow.Edit{Text: map[int][]byte{0: []byte("b")}}, nil, "!"},
		"say nowhere":        {delta(0, `{"type":"text_delta","text":"a"}`), flow.Edit{Text: map[int][]byte{0: []byte("b")}}, []flow.Notice{{Text: "x"}}, "!"},
		"another call stays": {start(0, `{"type":"tool_use","name":"f","input":{}}`), flow.Edit{Call: drop}, nil, start(0, `{"type":"tool_use","name":"f","input":{}}`)},
		"end of turn":        {reasonFor("tool_use"), flow.Edit{Finish: func(int, string) string { return "stop" }}, nil, reasonFor("end_turn")},
		"calls left":         {reasonFor("tool_use"), flow.Edit{Finish: func(_ int, r string) string { return r }}, nil, reasonFor("tool_use")},
		"other end":          {reasonFor("max_tokens"), flow.Edit{Finish: func(int, string) string { return "stop" }}, nil, reasonFor("max_tokens")},
	} {
		var s Stream
		s.Reset(wire.Limits{}, false)
		got, err := s.Append(nil, &flow.Outgoing{Raw: ev(c.data).Raw, Data: []byte(c.data), Edit: &c.edit, Notices: c.say})
		if c.want == "!" {
			if err == nil {
				t.Errorf("%s: %s", name, got)
			}
			continue
		}
		typ, _, _ := strings.Cut(string(ev(c.data).Raw), "\n")
		if err != nil || string(got) != typ+"\ndata: "+c.want+"\n\n" {
			t.Errorf("%s: %s, %v", name, got, err)
		}
	}
}

// What a parser that has seen other events says of an event is what one says
// that parses each.
func TestTemplateGivesWhatAParseGives(t *testing.T) {
	heads := []string{
		`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"`,
		`{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"`,
		`{"type":"content_block_delta","index":2,"delta":{"type":"thinking_delta","thinking":"`,
		`{"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"`,
		`{"type":"content_block_delta","index":2,"delta":{"type":"signature_delta","signature":"`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"citations_delta","citation":{"cited_text":"`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"other_delta","content":"`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"`,
		`{"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "`,
		`{"\u0074ype":"content_block_delta","index":0,"d\u0065lta":{"type":"text_delta","t\u0065xt":"`,
		`{"type":"ping","x":{"y":"`, `{"type":"content_block_delta","index":7,"delta":{"type":"text_delta","text":"`,
	}
	tails := []string{`"}}`, `"} }`, `"},"p":"abcd"}`, `","text2":"x"}}`, `","thinking":"y"}}`, `"}`, `"}}}`, ``, `","type":"text_delta"}}`}
	texts := []string{"", "a", "word ", "ünï ☕", `q\"uote`, `\u00e9`, `","text":"`, "\xff", "\x01", `\`, `"`, "\xe2\x98", `\n`, `\\`, `\ud83d\ude00`, `\ud83d`, `\x`, `a\"b\tc`, long, "text_delta", `{\"a\":`}
	rng := rand.New(rand.NewPCG(1, 2))
	fast, slow := parser{}, parser{}
	for _, p := range []*parser{&fast, &slow} {
		p.reset(wire.Limits{MaxBytes: 600})
		for i, b := range []string{"text", "tool_use", "thinking", "server_tool_use"} {
			if _, err := p.parse(ev(start(i, `{"type":"`+b+`"}`))); err != nil {
				t.Fatal(err)
			}
		}
	}
	head, tail, hits := heads[0], tails[0], 0
	for i := range 60000 {
		if rng.IntN(4) == 0 {
			head = heads[rng.IntN(len(heads))]
		}
		if rng.IntN(4) == 0 {
			tail = tails[rng.IntN(len(tails))]
		}
		text := texts[rng.IntN(len(texts))]
		if rng.IntN(50) == 0 {
			text = fmt.Sprintf("%0600d", 0)
		}
		e := &sse.Event{Data: []byte(head + text + tail), Type: []byte("content_block_delta")}
		if strings.HasPrefix(head, `{"type":"ping"`) {
			e.Type = []byte("ping")
		}
		if c, _ := fast.Recall(e.Type, e.Data); c != nil {
			hits++
		}
		slow.Reset(slow.Limits, false)
		want, wantErr := slow.parse(e)
		got, err := fast.parse(e)
		if (err != nil) != (wantErr != nil) {
			t.Fatalf("event %d: %v, alone %v", i, err, wantErr)
		}
		if err == nil && fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", want) {
			t.Fatalf("event %d of %d bytes is read in another way than alone:\n%+v\n%+v", i, len(e.Data), got, want)
		}
	}
	if hits < 1000 {
		t.Errorf("only %d events fitted a template", hits)
	}
}

// script draws a valid stream. Blocks begin in order; those that are open are
// added to in any order.
func script(t *rapid.T) []string {
	word := rapid.StringMatching(`[a-zé"\\ \n{}:]{0,12}`)
	quoted := func() string { b, _ := json.Marshal(word.Draw(t, "text")); return string(b) }
	out := []string{begin}
	n := rapid.IntRange(0, 5).Draw(t, "blocks")
	type open struct {
		index  int
		deltas []string
	}
	var opened []open
	flush := func(i int) {
		o := &opened[i]
		if len(o.deltas) > 0 {
			out, o.deltas = append(out, o.deltas[0]), o.deltas[1:]
			return
		}
		out = append(out, stop(o.index))
		opened = append(opened[:i], opened[i+1:]...)
	}
	for i := range n {
		o := open{index: i}
		pieces := rapid.IntRange(0, 3).Draw(t, "pieces")
		switch rapid.IntRange(0, 4).Draw(t, "kind") {
		case 0:
			out = append(out, start(i, `{"type":"text","text":`+quoted()+`}`))
			for range pieces {
				o.deltas = append(o.deltas, delta(i, `{"type":"text_delta","text":`+quoted()+`}`))
			}
		case 1:
			out = append(out, start(i, `{"type":"thinking","thinking":"","signature":""}`))
			for range pieces {
				o.deltas = append(o.deltas, delta(i, `{"type":"thinking_delta","thinking":`+quoted()+`}`))
			}
			o.deltas = append(o.deltas, delta(i, `{"type":"signature_delta","signature":"`+long+`"}`))
		case 2:
			out = append(out, start(i, fmt.Sprintf(`{"type":"tool_use","id":"toolu_%d","name":"f","input":{}}`, i)))
			text := `{"k":` + quoted() + `}`
			cut := rapid.IntRange(0, len(text)).Draw(t, "cut")
			for _, p := range []string{text[:cut], text[cut:]} {
				b, _ := json.Marshal(strings.ToValidUTF8(p, ""))
				o.deltas = append(o.deltas, delta(i, `{"type":"input_json_delta","partial_json":`+string(b)+`}`))
			}
		case 3:
			out = append(out, start(i, `{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"q":`+quoted()+`}}`))
		case 4:
			out = append(out, start(i, `{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[{"type":"web_search_result","title":`+quoted()+`}]}`))
		}
		opened = append(opened, o)
		for len(opened) > 0 && rapid.Bool().Draw(t, "go on") {
			flush(rapid.IntRange(0, len(opened)-1).Draw(t, "which"))
		}
		if rapid.IntRange(0, 5).Draw(t, "ping") == 0 {
			out = append(out, `{"type":"ping"}`)
		}
	}
	for len(opened) > 0 {
		flush(0)
	}
	return append(out, reasonFor("tool_use"), end)
}

// slowly reads n bytes at a time.
type slowly struct {
	r io.Reader
	n int
}

func (s slowly) Read(p []byte) (int, error) { return s.r.Read(p[:min(s.n, len(p))]) }

// However a stream is cut, it is read in the same way and goes out as it came.
func TestStreamsPassAsTheyCame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		events := script(t)
		var raw []byte
		for _, e := range events {
			raw = append(raw, ev(e).Raw...)
		}
		in := sse.NewReader(slowly{bytes.NewReader(raw), rapid.IntRange(1, 64).Draw(t, "size")}, 1<<20)
		var s, whole Stream
		s.Reset(wire.Limits{}, false)
		whole.Reset(wire.Limits{}, false)
		var out []byte
		for i := 0; ; i++ {
			e, err := in.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			c, err := s.Parse(e)
			if err != nil {
				t.Fatal(err)
			}
			want, err := whole.Parse(ev(events[i]))
			if err != nil || tell(c) != tell(want) {
				t.Fatalf("event %d is read as %q, want %q, %v", i, tell(c), tell(want), err)
			}
			if out, err = s.Append(out, &flow.Outgoing{Raw: e.Raw, Data: e.Data}); err != nil {
				t.Fatal(err)
			}
		}
		if !bytes.Equal(out, raw) || s.Open() {
			t.Fatal("the stream changed, or is still open")
		}
		if _, err := testkit.ReadMessage(string(out)); err != nil {
			t.Fatalf("the script is no valid stream: %v", err)
		}
	})
}

// Whatever is edited, and wherever the answer is halted, a client can read what
// goes out.
func TestEditedStreamsAreValid(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		events := script(t)
		dropped := map[int]bool{}
		for i := range 6 {
			dropped[i] = rapid.Bool().Draw(t, "drop")
		}
		halt := rapid.IntRange(0, 2*len(events)).Draw(t, "halt")
		fail := rapid.Bool().Draw(t, "fail")
		var s Stream
		s.Reset(wire.Limits{}, false)
		var out []byte
		calls := map[int]bool{}
		want := map[int]string{}
		for i, data := range events {
			e := ev(data)
			c, err := s.Parse(e)
			if err != nil {
				t.Fatal(err)
			}
			if i >= halt {
				continue // it arrives, and waits
			}
			o := &flow.Outgoing{Raw: e.Raw, Data: e.Data, Edit: &flow.Edit{Text: map[int][]byte{}}}
			o.Edit.Call = func(_, item int) (int, bool) { return item, calls[item] && dropped[item] }
			o.Edit.Finish = func(_ int, r string) string {
				for item := range calls {
					if !dropped[item] {
						return r
					}
				}
				return "stop"
			}
			for k, d := range c.Deltas {
				if d.Key.Field == flow.FieldToolName {
					calls[d.Key.Item] = true
					if dropped[d.Key.Item] {
						o.Notices = append(o.Notices, flow.Notice{Item: d.Key.Item, Text: "no \"call\""})
					}
				}
				text := string(d.Text)
				if d.Key.Field == flow.FieldContent && rapid.Bool().Draw(t, "edit") {
					text = "[x\n]"
					o.Edit.Text[k] = []byte(text)
				}
				if d.Key.Field == flow.FieldContent || d.Key.Field == flow.FieldReasoning {
					want[d.Key.Item] += text
				}
			}
			if out, err = s.Append(out, o); err != nil {
				t.Fatal(err)
			}
		}
		if halt < len(events) {
			if fail {
				out = s.Fail(out, &wire.Problem{Message: "m", Code: "c"})
			} else {
				out = s.Halt(out)
			}
		}
		m, err := testkit.ReadMessage(string(out))
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		for i, b := range m.Blocks {
			switch {
			case calls[i] && dropped[i]:
				if b.Type != "text" || b.Text != `no "call"` || b.Input != "" {
					t.Fatalf("a call that is not made is %+v", b)
				}
			case b.Text != want[i]:
				t.Fatalf("block %d says %q, want %q", i, b.Text, want[i])
			}
		}
		if halt < len(events) && halt > 0 && !fail && m.Stop != "refusal" && m.Stop != "tool_use" && m.Stop != "end_turn" {
			t.Fatalf("halted with %q", m.Stop)
		}
	})
}
