package shell

import (
	"cmp"
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
			a.hide(i.text, "a variable names the variables that it sets")
			continue
		}
		if !strings.HasPrefix(w.text, "-") {
			a.set(w.text, nil)
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
	if len(i.args) > 1 && strings.HasPrefix(i.args[0].text, "-v") {
		a.set(cmp.Or(i.args[0].text[2:], i.args[1].text), nil)
	}
	a.add(i.part(effect.Observe, "it prints"))
}

func traps(a *analysis, i *invocation) {
	a.altered = true
	if len(i.args) > 0 && !strings.HasPrefix(i.args[0].text, "-") {
		a.code(i, i.args[0])
	}
	a.add(i.part(effect.Observe, "it says what happens at the end"))
}
