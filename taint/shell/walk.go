package shell

import (
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"

	"github.com/margaydev/margay/taint/effect"
	"github.com/margaydev/margay/taint/shell/printed"
	"github.com/margaydev/margay/taint/shell/table"
)

// Analyse says what a command does. It reads no file and runs nothing. Its work is
// bounded by MaxBytes and MaxParts.
func Analyse(command string, m *Machine) Command {
	a := &analysis{m: m, dirs: []string{m.Dir}, vars: map[string][]word{}, funcs: map[string]bool{}, named: map[string]bool{}, texts: map[string]string{}}
	a.source(command, 0)
	return a.done()
}

// AnalyseArgs says what a program does that is started with arguments, without a
// shell.
func AnalyseArgs(args []string, m *Machine) Command {
	a := &analysis{m: m, dirs: []string{m.Dir}, vars: map[string][]word{}, funcs: map[string]bool{}, named: map[string]bool{}, texts: map[string]string{}}
	words := make([]word, len(args))
	for i, s := range args {
		words[i] = word{text: s}
		if strings.ContainsFunc(s, table.Invisible) {
			a.hide(s, "it has characters that nobody sees")
		}
	}
	if len(words) > 0 {
		a.call(words, input{})
	}
	return a.done()
}

// analysis is a walk over a command. Its parts grow.
type analysis struct {
	m     *Machine
	dirs  []string          // the folders that the shell may be in: a cd may fail
	vars  map[string][]word // values of variables that are known; nil for others
	funcs map[string]bool   // functions of the command's own
	named map[string]bool   // names of all functions, also of those that stand for programs
	parts []Part
	depth int
	over  bool // there were more parts than MaxParts
	// altered: a variable, a function or a trap may change what the parts do.
	altered bool
	// with are the variables that are set for the program that is analysed alone.
	with []string
	// texts are those of files that the command writes, as far as they are known.
	texts map[string]string
	// unsure counts the constructs around, of which the commands may not run.
	unsure int
}

// maxDepth bounds commands within commands.
const maxDepth = 16

func (a *analysis) done() Command {
	if a.over {
		return Command{Parts: []Part{{Text: "a long command", Effect: effect.Reach, Hidden: true, Foreign: true, Anywhere: true, Why: "it has too many parts"}}}
	}
	for i := 0; a.altered && i < len(a.parts); i++ {
		a.parts[i].Words, a.parts[i].In = nil, ""
	}
	return Command{Parts: a.parts}
}

// add adds a part. The same one is not added twice.
func (a *analysis) add(p Part) {
	if len(p.Text) > MaxText {
		p.Text = strings.ToValidUTF8(p.Text[:MaxText], "") + "…"
	}
	if len(a.dirs) == 1 {
		p.In = a.dirs[0]
	}
	if p.Words != nil {
		p.Words = slices.Concat(a.with, p.Words)
	}
	for i := range a.parts {
		q := &a.parts[i]
		if q.Text == p.Text && q.Effect == p.Effect && q.To == p.To && q.Why == p.Why && slices.Equal(q.Writes, p.Writes) {
			q.Foreign, q.Anywhere = q.Foreign || p.Foreign, q.Anywhere || p.Anywhere
			q.Unknown, q.Hidden, q.Plain, q.Private = q.Unknown || p.Unknown, q.Hidden || p.Hidden, q.Plain && p.Plain, q.Private || p.Private
			if q.In != p.In || !slices.Equal(q.Words, p.Words) {
				q.In, q.Words = "", nil
			}
			return
		}
	}
	if len(a.parts) == MaxParts {
		a.over = true
		return
	}
	a.parts = append(a.parts, p)
}

// hide adds a part of which nobody can tell what it runs.
func (a *analysis) hide(text, why string) {
	a.add(Part{Text: text, Effect: effect.Reach, Hidden: true, Foreign: true, Anywhere: true, Why: why})
}

// moving are programs of shells that change the folder.
var moving = []string{"cd", "pushd", "popd"}

