package shell

import (
	"slices"
	"strings"

	"github.com/margaydev/margay/taint/effect"
)

func cd(a *analysis, i *invocation) {
	a.add(i.part(effect.Observe, "it changes the shell's folder"))
	if i.program != "cd" {
		a.may("")
		return
	}
	a.may(a.moved(i.args, slices.Clone(a.dirs))...)
}

func reading(a *analysis, i *invocation) {
	for _, w := range i.args {
		if i.program == "unset" && !w.dynamic && (w.text == "-f" || w.text == "-nf" || w.text == "-fn") {
			clear(a.funcs)
		}
		if w.dynamic {
			a.vars = map[string][]word{"IFS": nil}
			continue
		}
		if !strings.HasPrefix(w.text, "-") {
			a.vars[w.text] = nil
		}
	}
	if i.program == "mapfile" || i.program == "readarray" {
		if flags, _ := split(i.args, []string{"-C", "-c"}); has(flags, "-C") {
			a.hide(i.text, "a flag names a command")
			return
		}
	}
	a.add(i.part(effect.Observe, "it sets variables of the shell"))
}

func printing(a *analysis, i *invocation) {
	if len(i.args) > 1 && i.args[0].text == "-v" {
		a.vars[i.args[1].text] = nil
	}
	a.add(i.part(effect.Observe, "it prints"))
}

func aliases(a *analysis, i *invocation) {
	for _, w := range i.args {
		if w.dynamic || strings.Contains(w.text, "=") {
			a.hide(i.text, "an alias gives a name another meaning")
			return
		}
	}
	a.add(i.part(effect.Observe, "it lists aliases"))
}

func hashes(a *analysis, i *invocation) {
	if flags, _ := split(i.args, []string{"-p"}); has(flags, "-p") {
		a.hide(i.text, "it gives a name another program")
		return
	}
	a.add(i.part(effect.Observe, "it lists programs"))
}

func traps(a *analysis, i *invocation) {
	if len(i.args) > 0 && !strings.HasPrefix(i.args[0].text, "-") {
		a.code(i, i.args[0])
	}
	a.add(i.part(effect.Observe, "it says what happens at the end"))
}
