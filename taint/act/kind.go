package act

import (
	"path"
	"slices"
	"strings"

	"github.com/margaydev/margay/taint/effect"
	"github.com/margaydev/margay/taint/shell"
	"github.com/margaydev/margay/taint/workspace"
)

// A person's yes for a task covers acts by their verb and what they are about: "push
// to origin fix/menu", "comment on pull request 7", "build, test and check in /work".
// Calls of one kind differ in what does not lead them elsewhere: the words of a
// comment, which test runs. Kinds are texts that only Margay makes; two acts are
// of one kind if theirs are equal.

// tasks is the name of a task that builds, tests, checks or formats.
const tasks = `(?:build|compile|verify|bench|(?:tests?|checks?|lint|fmt|format|typecheck)(?:[:-](?:unit|int|integration|e2e|race|cover|coverage|all|fast|short|ci|fix|check|types))?)`

var (
	// checks matches what builds, tests, checks or formats by its name. Its other words
	// must be plain, too, and a runner of tasks has one task.
	checks = late(`^(?:mise (?:x|exec) -- )?(?:(?:go|cargo|swift) (?:test|build|check|fmt|vet|clippy|bench|doc|nextest)(?: |$)|` +
		`(?:just|task|gradle|mvn|dotnet|deno) ` + tasks + `$|make ` + tasks + `(?: -[^ ]*)*$|(?:npm|pnpm|yarn|bun|mise)(?: run)? ` + tasks + `(?: |$)|(?:uv run |poetry run |npx )?(?:pytest|ruff|mypy|eslint|tsc|jest|vitest)(?: |$))`)
	// code matches a file of code: a task may run one that it is given.
	code = late(`\.(?:[cm]?[jt]sx?|py|sh|rb|pl)$`)
	// asking matches what asks a registry of packages, and changes nothing.
	asking = late(`^((?:npm|pnpm|yarn|cargo|pip3?|gem) (?:view|info|show|search|tree))(?: (?:--json|--quiet|-q|-[idepL]|--(?:invert|target|depth|limit|edges|duplicates|all-features|workspace)|(?:@[a-z0-9][a-z0-9._-]*/)?[A-Za-z0-9][A-Za-z0-9@._-]*))+$`)
	// updating matches what takes newer ones of the packages that a workspace has.
	updating = late(`^cargo update(?: (?:-p|--package|-w|--workspace|-q|--quiet|--dry-run|[a-z0-9][a-z0-9_-]*(?:@[0-9.]+)?))*$`)
	// exchanges matches git's exchange with a remote, with flags that change
	// neither what is exchanged nor how.
	exchanges = late(`^git (?:-C [^ ]+ )?(push|pull|fetch)(?: (?:-u|--set-upstream|-q|--quiet|-v|--verbose|--rebase|--no-rebase|--ff-only|--autostash|-f|--force|--force-with-lease|[A-Za-z0-9_][A-Za-z0-9_.:/-]*))*$`)
	// number matches how a forge's client names a pull request or an issue.
	number = late(`^(?:#?[0-9]{1,9}|https://[a-z0-9.-]+/[A-Za-z0-9_.-]+/[A-Za-z0-9_.-]+/(?:pull|issues)/[0-9]{1,9})$`)
	// site matches an address, up to its host.
	site = late(`^(https?://[a-z0-9.-]+(?::[0-9]{1,5})?)(?:[/?#][^\s\\@]*)?$`)
	// others matches folders of packages that others wrote, and import paths.
	others = late(`(?:^|[ /])(?:node_modules|vendor|\.venv|venv|site-packages)(?:[ /]|$)|^go .* [A-Za-z0-9-]+\.[A-Za-z0-9.-]*/`)
	// plainWord matches a subcommand, or the name of a branch.
	plainWord = late(`^[A-Za-z0-9_][A-Za-z0-9_./-]*$`)
)