// source analyses the text of a shell.
func (a *analysis) source(text string, depth int) {
	switch {
	case depth > maxDepth || len(text) > MaxBytes || strings.Count(text, "(") > 1024:
		a.hide(text, "it is too large")
		return
	case !utf8.ValidString(text) || strings.ContainsFunc(text, table.Invisible):
		a.hide(text, "it has characters that nobody sees")
		return
	}
	f, err := syntax.NewParser(syntax.Variant(syntax.LangBash), syntax.KeepComments(true)).Parse(strings.NewReader(text), "")
	if err != nil {
		a.hide(text, "it can't be parsed")
		if strings.Contains(strings.ToLower(text), "margay") { // another shell may read it
			a.add(Part{Text: text, Effect: effect.Administer, Foreign: true, Why: "it can't be parsed, and names Margay"})
		}
		return
	}
	outer := a.depth
	a.depth = depth
	// A function that is surely there is none of the machine's programs.
	for _, s := range f.Stmts {
		if d, ok := s.Cmd.(*syntax.FuncDecl); ok && d.Name != nil && !s.Background && table.Lookup(d.Name.Value) == nil && special[d.Name.Value] == nil {
			a.funcs[d.Name.Value] = true
		}
	}
	moves, later := false, false
	syntax.Walk(f, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.ArithmCmd, *syntax.LetClause, *syntax.ArithmExp, *syntax.CStyleLoop, *syntax.CoprocClause:
			a.altered, later = true, true
		case *syntax.Redirect: // {NAME}> sets a variable
			a.altered = a.altered || n.N != nil && strings.HasPrefix(n.N.Value, "{")
		case *syntax.WhileClause, *syntax.ForClause:
			later = true
		case *syntax.BinaryCmd:
			if c, ok := n.Y.Cmd.(*syntax.CallExpr); ok && (n.Op == syntax.Pipe || n.Op == syntax.PipeAll) { // some shells run a pipe's end themselves
				later = later || len(c.Args) > 0 && slices.Contains(moving, c.Args[0].Lit())
			}
		case *syntax.CallExpr:
			if len(n.Args) > 0 {
				trap := n.Args[0].Lit() == "trap"
				moves = moves || slices.Contains(moving, n.Args[0].Lit()) || trap && strings.Contains(text, "cd")
				later = later || trap
			}
		case *syntax.FuncDecl:
			a.altered, later = true, true
			if n.Name != nil {
				a.named[n.Name.Value] = true
			}
		case *syntax.Comment:
			// To a shell the line ends there all the same.
			if strings.Contains(n.Text, "\\\n") || strings.HasSuffix(n.Text, "\\") {
				a.hide(text, "a comment hides what is on the next line")
			}
		}
		return true
	})
	if moves && later { // a part may run where a later one leads it
		a.altered, a.dirs = true, append(slices.Clip(a.dirs), "")
	}
	a.stmts(f.Stmts)
	a.depth = outer
}

func (a *analysis) stmts(all []*syntax.Stmt) {
	for _, s := range all {
		a.stmt(s, false)
	}
}

// within analyses what runs in a shell of its own: it changes no folder and no
// variable for what comes after it.
func (a *analysis) within(do func()) {
	dirs, vars := slices.Clone(a.dirs), maps.Clone(a.vars)
	do()
	a.dirs, a.vars = dirs, vars
}

// maybe analyses what may change the folder, or may not run.
func (a *analysis) maybe(do func()) {
	dirs := slices.Clone(a.dirs)
	a.unsure++
	do()
	a.unsure--
	a.may(dirs...)
}

// may adds folders that the shell may be in.
func (a *analysis) may(dirs ...string) {
	for _, d := range dirs {
		if !slices.Contains(a.dirs, d) {
			a.dirs = append(a.dirs, d)
		}
	}
	if len(a.dirs) > 4 {
		a.dirs = []string{""} // not known
	}
}

// stmt analyses a statement. piped: it reads what another one writes.
func (a *analysis) stmt(s *syntax.Stmt, piped bool) {
	if s == nil {
		return
	}
	in := input{piped: piped}
	for _, r := range s.Redirs {
		a.redirect(r, &in)
		if r.Op == syntax.RdrOut && printed.Nothing(s.Cmd) {
			for _, w := range a.expand(r.Word) {
				a.removes(redirectText(r.Op, w), "", w)
			}
		}
	}
	if c, ok := s.Cmd.(*syntax.CallExpr); ok && len(c.Args) > 0 {
		a.prints(c, in, s.Redirs)
	}
	if s.Background || s.Coprocess {
		a.within(func() { a.command(s.Cmd, in) })
		return
	}
	a.command(s.Cmd, in)
}

// prints notes what a command prints to a file, beside what others may have: which
// ones run, and in which order, is not told apart.
func (a *analysis) prints(c *syntax.CallExpr, in input, to []*syntax.Redirect) {
	text, ok := printed.Text(c.Args[0].Lit(), certain(a.words(c.Args[1:])), in.text, in.here)
	for k := 0; ok && k < len(to); k++ {
		for _, w := range a.expand(to[k].Word) {
			full := worst(a.find(w)).full
			if old, ok := a.texts[full]; ok { // its first line is no longer sure
				a.texts[full] = "\n" + old + "\n" + text
			} else {
				a.texts[full] = text
			}
		}
	}
}

// runs analyses what a file holds that the command itself wrote, if a shell runs it,
// once: such files may run one another.
func (a *analysis) runs(full string) {
	text, ok := a.texts[full]
	if delete(a.texts, full); ok && (!strings.HasPrefix(text, "#!") || strings.HasSuffix(strings.Fields(text + " .")[0], "sh")) {
		a.within(func() { a.source(text, a.depth+1) })
	}
}

