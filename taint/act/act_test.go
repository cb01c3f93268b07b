package act

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/margaydev/margay/taint/document"
	"github.com/margaydev/margay/taint/effect"
	"github.com/margaydev/margay/taint/workspace"
)

func machine(tainted ...string) *Machine {
	return &Machine{
		Dir: "/work", Home: "/home/me",
		Places: workspace.New(workspace.Config{Roots: []string{"/work"}, Home: "/home/me", State: []string{"/home/me/.config/margay"}}),
		Tainted: func(p string) bool {
			return slices.ContainsFunc(tainted, func(f string) bool { return p == f || strings.HasPrefix(p, f+"/") })
		},
		Holds: func(dir string) bool {
			return slices.ContainsFunc(tainted, func(f string) bool { return dir == "" || strings.HasPrefix(f, dir+"/") })
		},
	}
}

func at(t *testing.T, s string) *document.Path {
	t.Helper()
	p, err := document.ParsePath(s)
	if err != nil {
		t.Fatal(err)
	}
	return &p
}

// effects are those of a call's acts, in their order.
func effects(s *Spec, m *Machine, args string) string {
	var out []string
	for _, a := range s.Acts(m, document.Arguments(args)) {
		out = append(out, a.Effect.String())
	}
	return strings.Join(out, " ")
}

func TestActs(t *testing.T) {
	reach := effect.Reach
	edits, reads := &Spec{Edits: []document.Path{*at(t, "file")}}, &Spec{Reads: []document.Path{*at(t, "file")}}
	patch, shell := &Spec{Patch: at(t, "input")}, &Spec{Shell: at(t, "cmd"), Dir: at(t, "dir")}
	for _, c := range []struct {
		spec       *Spec
		args, want string
	}{
		{&Spec{Effect: &reach}, `{}`, "reach"},
		{edits, `{"file":"a.go"}`, "edit"},
		{edits, `{"file":"/work/../etc/passwd"}`, "persist"},
		{edits, `{"file":"AGENTS.md"}`, "persist"},
		{edits, `{"file":"~/.config/margay/config.yaml"}`, "administer"},
		{edits, `{"file":"$HOME/x"}`, "persist"},
		{edits, `{"file":null}`, "persist"},
		{edits, `{"file":["a"]}`, "persist"},
		{edits, `{}`, "persist"},
		{reads, `{"file":"a.go"}`, "observe"},
		{reads, `{"file":"/home/me/.config/margay/config.yaml"}`, "administer"},
		{patch, `{"input":"*** Begin Patch\n*** Update File: a.go\n+x\n*** Add File: b.go\n*** End Patch"}`, "edit edit"},
		{patch, `{"input":"*** Update File: a.go\n*** Move to: .git/hooks/x"}`, "edit persist"},
		{patch, `{"input":"  *** Delete File: a.go"}`, "destroy"},
		{patch, `{"input":"nothing"}`, "persist"},
		{patch, `{"input":3}`, "persist"},
		{shell, `{"cmd":"ls"}`, "observe"},
		{shell, `{"cmd":["bash","-lc","rm -rf src"]}`, "destroy"},
		{shell, `{"cmd":["ls",3]}`, "persist"},
		{shell, `{"cmd":{"a":"ls"}}`, "persist"},
		{shell, `{}`, "observe"},
		{shell, `{"cmd":"echo x > a","dir":"/work"}`, "edit observe"},
		{shell, `{"cmd":"echo x > a","dir":"/home/me"}`, "persist observe"},
		{shell, `{"cmd":"echo x > a","dir":3}`, "persist observe"},
	} {
		if got := effects(c.spec, machine(), c.args); got != c.want {
			t.Errorf("%s: %s, want %s", c.args, got, c.want)
		}
	}
	// Of no machine nothing is known.
	for spec, args := range map[*Spec]string{edits: `{"file":"a.go"}`, patch: `{"input":"*** Update File: a.go"}`} {
		if got := effects(spec, nil, args); got != "persist" {
			t.Errorf("%s on no machine: %s", args, got)
		}
	}
}

