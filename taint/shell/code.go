package shell

import (
	"slices"
	"strings"

	"github.com/margaydev/margay/taint/effect"
	"github.com/margaydev/margay/taint/shell/inline"
	"github.com/margaydev/margay/taint/shell/table"
	"github.com/margaydev/margay/taint/workspace"
)

// code analyses the text of a shell that a program runs.
func (a *analysis) code(i *invocation, w word) {
	if w.dynamic {
		a.hide(i.text, "a variable holds code")
		return
	}
	a.within(func() { a.source(w.text, a.depth+1) })
}

// shells run code that they are told, or read.
func shells(a *analysis, i *invocation) {
	k := 0
	for k < len(i.args) {
		w := i.args[k]
		switch {
		case w.dynamic:
			a.hide(i.text, "a variable holds a flag or a script")
			return
		case w.text == "-" || w.text == "--":
			k++
		case w.text == "-o" || w.text == "+o" || w.text == "-O" || w.text == "+O":
			k += 2
			continue
		case strings.HasPrefix(w.text, "--rcfile") || strings.HasPrefix(w.text, "--init-file"):
			a.hide(i.text, "a flag names code")
			return
		case strings.HasPrefix(w.text, "--"):
			if w.text == "--version" || w.text == "--help" {
				a.add(i.part(effect.Observe, "it prints its own help"))
				return
			}
			k++
			continue
		case strings.HasPrefix(w.text, "-") && strings.Contains(w.text, "c"):
			if k+1 < len(i.args) {
				a.code(i, i.args[k+1])
			}
			return
		case strings.HasPrefix(w.text, "-") && strings.Contains(w.text, "s"), strings.HasPrefix(w.text, "-"), strings.HasPrefix(w.text, "+"):
			k++
			continue
		}
		break
	}
	if k < len(i.args) {
		a.script(i, i.args[k])
		return
	}
	a.fed(i, func(text string) { a.within(func() { a.source(text, a.depth+1) }) })
}

// fed analyses an interpreter that runs what it reads.
func (a *analysis) fed(i *invocation, run func(text string)) {
	switch {
	case i.in.here && i.in.text != "":
		run(i.in.text)
	case i.in.file != "":
		a.script(i, word{text: i.in.file})
	case i.in.piped || i.in.here:
		a.hide(i.text, "what it reads becomes code")
	default:
		a.hide(i.text, "it waits for commands")
	}
}

// script analyses an interpreter that runs a file.
func (a *analysis) script(i *invocation, w word) {
	at := worst(a.find(w))
	switch {
	case w.dynamic || w.glob:
		a.hide(i.text, "a variable or a pattern names the script")
	case w.text == "-" || w.text == "/dev/stdin" || strings.HasPrefix(at.full, "/dev/") || strings.HasPrefix(at.full, "/proc/"):
		a.hide(i.text, "what it reads becomes code")
	case at.zone == workspace.Own || at.zone == workspace.Steering && a.m.zone(at.full) == workspace.Steering && a.inRoot(), at.zone == workspace.Foreign:
		p := i.part(effect.Run, "it runs code of the workspace")
		p.Foreign = at.zone == workspace.Foreign // what it prints is theirs who wrote it
		a.add(p)
		if slices.Contains([]string{"sh", "bash", "zsh", "dash", "ksh", "source", "."}, i.program) {
			a.runs(at.full)
		}
	default:
		p := i.part(effect.Reach, OutsideScript)
		p.Unknown, p.Anywhere = true, true
		a.add(p)
	}
}

