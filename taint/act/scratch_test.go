package act

import (
	"slices"
	"strings"
	"testing"

	"github.com/margaydev/margay/taint/document"
)

// TestScratch: which scratch files a call is known to write all of.
func TestScratch(t *testing.T) {
	write, s := &Spec{Edits: []document.Path{*at(t, "file_path")}}, &Spec{Shell: at(t, "cmd")}
	for _, c := range []struct {
		spec      *Spec
		args      string
		strangers bool
		want      string // whole, built, lost; ! for all
	}{
		{write, `{"file_path":"/tmp/a","content":"x"}`, false, "/tmp/a||"},
		{s, "go test ./... > /tmp/out 2>&1", false, "/tmp/out||"},
		{s, "make test 2>&1 | tee /tmp/out | tail", false, "/tmp/out||"},
		{s, "cp a.go /tmp/a.go", false, "/tmp/a.go /tmp/a.go/a.go||"},
		{s, "go build -o /tmp/app ./cmd/app", false, "/tmp/app|/tmp/app|"},
		{s, "go build -o /tmp/app ./cmd/app && /tmp/app -x", false, "/tmp/app|/tmp/app|"},
		{s, "go build -o /tmp/app ./cmd/app; /tmp/app -x", false, "||!"},
		{s, "cc -O2 -o /tmp/x x.c", false, "/tmp/x|/tmp/x|"},

		{write, `{"file_path":"/tmp/a","content":"x"}`, true, "||/tmp/a"},
		{write, `{"file_path":"/tmp/a","old_string":"x","new_string":"y"}`, false, "||"},
		{write, `{"file_path":"/work/a","content":"x"}`, false, "||"},
		{s, "echo x >> /tmp/out", false, "||"},
		{s, "echo x | tee -a /tmp/out", false, "||"},
		{s, "cp -r src /tmp/src", false, "||"},
		{s, "cp ~/mail /tmp/out", false, "||/tmp/out /tmp/out/mail"},
		{s, "cat /tmp/page.html > /tmp/out", false, "||/tmp/out"},
		{s, "curl https://x.example > /tmp/out", false, "||/tmp/out"},
		{s, "cat node_modules/x/y > /tmp/out", false, "||/tmp/out"},
		{s, "ln -sf ~/mail /tmp/out", false, "||/tmp/out /tmp/out/mail !"},
		{s, "go test ./... > /tmp/out", true, "||/tmp/out"},
		{s, "frobnicate", false, "||!"},
		{s, "go build -o /tmp/../home/me/bin/x ./cmd/app", false, "||"},
		{s, "go build -o ~/bin/x ./cmd/app", false, "||"},
		{s, "go build -toolexec ./x -o /tmp/app ./cmd/app", false, "||"},
		{s, "go build -o /tmp/app /tmp/evil", false, "||!"},
		{s, "cc -o /tmp/x /tmp/x.c", false, "||!"},
		{s, "d=$(mktemp -d); echo x > $d/a", false, "||"},
	} {
		args := c.args
		if c.spec == s {
			args = commandOf(t, c.args)
		}
		tree := document.Arguments(args)
		got := machine().Scratch(c.spec, tree, c.strangers)
		text := strings.Join(got.Whole, " ") + "|" + strings.Join(got.Built, " ") + "|" + strings.Join(slices.Compact(got.Lost), " ")
		if got.All {
			text = strings.TrimSpace(text + " !")
			text = strings.Replace(text, "| !", "|!", 1)
		}
		if text != c.want {
			t.Errorf("%s, strangers %v: %s, want %s", c.args, c.strangers, text, c.want)
		}
	}
}

// TestMine: a scratch file of the agent's own is read as the workspace's, and a
// program that it built runs as the workspace's.
func TestMine(t *testing.T) {
	reads, s := &Spec{Reads: []document.Path{*at(t, "file")}}, &Spec{Shell: at(t, "cmd")}
	m := machine("/tmp/theirs")
	m.Mine = func(p string) bool { return p == "/tmp/mine" || p == "/tmp/theirs" || p == "/tmp/app" }
	m.Built = func(p string) bool { return p == "/tmp/app" }
	for file, want := range map[string]bool{"/tmp/mine": false, "/tmp/theirs": true, "/tmp/other": true, "/tmp/mine/x": true, "/tmp/MINE": true} {
		if got := reads.Foreign(m, document.Arguments(`{"file":"`+file+`"}`), "text"); got != want {
			t.Errorf("%s: foreign %v", file, got)
		}
	}
	for command, want := range map[string]bool{
		"cat /tmp/mine": false, "tail -5 /tmp/mine": false, "grep x /tmp/mine | sort": false, "sed -n 1,5p /tmp/mine": false, "jq . < /tmp/mine": false,
		"cat /tmp/mine /tmp/other": true, "cat /tmp/theirs": true, "cat /tmp/*": true, "cat /tmp/min?": true, "ls /tmp": true, "sed -n 1,5p /tmp/other": true,
	} {
		if got := s.Foreign(m, document.Arguments(commandOf(t, command)), "some text"); got != want {
			t.Errorf("%s: foreign %v", command, got)
		}
	}
	clean := machine()
	clean.Mine, clean.Built = m.Mine, m.Built
	for command, want := range map[string]string{
		"/tmp/app --help": "run", "go build -o /tmp/new ./cmd/app && /tmp/new x": "run run", "go build -o /tmp/new ./cmd/app && cp x /tmp/new && /tmp/new": "run observe edit edit reach", "go() { :; }; go build -o /tmp/new ./cmd/app && /tmp/new": "observe run reach",
		"go build -o /tmp/new ./node_modules/x && /tmp/new": "run reach", "go build -o /tmp/new ./vendor/x && /tmp/new": "run reach", "cd sub && go build -o /tmp/new ../../evil && /tmp/new": "observe run reach reach",
		"/tmp/mine": "reach", "/tmp/other": "reach", "go build -o /tmp/new ./cmd/app; /tmp/new x": "run reach", "go build -o /tmp/new ./cmd/app || /tmp/new x": "run reach",
		"go build -o /tmp/new ./cmd/app && /tmp/other": "run reach", "echo go build -o /tmp/new && /tmp/new": "observe reach", "true && go build -o /tmp/new ./cmd/app | cat && /tmp/new": "observe run observe reach",
		"if true; then go build -o /tmp/new ./x; fi && /tmp/new": "observe run reach", "go build -o /tmp/new ./x & /tmp/new": "run reach", "curl -o /tmp/new https://x.example && /tmp/new": "reach edit reach",
		"go build -o /tmp/new ./x && curl -o /tmp/new https://x.example && /tmp/new": "run reach edit reach",
		// The build may fail, or another file take its place.
		"go build -o /tmp/new ./none && true; /tmp/new": "run observe reach", "go build -o /tmp/new ./none && true || /tmp/new": "run observe reach", "go build -o /tmp/new ./none && true & /tmp/new": "run observe reach",
		"go build -o /tmp/new ./none && true\n/tmp/n\"\"ew": "run observe reach", "go build -o /tmp/new ./none && X=/tmp/new; $X": "run reach", "go build -o /tmp/new ./x && cd /tmp && gunzip -f new.gz && ./new": "run observe edit reach",
		"go build -o /tmp/new ./x && /tmp/new 2>&1 | head && /tmp/new; echo $?": "run run observe observe",
	} {
		if got := effects(s, clean, commandOf(t, command)); got != want {
			t.Errorf("%s: %s, want %s", command, got, want)
		}
	}
}
