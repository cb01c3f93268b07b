package openairesponses

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/sse"
	"github.com/margaydev/margay/wire"
	"github.com/margaydev/margay/wire/body"
)

var _ wire.API = API{}

func fixture(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func streams(t testing.TB) []string {
	t.Helper()
	names, err := filepath.Glob("testdata/*.sse")
	if err != nil || len(names) == 0 {
		t.Fatalf("no fixtures: %v", err)
	}
	for i := range names {
		names[i] = filepath.Base(names[i])
	}
	return names
}

// split returns the events of a stream, in memory of their own.
func split(t testing.TB, raw []byte) []*sse.Event {
	t.Helper()
	r := sse.NewReader(bytes.NewReader(raw), 1<<24)
	var out []*sse.Event
	for {
		ev, err := r.Next()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, &sse.Event{Raw: bytes.Clone(ev.Raw), Type: bytes.Clone(ev.Type), Data: bytes.Clone(ev.Data)})
	}
}

// delta is a copy of one.
type delta struct {
	Key  flow.StreamKey
	Text string
	Copy bool
}

func deltas(c *wire.Chunk) []delta {
	var out []delta
	for _, d := range c.Deltas {
		out = append(out, delta{d.Key, string(d.Text), d.Copy})
	}
	return out
}

// Every string of an event is told: as a text, as a name, or because it is one
// of the API's words.
func TestNothingIsUnseen(t *testing.T) {
	for _, name := range streams(t) {
		s := &Stream{}
		s.Reset(wire.Limits{}, false)
		names := map[string]bool{} // those of templates are not told again
		for i, ev := range split(t, fixture(t, name)) {
			c, err := s.Parse(ev)
			if err != nil {
				t.Fatalf("%s, event %d: %v", name, i, err)
			}
			told := map[string]bool{}
			for _, d := range c.Deltas {
				told[string(d.Text)] = true
			}
			for _, n := range c.Names {
				names[string(n)] = true
			}
			var v any
			if err := json.Unmarshal(ev.Data, &v); err != nil {
				t.Fatal(err)
			}
			eachString("", v, func(key, text string) {
				if text == "" || told[text] || names[text] || vocabulary.IsWord([]byte(text)) || key == "type" && isWhole([]byte(text)) {
					return
				}
				if len(text) > 64 && body.IsBase64([]byte(text)) && (key == "result" || key == "partial_image_b64") {
					return
				}
				t.Errorf("%s, event %d: %s is told nowhere", name, i, key)
			})
			if typ := string(ev.Type); !c.Typed && typ != "response.brand_new.delta" {
				t.Errorf("%s: %s is not known", name, typ)
			}
		}
		if s.Open() != (name == "error.sse") {
			t.Errorf("%s: open %v", name, s.Open())
		}
	}
}

func eachString(key string, v any, f func(key, text string)) {
	switch v := v.(type) {
	case string:
		f(key, v)
	case []any:
		for _, x := range v {
			eachString(key, x, f)
		}
	case map[string]any:
		for k, x := range v {
			eachString(k, x, f)
		}
	}
}