// code are interpreters of other languages.
func code(a *analysis, i *invocation) {
	it := inline.InterpreterOf(i.program)
	judge := func(text string, dynamic bool) {
		switch {
		case dynamic || it.Harmless == nil || !it.Harmless(text):
			a.hide(i.text, "the code may do anything")
		default:
			a.add(i.part(effect.Run, "it computes"))
		}
	}
	perl := i.program == "perl"
	inplace := false
	for k := 0; k < len(i.args); k++ {
		w := i.args[k]
		switch {
		case w.dynamic && k == 0:
			a.hide(i.text, "a variable holds a flag or a script")
			return
		case w.text == "-m" && it.Harmless != nil && i.program != "node" && strings.HasPrefix(i.program, "py"):
			a.module(i, i.args[k+1:])
			return
		case slices.Contains(it.Code, w.text) || perl && strings.HasPrefix(w.text, "-") && strings.HasSuffix(w.text, "e") && !strings.HasPrefix(w.text, "--"):
			if k+1 >= len(i.args) {
				a.hide(i.text, "the code is missing")
				return
			}
			c := i.args[k+1]
			inplace = inplace || perl && strings.Contains(w.text, "i")
			if perl && !c.dynamic && inline.Perl(c.text) {
				if inplace {
					a.writes(i.text, i.program, i.args[k+2:]...)
				} else {
					a.reads(i.text, i.program, i.args[k+2:]...)
				}
				return
			}
			judge(c.text, c.dynamic || slices.ContainsFunc(i.args[k+2:], func(w word) bool { return strings.HasPrefix(w.text, "-") || w.dynamic }))
			return
		case perl && strings.HasPrefix(w.text, "-") && strings.Contains(w.text, "i"):
			inplace = true
		case it.Clusters(w.text):
			a.hide(i.text, "flags that are written together hold code")
			return
		case slices.Contains([]string{"-r", "--require", "--import", "--loader", "--experimental-loader"}, w.text) && (i.program == "node" || i.program == "ruby"):
			if k+1 < len(i.args) {
				if at := worst(a.find(i.args[k+1])); at.zone != workspace.Own || !strings.Contains(i.args[k+1].text, "/") {
					a.hide(i.text, "a flag names code")
					return
				}
			}
			k++
		case slices.Contains(it.Taking, w.text):
			k++
		case i.program == "php" && strings.HasPrefix(w.text, "-S"), w.text == "--inspect", strings.HasPrefix(w.text, "--inspect"):
			a.add(i.part(effect.Run, "it serves on this machine"))
		case w.text == "--version" || w.text == "-V" || w.text == "-v" || w.text == "--help" || w.text == "-h":
			if len(i.args) == 1 {
				a.add(i.part(effect.Observe, "it prints its own help"))
				return
			}
		case w.text == "-":
			a.fed(i, func(text string) { judge(text, false) })
			return
		case strings.HasPrefix(w.text, "-") && !w.dynamic:
		default:
			if it.Harmless == nil && len(it.Code) > 4 && !strings.Contains(w.text, ".") {
				a.hide(i.text, "what it runs can't be told")
				return
			}
			a.script(i, w)
			return
		}
	}
	a.fed(i, func(text string) { judge(text, false) })
}

func (a *analysis) module(i *invocation, args []word) {
	switch {
	case len(args) == 0 || args[0].dynamic:
		a.hide(i.text, "a variable names a module")
	case args[0].text == "pip" || args[0].text == "uv" || args[0].text == "poetry" || args[0].text == "twine" || args[0].text == "pipx" || args[0].text == "ensurepip":
		if e := table.Lookup(args[0].text); e != nil {
			a.listed(e, &invocation{args, i.text, args[0].text, args[1:], i.in})
			return
		}
		a.hide(i.text, "nothing is known of this module")
	case args[0].text == "http.server":
		p := i.part(effect.Reach, "it serves files to whoever asks")
		if b := slices.IndexFunc(args, func(w word) bool { return w.text == "--bind" || w.text == "-b" }); b >= 0 && b+1 < len(args) && slices.Contains([]string{"127.0.0.1", "localhost", "::1"}, args[b+1].text) {
			p = i.part(effect.Run, "it serves files to this machine")
		}
		a.add(p)
	case slices.Contains(table.Library, args[0].text), args[0].text == "json.tool" && len(args) > 2, args[0].text == "venv" && (len(args) != 2 || !slices.Contains(table.Environments, args[1].text)):
		// json.tool writes its second file, and venv a folder.
		a.hide(i.text, "the module writes files, runs code, or uses the network")
	case slices.Contains(table.Modules, args[0].text):
		a.apply(&table.Entry{Set: true, Effects: []effect.Effect{effect.Run}}, i, nil)
	default:
		// A module of the workspace is found before others.
		for _, name := range []string{strings.ReplaceAll(args[0].text, ".", "/"), "src/" + strings.ReplaceAll(args[0].text, ".", "/")} {
			if worst(a.find(word{text: name})).zone != workspace.Own {
				a.hide(i.text, "nothing is known of this module")
				return
			}
		}
		a.add(i.part(effect.Run, "it runs a module"))
	}
}

