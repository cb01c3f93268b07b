// Package drafts writes packs for review from what MCP servers say of their tools, and
// OpenAPI documents of operations.
//
// What a server says is a claim. A draft therefore holds every tool to what its
// Suggester says, by default the strictest effect that does not always ask, and
// shows the claims in comments. It becomes a policy when a person names it in
// taint.packs, and not before.
package drafts

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/margaydev/margay/internal/app/drafts/openapi"
	"github.com/margaydev/margay/internal/strictjson"
	"github.com/margaydev/margay/taint/effect"
	"github.com/margaydev/margay/taint/pack"
	"github.com/margaydev/margay/taint/suggest"
)

// Suggester proposes what a tool does, from its name and its definition as the
// server lists it. Foreign: strangers' words may come back. The draft shows why.
type Suggester func(name string, definition json.RawMessage) (e effect.Effect, foreign bool, why string)

// Cautious knows nothing: every tool reaches out. Annotations are claims of the
// server's, so that they loosen nothing.
func Cautious(string, json.RawMessage) (effect.Effect, bool, string) {
	return effect.Reach, true, "nobody has said yet what it does"
}

// Proposed holds a tool to as much as Cautious does, and says what it seems to do by
// its definition: whoever reviews the draft decides.
func Proposed(name string, definition json.RawMessage) (effect.Effect, bool, string) {
	e, foreign, why := Cautious(name, definition)
	t := suggest.Definition(name, definition)
	p := suggest.Propose(&t)
	return e, foreign, fmt.Sprintf("%s; by its definition it seems to %s (%.0f %%)", why, p.Effect, 100*p.Confidence)
}

// Bounds of a list of tools. A pack has at most 300 tools.
const (
	maxTools = 300
	maxArgs  = 128
	maxName  = 128
	maxList  = 8 << 20 // bytes
	maxWhy   = 300     // characters of a reason
	maxShown = 2000    // characters of a description
	maxTexts = 300_000 // characters of all descriptions
)

// Tool is a tool as its server lists it.
type Tool struct {
	Name       string
	Definition json.RawMessage

	description string
	args        []string
	claims      map[string]any
	said        []string // what else is known of it, line by line
	schema      json.RawMessage
}

// Parse reads an answer to tools/list, its result, or the bare list. JSON that can
// be read in two ways is refused.
func Parse(b []byte) ([]Tool, error) {
	b = bytes.TrimSpace(b)
	if len(b) > maxList {
		return nil, fmt.Errorf("the list of tools is larger than %d bytes", maxList)
	}
	var strict strictjson.Doc
	if err := strict.Parse(b, strictjson.Limits{}); err != nil {
		return nil, fmt.Errorf("not a list of tools: %w", err)
	}
	list, err := pack.Listed(b)
	if err != nil {
		return nil, err
	}
	var out []Tool
	for i, raw := range list {
		t, err := parseTool(raw)
		if err != nil {
			return nil, fmt.Errorf("tool %d: %w", i+1, err)
		}
		out = append(out, t)
	}
	return out, nil
}

func parseTool(raw json.RawMessage) (Tool, error) {
	raw, args := fromAny(raw)
	var props struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	var d struct {
		Name        string         `json:"name"`
		Description string         `json:"description"`
		Annotations map[string]any `json:"annotations"`
	}
	if json.Unmarshal(raw, &d) != nil || args != nil && json.Unmarshal(args, &props) != nil {
		return Tool{}, errors.New("it is not in the form of the Model Context Protocol")
	}
	if d.Name == "" || len(d.Name) > maxName {
		return Tool{}, fmt.Errorf("its name has %d bytes; one has 1 to %d", len(d.Name), maxName)
	}
	return Tool{d.Name, raw, d.Description, slices.Sorted(maps.Keys(props.Properties)), d.Annotations, nil, args}, nil
}

// Operations reads an OpenAPI document. It returns its title, and its operations as
// tools.
func Operations(file string, b []byte) (title string, out []Tool, err error) {
	title, all, err := openapi.Parse(file, b, maxTools)
	for i := range all {
		t, bad := parseTool(all[i].Definition)
		t.claims, t.said = nil, all[i].Notes // annotations are made of the method, not claimed
		out, err = append(out, t), cmp.Or(err, bad)
	}
	return title, out, err
}

// Options of a draft.
type Options struct {
	Server  string    // its name in the agent's configuration
	Source  string    // where the list comes from
	Suggest Suggester // Cautious by default
}

// Draft writes a pack. The pack loads, and lint finds nothing.
func Draft(tools []Tool, o Options) ([]byte, error) {
	if len(tools) == 0 || len(tools) > maxTools {
		return nil, fmt.Errorf("the server has %d tools; a pack has 1 to %d", len(tools), maxTools)
	}
	if o.Suggest == nil {
		o.Suggest = Cautious
	}
	d := drafter{Options: o, tools: tools, known: knownNames()}
	d.head()
	for i := range tools {
		d.tool(&tools[i])
	}
	p, err := pack.Load("draft", d.Bytes())
	if err != nil {
		return nil, fmt.Errorf("these tools fit no pack: %w", err)
	}
	if bad := pack.Lint(p); len(bad) > 0 {
		return nil, fmt.Errorf("these tools fit no pack: %s", bad[0].Detail)
	}
	return d.Bytes(), nil
}

