package act

import (
	"path"
	"slices"
	"strings"

	"github.com/margaydev/margay/taint/document"
	"github.com/margaydev/margay/taint/effect"
	"github.com/margaydev/margay/taint/shell"
	"github.com/margaydev/margay/taint/workspace"
)

// Scratch is what a call does to scratch files, such as those in /tmp, whose writers
// are not known otherwise.
type Scratch struct {
	// Whole are files of which the call writes all, from what the workspace holds
	// alone; Built those of them that are programs, built from its sources.
	Whole, Built []string
	// Lost are files of which nobody knows any more who wrote them; All: of any.
	Lost []string
	All  bool
}

// mine reports whether all of a scratch file is known to be written by calls in which
// only the workspace had a part.
func (m *Machine) mine(full string) bool {
	return m.Mine != nil && m.Mine(full) && !m.tainted(full)
}

// built reports whether a scratch file is a program that such a call built.
func (m *Machine) built(full string) bool { return m.Built != nil && m.Built(full) && m.mine(full) }

// overwrites matches redirections that write all of a file.
var overwrites = late(`^(?:>|>\||&>) [^>]`)

// copied and teed match commands that write all of a file.
var (
	copied = late(`^cp [^-\s]\S* [^-\s]\S*$`)
	teed   = late(`^tee [^-\s]\S*$`)
)

// output matches the builds of a program whose file is named.
var output = late(`^(?:go build(?: (?:-v|-race|-trimpath))*|(?:gcc|cc|clang|g\+\+|clang\+\+)(?: (?:-O[0-3s]?|-g|-Wall|-Wextra))*) -o (/[A-Za-z0-9_./-]+)(?: \./[A-Za-z0-9_./-]*| [A-Za-z0-9_][A-Za-z0-9_/-]*\.(?:c|cc|cpp))*$`)

// outputs is the scratch file that an act builds a program into.
func (m *Machine) outputs(a *Act) (full string, ok bool) {
	if a.Effect != effect.Run || a.Tainted || !a.whole() || climbs(a.Text) || m.Places == nil {
		return "", false
	}
	found := output().FindStringSubmatch(a.Text)
	if found == nil {
		return "", false
	}
	full, ok = m.Places.Resolve(m.Dir, found[1])
	return full, ok && m.Places.Zone(full) == workspace.Scratch && m.sources(a.Text, found[1])
}

// afterBuild is the analysis of a command that starts with a build of a program, and
// runs what follows only if that succeeds: go build -o /tmp/x ./x && /tmp/x.
func (m *Machine) afterBuild(command string, c shell.Command, on *shell.Machine) shell.Command {
	if len(c.Parts) == 0 || c.Parts[0].Words == nil || !strings.HasPrefix(command, c.Parts[0].Text+" && ") || m.Dirty || m.mixes(command) {
		return c
	}
	full, ok := m.outputs(&Act{Effect: c.Parts[0].Effect, Text: c.Parts[0].Text})
	if !ok || runsAnyway(command, path.Base(full)) {
		return c
	}
	built := *on
	built.Built = func(p string) bool { return p == full || m.built(p) }
	again := shell.Analyse(command, &built)
	for _, p := range again.Parts[1:] {
		if p.Anywhere || slices.Contains(spreading, p.Program) || slices.ContainsFunc(p.Writes, func(w string) bool { return w == full || strings.HasPrefix(full, w+"/") }) {
			return c
		}
	}
	return again
}

// unless matches what ends a list of commands of which each runs only if those before
// it succeed.
var unless = late(`;|\n|\|\||(?:^|[^&>])&(?:[^&>]|$)`)

// runsAnyway reports whether a command may run a program also where its first part, the
// build of that program, fails: what lies there then may be anybody's.
func runsAnyway(command, name string) bool {
	at := unless().FindStringIndex(command)
	if at == nil {
		return false
	}
	rest := strings.NewReplacer("$?", "", `"`, "", "'", "", `\`, "").Replace(command[at[0]:])
	return strings.Contains(rest, name) || strings.ContainsAny(rest, "$*?[{~`")
}

// sources reports whether all that a build names, but for its output, is the
// workspace's own.
func (m *Machine) sources(text, output string) bool {
	for _, w := range strings.Fields(text)[1:] {
		if z, _ := m.zone(w); w != output && !strings.HasPrefix(w, "-") && z != workspace.Own {
			return false
		}
	}
	return true
}

// Join adds what another part of a call does.
func (s *Scratch) Join(o Scratch) {
	s.Whole, s.Built, s.Lost, s.All = append(s.Whole, o.Whole...), append(s.Built, o.Built...), append(s.Lost, o.Lost...), s.All || o.All
}

// Scratch is what a call does to scratch files. strangers: they had a part in it.
func (m *Machine) Scratch(s *Spec, args *document.Tree, strangers bool) (out Scratch) {
	if m.Places == nil {
		return Scratch{All: true}
	}
	acts := s.Acts(m, args)
	strangers = strangers || slices.ContainsFunc(acts, foreign)
	for i := range acts {
		a := &acts[i]
		if strangers || a.Program == "ln" {
			out.Lost = append(out.Lost, a.Writes...)
			out.All = out.All || a.Anywhere && a.Effect != effect.Observe
			continue
		}
		if full, ok := m.outputs(a); ok {
			out.Built = append(out.Built, full)
		}
		whole := len(s.Edits) > 0 && slices.ContainsFunc(args.Top(), func(n string) bool { return n == "content" || n == "contents" }) || a.Program == "" && overwrites().MatchString(a.Text) ||
			a.Program == "cp" && copied().MatchString(a.Text) || a.Program == "tee" && teed().MatchString(a.Text)
		if a.Effect == effect.Edit && whole && a.whole() && !strings.HasPrefix(strings.Join(a.Writes, " "), shell.Fresh) && len(a.Writes) == 1 && m.Places.Zone(a.Writes[0]) == workspace.Scratch {
			out.Whole = append(out.Whole, a.Writes[0])
		}
	}
	out.Whole = append(out.Whole, out.Built...)
	return out
}
