package shell

import (
	"path"
	"slices"
	"strings"

	"github.com/margaydev/margay/taint/effect"
	"github.com/margaydev/margay/taint/shell/forge"
	"github.com/margaydev/margay/taint/shell/table"
	"github.com/margaydev/margay/taint/workspace"
)

func curl(a *analysis, i *invocation) {
	flags, rest := split(i.args, table.Lookup(i.program).Taking)
	rest = append(rest, values(flags, "--url")...)
	if has(flags, "--use-askpass") || i.program == "wget" && has(flags, "--execute") {
		a.hide(i.text, "a flag names a program")
		return
	}
	p := i.part(effect.Reach, "it uses the network")
	here, hosts := len(rest) > 0, []string(nil)
	for _, w := range rest {
		h := strings.ToLower(table.Host(w.text))
		if w.dynamic && !knownStart(w) {
			h = ""
		}
		here = here && table.Local(h) && !strings.Contains(w.text, "@")
		hosts = append(hosts, h)
	}
	if has(flags, "-K", "--config", "-x", "--proxy", "--resolve", "--connect-to", "-i", "--input-file", "-L", "--location") && here || slices.ContainsFunc(flags, func(w word) bool { return w.dynamic && !strings.Contains(w.text, "=") }) {
		here = false
	}
	if has(flags, "-K", "--config", "-x", "--proxy", "--resolve", "--connect-to", "--unix-socket") {
		hosts, here = nil, false
	}
	if here && (strings.Contains(i.text, "/console") || strings.Contains(i.text, ":7878")) {
		p.Effect, p.Why = effect.Administer, "it talks to Margay"
	} else if here {
		p.Effect, p.Why = effect.Run, "it talks to a program on this machine"
	} else if !slices.Contains(hosts, "") {
		p.To = strings.Join(hosts, " ")
	}
	a.add(p)
	files := values(flags, "-o", "--output", "-D", "--dump-header", "-c", "--cookie-jar", "--output-document")
	if i.program == "wget" {
		files = values(flags, "-O", "-o", "-a", "--output-document", "--output-file", "--append-output")
		if len(values(flags, "-O", "--output-document")) == 0 && len(rest) > 0 {
			files = append(files, word{text: "download", dynamic: has(flags, "-P", "--directory-prefix")})
		}
	} else if has(flags, "-O", "--remote-name", "-J", "--remote-header-name") {
		files = append(files, word{text: "download", dynamic: has(flags, "--output-dir")})
	}
	for _, f := range files {
		if f.text != "-" {
			a.writes(i.text, i.program, f)
		}
	}
}

// knownStart reports whether a word with an unknown part names its host before
// it: https://host/$X.
func knownStart(w word) bool {
	_, rest, ok := strings.Cut(w.text, "://")
	i := strings.IndexByte(rest, '/')
	return ok && i > 0 && !strings.ContainsAny(rest[:i], "$`@")
}

func remote(a *analysis, i *invocation) {
	flags, rest := split(i.args, []string{"-o", "-i", "-p", "-P", "-l", "-F", "-L", "-R", "-D", "-J", "-S", "-W", "-b", "-c", "-E", "-e", "-m", "-O", "-w"})
	for _, v := range values(flags, "-o", "-F", "-S", "-J") {
		low := strings.ToLower(v.text)
		if v.dynamic || strings.Contains(low, "command") || strings.Contains(low, "/") {
			a.hide(i.text, "an option names a program or a configuration")
		}
	}
	p := i.part(effect.Reach, "it reaches another machine")
	for _, w := range rest {
		if h, _, colon := strings.Cut(w.text, ":"); !w.dynamic && (i.program == "ssh" || colon) {
			p.To = table.Host(h)
			break
		}
	}
	a.add(p)
	if i.program == "scp" && len(rest) > 1 && !strings.Contains(rest[len(rest)-1].text, ":") {
		a.writes(i.text, i.program, rest[len(rest)-1])
	}
	if has(flags, "-L", "-R", "-D", "-w") {
		a.add(i.part(effect.Persist, "it opens a tunnel"))
	}
}

