package act

import (
	"path"
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
	form     func() *regexp.Regexp
	why      string
}

var doubts = []doubt{
	{[]string{"awk", "gawk", "mawk", "nawk"}, late(`[#\n\\]`), "a comment or a line of the program may hide what it does"},
	{[]string{"awk", "gawk", "mawk", "nawk"}, late(`(?:^| )-[A-Za-z]+f|ARGV`), "its program or its files are named in a way that is not read"},
	{[]string{"sed"}, late(`(?:^| )-[A-Za-z]+[ef](?: |$)`), "its script is named in a way that is not read"},
	{[]string{"sort", "shuf", "uniq"}, late(`(?:^| )-[A-Za-z]+o|(?:^| )-[^ o-] -o|--files0-from`), "it may write or read what its flags name"},
	{[]string{"cp", "mv", "ln", "install"}, late(`(?:^| )-[A-Za-z]*t(?: |$)|(?:^| )-[A-Za-z]+t|--target`), "its target is named in a way that is not read"},
	{[]string{"bat", "cloc", "ldd", "dc", "dasel", "ugrep", "glow", "gron", "xmllint", "info"}, late(``), "its flags may run programs or write files"},
	{[]string{"tree", "file", "nm", "yq", "date", "xargs", "iconv"}, late(`(?:^| )-(?:o|C|s|a|f)|--plugin|--output|--from-file|--file|--arg-file|load`), "its flags may name files or programs"},
	{[]string{"go"}, late(`^go list .*(?:-m|@)`), "it may ask a server for a module"},
	{[]string{"git"}, late(`^git(?: -\S+)* (?:checkout-index|merge-file|bundle|read-tree|init \S|format-patch .*-o|format-patch .*--output)`), "it writes where its arguments say"},
	{[]string{"diff"}, late(`--(?:from|to)-f`), "its files are named in a way that is not read"},
	{[]string{"caffeinate", "perf"}, late(`^caffeinate.* [^-0-9 ]|^perf (?:stat|record|trace|c2c|mem|kvm|lock|sched)`), "it runs a command"},
	{[]string{"cowsay", "cowthink"}, late(` -[A-Za-z]*f`), "its pictures are programs"},
	{[]string{"tar", "gtar", "bsdtar", "zip"}, late(`--rem|--mo|^zip (?:\S+ )*-[A-Za-z]*m`), "it removes what it packs"},
	{[]string{"direnv", "go"}, late(`^direnv (?:allow|permit|grant|edit|reload)|^go bug`), "it lets code run later, or opens a page"},
	{[]string{"lefthook", "pre-commit", "husky", "hk", "pyenv"}, late(`^\S+ (?:install|add|init|set|autoupdate|global|uninstall)`), "it makes hooks or settings, or asks a server"},
	{[]string{"find"}, late(` (?:!|-not|-or?) .*-delete| -delete .* ?-(?:i?name|path|type)`), "which files it removes is named in a way that is not read"},
	{[]string{"git"}, late(`^git .*\barchive .*--rem`), "it asks another repository"},
	{[]string{"hostname", "mise", "openssl"}, late(`^hostname [^-]|^mise (?:(?:config|cfg) (?:set|generate)|uninstall|implode|prune)| -(?:out|engine|writerand|config|provider)`), "it changes a setting or a file, or loads code"},
	{[]string{"systemctl", "journalctl", "loginctl", "docker", "lsof"}, late(`^(?:[a-z]+ctl|docker) (?:\S+ )*(?:-H|--ho|-M|--mach|-c|--conte|--config)|^lsof .*@`), "a flag leads it to another machine"},
	{[]string{"pip", "pip3", "uv", "poetry", "mise"}, late(`--(?:ou|up|la)|^(?:pip3?|poetry) (?:list|show)(?: \S+)* -[a-z]*[oul]`), "it asks a server for newer versions"},
	{[]string{"gem", "composer", "asdf", "yarn", "tldr", "brew"}, late(` -[a-z]*[rbsualo]|--(?:re|bo|so|av|al|la|ou)|^asdf list.all|^yarn info|^tldr|^brew info .*/`), "it may ask a server"},
}

// doubted returns why a part is not what the analysis says; empty if it is.
func (a *Act) doubted(command string) string {
	for i := range doubts {
		d := &doubts[i]
		if slices.Contains(d.programs, a.Program) && d.form().MatchString(a.Text) {
			return d.why
		}
	}
	if a.Program == "go" && goVariables().MatchString(command) {
		return "a variable changes what go runs or asks"
	}
	return ""
}

// goVariables matches assignments to variables of go's, but for harmless ones.
var goVariables = late(`\b(?:GO(?:ENV|FLAGS|PROXY|PRIVATE|NOPROXY|NOSUMDB|NOSUMCHECK|INSECURE|SUMDB|TOOLCHAIN|WORK|CACHEPROG|AUTH|VCS|ROOT|PATH|EXPERIMENT|TOOLDIR|GCCFLAGS)|CC|CXX|CGO_[A-Z_]+|PKG_CONFIG[A-Z_]*)=`)