// kind is the kind of a part of a command, whose words and folder are known, in an
// environment that the command does not change; empty where a yes is for the very call.
func (m *Machine) kind(a *Act, p *shell.Part) string {
	if a.Effect == effect.Persist {
		return m.changes(a)
	}
	if m.Places == nil || p.In == "" || len(p.Words) == 0 || p.Words[0] == "" {
		return ""
	}
	in, exact, inside := " in "+p.In, exactly(p.Words), m.Places.Root(p.In) != ""
	with := strings.Contains(p.Words[0], "=") // variables, for this program alone
	own := p.Words[max(0, slices.IndexFunc(p.Words, func(w string) bool { return !strings.Contains(w, "=") }))]
	switch {
	case a.Effect == effect.Run && strings.Contains(own, "/") && exact != "" && m.owns(p.In, own):
		return exact + in
	case with && (a.Effect != effect.Run || !inside || exact == ""):
		return ""
	case with:
		return exact + in
	case a.Program == "gh" && a.Effect == effect.Reach && inside:
		return forgeKind(a, p.Words, in)
	case a.Effect == effect.Run && inside && len(p.Words) == 3 && (p.Words[1] == "-c" || p.Words[1] == "-e") && slices.Contains([]string{"python", "python3", "node"}, a.Program):
		return "compute with " + a.Program + in // code that does more has another effect
	case a.Program == "git" && a.Effect == effect.Run && inside:
		return hooks + in
	case exact == "":
		return ""
	case a.Program == "git" && !inside && (a.Effect == effect.Reach && a.Unknown && !a.Anywhere || a.Effect == effect.Run):
		if w := a.gitWords(); len(w) > 1 && slices.Contains(showing, w[1]) {
			return "look with git" + in
		}
		return exact + in
	case !inside:
		return ""
	case a.Effect == effect.Run:
		return runs(p.Words, exact, in)
	case a.Effect == effect.Destroy:
		return forced(p.Words, in)
	case a.Program == "git" && a.Effect == effect.Edit:
		return exact + in
	case a.Effect != effect.Reach:
		return ""
	case asking().MatchString(exact) && !a.Unknown && !a.Anywhere:
		return asking().FindStringSubmatch(exact)[1] + in
	case updating().MatchString(exact) && !a.Unknown && !a.Anywhere:
		return "cargo update" + in
	case a.Program == "git" && exchanges().MatchString(exact) && !a.Unknown && !a.Anywhere && a.To != "":
		verb := exchanges().FindStringSubmatch(exact)[1]
		if verb == "push" && (!strings.Contains(a.To, " ") || strings.Contains(a.To, "HEAD")) {
			return "git push: " + a.To + ", whichever branch is checked out," + in
		}
		return "git " + verb + ": " + a.To + in
	case a.Why == shell.Unheard, a.Program == "npx", strings.HasPrefix(a.To, "registry:") && !a.Unknown && !a.Anywhere:
		return exact + in
	}
	return ""
}

// showing are commands of git's that show what a repository has.
var showing = []string{"log", "show", "status", "diff", "ls-tree", "ls-files", "rev-parse", "rev-list", "merge-base", "cat-file", "blame", "describe", "shortlog"}

// exactly is a command as it stands; empty where a word is not known, or could be
// several, or where it is too long for people to read.
func exactly(words []string) string {
	if slices.ContainsFunc(words, func(w string) bool { return w == "" || strings.ContainsAny(w, " \t\r\n,\"'`") }) {
		return ""
	}
	if text := strings.Join(words, " "); len(text) <= shell.MaxText {
		return text
	}
	return ""
}

// Kinds are what a yes for a task covers of an act that has a kind. Who lets a
// workspace's tests run lets git's hooks run, not the other way round. Code that
// strangers may have changed is one more thing.
func (a *Act) Kinds() []string {
	out := []string{a.Kind}
	if in, ok := strings.CutPrefix(a.Kind, builds); ok {
		out = append(out, hooks+in)
	}
	if a.Effect == effect.Run && a.Tainted {
		for _, k := range out {
			out = append(out, k+", as strangers' text may have changed it")
		}
	}
	return out
}

// Routine reports whether an act builds, tests, checks or formats a workspace, by
// words that are all known, or runs its hooks: strangers gain nothing by choosing
// which of them runs.
func (a *Act) Routine() bool {
	return strings.HasPrefix(a.Kind, builds+" in ") || strings.HasPrefix(a.Kind, hooks+" in ")
}

