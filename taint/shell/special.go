package shell

import (
	"path"
	"slices"
	"strings"

	"github.com/margaydev/margay/taint/effect"
	"github.com/margaydev/margay/taint/shell/table"
	"github.com/margaydev/margay/taint/workspace"
)

// special are the programs whose effects no table says. It is filled at start, as
// its functions refer to it.
var special map[string]func(*analysis, *invocation)

func init() {
	special = map[string]func(*analysis, *invocation){
		"cp": copies, "mv": copies, "ln": copies, "install": copies,
		"find": find, "fd": fd, "fdfind": fd, "rg": rg, "ripgrep": rg, "xargs": xargs, "parallel": xargs,
		"sed": sed, "gsed": sed, "awk": awk, "gawk": awk, "mawk": awk, "nawk": awk, "sort": sorts, "uniq": sorts, "shuf": sorts,
		"tar": tar, "gtar": tar, "bsdtar": tar, "zip": zips, "unzip": zips, "7z": zips, "7za": zips, "cpio": unreadable, "ar": unreadable, "less": pager, "more": pager, "most": pager,
		"curl": curl, "wget": curl, "ssh": remote, "scp": remote, "mosh": remote, "rsh": remote, "autossh": remote,
		"sh": shells, "bash": shells, "zsh": shells, "dash": shells, "ksh": shells, "ash": shells, "fish": unreadable, "csh": unreadable, "tcsh": unreadable, "rbash": shells,
		"python": code, "python2": code, "python3": code, "pypy": code, "pypy3": code, "node": code, "nodejs": code, "perl": code, "ruby": code, "php": code, "lua": code, "luajit": code, "Rscript": code, "R": code, "julia": code, "tclsh": code, "wish": code, "irb": code, "guile": code, "racket": code, "jshell": code, "groovy": code, "bc": sorts, "dc": sorts, "ed": unreadable, "ex": unreadable,
		"eval": evals, "source": sources, ".": sources, "exec": wraps, "command": commands, "builtin": commands, "env": wraps, "nohup": wraps, "nice": wraps, "ionice": wraps, "timeout": wraps, "gtimeout": wraps, "time": wraps, "stdbuf": wraps, "setsid": wraps, "chrt": wraps, "taskset": wraps, "watch": unreadable, "unbuffer": wraps, "dotenv": wraps, "direnv": wraps, "op-run": wraps, "xvfb-run": wraps, "arch": wraps, "script": unreadable, "busybox": commands, "toybox": commands, "flock": wraps, "chronic": wraps, "ts": sorts, "catchsegv": wraps, "faketime": wraps, "strace": unreadable, "ltrace": unreadable, "hyperfine": unreadable, "valgrind": unreadable, "gdb": code, "lldb": code, "xxd": xxd, "patch": func(a *analysis, i *invocation) {
			_, rest := split(i.args, []string{"-i", "--input", "-p", "-d", "-o"})
			a.patches(i, rest[min(1, len(rest)):])
		}, "man": pager, "kill": kills, "pkill": kills, "killall": kills,
		"sudo": sudo, "doas": sudo, "su": sudo, "pkexec": sudo, "runuser": sudo,
		"git": git, "gh": gh, "glab": gh, "hub": gh,
		"npx": npx, "pnpx": npx, "bunx": npx, "trap": traps, "alias": unreadable, "read": reading, "mapfile": reading, "readarray": reading, "printf": printing, "cd": cd, "pushd": cd, "popd": cd, "enable": unreadable, "hash": unreadable, "export": unreadable, "unset": reading, "getopts": reading, "go": goTool, "make": makes, "gmake": makes, "python3.11": code, "python3.12": code, "python3.13": code, "coproc": unreadable, "complete": unreadable, "bind": unreadable,
	}
}

// unreadable are programs whose arguments are not understood.
func unreadable(a *analysis, i *invocation) {
	a.hide(i.text, "what it runs can't be told")
}

