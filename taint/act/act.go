// Package act says what a call does on a machine: which effects it has, on
// which places, and whose words its result holds.
//
// A pack names, in a Spec, what an argument is: a shell command, files that are
// read or changed, a patch, an address. What follows from that is worked out
// here, and taint decides by the table in taint/effect.
package act

import (
	"path"
	"slices"
	"strings"

	"github.com/margaydev/margay/taint/codemode"
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
	// Tainted reports whether strangers had a part in a file or a folder around
	// it, and Holds whether they had in some below a folder; "" is anywhere. Nil:
	// labels do not follow files, so that none may be written under strangers'
	// influence unasked.
	Tainted, Holds func(path string) bool
	// Mine reports whether a scratch file was written whole by calls in which only
	// the workspace had a part, and Built whether it is a program that such a call
	// built; nil: none was.
	Mine, Built func(path string) bool
	// Version is another one after each change of what strangers had a part in.
	Version int64
	// MayRun reports whether a person let code run that strangers had a part in,
	// and they had a part in nothing since; nil: it may not.
	MayRun func() bool
	// Dirty: what is decided along with a call may leave strangers' words in any
	// file, before the call or while it is made.
	Dirty bool
	// Profile is what a person said of a tool that no pack describes, with what it
	// said of itself then; nil: nobody said anything.
	Profile func(tool, definition string) (effect.Profile, bool)
	// Project is the root of the project that a file or folder outside the workspaces
	// is in, if a person may be offered to trust it; empty where that is not sure. Nil:
	// it never is.
	Project func(path string) string
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
	// Runs are the words of the command that such a call stands for, in Dir; the values
	// of With are more of them.
	Runs []string
	With []document.Path
	// Edits and Reads are the names of files and folders. Without a value, Reads
	// are of the working directory.
	Edits, Reads []document.Path
	// Patch is a text that names the files it changes on lines of their own, as
	// Codex's patches do.
	Patch *document.Path
	// Program is a program of Codex's code mode, and Tools says what the tools do
	// that it may call, by their names. A call of another one reaches out.
	Program *document.Path
	Tools   map[string]*Spec
	// Args are all arguments that a call of one of Tools may have.
	Args []string
	// Server: the tool is a server's, which has a working directory of its own. Away:
	// nobody said that the server works on the files of this machine.
	Server, Away bool
}

