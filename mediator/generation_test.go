package mediator_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/mediator"
	"github.com/margaydev/margay/mediator/answer"
	"github.com/margaydev/margay/secret"
	"github.com/margaydev/margay/store/memory"
)

// source is one text of a scripted answer.
type source struct {
	key  flow.StreamKey
	text string
}

// outcome is what came out of a generation, by text.
type outcome struct {
	text    map[flow.StreamKey]string
	refused map[int]bool // by tool call
	err     error
}

// play cuts texts into deltas and events as rng says, sends them through a
// generation and joins what comes out. Texts of tool calls come one after the
// other, as the API has it.
func play(s *mediator.Session, sources []source, rng *rand.Rand) outcome {
	a := outcome{text: map[flow.StreamKey]string{}, refused: map[int]bool{}}
	g := s.Generate(context.Background(), answer.Options{})
	defer g.Free()
	var events []answer.Event
	take := func(out []answer.Outgoing) {
		for _, o := range out {
			var n int
			_, _ = fmt.Sscan(string(o.Data), &n)
			ev := &events[n]
			for i, d := range ev.Deltas {
				text := string(d.Text)
				if o.Edit != nil {
					if t, ok := o.Edit.Text[i]; ok {
						text = string(t)
					}
					if o.Edit.Call != nil && (d.Key.Field == flow.FieldToolArguments || d.Key.Field == flow.FieldToolName) {
						if _, drop := o.Edit.Call(d.Key.Choice, d.Key.Item); drop {
							a.refused[d.Key.Item] = true
							continue
						}
					}
				}
				a.text[d.Key] += text
			}
		}
	}
	// What an event points to is written over once it was released or kept,
	// as a reader's buffer is.
	var lent [][]byte
	lend := func(b []byte) []byte {
		lent = append(lent, append([]byte(nil), b...))
		return lent[len(lent)-1]
	}
	push := func(ev answer.Event) {
		if a.err != nil {
			return
		}
		n := fmt.Append(nil, len(events))
		events = append(events, ev)
		in := ev
		in.Raw, in.Data, in.Deltas = lend(n), lend(n), nil
		for _, d := range ev.Deltas {
			in.Deltas = append(in.Deltas, flow.Delta{Key: d.Key, Text: lend(d.Text)})
		}
		if a.err = g.Add(&in); a.err != nil || rng.IntN(3) > 0 {
			return
		}
		var out []answer.Outgoing
		out, a.err = g.Release()
		take(out)
		for _, b := range lent {
			for i := range b {
				b[i] = '#'
			}
		}
		lent = nil
	}
	left := append([]source(nil), sources...)
	choices := map[int]bool{}
	for len(left) > 0 {
		ev := answer.Event{}
		for range 1 + rng.IntN(2) {
			if len(left) == 0 {
				break
			}
			i := rng.IntN(len(left))
			if left[i].key.Item != 0 || left[i].key.Field == flow.FieldToolArguments {
				i = first(left, left[i].key)
			}
			n := min(len(left[i].text), rng.IntN(1+rng.IntN(40)))
			ev.Deltas = append(ev.Deltas, flow.Delta{Key: left[i].key, Text: []byte(left[i].text[:n])})
			choices[left[i].key.Choice] = true
			if !contains(ev.Choices, left[i].key.Choice) {
				ev.Choices = append(ev.Choices, left[i].key.Choice)
			}
			if left[i].text = left[i].text[n:]; left[i].text == "" {
				left = append(left[:i], left[i+1:]...)
			}
		}
		push(ev)
		if rng.IntN(9) == 0 {
			push(answer.Event{}) // about no choice
		}
	}
	for c := range choices {
		push(answer.Event{Choices: []int{c}, Finished: []int{c}})
	}
	if a.err == nil {
		var out []answer.Outgoing
		out, a.err = g.Close()
		take(out)
	}
	return a
}

// first returns the place of the first source that is of the same choice and
// a tool call, too.
func first(left []source, k flow.StreamKey) int {
	for i := range left {
		if f := left[i].key.Field; left[i].key.Choice == k.Choice && (f == flow.FieldToolArguments || f == flow.FieldToolName) {
			return i
		}
	}
	return 0
}

