package clear

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/label"
)

// world is a lattice with labels of it, among them its bottom.
type world struct {
	lattice label.Lattice
	labels  []label.Label
}

// fourPoint is the world of two points each.
var fourPoint = world{label.FourPoint, []label.Label{
	{}, {Integrity: label.Untrusted}, {Confidentiality: label.Private}, {Integrity: label.Untrusted, Confidentiality: label.Private},
}}

// draw draws one of a world's labels.
func (w *world) draw(t *rapid.T, what string) label.Label {
	return rapid.SampledFrom(w.labels).Draw(t, what)
}

// top is above all labels of a world.
func (w *world) top() label.Label {
	var l label.Label
	for _, x := range w.labels {
		l = w.lattice.Join(l, x)
	}
	return l
}

// worldOf makes a world of a lattice and the names of elements.
func worldOf(t *testing.T, lattice label.Lattice, integrity, confidentiality []string) *world {
	t.Helper()
	w := &world{lattice: lattice}
	for _, i := range integrity {
		for _, c := range confidentiality {
			x, err := lattice.Integrity.Parse(i)
			if err != nil {
				t.Fatal(err)
			}
			y, err := lattice.Confidentiality.Parse(c)
			if err != nil {
				t.Fatal(err)
			}
			w.labels = append(w.labels, label.Label{Integrity: x, Confidentiality: y})
		}
	}
	return w
}

// worlds are the lattices that there are: two points, sets of people, and one
// that somebody declared.
func worlds(t *testing.T) map[string]*world {
	t.Helper()
	departments, err := label.Custom(map[string][]string{"public": {"sales", "staff"}, "sales": {"board"}, "staff": {"board"}})
	if err != nil {
		t.Fatal(err)
	}
	authors, err := label.Custom(map[string][]string{"user": {"colleague"}, "colleague": {"partner", "vendor"}, "partner": {"stranger"}, "vendor": {"stranger"}})
	if err != nil {
		t.Fatal(err)
	}
	return map[string]*world{
		"four-point": &fourPoint,
		"sets":       worldOf(t, label.Sets, []string{"{}", "{ann}", "{bob}", "{ann|bob}", "{unknown}"}, []string{"everybody", "{me|ann}", "{me|bob}", "{me|ann|bob}", "{me}"}),
		"custom":     worldOf(t, label.Lattice{Integrity: authors, Confidentiality: departments}, []string{"user", "colleague", "partner", "vendor", "stranger"}, []string{"public", "sales", "staff", "board"}),
	}
}

// message makes one of parts.
func message(role flow.Role, kind Kind, parts ...part) Message {
	m := Message{Message: flow.Message{Role: role}, Kind: kind}
	for _, p := range parts {
		m.Regions = append(m.Regions, flow.Region{Start: len(m.Text), End: len(m.Text) + len(p.text), Label: p.label})
		m.Text += p.text
	}
	return m
}

type part struct {
	text  string
	label label.Label
}

// above draws parts that are not below a level: some, or none.
func (w *world) above(t *rapid.T, level Level, least int, what string) []part {
	var out []part
	for i := range rapid.IntRange(least, 3).Draw(t, what+" n") {
		l := rapid.SampledFrom(slices.DeleteFunc(slices.Clone(w.labels), func(l label.Label) bool {
			return level.Admits(w.lattice, l)
		})).Draw(t, what+" label")
		out = append(out, part{rapid.StringMatching(`[a-z {}"\[]{0,12}`).Draw(t, fmt.Sprint(what, " text ", i)), l})
	}
	return out
}

// interleave puts hidden parts among those that are seen.
func interleave(t *rapid.T, seen, hidden []part, what string) []part {
	out := slices.Clone(seen)
	for _, h := range hidden {
		out = slices.Insert(out, rapid.IntRange(0, len(out)).Draw(t, what), h)
	}
	return out
}

// TestNonInterference: two histories that differ in content, length, number
// and place of regions above a level, and in steps above it, read the same,
// byte for byte, and so do their tools and the label of what is shown.
func TestNonInterference(t *testing.T) {
	for name, w := range worlds(t) {
		t.Run(name, func(t *testing.T) { rapid.Check(t, w.interferes) })
	}
}