// gh are the clients of forges.
func gh(a *analysis, i *invocation) {
	flags, rest := split(i.args, []string{"-R", "--repo", "--json", "-q", "--jq", "-t", "--template", "-L", "--limit", "-X", "--method", "-f", "-F", "--field", "--raw-field", "-H", "--header", "--title", "--body", "-b", "--body-file", "--base", "-B", "--head", "--job", "-s", "--state", "--label", "--search", "-S", "--input", "-a", "--assignee", "--author", "--milestone", "-w", "--workflow", "--branch", "--hostname", "--cache"})
	names := append(slices.Clone(rest), word{}, word{})
	group, verb := names[0].text, names[1].text
	p := i.part(effect.Reach, "it talks to a forge")
	p.To = "forge?" + i.program // by its verb; who knows the command as a whole decides
	if i.program == "gh" {
		args := make([]forge.Arg, len(i.args))
		for k, w := range i.args {
			args[k] = forge.Arg{Text: w.text, Known: !w.dynamic && !w.glob}
		}
		asks, plain := forge.Asks(args)
		if asks {
			p.To, p.Plain = "forge:gh", plain
			a.add(p)
			return
		}
	}
	switch {
	case slices.ContainsFunc(rest[:min(2, len(rest))], func(w word) bool { return w.dynamic }):
		a.hide(i.text, "a variable names the subcommand")
		return
	case group == "api":
		method := values(flags, "-X", "--method")
		writes := has(flags, "-f", "-F", "--field", "--raw-field", "--input")
		for _, m := range method {
			writes = !strings.EqualFold(m.text, "GET")
			if strings.EqualFold(m.text, "DELETE") || m.dynamic {
				a.add(i.part(effect.Destroy, "it deletes what is on a forge"))
			}
		}
		if writes {
			p.To, p.Why = "", "it changes what is on a forge"
		}
	case slices.Contains([]string{"view", "list", "ls", "status", "diff", "checks", "watch", "download", "search", "get"}, verb) || group == "search" || group == "status" || group == "browse" || group == "help" || group == "version":
		// It reads what others wrote. What is asked for names nothing that was
		// read, as far as the words go.
	case group == "auth" && (verb == "status"):
	case group == "alias" || group == "config" || group == "extension" || group == "auth" || group == "secret" || group == "variable" || group == "ssh-key" || group == "gpg-key" || group == "ruleset" || group == "codespace":
		a.add(i.part(effect.Persist, "it changes settings"))
		p.To = ""
	case verb == "delete" || verb == "archive" || verb == "close":
		a.add(i.part(effect.Destroy, "it removes what is on a forge"))
		p.To = ""
	case verb == "checkout" || verb == "clone" || group == "co":
		q := i.part(effect.Edit, "it fetches others' files into the workspace")
		q.Anywhere = true
		a.add(q)
	default:
		p.To, p.Why = "", "it tells others, or changes what is on a forge"
		if group != "" && verb != "" {
			p.To = "forge:" + i.program + ":" + group + ":" + verb
		}
	}
	a.add(p)
	for _, w := range values(flags, "--body-file") {
		a.reads(i.text, i.program, w)
	}
}

func npx(a *analysis, i *invocation) {
	k := 0
	for k < len(i.args) && !i.args[k].dynamic && strings.HasPrefix(i.args[k].text, "-") {
		switch i.args[k].text {
		case "-c", "--call", "--shell", "--shell-auto-fallback":
			a.hide(i.text, "a flag holds a command")
			return
		case "-p", "--package":
			k++
			p := i.part(effect.Reach, "it fetches a package and runs it")
			if k < len(i.args) {
				p.To = "registry:npm " + i.args[k].text
			}
			a.add(p)
		}
		k++
	}
	if k >= len(i.args) || i.args[k].dynamic {
		a.hide(i.text, "what it runs can't be told")
		return
	}
	name := i.args[k].text
	if e := table.Lookup(name); e != nil && e.Set && slices.Equal(e.Effects, []effect.Effect{effect.Run}) || name == "prettier" { // a tool that workspaces install
		a.call(i.args[k:], i.in)
		a.add(i.part(effect.Run, "it runs a tool of the workspace"))
		p := i.part(effect.Reach, "it fetches the tool if the workspace lacks it")
		p.To, p.Foreign = "registry:npm", false
		a.add(p)
		return
	}
	p := i.part(effect.Reach, "it fetches a package and runs it")
	p.To, p.Anywhere = "registry:npm "+name, true
	a.add(p)
	a.add(i.part(effect.Run, "it runs a package"))
}

