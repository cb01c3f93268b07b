package mediator_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/mediator"
	"github.com/margaydev/margay/mediator/answer"
)

// repeating is a generation of a wire that repeats texts and tells the end of
// items, with what came out of it: by event, its texts, nil for a dropped one.
type repeating struct {
	g   *mediator.Generation
	evs []answer.Event
	out [][]string
	say []flow.Notice
	err error
}

func repeat(s *mediator.Session) *repeating {
	r := &repeating{g: s.Generate(context.Background(), answer.Options{Ends: true, Repeats: true})}
	return r
}

func (r *repeating) push(ended bool, ds ...flow.Delta) {
	if r.err != nil {
		return
	}
	n := fmt.Append(nil, len(r.evs))
	ev := answer.Event{Raw: n, Data: n, Deltas: ds, Choices: []int{0}}
	if ended {
		ev.Ended = []flow.Item{{Item: ds[0].Key.Item}}
	}
	r.evs = append(r.evs, ev)
	out, err := mediator.Push(r.g, &ev)
	r.take(out, err)
}

func (r *repeating) take(out []answer.Outgoing, err error) {
	r.err = err
	for _, o := range out {
		var n int
		_, _ = fmt.Sscan(string(o.Data), &n)
		r.say = append(r.say, o.Notices...)
		var texts []string
		for i, d := range r.evs[n].Deltas {
			text := string(d.Text)
			if o.Edit != nil {
				if t, ok := o.Edit.Text[i]; ok {
					text = string(t)
				}
				if o.Edit.Call != nil {
					if _, drop := o.Edit.Call(0, d.Key.Item); drop {
						text = "dropped"
					}
				}
			}
			texts = append(texts, text)
		}
		r.out = append(r.out, texts)
	}
}

func piece(item int, f flow.Field, path, text string, whole bool) flow.Delta {
	return flow.Delta{Key: flow.StreamKey{Item: item, Field: f, Path: path}, Text: []byte(text), Copy: whole}
}

// A call with several texts of arguments goes out when all of them are
// decided, or not at all.
func TestCallsWithSeveralArguments(t *testing.T) {
	value := random(300, 24)
	e, _ := engine(t, nil, value)
	s := session(t, e, nil)
	in := []flow.Text{{Text: "use " + value, Path: func() string { return "x" }}}
	r := s.Texts(context.Background(), in)
	name := strings.TrimPrefix(r.Edits[0], "use ")
	const args = flow.FieldToolArguments
	for what, second := range map[string]string{"clean": "make check", "secret": "echo " + value, "pseudonym": "echo " + name} {
		g := repeat(s)
		g.push(false, piece(0, args, "call", "", false))
		g.push(false, piece(0, args, "a[0]", "git st", false))
		g.push(false, piece(0, args, "a[0]", "atus", false))
		g.push(false, piece(0, args, "a[0]", "git status", true))
		g.push(false, piece(0, args, "a[1]", second, false))
		g.push(false, piece(0, args, "a[1]", second, true))
		if len(g.out) > 0 {
			t.Errorf("%s: the call goes out before its end", what)
		}
		g.push(true, piece(0, args, "a[0]", "git status", true), piece(0, args, "a[1]", second, true))
		g.push(false, piece(0, args, "a[0]", "git status", true), piece(0, args, "a[1]", second, true))
		g.take(g.g.Close())
		want := second
		switch what {
		case "secret":
			want = "echo [REDACTED:api-key]"
		case "pseudonym":
			want = "dropped"
		}
		if g.err != nil || len(g.out) != 8 || g.out[7][1] != want || g.out[6][1] != want || g.out[4][0] != want || (g.out[0][0] == "dropped") != (what == "pseudonym") {
			t.Errorf("%s: %v, %v", what, g.err, g.out)
		}
		if len(g.say) > 0 != (what == "pseudonym") || len(g.say) > 1 {
			t.Errorf("%s: said %d times", what, len(g.say))
		}
	}
}

