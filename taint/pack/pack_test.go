package pack

import (
	"errors"
	"strings"
	"testing"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/label"
	"github.com/margaydev/margay/taint"
)

// TestBuiltin: the packs load, and all their samples hold.
func TestBuiltin(t *testing.T) {
	for _, name := range Names() {
		p, err := Builtin(name)
		if err != nil {
			t.Errorf("%v", err)
			continue
		}
		if p.Name != name {
			t.Errorf("the pack %s is in %s.yaml", p.Name, name)
		}
		for _, f := range Lint(p) {
			t.Errorf("%s", f.String())
		}
		if _, err := Policy(taint.FourPoint(), nil, Bind(p, "")); err != nil {
			t.Error(err)
		}
	}
}

const head = "version: 1\npack: x\ntitle: some tools\nserver: x\nschemas: nowhere\n"

func load(t *testing.T, s string) (*Pack, error) {
	t.Helper()
	return Load("x.yaml", []byte(s))
}

func toolText(rest string) string {
	return head + "tools:\n  - name: get\n    worst: nothing much\n    why: it only reads\n    args: [x]\n" + rest +
		"    samples:\n      - {args: {x: a}, admit: any any}\n"
}

// TestMistakes: each is refused with its place.
func TestMistakes(t *testing.T) {
	ok := toolText("    policy: [{admit: any any, why: it only reads}]\n")
	if _, err := load(t, ok); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ text, want string }{
		"no YAML":           {"a: [", "x.yaml:1:"},
		"nothing":           {"", "one YAML document"},
		"two documents":     {ok + "---\n" + ok, "one YAML document"},
		"a key twice":       {strings.Replace(ok, "pack: x", "pack: x\npack: y", 1), "x.yaml:3:"},
		"an anchor":         {strings.Replace(ok, "pack: x", "pack: &a x", 1), "x.yaml:2:"},
		"version":           {strings.Replace(ok, "version: 1", "version: 2", 1), "x.yaml:1:10: version: the format version is unknown"},
		"an unknown key":    {strings.Replace(ok, "    why: it", "    wy: 1\n    why: it", 1), "x.yaml:9:"},
		"a wrong type":      {strings.Replace(ok, "args: [x]", "args: x", 1), "x.yaml:10:"},
		"no kind":           {strings.Replace(ok, "server: x\n", "", 1), "x.yaml:1:"},
		"a path":            {toolText("    result: {fields: {\"a..b\": date}}\n"), "x.yaml:11:"},
		"a type":            {toolText("    result: {fields: {a: dat}}\n"), `"dat" is none of`},
		"a pattern":         {strings.Replace(ok, "tools:", "types: {p: {pattern: \".*\"}}\ntools:", 1), "x.yaml:6:"},
		"a type's name":     {strings.Replace(ok, "tools:", "types: {date: {enum: [a]}}\ntools:", 1), "has a meaning already"},
		"a line":            {toolText("    result: {formats: [lines], lines: [\".*\"]}\n"), "x.yaml:11:"},
		"a condition":       {toolText("    policy: [{when: [{arg: y, present: true}], admit: any any, why: it only reads}]\n"), "which is no argument"},
		"two questions":     {toolText("    policy: [{when: [{arg: x, present: true, from-user: true}], admit: any any, why: it only reads}]\n"), "x.yaml:11:"},
		"a rule never used": {toolText("    policy: [{admit: any any, why: it only reads}, {ask: true, why: never reached}]\n"), "never would"},
		"CEL":               {toolText("    policy: [{when: [{cel: \"args.x ==\", says: nothing}], admit: any any, why: it only reads}]\n"), "x.yaml:11:"},
		"CEL's type":        {toolText("    policy: [{when: [{cel: \"1 + 1\", says: nothing}], admit: any any, why: it only reads}]\n"), "gives no truth"},
		"free destination":  {toolText("    destinations: [x]\n    free: [x]\n"), "says where it goes"},
		"a result":          {toolText("    result: other\n"), `no result "other"`},
		"a tool twice":      {ok + strings.SplitN(ok, "tools:\n", 2)[1], "comes twice"},
		"no join":           {strings.Replace(ok, "tools:", "lattice: {integrity: {low: [x, y], x: [], y: []}, confidentiality: {a: [b]}, untrusted: x, private: b}\ntools:", 1), "x and y have no join"},
		"a lattice of one":  {strings.Replace(ok, "tools:", "lattice: {integrity: {low: [x]}, confidentiality: {a: [b]}, untrusted: low, private: b}\ntools:", 1), "can't be the bottom"},
		"too long":          {ok + strings.Repeat("#", maxBytes), "at most"},
	} {
		_, err := load(t, c.text)
		var e *Error
		if !errors.As(err, &e) || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

func TestLint(t *testing.T) {
	p, err := load(t, strings.Replace(toolText("    result: {formats: [json]}\n    policy: [{admit: any public, why: it only reads}]\n"), "{args: {x: a}", "{args: {x: b}", 1))
	if err != nil {
		t.Fatal(err)
	}
	got := Lint(p)
	if len(got) != 2 || got[0].Code != "sample-fails" || got[0].Line != 14 || got[1].Code != "result-without-sample" {
		t.Errorf("%+v", got)
	}
}

func TestContradictions(t *testing.T) {
	ok := toolText("    policy: [{admit: any any, why: it only reads}]\n")
	a, _ := load(t, ok)
	b, _ := load(t, strings.Replace(ok, "pack: x", "pack: y", 1))
	if _, err := Policy(taint.FourPoint(), nil, Binding{Pack: a}, Binding{Pack: b}); !errors.Is(err, taint.ErrContradiction) || !strings.Contains(err.Error(), "x and y both have the tool get") {
		t.Errorf("%v", err)
	}
	if _, err := Policy(taint.FourPoint(), nil, Bind(a, "one"), Bind(a, "two")); err != nil {
		t.Errorf("one pack for two servers: %v", err)
	}
	if _, err := Policy(taint.FourPoint(), nil, Bind(a, "one"), Bind(a, "one")); FindingOf("x", err).Code != "contradiction" {
		t.Errorf("%v", err)
	}
	l := "lattice: {integrity: {low: [mid], mid: [top]}, confidentiality: {a: [b]}, untrusted: mid, private: b}\ntools:"
	c, err := load(t, strings.Replace(ok, "tools:", l, 1))
	if err != nil {
		t.Fatal(err)
	}
	p, err := Policy(taint.FourPoint(), nil, Bind(c, ""))
	if err != nil || p.Scheme().Name != "custom" || p.Scheme().Lattice.Format(p.Annotate(flow.ToolCall{Name: "other"}, "x").Worst) != "(mid, b)" {
		t.Errorf("a pack's lattice: %v", err)
	}
	d, _ := load(t, strings.Replace(strings.Replace(ok, "tools:", l, 1), "pack: x", "pack: z", 1))
	if _, err := Policy(taint.FourPoint(), nil, Bind(c, "c"), Bind(d, "d")); !errors.Is(err, taint.ErrContradiction) {
		t.Errorf("two lattices: %v", err)
	}
}

func TestCEL(t *testing.T) {
	for expr, want := range map[string]bool{
		`args.x == "a" && size(user) == 1`:  true,
		`tool == "get"`:                     true,
		`args.list.all(i, i < 10)`:          true,
		`has(args.none) && args.none == 1`:  false,
		`args.x.matches("^b")`:              false,
		`user.exists(u, u.contains("pay"))`: true,
	} {
		f, err := predicate(expr)
		if err != nil {
			t.Error(err)
			continue
		}
		if got, err := f(flow.ToolCall{Name: "get", Arguments: `{"x":"a","list":[1,2]}`}, []string{"pay it"}); err != nil || got != want {
			t.Errorf("%s is %v, %v", expr, got, err)
		}
	}
	// What costs too much, and what fails, holds neither way.
	big := `{"x":"a","list":[` + strings.Repeat("1,", 500) + `1]}`
	for _, expr := range []string{`args.list.all(i, args.list.all(j, args.list.all(k, i + j + k > 0)))`, `args.none == 1`, `args.x`} {
		f, err := predicate(expr)
		if err != nil {
			t.Error(err)
			continue
		}
		if _, err := f(flow.ToolCall{Name: "get", Arguments: big}, nil); err == nil {
			t.Errorf("%s gives a truth", expr)
		}
	}
}

func TestDrift(t *testing.T) {
	p, err := load(t, toolText("    policy: [{admit: any any, why: it only reads}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		`[{"name":"get","inputSchema":{"properties":{"x":{}}}}]`:                      "",
		`{"tools":[{"name":"get","inputSchema":{"properties":{"x":{},"y":{}}}}]}`:     "argument-not-in-pack",
		`{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"get"},{"name":"put"}]}}`: "argument-not-on-server,tool-not-in-pack",
		`{"tools":[]}`: "tool-not-on-server",
	} {
		live, err := ParseTools([]byte(text))
		if err != nil {
			t.Error(err)
			continue
		}
		var codes []string
		for _, f := range Drift(p, live) {
			codes = append(codes, f.Code)
		}
		if got := strings.Join(codes, ","); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
	for _, bad := range []string{``, `{}`, `{"result":{}}`, `"x"`} {
		if _, err := ParseTools([]byte(bad)); err == nil {
			t.Errorf("%q is a list of tools", bad)
		}
	}
}

func TestMarks(t *testing.T) {
	if l, err := markLabel("untrusted public"); err != nil || l != (label.Label{Integrity: label.Untrusted}) {
		t.Errorf("%v, %v", l, err)
	}
	for _, bad := range []string{"", "trusted", "public trusted", "trusted  public", "Trusted public"} {
		if _, err := mark(bad); err == nil {
			t.Errorf("%q is a mark", bad)
		}
		if _, _, err := reaches(bad); err == nil {
			t.Errorf("%q is a reach", bad)
		}
	}
}

func FuzzLoad(f *testing.F) {
	f.Add(toolText("    policy: [{admit: any any, why: it only reads}]\n"))
	f.Add(head)
	f.Fuzz(func(t *testing.T, s string) {
		p, err := Load("x.yaml", []byte(s))
		if err != nil {
			var e *Error
			if !errors.As(err, &e) {
				t.Errorf("%v is not positioned", err)
			}
			return
		}
		Lint(p)
	})
}