// input is what a program reads.
type input struct {
	piped bool   // what another program writes
	text  string // a here-document or here-string
	here  bool   // there is one; its text is empty if it is not known
	file  string // a file
}

func (a *analysis) command(c syntax.Command, in input) {
	switch c := c.(type) {
	case nil:
	case *syntax.CallExpr:
		a.callExpr(c, in)
	case *syntax.BinaryCmd:
		switch c.Op {
		case syntax.Pipe, syntax.PipeAll:
			a.within(func() { a.stmt(c.X, in.piped) })
			a.within(func() { a.stmt(c.Y, true) })
		case syntax.AndStmt:
			before := slices.Clone(a.dirs)
			a.stmt(c.X, in.piped)
			a.dirs = a.success(c.X, before)
			a.unsure++
			a.stmt(c.Y, in.piped)
			a.unsure--
			a.may(before...)
		default:
			a.stmt(c.X, in.piped)
			a.maybe(func() { a.stmt(c.Y, in.piped) })
		}
	case *syntax.Subshell:
		a.within(func() { a.stmts(c.Stmts) })
	case *syntax.Block:
		for _, s := range c.Stmts {
			a.stmt(s, in.piped)
		}
	case *syntax.IfClause:
		for i := c; i != nil; i = i.Else {
			a.stmts(i.Cond)
			a.maybe(func() { a.stmts(i.Then) })
		}
	case *syntax.WhileClause:
		a.stmts(c.Cond)
		a.maybe(func() {
			for _, s := range c.Do {
				a.stmt(s, in.piped)
			}
		})
	case *syntax.ForClause:
		a.loop(c)
	case *syntax.CaseClause:
		a.inside(c.Word)
		for _, i := range c.Items {
			for _, p := range i.Patterns {
				a.inside(p)
			}
			a.maybe(func() { a.stmts(i.Stmts) })
		}
	case *syntax.FuncDecl:
		a.maybe(func() { a.stmt(c.Body, true) })
	case *syntax.DeclClause:
		a.declare(c)
	case *syntax.TimeClause:
		a.stmt(c.Stmt, in.piped)
	case *syntax.CoprocClause:
		a.within(func() { a.stmt(c.Stmt, in.piped) })
	default: // tests, arithmetic: what runs in them is in substitutions
		a.inside(c)
	}
	if c != nil && len(a.parts) == 0 {
		a.add(Part{Effect: effect.Observe, Why: "it runs nothing"})
	}
}

func (a *analysis) loop(c *syntax.ForClause) {
	switch it := c.Loop.(type) {
	case *syntax.WordIter:
		var values []word
		for _, w := range it.Items {
			a.inside(w)
			values = append(values, a.expand(w)...)
		}
		if it.Name != nil {
			unsure := a.unsure
			a.unsure = 0 // in the loop it is set
			a.set(it.Name.Value, values)
			a.unsure = unsure
		}
	default:
		a.inside(it)
	}
	a.maybe(func() { a.stmts(c.Do) })
}

// inside analyses the commands in a word or an expression.
func (a *analysis) inside(n syntax.Node) {
	if n == nil {
		return
	}
	syntax.Walk(n, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CmdSubst:
			a.within(func() { a.stmts(n.Stmts) })
			return false
		case *syntax.ProcSubst:
			a.within(func() { a.stmts(n.Stmts) })
			return false
		case *syntax.Subshell:
			a.within(func() { a.stmts(n.Stmts) })
			return false
		case *syntax.SglQuoted:
			a.index(n.Value)
		}
		return true
	})
}

// index hides a text that is an index of an array and holds a command: to read it
// as a number or a name runs the command.
func (a *analysis) index(s string) {
	if strings.Contains(s, "[$(") || strings.Contains(s, "[`") || strings.Contains(s, "[${") {
		a.hide(s, "an index that holds a command is run where it is read")
	}
}

// success are the folders in which a shell goes on that was in some, if a statement
// succeeds.
func (a *analysis) success(s *syntax.Stmt, from []string) []string {
	if s.Background {
		return from
	}
	switch c := s.Cmd.(type) {
	case *syntax.CallExpr:
		words := a.words(c.Args)
		switch {
		case len(words) == 0 || words[0].dynamic:
		case words[0].text == "cd":
			return a.moved(words[1:], from)
		case !slices.Contains(movers, words[0].text) && !a.funcs[words[0].text]:
			return from
		}
	case *syntax.BinaryCmd:
		if c.Op == syntax.AndStmt {
			return a.success(c.Y, a.success(c.X, from))
		}
		if c.Op == syntax.Pipe || c.Op == syntax.PipeAll {
			return from
		}
	case *syntax.Subshell, *syntax.TestClause, *syntax.ArithmCmd, *syntax.DeclClause:
		return from
	}
	out := slices.Clone(from)
	for _, d := range a.dirs {
		if !slices.Contains(out, d) {
			out = append(out, d)
		}
	}
	return out
}