func sudo(a *analysis, i *invocation) {
	p := i.part(effect.Persist, "it acts with another user's rights")
	p.Anywhere = true
	a.add(p)
	_, rest := split(i.args, []string{"-u", "-g", "-h", "-p", "-C", "-T", "-r", "-t", "-U", "-D", "-R", "-s", "-c", "-l"})
	for len(rest) > 0 && strings.Contains(rest[0].text, "=") && !rest[0].dynamic {
		name, v, _ := strings.Cut(rest[0].text, "=")
		a.steers(name, []word{{text: v}})
		rest = rest[1:]
	}
	if i.program == "su" || i.program == "runuser" {
		a.hide(i.text, "what it runs can't be told")
		return
	}
	if len(rest) > 0 {
		k := slices.IndexFunc(i.args, func(w word) bool { return w == rest[0] })
		a.call(i.args[max(k, 0):], i.in)
	}
}

// git is the version control.
func git(a *analysis, i *invocation) {
	args := i.args
	dirs := a.dirs
	defer func() { a.dirs = dirs }()
	for len(args) > 0 {
		w := args[0]
		switch {
		case w.dynamic:
			a.hide(i.text, "a variable names the subcommand")
			return
		case w.text == "-C" && len(args) > 1:
			a.dirs = a.moved(args[1:2], a.dirs)
			args = args[1:]
		case w.text == "-c" && len(args) > 1:
			key, v, _ := strings.Cut(strings.ToLower(args[1].text), "=")
			if !slices.ContainsFunc(table.HarmlessGit, func(p string) bool { return strings.HasPrefix(key, p) }) && !(key == "core.pager" && v == "cat") || args[1].dynamic {
				a.hide(i.text, "a setting of git's may name a program")
			}
			args = args[1:]
		case strings.HasPrefix(w.text, "--exec-path=") || strings.HasPrefix(w.text, "--config-env"):
			a.hide(i.text, "a flag of git's names programs")
		case w.text == "--git-dir" || w.text == "--work-tree" || w.text == "--namespace":
			a.hide(i.text, "a flag leads git to another repository")
			args = args[1:]
		case strings.HasPrefix(w.text, "--git-dir") || strings.HasPrefix(w.text, "--work-tree"):
			a.hide(i.text, "a flag leads git to another repository")
		case strings.HasPrefix(w.text, "-"):
		default:
			a.git(i, w.text, args[1:])
			return
		}
		args = args[min(1, len(args)):]
	}
	a.add(i.part(effect.Observe, "it prints its own help"))
}

