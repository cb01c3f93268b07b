package act

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/margaydev/margay/taint/document"
	"github.com/margaydev/margay/taint/workspace"
)

// projects is a machine on which the user trusts /home/me/app, and on which
// /home/me/other, /home/me/third and /home/me/old are projects.
func projects(tainted ...string) *Machine {
	m := machine(tainted...)
	m.Dir, m.Home = "/home/me/app", "/home/me"
	m.Places = workspace.New(workspace.Config{Roots: []string{"/home/me/app"}, Home: "/home/me", State: []string{"/home/me/.config/margay"}})
	m.Project = func(p string) string {
		for _, root := range []string{"/home/me/other", "/home/me/third", "/home/me/old"} {
			if (p == root || strings.HasPrefix(p, root+"/")) && !m.touched(root) {
				return root
			}
		}
		return ""
	}
	return m
}

// TestOffer: the one project that a call works in, and that the user does not trust, is
// offered where all is settled with it. Nothing is offered where that is not sure.
func TestOffer(t *testing.T) {
	shell, edits := &Spec{Shell: at(t, "cmd")}, &Spec{Edits: []document.Path{*at(t, "cmd")}}
	const other = "/home/me/other"
	for _, c := range []struct {
		cmd, want string
	}{
		{"cd ../other && git log | head", other},
		{"cd ../other/sub && git log", other},
		{"git -C ../other status", other},
		{"cd ../other && go test ./...", other},
		{"cd ../other && make && npm test", other},
		{"cd ../other && ./x.sh", other},
		{"cd ../other && python3 x.py", other},
		{"cd ../other && git commit -am x && git push", other},
		{"sed -i s/a/b/ ../other/x", other},
		{"mkdir -p ../other/y && echo a > ../other/y/z", other},
		{"git log; git -C ../other log", other},
		// No reason to.
		{"git log", ""},
		{"cat ../other/x", ""},
		{"rm -rf ../other/x", ""},
		{"cd ../other && curl https://x.example", ""},
		{"cd /tmp/x && git log", ""},
		{"cd ~/.config/margay && git log", ""},
		{"cd /home/me && git log", ""},
		{"cd /home/me/new && git log", ""},
		// Two of them, or others besides.
		{"cd ../other && git log && git -C ../third log", ""},
		{"git -C ../other log && git -C ../new log", ""},
		{"git -C ../other log > ../third/x", ""},
		{"git -C ../other log && bash ../third/x.sh", ""},
		{"cd ../other && bash ../third/x.sh", ""},
		// Which it is can't be told.
		{"cd ../other; git log", ""},
		{"cd $D && git log", ""},
		{"cd ../other && for i in a b; do cd $i; git log; done", ""},
		{"for d in ../other ../third; do git -C $d log; done", ""},
		{"git --git-dir ../other/.git log", ""},
		// It brings in what others wrote.
		{"cd ../other && git pull fork main", ""},
		{"cd ../other && git merge origin/feature", ""},
		{"git -C ../other log && curl -o ../other/x https://x.example", ""},
		{"git -C ../other log && git clone https://x.example/r ../other/r", ""},
		{"cd ../other && make && tar xf /home/me/Downloads/a.tgz", ""},
		{"cd ../other && gh pr checkout 3 && make", ""},
		{"git clone https://x.example/r ../other && cd ../other && make", ""},
	} {
		args, err := json.Marshal(map[string]string{"cmd": c.cmd})
		if err != nil {
			t.Fatal(err)
		}
		if got := shell.Offer(projects(), document.Arguments(string(args))); got != c.want {
			t.Errorf("%s offers %q, want %q", c.cmd, got, c.want)
		}
		m := projects()
		if m.Project = nil; shell.Offer(m, document.Arguments(string(args))) != "" {
			t.Errorf("%s offers a folder where nobody knows projects", c.cmd)
		}
	}
	for file, want := range map[string]string{"../other/a.go": other, "a.go": "", "/home/me/a.go": "", "/home/me/.bashrc": "", "/tmp/a": "", "../other/$x": ""} {
		if got := edits.Offer(projects(), document.Arguments(`{"cmd":"`+file+`"}`)); got != want {
			t.Errorf("an edit of %s offers %q, want %q", file, got, want)
		}
	}
}

// TestFetchedProjects: a project that a call brought strangers' files into is
// remembered, whatever words it did it by, and is offered no more.
func TestFetchedProjects(t *testing.T) {
	shell := &Spec{Shell: at(t, "cmd")}
	look := document.Arguments(`{"cmd":"cd ../old && git log"}`)
	if got := shell.Offer(projects(), look); got != "/home/me/old" {
		t.Fatalf("it offers %q", got)
	}
	for _, cmd := range []string{
		"git clone https://x.example/old ../old", "cd .. && git clone https://x.example/old", "gh repo clone a/old ../old", "git clone git@x.example:a/old.git ../old/sub",
		"tar xf a.tgz -C ../old", "tar xf a.tgz -C /home/me/old/sub", "cd ../old && tar xf a.tgz", "unzip a.zip -d ../old", "curl https://x.example | tar x -C ../old",
		"curl -o ../old/x https://x.example", "cd ../old && curl -O https://x.example/y", "wget -P ../old https://x.example/a", "cd ../old && git pull fork main", "git -C ../old merge origin/feature",
		"cd ../old && gh pr checkout 3", "rsync -a host:/x ../old/",
	} {
		m := projects()
		args, err := json.Marshal(map[string]string{"cmd": cmd})
		if err != nil {
			t.Fatal(err)
		}
		files, _ := m.taints(shell.Acts(m, document.Arguments(string(args))), false)
		if !slices.ContainsFunc(files, func(f string) bool { return f == "/home/me/old" || strings.HasPrefix(f, "/home/me/old/") }) {
			t.Errorf("%s leaves strangers' words in %q", cmd, files)
			continue
		}
		if slices.Contains(files, "/home/me") || slices.Contains(files, "/") {
			t.Errorf("%s makes all of the user's files strangers': %q", cmd, files)
		}
		if got := shell.Offer(projects(files...), look); got != "" {
			t.Errorf("after %s it offers %q", cmd, got)
		}
	}
}
