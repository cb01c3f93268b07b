package plausible

import (
	"bytes"
	_ "embed" // the words
	"regexp/syntax"
	"slices"
	"strings"
	"sync"

	"github.com/margaydev/margay/secret/rarity"
)

// name is what a value is called in the text before it: NAME=value, "name":
// "value", name -> value, a table's cell, "the name is value".
type name struct {
	words  []string // of the name, in lower case, the last eight at most
	ident  []byte   // the word before the separator, as written
	sep    byte     // '=', ':', '>' of an arrow, '|', or 0 in a sentence
	spaced bool     // there is a space before the separator
	quoted bool     // the value is in quotes
	named  bool     // the name is
	alone  bool     // the name starts its line
	item   bool     // the name starts an item of a list
	call   bool     // the value is the argument of a call of the name
}

// spelled matches what is between a name and a quoted value where neither a sign
// nor a verb is: two attributes of XML, a call, and a call without brackets that
// starts its line. A group marks where the name ends.
var spelled = expression(`(?i)(?:["']()[ \t]{1,3}value=|\w()[ \t]?\([ \t]?|(?:^|\n)[ \t]*[\w.]+()[ \t])["']$`)

// assigned rewrites such a text as if its value were assigned to its name.
func assigned(before []byte) (out []byte, call bool) {
	if len(before) == 0 || strings.IndexByte("\"'", before[len(before)-1]) < 0 {
		return before, false
	}
	at := spelled().re().FindSubmatchIndex(before)
	if at == nil {
		return before, false
	}
	end := max(at[2], at[4], at[6])
	return append(before[:end:end], `="`...), at[2] < 0
}

// accessors start the names of functions that are given the name of a secret, or
// something to compare it with.
var accessors = set("accessors")

// verbs separate a name and its value in a sentence.
var verbs = set("verbs")

// nameOf reads the name of a value from the text before it.
func nameOf(before []byte) name {
	var n name
	before, n.call = assigned(before)
	i := len(before)
	back := func(chars string) (moved bool) {
		for i > 0 && strings.IndexByte(chars, before[i-1]) >= 0 {
			i--
			moved = true
		}
		return moved
	}
	n.quoted = back("\"'`")
	back(" \t\n\\")
	if i > 0 && strings.IndexByte(":=>|", before[i-1]) >= 0 {
		n.sep = before[i-1]
		if back(":=>|") && n.sep == '>' {
			if before[i] == '=' {
				n.sep = '='
			}
			back("-")
		}
		n.spaced = back(" \t")
	}
	if n.sep == 0 {
		i = len(withoutVerbs(before[:i]))
	}
	n.named = back("\"'`")
	end := i
	for i > 0 && !endsPhrase(before, i-1) {
		i--
	}
	phrase := before[i:end]
	if bytes.HasPrefix(phrase, []byte("- ")) {
		i, phrase = i+1, phrase[2:]
	}
	start := bytes.TrimRight(before[:i], " \t\"'`")
	n.alone = len(start) == 0 || start[len(start)-1] == '\n'
	if at := bytes.LastIndexByte(start, '\n') + 1; !n.alone && len(start) == at+1 {
		n.item = start[at] == '-' || start[at] == '*'
	}
	at := len(phrase)
	for at > 0 && (syntax.IsWordChar(rune(phrase[at-1])) || phrase[at-1] == '-' || phrase[at-1] == '.') {
		at--
	}
	n.ident = phrase[at:]
	n.words = wordsOf(phrase)
	return n
}

// endsPhrase reports whether a name can't go on to the left over byte i.
func endsPhrase(b []byte, i int) bool {
	if strings.IndexByte("\n\r\t,;:=|(){}[]<>\"'`!?/\\&#@*$", b[i]) >= 0 {
		return true
	}
	return b[i] == '.' && i+1 < len(b) && b[i+1] == ' '
}

func withoutVerbs(phrase []byte) []byte {
	for {
		phrase = bytes.TrimRight(phrase, " ,;")
		at := bytes.LastIndexAny(phrase, " \"'`") + 1
		if !verbs()[strings.ToLower(string(phrase[at:]))] {
			return phrase
		}
		phrase = phrase[:at]
	}
}

// wordsOf splits a phrase at what is not a letter or digit, and camelCase at its
// capitals.
func wordsOf(phrase []byte) []string {
	var out []string
	for i := len(phrase); i > 0 && len(out) < 8; {
		for i > 0 && rarity.Class(phrase[i-1]) == 'p' {
			i--
		}
		end := i
		for i > 0 && rarity.Class(phrase[i-1]) != 'p' {
			i--
			lower := i > 0 && phrase[i-1] >= 'a' && phrase[i-1] <= 'z'
			if phrase[i] >= 'A' && phrase[i] <= 'Z' && (lower || endsAcronym(phrase, i)) {
				break
			}
		}
		if i < end {
			out = append(out, strings.ToLower(string(phrase[i:end])))
		}
	}
	slices.Reverse(out)
	return out
}