// TestForeign: a result is the workspace's only where it can hold nothing else.
func TestForeign(t *testing.T) {
	run, reach := effect.Run, effect.Reach
	reads, shell := &Spec{Reads: []document.Path{*at(t, "file")}}, &Spec{Shell: at(t, "cmd")}
	for _, c := range []struct {
		spec        *Spec
		args, shown string
		want        bool
	}{
		{reads, `{"file":"a.go"}`, "text", false},
		{reads, `{}`, "a.go:1:text", false},
		{reads, `{}`, "node_modules/x/a.js:1:text", true},
		{reads, `{}`, "a.go:1:x\n/work/tainted.go:2:y", true},
		{reads, `{"file":"tainted.go"}`, "text", true},
		{reads, `{"file":"node_modules/x"}`, "text", true},
		{reads, `{"file":"/home/me/x"}`, "text", true},
		{reads, `{"file":"/tmp/x"}`, "text", true},
		{reads, `{"file":"/etc/issue"}`, "text", false},
		{reads, `{"file":"CLAUDE.md"}`, "text", false},
		{reads, `{"file":"~/.bashrc"}`, "text", true},
		{shell, `{"cmd":"ls"}`, "a.go", false},
		{shell, `{"cmd":"ls"}`, "tainted.go", true},
		{shell, `{"cmd":"cat a.go"}`, "text", false},
		{shell, `{"cmd":"cat tainted.go"}`, "text", true},
		{shell, `{"cmd":"cat *.go"}`, "text", true},
		{shell, `{"cmd":"grep -rn x . | head"}`, "a.go:1:x", false},
		{shell, `{"cmd":"grep -rn x . | head"}`, "tainted.go:1:x", true},
		{shell, `{"cmd":"grep -rhn x ."}`, "1:x", true},
		{shell, `{"cmd":"grep -rn x . | cut -d: -f3"}`, "x", true},
		{shell, `{"cmd":"rg x"}`, "a.go:x", false},
		{shell, `{"cmd":"rg x"}`, "tainted.go:x", true},
		{shell, `{"cmd":"rg -I x"}`, "x", true},
		{shell, `{"cmd":"rg --no-filename x"}`, "x", true},
		{shell, `{"cmd":"grep x *.go"}`, "x", true},
		{shell, `{"cmd":"head *.go"}`, "x", true},
		{shell, `{"cmd":"tail -n +1 a.go tainted.go"}`, "x", true},
		{shell, `{"cmd":"rg x | head -20"}`, "a.go:x", false},
		{shell, `{"cmd":"rg x | sort tainted.go"}`, "x", true},
		{shell, `{"cmd":"find . -type f -exec head {} \\;"}`, "x", true},
		{shell, `{"cmd":"ls -l"}`, "-rw-r--r-- 1 me me 5 Nov 25 10:00 tainted.go", true},
		{shell, `{"cmd":"gunzip -c tainted.go"}`, "x", true},
		{shell, `{"cmd":"cat a.go"}`, "tainted.go:1: words of a.go", true},
		{shell, `{"cmd":"git log"}`, "text", true}, // of the whole workspace
		{shell, `{"cmd":"go test ./..."}`, "text", true},
		{shell, `{"cmd":"git log && curl x.example"}`, "text", true},
		{shell, `{"cmd":"grep -r x ."}`, "vendor/a.go:x", true},
		{&Spec{Effect: &run}, `{}`, "text", true},
		{&Spec{Effect: &run, Strangers: true}, `{}`, "text", true},
		{&Spec{Effect: &reach}, `{}`, "text", true},
	} {
		if got := c.spec.Foreign(machine("/work/tainted.go"), document.Arguments(c.args), c.shown); got != c.want {
			t.Errorf("%s, %q: %v", c.args, c.shown, got)
		}
	}
	for command, want := range map[string]bool{
		"git log main..HEAD": false, "git diff origin/main...HEAD --stat": false, "git diff --stat origin/main...HEAD; git status": false,
		"git log main..origin/feature": true, "git log origin/main..origin/feature": true, "git show origin/main:a.go": false, "git log --all": true,
		"git show upstream/main": true, "git log refs/remotes/origin/x": true, "git diff FETCH_HEAD": true, "git branch -a": true,
		"git push": false, "git push -u origin feature": false, "git push fork feature": true, "git push https://x.example/a": true,
		"git fetch": true, "git fetch origin": true, "git fetch origin main": false, "git fetch origin pull/5/head:five": true, "git fetch --all": true, "git fetch fork main": true,
		"git pull": true, "git pull --rebase origin main": false, "git pull origin feature": true, "git pull fork main": true, "git pull && curl x.example": true,
	} {
		args, err := json.Marshal(map[string]string{"cmd": command})
		if err != nil {
			t.Fatal(err)
		}
		if got := shell.Foreign(machine(), document.Arguments(string(args)), "text"); got != want {
			t.Errorf("%s: %v, want %v", command, got, want)
		}
	}
	for spec, args := range map[*Spec]string{shell: `{"cmd":"git log && go test ./..."}`, {Effect: &run}: `{}`} {
		if spec.Foreign(machine(), document.Arguments(args), "text") {
			t.Errorf("%s where strangers had a part in nothing", args)
		}
	}
	if !reads.Foreign(nil, document.Arguments(`{"file":"a.go"}`), "text") || !(&Spec{Effect: &run}).Foreign(machine().In("/home/me"), document.Arguments(`{}`), "text") {
		t.Error("what is read in no workspace is the workspace's")
	}
	if long := strings.Repeat("x\n", maxNamed+1); !reads.Foreign(machine(), document.Arguments(`{}`), long) {
		t.Error("a result that is too long to look at is the workspace's")
	}
}

