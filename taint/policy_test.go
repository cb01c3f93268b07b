package taint

import (
	"errors"
	"strings"
	"testing"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/label"
	"github.com/margaydev/margay/taint/clear"
	"github.com/margaydev/margay/taint/document"
	"github.com/margaydev/margay/taint/observe"
	"github.com/margaydev/margay/taint/wish"
)

func cond(t testing.TB, op Op, arg string, values ...string) Cond {
	return Cond{Op: op, Arg: at(t, arg), Values: values}
}

func sendMail(t testing.TB) Tool {
	return Tool{
		Name: "send_mail", Args: []string{"to", "subject", "body"}, Destinations: []string{"to"},
		Rules: []Rule{
			{When: []Cond{cond(t, OpDomain, "to[*]", "evil.example")}, Deny: true, Why: "never there"},
			{When: []Cond{cond(t, OpFromUser, "to[*]")}, Reader: ReachHigh, Why: "whom the user named"},
			{When: []Cond{{Op: OpPresent, Arg: at(t, "to[*]")}}, Readers: []document.Path{at(t, "to[*]")}, Why: "others"},
			{Confirm: true, Why: "nobody"},
		},
	}
}

func TestClear(t *testing.T) {
	p := policy(t, observe.FourPoint(), sendMail(t))
	user := []string{"Send it to bob@x.example. Thanks"}
	for _, c := range []struct {
		name, args string
		rule       int
		limit      string
		outcome    string // of the flags
		code       string
	}{
		{"send_mail", `{"to":["bob@x.example"]}`, 2, "(trusted, private)", "", CodeRule},
		{"send_mail", `{"to":["BOB@x.example"]}`, 2, "(trusted, private)", "", CodeRule},
		{"send_mail", `{"to":["bob@x.example","eve@y.example"]}`, 3, "(trusted, public)", "", CodeRule},
		{"send_mail", `{"to":["notbob@x.example"]}`, 3, "(trusted, public)", "", CodeRule},
		{"send_mail", `{"to":["bob@x.example.evil.example"]}`, 1, "", "deny", CodeRule},
		{"send_mail", `{"to":["a@mail.EVIL.example"]}`, 1, "", "deny", CodeRule},
		{"send_mail", `{"to":[]}`, 4, "(trusted, public)", "ask", CodeRule},
		{"send_mail", ``, 4, "(trusted, public)", "ask", CodeRule},
		{"send_mail", `{"to":["bob@x.example"],"extra":1}`, 0, "(trusted, public)", "", CodeArgument},
		{"send_mail", `{"To":["bob@x.example"]}`, 0, "(trusted, public)", "ask", CodeArgument},
		{"send_mail", `{"to":["bob@x.example"],"to":["eve@evil.example"]}`, 0, "", "deny", CodeArguments},
		{"send_mail", `["bob@x.example"]`, 0, "", "deny", CodeArguments},
		{"send_mail", `{"to":`, 0, "", "deny", CodeArguments},
		{"Send_Mail", `{"to":["bob@x.example"]}`, 0, "(trusted, public)", "ask", CodeLookalike},
		{"send-mail", `{"to":["bob@x.example"]}`, 0, "(trusted, public)", "ask", CodeLookalike},
		{"sendmail", `{}`, 0, "(trusted, public)", "ask", CodeLookalike},
		{"sеnd_mail", `{}`, 0, "(trusted, public)", "ask", CodeLookalike}, // Cyrillic
		{"send_mail\u200b", `{}`, 0, "(trusted, public)", "ask", CodeLookalike},
		{"", `{}`, 0, "(trusted, public)", "ask", CodeLookalike},
		{"other", `{}`, 0, "(trusted, public)", "", CodeUnknownTool},
	} {
		got := p.Clear(flow.ToolCall{Name: c.name, Arguments: c.args}, user)
		outcome := map[[2]bool]string{{true, false}: "deny", {false, true}: "ask"}[[2]bool{got.Deny, got.Confirm}]
		if got.Rule != c.rule || outcome != c.outcome || !got.Deny && got.Limit.Format(label.FourPoint) != c.limit || len(got.Reasons) == 0 || got.Reasons[0].Code != c.code {
			t.Errorf("%s(%s): %+v, want %+v", c.name, c.args, got, c)
		}
	}
	// A condition that can't be told holds back, whichever way it is asked.
	fails := cond(t, OpPrefix, "x", "a")
	broken := policy(t, observe.FourPoint(),
		Tool{Name: "deny", Args: []string{"x"}, Rules: []Rule{{When: []Cond{fails}, Deny: true}, {Source: ReachAny, Reader: ReachAny}}},
		Tool{Name: "ask", Args: []string{"x"}, Rules: []Rule{{When: []Cond{fails}, Confirm: true}, {Source: ReachAny, Reader: ReachAny}}},
		Tool{Name: "admit", Args: []string{"x"}, Rules: []Rule{{When: []Cond{fails}, Source: ReachAny, Reader: ReachAny}}},
	)
	if d, a, m := broken.Clear(call("deny", ""), nil), broken.Clear(call("ask", ""), nil), broken.Clear(call("admit", ""), nil); !d.Deny || !a.Confirm || m.Limit != (clear.Limit{}) {
		t.Errorf("rules that fail: %+v, %+v, %+v", d, a, m)
	}

	s := policy(t, sets(t), sendMail(t))
	got := s.Clear(flow.ToolCall{Name: "send_mail", Arguments: `{"to":["Eve@y.example","z@y.example"]}`}, nil)
	if f := got.Limit.Format(label.Sets); f != "({}, {eve@y.example|z@y.example})" {
		t.Errorf("in sets: %s", f)
	}
	if got := s.Clear(flow.ToolCall{Name: "send_mail", Arguments: `{"to":["a b"]}`}, nil); got.Limit != (clear.Limit{}) {
		t.Errorf("a reader without a name: %+v", got)
	}
}

