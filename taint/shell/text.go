package shell

import (
	"slices"
	"strings"

	"github.com/margaydev/margay/taint/effect"
	"github.com/margaydev/margay/taint/shell/inline"
	"github.com/margaydev/margay/taint/workspace"
)

func sed(a *analysis, i *invocation) {
	flags, rest := split(i.args, []string{"-e", "--expression", "-f", "--file", "-l", "--line-length"})
	scripts := values(flags, "-e", "--expression")
	if len(values(flags, "-f", "--file")) > 0 || has(flags, "--file") {
		a.add(i.part(effect.Run, "a file is its program"))
	} else if len(scripts) == 0 && len(rest) > 0 {
		// On macOS -i takes a suffix, which may be empty.
		if rest[0].text == "" && !rest[0].dynamic && has(flags, "-i") {
			rest = rest[1:]
		}
		if len(rest) > 0 {
			scripts, rest = rest[:1], rest[1:]
		}
	}
	for _, s := range scripts {
		runs, writes := inline.Sed(s.text)
		switch {
		case s.dynamic && inline.UnknownSed(s.text):
			a.hide(i.text, "a variable holds its program")
		case runs:
			a.hide(i.text, "its program runs commands")
		case writes && !has(flags, "--sandbox"):
			p := i.part(effect.Persist, "its program may write files")
			p.Anywhere = true
			a.add(p)
		}
	}
	if has(flags, "-i", "--in-place", "-I") {
		a.writes(i.text, i.program, rest...)
		if len(rest) == 0 {
			a.hide(i.text, "it names no file")
		}
		return
	}
	a.reads(i.text, i.program, rest...)
}

func awk(a *analysis, i *invocation) {
	flags, rest := split(i.args, []string{"-F", "-v", "-f", "--field-separator", "--assign", "--file", "-i", "--include", "-l", "--load", "-E", "--exec", "-e", "--source"})
	if has(flags, "-i", "--include", "-l", "--load") {
		a.hide(i.text, "a flag names code")
		return
	}
	programs := values(flags, "-e", "--source")
	if len(values(flags, "-f", "--file", "-E", "--exec")) > 0 {
		a.add(i.part(effect.Run, "a file is its program"))
	} else if len(programs) == 0 && len(rest) > 0 {
		programs, rest = rest[:1], rest[1:]
	}
	for _, p := range programs {
		runs, writes := inline.Awk(p.text)
		switch {
		case p.dynamic:
			a.hide(i.text, "a variable holds its program")
		case runs:
			a.hide(i.text, "its program runs commands")
		case writes:
			q := i.part(effect.Persist, "its program may write files")
			q.Anywhere = true
			a.add(q)
		}
	}
	a.reads(i.text, i.program, rest...)
}

func sorts(a *analysis, i *invocation) {
	flags, rest := split(i.args, []string{"-k", "--key", "-t", "--field-separator", "-o", "--output", "-T", "-S", "--compress-program", "-n", "-f", "-s", "-w", "-i", "-e"})
	if unclear(i.args) || has(flags, "--compress-program") || has(flags, "-T") {
		a.hide(i.text, "a flag names a program")
		return
	}
	for _, w := range values(flags, "-o", "--output") {
		a.writes(i.text, i.program, w)
	}
	if i.program == "uniq" && len(rest) > 1 {
		a.writes(i.text, i.program, rest[1])
	}
	a.reads(i.text, i.program, rest...)
}

