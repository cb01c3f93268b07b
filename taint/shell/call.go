package shell

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/margaydev/margay/taint/effect"
	"github.com/margaydev/margay/taint/shell/table"
	"github.com/margaydev/margay/taint/workspace"
)

// callExpr analyses a simple command with its assignments.
func (a *analysis) callExpr(c *syntax.CallExpr, in input) {
	for _, w := range c.Args {
		a.inside(w)
	}
	words := a.words(c.Args)
	defer func(outer []string) { a.with = outer }(a.with)
	for _, as := range c.Assigns {
		if len(c.Args) == 0 {
			a.assign(as)
			continue
		}
		a.inside(as) // it is for the one program alone
		if as.Name != nil {
			values := a.expand(as.Value)
			if as.Value == nil {
				values = []word{{}}
			}
			if len(values) == 1 && values[0] == (word{text: values[0].text}) && !as.Append && as.Array == nil && as.Index == nil && !table.Steers(as.Name.Value) {
				a.with = append(slices.Clip(a.with), as.Name.Value+"="+values[0].text)
			} else {
				a.steers(as.Name.Value, values)
			}
		}
	}
	if len(words) > 0 {
		// In some shells what is set for a builtin stays set.
		a.altered = a.altered || len(c.Assigns) > 0 && slices.Contains([]string{":", ".", "eval", "exec", "export", "readonly", "set", "shift", "trap", "unset", "times", "return", "source"}, words[0].text)
		a.call(words, in)
	}
}

// steers adds a part for a variable that names programs or code.
func (a *analysis) steers(name string, values []word) {
	a.altered = true
	if !table.Steers(name) {
		return
	}
	for _, v := range values {
		if !v.dynamic && table.Plain(name, v.text) {
			continue
		}
		text := name + "=" + v.text
		if !v.dynamic && slices.Contains([]string{"PYTHONPATH", "NODE_PATH", "RUBYLIB", "PERL5LIB", "CC", "CXX", "RUSTC_WRAPPER"}, name) {
			if at := worst(a.find(v)); at.zone == workspace.Own && strings.Contains(v.text, "/") {
				a.add(Part{Text: text, Effect: effect.Run, Why: "the variable names code of the workspace"})
				continue
			}
		}
		a.hide(text, "the variable names programs, code or places that others use")
	}
	if len(values) == 0 {
		a.hide(name, "the variable names programs, code or places that others use")
	}
}

// call analyses a program with its arguments.
func (a *analysis) call(words []word, in input) {
	name := words[0]
	text := shown(words)
	if a.depth++; a.depth > maxDepth {
		a.hide(text, "commands are nested too deep")
		a.depth--
		return
	}
	defer func() { a.depth-- }()
	switch {
	case name.dynamic || name.glob && name.text != "[" || name.text == "":
		a.hide(text, "what runs is named by a variable or a pattern")
		return
	case a.funcs[name.text]: // its body is analysed where it stands
		a.add(Part{Text: text, Program: name.text, Effect: effect.Observe, Why: "a function of the command's own"})
		return
	}
	program := name.text
	if path.Base(program) == "margay" {
		program = "margay"
	}
	if strings.Contains(program, "/") {
		at := worst(a.find(name))
		switch base := path.Base(program); {
		case at.zone == workspace.Own, at.zone == workspace.Scratch && a.m.Built != nil && a.m.Built(at.full), at.zone == workspace.Foreign && strings.Contains(at.full, "/node_modules/.bin/"), at.zone == workspace.Foreign && strings.Contains(at.full, "/bin/"):
			a.own(words, base, text, in, at.zone)
			a.runs(at.full)
			return
		case at.zone == workspace.System || at.zone == workspace.Outside && table.Lookup(base) != nil && table.ToolFolder(at.full):
			if program = base; slices.Contains([]string{"/usr/bin", "/bin", "/usr/local/bin", "/opt/homebrew/bin"}, path.Dir(at.full)) {
				words = slices.Concat([]word{{text: base}}, words[1:])
				text = shown(words)
			}
		default:
			a.add(Part{Text: text, Program: base, Effect: effect.Reach, Unknown: true, Foreign: true, Anywhere: true, Why: OutsideProgram})
			return
		}
	}
	for _, w := range words[1:] {
		if _, v, ok := strings.Cut(w.text, "="); !w.dynamic && (a.keeps(w.text, program) || ok && a.keeps(v, program)) {
			a.add(Part{Text: text, Program: program, Effect: effect.Administer, Foreign: true, Why: "a word of it leads to what Margay keeps"})
		}
	}
	if len(words) > 1 && !words[1].dynamic && table.Toolchain(program, words[1].text) {
		words = slices.Delete(slices.Clone(words), 1, 2)
	}
	if h := special[program]; h != nil {
		h(a, &invocation{words: words, text: text, program: program, args: words[1:], in: in})
		return
	}
	e := table.Lookup(program)
	if e == nil {
		p := (&invocation{words: words, text: text, program: program, in: in}).part(effect.Reach, Unheard)
		p.Unknown, p.Anywhere = true, true
		a.add(p)
		return
	}
	a.listed(e, &invocation{words: words, text: text, program: program, args: words[1:], in: in})
}