// run analyses the command that a program runs, which is the rest of its words.
func (a *analysis) run(i *invocation, rest []word) {
	if len(rest) == 0 {
		a.add(i.part(effect.Observe, "it runs nothing"))
		return
	}
	a.call(rest, i.in)
}

func copies(a *analysis, i *invocation) {
	flags, rest := split(i.args, []string{"-t", "--target-directory", "-S", "--suffix", "-m", "--mode", "-o", "--owner", "-g", "--group"})
	target := values(flags, "-t", "--target-directory")
	if len(target) == 0 && len(rest) > 0 {
		target, rest = rest[len(rest)-1:], rest[:len(rest)-1]
		if i.program == "ln" && len(rest) == 0 {
			rest, target = target, []word{{text: path.Base(target[0].text), dynamic: target[0].dynamic}}
		}
	}
	a.reads(i.text, i.program, rest...)
	if i.program == "ln" || slices.ContainsFunc(flags, func(f word) bool { return f.text == "--symbolic-link" || f.text == "-s" }) {
		for _, r := range rest {
			if at := worst(a.find(r)); at.zone != workspace.Own && at.zone != workspace.Scratch && at.zone != workspace.Foreign {
				p := i.part(effect.Persist, "a link leads out of the workspace")
				p.Anywhere = true
				a.add(p)
			}
		}
	}
	for _, t := range target {
		a.writes(i.text, i.program, t)
		// What is copied into a folder keeps its name, which may steer.
		for _, r := range rest {
			if base := path.Base(r.text); !r.dynamic && !t.dynamic && base != "." && base != "/" && base != ".." {
				a.writes(i.text, i.program, word{text: strings.TrimSuffix(t.text, "/") + "/" + base, dynamic: t.dynamic, glob: r.glob || t.glob})
			}
		}
	}
	if i.program == "mv" { // what was there is elsewhere
		for _, r := range rest {
			switch at := worst(a.find(r)); at.zone {
			case workspace.Own, workspace.Scratch, workspace.Foreign:
				a.add(Part{Text: i.text, Program: i.program, Effect: effect.Edit, Why: "it moves files of the workspace", Anywhere: at.some || at.full == "", Writes: known(at)})
			default:
				a.writes(i.text, i.program, r)
			}
		}
	}
	if len(target) == 0 {
		a.hide(i.text, "it names no target")
	}
}

func known(at place) []string {
	if at.full == "" {
		return nil
	}
	return []string{at.full}
}

func find(a *analysis, i *invocation) {
	if unclear(i.args) {
		a.hide(i.text, "a variable may hold an expression")
	}
	var from []word
	k := 0
	for ; k < len(i.args) && (i.args[k].dynamic || !strings.HasPrefix(i.args[k].text, "-") && i.args[k].text != "(" && i.args[k].text != "!"); k++ {
		from = append(from, i.args[k])
	}
	for k < len(i.args) && slices.Contains([]string{"-H", "-L", "-P"}, i.args[k].text) {
		k++
		for ; k < len(i.args) && !strings.HasPrefix(i.args[k].text, "-") && i.args[k].text != "("; k++ {
			from = append(from, i.args[k])
		}
	}
	if len(from) == 0 {
		from = []word{{text: "."}}
	}
	a.reads(i.text, i.program, from...)
	for ; k < len(i.args); k++ {
		w := i.args[k]
		switch {
		case w.dynamic:
			a.hide(i.text, "a variable holds an expression")
		case w.text == "-delete":
			named := slices.ContainsFunc(i.args, func(w word) bool { return table.RebuiltPattern(w.text) })
			for _, f := range from {
				if at := worst(a.find(f)); named && (at.zone == workspace.Own || at.zone == workspace.Scratch || at.zone == workspace.Foreign) || at.zone == workspace.Scratch {
					a.add(Part{Text: i.text, Program: i.program, Effect: effect.Edit, Anywhere: true, Why: "it removes what a build makes again"})
				} else {
					p := i.part(effect.Destroy, "it deletes what it finds")
					p.Anywhere = true
					a.add(p)
				}
			}
		case w.text == "-exec" || w.text == "-execdir" || w.text == "-ok" || w.text == "-okdir":
			a.altered = true
			end := k + 1
			for end < len(i.args) && i.args[end].text != ";" && i.args[end].text != "+" {
				end++
			}
			dirs := a.dirs
			if strings.HasSuffix(w.text, "dir") {
				a.dirs = []string{""}
			}
			a.each(i, i.args[k+1:end], from)
			a.dirs, k = dirs, end
		case w.text == "-fprint" || w.text == "-fprintf" || w.text == "-fls" || w.text == "-fprint0":
			if k+1 < len(i.args) {
				a.writes(i.text, i.program, i.args[k+1])
				k++
			}
		case slices.Contains([]string{"-files0-from", "-f"}, w.text):
			a.hide(i.text, "a file says where it looks")
		}
	}
}