func TestConditions(t *testing.T) {
	p := policy(t, observe.FourPoint())
	args := `{"n":5,"s":"5","big":1e400,"u":"https://Docs.corp.example:8080/x?y","p":"/home/u/src/x.go","list":["a","b"],"null":null,"o":{},"cmd":"git status -s"}`
	for _, c := range []struct {
		c    Cond
		want bool
	}{
		{Cond{Op: OpAtMost, Arg: at(t, "n"), Number: 5}, true},
		{Cond{Op: OpAtMost, Arg: at(t, "n"), Number: 4.9}, false},
		{Cond{Op: OpAtMost, Arg: at(t, "n"), Number: 4.9, Not: true}, true},
		{Cond{Op: OpAtMost, Arg: at(t, "none"), Number: 4.9, Not: true}, false},
		{Cond{Op: OpAtLeast, Arg: at(t, "n"), Number: 5}, true},
		{Cond{Op: OpAtMost, Arg: at(t, "s"), Number: 9}, false}, // a text is no number
		{Cond{Op: OpAtMost, Arg: at(t, "big"), Number: 9}, false},
		{cond(t, OpEquals, "list[*]", "a", "b"), true},
		{cond(t, OpEquals, "list[*]", "a"), false},
		{Cond{Op: OpEquals, Arg: at(t, "list[*]"), Values: []string{"a"}, Not: true}, false}, // one of them is
		{Cond{Op: OpEquals, Arg: at(t, "list[*]"), Values: []string{"c"}, Not: true}, true},
		{cond(t, OpIn, "list[0]", "A"), true},
		{cond(t, OpEquals, "list", "a"), false},
		{cond(t, OpEquals, "o", "a"), false},
		{Cond{Op: OpDomain, Arg: at(t, "u"), List: "org"}, true},
		{cond(t, OpDomain, "u", "docs.corp.example"), true},
		{cond(t, OpDomain, "u", "orp.example"), false},
		{Cond{Op: OpDomain, Arg: at(t, "u"), List: "nothing"}, false},
		{cond(t, OpPath, "p", "/home/u"), true},
		{cond(t, OpPath, "p", "/home/u/src/"), true},
		{cond(t, OpPath, "p", "/home/u/sr"), false},
		{Cond{Op: OpType, Arg: at(t, "n"), Type: typ(t, "integer")}, true},
		{cond(t, OpCommand, "cmd", "git status"), true},
		{cond(t, OpCommand, "cmd", "git"), true},
		{cond(t, OpCommand, "cmd", "git statu"), false},
		{Cond{Op: OpPresent, Arg: at(t, "null")}, false},
		{Cond{Op: OpAbsent, Arg: at(t, "null")}, true},
		{Cond{Op: OpPresent, Arg: at(t, "o")}, true},
	} {
		if err := c.c.Check(); err != nil {
			t.Errorf("%+v: %v", c.c, err)
		}
		if got := p.holds([]Cond{c.c}, &question{args: document.Arguments(args)}, false); got != c.want {
			t.Errorf("%+v is %v", c.c, got)
		}
	}
	for _, bad := range []string{
		"/home/u/../x", "/home/u/src/../../../etc", "~/x", "home/u", "/home/u/$HOME", "/home/u\\x", "/home/u/*", "/home/ü",
	} {
		if under(bad, "/home/u") {
			t.Errorf("%q is under /home/u", bad)
		}
	}
	for _, bad := range []string{
		"https://corp.example@evil.example/", "https://corp.example\\@evil.example", "//corp.example", "ftp://corp.example", "https://corp.example%2eevil.example",
		"https://соrp.example", "corp.example", "javascript:corp.example", "https://corp.example:x/", "a@b@corp.example", "https://", "x@corp.example,y@evil.example", "https://corp..example",
	} {
		if h, ok := host(bad); ok && strings.HasSuffix(h, "corp.example") {
			t.Errorf("%q has host %q", bad, h)
		}
	}
	for _, bad := range []string{"git status; rm x", "git status && x", "git status $(x)", "git status > x", "git status `x`", "git status\nx", "git status | sh", "git status 'x'", "x=1 git status", "git\u00a0status"} {
		if command(bad, []string{"git status"}) {
			t.Errorf("%q is taken for git status", bad)
		}
	}
}