// keeps reports whether a path leads to what Margay keeps, or holds it and the
// program goes into folders.
func (a *analysis) keeps(p, program string) bool {
	at := worst(a.find(word{text: p}))
	return at.zone == workspace.Mediator || a.m.Above != nil && at.full != "" && a.m.Above(at.full) && slices.Contains([]string{"cp", "mv", "tar", "zip", "find", "rm", "chmod", "chown", "grep", "rg", "rsync"}, program)
}

// own analyses a program of the workspace: an interpreter or a build tool of its
// own is held to what it is told, too.
func (a *analysis) own(words []word, base, text string, in input, zone workspace.Zone) {
	a.add(Part{Text: text, Program: base, Effect: effect.Run, Why: "it runs code of the workspace", Words: certain(words)})
	if h := special[base]; h != nil && zone == workspace.Foreign {
		h(a, &invocation{words: words, text: text, program: base, args: words[1:], in: in})
	} else if e := table.Lookup(base); e != nil && zone == workspace.Foreign {
		a.listed(e, &invocation{words: words, text: text, program: base, args: words[1:], in: in})
	}
}

// invocation is a program that is run.
type invocation struct {
	words   []word
	text    string
	program string
	args    []word // without the program's name
	in      input
}

// part is a part of the invocation.
func (i *invocation) part(e effect.Effect, why string) Part {
	p := Part{Text: i.text, Program: i.program, Effect: e, Why: why, Foreign: e == effect.Reach || e == effect.Spend}
	here := i.program == "gh" && slices.ContainsFunc(i.args, func(w word) bool { return w.text == "-" })              // it posts what it reads
	if e != effect.Reach || !here && i.in == (input{}) || here && i.in.text != "" && !i.in.piped && i.in.file == "" { // what it reads goes where it reaches
		p.Words = certain(i.words)
	}
	return p
}

// certain are the texts of words, as far as they are known.
func certain(words []word) []string {
	var out []string
	for _, w := range words {
		if w.split || w.glob {
			return nil
		}
		if w.dynamic {
			w.text = ""
		}
		out = append(out, w.text)
	}
	return out
}

// split parts flags from operands. Flags that take a value take the next word.
func split(args []word, taking []string) (flags, operands []word) {
	rest := false
	for k := 0; k < len(args); k++ {
		w := args[k]
		switch {
		case rest || w.dynamic || w.text == "-" || !strings.HasPrefix(w.text, "-"):
			operands = append(operands, w)
		case w.text == "--":
			rest = true
		default:
			flags = append(flags, w)
			if slices.ContainsFunc(taking, func(t string) bool { return t == w.text || short(w.text, t) }) && k+1 < len(args) {
				k++
				flags = append(flags, word{text: w.text + "=" + args[k].text, dynamic: args[k].dynamic, glob: args[k].glob})
			}
		}
	}
	return flags, operands
}

// short reports whether a long flag is written by its beginning alone, as many
// programs allow.
func short(flag, long string) bool {
	return len(flag) > 3 && strings.HasPrefix(long, "--") && strings.HasPrefix(long, flag)
}

// unclear reports whether a word may be a flag that is not seen.
func unclear(args []word) bool {
	return slices.ContainsFunc(args, func(w word) bool { return w.dynamic && (w.text == "" || w.text[0] == '$' || w.text[0] == '-') })
}

// has reports whether a flag is given: --flag, --flag=value, -f, or f among
// letters such as -rf.
func has(flags []word, names ...string) bool {
	for _, f := range flags {
		flag, _, valued := strings.Cut(f.text, "=")
		for _, n := range names {
			switch {
			case flag == n:
				return true
			case len(n) == 2 && len(flag) > 2 && flag[0] == '-' && flag[1] != '-' && !valued && strings.Contains(flag[1:], n[1:]):
				return true
			case strings.HasPrefix(n, "--") && short(flag, n):
				return true // programs take a long flag's beginning for it
			}
		}
	}
	return false
}

// values are the values of flags: --flag=value, and value behind -f by split.
func values(flags []word, names ...string) []word {
	var out []word
	for _, f := range flags {
		for _, n := range names {
			if flag, v, ok := strings.Cut(f.text, "="); ok && (flag == n || short(flag, n)) {
				out = append(out, word{text: v, dynamic: f.dynamic, glob: f.glob})
			} else if len(n) == 2 && len(f.text) > 2 && strings.HasPrefix(f.text, n) && !strings.Contains(f.text, "=") {
				out = append(out, word{text: f.text[2:], dynamic: f.dynamic, glob: f.glob})
			}
		}
	}
	return out
}