func TestNames(t *testing.T) {
	got := machine().Names("/work/.github/workflows/ci.yml")
	for _, want := range []string{"/work/.github/workflows/ci.yml", "ci.yml", ".github/workflows/ci.yml"} {
		if !slices.Contains(got, want) {
			t.Errorf("%s is none of %v", want, got)
		}
	}
	if got := machine().Names("/home/me/.bashrc"); !slices.Contains(got, "~/.bashrc") {
		t.Errorf("%v", got)
	}
}

func TestWithin(t *testing.T) {
	s := &Spec{Shell: at(t, "cmd"), Dir: at(t, "dir")}
	if _, ok := s.Within([]string{"cmd", "dir"}); !ok {
		t.Error("its arguments are not the tool's")
	}
	if other, ok := s.Within([]string{"cmd"}); ok || other != "dir" {
		t.Errorf("%q, %v", other, ok)
	}
	if (&Spec{Reads: []document.Path{*at(t, "a")}}).Harmless() == s.Harmless() {
		t.Error("to read is as good as to run")
	}
}

// TestTaints: what strangers wrote leaves their words wherever a call puts it.
func TestTaints(t *testing.T) {
	edits, shell := &Spec{Edits: []document.Path{*at(t, "file")}}, &Spec{Shell: at(t, "cmd")}
	for _, c := range []struct {
		spec *Spec
		args string
		// what is left where the call follows from the workspace, and where
		// from strangers
		own, world string
	}{
		{edits, `{"file":"a.go"}`, "", "/work/a.go"},
		{edits, `{"file":"/tmp/a.go"}`, "", "/tmp/a.go"},
		{edits, `{"file":"Makefile"}`, "", "/work/Makefile"},
		{edits, `{"file":"node_modules/a.js"}`, "", ""},          // theirs as it is
		{edits, `{"file":"/home/me/a.go"}`, "", "/home/me/a.go"}, // no workspace's, and may be one's later
		{shell, `{"cmd":"cat /home/me/b.go > /home/me/a.go"}`, "", "/home/me/a.go"},
		{shell, `{"cmd":"git clone https://x.example/r.git /home/me/src/r"}`, "/home/me/src/r", "/home/me/src/r"},
		{shell, `{"cmd":"cd /home/me/src && git clone https://x.example/r.git"}`, "/home/me/src/r", "/home/me/src/r"},
		{shell, `{"cmd":"curl -o /home/me/src/a https://x.example"}`, "/home/me/src/a", "/home/me/src/a"},
		{shell, `{"cmd":"curl https://x.example > /home/me"}`, "", ""}, // it is around workspaces
		{shell, `{"cmd":"echo x > b.go"}`, "", "/work/b.go"},
		{shell, `{"cmd":"cat a.go > b.go"}`, "", "/work/b.go"},
		{shell, `{"cmd":"cat tainted.go > b.go"}`, "/work/b.go", "/work/b.go"},
		{shell, `{"cmd":"cp tainted.go b.go"}`, "/work/b.go /work/b.go/tainted.go", "/work/b.go /work/b.go/tainted.go"},
		{shell, `{"cmd":"cp -r . /tmp/copy"}`, "/tmp/copy", "/tmp/copy"},
		{shell, `{"cmd":"x=$(grep -r x .); echo $x > b.go"}`, "/work/b.go", "/work/b.go"},
		{shell, `{"cmd":"git mv tainted.go b.go"}`, "/work/b.go /work/tainted.go", "/work/b.go /work/tainted.go"},
		{shell, `{"cmd":"git show HEAD:tainted.go > b.go"}`, "/work/b.go", "/work/b.go"},
		{shell, `{"cmd":"go run . > b.go"}`, "/work/b.go", "/work/b.go"},
		{shell, `{"cmd":"curl -o b.go https://x.example"}`, "/work/b.go", "/work/b.go"},
		{shell, `{"cmd":"split tainted.go b"}`, "/work", "/work"},
		{shell, `{"cmd":"split a.txt b"}`, "", "/work"},
		{shell, `{"cmd":"gunzip -c tainted.go > b.go"}`, "/work /work/b.go", "/work /work/b.go"},
		{shell, `{"cmd":"sed 'w b.go' tainted.go"}`, "/work", "/work"},
		{shell, `{"cmd":"git commit -am x"}`, "", ""},
		{shell, `{"cmd":"git pull"}`, "", ""},
		{shell, `{"cmd":"git pull --rebase origin main"}`, "", ""},
		{shell, `{"cmd":"git merge origin/main"}`, "", ""},
		{shell, `{"cmd":"git pull fork main"}`, "/work", "/work"},
		{shell, `{"cmd":"git pull origin feature"}`, "/work", "/work"},
		{shell, `{"cmd":"git merge FETCH_HEAD"}`, "/work", "/work"},
		{shell, `{"cmd":"git checkout origin/feature"}`, "/work", "/work"},
		{shell, `{"cmd":"git fetch origin"}`, "", ""},
		{shell, `{"cmd":"git fetch origin pull/5/head:five"}`, "/work", "/work"},
		{shell, `{"cmd":"gh pr checkout 5"}`, "/work", "/work"},
		{shell, `{"cmd":"curl https://x.example/a | tar -x"}`, "/work", "/work"},
	} {
		m := machine("/work/tainted.go")
		for strangers, want := range map[bool]string{false: c.own, true: c.world} {
			files, _ := m.taints(c.spec.Acts(m, document.Arguments(c.args)), strangers)
			if got := strings.Join(files, " "); got != want {
				t.Errorf("%s, from strangers %v: %q, want %q", c.args, strangers, got, want)
			}
		}
	}
}

