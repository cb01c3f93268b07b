package shell

import (
	"path"
	"strings"

	"github.com/margaydev/margay/taint/effect"
	"github.com/margaydev/margay/taint/shell/table"
	"github.com/margaydev/margay/taint/workspace"
)

// reads adds a part that reads files.
func (a *analysis) reads(text, program string, files ...word) {
	p := Part{Text: text, Program: program, Effect: effect.Observe, Why: "it reads"}
	for _, w := range files {
		for _, at := range a.find(w) {
			switch at.zone {
			case workspace.Own, workspace.Steering, workspace.System:
				p.Foreign = p.Foreign || a.m.Tainted != nil && a.m.Tainted(at.full)
				p.Private = p.Private || at.zone == workspace.Steering && a.m.Home != "" && strings.HasPrefix(at.full, a.m.Home+"/.")
			case workspace.Mediator:
				a.add(Part{Text: text, Program: program, Effect: effect.Administer, Foreign: true, Why: "it reads what Margay keeps"})
			default:
				p.Foreign = p.Foreign || at.zone != workspace.Scratch || at.some || a.m.Mine == nil || !a.m.Mine(at.full)
			}
		}
	}
	a.add(p)
}

// writes adds a part that changes files.
func (a *analysis) writes(text, program string, files ...word) {
	for _, w := range files {
		at := worst(a.find(w))
		p := Part{Text: text, Program: program, Anywhere: at.some || at.full == ""}
		if at.full != "" {
			p.Writes = []string{at.full}
		}
		switch at.zone {
		case workspace.Own, workspace.Scratch, workspace.Foreign:
			p.Effect, p.Why = effect.Edit, "it changes files of the workspace"
			if at.some && a.m.zone(path.Join(at.full, ".git/config")) == workspace.Steering {
				// A pattern at the top of a workspace matches no hidden name, but
				// agents' instructions.
				p.Effect, p.Why = effect.Persist, "the pattern may match files that steer agents"
				if w.glob && strings.Contains(path.Base(w.text), ".") && !strings.HasSuffix(w.text, ".md") {
					p.Effect, p.Why = effect.Edit, "it changes files of the workspace"
				}
			}
		case workspace.Mediator:
			p.Effect, p.Why = effect.Administer, "it changes what Margay keeps"
		case workspace.Steering:
			p.Effect, p.Why = effect.Persist, "the file tells agents, shells, builds or machines what to do"
		case workspace.System:
			if table.Device(at.full) {
				a.add(Part{Text: text, Program: program, Effect: effect.Observe, Why: "it writes nothing that stays"})
				continue
			}
			p.Effect, p.Why = effect.Persist, "the file is the system's"
		default:
			p.Effect, p.Why = effect.Persist, OutsideFile
			if strings.HasPrefix(at.full, "/dev/tcp/") || strings.HasPrefix(at.full, "/dev/udp/") || strings.Contains(w.text, "/dev/tcp") || strings.Contains(w.text, "/dev/udp") {
				p.Effect, p.Why, p.Foreign, p.To = effect.Reach, "it opens a connection", true, at.full
			}
		}
		a.add(p)
	}
}

// removes adds a part that removes files.
func (a *analysis) removes(text, program string, files ...word) {
	for _, w := range files {
		at := worst(a.find(w))
		p := Part{Text: text, Program: program, Effect: effect.Destroy, Why: "what it removes can't be had back", Anywhere: at.some || at.full == ""}
		if at.full != "" {
			p.Writes = []string{at.full}
		}
		base := path.Base(path.Clean("/" + w.text))
		again := !w.dynamic && table.Rebuilt(base)
		switch at.zone {
		case workspace.Scratch:
			if at.full != "" && strings.Count(at.full, "/") > 1 {
				p.Effect, p.Why = effect.Edit, "it removes scratch files"
			}
		case workspace.Own, workspace.Foreign:
			if again {
				p.Effect, p.Why = effect.Edit, "it removes what a build makes again"
			}
		case workspace.Steering:
			a.add(Part{Text: text, Program: program, Effect: effect.Persist, Writes: p.Writes, Why: "the file tells agents, shells, builds or machines what to do"})
		default:
		}
		a.add(p)
	}
}

// shown is a command as a person reads it.
func shown(words []word) string {
	var out []string
	for _, w := range words {
		out = append(out, w.text)
		if len(out) > 40 {
			break
		}
	}
	return strings.Join(out, " ")
}