func (a *analysis) git(i *invocation, sub string, args []word) {
	flags, rest := split(args, []string{"-m", "--message", "-F", "--file", "-n", "--max-count", "--author", "--date", "-b", "-B", "-c", "-C", "--format", "--pretty", "-S", "-G", "-L", "--since", "--until", "--after", "--before", "--grep", "-o", "--onto", "-s", "--strategy", "-X", "--depth", "-u", "--source", "-t", "--exec", "-x", "--output", "--upload-pack", "--receive-pack", "-O", "--cleanup", "--diff-filter", "-U"})
	if sub == "branch" || sub == "push" || sub == "stash" || sub == "log" || sub == "show" || sub == "diff" {
		flags, rest = split(args, []string{"-m", "--message", "-n", "--max-count", "--author", "--format", "--pretty", "-S", "-G", "-L", "--since", "--until", "--after", "--before", "--grep", "--output", "-o", "--receive-pack", "--repo", "--exec", "-O", "--diff-filter"})
	}
	first := ""
	if len(rest) > 0 {
		first = rest[0].text
	}
	add := func(e effect.Effect, why string) { a.add(i.part(e, why)) }
	foreign := slices.ContainsFunc(rest, func(w word) bool {
		return w.dynamic || table.Others.MatchString(table.Mine.ReplaceAllString(w.text, " "))
	}) || has(flags, "--all", "--remotes", "-r") && sub != "branch"
	foreign = foreign || sub == "branch" && has(flags, "-a", "-r", "--all", "--remotes")
	observe := func() {
		p := i.part(effect.Observe, "it reads the repository")
		p.Foreign = foreign || !a.inRoot()
		a.add(p)
		for _, w := range values(flags, "--output", "-o") {
			a.writes(i.text, i.program, w)
		}
	}
	reach := func(why string, to ...word) {
		p := i.part(effect.Reach, why)
		var names []string
		for _, w := range to {
			if w.dynamic {
				names = nil
				break
			}
			names = append(names, w.text)
		}
		if len(to) == 0 {
			names = []string{"origin"}
		}
		if p.To = strings.Join(names, " "); strings.Contains(p.To, "://") || strings.Contains(p.To, "@") {
			p.To = table.Host(p.To) + " " + p.To
		}
		a.add(p)
	}
	tree := func(e effect.Effect, why string) {
		p := i.part(e, why)
		p.Anywhere, p.Foreign = e != effect.Edit || foreign, foreign
		a.add(p)
	}
	if sub != "commit" && unclear(args) {
		a.hide(i.text, "a variable may hold a flag")
	}
	if !(sub == "rebase" && len(values(flags, "-x", "--exec")) > 0) && has(flags, "--upload-pack", "--receive-pack", "--exec", "--ext-diff", "--textconv", "--open-files-in-pager", "--template", "--extcmd") || sub == "grep" && slices.ContainsFunc(args, func(w word) bool { return strings.HasPrefix(w.text, "-O") }) {
		a.hide(i.text, "a flag of git's names a program")
	}
	if !a.inRoot() && sub != "clone" && sub != "init" && sub != "version" && sub != "help" {
		p := i.part(effect.Reach, OutsideRepository)
		p.Unknown = true
		a.add(p)
	}
	switch sub {
	case "version", "help", "--version":
		add(effect.Observe, "it prints its own help")
	case "status", "diff", "log", "show", "blame", "shortlog", "describe", "rev-parse", "rev-list", "ls-files", "ls-tree", "cat-file", "grep", "name-rev", "merge-base", "cherry", "diff-tree", "diff-index", "diff-files", "for-each-ref", "show-ref", "count-objects", "fsck", "whatchanged", "range-diff", "check-ignore", "check-attr", "var", "symbolic-ref", "annotate", "show-branch", "get-tar-commit-id", "verify-commit", "verify-tag", "hash-object", "patch-id", "merge-tree", "rerere":
		if sub == "symbolic-ref" && len(rest) > 1 || sub == "hash-object" && has(flags, "-w") {
			tree(effect.Edit, "it changes the repository")
			return
		}
		observe()
	case "reflog":
		if first == "expire" || first == "delete" {
			tree(effect.Destroy, "it removes what could be had back")
			return
		}
		observe()
	case "ls-remote":
		reach("it asks another repository", rest[:min(1, len(rest))]...)
	case "branch":
		switch {
		case has(flags, "-D", "-d", "--delete", "-f", "--force", "-M", "-C"):
			tree(effect.Destroy, "it removes a branch")
		case len(rest) > 0 && !has(flags, "--list", "-l", "--contains", "--merged", "--no-merged", "--points-at", "-r", "-a"), has(flags, "-m", "-c", "-u", "--set-upstream-to", "--unset-upstream"):
			tree(effect.Edit, "it changes branches")
		default:
			observe()
		}
	case "tag":
		switch {
		case has(flags, "-d", "--delete", "-f", "--force"):
			tree(effect.Destroy, "it removes a tag")
		case len(rest) > 0 && !has(flags, "-l", "--list", "-n", "--contains", "--points-at", "-v"):
			tree(effect.Edit, "it makes a tag")
		default:
			observe()
		}
	case "stash":
		switch first {
		case "drop", "clear":
			tree(effect.Destroy, "it removes what was put aside")
		case "list", "show":
			observe()
		default:
			tree(effect.Edit, "it moves changes")
		}
	case "add", "mv", "apply", "am", "notes", "update-index", "read-tree", "write-tree", "commit-tree", "update-ref", "init", "sparse-checkout", "pack-refs", "stage", "mergetool", "merge-file", "checkout-index", "rebase--continue", "bundle", "format-patch", "archive":
		if sub == "mergetool" {
			a.hide(i.text, "a setting names what it runs")
			return
		}
		if sub == "apply" || sub == "am" {
			a.patches(i, rest)
			return
		}
		if sub == "checkout-index" && (has(flags, "-f", "--force") || slices.ContainsFunc(flags, func(f word) bool { return strings.Contains(f.text, "f") && !strings.HasPrefix(f.text, "--") })) {
			tree(effect.Destroy, "changes that are not committed are lost")
			return
		}
		if sub == "update-ref" && has(flags, "-d") {
			tree(effect.Destroy, "it removes a name")
			return
		}
		if (sub == "archive" || sub == "format-patch" || sub == "bundle") && len(values(flags, "-o", "--output")) > 0 {
			for _, w := range values(flags, "-o", "--output") {
				a.writes(i.text, i.program, w)
			}
			return
		}
		tree(effect.Edit, "it changes the index or the repository")
	case "rm":
		if has(flags, "--cached") {
			tree(effect.Edit, "it changes the index")
			return
		}
		a.removes(i.text, i.program, rest...)
	case "commit", "merge", "rebase", "cherry-pick", "revert", "pull":
		if sub == "pull" {
			reach("it fetches from another repository", rest...)
			foreign = true
		}
		if sub == "rebase" && has(flags, "-x", "--exec") {
			for _, w := range values(flags, "-x", "--exec") {
				a.code(i, w)
			}
		}
		if has(flags, "--no-verify", "-n") && sub == "commit" {
			tree(effect.Edit, "it commits")
			return
		}
		tree(effect.Edit, "it changes branches and files")
		add(effect.Run, "hooks of the workspace may run")
	case "checkout", "switch", "restore":
		files := slices.ContainsFunc(args, func(w word) bool { return w.text == "--" }) || sub == "restore" && !(has(flags, "--staged", "-S") && !has(args, "--worktree", "-W"))
		made := has(flags, "-b", "-B", "-c", "-C", "--orphan", "--create")
		switch {
		case sub == "restore" && !files:
			tree(effect.Edit, "it changes the index")
		case files, has(flags, "-f", "--force", "--discard-changes"), sub == "checkout" && !made && slices.ContainsFunc(rest, func(w word) bool { return w.text == "." || strings.Contains(w.text, "*") || len(rest) > 1 }), sub == "checkout" && !made && first != "" && strings.Contains(first, ".") && !foreign, has(flags, "-p", "--patch"):
			var writes []string
			for _, w := range rest {
				for _, at := range a.find(w) {
					if at.full != "" && !at.some {
						writes = append(writes, at.full)
					}
				}
			}
			a.add(Part{Text: i.text, Program: i.program, Effect: effect.Destroy, Why: "changes that are not committed are lost", Writes: writes, Anywhere: len(writes) == 0, Foreign: foreign})
		default:
			tree(effect.Edit, "it changes to another branch")
			add(effect.Run, "hooks of the workspace may run")
		}
	case "reset":
		if has(flags, "--hard", "--merge", "--keep") {
			tree(effect.Destroy, "changes that are not committed are lost")
			return
		}
		tree(effect.Edit, "it changes the index or a branch")
	case "clean":
		if has(flags, "-n", "--dry-run") && !has(flags, "-e", "--exclude") { // it may be the exclude's value
			observe()
			return
		}
		tree(effect.Destroy, "files that git does not know are lost")
	case "gc", "prune", "filter-branch", "filter-repo", "repack", "replace", "maintenance":
		tree(effect.Destroy, "it removes what could be had back")
		if sub == "filter-branch" || sub == "maintenance" {
			a.hide(i.text, "its filters run commands")
		}
	case "push":
		to := rest
		if has(flags, "--repo") {
			to = append(values(flags, "--repo"), rest...)
		}
		reach("it sends commits to another repository", to...)
		if has(flags, "--force", "-f", "--force-with-lease", "--delete", "-d", "--mirror", "--prune") || slices.ContainsFunc(rest, func(w word) bool { return strings.HasPrefix(w.text, "+") || strings.HasPrefix(w.text, ":") }) {
			tree(effect.Destroy, "it replaces what is there")
		}
		add(effect.Run, "hooks of the workspace may run")
	case "fetch", "clone":
		reach("it fetches from another repository", rest...)
		if sub == "clone" {
			into := word{text: "clone"}
			if len(rest) > 1 {
				into = rest[1]
			} else if len(rest) > 0 && strings.Trim(rest[0].text, "./") != "" && !rest[0].dynamic {
				into.text = strings.TrimSuffix(path.Base(rest[0].text), ".git")
			}
			a.writes(i.text, i.program, into)
		}
		if slices.ContainsFunc(rest, func(w word) bool { return strings.HasPrefix(w.text, "ext::") || strings.HasPrefix(w.text, "-") }) {
			a.hide(i.text, "the address names a program")
		}
	case "remote":
		switch first {
		case "", "show", "get-url":
			if first == "show" {
				reach("it asks another repository")
				return
			}
			observe()
		case "update", "prune":
			reach("it fetches from another repository")
		default:
			p := i.part(effect.Persist, "it changes where later pushes and fetches go")
			a.add(p)
		}
	case "config":
		reads := !has(flags, "--comment") && has(flags, "--get", "--get-all", "--get-regexp", "--list", "-l", "--show-origin", "--get-urlmatch") || first == "get" || first == "list"
		if reads || len(rest) == 1 && !has(flags, "--unset", "--unset-all", "--edit", "-e", "--remove-section", "--add", "--replace-all") && first != "edit" && first != "set" {
			observe()
			return
		}
		add(effect.Persist, "it changes settings that later commands obey")
	case "submodule":
		switch first {
		case "", "status", "summary":
			observe()
		case "foreach":
			if a.altered = true; len(rest) > 1 {
				a.code(i, word{text: shown(rest[1:]), dynamic: slices.ContainsFunc(rest[1:], func(w word) bool { return w.dynamic })})
			}
		default:
			reach("it fetches other repositories", rest[min(1, len(rest)):]...)
			tree(effect.Edit, "it changes the workspace")
		}
	case "worktree":
		switch first {
		case "list":
			observe()
		case "remove", "prune":
			tree(effect.Destroy, "it removes a folder of work")
		default:
			for _, w := range rest[min(1, len(rest)):min(2, len(rest))] {
				a.writes(i.text, i.program, w)
			}
			tree(effect.Edit, "it makes a folder of work")
		}
	case "bisect":
		if first == "run" {
			a.call(rest[1:], input{})
		}
		tree(effect.Edit, "it changes to other commits")
	case "lfs", "svn", "p4", "send-email", "request-pull", "daemon", "http-backend", "instaweb", "credential", "imap-send", "cvsimport", "upload-pack", "receive-pack":
		reach("it may reach another machine")
		if sub == "credential" {
			add(effect.Persist, "it tells or changes credentials")
		}
	case "difftool", "gui", "citool", "hook", "shell", "alias", "k", "web--browse":
		a.hide(i.text, "a setting names what it runs")
	default:
		a.hide(i.text, "nothing is known of this subcommand, which may be an alias")
	}
}

// patches applies patches: what they name is written.
func (a *analysis) patches(i *invocation, files []word) {
	p := i.part(effect.Edit, "it applies a patch")
	p.Anywhere = true
	if !i.in.here && len(files) == 0 || i.in.here && i.in.text == "" || slices.ContainsFunc(files, func(w word) bool { return worst(a.find(w)).zone != workspace.Own }) {
		p.Effect, p.Why = effect.Persist, "the patch is not the workspace's"
	}
	a.add(p)
	for line := range strings.Lines(i.in.text) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "+++ "); ok {
			name, _, _ = strings.Cut(name, "\t")
			a.writes(i.text, i.program, word{text: strings.TrimPrefix(name, "b/")})
		}
	}
	a.reads(i.text, i.program, files...)
}

// inRoot reports whether the shell is surely in a folder that the user trusts.
func (a *analysis) inRoot() bool {
	return !slices.ContainsFunc(a.dirs, func(d string) bool {
		z := a.m.zone(d)
		return d == "" || z != workspace.Own && z != workspace.Steering
	})
}