// TestMoved: git may bring back what strangers wrote, or put it elsewhere.
func TestMoved(t *testing.T) {
	shell := &Spec{Shell: at(t, "cmd")}
	for command, want := range map[string]bool{
		"git stash pop": true, "git checkout main": true, "git reset --hard": true, "git mv a b": true, "git cherry-pick x": true, "git merge x": true, "git worktree add w": true,
		"git status": false, "git add .": false, "git commit -m x": false, "git push": false, "ls": false, "go test ./...": false,
	} {
		args, err := json.Marshal(map[string]string{"cmd": command})
		if err != nil {
			t.Fatal(err)
		}
		m := machine("/work/tainted.go")
		if _, got := m.taints(shell.Acts(m, document.Arguments(string(args))), false); got != want {
			t.Errorf("%s: %v", command, got)
		}
		if _, got := machine().taints(shell.Acts(machine(), document.Arguments(string(args))), true); got {
			t.Errorf("%s moves what is not there", command)
		}
	}
}

// TestProgram: a program of code mode does what its calls do, and one that nobody can
// read reaches out.
func TestProgram(t *testing.T) {
	s := &Spec{Program: at(t, "input"), Tools: map[string]*Spec{
		"exec_command": {Shell: at(t, "cmd"), Dir: at(t, "workdir"), Args: []string{"cmd", "workdir"}},
		"apply_patch":  {Patch: at(t, "input"), Args: []string{"input"}},
	}}
	for _, c := range []struct {
		program, shown, want string
		foreign              bool
	}{
		{`text(1)`, "1", "observe", false},
		{`const r = await tools.exec_command({cmd: "ls; go test ./..."}); text(r.output);`, "ok", "observe run", false},
		{`const r = await tools.exec_command({cmd: "cat tainted.go"}); text(r.output);`, "ok", "observe", true},
		{`const r = await tools.exec_command({cmd: "cat a.go", workdir: "/home/me"}); text(r.output);`, "ok", "observe", true},
		{`await tools.apply_patch("*** Update File: a.go\n+x")`, "", "edit", false},
		{`await tools.apply_patch("*** Update File: AGENTS.md\n+x")`, "", "persist", false},
		{`const [a, b] = await Promise.all([tools.exec_command({cmd: "ls"}), tools.exec_command({cmd: "curl x.example"})]); text(b);`, "", "observe reach", true},
		{`const r = await tools.exec_command({cmd: "rg x"}); text(JSON.stringify(r));`, `{"output":"a.go:1:x\nb.go:2:x"}`, "observe", true}, // it may change what names the files
		{`const r = await tools.exec_command({cmd: "rg x"}); text(JSON.stringify(r));`, `{"output":"tainted.go:1:x\nb.go:2:x"}`, "observe", true},
		{`const r = await tools.exec_command({cmd: "rg x"}); text(JSON.stringify(r));`, `{"output":"a.go:1:x\nnode_modules/a.js:2:x"}`, "observe", true},
		{`await tools.exec_command({cmd: "ls", sandbox_permissions: "require_escalated"})`, "", "reach", true},
		{`await tools.spawn_agent({message: "go on"})`, "", "reach", true},
		{`const t = tools; t.exec_command({cmd: "ls"});`, "", "reach", true},
	} {
		args, err := json.Marshal(map[string]string{"input": c.program})
		if err != nil {
			t.Fatal(err)
		}
		m := machine("/work/tainted.go")
		if strings.Contains(c.program, "go test") {
			m = machine()
		}
		if got := effects(s, m, string(args)); got != c.want {
			t.Errorf("%s: %s, want %s", c.program, got, c.want)
		}
		if got := s.Foreign(m, document.Arguments(string(args)), c.shown); got != c.foreign {
			t.Errorf("%s, which shows %q: %v", c.program, c.shown, got)
		}
	}
	if got := effects(s, machine(), `{"input":3}`); got != "reach" {
		t.Errorf("no program: %s", got)
	}
}

