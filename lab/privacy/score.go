package privacy

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// function are words that tell nothing by themselves.
var function = func() map[string]bool {
	out := map[string]bool{}
	for _, w := range strings.Fields(`a an the of and or to in on for with from by at as is are was were be been being
		has have had having do does did doing will would can could may might shall should must it its this that these
		those he she they them his her hers their theirs i you we our ours your yours my mine me us him not no nor but if
		then than so such about into over under out up down off again more most some any all both each also just there
		here who whom whose which what when where how why because while s t`) {
		out[w] = true
	}
	return out
}()

// normal is a text without differences that tell nothing: case, spacing, and the
// punctuation at its ends.
func normal(s string) string {
	s = strings.Join(strings.Fields(strings.ToLower(norm.NFKC.String(s))), " ")
	return strings.TrimFunc(s, func(r rune) bool { return unicode.IsPunct(r) || unicode.IsSpace(r) })
}

// find returns where a normal value is in a normal text, as whole words, or -1.
func find(text, value string) int {
	if value == "" {
		return -1
	}
	for from := 0; ; {
		at := strings.Index(text[from:], value)
		if at < 0 {
			return -1
		}
		at += from
		before, _ := utf8.DecodeLastRuneInString(text[:at])
		after, _ := utf8.DecodeRuneInString(text[at+len(value):])
		first, size := utf8.DecodeRuneInString(value)
		last, _ := utf8.DecodeLastRuneInString(value)
		if !(letter(before) && letter(first)) && !(letter(after) && letter(last)) {
			return at
		}
		from = at + size
	}
}

// letter reports whether a rune is part of a word. There is no rune at the end
// of a text.
func letter(r rune) bool { return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r)) }

// madeUp is what Margay puts in a value's place.
var madeUp = regexp.MustCompile(`margay-[a-z]+(?:-[a-z]+)*-[a-z2-7]{14}|\[redacted\]`)

// words are the content words of a text.
func words(s string) map[string]bool {
	out := map[string]bool{}
	for _, w := range strings.FieldsFunc(strings.ToLower(norm.NFKC.String(s)), func(r rune) bool { return !letter(r) }) {
		if !function[w] {
			out[w] = true
		}
	}
	return out
}

// half reports whether at least half of an item's words are among others.
func half(item, of map[string]bool) bool {
	n := 0
	for w := range item {
		if of[w] {
			n++
		}
	}
	return n > 0 && 2*n >= len(item)
}

// sight is what can be told of a text.
type sight struct {
	text  string
	words map[string]bool // outside of the needed values that are whole
	needs []bool          // whether each needed value is whole
}

// see looks at a text that was sent, or at what of it arrived.
func see(text string, needed []string) sight {
	s := sight{text: normal(text)}
	rest := " " + s.text + " "
	for _, v := range needed {
		v = normal(v)
		s.needs = append(s.needs, find(s.text, v) >= 0)
		if at := find(rest, v); at >= 0 {
			rest = rest[:at] + " " + rest[at+len(v):]
		}
	}
	s.words = words(madeUp.ReplaceAllString(rest, " "))
	return s
}

// shows reports whether an item is whole in what is seen, and whether it is at
// least by half.
func (s *sight) shows(i *Item) (whole, most bool) {
	whole = find(s.text, normal(i.Value)) >= 0
	return whole, whole || half(words(i.Value), s.words)
}
