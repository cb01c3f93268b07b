package clear

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/label"
)

// written makes a history of lines: a role, the call's id where it has one, and
// its regions, each after the label that it has: . is trusted and public, u
// untrusted, p private, w both. A + goes on with the message before it, a ! says
// that the source of a result may have more.
func written(t *testing.T, text string) *History {
	t.Helper()
	labels := map[byte]label.Label{'.': {}, 'u': untrusted, 'p': private, 'w': worst}
	h := &History{Lattice: label.FourPoint}
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		var m Message
		role, id, _ := strings.Cut(strings.TrimPrefix(words[0], "+"), ":")
		m.Part = strings.HasPrefix(words[0], "+")
		if strings.HasSuffix(id, "!") {
			m.Worst = worst
		}
		m.Call = strings.TrimSuffix(id, "!")
		switch role {
		case "call":
			m.Role, m.Kind, m.Tool = flow.RoleAssistant, KindCall, "x"
		case "result":
			m.Role, m.Kind, m.Tool = flow.RoleTool, KindResult, "x"
		case "tool":
			h.Tools = append(h.Tools, Description{Name: words[1][1:], Label: labels[words[1][0]]})
			continue
		default:
			m.Role = flow.Role(role)
		}
		for _, w := range words[1:] {
			if w[0] == '?' { // text that no region is about
				m.Text += w[1:]
				continue
			}
			m.Regions = append(m.Regions, flow.Region{Start: len(m.Text), End: len(m.Text) + len(w) - 1, Label: labels[w[0]]})
			m.Text += w[1:]
		}
		h.Messages = append(h.Messages, m)
	}
	return h
}

// TestViews: what is shown of each kind of message at a level, where - stands
// for Withheld and ~ for WithheldAnswer; * marks a text that is changed.
func TestViews(t *testing.T) {
	for name, c := range map[string]struct {
		history  string
		level    Level
		want     string
		withheld int
		label    string
	}{
		"all is below":                   {"system .S\nuser .U\nassistant .A\ntool .t", Level{}, "0:S 1:U 2:A t0", 0, "(trusted, public)"},
		"a user's pasted part":           {"user .look uPASTED .end", Level{}, "*0:lookend\n-", 1, "(trusted, public)"},
		"a part of a system's text":      {"system .a uB", Level{}, "*0:a\n-", 1, "(trusted, public)"},
		"a developer's text":             {"developer ?D", Level{}, "0:D", 0, "(trusted, public)"},
		"texts without regions":          {"system ?S\nuser ?U\nassistant ?A", Level{}, "0:S 1:U", 1, "(trusted, public)"},
		"empty texts without regions":    {"user\nassistant", Level{}, "0:", 1, "(trusted, public)"},
		"a user's text above":            {"user uPASTED", Level{}, "*0:-", 1, "(trusted, public)"},
		"two parts left out":             {"user uP .a uQ", Level{}, "*0:a\n-", 2, "(trusted, public)"},
		"an answer above":                {"user .U\nassistant uA\nuser .V", Level{}, "0:U ~ 2:V", 1, "(trusted, public)"},
		"an answer in part above":        {"user .U\nassistant .A uB pC\nuser .V", Level{}, "0:U ~ 2:V", 3, "(trusted, public)"},
		"two answers above":              {"user .U\nassistant uA\nassistant uB\nuser .V\nuser .W", Level{}, "0:U ~ 3:V ~ 4:W", 2, "(trusted, public)"},
		"an answer that is shown":        {"user .U\nassistant .A\nuser .V", Level{}, "0:U 1:A 2:V", 0, "(trusted, public)"},
		"the first may be an answer":     {"assistant uA\nuser .V", Level{}, "1:V", 1, "(trusted, public)"},
		"a part goes on":                 {"user .U\nassistant uA\n+user .V", Level{}, "0:U 2:V", 1, "(trusted, public)"},
		"a part, then another":           {"user .U\n+user .V\nuser .W", Level{}, "0:U 1:V ~ 2:W", 0, "(trusted, public)"},
		"a system's text is no answer":   {"user .U\nsystem .S\nuser .V", Level{}, "0:U 1:S ~ 2:V", 0, "(trusted, public)"},
		"a step":                         {"user .U\ncall:1 .c\nresult:1 .r\nassistant .A\nuser .V", Level{}, "0:U 1:c 2:r 3:A 4:V", 0, "(trusted, public)"},
		"a step without an answer":       {"assistant .A\ncall:1 .c\nuser .V", Level{}, "0:A 1:c ~ 2:V", 0, "(trusted, public)"},
		"a result without an answer":     {"assistant .A\nresult .r\nuser .V", Level{}, "0:A 1:r ~ 2:V", 0, "(trusted, public)"},
		"a call above":                   {"call:1 uc\nresult:1 .r\nresult:2 .s", Level{}, "2:s", 2, "(trusted, public)"},
		"a call above, its id again":     {"call:1 uc\nresult:1 .r\ncall:1 .d\nresult:1 .s", Level{}, "2:d 3:s", 2, "(trusted, public)"},
		"a result without its call's id": {"result ur\nresult .s", Level{}, "1:s", 1, "(trusted, public)"},
		"a result of two without an id":  {"result ur us", Level{}, "", 2, "(trusted, public)"},
		"a result without regions or id": {"result ?r", Level{}, "", 1, "(trusted, public)"},
		"a result above":                 {"call:1 .c\nresult:1 ur", Level{}, "0:c *1:-", 1, "(trusted, public)"},
		"a result in part":               {"call:1 .c\nresult:1 .a ub .c", Level{}, "0:c *1:ac\n-", 1, "(trusted, public)"},
		"a result that might have more":  {"call:1 .c\nresult:1! .a", Level{}, "0:c *1:a\n-", 0, "(trusted, public)"},
		"a result without regions":       {"call:1 .c\nresult:1 ?r", Level{}, "0:c *1:-", 0, "(trusted, public)"},
		"a text that goes on uncovered":  {"call:1 .c\nresult:1 .a ?b", Level{}, "0:c *1:a\n-", 0, "(trusted, public)"},
		"private text at private":        {"user .U\ncall:1 .c\nresult:1 pa ub\ntool pt\ntool us\ntool .v", AtLabel(private), "0:U 1:c *2:a\n- t0 t2", 2, "(trusted, private)"},
		"a private tool alone":           {"user .U\ntool pt", AtLabel(private), "0:U t0", 0, "(trusted, private)"},
		"what is left out has no label":  {"user .U uP", AtLabel(private), "*0:U\n-", 1, "(trusted, public)"},
		"everything":                     {"user .U uP\ncall:1 uc\nresult:1! pr\ntool ut", Everything(), "0:UP 1:c 2:r t0", 0, "(untrusted, private)"},
		"everything, by its tools":       {"user .U\ntool ut", Everything(), "0:U t0", 0, "(untrusted, public)"},
	} {
		h := written(t, c.history)
		v := h.Redact(c.level)
		var got []string
		for _, m := range v.Messages {
			s := strings.ReplaceAll(m.Text, Withheld, "-")
			switch {
			case m.Message < 0 && m.Text == WithheldAnswer && m.Changed:
				s = "~"
			case m.Changed:
				s = fmt.Sprint("*", m.Message, ":", s)
			default:
				s = fmt.Sprint(m.Message, ":", s)
			}
			got = append(got, s)
		}
		for _, i := range v.Tools {
			got = append(got, fmt.Sprint("t", i))
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%s: %q, want %q", name, s, c.want)
		}
		if label.FourPoint.Format(v.Label) != c.label || v.Withheld != c.withheld || v.Basis() != BasisOf(v.Label) || v.Basis().Label() != v.Label {
			t.Errorf("%s: label %s, withheld %d, %+v", name, label.FourPoint.Format(v.Label), v.Withheld, v.Basis())
		}
	}
}