func (w *world) interferes(t *rapid.T) {
	worst := w.top()
	level := AtLabel(w.draw(t, "level")).Meet(AtLabel(w.draw(t, "second")))
	if level.Admits(w.lattice, worst) {
		t.Skip("nothing is above")
	}
	below := func(what string) []part {
		var out []part
		for range rapid.IntRange(0, 3).Draw(t, what) {
			l := w.draw(t, what)
			if level.Admits(w.lattice, l) {
				out = append(out, part{rapid.StringMatching(`[A-Z:]{1,6}`).Draw(t, what), l})
			}
		}
		return out
	}
	h := [2]History{{Lattice: w.lattice}, {Lattice: w.lattice}}
	both := func(m [2]Message) {
		for i := range h {
			h[i].Messages = append(h[i].Messages, m[i])
		}
	}
	for n := range rapid.IntRange(1, 7).Draw(t, "messages") {
		id := fmt.Sprint("call", n)
		switch rapid.SampledFrom([]string{"system", "user", "answer", "step", "hidden step", "hidden answer"}).Draw(t, "what") {
		case "system":
			both([2]Message{message(flow.RoleSystem, KindText, part{"S", label.Label{}}), message(flow.RoleSystem, KindText, part{"S", label.Label{}})})
		case "user": // who marks a part of his own words knows it
			seen, least := below("user"), rapid.IntRange(0, 1).Draw(t, "pasted")
			var m [2]Message
			for i := range m {
				var hidden []part
				if least > 0 {
					hidden = w.above(t, level, 1, "user")
				}
				m[i] = message(flow.RoleUser, KindText, interleave(t, seen, hidden, "user")...)
			}
			both(m)
		case "answer":
			seen := append(below("answer"), part{"A", label.Label{}})
			both([2]Message{message(flow.RoleAssistant, KindText, seen...), message(flow.RoleAssistant, KindText, seen...)})
		case "step": // a call that is shown, whose result may have hidden parts
			seen := below("result")
			var m [2]Message
			for i := range m {
				m[i] = message(flow.RoleTool, KindResult, interleave(t, seen, w.above(t, level, 0, "result"), "result")...)
				m[i].Call, m[i].Tool, m[i].Worst = id, "tool", worst
			}
			call := message(flow.RoleAssistant, KindCall, part{`{"x":1}`, label.Label{}})
			call.Call, call.Tool = id, "tool"
			both([2]Message{call, call})
			both(m)
		case "hidden step": // one of the two has steps that the other does not
			for i := range h {
				for j := range rapid.IntRange(0, 2).Draw(t, "steps") {
					call := message(flow.RoleAssistant, KindCall, w.above(t, level, 1, "call")...)
					call.Call, call.Tool = fmt.Sprint(id, "hidden", j), rapid.StringMatching(`[a-z]{1,5}`).Draw(t, "tool")
					result := message(flow.RoleTool, KindResult, w.above(t, level, 0, "hidden result")...)
					result.Call, result.Tool, result.Worst = call.Call, call.Tool, worst
					h[i].Messages = append(h[i].Messages, call, result)
				}
			}
		case "hidden answer":
			for i := range h {
				for range rapid.IntRange(0, 2).Draw(t, "answers") {
					h[i].Messages = append(h[i].Messages, message(flow.RoleAssistant, KindText, w.above(t, level, 1, "answer")...))
				}
			}
		}
	}
	for i := range h {
		h[i].Tools = append(h[i].Tools, Description{Name: "read"})
		for range rapid.IntRange(0, 2).Draw(t, "tools") {
			h[i].Tools = append(h[i].Tools, Description{Name: rapid.StringMatching(`[a-z]{3}`).Draw(t, "name"), Label: w.above(t, level, 1, "tool")[0].label})
		}
		h[i].Tools = append(h[i].Tools, Description{Name: "write"})
	}
	va, vb := h[0].Redact(level), h[1].Redact(level)
	if a, b := render(&h[0], va), render(&h[1], vb); a != b {
		t.Fatalf("the histories read differently:\n%q\n%q", a, b)
	}
	if va.Label != vb.Label || va.Basis() != vb.Basis() || va.Basis() != BasisOf(va.Label) || !level.Admits(w.lattice, va.Label) {
		t.Fatalf("labels of what is shown: %v, %v at %s", va.Label, vb.Label, level.Format(w.lattice))
	}
	for _, s := range va.Messages {
		if strings.Count(s.Text, "[margay:") > 1 {
			t.Fatalf("more than one placeholder: %q", s.Text)
		}
	}
	// Whatever is seen is below, and everything below in shown messages is
	// seen: a stricter level never shows more.
	lower := level.Meet(AtLabel(w.draw(t, "lower")))
	if l := h[0].Redact(lower); len(l.Messages) > len(va.Messages)+len(h[0].Messages) || l.Withheld < va.Withheld {
		t.Fatalf("a stricter level shows more")
	}
}

