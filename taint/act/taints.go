package act

import (
	"slices"
	"strings"

	"github.com/margaydev/margay/taint/document"
	"github.com/margaydev/margay/taint/effect"
	"github.com/margaydev/margay/taint/shell"
)

// Taints are the files that a call leaves strangers' words in, and whether it may move
// such files.
func (s *Spec) Taints(m *Machine, args *document.Tree, strangers bool) (files []string, moved bool) {
	return s.in(m, args).taints(s.Acts(m, args), strangers)
}

// taints are the files that acts leave strangers' words in: all that are written
// under the influence of strangers, and those that are written from what strangers
// wrote. Moved: git may put such files elsewhere, or back.
func (m *Machine) taints(acts []Act, strangers bool) (files []string, moved bool) {
	from := slices.ContainsFunc(acts, foreign)
	var out []string
	for i := range acts {
		a := &acts[i]
		words := a.gitWords()
		moved = moved || a.Program == "git" && a.Tainted && a.Effect != effect.Observe && !(len(words) > 1 && slices.Contains(keeping, words[1]))
		if (from || strangers) && len(words) > 1 && a.Program == "git" && a.Effect != effect.Observe && keepsWords(words[1], words[2:]) {
			for _, root := range m.grounds(a, false) {
				if !m.touched(root) {
					out = append(out, root+"/.git/COMMIT_EDITMSG") // what git shows is theirs then
				}
			}
		}
		var into []string
		if a.Effect != effect.Observe && (a.fetched(from) || (from || strangers) && a.Effect == effect.Edit && slices.Contains(spreading, a.Program)) {
			into = m.grounds(a, true)
		}
		switch {
		case a.Effect == effect.Observe:
		case len(into) > 0:
			out = append(out, into...) // it takes the place of any file
		case from || strangers:
			out = append(out, a.Writes...)
			out = append(out, m.moved(a)...)
		}
	}
	sure := strangers || slices.ContainsFunc(acts, func(a Act) bool { return a.brings() })
	slices.Sort(out)
	return slices.DeleteFunc(slices.Compact(out), func(w string) bool {
		return w == shell.Fresh || strings.HasPrefix(w, shell.Fresh+"/") || !m.kept(w, sure) // no other command knows it
	}), moved
}

// keeping are commands of git's that leave the files of the workspace as they are.
var keeping = []string{"add", "commit", "push", "fetch", "branch", "tag", "notes", "gc", "format-patch"}

// worded are commands of git's that keep words: messages, notes, names.
var worded = []string{"commit", "tag", "notes", "merge", "revert", "am", "stash", "branch", "worktree", "update-ref", "symbolic-ref", "replace", "remote"}

// creates matches a flag of checkout and switch by which they name a new branch.
var creates = late(`^(?:-[A-Za-z]*[bBcC]|--(?:orphan|create|force-create))`)

// keepsWords reports whether a command of git's keeps words that it is given, to show
// them later.
func keepsWords(command string, words []string) bool {
	return slices.Contains(worded, command) || slices.Contains([]string{"checkout", "switch"}, command) && slices.ContainsFunc(words, creates().MatchString)
}

// spreading are programs that write parts of what they read to files that nobody
// names.
var spreading = []string{"split", "csplit", "gunzip", "gzip", "xz", "unxz", "bzip2", "bunzip2", "zstd", "unzstd", "uudecode", "ed", "ex"}

// own are branches of a clone that the user trusts with the folder.
var own = []string{"main", "master", "trunk", "develop", "HEAD"}

// fetched reports whether an act puts what others wrote into the workspace: their
// branches, what was downloaded. What a clone came from is the user's as the clone
// is, by its usual branches.
func (a *Act) fetched(from bool) bool {
	words := a.gitWords()
	if a.Program != "git" || len(words) < 2 || !a.whole() {
		return (a.Effect == effect.Edit || a.Effect == effect.Persist) && a.Anywhere && (a.Foreign || from)
	}
	if a.Effect == effect.Reach && words[1] == "fetch" {
		return strings.ContainsAny(a.Text, ":+") // into a branch with a name of its own
	}
	if words[1] != "pull" {
		return a.Effect == effect.Edit && a.Foreign && a.Anywhere
	}
	var names []string
	for _, w := range words[2:] {
		if !strings.HasPrefix(w, "-") {
			names = append(names, w)
		}
	}
	return len(names) > 2 || len(names) > 0 && names[0] != "origin" || len(names) > 1 && !slices.Contains(own, names[1])
}

// moved are the paths to which git moves or copies files.
func (m *Machine) moved(a *Act) []string {
	words := a.gitWords()
	if a.Program != "git" || a.Effect == effect.Observe || len(words) < 3 || words[1] != "mv" && words[1] != "worktree" || m.Places == nil {
		return nil
	}
	var out []string
	for _, w := range words[2:] {
		if full, ok := m.Places.Resolve(m.Dir, w); ok {
			out = append(out, full)
		}
	}
	return out
}
