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

// A person's yes for a task covers acts by their verb and what they are about: "push
// to origin fix/menu", "comment on pull request 7", "build, test and check in /work".
// Calls of one kind differ in what does not lead them elsewhere: the words of a
// comment, the flags of a test. Kinds are texts that only Margay makes; two acts are
// of one kind if theirs are equal.

var (
	// checks matches what builds, tests, checks or formats by its name, whatever its
	// flags are: a flag that leads elsewhere makes another act besides.
	checks = regexp.MustCompile(`^(?:mise (?:x|exec) (?:[a-z][A-Za-z0-9@._-]* )?-- )?(?:(?:go|cargo|npm|pnpm|yarn|bun|make|just|task|mise|gradle|\./gradlew|mvn|dotnet|swift|deno|bazel)(?: run| x --)? (?:tests?|build|checks?|lint|fmt|format|vet|clippy|typecheck|compile|bench|doc|nextest)(?:[: -]|$)|(?:uv run |poetry run |npx )?(?:pytest|tox|ruff|mypy|eslint|tsc|jest|vitest)(?: |$))`)
	// asking matches what asks a registry of packages, and changes nothing.
	asking = regexp.MustCompile(`^((?:npm|pnpm|yarn|cargo|pip3?|gem) (?:view|info|show|search))(?: (?:--json|--quiet|-q|[A-Za-z0-9@][A-Za-z0-9@/._-]*))+$`)
	// exchanges matches git's exchange with a remote, with flags that change
	// neither what is exchanged nor how.
	exchanges = regexp.MustCompile(`^git (?:-C [^ ]+ )?(?:push|pull|fetch)(?: (?:-u|--set-upstream|-q|--quiet|-v|--verbose|--rebase|--no-rebase|--ff-only|--autostash|-f|--force|--force-with-lease|[A-Za-z0-9_][A-Za-z0-9_.:/-]*))*$`)
	// pack matches a package with or without a version, and npx's words behind it.
	pack = regexp.MustCompile(`^(?:@[a-z0-9-]+/)?[a-z0-9][a-z0-9._-]*(?:@[A-Za-z0-9._-]+)?(?: (?:--json|--version|[A-Za-z0-9@][A-Za-z0-9@/._-]*))*$`)
	// number matches how a forge's client names a pull request or an issue.
	number = regexp.MustCompile(`^(?:#?[0-9]{1,9}|https://[a-z0-9.-]+/[A-Za-z0-9_.-]+/[A-Za-z0-9_.-]+/(?:pull|issues)/[0-9]{1,9})$`)
	// site matches an address, up to its host.
	site = regexp.MustCompile(`^(https?://[a-z0-9.-]+(?::[0-9]{1,5})?)(?:[/?#][^\s\\@]*)?$`)
	// plainWord matches a subcommand, or the name of a branch.
	plainWord = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_./-]*$`)
)

// kind is the kind of a part of a command, whose words are known; empty where a yes
// is for the very call.
func (m *Machine) kind(a *Act, p *shell.Part, command string) string {
	root, known := "", len(p.Words) > 0 && p.Words[0] != ""
	if m.Places != nil && p.In != "" {
		root = m.Places.Root(p.In)
	}
	text := strings.Join(p.Words, " ")
	switch {
	case a.Program == "git" && root == "" && p.In != "" && (a.Effect == effect.Reach && a.Unknown && !a.Anywhere || a.Effect == effect.Run):
		return "use git in " + p.In
	case a.Effect == effect.Persist:
		return m.changes(a)
	case a.Program == "gh" && len(p.Words) > 0 && a.Effect == effect.Reach:
		return forgeKind(a, p.Words)
	case known && a.Effect == effect.Run && strings.Contains(p.Words[0], "/"):
		return m.runsFile(p.In, p.Words[0])
	case !known || root == "":
		return ""
	case a.Program == "git" && a.Effect == effect.Edit && len(p.Words) > 1:
		return "git " + p.Words[1] + " in " + root
	case a.Program == "npx" && (a.Effect == effect.Run || a.Effect == effect.Reach):
		return npxKind(p.Words)
	case a.Effect == effect.Run:
		return m.runs(a, p, command, root)
	case a.Effect == effect.Destroy:
		return forced(p.Words, root)
	case a.Effect != effect.Reach:
		return ""
	case asking.MatchString(text) && !a.Unknown && !a.Anywhere:
		return asking.FindStringSubmatch(text)[1]
	case a.Why == shell.Unheard:
		return "run " + p.Words[0] + " in " + root
	case (exchanges.MatchString(text) || strings.HasPrefix(a.To, "registry:")) && !a.Unknown && !a.Anywhere && len(p.Words) > 1 && plainWord.MatchString(p.Words[1]) && a.To != "":
		return a.Program + " " + p.Words[1] + ": " + a.To + " in " + root
	}
	return ""
}

// runs is the kind of an act that runs code of a workspace.
func (m *Machine) runs(a *Act, p *shell.Part, command, root string) string {
	words, text := p.Words, strings.Join(p.Words, " ")
	switch {
	case a.Program == "git" || checks.MatchString(text):
		return "build, test and check in " + root
	case len(words) < 2 || words[1] == "":
		return ""
	case slices.Contains([]string{"sh", "bash", "dash", "zsh", "python", "python3", "node", "ruby", "perl"}, a.Program) && !strings.HasPrefix(words[1], "-"):
		return m.runsFile(p.In, words[1])
	case slices.Contains([]string{"-c", "-e"}, words[1]):
		return "compute with " + a.Program // code that does more has another effect
	case a.Program == "go" && words[1] == "run" && len(words) > 2 && strings.HasPrefix(words[2], "./"):
		return "go run " + words[2] + " in " + p.In
	case slices.Contains(words, "") || strings.Contains(command, "="):
		return ""
	}
	return text + " in " + p.In
}

// npxKind is the kind of fetching a package and running it.
func npxKind(words []string) string {
	words = words[1:]
	if len(words) > 0 && (words[0] == "-y" || words[0] == "--yes") {
		words = words[1:]
	}
	if !pack.MatchString(strings.Join(words, " ")) {
		return ""
	}
	if len(words) > 1 && slices.Contains([]string{"view", "info", "show"}, words[1]) {
		words = words[:2] // it asks a registry
	}
	return "npx " + strings.Join(words, " ")
}

func (m *Machine) runsFile(dir, name string) string {
	if m.Places == nil {
		return ""
	}
	full, ok := m.Places.Resolve(dir, name)
	switch z := m.Places.Zone(full); {
	case !ok:
	case z == workspace.Own, z == workspace.Steering, z == workspace.Scratch && m.Holds != nil && m.built(full):
		return "run " + full
	}
	return ""
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
func forgeKind(a *Act, words []string) string {
	parts := strings.Split(a.To, ":")
	if len(parts) != 4 || len(words) < 3 || words[1] != parts[2] || words[2] != parts[3] || !slices.Contains([]string{"create", "edit", "comment"}, words[2]) {
		return ""
	}
	kind, rest := strings.Join(words[:3], " "), words[3:]
	if len(rest) > 0 && number.MatchString(rest[0]) {
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
		case slices.Contains([]string{"-t", "--title", "-b", "--body"}, flag):
		case slices.Contains([]string{"-F", "--body-file"}, flag) && rest[1] == "-":
		case slices.Contains([]string{"-R", "--repo", "-B", "--base", "-H", "--head"}, flag) && plainWord.MatchString(rest[1]):
			kind += " " + flag + " " + rest[1]
		default:
			return "" // an operand, or one that is not read
		}
		rest = rest[2:]
	}
	return kind
}

// forced is the kind of an act that replaces a branch by what the clone has.
func forced(words []string, root string) string {
	if len(words) < 5 || words[0] != "git" || words[1] != "push" {
		return ""
	}
	var named []string
	for _, w := range words[2:] {
		switch {
		case w == "--force" || w == "--force-with-lease" || w == "-f":
		case !plainWord.MatchString(w) || slices.Contains([]string{"main", "master", "trunk", "develop", "release", "production", "HEAD"}, path.Base(w)):
			return ""
		default:
			named = append(named, w)
		}
	}
	if len(named) != 2 {
		return ""
	}
	return "git push --force: " + strings.Join(named, " ") + " in " + root
}

// fetches is the kind of a call that reaches one address.
func fetches(a *Act) string {
	if found := site.FindStringSubmatch(a.To); found != nil && a.Effect == effect.Reach {
		return "reach " + found[1]
	}
	return ""
}
