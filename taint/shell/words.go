package shell

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/margaydev/margay/taint/shell/printed"
	"github.com/margaydev/margay/taint/workspace"
)

// word is a word of a command as its program gets it.
type word struct {
	text    string
	dynamic bool // text is not, or not all, that the program gets
	glob    bool // it is a pattern, for names of files
	split   bool // the program may get several words, or none
}

// words expands the words of a command.
func (a *analysis) words(all []*syntax.Word) []word {
	var out []word
	for _, w := range all {
		out = append(out, a.expand(w)...)
	}
	return out
}

// expand makes the words that one becomes. A variable with several values makes a
// word for each.
func (a *analysis) expand(w *syntax.Word) []word {
	if w == nil {
		return nil
	}
	// One variable alone: its values, split as a shell splits them.
	if len(w.Parts) == 1 {
		if p, ok := w.Parts[0].(*syntax.ParamExp); ok {
			out := slices.Clone(a.variable(p, false))
			for i := range out {
				out[i].split = out[i].dynamic || out[i].glob
			}
			return out
		}
		if q, ok := w.Parts[0].(*syntax.DblQuoted); ok && len(q.Parts) == 1 && !q.Dollar {
			if p, ok := q.Parts[0].(*syntax.ParamExp); ok {
				return a.variable(p, true)
			}
		}
	}
	var b builder
	for i, p := range w.Parts {
		a.part(&b, p, false, i == 0)
	}
	a.index(b.String())
	return []word{b.word()}
}

type builder struct {
	strings.Builder
	dynamic, glob, brace, split bool
}

func (b *builder) word() word {
	return word{b.String(), b.dynamic || b.brace, b.glob, b.split || b.brace || b.glob}
}

// unknown notes that a part of the word is not known.
func (b *builder) unknown(quoted bool) { b.dynamic, b.split = true, b.split || !quoted }

// part adds a part of a word.
func (a *analysis) part(b *builder, p syntax.WordPart, quoted, first bool) {
	switch p := p.(type) {
	case *syntax.Lit:
		a.literal(b, p.Value, quoted, first)
	case *syntax.SglQuoted:
		b.WriteString(p.Value)
		if p.Dollar && strings.Contains(p.Value, `\`) {
			b.dynamic = true // $'\x63' is a letter that is not seen
		}
	case *syntax.DblQuoted:
		b.dynamic = b.dynamic || p.Dollar
		for _, q := range p.Parts {
			a.part(b, q, true, false)
		}
	case *syntax.ParamExp:
		values := a.variable(p, true)
		if len(values) != 1 || values[0].dynamic || !quoted && strings.ContainsAny(values[0].text, " \t\n*?[") {
			b.unknown(quoted)
		}
		if len(values) > 0 {
			b.WriteString(values[0].text)
		}
	case *syntax.CmdSubst:
		if text, ok := printed.Document(p); ok && quoted && !a.named["cat"] {
			b.WriteString(text)
			return
		}
		if dir, ok := a.here(p); ok {
			b.WriteString(dir)
			return
		}
		b.unknown(quoted)
	case *syntax.ExtGlob:
		a.hide(p.Op.String()+p.Pattern.Value+")", "zsh may run what stands in such a pattern")
		b.unknown(false)
	default:
		b.unknown(quoted)
	}
}

// Fresh stands for what mktemp makes, which nobody has written to before.
const Fresh = "/tmp/mktemp.fresh"

// here is the path that a substitution is known to print, or one that stands for it.
func (a *analysis) here(p *syntax.CmdSubst) (string, bool) {
	if len(p.Stmts) != 1 || len(p.Stmts[0].Redirs) > 0 {
		return "", false
	}
	c, ok := p.Stmts[0].Cmd.(*syntax.CallExpr)
	if !ok || len(c.Args) == 0 || len(c.Assigns) > 0 || a.named[c.Args[0].Lit()] {
		return "", false
	}
	if _, moved := a.vars["TMPDIR"]; c.Args[0].Lit() == "mktemp" && !moved && a.unsure == 0 {
		return Fresh, !slices.ContainsFunc(c.Args[1:], func(w *syntax.Word) bool {
			return w.Lit() != "-d" && (!strings.HasPrefix(w.Lit(), "/tmp/") || strings.Contains(w.Lit(), ".."))
		})
	}
	if len(a.dirs) != 1 || a.dirs[0] == "" || len(c.Args) > 1 {
		return "", false
	}
	return a.dirs[0], c.Args[0].Lit() == "pwd"
}

// literal adds a text without its backslashes.
func (a *analysis) literal(b *builder, s string, quoted, first bool) {
	if !quoted {
		if first && strings.HasPrefix(s, "~") && (s == "~" || s[1] == '/') && a.m.Home != "" {
			b.WriteString(a.m.Home)
			s = s[1:]
		}
		b.dynamic = b.dynamic || first && len(s) > 1 && s[0] == '~' && s[1] != '/' // another user's folder
		if strings.Contains(s, "{") && (strings.Contains(s, ",") || strings.Contains(s, "..")) {
			b.brace = true
		}
	}
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\' && i+1 < len(s):
			i++
			switch {
			case s[i] == '\n':
			case quoted && !strings.ContainsRune("$`\"\\", rune(s[i])):
				b.WriteByte('\\')
				b.WriteByte(s[i])
			default:
				b.WriteByte(s[i])
			}
		case !quoted && strings.IndexByte("*?[", c) >= 0:
			b.glob = true
			b.WriteByte(c)
		default:
			b.WriteByte(c)
		}
	}
}