// TestOpen: the conditions that may have no answer, with each answer.
func TestOpen(t *testing.T) {
	p := policy(t, observe.FourPoint())
	args := `{"t":"curl x","here":"HTTP:/0x7F.1:80/","there":"https://x.example/","e":"","esc":"c\u0075rl","n":5,"b":false,"f":"false","null":null,"o":{},"l":["ls","curl"],"bad":["ls",3],"none":[],"files":[{"path":"a"},{"path":".github/x"},{}]}`
	matches := func(arg, expr string) Cond {
		re, err := Expression(expr)
		if err != nil {
			t.Fatal(err)
		}
		return Cond{Op: OpMatches, Arg: at(t, arg), Expr: re}
	}
	local := func(arg string) Cond { return Cond{Op: OpLocal, Arg: at(t, arg)} }
	oneOf := func(arg string, s Scalar) Cond { return Cond{Op: OpOneOf, Arg: at(t, arg), Scalars: []Scalar{s}} }
	set := func(c Cond, words string) Cond {
		c.Any, c.Not, c.Optional = strings.Contains(words, "any"), strings.Contains(words, "not"), strings.Contains(words, "optional")
		return c
	}
	for _, c := range []struct {
		c    Cond
		want truth
	}{
		{matches("t", "^curl"), yes},
		{matches("t", "wget"), no},
		{matches("e", "^$"), yes},
		{matches("esc", "curl"), yes}, // as it reads, not as it is written
		{matches("n", "5"), open},
		{matches("null", ""+"n"), open},
		{matches("l", "curl"), open},
		{matches("missing", "x"), open},
		{set(matches("missing", "x"), "not"), open},
		{set(matches("missing", "x"), "optional"), no},
		{set(matches("n", "x"), "optional"), open},
		{set(matches("t", "wget"), "not"), yes},
		{matches("l[*]", "curl"), no}, // not every one
		{matches("l[*]", "curl|ls"), yes},
		{set(matches("l[*]", "curl"), "any"), yes},
		{set(matches("l[*]", "wget"), "any"), no},
		{set(matches("l[*]", "curl"), "not"), no},
		{set(matches("l[*]", "curl"), "any not"), yes},
		{set(matches("bad[*]", "ls"), "any"), yes},
		{set(matches("bad[*]", "curl"), "any"), open},
		{matches("bad[*]", "ls"), open},
		{local("here"), yes},
		{local("there"), no},
		{set(local("there"), "not"), yes},
		{local("n"), open},
		{local("missing"), open},
		{set(local("missing"), "optional"), no},
		{matches("bad[*]", "curl"), no},
		{set(matches("none[*]", "curl"), "any"), no},
		{matches("none[*]", "curl"), no},
		{set(matches("t[*]", "curl"), "any"), open},
		{set(matches("o[*]", "curl"), "any"), open},
		{set(matches("files[*].path", "^[.]github/"), "any"), yes},
		{set(matches("files[*].path", "^wf/"), "any"), open}, // the third has none
		{cond(t, OpPrefix, "t", "x", "cur"), yes},
		{cond(t, OpPrefix, "t", "url"), no},
		{cond(t, OpPrefix, "n", "5"), open},
		{oneOf("b", Scalar{"false", true}), yes},
		{oneOf("f", Scalar{"false", true}), no},
		{oneOf("f", Scalar{"false", false}), yes},
		{oneOf("b", Scalar{"false", false}), no},
		{oneOf("null", Scalar{"null", false}), no},
		{set(oneOf("null", Scalar{"false", true}), "not optional"), yes},
		{set(oneOf("o", Scalar{"false", true}), "not optional"), yes},
		{oneOf("n", Scalar{"5", false}), no},
		{set(oneOf("missing", Scalar{"false", true}), "not optional"), no},
		{oneOf("missing", Scalar{"false", true}), open},
		{set(cond(t, OpEquals, "l[*]", "curl"), "any"), yes},
		{set(cond(t, OpEquals, "l[*]", "wget"), "any"), no},
	} {
		if err := c.c.Check(); err != nil {
			t.Errorf("%+v: %v", c.c, err)
		}
		if got := p.asks(&c.c, &question{args: document.Arguments(args)}); got != c.want {
			t.Errorf("%+v is %v, want %v", c.c, got, c.want)
		}
	}
	for _, bad := range []string{"", "(", strings.Repeat("a", maxExpression+1), "a{1000}b{1000}c{1000}"} {
		if _, err := Expression(bad); !errors.Is(err, ErrCond) {
			t.Errorf("%.20q: %v", bad, err)
		}
	}
}

