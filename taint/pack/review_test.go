package pack

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// intro is the head of the review.
const intro = `<!-- Written by go generate ./taint/pack from the packs; do not edit. -->

# The packs: a security review

A pack says of a tool what its results are (which parts somebody else may have written, which are private) and what a call needs: the highest label that it may follow from, by its arguments. This page is written from the packs themselves, and a test holds it to them. Their format is in [format/pack.md](format/pack.md).

## What the words mean

A call may follow from *trusted text* if nothing that a stranger wrote had a part in it; from *anything* if it does no harm whoever asked for it. It may *carry what is public*, *what the user may see*, or anything *however private*. A call beyond that is made again without what it must not follow from; if that does not serve, the user is asked. A call that no rule is about, and a call of a tool that no pack knows, may follow from trusted, public text alone. <!-- test: taint.TestClear -->

## How the packs decide

- **Reading is free where it tells nobody.** A tool that reads the user's own account or machine may be called whatever the model has seen. What it returns has its label, and that is what later calls are held to.
- **Fetching is sending.** An address or a query can carry what the agent has read. It may follow from strangers' words, and then carries only what is public; an address that stands in the user's own message carries nothing.
- **Sending follows trusted text alone**, so that no mail can make the agent send another. What is private goes to people whom the user named in his own words, or whom he listed. In a lattice of people it goes to whoever may read it anyway.
- **What Claude Code, Codex, Cursor, and servers of files and git do on a machine is decided by its effects.** Reading is free. An edit, a build or a test may follow from what the workspace holds; what persists, reaches out, destroys or spends only from the user's own words, or where he named the place. The table is in [taint/effect/table.go](../taint/effect/table.go).
- **A server works on this machine only if somebody says so**: the list local-servers, or ` + "`margay mcp`" + ` with the command of a published server. What any other server reads is anybody's, and a call that does more asks. A server has a working directory of its own, so that relative paths lead to no place that is known. <!-- test: pack.TestElsewhere -->
- **What lasts always asks**: filters that forward mail, code that runs in a browser with the user's logins, leaving a sandbox. <!-- test: TestBuiltin, TestAsksAreShown -->
- **What tools store has the worst label when it is read back**, whoever wrote it: memory, files, databases, sub-agents.
- **Orders for another agent follow trusted text alone**: to a sub-agent they are the user's voice.

## Lists

Conditions refer to lists in the configuration (` + "`taint.lists`" + `). All are empty at first, and each opens something:

| list | what it opens |
|---|---|
| trusted-paths | files in these folders are taken for the user's own words |
| scratch-paths | anything may be written in these folders, whoever asked for it |
| egress-domains | private text may stand in addresses at these hosts |
| org-domains | private text may go by mail or invitation to these domains |
| local-servers | MCP servers, by the names that the agent has them by, that work on the files of this machine |
| known-places | hosts, with all below them, remotes and registries that the user knows: what reaches one may follow from what the workspace holds |
| own-owners | private text may go to repositories of these owners, which may be public |
| slack-channels | private text may go to these channels |
| trusted-sources | records of these people are trusted: a mail's sender is as good as the mail server's checks |

## What is weak

- A typed value is chosen by whoever wrote it: an address is an address, but the attacker's. Types bound what can hide in one; ` + "`name`, `postal` and `filename`" + ` are the weakest, and stand only where the tool's operator keeps the list, or where a short name is all there is.
- Where a rule asks whether the user wrote a value, a stranger may still choose which one of those that the user wrote, and when. Such rules stand where that does no harm: at reading, or beside trusted text.
- Commands are judged by their words, not by what a program does. A test of the workspace can open a connection: it is the workspace's own code, which the user trusts. Only a sandbox without network bounds it.
- A path is compared as it is written: links are not followed.
- Records say who sent them as well as their server checks it.
- Tools of a server that changes its schemas drift from their pack. ` + "`margay policy lint --live`" + ` tells; until then new tools are unknown ones and calls with new arguments are held to trusted, public text.
- AgentDojo's packs let private text go wherever trusted text says, as its tasks ask for: they measure integrity. The packs of real servers do not.
`

// review is docs/packs.md: what every tool of the packs can do at worst, its
// policy, and why.
func review(packs []*Pack) string {
	var b strings.Builder
	b.WriteString(intro)
	for _, kind := range []struct {
		kind  Kind
		title string
	}{{Harness, "Harnesses"}, {Server, "MCP servers"}, {Suite, "Benchmark suites"}} {
		fmt.Fprintf(&b, "\n## %s\n", kind.title)
		for _, p := range packs {
			if p.Kind != kind.kind {
				continue
			}
			fmt.Fprintf(&b, "\n### %s\n\nPack `%s`. Tools from: %s.\n\n| tool | the worst it can do | policy | why |\n|---|---|---|---|\n", p.Title, p.Name, p.Schemas)
			for i := range p.Tools {
				t := &p.Tools[i]
				policy := strings.Join(t.Policy, "; else ")
				if policy == "" {
					policy = "may follow from trusted, public text alone"
				}
				fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", t.Name, cell(t.Worst), cell(policy), cell(t.Why))
			}
		}
	}
	return b.String()
}

// cell is a text in a table. What it says of all calls is held by the packs'
// samples: the tests stand after each such sentence.
func cell(s string) string {
	out := ""
	for _, sentence := range strings.SplitAfter(strings.ReplaceAll(s, "|", `\|`), ". ") {
		if absolute.MatchString(sentence) {
			sentence = strings.TrimSuffix(sentence, " ") + " <!-- test: TestBuiltin, TestAsksAreShown --> "
		}
		out += sentence
	}
	return strings.TrimSuffix(out, " ")
}

// absolute are words of sentences about all calls.
var absolute = regexp.MustCompile(`(?i)\b(?:always|never|every)\b`)

// All loads the packs that come with Margay, in the order of their names.
func All() ([]*Pack, error) {
	var out []*Pack
	for _, name := range Names() {
		p, err := Builtin(name)
		if err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	return slices.Clip(out), nil
}

var update = flag.Bool("update", false, "write docs/packs.md")

// The review of the packs is written from the packs.
func TestReviewIsUpToDate(t *testing.T) {
	packs, err := All()
	if err != nil {
		t.Fatal(err)
	}
	got, file := review(packs), filepath.Join("..", "..", "docs", "packs.md")
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := os.ReadFile(file); err != nil || got != string(want) {
		t.Errorf("docs/packs.md is out of date: go generate ./taint/pack (%v)", err)
	}
}