// What repeats a text is edited as the text was, even where it is another one.
func TestCopies(t *testing.T) {
	value := random(301, 24)
	e, _ := engine(t, nil, value)
	s := session(t, e, nil)
	g := repeat(s)
	g.push(false, piece(0, flow.FieldContent, "p", "it is "+value[:9], false))
	g.push(false, piece(0, flow.FieldContent, "p", value[9:]+".", false))
	g.push(false, piece(0, flow.FieldContent, "p", "it is "+value+".", true))
	g.push(true, piece(0, flow.FieldContent, "p", "something else: "+value, true))
	g.push(false, piece(1, flow.FieldContent, "q", "only whole: "+value, true))
	g.take(g.g.Close())
	const cut = "[REDACTED:api-key]"
	if g.err != nil || len(g.out) != 5 || g.out[0][0]+g.out[1][0] != "it is "+cut+"." || g.out[2][0] != "it is "+cut+"." || g.out[3][0] != "something else: "+cut || g.out[4][0] != "only whole: "+cut {
		t.Errorf("%v: %q", g.err, g.out)
	}
	// A call that is another one in a copy, and may not be made, ends it all.
	in := []flow.Text{{Text: "use " + value, Path: func() string { return "x" }}}
	r := s.Texts(context.Background(), in)
	g = repeat(s)
	g.push(false, piece(0, flow.FieldToolArguments, "", "{}", false))
	g.push(true, piece(0, flow.FieldToolArguments, "", "{}", true))
	g.push(false, piece(0, flow.FieldToolArguments, "", `{"k":"`+r.Edits[0]+`"}`, true))
	if !errors.Is(g.err, answer.ErrDenied) {
		t.Errorf("another call: %v", g.err)
	}
}

// A long string outside the choices is looked at once, and each time where it
// is not clean.
func TestEchoes(t *testing.T) {
	value := random(302, 24)
	e, _ := engine(t, nil, value)
	g := repeat(session(t, e, nil))
	long := strings.Repeat("The committee met again. ", 40)
	for range 3 {
		g.push(false, flow.Delta{Key: flow.StreamKey{Choice: -1}, Text: []byte(long)}, flow.Delta{Key: flow.StreamKey{Choice: -1}, Text: []byte(long + value)}, flow.Delta{Key: flow.StreamKey{Choice: -1}, Text: []byte("short")})
	}
	for _, o := range g.out {
		if o[0] != long || o[1] != long+"[REDACTED:api-key]" || o[2] != "short" {
			t.Errorf("an echo is %d, %d bytes", len(o[0]), len(o[1]))
		}
	}
	if len(g.out) != 3 {
		t.Errorf("%d events", len(g.out))
	}
}

// The name of an answer is the last one's that had it.
func TestNamesOfAnswers(t *testing.T) {
	e, _ := engine(t, nil)
	ask := func(text, previous string) *mediator.Session {
		return session(t, e, &mediator.SessionRequest{Caller: "me", Messages: [][]byte{[]byte(text)}, Roles: []flow.Role{flow.RoleUser}, Previous: previous})
	}
	one, two := ask("one", ""), ask("two", "")
	one.Named("resp_1")
	if got := ask("go on", "resp_1").ID(); got != one.ID() {
		t.Error("the name does not find its trajectory")
	}
	two.Named("resp_1")
	two.Named("resp_2")
	if got := ask("go on", "resp_1").ID(); got != two.ID() {
		t.Error("a name that was given twice is not the later one's")
	}
	if ask("one", "").ID() != one.ID() || ask("two", "").ID() != two.ID() {
		t.Error("the conversations are mixed up")
	}
	if s := session(t, e, &mediator.SessionRequest{Caller: "you", Previous: "resp_2"}); s.ID() == two.ID() {
		t.Error("one caller's name finds another's trajectory")
	}
}
