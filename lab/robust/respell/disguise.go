package respell

import (
	"fmt"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// each writes a text rune by rune.
func each(name string, of func(i int, r rune) string) form {
	return form{name: name, solid: true, write: func(v *value) string {
		var b strings.Builder
		i := 0
		for _, r := range v.text {
			b.WriteString(of(i, r))
			i++
		}
		return b.String()
	}}
}

func onlyASCII(of func(i int, r rune) string) func(i int, r rune) string {
	return func(i int, r rune) string {
		if r > unicode.MaxASCII {
			return string(r)
		}
		return of(i, r)
	}
}

// cyrillic are letters that look like Latin ones.
var cyrillic = strings.NewReplacer("a", "а", "e", "е", "o", "о", "p", "р", "c", "с", "A", "А", "B", "В", "E", "Е", "K", "К", "M", "М", "H", "Н", "O", "О", "T", "Т")

// disguises are forms of values of all fields: case, spaces, invisible
// characters, other digits and the escapes of formats.
var disguises = []form{
	ofText("case-upper", strings.ToUpper),
	ofText("case-lower", strings.ToLower),
	ofText("nbsp-spaces", func(s string) string { return strings.ReplaceAll(s, " ", "\u00a0") }),
	ofText("double-spaces", func(s string) string { return strings.ReplaceAll(s, " ", "  ") }),
	ofText("bold", func(s string) string { return "**" + s + "**" }),
	ofText("other-hyphen", func(s string) string { return strings.ReplaceAll(s, "-", "‑") }),
	ofText("decomposed", norm.NFD.String),
	{name: "lookalikes", solid: true, write: func(v *value) string { return cyrillic.Replace(v.text) }},
	each("zero-width", func(i int, r rune) string {
		if i%3 == 2 {
			return "\u200b" + string(r)
		}
		return string(r)
	}),
	each("soft-hyphens", func(i int, r rune) string {
		if i%4 == 3 {
			return "\u00ad" + string(r)
		}
		return string(r)
	}),
	each("full-width", onlyASCII(func(_ int, r rune) string {
		if r > ' ' && r < 0x7f {
			return string(r - '!' + '！')
		}
		return string(r)
	})),
	each("full-width-digits", func(_ int, r rune) string {
		if r >= '0' && r <= '9' {
			return string(r - '0' + '０')
		}
		return string(r)
	}),
	each("arabic-digits", func(_ int, r rune) string {
		if r >= '0' && r <= '9' {
			return string(r - '0' + '٠')
		}
		return string(r)
	}),
	each("bold-digits", func(_ int, r rune) string {
		if r >= '0' && r <= '9' {
			return string(r - '0' + '𝟎')
		}
		return string(r)
	}),
	each("entities", func(_ int, r rune) string { return fmt.Sprintf("&#%d;", r) }),
	each("entities-hex", func(i int, r rune) string {
		if i%2 == 0 {
			return fmt.Sprintf("&#x%x;", r)
		}
		return string(r)
	}),
	each("percent", func(_ int, r rune) string {
		if isWord(r) && r < unicode.MaxASCII {
			return string(r)
		}
		var out string
		for _, b := range []byte(string(r)) {
			out += fmt.Sprintf("%%%02X", b)
		}
		return out
	}),
	each("percent-all", func(_ int, r rune) string {
		var out string
		for _, b := range []byte(string(r)) {
			out += fmt.Sprintf("%%%02x", b)
		}
		return out
	}),
	each("json-escapes", func(i int, r rune) string {
		if r > 0xffff || i%2 == 1 {
			return string(r)
		}
		return fmt.Sprintf(`\u%04x`, r)
	}),
	each("plus-spaces", func(_ int, r rune) string {
		if r == ' ' {
			return "+"
		}
		return string(r)
	}),
}
