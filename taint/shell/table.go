package shell

import (
	"slices"
	"strings"

	"github.com/margaydev/margay/taint/effect"
	"github.com/margaydev/margay/taint/shell/table"
	"github.com/margaydev/margay/taint/workspace"
)

// listed analyses a program by its entry.
func (a *analysis) listed(e *table.Entry, i *invocation) {
	taking := e.Taking
	var all []table.Flags
	flags, rest := split(i.args, taking)
	name := i.program
	for {
		all = append(all, e.With...)
		if e.Subs == nil {
			break
		}
		if len(rest) == 0 {
			if sub := bareFlag(e, flags); sub != nil {
				e = sub
			}
			break
		}
		if rest[0].dynamic {
			a.hide(i.text, "a variable names the subcommand")
			return
		}
		sub := e.Subs[rest[0].text]
		if sub == nil {
			if sub = e.Subs["*"]; sub == nil {
				if e.Set {
					break
				}
				p := i.part(effect.Reach, "nothing is known of this subcommand")
				p.Unknown, p.Anywhere = true, true
				a.add(p)
				return
			}
			e = sub
			break
		}
		name += " " + rest[0].text
		e = sub
		taking = append(slices.Clip(taking), e.Taking...)
		_, rest = split(withoutFirst(i.args, strings.Fields(name)[1:]), taking)
		flags, _ = split(i.args, taking)
	}
	if len(flags) > 0 && len(flags) == len(i.args) && (flags[0].text == "--version" || flags[0].text == "--help") || has(flags, "--help") && len(flags) == 1 {
		a.add(i.part(effect.Observe, "it prints its own help"))
		return
	}
	if (slices.ContainsFunc(flags, func(f word) bool { return f.dynamic }) || unclear(rest)) && len(all) > 0 {
		a.hide(i.text, "a variable holds a flag")
		return
	}
	a.apply(e, i, rest)
	for _, w := range all {
		if has(flags, w.Flags...) {
			a.add(i.part(w.Effect, "by a flag of "+i.program))
		}
	}
}

// bareFlag is the entry of a flag that stands for a subcommand: dpkg -l.
func bareFlag(e *table.Entry, flags []word) *table.Entry {
	for _, f := range flags {
		if sub := e.Subs[f.text]; sub != nil {
			return sub
		}
	}
	return nil
}

// withoutFirst leaves out the first word that is each name, in their order.
func withoutFirst(args []word, names []string) []word {
	out := slices.Clone(args)
	for _, n := range names {
		if k := slices.IndexFunc(out, func(w word) bool { return !w.dynamic && w.text == n }); k >= 0 {
			out = slices.Delete(out, k, k+1)
		}
	}
	return out
}

// apply adds the parts that an entry gives a program.
func (a *analysis) apply(e *table.Entry, i *invocation, rest []word) {
	if !e.Set {
		a.add(i.part(effect.Observe, "it does nothing without a subcommand"))
		return
	}
	for _, f := range e.Effects {
		p := i.part(f, "by the table of programs")
		switch {
		case f == effect.Reach || f == effect.Spend:
			p.To, p.Anywhere = i.to(e, rest), f == effect.Reach && e.Does == ""
			p.Anywhere = false
		case f == effect.Destroy || f == effect.Persist:
			p.Anywhere = true
		}
		switch e.Does {
		case "files":
			a.reads(i.text, i.program, rest...)
			continue
		case "writes":
			a.writes(i.text, i.program, rest...)
			if len(rest) == 0 {
				a.add(i.part(effect.Observe, "it writes to its output"))
			}
			continue
		case "removes":
			a.removes(i.text, i.program, rest...)
			continue
		case "foreign":
			p.Foreign = true
		case "command":
			k := slices.IndexFunc(i.args, func(w word) bool { return len(rest) > 0 && w == rest[0] })
			if end := slices.IndexFunc(i.args, func(w word) bool { return w.text == "--" }); i.program == "mise" && k > 0 && end > k {
				q := i.part(effect.Reach, "it fetches the tools that it names")
				tools := certain(i.args[k:end])
				q.To, q.Unknown = "registry:mise "+strings.Join(tools, " "), len(tools) == 0 || slices.Contains(tools, "")
				a.add(q)
				k = end + 1
			}
			if k >= 0 && k < len(i.args) {
				a.call(i.args[k:], i.in)
			}
		}
		a.add(p)
		if f == effect.Run && (slices.ContainsFunc(i.args, elsewhere) || a.outside(i)) {
			q := i.part(effect.Reach, OutsideCode)
			q.Anywhere = true
			a.add(q)
		}
	}
}

// outside reports whether a program that runs code may find it outside the
// workspace: it is started there, or its words lead there, but for what it writes.
func (a *analysis) outside(i *invocation) bool {
	if !a.inRoot() {
		return true
	}
	for k, w := range i.args {
		flag, v, ok := strings.Cut(w.text, "=")
		if !ok {
			if flag, v = "", w.text; k > 0 {
				flag = i.args[k-1].text
			}
		}
		if !strings.Contains(v, "/") || strings.Contains(v, "://") {
			continue
		}
		written := strings.HasPrefix(flag, "-o") || strings.Contains(flag, "out") || strings.Contains(flag, "profile") || strings.Contains(flag, "report")
		switch z := worst(a.find(word{text: v, glob: strings.ContainsAny(v, "*?[")})).zone; {
		case written && (z == workspace.Own || z == workspace.Scratch || z == workspace.Foreign || table.Device(v)):
		case written:
			a.writes(i.text, i.program, word{text: v})
		case z == workspace.Outside || z == workspace.Scratch:
			return true
		}
	}
	return false
}

// elsewhere reports whether a word is an address on another machine.
func elsewhere(w word) bool {
	return strings.HasPrefix(w.text, "jsr:") || strings.HasPrefix(w.text, "npm:") || strings.Contains(w.text, "://") && !table.Local(strings.ToLower(table.Host(w.text[strings.Index(w.text, "://")-min(5, strings.Index(w.text, "://")):])))
}

// to is where a program reaches: its operands, or a registry. What a workspace's
// lock file or manifest names is the registry alone.
func (i *invocation) to(e *table.Entry, rest []word) string {
	if e.Does == "registry" {
		return "registry:" + i.program
	}
	if e.Does == "cluster" {
		return "cluster:" + i.program
	}
	var out []string
	for _, w := range rest {
		if w.dynamic {
			return ""
		}
		out = append(out, w.text)
	}
	if e.Does == "to" && slices.Contains(e.Effects, effect.Run) && slices.Contains(installers, i.program) {
		out = append([]string{"registry:" + i.program}, out...)
	}
	return strings.Join(out, " ")
}

// installers fetch what a workspace names where no package is named.
var installers = []string{"npm", "pnpm", "yarn", "bun", "pip", "pip3", "uv", "poetry", "pipenv", "bundle", "composer", "dotnet", "mise", "pod"}
