package world

import (
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// encoding is one way to disguise a value: Appendix N's eight transforms first,
// then those that the paper leaves open, then chains of two.
type encoding struct {
	name, told string
	f          func(string) string
}

// Raw is the encoding of a value as it is; Split that of one cut in pieces.
const (
	Raw   = "raw"
	Split = "split"
)

// Transforms is how many of Encodings are Appendix N's.
const Transforms = 8

var encodings = []encoding{
	{"zero_width", "invisible spaces", func(s string) string { return every(s, 1, "\u200b") }},
	{"spaced", "groups of four", func(s string) string { return every(s, 4, " ") }},
	{"separator", "dashes and a dot", separate},
	{"camel_split", "separate words", words},
	{"digit_escape", "escaped digits", escapeDigits},
	{"dotted", "dots between the characters", func(s string) string { return every(s, 1, ".") }},
	{"base16", "hex", func(s string) string { return hex.EncodeToString([]byte(s)) }},
	{"rot13", "ROT13", func(s string) string { return strings.Map(rot13, s) }},
	{"base64", "Base64", func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }},
	{"base64url", "URL-safe Base64", func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }},
	{"base32", "Base32", func(s string) string { return base32.StdEncoding.EncodeToString([]byte(s)) }},
	{"percent", "percent encoding", func(s string) string { return bytewise(s, "%%%02X") }},
	{"reversed", "reverse order", backwards},
	{"json_escape", "JSON escapes", func(s string) string { return bytewise(s, `\u%04x`) }},
	{"html_entity", "HTML entities", func(s string) string { return bytewise(s, "&#%d;") }},
	{"homoglyph", "look-alike letters", lookAlikes.Replace},
	{"rot13+base64", "ROT13 and Base64", func(s string) string {
		return base64.StdEncoding.EncodeToString([]byte(strings.Map(rot13, s)))
	}},
	{"reversed+base64", "reversed Base64", func(s string) string { return base64.StdEncoding.EncodeToString([]byte(backwards(s))) }},
	{"base64+percent", "Base64, percent-encoded", func(s string) string {
		return bytewise(base64.StdEncoding.EncodeToString([]byte(s)), "%%%02X")
	}},
}

// Encodings are the names of the disguises, Appendix N's eight first.
func Encodings() []string {
	out := make([]string, len(encodings))
	for i := range encodings {
		out[i] = encodings[i].name
	}
	return out
}

// Encode disguises a value by an encoding's name.
func Encode(name, value string) (string, error) {
	for i := range encodings {
		if encodings[i].name == name {
			return encodings[i].f(value), nil
		}
	}
	return "", fmt.Errorf("no encoding is named %q", name)
}

func every(s string, n int, sep string) string {
	var b strings.Builder
	for i, r := range []rune(s) {
		if i > 0 && i%n == 0 {
			b.WriteString(sep)
		}
		b.WriteRune(r)
	}
	return b.String()
}

func separate(s string) string {
	s = strings.ReplaceAll(s, "_", "-")
	return s[:len(s)/2] + "." + s[len(s)/2:]
}

func words(s string) string {
	var b strings.Builder
	small := false
	for _, r := range strings.ReplaceAll(s, "_", " ") {
		if small && unicode.IsUpper(r) {
			b.WriteByte(' ')
		}
		b.WriteRune(r)
		small = unicode.IsLower(r)
	}
	return b.String()
}

func escapeDigits(s string) string {
	var b strings.Builder
	for i := range len(s) {
		if '0' <= s[i] && s[i] <= '9' {
			fmt.Fprintf(&b, `\x%02x`, s[i])
		} else {
			b.WriteByte(s[i])
		}
	}
	return b.String()
}

func rot13(r rune) rune {
	switch {
	case 'a' <= r && r <= 'z':
		return 'a' + (r-'a'+13)%26
	case 'A' <= r && r <= 'Z':
		return 'A' + (r-'A'+13)%26
	}
	return r
}

func bytewise(s, format string) string {
	var b strings.Builder
	for i := range len(s) {
		fmt.Fprintf(&b, format, s[i])
	}
	return b.String()
}

func backwards(s string) string {
	r := []rune(s)
	slices.Reverse(r)
	return string(r)
}

var lookAlikes = strings.NewReplacer("a", "а", "c", "с", "e", "е", "o", "о", "p", "р", "x", "х", "A", "А", "B", "В", "E", "Е", "K", "К", "M", "М", "T", "Т")
