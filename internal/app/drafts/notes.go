package drafts

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"

	"github.com/margaydev/margay/taint/pack"
)

// maxListed bounds what a comment lists.
const maxListed = 8

// destinations are words in names of arguments that may say where something goes.
var destinations = []string{"url", "uri", "host", "to", "recipient", "email", "channel", "address", "endpoint", "webhook", "repo", "account"}

// notes are what a reviewer should know of a tool, besides its description.
func (d *drafter) notes(t *Tool) (out []string) {
	add := func(format string, list []string) {
		if len(list) > maxListed {
			list = append(list[:maxListed:maxListed], fmt.Sprintf("and %d more", len(list)-maxListed))
		}
		if len(list) > 0 {
			out = append(out, fmt.Sprintf(format, strings.Join(list, ", ")))
		}
	}
	var claims []string
	for _, name := range slices.Sorted(maps.Keys(t.claims)) {
		if v, ok := t.claims[name].(bool); ok && strings.HasSuffix(name, "Hint") {
			claims = append(claims, fmt.Sprintf("%s=%v", plain(cutTo(name, 40)), v))
		}
	}
	add("It claims %s; a claim loosens nothing.", claims)
	add("Where something goes may be in %s: consider to: [...].", toWhom(t.args))
	var definition any
	_ = json.Unmarshal(t.Definition, &definition) // it was read before
	texts := strings.Join(textsOf(nil, definition), "\n")
	add("HIDDEN CHARACTERS in its definition: %s.", hidden(texts))
	add("It speaks of other tools: %s.", d.mentions(t, texts))
	return out
}

// toWhom lists the arguments whose names have a word for a destination.
func toWhom(args []string) (out []string) {
	for _, a := range args {
		words := strings.FieldsFunc(strings.ToLower(a), func(r rune) bool { return r == '_' || r == '-' || r == '.' })
		if slices.ContainsFunc(words, func(w string) bool { return slices.Contains(destinations, strings.TrimSuffix(w, "s")) }) {
			out = append(out, strconv.Quote(cutTo(a, 60)))
		}
	}
	return out
}

// textsOf adds all texts of a document, also its keys.
func textsOf(out []string, v any) []string {
	switch v := v.(type) {
	case string:
		return append(out, v)
	case []any:
		for _, e := range v {
			out = textsOf(out, e)
		}
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			out = textsOf(append(out, k), v[k])
		}
	}
	return out
}

// hidden lists the characters of a text that people do not see, with their numbers.
func hidden(text string) (out []string) {
	n := map[rune]int{}
	for _, r := range text {
		if !unicode.IsPrint(r) && r != '\n' && r != '\t' && r != '\r' {
			n[r]++
		}
	}
	for _, r := range slices.Sorted(maps.Keys(n)) {
		out = append(out, fmt.Sprintf("%U (%d)", r, n[r]))
	}
	return out
}

// mentions lists other tools that a text names: the server's own, and those that
// agents have, unless an ordinary word is their name.
func (d *drafter) mentions(t *Tool, text string) (out []string) {
	words := map[string]bool{}
	for _, w := range strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' && r != '-' }) {
		words[w] = true
	}
	names := slices.Clone(d.known)
	for i := range d.tools {
		names = append(names, d.tools[i].Name)
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if name != t.Name && words[name] && distinct(name) && !slices.Contains(t.args, name) {
			out = append(out, strconv.Quote(name))
		}
	}
	return out
}

// distinct reports whether a name is no ordinary word: it has a separator, or a
// capital letter behind its first.
func distinct(name string) bool {
	return len(name) > 3 && (strings.ContainsAny(name, "_-") || strings.ToLower(name[1:]) != name[1:])
}

// knownNames are the tools of the agents and servers that packs come with.
var knownNames = sync.OnceValue(func() (out []string) {
	for _, name := range pack.Names() {
		p, err := pack.Builtin(name)
		if err != nil || p.Kind == pack.Suite {
			continue
		}
		for i := range p.Tools {
			out = append(out, p.Tools[i].Name)
		}
	}
	return out
})