func TestRedact(t *testing.T) {
	untrusted, private := label.Label{Integrity: label.Untrusted}, label.Label{Confidentiality: label.Private}
	call := message(flow.RoleAssistant, KindCall, part{`{}`, label.Label{}})
	call.Call, call.Tool = "1", "list_mail"
	result := message(flow.RoleTool, KindResult, part{`[{"from":"`, private}, part{"eve@evil.example", private}, part{`","body":"`, private}, part{"send", label.Label{Integrity: label.Untrusted, Confidentiality: label.Private}}, part{`"}]`, private})
	result.Call, result.Tool = "1", "list_mail"
	said := message(flow.RoleAssistant, KindText, part{"You should send money.", untrusted})
	h := History{Lattice: label.FourPoint, Messages: []Message{
		message(flow.RoleUser, KindText, part{"read my mail", label.Label{}}), call, result, said, message(flow.RoleUser, KindText, part{"and now?", label.Label{}}),
	}, Tools: []Description{{Name: "list_mail"}, {Name: "mcp__x__y", Label: untrusted}}}
	v := h.Redact(AtLabel(private))
	var got []string
	for _, s := range v.Messages {
		got = append(got, s.Text)
	}
	want := []string{"read my mail", "{}", `[{"from":"eve@evil.example","body":""}]` + "\n" + Withheld, WithheldAnswer, "and now?"}
	if !slices.Equal(got, want) || !slices.Equal(v.Tools, []int{0}) || v.Label != private {
		t.Errorf("got %q, tools %v, label %v", got, v.Tools, v.Label)
	}
	if v := h.Redact(Level{}); v.Messages[2].Text != Withheld || v.Label != (label.Label{}) {
		t.Errorf("at the bottom the result is %q", v.Messages[2].Text)
	}
	if v := h.Redact(Everything()); len(v.Messages) != 5 || v.Messages[2].Changed || len(v.Tools) != 2 || v.Label != h.Context() {
		t.Errorf("with everything: %+v", v)
	}
	// Text that no region is about is withheld; so is a result with regions
	// that overlap.
	for _, regions := range [][]flow.Region{nil, {{Start: 0, End: 3}}, {{Start: 0, End: 9}, {Start: 4, End: 12}}, {{Start: 0, End: 99}}} {
		m := Message{Message: flow.Message{Role: flow.RoleTool, Text: "abcdefghijkl", Regions: regions}, Kind: KindResult, Call: "1"}
		h := History{Lattice: label.FourPoint, Messages: []Message{call, m}}
		if got := h.Redact(AtLabel(private)).Messages[1].Text; strings.Contains(got, "def") || !strings.HasSuffix(got, Withheld) {
			t.Errorf("regions %v: %q is shown", regions, got)
		}
	}
}

// render is a view in one canonical form: what a model is shown, and nothing
// else. Views that read the same render alike.
func render(h *History, v View) string {
	var b strings.Builder
	field := func(s string) { b.WriteString(strings.ReplaceAll(s, "\x00", "\x00\x00")); b.WriteString("\x00;") }
	for _, s := range v.Messages {
		m := Message{Message: flow.Message{Role: flow.RoleAssistant}}
		if s.Message >= 0 {
			m = h.Messages[s.Message]
		}
		field(string(m.Role))
		field(string(rune('0' + m.Kind)))
		field(m.Tool)
		field(m.Call)
		field(s.Text)
	}
	for _, i := range v.Tools {
		field("tool")
		field(h.Tools[i].Name)
	}
	return b.String()
}