// The pieces of a text are one text, and its copies are that text.
func TestCopiesAreOfTheirText(t *testing.T) {
	want := map[string]map[string]string{
		"text.sse": {"0 content content[0].text": "The river rose in the night, and by morning the lower path was gone."},
		"tools.sse": {
			"0 reasoning summary[0].text": "**Choosing a tool**\n\nTwo gauges matter here.", "1 tool-arguments arguments": `{"river":"Elbe"}`, "1 tool-name ": "river_level",
			"2 tool-arguments arguments": `{"river":"Oder"}`, "2 tool-name ": "river_level", "3 tool-arguments input": "plot the two gauges", "3 tool-name ": "notebook",
		},
		"reasoning.sse": {"0 reasoning content[0].text": "First I look at the map.", "1 refusal content[0].refusal": "I can't help with that."},
		"hosted.sse": {
			"2 other code": "import csv\nrows = list(csv.reader(open('gauge.csv')))\nprint(len(rows))", "5 other arguments": `{"harbour":"Cuxhaven"}`,
			"6 content content[0].text": "High water is at 04:12.", "7 other response.brand_new.delta[0]delta": "some new text that goes on",
		},
		"calls.sse": {
			"0 tool-arguments action.commands[0]": "git status", "0 tool-arguments action.commands[1]": "make check",
			"1 other response.shell_call_output_content.delta[0]delta.stdout": "nothing to commit\n", "1 other response.shell_call_output_content.delta[0]delta.stderr": "",
			"2 tool-arguments operation.diff": "@@\n-old\n+new line", "2 tool-arguments operation.path": "notes.md", "3 tool-arguments action.text": "upper village",
			"4 tool-arguments action.command[0]": "ls", "4 tool-arguments action.command[1]": "-la", "4 tool-arguments action.env.LANG": "C.UTF-8",
			"4 tool-arguments action.working_directory": "/srv/notes",
		},
		"error.sse": {}, "failed.sse": {},
	}
	for _, name := range streams(t) {
		s := &Stream{}
		s.Reset(wire.Limits{}, false)
		texts, copies, ended := map[string]string{}, map[string]int{}, 0
		for _, ev := range split(t, fixture(t, name)) {
			c, err := s.Parse(ev)
			if err != nil {
				t.Fatal(err)
			}
			for _, it := range c.Ended {
				if it != (flow.Item{Item: ended}) || string(ev.Type) != "response.output_item.done" {
					t.Errorf("%s: %+v ends with %s", name, it, ev.Type)
				}
				ended++
			}
			if done := string(ev.Type) == "response.completed" || string(ev.Type) == "response.incomplete" || string(ev.Type) == "response.failed"; c.Done != done || len(c.Finished) > 0 != done {
				t.Errorf("%s: done %v with %s", name, c.Done, ev.Type)
			}
			for _, d := range c.Deltas {
				key := fmt.Sprintf("%d %s %s", d.Key.Item, d.Key.Field, d.Key.Path)
				switch {
				case d.Key.Choice < 0 || d.Key.Path == callMark:
				case d.Copy:
					copies[key]++
					if string(d.Text) != texts[key] {
						t.Errorf("%s: a copy of %q is another text", name, key)
					}
				default:
					texts[key] += string(d.Text)
				}
			}
		}
		if n := strings.Count(string(fixture(t, name)), "event: response.output_item.done\n"); ended != n {
			t.Errorf("%s: %d items end, not %d", name, ended, n)
		}
		if fmt.Sprint(texts) != fmt.Sprint(want[name]) {
			t.Errorf("%s: the texts are\n%q, not\n%q", name, texts, want[name])
		}
		for key := range texts {
			if n := copies[key]; n < 2 && !strings.Contains(key, "response.") {
				t.Errorf("%s: %q has %d copies", name, key, n)
			}
		}
	}
}

// What no edit touches goes out as it came.
func TestStreamsPassUnchanged(t *testing.T) {
	for _, name := range streams(t) {
		raw := fixture(t, name)
		s := &Stream{}
		s.Reset(wire.Limits{}, false)
		var out []byte
		for _, ev := range split(t, raw) {
			if _, err := s.Parse(ev); err != nil {
				t.Fatal(err)
			}
			var err error
			if out, err = s.Append(out, &flow.Outgoing{Raw: ev.Raw, Data: ev.Data}); err != nil {
				t.Fatal(err)
			}
		}
		if !bytes.Equal(out, raw) {
			t.Errorf("%s changed", name)
		}
	}
}