func tar(a *analysis, i *invocation) {
	args := slices.Clone(i.args)
	if len(args) > 0 && !args[0].dynamic && args[0].text != "" && args[0].text[0] != '-' {
		args[0].text = "-" + args[0].text // old style
	}
	flags, rest := split(args, []string{"-C", "--directory", "--exclude", "-T", "--files-from", "-X", "--strip-components", "--transform", "-I", "--use-compress-program"})
	if unclear(i.args) {
		a.hide(i.text, "a variable may hold a flag")
	}
	for _, f := range flags {
		for _, bad := range []string{"--checkpoint-action", "--to-command", "-I", "--use-compress-program", "--info-script", "--new-volume-script", "-F", "--rsh-command", "--rmt-command", "--index-file"} {
			if strings.HasPrefix(f.text, bad) || len(f.text) > 9 && strings.HasPrefix(bad, strings.SplitN(f.text, "=", 2)[0]) {
				if v := values(flags, bad); len(v) == 1 && slices.Contains([]string{"zstd", "gzip", "pigz", "xz", "bzip2", "lz4"}, v[0].text) {
					continue
				}
				a.hide(i.text, "a flag names a program")
				return
			}
		}
	}
	letters := ""
	for _, f := range flags {
		if len(f.text) > 1 && f.text[1] != '-' && !strings.Contains(f.text, "=") { // no value of a flag's
			letters += f.text[1:]
		}
	}
	dir := values(flags, "-C", "--directory")
	if len(dir) == 0 {
		dir = []word{{text: "."}}
	}
	archive := word{text: "archive", dynamic: true}
	if strings.Contains(letters, "f") && len(rest) > 0 {
		archive, rest = rest[0], rest[1:]
	} else if v := values(flags, "--file", "-f"); len(v) > 0 {
		archive = v[0]
	} else {
		archive = word{text: "/dev/stdout"}
	}
	if strings.Contains(archive.text, ":") && !has(flags, "--force-local") {
		p := i.part(effect.Reach, "the archive is on another machine")
		p.To = archive.text
		a.add(p)
		return
	}
	switch {
	case strings.Contains(letters, "t") || has(flags, "--list"):
		a.reads(i.text, i.program, archive)
	case strings.Contains(letters, "x") || has(flags, "--extract", "--get"):
		a.reads(i.text, i.program, archive)
		a.unpacks(i, dir)
	default:
		a.writes(i.text, i.program, archive)
		a.reads(i.text, i.program, rest...)
	}
}

// unpacks adds a part that writes files with names of somebody else's.
func (a *analysis) unpacks(i *invocation, dirs []word) {
	for _, d := range dirs {
		at := worst(a.find(d))
		p := Part{Text: i.text, Program: i.program, Effect: effect.Persist, Foreign: true, Anywhere: true, Why: "an archive says which files it writes"}
		if at.zone == workspace.Scratch {
			p.Effect, p.Why = effect.Edit, "it unpacks into a scratch folder"
		}
		a.add(p)
	}
}

func zips(a *analysis, i *invocation) {
	flags, rest := split(i.args, []string{"-d", "-x", "-i", "-T", "-TT", "--unzip-command", "-P"})
	switch {
	case has(flags, "-TT", "--unzip-command") || has(flags, "-T") && i.program == "zip":
		a.hide(i.text, "a flag names a program")
	case i.program == "unzip":
		if has(flags, "-l", "-Z", "-t", "-p", "-v") {
			a.reads(i.text, i.program, rest...)
			return
		}
		dir := values(flags, "-d")
		if len(dir) == 0 {
			dir = []word{{text: "."}}
		}
		a.reads(i.text, i.program, rest[:min(1, len(rest))]...)
		a.unpacks(i, dir)
	case i.program == "zip" && len(rest) > 0:
		a.writes(i.text, i.program, rest[0])
		a.reads(i.text, i.program, rest[1:]...)
	default:
		unreadable(a, i)
	}
}

func xxd(a *analysis, i *invocation) {
	_, rest := split(i.args, []string{"-c", "-g", "-l", "-o", "-s", "-n"})
	a.reads(i.text, i.program, rest[:min(1, len(rest))]...)
	a.writes(i.text, i.program, rest[min(1, len(rest)):]...)
}

// kills ends programs: one by its number or as the shell's own, or whichever is
// found.
func kills(a *analysis, i *invocation) {
	_, rest := split(i.args, []string{"-s", "-n"})
	if strings.Contains(strings.ToLower(i.text), "margay") {
		a.add(i.part(effect.Administer, "it ends Margay"))
	}
	if i.program != "kill" {
		a.add(i.part(effect.Destroy, "it ends programs that are found, with what they have not saved"))
		return
	}
	for _, w := range rest {
		if w.dynamic || strings.Trim(w.text, "%0123456789") != "" {
			a.add(i.part(effect.Destroy, "it ends programs that are found, with what they have not saved"))
			return
		}
	}
	a.add(i.part(effect.Run, "it ends a program"))
}

func pager(a *analysis, i *invocation) {
	flags, rest := split(i.args, nil)
	if slices.ContainsFunc(i.args, func(w word) bool {
		return strings.HasPrefix(w.text, "+") || w.dynamic && strings.HasPrefix(w.text, "-")
	}) || has(flags, "-k", "--lesskey-file", "-o", "-O", "--log-file", "-P", "--pager", "-H", "--html", "-C", "-M", "-X", "-l") {
		a.hide(i.text, "a flag is a command of the pager")
		return
	}
	a.reads(i.text, i.program, rest...)
}
