// Package act says what a call does on a machine: which effects it has, on
// which places, and whose words its result holds.
//
// A pack names, in a Spec, what an argument is: a shell command, files that are
// read or changed, a patch, an address. What follows from that is worked out
// here, and taint decides by the table in taint/effect.
package act

import (
	"encoding/json"
	"path"
	"slices"
	"strings"

	"github.com/margaydev/margay/taint/document"
	"github.com/margaydev/margay/taint/effect"
	"github.com/margaydev/margay/taint/shell"
	"github.com/margaydev/margay/taint/workspace"
)

// Machine is the computer that an agent's tools work on. It is immutable, but
// for what was written meanwhile, and safe for concurrent use.
type Machine struct {
	Dir    string // where relative paths start; empty where it is not known
	Home   string // the user's home folder; empty where it is not known
	Places *workspace.Workspace
	// Tainted reports whether a file, or one below a folder, was written under
	// the influence of strangers; below "" is anywhere. Nil: labels do not
	// follow files, so that none may be written under such influence unasked.
	Tainted func(path string) bool
}

// In is the machine with another working directory.
func (m *Machine) In(dir string) *Machine {
	out := *m
	out.Dir = dir
	return &out
}

// Spec says what the arguments of a call are. One of its members is set.
type Spec struct {
	// Effect is what every such call does, and To the arguments that say where.
	Effect *effect.Effect
	To     []document.Path
	// Strangers: what such a call returns may hold their words, whatever it does.
	Strangers bool
	// Shell is a command, a text or a list of words; Dir its working directory.
	Shell, Dir *document.Path
	// Edits and Reads are the names of files and folders. Without a value, Reads
	// are of the working directory.
	Edits, Reads []document.Path
	// Patch is a text that names the files it changes on lines of their own, as
	// Codex's patches do.
	Patch *document.Path
}

// Within reports whether the spec is about arguments with some names alone; if
// not, about which other one.
func (s *Spec) Within(names []string) (other string, ok bool) {
	paths := slices.Concat(s.To, s.Edits, s.Reads)
	for _, p := range []*document.Path{s.Shell, s.Dir, s.Patch} {
		if p != nil {
			paths = append(paths, *p)
		}
	}
	for _, p := range paths {
		if !slices.Contains(names, p.Head()) {
			return p.String(), false
		}
	}
	return "", true
}

// Harmless reports whether calls only read, whatever their arguments are. One
// that reads what Margay keeps is asked about all the same.
func (s *Spec) Harmless() bool {
	return len(s.Reads) > 0 || s.Effect != nil && *s.Effect == effect.Observe
}

// Act is one thing that a call does.
type Act struct {
	Effect effect.Effect
	// Text is the part of the call that does it, for people; Why says what gives
	// it the effect.
	Text, Why string
	// To is where it goes or what it is about: a host, a remote, a path.
	To string
	// Unknown: no table knows the program that Text names first.
	Unknown bool
	Program string
	// Foreign: what it returns may hold the words of strangers.
	Foreign bool
	// Writes are the files that it changes; Anywhere: others, too.
	Writes   []string
	Anywhere bool
}

// Acts are what a call does. There is at least one; of arguments that can't be
// read, one that persists. m may be nil: nothing is known of the machine.
func (s *Spec) Acts(m *Machine, args *document.Tree) []Act {
	if m == nil {
		m = &Machine{}
	}
	switch {
	case s.Effect != nil:
		a := Act{Effect: *s.Effect, Why: s.Effect.Rule().Why, Foreign: s.Strangers || *s.Effect == effect.Reach}
		a.To = strings.Join(texts(args, s.To), " ")
		return []Act{a}
	case s.Shell != nil:
		return s.commands(m, args)
	case s.Patch != nil:
		return patched(m, args, *s.Patch)
	case len(s.Edits) > 0:
		var out []Act
		for _, p := range texts(args, s.Edits) {
			out = append(out, edit(m, p))
		}
		if len(out) == 0 {
			out = []Act{unreadable("no file is named")}
		}
		return out
	}
	var out []Act
	for _, p := range texts(args, s.Reads) {
		out = append(out, read(m, p))
	}
	if len(out) == 0 {
		out = append(out, read(m, "."))
	}
	return out
}