// Any set of edits gives events whose texts are the new ones, and nothing else
// changed; with any set of calls that are not made the numbers have no gap.
func TestEditsAreExact(t *testing.T) {
	names := streams(t)
	all := map[string][]*sse.Event{}
	for _, n := range names {
		all[n] = split(t, fixture(t, n))
	}
	rapid.Check(t, func(rt *rapid.T) {
		name := rapid.SampledFrom(names).Draw(rt, "stream")
		words := rapid.SliceOfN(rapid.StringMatching(`[a-z"\\é\n☕ ]{1,12}`), 1, 5).Draw(rt, "words")
		refused := map[int]bool{}
		if rapid.Bool().Draw(rt, "refuse") {
			for item := range 5 {
				refused[item] = rapid.Bool().Draw(rt, "refused")
			}
		}
		s, fresh := &Stream{}, &Stream{}
		s.Reset(wire.Limits{}, false)
		fresh.Reset(wire.Limits{}, false)
		calls := map[int]bool{}
		next, n := 0, 0
		for _, ev := range all[name] {
			c, err := s.Parse(ev)
			if err != nil {
				rt.Fatal(err)
			}
			o := &flow.Outgoing{Raw: ev.Raw, Data: ev.Data}
			var drops []int
			for _, d := range c.Deltas {
				if k := d.Key; k.Choice == 0 && (k.Field == flow.FieldToolArguments || k.Field == flow.FieldToolName) && refused[k.Item] && !calls[k.Item] {
					calls[k.Item] = true
					drops = append(drops, k.Item)
				}
			}
			for _, item := range drops {
				o.Notices = append(o.Notices, flow.Notice{Item: item, Text: "not made, as \"it\" may not"})
			}
			o.Edit = &flow.Edit{Text: map[int][]byte{}, Call: func(_, item int) (int, bool) { return item, calls[item] }}
			before := deltas(c)
			for i, d := range before {
				if !calls[d.Key.Item] && d.Text != "" && rapid.IntRange(0, 3).Draw(rt, "edit") == 0 && !isMark(c, i) {
					o.Edit.Text[i] = []byte(words[n%len(words)])
					n++
				}
			}
			out, err := s.Append(nil, o)
			if err != nil {
				rt.Fatalf("%s: %v", name, err)
			}
			gone := len(drops) == 0 && s.parser.item >= 0 && calls[s.parser.item]
			got := split(t, out)
			if gone && len(got) > 0 {
				rt.Fatalf("%s: an event of a call that is not made goes out", name)
			}
			for _, g := range got {
				var v struct {
					Number int `json:"sequence_number"`
				}
				if err := json.Unmarshal(g.Data, &v); err != nil || v.Number != next {
					rt.Fatalf("%s: number %d, want %d: %v", name, v.Number, next, err)
				}
				next++
			}
			if len(drops) > 0 || gone || len(calls) > 0 {
				continue
			}
			after, err := fresh.Parse(got[0])
			if err != nil {
				rt.Fatal(err)
			}
			now := deltas(after)
			for i := range before {
				want := before[i]
				if text, ok := o.Edit.Text[i]; ok {
					want.Text = string(text)
				}
				if i >= len(now) || now[i] != want {
					rt.Fatalf("%s: text %d of %s is not what it was edited to", name, i, ev.Type)
				}
			}
		}
	})
}

// isMark reports whether a delta has no place for an edit.
func isMark(c *wire.Chunk, i int) bool {
	k := c.Deltas[i].Key
	return k.Path == callMark || k.Path == "key"
}

// What a parser that has seen other events says of an event is what a fresh
// one says, whatever came before.
func TestTemplateGivesWhatAParseGives(t *testing.T) {
	heads := []string{
		`{"type":"response.output_text.delta","sequence_number":7,"item_id":"msg_1","output_index":0,"content_index":0,"delta":"`,
		`{"type":"response.output_text.delta","sequence_number":71,"item_id":"msg_1","output_index":0,"content_index":1,"delta":"`,
		`{"type":"response.output_text.delta","sequence_number":7,"item_id":"msg_2","output_index":1,"content_index":0,"delta":"`,
		`{"type":"response.output_text.delta","item_id":"msg_1","output_index":0,"delta":"`,
		`{"type":"response.output_text.done","sequence_number":8,"item_id":"msg_1","output_index":0,"content_index":0,"text":"`,
		`{"type":"response.function_call_arguments.delta","sequence_number":9,"item_id":"fc_1","output_index":2,"delta":"`,
		`{"sequence_number":1.5,"type":"response.refusal.delta","output_index":0,"content_index":0,"delta":"`,
		`{"obfuscation":"ab","type":"response.output_text.delta","sequence_number":0,"output_index":0,"delta":"`,
		`{"\u0074ype":"response.output_text.delta","sequence_number":12,"output_index":0,"d\u0065lta":"`,
		`{"type":"response.unheard_of.delta","sequence_number":12,"output_index":0,"delta":"`,
		`{"type":"response.shell_call_command.delta","sequence_number":12,"output_index":0,"command_index":3,"delta":"`,
		`{"type":"`,
	}
	tails := []string{
		`","logprobs":[]}`, `","logprobs":[],"obfuscation":"Ab3"}`, `","obfuscation":"q\u0071 s"}`, `","obfuscation":7}`, `"}`, `","x":1}`, `","delta":"again"}`, `"`, ``,
		`","logprobs":[{"token":"a","logprob":-1,"top_logprobs":[]}]}`, `","sequence_number":3}`, `","output_index":5}`,
	}
	texts := []string{"", "a", "word ", "ünï ☕", `q\"uote`, `\u00e9`, `","output_index":9,"delta":"`, "\xff", "\x01", `\`, `"`, "\xe2\x98", `x"},"a":"`, "response.created", `\n`, `\\`, `\ud83d\ude00`, `\ud83d`, `\x`, `a\"b\tc`}
	numbers := []string{"7", "8", "0", "123456", "01", "-1", "1e3", "99999999999", `"7"`}
	rng := rand.New(rand.NewPCG(1, 2))
	p := eventParser{}
	p.Reset(wire.Limits{MaxBytes: 400}, false)
	head, tail, told := heads[0], tails[0], map[string]bool{}
	for i := range 60000 {
		if rng.IntN(4) == 0 {
			head = heads[rng.IntN(len(heads))]
		}
		if rng.IntN(4) == 0 {
			tail = tails[rng.IntN(len(tails))]
		}
		text := texts[rng.IntN(len(texts))]
		if rng.IntN(50) == 0 {
			text = strings.Repeat("0", 400)
		}
		h := head
		if rng.IntN(3) == 0 {
			h = strings.Replace(h, `"sequence_number":7`, `"sequence_number":`+numbers[rng.IntN(len(numbers))], 1)
		}
		data := []byte(h + text + tail)
		var fresh eventParser
		fresh.Limits = p.Limits
		want, wantErr := fresh.parse(data)
		got, err := p.parse(data)
		if (err != nil) != (wantErr != nil) {
			t.Fatalf("event %d of %d bytes: %v, alone %v", i, len(data), err, wantErr)
		}
		if err != nil {
			continue
		}
		for _, n := range got.Names {
			told[string(n)] = true
		}
		for _, n := range want.Names {
			if !told[string(n)] {
				t.Fatalf("event %d: a name was not told", i)
			}
		}
		a, b := *got, *want
		a.Names, b.Names = nil, nil
		if fmt.Sprintf("%+v", a) != fmt.Sprintf("%+v", b) || p.Seq != fresh.Seq || p.item != fresh.item || p.part != fresh.part || string(p.kind) != string(fresh.kind) || p.whole != fresh.whole {
			t.Fatalf("event %d is read in another way than alone: %s", i, data)
		}
	}
}