func contains(s []int, n int) bool {
	for _, x := range s {
		if x == n {
			return true
		}
	}
	return false
}

// whole is what Answer makes of the same texts.
func whole(s *mediator.Session, sources []source) outcome {
	a := outcome{text: map[flow.StreamKey]string{}, refused: map[int]bool{}}
	in := &answer.Whole{}
	var items []int
	name := ""
	for i, src := range sources {
		in.Texts = append(in.Texts, flow.Text{ID: i, Text: src.text, Field: src.key.Field, Path: func() string { return "x" }})
		if src.key.Field == flow.FieldToolName {
			name = src.text
		}
		if src.key.Field == flow.FieldToolArguments {
			in.Calls = append(in.Calls, answer.ToolCallText{Name: name, Arguments: i})
			items = append(items, src.key.Item)
		}
	}
	r := s.Answer(context.Background(), in)
	for i := range r.Refused {
		a.refused[items[i]] = true
	}
	for i, src := range sources {
		f := src.key.Field
		if a.refused[src.key.Item] && (f == flow.FieldToolArguments || f == flow.FieldToolName) {
			continue
		}
		text := src.text
		if e, ok := r.Edits[i]; ok {
			text = e
		}
		a.text[src.key] += text
	}
	return a
}

func agree(t *testing.T, streamed, buffered outcome) {
	t.Helper()
	if streamed.err != nil {
		t.Fatalf("stream: %v", streamed.err)
	}
	for k, want := range buffered.text {
		if got := streamed.text[k]; got != want {
			t.Errorf("choice %d, %s, item %d: %d bytes streamed, %d buffered, the same up to %d", k.Choice, k.Field, k.Item, len(got), len(want), same(got, want))
		}
	}
	for k := range streamed.text {
		if _, ok := buffered.text[k]; !ok && streamed.text[k] != "" {
			t.Errorf("choice %d, %s: only streamed", k.Choice, k.Field)
		}
	}
	if fmt.Sprint(streamed.refused) != fmt.Sprint(buffered.refused) {
		t.Errorf("refused %v streamed, %v buffered", streamed.refused, buffered.refused)
	}
}

