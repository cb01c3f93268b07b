package act

import (
	"path"
	"slices"
	"strings"

	"github.com/margaydev/margay/taint/effect"
	"github.com/margaydev/margay/taint/workspace"
)

// builders match commands of toolchains that run none of the code that they work on:
// go build and go vet do not by design, and a formatter or a reader of scripts has no
// reason to.
var builders = late(`^(?:go (?:build|vet)(?: (?:-v|-race|\./\.\.\.|\./[A-Za-z0-9_][A-Za-z0-9_./-]*))*|cargo fmt(?: (?:--all|--check|--|-v))*` +
	`|(?:sh|bash|dash) -n [A-Za-z0-9_][A-Za-z0-9_./-]*|shellcheck(?: (?:-x|-[sSf] [a-z0-9]+|-e [A-Z0-9,]+|[A-Za-z0-9_][A-Za-z0-9_./-]*))+)$`)

// steering are files by which a folder, or one above it, chooses what a toolchain runs
// or fetches.
var steering = []string{
	"rust-toolchain", "rust-toolchain.toml", ".cargo", ".cargo/config", ".cargo/config.toml", "Cargo.toml", "rustfmt.toml", ".rustfmt.toml",
	"go.mod", "go.sum", "go.work", "go.work.sum", "vendor", ".envrc", ".tool-versions", "mise.toml", ".mise.toml", ".config/mise", ".shellcheckrc", "shellcheckrc",
}

// steered reports whether strangers had a part in a file that chooses what a compiler
// or formatter of the working directory runs, or may have had: in a folder as a whole,
// or outside every workspace.
func (m *Machine) steered() bool {
	if m.around() == "" {
		return true
	}
	for dir := m.Dir; ; dir = path.Dir(dir) {
		if m.Tainted(dir) || slices.ContainsFunc(steering, func(name string) bool { return m.touched(path.Join(dir, name)) }) {
			return true
		}
		if dir == "/" || dir == "." {
			return false
		}
	}
}

// builds reports whether an act of a toolchain runs nothing of the workspace, as it
// stands: of files that strangers had a part in, those may not be that say what runs.
func (m *Machine) builds(a *Act, command string) bool {
	if a.Effect != effect.Run || strings.Contains(command, "=") || !a.whole() || !builders().MatchString(a.Text) || climbs(a.Text) {
		return false
	}
	if slices.ContainsFunc(strings.Fields(a.Text), func(w string) bool { // go build names its output so
		z, _ := m.zone(path.Base(w))
		return strings.HasPrefix(w, "./") && z != workspace.Own
	}) {
		return false
	}
	if !m.Follows() {
		return !a.Tainted
	}
	return !m.Dirty && !m.steered() && (!a.Tainted || !strings.ContainsAny(command, "$`{(") && !changesFolder().MatchString(command))
}

var changesFolder = late(`\b(?:cd|pushd|popd|eval|source)\b|(?:^|\s)(?:-C|\.)\s`)

// climbs reports whether a word leads out of the folder that it starts in.
func climbs(s string) bool { return strings.Contains(strings.ReplaceAll(s, "/...", ""), "..") }

// asksOrigin matches commands of git's that ask what the clone came from.
var asksOrigin = late(`^git (?:fetch(?: (?:-q|-v|--quiet|--verbose|--no-tags|--depth[ =][0-9]+))* origin(?: [A-Za-z0-9_][A-Za-z0-9_./-]*)*|ls-remote(?: (?:-q|-h|-t|--heads|--tags|--refs|--quiet))* origin(?: [A-Za-z0-9_][A-Za-z0-9_./*-]*)*)$`)

// offline matches commands of cargo's that read packages and ask nobody for them.
var offline = late(`^cargo (?:metadata|tree)(?: [A-Za-z0-9_.-]+)* (?:--offline|--frozen)(?: [A-Za-z0-9_.-]+)*$|^cargo metadata(?: --format-version[ =]1)? --no-deps(?: --format-version[ =]1)?$`)

// Lines of a result that are nobody's words: what harnesses put around an output, and
// numbers, dates and hashes.
var (
	decoration = late(`^(?:Chunk ID: [0-9a-f]{1,16}|Wall time:? [0-9.]{1,20} seconds|Process exited with code -?[0-9]{1,5}|Original token count: [0-9]{1,9}|Output:|Exit code [0-9]{1,3}|Script completed)$`)
	values     = late(`^(?:(?:[0-9][0-9.:%+-]*|[0-9a-f]{40}|[0-9a-f]{64}|true|false|null|[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]{5,15}(?:Z|[+-][0-9:]{4,5})|total)(?:\s+|$))+`)
)

// Bounds of a result that says what its call says.
const (
	maxPhrases = 3
	maxValues  = 200
)

// tells matches commands of gh's that tell a forge something and print the address
// of it, and told such an address and what gh says beside it.
var (
	tells  = late(`^gh (?:pr|issue) (?:create|comment|edit|review|ready|close|reopen)(?: |$)`)
	hosted = late(`(?:-R|--repo)[ =]*\S+/\S+/`)
	told   = late(`^(?:https://[a-z0-9.-]+/[A-Za-z0-9_.-]+/[A-Za-z0-9_.-]+/(?:pull|issues)/[0-9]+(?:#(?:issuecomment|discussion_r|pullrequestreview)-?[0-9]+)?|Warning: [0-9]{1,6} uncommitted changes?)$`)
)

// answered reports whether a result is the address of what a command told the clone's
// forge, and all that strangers could have a part in.
func answered(acts []Act, command, shown string) bool {
	if hosted().MatchString(command) {
		return false
	}
	for i := range acts {
		if a := &acts[i]; foreign(*a) && (a.Program != "gh" || a.Tainted || !tells().MatchString(a.Text)) {
			return false
		}
	}
	for line := range strings.Lines(shown) {
		if line = strings.TrimSpace(line); line != "" && !decoration().MatchString(line) && !told().MatchString(line) {
			return false
		}
	}
	return true
}

// echoes reports whether a result says nothing but what the command says: its lines
// are phrases of the command, between numbers, dates and hashes. They are words of
// whoever had a part in the command.
func echoes(command, shown string) bool {
	phrases, n := 0, 0
	for line := range strings.Lines(shown) {
		line = strings.TrimSpace(line)
		if line == "" || decoration().MatchString(line) {
			continue
		}
		if n++; n > maxValues {
			return false
		}
		line = strings.TrimSpace(line[len(values().FindString(line)):])
		if line == "" {
			continue
		}
		if phrases++; phrases > maxPhrases || len(strings.Fields(line)) < 3 && !strings.Contains(line, "/") || !phrase(command, line) {
			return false
		}
	}
	return n > 0
}

// phrase reports whether words stand in a text on their own.
func phrase(text, words string) bool {
	const around = " \t\n\"'"
	for from := 0; ; {
		i := strings.Index(text[from:], words)
		if i < 0 {
			return false
		}
		i += from
		end := i + len(words)
		if (i == 0 || strings.IndexByte(around, text[i-1]) >= 0) && (end == len(text) || strings.IndexByte(around, text[end]) >= 0) {
			return true
		}
		from = i + 1
	}
}
