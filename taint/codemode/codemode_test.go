package codemode

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// accepted programs, and the calls that they make.
var accepted = []struct{ source, want string }{
	{``, ``},
	{`// nothing`, ``},
	{`/* nothing **/ text("x");`, ``},
	{`const r = await tools.exec_command({cmd: "git status"});
text(r.output);`, `exec_command {"cmd":"git status"}`},
	{
		`const r=await tools.exec_command({cmd:"a","workdir":'/b',"n":1000,m:-1.5,t:true,f:false,z:null,});text(JSON.stringify(r))`,
		`exec_command {"cmd":"a","workdir":"/b","n":1000,"m":-1.5,"t":true,"f":false,"z":null}`,
	},
	{"let r = await tools.write_stdin({session_id: 3, chars: \"\"})\ntext(r.output ?? r?.error ?? \"none\")\n", `write_stdin {"session_id":3,"chars":""}`},
	{`const p = "*** Begin Patch\n+\ta \"b\" \\ \x41\u0042\u{43}\n*** End Patch";
text(await tools.apply_patch(p));`, `apply_patch {"input":"*** Begin Patch\n+\ta \"b\" \\ ABC\n*** End Patch"}`},
	{"await tools.apply_patch(`a\n  \\${b} \\`c\\``);", `apply_patch {"input":"a\n  ${b} ` + "`c`" + `"}`},
	{`await tools.apply_patch('it\'s \d \
on');`, `apply_patch {"input":"it's d on"}`},
	{"const rs = await Promise.all([\n  tools.a({x: 1}),\n  tools.b({y: [1, \"2\", {z: []}]}),\n]);\nrs.forEach((r, i) => text(`--- ${i}\n${r.output}`));", `a {"x":1}|b {"y":[1,"2",{"z":[]}]}`},
	{`const [a, b] = await Promise.all([tools.a({}), tools.b()]); text({a, b: b.output, "c": [a.x[0], b["y"]]});`, `a {}|b {}`},
	{`for (const r of await Promise.all([tools.a({})])) { text(r.output); notify("x"); }
text("end")`, `a {}`},
	{`const rs = await tools.a({}); for (const r of rs) text(r); for (const r of rs) text(r.x);`, `a {}`},
	{`const cmd = 'ls'; await tools.a({cmd, x: cmd});`, `a {"cmd":"ls","x":"ls"}`},
	{`const r = await tools.a({}); text("exit " + r.exit_code + (r.ok ? "!" : r.why || "?"));`, `a {}`},
	{`tools.a({}); text(JSON.stringify({r: 1}, null, 2));`, `a {}`},
}

func shown(calls []Call) string {
	var out []string
	for _, c := range calls {
		out = append(out, c.Tool+" "+c.Arguments)
	}
	return strings.Join(out, "|")
}

func TestRead(t *testing.T) {
	for _, c := range accepted {
		calls, err := Read(c.source)
		if err != nil || shown(calls) != c.want {
			t.Errorf("%s\n%s, %v\nwant %s", c.source, shown(calls), err, c.want)
		}
	}
}

// mutant changes a program: it cuts, doubles, moves and mixes its pieces.
func mutant(t *rapid.T) string {
	var pieces []string
	draw := func() {
		if rapid.Bool().Draw(t, "good") {
			pieces = append(pieces, cut(rapid.SampledFrom(accepted).Draw(t, "program").source)...)
		} else if h := rapid.SampledFrom(hostile).Draw(t, "hostile").source; len(h) < 400 {
			pieces = append(pieces, cut(h)...)
		}
	}
	draw()
	if rapid.IntRange(0, 2).Draw(t, "two") == 0 {
		draw()
	}
	pool := []string{"\n", "(", ")", "[", "]", "{", "}", "=", ",", ";", ".", "?.", "+", "=>", "`", "${", "\"", "'", "\\", "r", "tools", "text", "await ", "const ", "constructor", "//", "/*", "*/", "forEach", ":", "1"}
	for range rapid.IntRange(1, 4).Draw(t, "changes") {
		if len(pieces) == 0 {
			break
		}
		i, j := rapid.IntRange(0, len(pieces)-1).Draw(t, "i"), rapid.IntRange(0, len(pieces)-1).Draw(t, "j")
		switch rapid.IntRange(0, 4).Draw(t, "change") {
		case 0:
			pieces = slices.Delete(pieces, i, i+1)
		case 1:
			pieces[i] = rapid.SampledFrom(pool).Draw(t, "piece")
		case 2:
			pieces = slices.Insert(pieces, i, rapid.SampledFrom(pool).Draw(t, "piece"))
		case 3:
			pieces[i], pieces[j] = pieces[j], pieces[i]
		default:
			pieces = slices.Insert(pieces, i, pieces[j])
		}
	}
	return strings.Join(pieces, "")
}

