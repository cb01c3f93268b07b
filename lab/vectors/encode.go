package vectors

import (
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode"
)

// encoding is one way to disguise a value. The encoders are written apart
// from the detectors, so that neither defines what the other is held to.
type encoding struct {
	name string
	f    func(string) string
}

// encodings is the closed list that the suite reports on. In a chain the
// first one is applied first.
var encodings = func() []encoding {
	one := []encoding{
		{"raw", func(s string) string { return s }},
		{"zero_width", func(s string) string { return between(s, "\u200b", 1) }},
		{"spaced", func(s string) string { return between(s, " ", 4) }},
		{"separator", separator},
		{"camel_split", camelSplit},
		{"digit_escape", digitEscape},
		{"dotted", func(s string) string { return between(s, ".", 1) }},
		{"base16", func(s string) string { return hex.EncodeToString([]byte(s)) }},
		{"base32", func(s string) string { return base32.StdEncoding.EncodeToString([]byte(s)) }},
		{"base64", func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }},
		{"base64url", func(s string) string { return base64.URLEncoding.EncodeToString([]byte(s)) }},
		{"percent", func(s string) string { return each(s, "%%%02X") }},
		{"rot13", rot13},
		{"reversed", reverse},
		{"json_escape", func(s string) string { return each(s, `\u%04x`) }},
		{"unicode_escape", func(s string) string { return each(s, `\u{%x}`) }},
		{"html_entity", func(s string) string { return each(s, "&#%d;") }},
		{"homoglyph", homoglyph},
	}
	by := map[string]func(string) string{}
	for _, e := range one {
		by[e.name] = e.f
	}
	// Escaping what is already plain ASCII changes only what must be escaped.
	by["percent_min"] = url.QueryEscape
	for _, c := range [][2]string{
		{"base64", "percent"},
		{"base16", "spaced"},
		{"rot13", "base64"},
		{"reversed", "base64"},
		{"json_escape", "base64"},
		{"zero_width", "base16"},
		{"percent", "percent"},
		{"base64", "base64"},
	} {
		first, second := by[c[0]], by[c[1]]
		one = append(one, encoding{c[0] + "+" + c[1], func(s string) string { return second(first(s)) }})
	}
	return one
}()

// between puts sep after every n characters.
func between(s, sep string, n int) string {
	var b strings.Builder
	for i, r := range []rune(s) {
		if i > 0 && i%n == 0 {
			b.WriteString(sep)
		}
		b.WriteRune(r)
	}
	return b.String()
}

// each writes every byte by a format.
func each(s, format string) string {
	var b strings.Builder
	for i := range len(s) {
		fmt.Fprintf(&b, format, s[i])
	}
	return b.String()
}

// separator swaps underscores for dashes and puts a dot in the middle.
func separator(s string) string {
	r := []rune(strings.ReplaceAll(s, "_", "-"))
	return string(r[:len(r)/2]) + "." + string(r[len(r)/2:])
}

// camelSplit splits at underscores and where a small letter meets a capital.
func camelSplit(s string) string {
	var b strings.Builder
	var last rune
	for _, r := range s {
		switch {
		case r == '_':
			r = ' '
		case unicode.IsLower(last) && unicode.IsUpper(r):
			b.WriteByte(' ')
		}
		b.WriteRune(r)
		last = r
	}
	return b.String()
}

// digitEscape writes digits as \x3d escapes.
func digitEscape(s string) string {
	var b strings.Builder
	for i := range len(s) {
		if s[i] >= '0' && s[i] <= '9' {
			fmt.Fprintf(&b, `\x%02x`, s[i])
			continue
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

func rot13(s string) string {
	b := []byte(s)
	for i, c := range b {
		switch {
		case c >= 'a' && c <= 'z':
			b[i] = 'a' + (c-'a'+13)%26
		case c >= 'A' && c <= 'Z':
			b[i] = 'A' + (c-'A'+13)%26
		}
	}
	return string(b)
}

func reverse(s string) string {
	r := []rune(s)
	slices.Reverse(r)
	return string(r)
}

// homoglyph writes some letters in Cyrillic, Greek or fullwidth.
func homoglyph(s string) string {
	return strings.NewReplacer("a", "а", "c", "с", "e", "е", "o", "ο", "p", "р", "x", "х", "y", "у", "A", "Α", "B", "В", "E", "Ｅ", "H", "Н", "K", "К",
		"M", "М", "O", "Ο", "P", "Р", "T", "Т", "X", "Ｘ", "5", "５", "7", "７").Replace(s)
}