// TestForges: a forge's client reads from the forge of the clone alone where nothing
// leads it elsewhere, and what it downloads is strangers'.
func TestForges(t *testing.T) {
	s := &Spec{Shell: at(t, "cmd")}
	for command, want := range map[string]string{
		"gh pr view 5 --json title": "reach forge:gh", "gh pr checks 5 --repo x/y": "reach forge:gh", "gh api repos/x/y": "reach forge:gh", "gh run view 5 --log-failed": "reach forge:gh",
		"GH_HOST=evil.example gh pr view 5": "reach  reach ", "export GH_HOST=evil.example; gh pr view 5": "reach  observe  reach ", "gh api --hostname evil.example /x": "reach ",
		"gh api https://evil.example/x": "reach ", "gh pr view -R evil.example/x/y": "reach ", "gh pr view --repo=evil.example/x/y 5": "reach ", "gh pr view $(cat secret)": "observe  reach ",
		"gh issue list --search \"$TOKEN\"": "reach ", "gh api repos/x/y -f a=b": "reach ", "gh pr comment 5 -b x": "reach forge:gh:pr:comment",
		"gh release download v1":                                            "reach forge:gh edit ",
		"gh release download v1 -D sub":                                     "reach forge:gh edit /work/sub edit ",
		"gh run download 5 --dir ~/.config/autostart":                       "reach  persist /home/me/.config/autostart edit ",
		"gh pr view 5 " + strings.Repeat("x", 300):                          "reach forge:gh",
		"gh pr view 5 --jq '" + strings.Repeat(".x|", 99) + "\"$y\\(.z)\"'": "reach forge:gh",
		"gh api graphql -f query='query($n:Int!){repository(owner:\"o\",name:\"r\"){issue(number:$n){title}}}' -F n=3": "reach forge:gh",
		"gh api graphql -f query='mutation{x}' -f body=y":                                                              "reach ",
		"gh api graphql -f query=\"{repository(owner:\\\"$X\\\"){id}}\"":                                               "reach ",
		"gh api -H 'Accept: application/vnd.github+json' repos/o/r/actions/jobs/1/logs":                                "reach forge:gh",
		"export \"GH_HO\"ST=evil.example; gh pr view 5":                                                                "reach  observe  reach forge:gh",
		"env \"GH_HO\"ST=evil.example gh pr view 5":                                                                    "reach  reach forge:gh",
		"gh pr view 5 > ~/.bashrc":                                                                                     "persist  reach forge:gh",
		"go build ./...":                                                                                               "edit ",
		"go vet ./a/... ./b":                                                                                           "edit ",
		"cargo fmt --all -- --check":                                                                                   "edit ",
		"go build -o x ./cmd":                                                                                          "run ",
		"go build -toolexec x ./...":                                                                                   "run  reach ",
		"go build ./../x":                                                                                              "run  reach ",
		"go build ./a/../../x":                                                                                         "run  reach ",
		"go vet -vettool=x ./...":                                                                                      "run  reach ",
		"CC=./evil go build ./...":                                                                                     "run  reach ",
		"cargo fmt --manifest-path x/Cargo.toml":                                                                       "run ",
		"cargo build":                                                                                                  "run ",
		"go build ./... && go test ./...":                                                                              "edit  run ",
		"cd /home/me/other && go build ./...":                                                                          "observe  edit  reach ",
		"go build $X":                                                                                                  "reach ",
		"gh pr view 5 --json url --jq '.comments[-1].url // null'":                                                     "reach forge:gh",
		"gh run view 5 --log | rg 'a\\[b|\"c\"'":                                                                       "reach forge:gh observe ",
		"gh api -H 'Accept: application/vnd.github+json' repos/x/y/actions/jobs/1/logs": "reach forge:gh",
		"gh api -H 'Accept: application/vnd.github.v3.diff' repos/x/y/pulls/1":          "reach forge:gh",
		"gh api -H 'X-Evil: 1' repos/x/y":                                               "reach ",
		"gh api -H 'Accept: application/json' -H 'Host: evil.example' repos/x/y":        "reach ",
		"gh api -H 'Accept: application/json' --hostname evil.example repos/x/y":        "reach ",
		"env \"GH_H\"OST=evil.example gh pr view 5 | head":                              "reach  reach forge:gh observe ",
		"env G\"H_HO\"ST=evil.example gh pr view 5":                                     "reach  reach forge:gh",
		"export G$X=evil.example; gh pr view 5":                                         "reach  observe  reach forge:gh",
		"gh pr view 5 | head; GH_HOST=evil.example":                                     "reach  observe  reach ",
		"gh pr view 5 --repo evil.example/x/y | head":                                   "reach  observe ",
		"gh pr view 5 --search ''$TOKEN | head":                                         "reach  observe ",
	} {
		args, err := json.Marshal(map[string]string{"cmd": command})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, a := range s.Acts(machine(), document.Arguments(string(args))) {
			got = append(got, a.Effect.String()+" "+a.To)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %q, want %q", command, strings.Join(got, " "), want)
		}
	}
	for _, typed := range []string{"\x03", "\x03\x03", "\x04"} {
		args, err := json.Marshal(map[string]string{"cmd": typed})
		if err != nil {
			t.Fatal(err)
		}
		if got := effects(s, machine(), string(args)); got != "observe" {
			t.Errorf("%q: %s", typed, got)
		}
	}
	if got := effects(s, machine(), `{"cmd":"\u0003rm -rf /\n"}`); got == "observe" {
		t.Error("a command behind ^C observes")
	}
	m := machine("/work/tainted.go")
	if acts := s.Acts(m, document.Arguments(`{"cmd":"go build ./..."}`)); !acts[0].Tainted || !s.Foreign(m, document.Arguments(`{"cmd":"go build ./..."}`), "ok") {
		t.Error("what a compiler prints of strangers' files is the workspace's")
	}
	// A compiler runs none of the files that it compiles, but for those that choose it.
	for file, want := range map[string]string{
		"/work/tainted.go": "edit", "/work/sub/x.rs": "edit", "/work/go.mod": "run", "/work/rust-toolchain.toml": "run", "/work/.cargo/config.toml": "run",
		"/work": "run", "/work/mise.toml": "run", "/work/vendor/a/a.go": "run", "/rust-toolchain": "run",
	} {
		for _, command := range []string{"go build ./...", "cargo fmt --all"} {
			if got := effects(s, machine(file), `{"cmd":"`+command+`"}`); got != want {
				t.Errorf("%s, with %s: %s", command, file, got)
			}
		}
		for _, command := range []string{"cargo build", "go test ./...", "X=1 go build ./..."} {
			if got := effects(s, machine(file), `{"cmd":"`+command+`"}`); !strings.Contains(got, "run") {
				t.Errorf("%s, with %s: %s", command, file, got)
			}
		}
	}
	dirty := machine("/work/tainted.go")
	dirty.Dirty = true
	if got := effects(s, dirty, `{"cmd":"go build ./..."}`); got != "run" {
		t.Errorf("beside an edit: %s", got)
	}
}