func same(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

func key(choice int, f flow.Field, item int) flow.StreamKey {
	return flow.StreamKey{Choice: choice, Field: f, Item: item}
}

// FuzzGeneration: any cut of an answer into deltas and events gives the texts
// that the whole answer gives, and no planted secret. In the texts, the bytes
// 0, 1 and 2 stand for a registered secret, an unknown one and a pseudonym.
func FuzzGeneration(f *testing.F) {
	registered, unknown := random(50, 22), token(51)
	e, _ := engine(f, nil, registered)
	s := session(f, e, nil)
	p := s.Texts(context.Background(), texts(registered))
	pseudonym := p.Edits[0]
	fill := strings.NewReplacer("\x00", registered, "\x01", unknown, "\x02", pseudonym)
	f.Add("it is \x00, yes", "think \x01", `{"k":"\x00","n":12}`, uint64(1))
	f.Add("plain prose — naïve 🙂", "", `{"k":"\x02"}`, uint64(2))
	f.Add("\x00\x00\x01 https://x.example/?q=\x00 ![a](http://h/\x01)", "jane.doe@example.org", `not json \x00`, uint64(3))
	f.Add("password = \"hunter2hunter2!\"\n-----BEGIN RSA PRIVATE KEY-----\nabc", "\x02", `["\x01",{"\x00":1}]`, uint64(4))
	f.Fuzz(func(t *testing.T, content, reasoning, args string, seed uint64) {
		if len(content)+len(reasoning)+len(args) > 1<<14 {
			t.Skip("too long to be cut at every point")
		}
		a := fill.Replace(args)
		src := []source{
			{key(0, flow.FieldContent, 0), fill.Replace(content)},
			{key(1, flow.FieldContent, 0), fill.Replace(reasoning)},
			{key(0, flow.FieldReasoning, 0), fill.Replace(reasoning)},
			{key(0, flow.FieldToolName, 0), "run"},
			{key(0, flow.FieldToolArguments, 0), a},
			{key(0, flow.FieldToolName, 1), "look"},
			{key(0, flow.FieldToolArguments, 1), `{"x":"` + registered + `"}`},
		}
		streamed := play(s, src, rand.New(rand.NewPCG(seed, 3)))
		agree(t, streamed, whole(s, src))
		for k, text := range streamed.text {
			if strings.Contains(text, registered) || strings.Contains(text, unknown) {
				t.Errorf("choice %d, %s: a planted secret came out", k.Choice, k.Field)
			}
			if k == key(0, flow.FieldToolArguments, 0) && json.Valid([]byte(a)) && !json.Valid([]byte(text)) {
				t.Error("arguments are JSON no more")
			}
		}
	})
}

// The cut of the stream does not matter: all places, all pairs of kinds.
func TestEveryCutGivesTheSame(t *testing.T) {
	registered, unknown := random(52, 22), token(53)
	e, _ := engine(t, nil, registered)
	s := session(t, e, nil)
	for _, text := range []string{
		"it is " + registered + ", yes", "x" + unknown + "\nand", "[a](https://x.example/" + registered + ") b",
		`{"a":"` + registered + `","b":["` + unknown + `"],"c":1}`,
	} {
		src := []source{{key(0, flow.FieldContent, 0), text}, {key(0, flow.FieldToolName, 0), "f"}, {key(0, flow.FieldToolArguments, 0), text}}
		want := whole(s, src)
		for seed := range uint64(60) {
			agree(t, play(s, src, rand.New(rand.NewPCG(seed, 9))), want)
		}
	}
}

// An edit over several string values leaves the structure of JSON.
func TestArgumentsStayJSON(t *testing.T) {
	pem := "-----BEGIN RSA PRIVATE KEY-----"
	e, _ := engine(t, func(m *mediator.Config) {
		m.Policy.Generate = map[secret.Kind]flow.Action{secret.KindPrivateKey: flow.ActReport}
	}, "4929123412341234567", "first-half-of-it\",\"second-half-of-it")
	s := session(t, e, nil)
	for _, args := range []string{
		`{"card":4929123412341234567}`, `{"a":["first-half-of-it","second-half-of-it"]}`, `{"a":["` + pem + `","x"],"b":[1,{"c":"y"}]}`,
	} {
		call, r := s.Call(context.Background(), flow.ToolCall{Name: "f", Arguments: args})
		if !r.Denied() && !json.Valid([]byte(call.Arguments)) {
			t.Errorf("%d bytes of arguments are no JSON", len(call.Arguments))
		}
		if strings.Contains(call.Arguments, "4929123412341234567") || strings.Contains(call.Arguments, "second-half") {
			t.Error("the secret is in the arguments")
		}
	}
}

func TestHaltIsRecorded(t *testing.T) {
	value := random(54, 24)
	for name, k := range map[string]flow.StreamKey{"content": key(0, flow.FieldContent, 0), "outside": key(-1, flow.FieldOther, 0), "arguments": key(0, flow.FieldToolArguments, 0)} {
		t.Run(name, func(t *testing.T) {
			e, store := engine(t, func(m *mediator.Config) { m.Policy.Halt = true }, value)
			g := session(t, e, nil).Generate(context.Background(), answer.Options{})
			ev := answer.Event{Deltas: []flow.Delta{{Key: k, Text: []byte("it is " + value + " and more")}}}
			_, err := mediator.Push(g, &ev)
			if err == nil {
				_, err = g.Close()
			}
			if !errors.Is(err, answer.ErrHalted) {
				t.Errorf("not halted: %v", err)
			}
			if all, en := logged(t, store); len(en) != 1 || en[0].Outcome != flow.Deny || strings.Contains(all, value) {
				t.Errorf("%d entries in the log", len(en))
			}
		})
	}
}

// Nothing goes out behind what halts a generation, even if it came with it.
func TestHaltEndsABatch(t *testing.T) {
	value := random(57, 24)
	e, _ := engine(t, func(m *mediator.Config) { m.Policy.Halt = true }, value)
	g := session(t, e, nil).Generate(context.Background(), answer.Options{})
	for i, text := range []string{"it is ", value, " and more ", "and more ", "of it. "} {
		ev := answer.Event{Raw: fmt.Append(nil, i), Choices: []int{0}, Deltas: []flow.Delta{{Key: key(0, flow.FieldContent, 0), Text: []byte(text)}}}
		if err := g.Add(&ev); err != nil {
			t.Fatal(err)
		}
	}
	out, err := g.Release()
	if !errors.Is(err, answer.ErrHalted) || len(out) != 2 || out[0].Edit != nil || out[1].Edit == nil {
		t.Errorf("%d events went out: %v", len(out), err)
	}
}

// A generation's memory serves the next one, and a clean token costs next to
// no allocation.
// What is edited before goes out whole, however events arrive together.
func TestHaltIsWhereItsFindingIs(t *testing.T) {
	value, fatal := random(57, 24), "ghp_"+random(58, 36)
	for _, together := range []bool{true, false} {
		e, _ := engine(t, func(m *mediator.Config) {
			m.Policy.Generate = map[secret.Kind]flow.Action{secret.KindToken: flow.ActBlock}
		}, value)
		g := session(t, e, nil).Generate(context.Background(), answer.Options{})
		var out []string
		var err error
		for i, text := range []string{value, " is one; ", "it is ", fatal, " and more. "} {
			ev := answer.Event{Raw: fmt.Append(nil, i), Choices: []int{0}, Deltas: []flow.Delta{{Key: key(0, flow.FieldContent, 0), Text: []byte(text)}}}
			if err = g.Add(&ev); err != nil {
				t.Fatal(err)
			}
			if together && i < 4 {
				continue
			}
			var released []answer.Outgoing
			released, err = g.Release()
			for _, o := range released {
				out = append(out, fmt.Sprintf("%s %v", o.Raw, o.Edit != nil))
			}
			if err != nil {
				break
			}
		}
		if !errors.Is(err, answer.ErrHalted) || strings.Join(out, ", ") != "0 true, 1 false, 2 false, 3 true" {
			t.Errorf("together %v: %v, %v", together, out, err)
		}
	}
}

func TestFreedRoomIsClean(t *testing.T) {
	value := random(58, 24)
	e, _ := engine(t, nil, value)
	s := session(t, e, nil)
	src := []source{{key(0, flow.FieldContent, 0), "it is " + value + ", yes"}, {key(0, flow.FieldToolName, 0), "f"}, {key(0, flow.FieldToolArguments, 0), `{"k":"` + value + `"}`}}
	want := whole(s, src)
	for seed := range uint64(20) {
		g := s.Generate(context.Background(), answer.Options{})
		ev := answer.Event{Raw: []byte("x"), Choices: []int{3}, Deltas: []flow.Delta{{Key: key(3, flow.FieldContent, 0), Text: []byte(value[:9])}}}
		if _, err := mediator.Push(g, &ev); err != nil {
			t.Fatal(err)
		}
		g.Free()
		agree(t, play(s, src, rand.New(rand.NewPCG(seed, 1))), want)
	}
	g := s.Generate(context.Background(), answer.Options{})
	ev := answer.Event{Raw: []byte("x"), Choices: []int{0}, Deltas: []flow.Delta{{Key: key(0, flow.FieldContent, 0), Text: []byte("word ")}}}
	push := func() {
		if _, err := mediator.Push(g, &ev); err != nil {
			t.Fatal(err)
		}
	}
	for range 1000 {
		push()
	}
	if n := testing.AllocsPerRun(5000, push); n > 2 {
		t.Errorf("%v allocations a token", n)
	}
}

func TestTextBehindItsEndIsDenied(t *testing.T) {
	e, store := engine(t, nil)
	g := session(t, e, nil).Generate(context.Background(), answer.Options{})
	d := []flow.Delta{{Key: key(0, flow.FieldContent, 0), Text: []byte("a b")}}
	if _, err := mediator.Push(g, &answer.Event{Deltas: d, Choices: []int{0}, Finished: []int{0}}); err != nil {
		t.Fatal(err)
	}
	if _, err := mediator.Push(g, &answer.Event{Deltas: d, Choices: []int{0}}); !errors.Is(err, answer.ErrDenied) {
		t.Errorf("not denied: %v", err)
	}
	if _, en := logged(t, store); len(en) != 1 || en[0].Reasons[0].Code != "text-after-end" {
		t.Errorf("%d entries in the log", len(en))
	}
}

// What a stream holds back is bounded, whatever comes.
func TestHeldIsBounded(t *testing.T) {
	e, _ := engine(t, nil, random(55, 24))
	g := session(t, e, nil).Generate(context.Background(), answer.Options{})
	long := []byte(strings.Repeat("A", 1000))
	for range 200 {
		if _, err := mediator.Push(g, &answer.Event{Deltas: []flow.Delta{{Key: key(0, flow.FieldContent, 0), Text: long}}, Choices: []int{0}}); err != nil {
			t.Fatal(err)
		}
		if h := g.Held(); h > 16<<10 {
			t.Fatalf("%d bytes held", h)
		}
	}
}

func BenchmarkGeneration(b *testing.B) {
	e, _ := engine(b, nil, random(56, 24))
	g := session(b, e, nil).Generate(context.Background(), answer.Options{})
	words := strings.SplitAfter("The committee met again in the long hall by the river and went through the papers ", " ")
	ev := answer.Event{Choices: []int{0}, Deltas: make([]flow.Delta, 1), Raw: make([]byte, 200), Data: make([]byte, 190)}
	n := 0
	b.ReportAllocs()
	for b.Loop() {
		ev.Deltas[0] = flow.Delta{Key: key(0, flow.FieldContent, 0), Text: []byte(words[n%(len(words)-1)])}
		n++
		if _, err := mediator.Push(g, &ev); err != nil {
			b.Fatal(err)
		}
	}
}

// An event of a streamed answer goes out only under a result that was committed.
// Where failures pass, the edits stay, and a client that has gone gets nothing.
func TestEventsGoOutUnderCommit(t *testing.T) {
	value := random(31, 24)
	for _, c := range []struct {
		name               string
		fails, pass, gone  bool
		releases, redacted bool
	}{
		{name: "kept", releases: true, redacted: true},
		{name: "not kept", fails: true},
		{name: "not kept, failures pass", fails: true, pass: true, releases: true, redacted: true},
		{name: "gone", gone: true},
		{name: "gone, failures pass", pass: true, gone: true},
	} {
		b := &broken{Store: memory.New(), method: "append"}
		e, _ := engine(t, func(m *mediator.Config) { m.Store, m.OnErrorPass = b, c.pass }, value)
		b.on = c.fails
		ctx, cancel := context.WithCancel(t.Context())
		g := session(t, e, nil).Generate(ctx, answer.Options{})
		if c.gone {
			cancel()
		}
		out, err := mediator.Push(g, &answer.Event{Raw: []byte("x"), Deltas: []flow.Delta{{Key: key(0, flow.FieldContent, 0), Text: []byte("it is " + value)}}, Choices: []int{0}, Finished: []int{0}})
		cancel()
		if got := err == nil && len(out) == 1 && out[0].Releases(); got != c.releases {
			t.Errorf("%s: %d events, released: %v, %v", c.name, len(out), got, err)
		}
		if err != nil && !errors.Is(err, answer.ErrDenied) {
			t.Errorf("%s: %v", c.name, err)
		}
		if c.redacted && (len(out) != 1 || out[0].Edit == nil || bytes.Contains(out[0].Edit.Text[0], []byte(value))) {
			t.Errorf("%s: the value goes out", c.name)
		}
	}
	if (&answer.Outgoing{}).Releases() {
		t.Error("an event that nobody decided goes out")
	}
}