// endsAcronym reports whether a word starts at the capital i, behind one in
// capitals: the P of DBPass.
func endsAcronym(phrase []byte, i int) bool {
	small := func(c byte) bool { return c >= 'a' && c <= 'z' }
	return i > 0 && phrase[i-1] >= 'A' && phrase[i-1] <= 'Z' && i+2 < len(phrase) && small(phrase[i+1]) && small(phrase[i+2])
}

//go:embed words.txt
var file string

// lists are the lists of words.txt, by their names.
var lists = sync.OnceValue(func() map[string]map[string]bool {
	out := map[string]map[string]bool{}
	var list map[string]bool
	for line := range strings.Lines(file) {
		if name, ok := strings.CutSuffix(strings.TrimSpace(line), ":"); ok {
			list = map[string]bool{}
			out[name] = list
		} else if !strings.HasPrefix(line, "#") {
			for w := range strings.FieldsSeq(line) {
				list[w] = true
			}
		}
	}
	return out
})

// set returns a list that is read when it is first asked for: most processes
// look at no text.
func set(list string) func() map[string]bool {
	return sync.OnceValue(func() map[string]bool { return lists()[list] })
}

var (
	// trailing words say nothing about what is named.
	trailing = set("trailing")
	// notSecret ends names of what describes a secret, not of secrets.
	notSecret = set("not-secret")
	// publicKeys are the words before "key" that name no secret.
	publicKeys = set("public-keys")
	// publicTokens are the words before "token" that name no secret.
	publicTokens = set("public-tokens")
	// references are words in the names of what is public, though random.
	references = set("references")
)

// last returns the name's last word that says what is named, and the word
// before it.
func (n *name) last() (last, before string) {
	w := n.words
	for len(w) > 1 && (trailing()[w[len(w)-1]] || allDigits(w[len(w)-1])) {
		w = w[:len(w)-1]
	}
	switch len(w) {
	case 0:
		return "", ""
	case 1:
		return w[0], ""
	}
	return w[len(w)-1], w[len(w)-2]
}

// public reports whether the name is that of a thing that is not secret, though
// "key", "token" or "password" is a part of it.
func (n *name) public() bool {
	last, before := n.last()
	if before == "public" || before == "pub" || n.call && len(n.words) > 1 && anyOf(n.words[:len(n.words)-1], accessors()) {
		return true
	}
	switch last {
	case "key", "keys":
		return publicKeys()[before]
	case "token", "tokens":
		return publicTokens()[before]
	case "id":
		return before != "session" && before != "secret" // a Vault secret_id is one
	case "hash":
		return !strings.HasPrefix(before, "pass") && before != "pwd"
	case "login":
		return before == ""
	}
	return notSecret()[last]
}

// reference reports whether the name is one under which random characters
// are public: identifiers, digests, pictures.
func (n *name) reference() bool {
	w := n.words
	if len(w) == 0 || len(n.ident) < 3 {
		return true
	}
	return anyOf(w[max(0, len(w)-3):], references()) || n.public()
}

// data reports whether the name is where programs keep their settings and
// print their tables, not in a sentence or an expression.
func (n *name) data() bool {
	switch {
	case n.sep == 0:
		return false
	case n.upper():
		return n.sep != '=' || !n.spaced || n.quoted
	case n.sep == '>' || n.sep == '|':
		return bytes.ContainsAny(n.ident, "_-.")
	case n.quoted:
		return true
	}
	return (n.sep == ':' || n.alone) && bytes.ContainsAny(n.ident, "_-")
}

// upper reports whether the name is written as environment variables are.
func (n *name) upper() bool {
	letters := 0
	for _, c := range n.ident {
		if c >= 'a' && c <= 'z' {
			return false
		}
		if c >= 'A' && c <= 'Z' {
			letters++
		}
	}
	return letters >= 3
}

// anyOf reports whether one of some words is in a set.
func anyOf(words []string, set map[string]bool) bool {
	return slices.ContainsFunc(words, func(w string) bool { return set[w] })
}

func allDigits(s string) bool { return strings.Trim(s, "0123456789") == "" }

// NamesPublic reports whether a value has the name of something public by what
// precedes it: of a digest, a revision, an identifier, a serial number. No
// word of the name is one that secrets have.
func NamesPublic(before []byte) bool {
	n := nameOf(before)
	return len(n.words) > 0 && len(n.ident) >= 3 && !anyOf(n.words, secretWords()) && anyOf(n.words[max(0, len(n.words)-3):], identifying())
}

// identifying are words in the names of digests, revisions, identifiers and
// serial numbers: of the references, those that leave no doubt.
var identifying = set("identifying")

// secretWords are words in the names of secrets.
var secretWords = set("secret-words")