// TestReviewed are commands that a review found to show strangers' words as the
// workspace's.
func TestReviewed(t *testing.T) {
	s := &Spec{Shell: at(t, "cmd"), Dir: at(t, "dir")}
	for _, c := range []struct{ args, shown string }{
		{`{"cmd":"cat /proc/self/root/tmp/page.html"}`, "x"},
		{`{"cmd":"iconv -t utf8 tainted.go"}`, "x"},
		{`{"cmd":"gzip -dc tainted.go"}`, "x"},
		{`{"cmd":"xargs -a tainted.go echo"}`, "x"},
		{`{"cmd":"diff --to-file=tainted.go a.go"}`, "x"},
		{`{"cmd":"awk 'BEGIN{ARGV[1]=\"tainted.go\";ARGC=2}{print}'"}`, "x"},
		{`{"cmd":"yq -n 'load_str(\"tainted.go\")'"}`, "x"},
		{`{"cmd":"date -f tainted.go"}`, "x"},
		{`{"cmd":"sed '1r /tmp/page.html' a.go"}`, "x"},
		{`{"cmd":"git diff --no-index /dev/null /tmp/page.html"}`, "x"},
		{`{"cmd":"git grep --no-index x /tmp/page.html"}`, "x"},
		{`{"cmd":"git for-each-ref --format='%(contents)'"}`, "x"},
		{`{"cmd":"git log --glob='refs/remotes/*'"}`, "x"},
		{`{"cmd":"git log --tags -p"}`, "x"},
		{`{"cmd":"git show @{u}"}`, "x"},
		{`{"cmd":"git show :/evil"}`, "x"},
		{`{"cmd":"git show origin/main.evil"}`, "x"},
		{`{"cmd":"git fetch origin 'refs/heads/*'"}`, "x"},
		{`{"cmd":"git fetch --tags origin main"}`, "x"},
		{`{"cmd":"head -n 5 *.go"}`, "==> tainted.go <=="},
		{`{"cmd":"sort *.go"}`, "x"},
		{`{"cmd":"grep evil sub/*"}`, "x"},
		{`{"cmd":"find . -exec grep evil {} +"}`, "x"},
		{`{"cmd":"grep -rA1 foo . | grep -v ':'"}`, "tainted.go-12-x"},
		{`{"cmd":"grep -r --no-filen x ."}`, "x"},
		{`{"cmd":"grep -rZ x ."}`, "x"},
		{`{"cmd":"rg -p x"}`, "x"},
		{`{"cmd":"grep -rn x .","dir":"/work/sub"}`, "./t.txt:1:evil"},
		{`{"cmd":"python3 -c 'print(open(\"vendor/x.go\").read())'"}`, "x"},
		{`{"cmd":"python3 -c 'print(open(\"ven\"+\"dor/x.go\").read())'"}`, "x"},
		{`{"cmd":"python3 -c 'print(open(p).read())'"}`, "x"},
		{`{"cmd":"gem info x"}`, "x"},
	} {
		if !s.Foreign(machine("/work/tainted.go", "/work/sub/t.txt"), document.Arguments(c.args), c.shown) {
			t.Errorf("%s, which shows %q, is the workspace's", c.args, c.shown)
		}
	}
	for _, command := range []string{"sed -i '1r tainted.go' a.go", "iconv tainted.go > b.go", "zstd -dc tainted.go > b.go", "cp -rt docs tainted.go", "git --no-pager fetch origin pull/5/head:five", "curl -so b.go https://x.example/a", "wget -qO b.go https://x.example/a"} {
		args, err := json.Marshal(map[string]string{"cmd": command})
		if err != nil {
			t.Fatal(err)
		}
		m := machine("/work/tainted.go")
		acts := s.Acts(m, document.Arguments(string(args)))
		asks := slices.ContainsFunc(acts, func(a Act) bool { return a.Unknown })
		if files, _ := m.taints(acts, false); len(files) == 0 && !asks {
			t.Errorf("%s leaves no trace", command)
		}
	}
}