// Within reports whether the spec is about arguments with some names alone; if
// not, about which other one.
func (s *Spec) Within(names []string) (other string, ok bool) {
	paths := slices.Concat(s.To, s.Edits, s.Reads, s.With)
	for _, p := range []*document.Path{s.Shell, s.Dir, s.Patch, s.Program} {
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
	// Private: it reads what the user keeps for himself, such as keys and settings.
	Private bool
	// Plain: what it returns are numbers, states, dates and hashes alone, whoever it
	// comes from.
	Plain bool
	// In is the folder that it runs in; empty where that is not known.
	In string
	// Writes are the files that it changes; Anywhere: others, too.
	Writes   []string
	Anywhere bool
	// Tainted: it reads or runs files of a folder, unnamed, and strangers had a
	// part in some.
	Tainted bool
	// Kind is what a person's yes for a task covers of it: its verb and what it is
	// about; empty where a yes is for the very call.
	Kind string
}

// Acts are what a call does. There is at least one; of arguments that can't be
// read, one that persists. m may be nil: nothing is known of the machine.
func (s *Spec) Acts(m *Machine, args *document.Tree) []Act {
	if m == nil {
		m = &Machine{}
	}
	if !s.Server || s.Effect != nil {
		return s.acts(m, args)
	}
	out := s.acts(m.In(""), args)
	for i := range out {
		switch a := &out[i]; {
		case a.Effect == effect.Observe:
			a.Foreign = a.Foreign || len(s.Reads) > 0 && m.touched(a.To) // it may name all files of a folder
		case s.Away:
			a.Effect, a.Why, a.Kind = effect.Administer, "nobody said that the server works on this machine (taint.lists: local-servers)", ""
		}
	}
	return out
}

func (s *Spec) acts(m *Machine, args *document.Tree) []Act {
	switch {
	case s.Effect != nil:
		a := Act{Effect: *s.Effect, Why: s.Effect.Rule().Why, Foreign: s.Strangers || *s.Effect == effect.Reach}
		a.Tainted = a.Effect == effect.Run && !s.Strangers && (m.Dirty || m.touched(""))
		a.To = strings.Join(texts(args, s.To), " ")
		a.Kind = fetches(&a)
		return []Act{a}
	case s.Shell != nil || s.Runs != nil:
		return s.commands(m, args)
	case s.Patch != nil:
		return patched(m, args, *s.Patch)
	case s.Program != nil:
		return s.program(m, args)
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
	return m.Places.Zone(full), full
}

// Follows reports whether labels follow the files that are written.
func (m *Machine) Follows() bool { return m != nil && m.Tainted != nil && m.Holds != nil }

// tainted reports whether strangers had a part in a file.
func (m *Machine) tainted(full string) bool { return m.Follows() && m.Tainted(full) }

// touched reports whether strangers had a part in a file, or in one of a folder.
func (m *Machine) touched(full string) bool {
	return m.Follows() && (m.Tainted(full) || m.Holds(full))
}

func read(m *Machine, p string) Act {
	z, full := m.zone(p)
	a := Act{Effect: effect.Observe, Text: p, To: full, Why: "it reads"}
	switch z {
	case workspace.Own, workspace.Steering, workspace.System:
		a.Foreign = z == workspace.Steering && !m.inside(full) || m.tainted(full)
	case workspace.Mediator:
		a.Effect, a.Why, a.Foreign = effect.Administer, "it reads what Margay keeps", true
	default:
		a.Foreign = z != workspace.Scratch || !m.mine(full)
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
		a.Kind = m.changes(&a)
	default:
		a.Effect, a.Why = effect.Persist, shell.OutsideFile
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

// program are the acts of the calls that a program makes.
func (s *Spec) program(m *Machine, args *document.Tree) []Act {
	var out []Act
	for _, text := range texts(args, []document.Path{*s.Program}) {
		calls, err := codemode.Read(text)
		if err != nil || text == "" { // it may be no text
			out = append(out, unseen("exec", "the program does more than call tools and show what they return"))
		}
		for i := range calls {
			c := &calls[i]
			inner, tree := s.Tools[c.Tool], document.Arguments(c.Arguments)
			switch {
			case inner == nil:
				out = append(out, unseen("tools."+c.Tool, "nothing is known of what it does"))
			case tree == nil || slices.ContainsFunc(tree.Top(), func(n string) bool { return !slices.Contains(inner.Args, n) }):
				out = append(out, unseen("tools."+c.Tool, "nothing is known of one of its arguments"))
			default:
				out = append(out, inner.Acts(m, tree)...)
			}
		}
	}
	if len(out) == 0 {
		out = []Act{{Effect: effect.Observe, Why: "it calls nothing"}}
	}
	return out
}

func unseen(text, why string) Act {
	return Act{Effect: effect.Reach, Text: text, Why: why, Unknown: true, Foreign: true, Anywhere: true}
}

// Foreign reports whether the result of a call may hold the words of strangers.
// shown is the result's text: a search names the file of each line, and one of a
// stranger's file counts.
func (s *Spec) Foreign(m *Machine, args *document.Tree, shown string) bool {
	if m == nil || m.Places == nil || s.Strangers || s.Away || s.Effect != nil && !m.inside(m.Dir) {
		return true
	}
	acts := s.Acts(m, args)
	if len(s.Edits) > 0 && slices.ContainsFunc(acts, func(a Act) bool { return slices.ContainsFunc(a.Writes, m.tainted) }) {
		return true // it may show what it changes
	}
	if s.Shell != nil {
		if c := texts(args, []document.Path{*s.Shell}); len(c) == 1 && (echoes(c[0], shown) || slices.ContainsFunc(acts, foreign) && answered(acts, c[0], shown)) {
			return false
		}
	}
	if s.Shell != nil && slices.ContainsFunc(acts, foreign) && namesFiles(acts) {
		// Of a search through a folder, what is shown says whose files it found.
		exact := *m
		exact.Holds = func(string) bool { return false }
		acts = s.Acts(&exact, args)
	}
	if s.Program != nil { // it may show texts as JSON
		shown = strings.NewReplacer(`\n`, "\n", `"`, "\n", "`", "\n").Replace(shown)
	}
	return slices.ContainsFunc(acts, foreign) || (len(s.Reads) > 0 || s.Shell != nil || s.Runs != nil || s.Program != nil) && (m.names(shown) || s.in(m, args).names(shown))
}

// naming are programs that show the name of a file at the start of each line about
// it, and passing those that pass such lines on.
var (
	naming  = []string{"grep", "rg", "ag", "ls", "find", "fd"}
	passing = []string{"head", "tail", "sort"}
)

// unnamed matches what leaves such names out, or may: flags, and patterns, which may
// stand for one file.
var unnamed = late(`[*?\[{]|(?:^|\s)(?:-[A-Za-z0-9]*[hHIozlxABCZTpqc]|-+(?:exec|ok|print|fprint|fls|ls|printf)|--(?:[a-df-hj-z]|ex?[^cx]|in?[^c]))`)

// operand matches a word that is no flag and no number.
var operand = late(`^[^-0-9+]`)

// namesFiles reports whether a command only shows lines that each name the file
// that they are about.
func namesFiles(acts []Act) bool {
	return !slices.ContainsFunc(acts, func(a Act) bool {
		words := strings.Fields(a.Text)
		switch {
		case a.Effect != effect.Observe || len(words) == 0 || !a.whole() || unnamed().MatchString(a.Text):
			return true
		case slices.Contains(passing, a.Program):
			return slices.ContainsFunc(words[1:], operand().MatchString)
		}
		return !slices.Contains(naming, a.Program)
	})
}

// foreign reports whether strangers' words may come out of an act.
func foreign(a Act) bool {
	if a.Tainted {
		return true
	}
	return (a.Foreign || a.Effect == effect.Reach || a.Effect == effect.Spend || a.Effect == effect.Administer) && !a.Plain && !a.synced()
}

// synced reports whether an act is git's own exchange of named branches with what the
// clone came from, of which git says which and how far.
func (a *Act) synced() bool {
	words := a.gitWords()
	if a.Program != "git" || len(words) < 2 || !a.whole() || a.fetched(false) || strings.ContainsAny(a.Text, "*?[") || strings.Contains(a.Text, "--tags") {
		return false
	}
	var names []string
	for _, w := range words[2:] {
		if !strings.HasPrefix(w, "-") {
			names = append(names, w)
		}
	}
	usual := len(names) == 0 || names[0] == "origin"
	switch words[1] {
	case "push":
		return usual
	case "fetch": // it shows names of branches that nobody asked for
		return usual && len(names) > 1 && !strings.Contains(a.Text, ":") && !strings.Contains(a.Text, "--all")
	case "pull":
		return usual && len(names) > 1
	}
	return false
}

// around is the workspace that the working directory is in; empty for none.
func (m *Machine) around() string {
	if m.Places == nil {
		return ""
	}
	return m.Places.Root(m.Dir)
}

// mixes reports whether a command that runs code, or reads a repository, may come
// upon files that strangers had a part in: in its workspace, or in any where its
// words lead out of that.
func (m *Machine) mixes(command string) bool {
	if !m.touched("") {
		return false
	}
	root := m.around()
	if root == "" || m.touched(root) || strings.ContainsAny(command, "~$`\\*") || strings.Contains(strings.ReplaceAll(command, "/...", ""), "..") {
		return true
	}
	for word := range strings.FieldsFuncSeq(command, separates) {
		if full := path.Clean(word); path.IsAbs(word) && full != root && !strings.HasPrefix(full, root+"/") && m.Places.Zone(full) != workspace.System {
			return true
		}
	}
	return false
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
		if name == "" || len(name) > 1024 || strings.ContainsAny(name, "\t\"'`(){}<>|;&$*?") {
			continue
		}
		full, ok := m.Places.Resolve(m.Dir, name)
		if ok && (m.tainted(full) || strings.Contains(name, "/") && !strings.Contains(name, " ") && m.Places.Zone(full) == workspace.Foreign) {
			return true
		}
	}
	return false
}
