package act

import (
	"regexp"
	"slices"
	"strings"

	"github.com/margaydev/margay/taint/effect"
	"github.com/margaydev/margay/taint/shell"
	"github.com/margaydev/margay/taint/workspace"
)

// whole reports whether an act's Text is all of its command.
func (a *Act) whole() bool { return len(a.Text) < shell.MaxText && len(strings.Fields(a.Text)) <= 40 }

// gitWords are a git command's subcommand and what follows, without git's own flags.
func (a *Act) gitWords() []string {
	words := strings.Fields(a.Text)
	for len(words) > 1 && strings.HasPrefix(words[1], "-") {
		n := 1
		if words[1] == "-C" || words[1] == "-c" {
			n = min(2, len(words)-1)
		}
		words = slices.Delete(words, 1, 1+n)
	}
	return words
}

// doubt is a form of a program's that may do more than the analysis of commands says of
// it. The part then counts as one that nobody can tell.
type doubt struct {
	programs []string // any of these, or all for none
	form     *regexp.Regexp
	why      string
}

var doubts = []doubt{
	{[]string{"awk", "gawk", "mawk", "nawk"}, regexp.MustCompile(`[#\n\\]`), "a comment or a line of the program may hide what it does"},
	{[]string{"awk", "gawk", "mawk", "nawk"}, regexp.MustCompile(`(?:^| )-[A-Za-z]+f|ARGV`), "its program or its files are named in a way that is not read"},
	{[]string{"sed"}, regexp.MustCompile(`(?:^| )-[A-Za-z]+[ef](?: |$)`), "its script is named in a way that is not read"},
	{[]string{"sort", "shuf", "uniq"}, regexp.MustCompile(`(?:^| )-[A-Za-z]+o|(?:^| )-[^ o-] -o|--files0-from`), "it may write or read what its flags name"},
	{[]string{"cp", "mv", "ln", "install"}, regexp.MustCompile(`(?:^| )-[A-Za-z]*t(?: |$)|(?:^| )-[A-Za-z]+t|--target`), "its target is named in a way that is not read"},
	{[]string{"bat", "cloc", "ldd", "dc", "dasel", "ugrep", "glow", "gron", "xmllint", "info"}, regexp.MustCompile(``), "its flags may run programs or write files"},
	{[]string{"tree", "file", "nm", "yq", "date", "xargs", "iconv"}, regexp.MustCompile(`(?:^| )-(?:o|C|s|a|f)|--plugin|--output|--from-file|--file|--arg-file|load`), "its flags may name files or programs"},
	{[]string{"go"}, regexp.MustCompile(`^go list .*(?:-m|@)`), "it may ask a server for a module"},
	{[]string{"git"}, regexp.MustCompile(`^git(?: -\S+)* (?:checkout-index|merge-file|bundle|read-tree|init \S|format-patch .*-o|format-patch .*--output)`), "it writes where its arguments say"},
	{[]string{"diff"}, regexp.MustCompile(`--(?:from|to)-f`), "its files are named in a way that is not read"},
}

// doubted returns why a part is not what the analysis says; empty if it is.
func (a *Act) doubted(command string) string {
	for i := range doubts {
		d := &doubts[i]
		if slices.Contains(d.programs, a.Program) && d.form.MatchString(a.Text) {
			return d.why
		}
	}
	if a.Program == "go" && goVariables.MatchString(command) {
		return "a variable changes what go runs or asks"
	}
	return ""
}

// goVariables matches assignments to variables of go's, but for harmless ones.
var goVariables = regexp.MustCompile(`\b(?:GO(?:ENV|FLAGS|PROXY|PRIVATE|NOPROXY|NOSUMDB|NOSUMCHECK|INSECURE|SUMDB|TOOLCHAIN|WORK|CACHEPROG|AUTH|VCS|ROOT|PATH|EXPERIMENT|TOOLDIR|GCCFLAGS)|CC|CXX|CGO_[A-Z_]+|PKG_CONFIG[A-Z_]*)=`)

// othersWords matches forms of git's by which it shows what others may have written,
// though no name of theirs is there.
var othersWords = regexp.MustCompile(`--(?:glob|tags|reflog|all(?:[^o]|$)|remotes|batch|no-index|contents|exclude)|for-each-ref|show-branch|@\{|(?:^| ):/| config .*(?:-f|--file)|ls-remote`)

// symbolic matches the flag by which ln makes a link that others follow.
var symbolic = regexp.MustCompile(` (?:-[A-Za-z]*s|--s)`)

// stricter holds a part of a command to what its words may mean besides.
func (m *Machine) stricter(a *Act, command string) (more []Act) {
	words := strings.Fields(a.Text)
	if why := a.doubted(command); why != "" && a.Effect != effect.Administer {
		*a = Act{Effect: effect.Reach, Text: a.Text, Why: why, Program: a.Program, Unknown: true, Foreign: true, Anywhere: true, Writes: a.Writes, Tainted: a.Tainted}
		return nil
	}
	switch {
	case a.Program == "git":
		a.Foreign = a.Foreign || othersWords.MatchString(a.Text)
		if g := a.gitWords(); len(g) > 2 && g[1] == "mv" {
			more = m.targets(g[2:], a)
		}
	case a.Program == "ln" && a.Effect == effect.Edit && symbolic.MatchString(a.Text):
		a.Effect, a.Why = effect.Persist, "a link leads what is written through it elsewhere"
	case a.Effect == effect.Edit && len(a.Writes) == 0 && len(words) > 1 && a.Program != "":
		more = m.targets(words[1:], a)
	}
	if slices.Contains(opaque, a.Program) && m.namesOutside(a.Text) {
		a.Foreign = true
	}
	return more
}

// opaque are programs that read files which their own small languages name.
var opaque = []string{"sed", "iconv", "gzip", "zcat", "gunzip", "zstd", "xz", "bzip2", "diff", "xargs", "yq", "date", "awk", "gawk", "mawk", "dd", "sort"}

// namesOutside reports whether a word may lead to a file that is not the workspace's.
func (m *Machine) namesOutside(command string) bool {
	if m.Places == nil {
		return true
	}
	for word := range strings.FieldsFuncSeq(command, separates) {
		full, ok := m.Places.Resolve(m.Dir, word)
		if !ok || !strings.Contains(word, "/") {
			continue
		}
		switch m.Places.Zone(full) {
		case workspace.Own, workspace.Steering, workspace.System:
		default:
			if !m.mine(full) {
				return true
			}
		}
	}
	return false
}

// targets are edits of what words name, where a program may write any of them. What is
// the workspace's own is added to the act's Writes.
func (m *Machine) targets(words []string, a *Act) (more []Act) {
	if m.Places == nil {
		return nil
	}
	for _, w := range words {
		if _, ok := m.Places.Resolve(m.Dir, w); !ok || strings.HasPrefix(w, "-") {
			continue
		}
		e := edit(m, w)
		if e.Text, e.Program = a.Text, a.Program; e.Effect != effect.Edit {
			more = append(more, e)
		} else {
			a.Writes = append(a.Writes, e.Writes...)
		}
	}
	return more
}