// movers are programs of the shell that may change its folder.
var movers = []string{"cd", "pushd", "popd", "eval", "source", ".", "builtin", "command", "trap"}

// moved are the folders to which cd leads from some, if it succeeds.
func (a *analysis) moved(to []word, from []string) []string {
	for len(to) > 0 && (to[0].text == "--" || to[0].text == "-P" || to[0].text == "-L") && !to[0].dynamic {
		to = to[1:]
	}
	_, cdpath := a.vars["CDPATH"]
	switch {
	case len(to) == 0:
		return []string{a.m.Home}
	case len(to) > 1 || to[0].dynamic || to[0].glob || to[0].text == "-" || cdpath:
		return []string{""}
	}
	var out []string
	for _, d := range from {
		full, _ := a.resolveIn(d, to[0].text)
		if !slices.Contains(out, full) {
			out = append(out, full)
		}
	}
	return out
}

// declare analyses export, declare, local and readonly.
func (a *analysis) declare(c *syntax.DeclClause) {
	for _, as := range c.Args {
		if as.Naked && as.Value != nil { // a quoted assignment, or a flag
			a.inside(as.Value)
			for _, w := range a.expand(as.Value) {
				switch name, value, ok := strings.Cut(w.text, "="); {
				case ok && !strings.HasPrefix(w.text, "$"):
					a.set(name, []word{{text: value, dynamic: w.dynamic, glob: w.glob}})
				case strings.HasPrefix(w.text, "-") && strings.Contains(w.text, "n"):
					a.hide(c.Variant.Value+" "+w.text, "a name stands for another variable")
				case w.dynamic:
					a.hide(c.Variant.Value+" "+w.text, "a variable names the variables that it sets")
				}
			}
			continue
		}
		a.assign(as)
	}
	a.add(Part{Text: c.Variant.Value, Program: c.Variant.Value, Effect: effect.Observe, Why: "it sets variables of the shell"})
}

// assign analyses an assignment. Some variables name programs.
func (a *analysis) assign(as *syntax.Assign) {
	if as.Name == nil {
		return
	}
	a.inside(as)
	name := as.Name.Value
	var values []word
	if as.Value != nil {
		values = a.expand(as.Value)
	} else if as.Array == nil && as.Index == nil {
		values = []word{{}}
	}
	if as.Append || as.Array != nil || as.Index != nil {
		values = nil
	}
	a.set(name, values)
}

// set notes a variable's values, besides those that it had: which ones count is not
// told apart. What may not be set at all is not known.
func (a *analysis) set(name string, values []word) {
	a.altered = true
	a.steers(name, values)
	old, had := a.vars[name]
	switch {
	case a.unsure > 0, len(values) == 0 || len(values) > 64 || had && old == nil || slices.ContainsFunc(values, func(w word) bool { return w.dynamic }):
		a.vars[name] = nil
	case had:
		a.vars[name] = append(old, values...)
	default:
		a.vars[name] = values
	}
}

// redirect analyses a redirection.
func (a *analysis) redirect(r *syntax.Redirect, in *input) {
	if r.Hdoc != nil {
		a.inside(r.Hdoc)
		in.here, in.text = true, ""
		if w := a.expand(r.Hdoc); len(w) == 1 && !w[0].dynamic && (r.N == nil || r.N.Value == "0") {
			in.text = w[0].text
		}
		return
	}
	if r.Word == nil {
		return
	}
	a.inside(r.Word)
	words := a.expand(r.Word)
	for _, w := range words {
		text := redirectText(r.Op, w)
		switch r.Op {
		case syntax.WordHdoc:
			in.here, in.text = true, ""
			if !w.dynamic && (r.N == nil || r.N.Value == "0") {
				in.text = w.text
			}
		case syntax.DplIn, syntax.DplOut:
			in.piped = in.piped || r.Op == syntax.DplIn && w.text != "-"
			if w.dynamic || strings.Trim(w.text, "0123456789-") != "" {
				a.writes(text, "", w)
			}
		case syntax.RdrIn:
			if strings.Contains(w.text, "/dev/tcp") || strings.Contains(w.text, "/dev/udp") {
				a.writes(text, "", w)
				continue
			}
			a.reads(text, "", w)
			in.file = w.text
			in.piped = in.piped || w.dynamic
		default:
			if r.Op == syntax.RdrInOut {
				in.file = w.text
			}
			a.writes(text, "", w)
		}
	}
}

func redirectText(op syntax.RedirOperator, w word) string { return op.String() + " " + w.text }