func unreadable(why string) Act {
	return Act{Effect: effect.Persist, Why: why, Foreign: true, Anywhere: true}
}

// texts are the values at some paths; one that is not a text is empty.
func texts(args *document.Tree, at []document.Path) []string {
	var out []string
	for _, p := range at {
		args.Walk(p, 0, nil, func(i, _ int) {
			switch n := &args.Nodes[i]; n.Kind {
			case document.Null:
			case document.Text:
				out = append(out, n.Value)
			default:
				out = append(out, "")
			}
		})
	}
	return out
}

// zone is where a path leads, and the path in full.
func (m *Machine) zone(p string) (workspace.Zone, string) {
	if m.Places == nil {
		return workspace.Outside, p
	}
	full, ok := m.Places.Resolve(m.Dir, p)
	if !ok {
		return workspace.Outside, p
	}
	return m.Zone(full), full
}

// Zone is where an absolute path leads. A file that was written under the
// influence of strangers, or a folder with one, is theirs.
func (m *Machine) Zone(full string) workspace.Zone {
	if m.Places == nil {
		return workspace.Outside
	}
	z := m.Places.Zone(full)
	if (z == workspace.Own || z == workspace.Scratch || z == workspace.Steering) && m.Tainted != nil && m.Tainted(full) {
		return workspace.Foreign
	}
	return z
}

func read(m *Machine, p string) Act {
	z, full := m.zone(p)
	a := Act{Effect: effect.Observe, Text: p, To: full, Why: "it reads"}
	switch z {
	case workspace.Own, workspace.Steering, workspace.System:
		a.Foreign = z == workspace.Steering && !m.inside(full)
	case workspace.Mediator:
		a.Effect, a.Why, a.Foreign = effect.Administer, "it reads what Margay keeps", true
	default:
		a.Foreign = true
	}
	return a
}

// inside reports whether a file is below a folder that the user trusts, whatever
// else it is.
func (m *Machine) inside(full string) bool {
	return m.Places != nil && m.Places.Root(full) != ""
}

// Names are how people write a path: in full, from the workspace, from the working
// directory, from the home folder, and its last element.
func (m *Machine) Names(full string) []string {
	out := []string{full, path.Base(full)}
	if m == nil {
		return out
	}
	from := []string{m.Dir, m.Home}
	if m.Places != nil {
		from = append(from, m.Places.Root(full))
	}
	for _, dir := range from {
		if rest, ok := strings.CutPrefix(full, dir+"/"); ok && dir != "" {
			out = append(out, rest)
			if dir == m.Home {
				out = append(out, "~/"+rest)
			}
		}
	}
	return out
}

func edit(m *Machine, p string) Act {
	z, full := m.zone(p)
	a := Act{Text: p, To: full, Writes: []string{full}}
	switch z {
	case workspace.Own, workspace.Scratch:
		a.Effect, a.Why = effect.Edit, "it changes a file of the workspace"
	case workspace.Foreign:
		a.Effect, a.Why = effect.Edit, "it changes a file that others wrote"
		a.Foreign = true
	case workspace.Mediator:
		a.Effect, a.Why = effect.Administer, "it changes what Margay keeps"
	case workspace.Steering:
		a.Effect, a.Why = effect.Persist, "the file tells agents, shells or builds what to do"
	default:
		a.Effect, a.Why = effect.Persist, "the file is in no folder that the user trusts"
		a.Foreign = true
	}
	return a
}

// patchMarks begin the lines on which a patch names its files.
var patchMarks = []string{"*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: "}