const builds, hooks = "build, test and check", "run git's hooks"

// runs is the kind of an act that runs code of a workspace.
func runs(words []string, exact, in string) string {
	if lint, ok := strings.CutSuffix(exact, " -- -D warnings"); ok && strings.HasPrefix(exact, "cargo clippy ") && runs(words[:len(words)-3], lint, in) == builds+in {
		return builds + in
	}
	task := slices.Contains([]string{"npm", "pnpm", "yarn", "bun", "mise"}, words[0])
	if checks().MatchString(exact) && !others().MatchString(exact) && !climbs(exact) && !strings.Contains(exact, ":::") && !slices.ContainsFunc(words[1:], func(w string) bool {
		return !plainFlags().MatchString(w) || strings.HasPrefix(w, "/") || strings.HasPrefix(w, "@") || task && code().MatchString(w) && !strings.Contains(w, "test") && !strings.Contains(w, "spec")
	}) {
		return builds + in
	}
	return exact + in
}

// owns reports whether a program is a file of the workspace, or one that it built.
func (m *Machine) owns(dir, name string) bool {
	full, ok := m.Places.Resolve(dir, name)
	z := m.Places.Zone(full)
	return ok && (z == workspace.Own || z == workspace.Steering || z == workspace.Scratch && m.built(full))
}

// changes is the kind of an act that changes files below the user's folders which
// outlive the task.
func (m *Machine) changes(a *Act) string {
	if len(a.Writes) == 0 || a.Anywhere || slices.ContainsFunc(a.Writes, func(w string) bool { return !path.IsAbs(w) || !m.inside(w) }) || a.Program != "" && a.Program != "chmod" && a.Program != "mkdir" {
		return ""
	}
	return "change " + strings.Join(a.Writes, ", ")
}

// forgeKind is the kind of an act that tells the clone's forge something: it opens,
// edits or comments on a pull request or an issue, which stands at once behind the verb,
// if anywhere. Its words are free; whatever else it says is part of the kind.
func forgeKind(a *Act, words []string, in string) string {
	parts := strings.Split(a.To, ":")
	if len(parts) != 4 || len(words) < 3 || words[1] != parts[2] || words[2] != parts[3] || !slices.Contains([]string{"create", "edit", "comment"}, words[2]) {
		return ""
	}
	kind, rest := strings.Join(words[:3], " "), words[3:]
	if len(rest) > 0 && number().MatchString(rest[0]) {
		kind, rest = kind+" "+rest[0], rest[1:]
	}
	for len(rest) > 0 {
		flag := rest[0]
		switch {
		case flag == "-d" || flag == "--draft":
			rest = rest[1:]
			continue
		case len(rest) == 1:
			return ""
		case slices.Contains([]string{"-t", "--title", "-b", "--body"}, flag) && rest[1] != "": // nothing is read into it
		case slices.Contains([]string{"-F", "--body-file"}, flag) && rest[1] == "-": // a text that stands in the command
		case slices.Contains([]string{"-R", "--repo", "-B", "--base", "-H", "--head"}, flag) && plainWord().MatchString(rest[1]):
			kind += " " + flag + " " + rest[1]
		default:
			return "" // an operand, or one that is not read
		}
		rest = rest[2:]
	}
	return kind + in
}

// forced is the kind of an act that replaces a branch by what the clone has.
func forced(words []string, in string) string {
	if len(words) < 5 || words[0] != "git" || words[1] != "push" {
		return ""
	}
	var named []string
	for _, w := range words[2:] {
		switch {
		case w == "--force" || w == "--force-with-lease" || w == "-f":
		case !plainWord().MatchString(w) || slices.Contains([]string{"main", "master", "trunk", "develop", "release", "production", "HEAD"}, path.Base(w)):
			return ""
		default:
			named = append(named, w)
		}
	}
	if len(named) != 2 {
		return ""
	}
	return "git push --force: " + strings.Join(named, " ") + in
}

// fetches is the kind of a call that reaches one address.
func fetches(a *Act) string {
	if found := site().FindStringSubmatch(a.To); found != nil && a.Effect == effect.Reach {
		return "reach " + found[1]
	}
	return ""
}
