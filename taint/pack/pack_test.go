package pack

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/label"
	"github.com/margaydev/margay/taint"
	"github.com/margaydev/margay/taint/observe"
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
		if _, err := Policy(observe.FourPoint(), nil, Bind(p, "")); err != nil {
			t.Error(err)
		}
	}
}

// TestLocalURLs: every tool that takes an address asks about those of this
// machine and its network, in every spelling and though the user wrote them.
func TestLocalURLs(t *testing.T) {
	tools := 0
	for _, name := range Names() {
		p, err := Builtin(name)
		if err != nil {
			t.Fatal(err)
		}
		policy, err := Policy(observe.FourPoint(), nil, Binding{Pack: p})
		if err != nil {
			t.Fatal(err)
		}
		for _, tool := range p.Tools {
			if p.Kind == Suite || !slices.Contains(tool.Destinations, "url") {
				continue
			}
			tools++
			for _, u := range []string{
				"http://LOCALHOST/x", "http://0x7F.1/", "HTTP://2130706433", "http://0251.0376.0251.0376/", "http://[::ffff:a9fe:a9fe]/", "http://[64:ff9b::7f00:1]/",
				"http://100.100.100.200/latest", "http://１２７。1/", "http:/127.0.0.1./", "127.1:8080/x", "https://metadata.google.internal./", "file:///etc/passwd", "http://[fe80::1%25eth0]/", "\\\\127.0.0.1\\x",
			} {
				args, err := json.Marshal(map[string]string{"url": u})
				if err != nil {
					t.Fatal(err)
				}
				if c := policy.Clear(flow.ToolCall{Name: tool.Name, Arguments: string(args)}, []string{"Open " + u}); !c.Confirm {
					t.Errorf("%s of %s does not ask about %s", tool.Name, name, u)
				}
			}
		}
	}
	if tools < 3 {
		t.Errorf("only %d tools take addresses", tools)
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
		"a type":            {toolText("    result: {fields: {a: dat}}\n"), `unknown type "dat"; known types are address`},
		"a pattern":         {strings.Replace(ok, "tools:", "types: {p: {pattern: \".*\"}}\ntools:", 1), "x.yaml:6:"},
		"a type's name":     {strings.Replace(ok, "tools:", "types: {date: {enum: [a]}}\ntools:", 1), "has a meaning already"},
		"a line":            {toolText("    result: {formats: [lines], lines: [\".*\"]}\n"), "x.yaml:11:"},
		"a condition":       {toolText("    policy: [{when: [{arg: y, present: true}], admit: any any, why: it only reads}]\n"), "which is not an argument"},
		"two questions":     {toolText("    policy: [{when: [{arg: x, present: true, from-user: true}], admit: any any, why: it only reads}]\n"), "x.yaml:11:"},
		"a rule never used": {toolText("    policy: [{admit: any any, why: it only reads}, {ask: true, why: never reached}]\n"), "never would"},
		"an expression":     {toolText("    policy: [{when: [{arg: x, matches: \"a(\"}], admit: any any, why: it only reads}]\n"), "x.yaml:11:40: tools.0.policy.0.when.0.matches: not a condition: error parsing regexp"},
		"too big":           {toolText("    policy: [{when: [{arg: x, matches: \"(a{900}){1}b{900}c{900}\"}], admit: any any, why: it only reads}]\n"), "repeats too much"},
		"a number":          {toolText("    policy: [{when: [{arg: x, one-of: [1]}], admit: any any, why: it only reads}]\n"), "x.yaml:11:"},
		"optional":          {toolText("    policy: [{when: [{arg: x, from-user: true, optional: true}], admit: any any, why: it only reads}]\n"), "optional is for matches"},
		"CEL":               {toolText("    policy: [{when: [{cel: \"args.x.matches('a')\", says: nothing}], admit: any any, why: it only reads}]\n"), "x.yaml:11:28: tools.0.policy.0.when.0.cel: not a condition: packs have no CEL any more; instead write {arg: PATH,"},
		"free destination":  {toolText("    destinations: [x]\n    free: [x]\n"), "x can't be free"},
		"a result":          {toolText("    result: other\n"), `unknown result "other"`},
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
	if _, err := Policy(observe.FourPoint(), nil, Binding{Pack: a}, Binding{Pack: b}); !errors.Is(err, taint.ErrContradiction) || !strings.Contains(err.Error(), "x and y both have the tool get") {
		t.Errorf("%v", err)
	}
	if _, err := Policy(observe.FourPoint(), nil, Bind(a, "one"), Bind(a, "two")); err != nil {
		t.Errorf("one pack for two servers: %v", err)
	}
	if _, err := Policy(observe.FourPoint(), nil, Bind(a, "one"), Bind(a, "one")); FindingOf("x", err).Code != "contradiction" {
		t.Errorf("%v", err)
	}
	l := "lattice: {integrity: {low: [mid], mid: [top]}, confidentiality: {a: [b]}, untrusted: mid, private: b}\ntools:"
	c, err := load(t, strings.Replace(ok, "tools:", l, 1))
	if err != nil {
		t.Fatal(err)
	}
	p, err := Policy(observe.FourPoint(), nil, Bind(c, ""))
	if err != nil || p.Scheme().Name != "custom" || p.Scheme().Lattice.Format(p.Annotate(flow.ToolCall{Name: "other"}, "x").Worst) != "(mid, b)" {
		t.Errorf("a pack's lattice: %v", err)
	}
	d, _ := load(t, strings.Replace(strings.Replace(ok, "tools:", l, 1), "pack: x", "pack: z", 1))
	if _, err := Policy(observe.FourPoint(), nil, Bind(c, "c"), Bind(d, "d")); !errors.Is(err, taint.ErrContradiction) {
		t.Errorf("two lattices: %v", err)
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
	fourPoint := observe.FourPoint()
	if m, err := mark("untrusted public"); err != nil || fourPoint.Label(m) != (label.Label{Integrity: label.Untrusted}) {
		t.Errorf("%v, %v", m, err)
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