// variable are the values of a variable.
func (a *analysis) variable(p *syntax.ParamExp, quoted bool) []word {
	unknown := []word{{text: "$" + nameOf(p), dynamic: true}}
	if p.Exp != nil && (p.Exp.Op == syntax.AssignUnset || p.Exp.Op == syntax.AssignUnsetOrNull) {
		a.set(nameOf(p), nil)
	}
	if p.Exp != nil && p.Exp.Op == syntax.OtherParamOps {
		a.hide("${"+nameOf(p)+"@…}", "an expansion may run what the variable holds")
	}
	if p.Param == nil || p.Excl || p.Length || p.Width || p.Index != nil || p.Slice != nil || p.Repl != nil || p.Names != 0 || p.Exp != nil {
		return unknown
	}
	values, known := a.vars[p.Param.Value]
	if !known {
		switch name := p.Param.Value; {
		case name == "HOME" && a.m.Home != "":
			values = []word{{text: a.m.Home}}
		case name == "PWD" && len(a.dirs) == 1 && a.dirs[0] != "":
			values = []word{{text: a.dirs[0]}}
		case name == "TMPDIR":
			values = []word{{text: "/tmp"}}
		case name == "?" || name == "#" || name == "$" || name == "!":
			values = []word{{text: "0"}}
		}
	}
	if len(values) == 0 {
		return unknown
	}
	if quoted {
		return values
	}
	if _, changed := a.vars["IFS"]; changed {
		return unknown
	}
	var out []word
	for _, v := range values {
		for _, f := range strings.Fields(v.text) {
			out = append(out, word{text: f, dynamic: v.dynamic, glob: v.glob || strings.ContainsAny(f, "*?["), split: v.split})
		}
	}
	if len(out) == 0 {
		out = []word{{}}
	}
	return out
}

func nameOf(p *syntax.ParamExp) string {
	if p.Param == nil {
		return "?"
	}
	return p.Param.Value
}

// resolveIn makes a path absolute and clean; empty where it can't be told.
func (a *analysis) resolveIn(dir, p string) (string, bool) {
	switch {
	case p == "":
		return "", false
	case path.IsAbs(p):
		return path.Clean(p), true
	case path.IsAbs(dir):
		return path.Join(dir, p), true
	}
	return "", false
}

// place is a path that a part is about, at its worst.
type place struct {
	zone workspace.Zone
	full string // empty where it is not known
	some bool   // several files of a folder
}

// rank orders zones by how much there is to lose by writing to them.
var rank = []workspace.Zone{workspace.Scratch, workspace.Own, workspace.Foreign, workspace.System, workspace.Outside, workspace.Steering, workspace.Mediator}

// find says where a word leads, from all folders that the shell may be in.
func (a *analysis) find(w word) []place {
	if w.dynamic {
		return []place{{zone: workspace.Outside}}
	}
	text := w.text
	if w.glob {
		i := strings.IndexAny(text, "*?[")
		// A pattern may lead anywhere below the folder before it.
		text = text[:strings.LastIndexByte(text[:i], '/')+1]
		if rest := w.text[i:]; strings.Contains(rest, "/..") || strings.Contains(rest, "../") {
			return []place{{zone: workspace.Outside}}
		}
		if text == "" {
			text = "."
		}
	}
	var out []place
	for _, d := range a.dirs {
		full, ok := a.resolveIn(d, text)
		at := place{zone: workspace.Outside}
		if ok {
			at = place{a.m.zone(full), full, w.glob}
		} else if strings.Contains(text, "margay") { // from wherever it is, it may be what Margay keeps
			at.zone = workspace.Mediator
		}
		if !slices.Contains(out, at) {
			out = append(out, at)
		}
	}
	return out
}

func (m *Machine) zone(full string) workspace.Zone {
	if m.Zone == nil {
		return workspace.Outside
	}
	return m.Zone(full)
}

// worst is the place among several where there is the most to lose.
func worst(all []place) place {
	return slices.MaxFunc(all, func(a, b place) int { return slices.Index(rank, a.zone) - slices.Index(rank, b.zone) })
}