// each analyses a command that runs for files below some folders: {} is one of
// them.
func (a *analysis) each(i *invocation, command, from []word) {
	if len(command) == 0 {
		a.hide(i.text, "what it runs is missing")
		return
	}
	for _, f := range from {
		var words []word
		some := false
		for _, w := range command {
			if strings.Contains(w.text, "{}") {
				some = true
				if w.text != "{}" && slices.Contains([]string{"sh", "bash", "zsh", "dash"}, command[0].text) {
					w.dynamic = true // a name becomes code
				}
				w = word{text: strings.ReplaceAll(w.text, "{}", strings.TrimSuffix(f.text, "/")+"/*"), dynamic: w.dynamic || f.dynamic, glob: true}
			}
			words = append(words, w)
		}
		if some && words[0].glob {
			words[0].dynamic = true
		}
		a.call(words, input{})
	}
}

func fd(a *analysis, i *invocation) {
	for k, w := range i.args {
		switch w.text {
		case "-x", "--exec", "-X", "--exec-batch":
			command := slices.Clone(i.args[k+1:])
			if !slices.ContainsFunc(command, func(w word) bool { return strings.Contains(w.text, "{") }) {
				command = append(command, word{text: "{}"})
			}
			a.each(i, command, []word{{text: "."}})
			return
		}
	}
	_, rest := split(i.args, []string{"-e", "--extension", "-t", "--type", "-d", "--max-depth", "-E", "--exclude", "--base-directory", "--search-path"})
	a.reads(i.text, i.program, rest[min(1, len(rest)):]...)
}

func rg(a *analysis, i *invocation) {
	flags, rest := split(i.args, []string{"-g", "--glob", "--iglob", "-t", "--type", "-T", "-A", "-B", "-C", "-m", "--max-count", "-e", "--regexp", "-f", "--file", "--max-depth", "-d", "--sort", "-r", "--replace", "--color", "-j", "--context-separator", "--max-columns", "-M", "--pre", "--pre-glob", "--hostname-bin", "--type-add"})
	if unclear(i.args) || has(flags, "--pre", "--hostname-bin") || slices.ContainsFunc(flags, func(w word) bool { return w.dynamic && !strings.Contains(w.text, "=") }) {
		a.hide(i.text, "a flag names a program")
		return
	}
	pattern := 1
	if has(flags, "--files", "--type-list") || len(values(flags, "-e", "--regexp", "-f", "--file")) > 0 {
		pattern = 0
	}
	a.reads(i.text, i.program, rest[min(pattern, len(rest)):]...)
}