func TestSpoken(t *testing.T) {
	for _, c := range []struct {
		text, value string
		want        bool
	}{
		{"pay DE89370400440532013000 now", "DE89370400440532013000", true},
		{"write to (bob@x.example).", "bob@x.example", true},
		{"to:bob@x.example", "bob@x.example", true},
		{"write to Bob@X.example", "bob@x.example", true},
		{"tell @alice", "alice", true},
		{"in #general, please", "general", true},
		{"read https://x.example/a", "https://x.example/a", true},
		{"read https://x.example/a/b", "https://x.example/a", false},
		{"read https://x.example/a", "x.example", false},
		{"notbob@x.example", "bob@x.example", false},
		{"a.bob@x.example", "bob@x.example", false},
		{"bob@x.example.org", "bob@x.example", false},
		{"bob@x.example-corp", "bob@x.example", false},
		{"x@alice", "alice", false},
		{"/home/u/src/main.go", "src/main.go", false},
		{"12345", "234", false},
		{"General", "general", false},
		{"ab", "ab", false},
		{"naïve", "na", false},
		{"", "abc", false},
		{"the bank", "the bank ", false},
	} {
		if got := wish.Spoken(c.text, c.value); got != c.want {
			t.Errorf("%q in %q is %v", c.value, c.text, got)
		}
	}
}

func TestNewRefuses(t *testing.T) {
	ok := sendMail(t)
	twice, hidden, bad, strange, both := ok, ok, ok, ok, ok
	hidden.Rules = []Rule{{Why: "all"}, {Why: "never"}}
	bad.Rules = []Rule{{When: []Cond{cond(t, OpEquals, "nothing", "x")}}}
	strange.Name = "send mail"
	both.Rules = []Rule{{Deny: true, Confirm: true}}
	dest := ok
	dest.Destinations = []string{"nowhere"}
	readers := ok
	readers.Rules = []Rule{{Readers: []document.Path{at(t, "who")}}}
	for _, tools := range [][]Tool{{ok, twice}, {hidden}, {bad}, {strange}, {both}, {dest}, {readers}} {
		if _, err := New(Config{Scheme: observe.FourPoint(), Tools: tools}); !errors.Is(err, ErrTool) && !errors.Is(err, ErrContradiction) {
			t.Errorf("%v", err)
		}
	}
	if _, err := New(Config{}); !errors.Is(err, observe.ErrScheme) {
		t.Errorf("%v", err)
	}
	for _, c := range []Cond{
		{},
		{Op: "like", Arg: at(t, "x")},
		{Op: OpEquals, Arg: at(t, "x")},
		{Op: OpIn, Arg: at(t, "x"), Values: []string{""}},
		{Op: OpFromUser},
		{Op: OpMatches, Arg: at(t, "x")},
		{Op: OpOneOf, Arg: at(t, "x")},
		{Op: OpPrefix, Arg: at(t, "x")},
		{Op: OpPresent, Any: true, Arg: at(t, "x")},
		{Op: OpFromUser, Optional: true, Arg: at(t, "x")},
		{Op: OpPresent, Arg: at(t, "x.~")},
		{Op: OpType, Arg: at(t, "x")},
		{Op: OpType, Arg: at(t, "x"), Type: typ(t, "echo")},
		{Op: OpAbsent, Not: true, Arg: at(t, "x")},
		cond(t, OpCommand, "x", "ls | x"),
	} {
		if err := c.Check(); !errors.Is(err, ErrCond) {
			t.Errorf("%+v: %v", c, err)
		}
	}
	if _, err := observe.Custom(label.FourPoint, "trusted", "private"); !errors.Is(err, observe.ErrScheme) {
		t.Errorf("%v", err)
	}
	if _, err := observe.Sets("a b"); !errors.Is(err, observe.ErrScheme) {
		t.Errorf("%v", err)
	}
}