// TestUncovered: a history with text that no region is about has no basis when
// it is shown whole.
func TestUncovered(t *testing.T) {
	for text, known := range map[string]bool{
		"user ?U\nsystem ?S\ndeveloper ?D": true,
		"assistant .A":                     true,
		"assistant":                        true, // there is no text
		"assistant ?A\nuser .U":            false,
		"user .U\nassistant ?A":            false,
		"call:1 ?c":                        false,
		"result:1 .a ?b":                   false,
		"result:1 ?b .a":                   false,
		"user .U ?V":                       false, // a part has no label
	} {
		h := written(t, text)
		v := h.Redact(Everything())
		r := Decide(&Step{Lattice: h.Lattice, From: v.Basis(), Calls: []Proposal{{send(""), Needs{Limit: Limit{Label: worst}}}, {send(""), Needs{Limit: unlimited}}}})
		if _, ok := r.Verdicts[0].Cleared(); ok != known {
			t.Errorf("%q: cleared %v", text, ok)
		}
		if _, ok := r.Verdicts[1].Cleared(); !ok {
			t.Errorf("%q: what may follow from anything is asked about", text)
		}
	}
}

func TestOwn(t *testing.T) {
	h := written(t, "system .S\nuser .U uP pQ\nuser ?V\nassistant .A\nresult:1 .r\ndeveloper .D")
	h.Messages = append(h.Messages, Message{Message: flow.Message{Role: flow.RoleUser, Text: "x"}, Kind: KindResult})
	for _, r := range []flow.Region{{Start: -1, End: 1}, {Start: 1, End: 0}, {Start: 0, End: 2}, {Start: 0, End: 1}} {
		h.Messages = append(h.Messages, Message{Message: flow.Message{Role: flow.RoleUser, Text: "y", Regions: []flow.Region{r}}})
	}
	if got := h.Own(); !slices.Equal(got, []string{"U", "Q", "V", "y"}) {
		t.Errorf("the user's own words are %q", got)
	}
	for role, want := range map[flow.Role]bool{flow.RoleSystem: true, flow.RoleDeveloper: true, flow.RoleUser: true, flow.RoleAssistant: false, flow.RoleTool: false, "": false} {
		if TrustedRole(role) != want {
			t.Errorf("%s speaks: %v", role, !want)
		}
	}
}
