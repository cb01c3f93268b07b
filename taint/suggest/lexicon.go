package suggest

import (
	_ "embed" // the lists of words
	"strings"
	"sync"
)

//go:embed lexicon.txt
var lexiconText string

// lexicon maps words to the lists that they are in, a bit each.
type lexicon struct {
	verbs, nouns, args, domains map[string]uint32
	reads                       uint32 // the list of verbs that read
	// Names of lists, by bit.
	verb, noun, arg, domain []string
}

var words = sync.OnceValue(func() *lexicon {
	l := &lexicon{verbs: map[string]uint32{}, nouns: map[string]uint32{}, args: map[string]uint32{}, domains: map[string]uint32{}}
	for line := range strings.Lines(lexiconText) {
		head, list, ok := strings.Cut(strings.TrimSpace(line), ": ")
		kind, name, two := strings.Cut(head, " ")
		if !ok || !two || strings.HasPrefix(line, "#") {
			continue
		}
		into, names := l.verbs, &l.verb
		switch kind {
		case "noun":
			into, names = l.nouns, &l.noun
		case "arg":
			into, names = l.args, &l.arg
		case "domain":
			into, names = l.domains, &l.domain
		}
		*names = append(*names, name)
		if kind == "verb" && name == "read" {
			l.reads = 1 << (len(*names) - 1)
		}
		for _, w := range strings.Fields(list) {
			into[stem(w)] |= 1 << (len(*names) - 1)
		}
	}
	return l
})

// claims are words by which a text says of itself that it is harmless. They are no
// feature: whoever writes the text can write them.
var claims = set("only readonly safe safely harmless side effect effects non nondestructive destructive idempotent never not without any no modify modified mutate mutation trusted secure benign passive pure")

// set makes a set of words as the splitter makes them.
func set(words string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(words) {
		m[stem(w)] = true
	}
	return m
}

// schema are the words of JSON Schema and of the members around it, which say
// nothing of a tool.
var schema = func() map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields("type object string integer number boolean array null properties required items description additionalProperties $schema $ref $defs definitions default enum const anyOf oneOf allOf not format title minimum maximum exclusiveMinimum exclusiveMaximum minLength maxLength minItems maxItems uniqueItems pattern propertyNames examples nullable name inputSchema input_schema parameters function strict annotations readOnlyHint destructiveHint idempotentHint openWorldHint cache_control ephemeral custom true false") {
		m[w] = true
	}
	return m
}()