// A stream may be stopped behind any of its events: what ends it is whole.
func TestEndsOfItsOwn(t *testing.T) {
	for _, name := range streams(t) {
		events := split(t, fixture(t, name))
		for n := range len(events) + 1 {
			for _, how := range []string{"halt", "fail"} {
				s := &Stream{}
				s.Reset(wire.Limits{}, false)
				for _, ev := range events[:n] {
					if _, err := s.Parse(ev); err != nil {
						t.Fatal(err)
					}
					if _, err := s.Append(nil, &flow.Outgoing{Raw: ev.Raw, Data: ev.Data}); err != nil {
						t.Fatal(err)
					}
				}
				end := s.Halt
				if how == "fail" {
					end = func(dst []byte) []byte {
						return s.Fail(dst, &wire.Problem{Message: "no \"more\"", Code: "denied"})
					}
				}
				got := split(t, end(nil))
				var v struct {
					Type     string
					Number   int `json:"sequence_number"`
					Message  string
					Response struct {
						ID, Status string
						Details    struct{ Reason string } `json:"incomplete_details"`
						Output     []struct{ Type, Status string }
					}
				}
				if len(got) != 1 || json.Unmarshal(got[0].Data, &v) != nil || v.Number != n || n > 0 && v.Type != string(got[0].Type) {
					t.Fatalf("%s behind %d: %d events, number %d", name, n, len(got), v.Number)
				}
				switch {
				case how == "fail" && (v.Type != "error" || v.Message != `no "more"`), how == "halt" && (v.Type != "response.incomplete" || v.Response.Status != "incomplete" || v.Response.Details.Reason != "content_filter"):
					t.Fatalf("%s behind %d: %s", name, n, got[0].Data)
				}
			}
		}
	}
}

// A piece costs no memory once its like was seen.
func TestNoAllocation(t *testing.T) {
	var events []*sse.Event
	for i := range 20 {
		data := fmt.Appendf(nil, `{"type":"response.output_text.delta","sequence_number":%d,"item_id":"msg_1","output_index":0,"content_index":0,"delta":"wo\"rd","logprobs":[],"obfuscation":"%s"}`, i, "abcdefg"[:i%7])
		raw := slices.Concat([]byte("event: response.output_text.delta\ndata: "), data, []byte("\n\n"))
		events = append(events, &sse.Event{Raw: raw, Type: []byte("response.output_text.delta"), Data: data})
	}
	s := &Stream{}
	s.Reset(wire.Limits{}, false)
	out, n := make([]byte, 0, 4096), 0
	once := func() {
		ev := events[n%len(events)]
		n++
		if _, err := s.Parse(ev); err != nil {
			t.Fatal(err)
		}
		out, _ = s.Append(out[:0], &flow.Outgoing{Raw: ev.Raw, Data: ev.Data})
	}
	for range 10 {
		once()
	}
	if a := testing.AllocsPerRun(200, once); a != 0 {
		t.Errorf("%v allocations", a)
	}
}