func evals(a *analysis, i *invocation) {
	if slices.ContainsFunc(i.args, func(w word) bool { return w.dynamic }) {
		a.hide(i.text, "a variable holds code")
		return
	}
	a.source(shown(i.args), a.depth+1) // in this shell: folders and variables stay
	a.dirs = append(a.dirs, "")
}

func sources(a *analysis, i *invocation) {
	if len(i.args) == 0 {
		a.hide(i.text, "it names no file")
		return
	}
	w := i.args[0]
	if !w.dynamic && strings.HasSuffix(w.text, "/bin/activate") && worst(a.find(w)).zone == workspace.Foreign {
		a.add(i.part(effect.Run, "it uses the workspace's environment"))
		return
	}
	defer func() { // it may have set any variable, and be in any folder
		a.vars = map[string][]word{"IFS": nil}
		a.may("")
	}()
	a.script(i, w)
}

func wraps(a *analysis, i *invocation) {
	if i.program == "nohup" || i.program == "setsid" {
		p := i.part(effect.Persist, "what it starts goes on after the task")
		a.add(p)
	}
	taking := table.Wrappers[i.program]
	args := i.args
	for len(args) > 0 {
		w := args[0]
		if w.dynamic {
			a.hide(i.text, "a variable names what it runs")
			return
		}
		name, value, assigns := strings.Cut(w.text, "=")
		switch {
		case w.text == "--":
			args = args[1:]
			a.run(i, rest(i.program, args))
			return
		case strings.HasPrefix(w.text, "-") && w.text != "-":
			if i.program == "env" && (strings.HasPrefix(w.text, "-S") || strings.HasPrefix(w.text, "--split") || strings.HasPrefix(w.text, "-C") || strings.HasPrefix(w.text, "--chdir") || strings.HasPrefix(w.text, "-P")) || i.program == "flock" && strings.HasPrefix(w.text, "-c") {
				a.hide(i.text, "a flag holds a command, or changes where it runs")
				return
			}
			if (i.program == "time") && slices.Contains([]string{"-o", "--output"}, w.text) && len(args) > 1 {
				a.writes(i.text, i.program, args[1])
			}
			if slices.Contains(taking, w.text) {
				args = args[min(1, len(args)):]
			}
		case i.program == "env" && assigns:
			a.steers(name, []word{{text: value, dynamic: w.dynamic}})
		case i.program == "env" && w.text == "-":
		default:
			a.run(i, rest(i.program, args))
			return
		}
		args = args[min(1, len(args)):]
	}
	a.add(i.part(effect.Observe, "it runs nothing"))
}

// rest leaves out the operands of a wrapper before the command.
func rest(program string, args []word) []word {
	n := map[string]int{"timeout": 1, "gtimeout": 1, "flock": 1, "faketime": 1, "direnv": 2}[program]
	if program == "taskset" || program == "chrt" {
		n = 1
	}
	return args[min(n, len(args)):]
}

func commands(a *analysis, i *invocation) {
	if i.program == "command" && has(i.args[:min(1, len(i.args))], "-v", "-V") {
		a.add(i.part(effect.Observe, "it says where a program is"))
		return
	}
	args := i.args
	for len(args) > 0 && (args[0].text == "-p" || args[0].text == "--") && !args[0].dynamic {
		args = args[1:]
	}
	a.run(i, args)
}