// cut cuts a program before and behind each sign and space.
func cut(source string) (out []string) {
	from := 0
	for i, r := range source {
		if strings.ContainsRune(" \n()[]{}=,;.`'\"$+:?", r) {
			out = append(out, source[from:i], string(r))
			from = i + len(string(r))
		}
	}
	return slices.DeleteFunc(append(out, source[from:]), func(s string) bool { return s == "" })
}

// runner runs programs with tools that record their calls, as code mode has them.
const runner = `
const programs = JSON.parse(require("fs").readFileSync(0, "utf8"));
const AsyncFunction = (async () => {}).constructor;
(async () => {
  const out = [];
  for (const p of programs) {
    const calls = [];
    const tools = new Proxy({}, {get: (_, name) => (...args) => {
      calls.push([String(name), args]);
      return Promise.resolve({output: "words", exit_code: 0, x: ["y"], y: {z: 1}, forEach: f => f({output: "w"}, 0), [Symbol.iterator]: function* () { yield {output: "w"}; }});
    }});
    let threw = "";
    try { await new AsyncFunction("tools", "text", "notify", p)(tools, () => {}, () => {}); } catch (e) { threw = String(e && e.name); }
    await new Promise(r => setImmediate(r));
    out.push({calls, threw});
  }
  process.stdout.write(JSON.stringify(out));
})();
`

// TestInNode runs programs that Read accepts, mutants among them, in a real engine: all
// calls that they make are those that Read returned, in order.
func TestInNode(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("there is no node")
	}
	var programs []string
	for _, c := range accepted {
		programs = append(programs, c.source)
	}
	gen := rapid.Custom(mutant)
	for seed := range 20_000 {
		p := gen.Example(seed)
		if _, err := Read(p); err == nil {
			programs = append(programs, p)
		}
	}
	script := filepath.Join(t.TempDir(), "run.js")
	if err := os.WriteFile(script, []byte(runner), 0o600); err != nil {
		t.Fatal(err)
	}
	in, err := json.Marshal(programs)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), node, script)
	cmd.Stdin, cmd.Stderr = strings.NewReader(string(in)), os.Stderr
	got, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var ran []struct {
		Calls [][2]json.RawMessage `json:"calls"`
		Threw string               `json:"threw"`
	}
	if err := json.Unmarshal(got, &ran); err != nil || len(ran) != len(programs) {
		t.Fatalf("%d of %d programs ran: %v", len(ran), len(programs), err)
	}
	made, whole := 0, 0
	for i, p := range programs {
		want, err := Read(p)
		if err != nil {
			t.Fatal(err)
		}
		if len(ran[i].Calls) > len(want) || ran[i].Threw == "" && len(ran[i].Calls) != len(want) {
			t.Errorf("it makes %d calls, %d were read, threw %q\n%s", len(ran[i].Calls), len(want), ran[i].Threw, p)
			continue
		}
		for k, c := range ran[i].Calls {
			made++
			var tool string
			var args []json.RawMessage
			if json.Unmarshal(c[0], &tool) != nil || json.Unmarshal(c[1], &args) != nil || len(args) > 1 {
				t.Fatalf("a call can't be read: %s", c)
			}
			arguments := "{}"
			if len(args) == 1 {
				if arguments = string(args[0]); strings.HasPrefix(arguments, `"`) {
					arguments = fmt.Sprintf(`{"input":%s}`, arguments)
				}
			}
			if tool != want[k].Tool || !same(t, arguments, want[k].Arguments) {
				t.Errorf("it calls %s %s, read as %s %s\n%s", tool, arguments, want[k].Tool, want[k].Arguments, p)
			}
		}
		if ran[i].Threw == "" {
			whole++
		}
	}
	t.Logf("%d programs ran, %d to their end, and made %d calls", len(programs), whole, made)
	if whole < len(accepted) || made < 100 {
		t.Errorf("%d programs ran to their end, with %d calls: too few to show anything", whole, made)
	}
}

func same(t *testing.T, a, b string) bool {
	t.Helper()
	var x, y any
	if json.Unmarshal([]byte(a), &x) != nil || json.Unmarshal([]byte(b), &y) != nil {
		t.Errorf("not JSON: %s, %s", a, b)
	}
	return fmt.Sprint(x) == fmt.Sprint(y)
}

// Whatever a program is, Read ends, and what it returns is JSON.
func FuzzRead(f *testing.F) {
	for _, c := range accepted {
		f.Add(c.source)
	}
	for _, c := range hostile {
		if len(c.source) < 1000 {
			f.Add(c.source)
		}
	}
	f.Fuzz(func(t *testing.T, program string) {
		calls, err := Read(program)
		for _, c := range calls {
			var v map[string]any
			if err != nil || c.Tool == "" || json.Unmarshal([]byte(c.Arguments), &v) != nil {
				t.Errorf("%q: %v, %v", program, calls, err)
			}
		}
	})
}
