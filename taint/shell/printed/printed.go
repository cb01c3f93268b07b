// Package printed says what commands of a shell print, as far as their text alone
// says.
package printed

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Document is what $(cat <<'E' …) prints, where nothing in it is expanded. It reports
// false for any other substitution.
func Document(p *syntax.CmdSubst) (string, bool) {
	if len(p.Stmts) != 1 || len(p.Stmts[0].Redirs) != 1 || p.Stmts[0].Background || p.Stmts[0].Coprocess {
		return "", false
	}
	if r := p.Stmts[0].Redirs[0]; r.Op != syntax.Hdoc || r.N != nil || r.Hdoc == nil { // <<- strips tabs
		return "", false
	}
	c, ok := p.Stmts[0].Cmd.(*syntax.CallExpr)
	text := p.Stmts[0].Redirs[0].Hdoc.Lit()
	return strings.TrimRight(text, "\n"), ok && len(c.Args) == 1 && len(c.Assigns) == 0 && c.Args[0].Lit() == "cat" && text != ""
}

// Nothing reports whether a command surely prints nothing, so that a redirection of
// its output empties the file.
func Nothing(c syntax.Command) bool {
	call, ok := c.(*syntax.CallExpr)
	return c == nil || ok && (len(call.Args) == 0 || len(call.Args) == 1 && (call.Args[0].Lit() == ":" || call.Args[0].Lit() == "true"))
}

// Text is what echo or printf prints of its words, or cat of the text that it reads;
// here: there is such a text. The words are taken as they stand, so that flags and
// formats are part of it. It reports false for any other program.
func Text(program string, words []string, read string, here bool) (string, bool) {
	switch {
	case program == "cat" && len(words) == 0:
		return read, here
	case program == "echo" || program == "printf":
		return strings.ReplaceAll(strings.Join(words, " "), `\n`, "\n"), true
	}
	return "", false
}