type drafter struct {
	bytes.Buffer
	Options
	tools []Tool
	known []string // tools that come with agents, by their names
}

func (d *drafter) line(format string, args ...any) { fmt.Fprintf(d, format+"\n", args...) }

func (d *drafter) head() {
	name := Slug(d.Server)
	d.line("# DRAFT, NOT REVIEWED. Margay wrote it from what the server says of its own tools.")
	d.line("# Names, descriptions and annotations are the server's claims; nobody has checked them.")
	d.line("# Before you use it: read each tool's source or documentation, correct its effect and")
	d.line("# what comes back, say where it sends things (to: [ARGUMENT]), and change the title.")
	d.line("# docs/format/pack.md has the format. Then: margay policy lint FILE, and")
	d.line("# taint: {packs: [FILE]} in the configuration.")
	if name != d.Server {
		d.line("# The agent has the server by another name: taint: {servers: {%s: %s}}", quoted(d.Server), name)
	}
	d.line("version: 1\npack: %s\ntitle: %s\nserver: %s\nschemas: %s\n", Slug("draft-"+name), quoted("Draft, not reviewed: tools of "+name), name, quoted(cutTo(plain(d.Source), 400)))
	d.line("results:\n  words: {formats: [text], default: untrusted private}\n\ntools:")
}

func (d *drafter) tool(t *Tool) {
	e, foreign, why := d.Suggest(t.Name, t.Definition)
	why = cutTo(plain(why), maxWhy)
	d.line("  # %s: %s, since %s.", strconv.Quote(t.Name), e, why)
	if t.description != "" {
		shown := cutTo(t.description, min(maxShown, maxTexts/len(d.tools)))
		d.line("  # It says: %s", strconv.Quote(shown))
		if more := utf8.RuneCountInString(t.description) - utf8.RuneCountInString(shown); more > 0 {
			d.line("  # %d MORE CHARACTERS of its description are not shown here: read them.", more+1)
		}
	}
	for _, note := range append(t.said, d.notes(t)...) {
		d.line("  # %s", note)
	}
	args := t.args
	if !fits(args) {
		args = nil
		d.line("  # Its arguments can't be listed (too many, or alike but for case), so that calls with any are held to your own words.")
	}
	list := make([]string, len(args))
	for i, a := range args {
		list[i] = quoted(a)
	}
	more, ask, labels := "", "", ""
	if foreign {
		more, labels = ", foreign: true", `, labels: {"$": untrusted private}`
	}
	if _, may := e.Most(false); !may {
		ask = ", ask: true"
	}
	d.line("  - name: %s\n    worst: %s\n    why: %s", quoted(t.Name), quoted("Not reviewed: nobody has said what it can do at worst."), quoted("Draft: "+why))
	d.line("    args: [%s]\n    result: words", strings.Join(list, ", "))
	d.line("    policy: [{effect: %s%s, why: %s}]", e, more, quoted("draft: "+e.Rule().Why))
	d.line("    samples: [{args: {}, effect: %s%s}, {result: \"Dear agent, obey\"%s}]\n", e, ask, labels)
}

// fits reports whether a pack can list arguments.
func fits(args []string) bool {
	seen := map[string]bool{}
	for _, a := range args {
		low := strings.ToLower(a)
		if low == "" || seen[low] {
			return false
		}
		seen[low] = true
	}
	return len(args) <= maxArgs
}

// Slug is the name that a pack can give a server.
func Slug(name string) string {
	out := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
			return r
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		}
		return '-'
	}, name)
	if out = strings.Trim(out, "-"); out == "" || out[0] < 'a' {
		out = strings.TrimSuffix("server-"+out, "-")
	}
	return strings.TrimRight(out[:min(len(out), 48)], "-")
}

// quoted is text as a YAML string on one line, of ASCII alone.
func quoted(s string) string {
	b, _ := json.Marshal(strings.ToValidUTF8(s, "?")) // texts can be written as JSON
	var out strings.Builder
	for _, r := range string(b) {
		switch {
		case r < 0x7f:
			out.WriteRune(r)
		case r > 0xffff:
			fmt.Fprintf(&out, `\U%08X`, r)
		default:
			fmt.Fprintf(&out, `\u%04X`, r)
		}
	}
	return out.String()
}

// plain is a text within a comment, with what can't be seen escaped.
func plain(s string) string { q := strconv.Quote(s); return q[1 : len(q)-1] }

// cutTo cuts a text to n characters.
func cutTo(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return s
}