func xargs(a *analysis, i *invocation) {
	taking := []string{"-a", "--arg-file", "-d", "--delimiter", "-E", "-I", "-i", "-J", "-R", "-S", "-L", "-l", "-n", "--max-args", "-P", "--max-procs", "-s", "--max-chars", "-j", "--jobs", "--colsep"}
	k := 0
	for k < len(i.args) && !i.args[k].dynamic && strings.HasPrefix(i.args[k].text, "-") {
		if i.args[k].text == "--" {
			k++
			break
		}
		if slices.Contains(taking, i.args[k].text) {
			k++
		}
		k++
	}
	command := slices.Clone(i.args[min(k, len(i.args)):])
	if i.program == "parallel" && len(command) == 1 && strings.ContainsAny(command[0].text, " ;|&") {
		a.hide(i.text, "its input becomes code")
		return
	}
	if len(command) == 0 {
		if i.program == "parallel" {
			a.hide(i.text, "its input becomes commands")
			return
		}
		command = []word{{text: "echo"}}
	}
	for n := range command { // what replaces {} is not known
		if strings.Contains(command[n].text, "{}") || strings.Contains(command[n].text, "%") && n > 0 {
			command[n].dynamic = true
		}
	}
	command = append(command, word{text: "…", dynamic: true, split: true})
	switch command[0].text {
	case "sh", "bash", "zsh", "dash", "eval", "python", "python3", "node", "perl", "ruby", "env", "sudo":
		if len(command) > 2 && command[1].text == "-c" && !command[2].dynamic {
			break // the code is here; what comes in are its arguments
		}
		a.hide(i.text, "its input becomes code")
		return
	}
	a.call(command, input{})
}

func makes(a *analysis, i *invocation) {
	flags, rest := split(i.args, []string{"-f", "--file", "--makefile", "-C", "--directory", "--eval", "-E", "-I", "-j", "-l", "-o", "-W"})
	for _, f := range values(flags, "-f", "--file", "--makefile", "-C", "--directory") {
		if f.dynamic || f.text == "-" {
			a.hide(i.text, "its rules come from somewhere else")
			return
		}
		if at := worst(a.find(f)); at.zone != workspace.Own && at.zone != workspace.Steering {
			a.hide(i.text, "its rules lie outside the workspace")
			return
		}
	}
	if has(flags, "--eval") || has(flags, "-E") {
		a.hide(i.text, "a flag holds rules")
		return
	}
	for _, r := range rest {
		if name, v, ok := strings.Cut(r.text, "="); ok && (slices.Contains([]string{"SHELL", "MAKEFLAGS", "CC", "CXX", "LD", "AR"}, name) && !table.Plain(name, v) || strings.Contains(v, "$(shell")) || r.dynamic {
			a.hide(i.text, "a variable of its holds code")
			return
		}
	}
	a.listed(table.Lookup("just"), i)
	if slices.ContainsFunc(rest, func(r word) bool {
		return strings.HasPrefix(r.text, "install") || strings.HasPrefix(r.text, "uninstall")
	}) {
		p := i.part(effect.Persist, "the target's name says that it installs")
		p.Anywhere = true
		a.add(p)
	}
	for _, r := range rest {
		if slices.Contains([]string{"publish", "deploy", "release", "push", "upload"}, r.text) {
			p := i.part(effect.Reach, "the target's name says that it publishes")
			p.To = r.text
			a.add(p)
		}
	}
}

func goTool(a *analysis, i *invocation) {
	for k, w := range i.args { // go reads --flag as -flag
		if strings.HasPrefix(w.text, "--") && len(w.text) > 2 {
			i.args[k].text = w.text[1:]
		}
	}
	if len(i.args) > 1 && (i.args[0].text == "run" || i.args[0].text == "tool" || i.args[0].text == "generate") {
		for _, w := range i.args[1:] {
			if strings.HasPrefix(w.text, "-") && !w.dynamic {
				continue
			}
			if w.dynamic || i.args[0].text == "run" && (strings.Contains(w.text, "@") || strings.Contains(strings.SplitN(w.text, "/", 2)[0], ".") && !strings.HasPrefix(w.text, ".") && !strings.HasSuffix(w.text, ".go")) {
				p := i.part(effect.Reach, "it runs code from elsewhere")
				p.To = w.text
				a.add(p)
			} else if at := worst(a.find(w)); i.args[0].text == "run" && at.zone != workspace.Own && at.zone != workspace.Scratch {
				a.hide(i.text, "it runs code outside the workspace")
			}
			break
		}
	}
	for _, w := range i.args {
		if strings.HasPrefix(w.text, "-ldflags") && strings.Contains(w.text, "-extld") {
			a.hide(i.text, "a flag names a program")
		}
	}
	a.listed(table.Lookup("go"), i)
}