func patched(m *Machine, args *document.Tree, at document.Path) []Act {
	var out []Act
	for _, text := range texts(args, []document.Path{at}) {
		for line := range strings.Lines(text) {
			line = strings.TrimRight(line, "\r\n")
			i := slices.IndexFunc(patchMarks, func(mark string) bool { return strings.HasPrefix(strings.TrimLeft(line, " \t"), mark) })
			if i < 0 {
				continue
			}
			a := edit(m, strings.TrimSpace(strings.TrimPrefix(strings.TrimLeft(line, " \t"), patchMarks[i])))
			if i == 2 && a.Effect == effect.Edit {
				a.Effect, a.Why = effect.Destroy, "it deletes a file"
			}
			if !slices.ContainsFunc(out, func(o Act) bool { return o.To == a.To && o.Effect == a.Effect }) {
				out = append(out, a)
			}
		}
	}
	if len(out) == 0 {
		out = []Act{unreadable("the patch names no file")}
	}
	return out
}

// commands are the parts of a shell command.
func (s *Spec) commands(m *Machine, args *document.Tree) []Act {
	dir := m.Dir
	if s.Dir != nil {
		for _, d := range texts(args, []document.Path{*s.Dir}) {
			full := ""
			if m.Places != nil {
				full, _ = m.Places.Resolve(m.Dir, d)
			}
			dir = full
		}
	}
	on := &shell.Machine{Dir: dir, Home: m.Home, Zone: m.Zone}
	if m.Places != nil {
		on.Above = m.Places.Above
	}
	var out []Act
	args.Walk(*s.Shell, 0, nil, func(i, _ int) {
		var c shell.Command
		switch n := &args.Nodes[i]; n.Kind {
		case document.Null:
			return
		case document.Text:
			c = shell.Analyse(n.Value, on)
		case document.List:
			var words []string
			if json.Unmarshal(args.Canonical(nil, i, nil), &words) != nil {
				out = append(out, unreadable("the command is not a list of words"))
				return
			}
			c = shell.AnalyseArgs(words, on)
		default:
			out = append(out, unreadable("the command is not a text"))
			return
		}
		for j := range c.Parts {
			p := &c.Parts[j]
			out = append(out, Act{
				Effect: p.Effect, Text: p.Text, Why: p.Why, To: p.To, Unknown: p.Unknown, Program: p.Program,
				Foreign: p.Foreign, Writes: p.Writes, Anywhere: p.Anywhere,
			})
		}
	})
	if len(out) == 0 {
		out = []Act{{Effect: effect.Observe, Why: "it runs nothing"}}
	}
	return out
}

// Foreign reports whether the result of a call may hold the words of strangers.
// shown is the result's text: a search names the file of each line, and one of a
// stranger's file counts.
func (s *Spec) Foreign(m *Machine, args *document.Tree, shown string) bool {
	if m == nil || m.Places == nil || s.Strangers || s.Effect != nil && !m.inside(m.Dir) {
		return true
	}
	for _, a := range s.Acts(m, args) {
		if a.Foreign || a.Effect == effect.Reach || a.Effect == effect.Spend || a.Effect == effect.Administer {
			return true
		}
	}
	return (len(s.Reads) > 0 || s.Shell != nil) && m.names(shown)
}

// maxNamed bounds the lines of a result that are looked at for names of files.
const maxNamed = 1 << 14

// names reports whether a line of a result starts with the path of a file that
// strangers wrote, as searches and listings do.
func (m *Machine) names(shown string) bool {
	n := 0
	for line := range strings.Lines(shown) {
		if n++; n > maxNamed {
			return true
		}
		name, _, _ := strings.Cut(strings.TrimSpace(line), ":")
		if name == "" || len(name) > 1024 || !strings.Contains(name, "/") || strings.ContainsAny(name, " \t\"'`(){}<>|;&$*?") {
			continue
		}
		if full, ok := m.Places.Resolve(m.Dir, name); ok && m.Zone(path.Clean(full)) == workspace.Foreign {
			return true
		}
	}
	return false
}