// othersWords matches forms of git's by which it shows what others may have written,
// though no name of theirs is there.
var othersWords = late(`--(?:glob|tags|reflog|all(?:[^o]|$)|remotes|batch|no-index|contents|exclude)|for-each-ref|show-branch|@\{|(?:^| ):/| config .*(?:-f|--file)|ls-remote`)

// symbolic matches the flag by which ln makes a link that others follow.
var symbolic = late(` (?:-[A-Za-z]*s|--s)`)

// saving matches the flag by which a page is saved, behind other letters.
var saving = late(` -[A-Za-z]+[oO] (\S+)`)

// manifests matches commands that change a manifest which they need not name.
var manifests = late(`^(?:go (?:-C \S+ )?mod (?:edit|init)|cargo (?:\+\S+ )?(?:remove|rm|init|new))\b`)

// stricter holds a part of a command to what its words may mean besides.
func (m *Machine) stricter(a *Act, command string) (more []Act) {
	words := strings.Fields(a.Text)
	if why := a.doubted(command); why != "" && a.Effect != effect.Administer {
		*a = Act{Effect: effect.Reach, Text: a.Text, Why: why, Program: a.Program, Unknown: true, Foreign: true, Anywhere: true, Writes: a.Writes, Tainted: a.Tainted || m.Dirty || m.mixes(command)}
		return nil
	}
	if m.namesState(a) {
		a.Effect, a.Why, a.Foreign = effect.Administer, "a word of it leads to what Margay keeps", true
		return nil
	}
	switch {
	case a.Program == "git":
		a.Foreign = a.Foreign || othersWords().MatchString(a.Text)
		if a.Effect == effect.Edit && slices.Contains(words, "--abort") {
			a.Effect, a.Why = effect.Destroy, "changes that are not committed are lost"
		}
		if g := a.gitWords(); len(g) > 2 && g[1] == "mv" {
			more = m.targets(g[2:], a)
		}
	case a.Program == "curl" || a.Program == "wget":
		for _, to := range saving().FindAllStringSubmatch(a.Text, -1) {
			more = append(more, m.targets(to[1:], a)...)
		}
	case a.Effect == effect.Edit && manifests().MatchString(a.Text):
		a.Anywhere = true // it changes what builds run, in a file that it does not name
	case a.Program == "ln" && a.Effect == effect.Edit && symbolic().MatchString(a.Text):
		a.Effect, a.Why = effect.Persist, "a link leads what is written through it elsewhere"
	case a.Effect == effect.Edit && len(a.Writes) == 0 && len(words) > 1 && a.Program != "":
		more = m.targets(words[1:], a)
	}
	if slices.Contains(opaque, a.Program) && (m.namesOutside(a.Text) || composed().MatchString(a.Text)) {
		a.Foreign = true
	}
	return more
}

// opaque are programs that read files which their own small languages name.
var opaque = []string{"sed", "iconv", "gzip", "zcat", "gunzip", "zstd", "xz", "bzip2", "diff", "xargs", "yq", "date", "awk", "gawk", "mawk", "dd", "sort", "python", "python2", "python3", "node", "perl", "ruby"}

// namesState reports whether a pattern among an act's words may lead to what Margay
// keeps, or the small language of a program names it.
func (m *Machine) namesState(a *Act) bool {
	if m.Places == nil {
		return false
	}
	for word := range strings.FieldsFuncSeq(a.Text, separates) {
		if rest, ok := strings.CutPrefix(word, "$HOME/"); ok && m.Home != "" {
			word = path.Join(m.Home, rest)
		} else if rest, ok := strings.CutPrefix(word, "~/"); ok && m.Home != "" {
			word = path.Join(m.Home, rest)
		} else if !path.IsAbs(word) {
			word = path.Join(m.Dir, word)
		}
		pattern := strings.ContainsAny(word, "*?[")
		if (pattern || slices.Contains(opaque, a.Program)) && m.Places.Matches(word) {
			return true
		}
	}
	return false
}

// composed matches code that opens a file of which the name does not stand there.
var composed = late(`(?i)(?:open|path|readFile(?:Sync)?)\((?:[^"')]|"[^"]*"[^,)]|'[^']*'[^,)])|glob|listdir|walk`)

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
	for k := 0; k < len(words); k++ { // they grow
		w := words[k]
		if before, rest, ok := strings.Cut(w, "{"); ok && len(words) < 256 {
			in, after, ok := strings.Cut(rest, "}")
			switch list := strings.Split(in, ","); {
			case !ok || strings.Contains(in, "{") || strings.Contains(in, ".."): // a shell makes words of it that are not seen
				more = append(more, Act{Effect: effect.Persist, Text: a.Text, Program: a.Program, Why: "a pattern names what it changes", Anywhere: true})
			case len(list) > 1:
				for _, one := range list {
					words = append(words, before+one+after)
				}
				continue
			}
		}
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
