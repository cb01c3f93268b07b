package corpus

import (
	"encoding/base64"
	"strings"
)

// Hostile is a text that makes a scanner work.
type Hostile struct {
	Name string // without commas and equals signs: it stands in slices
	Unit string // what is repeated, or what the text is
	fill func(*draw) error
}

// Text returns n bytes.
func (h Hostile) Text(n int, seed uint64) ([]byte, error) {
	return Corpus{Name: "hostile " + h.Name, fill: h.fill}.Text(n, seed)
}

// Attacks returns the hostile texts that no rule is needed for.
func Attacks() []Hostile {
	return []Hostile{
		// Runs that start at every character or separator and end nowhere.
		repeat("ip", "1.1.1.1."),
		repeat("domain", "a.a.a."),
		repeat("dashes", "1-1-1-"),
		repeat("colons", "1:1:1:"),
		repeat("digits", "4111 1111 1111 "),
		repeat("phone", "+1 (1) 1 "),
		repeat("iban", "GB82 WEST "),
		repeat("at", "@"),
		repeat("mail", "a@a.a@"),
		repeat("scheme", "://a:"),
		repeat("url", "https://a.a/"),
		repeat("slashes", "//"),
		{"alphanumeric", "letters and digits without a separator", func(d *draw) error { d.from(alphanum, 4096); return nil }},
		{"hex", "hexadecimal digits without a separator", func(d *draw) error { d.from(hexits, 4096); return nil }},
		repeat("letter", "a"),
		repeat("underscores", "_"),
		// Beginnings of credentials.
		repeat("jwt", "eyJ"),
		repeat("jwt-dots", "eyJ.eyJ."),
		repeat("aws", "AKIA"),
		repeat("github", "ghp_"),
		repeat("openai", "sk-"),
		repeat("pem", "-----BEGIN "),
		repeat("pem-header", "-----BEGIN RSA PRIVATE KEY-----\n"),
		repeat("password", "pw=pw="),
		repeat("passwords", "password=password="),
		repeat("key", "key: "),
		repeat("token", "token_token"),
		repeat("set", "set to "),
		{"json-short", "JSON with very many short keys", func(d *draw) error {
			d.addf("%q:%d,", d.some(lower, 1+d.IntN(2)), d.IntN(10))
			return nil
		}},
		{"json-secret", "JSON with very many keys that name secrets", func(d *draw) error {
			d.addf("%q:%q,", d.one([]string{"api_key", "token", "password", "client_secret", "authKey", "aws_secret", "pin"}), d.some(alphanum, 1+d.IntN(12)))
			return nil
		}},
		{"json-nested", "JSON strings in JSON strings", func(d *draw) error { d.add(`{"a":"{\"a\":\"{\\\"token\\\":`); return nil }},
		// Encodings inside encodings.
		repeat("percent", "%2525252525"),
		repeat("percent-letters", "%61%41%252561"),
		repeat("backslashes", `\`),
		repeat("backslash-u", `\u0061\\u0061`),
		repeat("entities", "&amp;"),
		repeat("entity-numbers", "&#97;&amp;#97;"),
		{"base64-nested", "base64 of base64 of text", func(d *draw) error {
			text := []byte(d.sentence() + d.sentence())
			for range 5 {
				text = base64.StdEncoding.AppendEncode(nil, text)
			}
			d.b = append(d.b, text...)
			return nil
		}},
		{"base64-words", "words of letters that are base64 of letters", func(d *draw) error {
			d.add(base64.StdEncoding.EncodeToString([]byte(d.sentence())) + " ")
			return nil
		}},
		{"hex-text", "hexadecimal of text", func(d *draw) error {
			for _, c := range []byte(d.sentence()) {
				d.addf("%02x", c)
			}
			return nil
		}},
		repeat("quoted-printable", "=61=3D61="),
		repeat("zero-width", "a\u200b"),
		repeat("full-width", "ａｐｉ＿ｋｅｙ＝"),
		repeat("combining", "a\u0301\u0301"),
		repeat("invalid", "\xc3\xff"),
		{"spaced", "letters apart", func(d *draw) error { d.from(alphanum, 1); d.add(" "); return nil }},
		{"reversed-case", "words whose case changes with each letter", func(d *draw) error {
			for i, c := range d.ident() {
				d.add([]func(string) string{strings.ToUpper, strings.ToLower}[i%2](string(c)))
			}
			d.add("=")
			return nil
		}},
		{"noise", "random bytes", func(d *draw) error {
			for range 4096 {
				d.b = append(d.b, byte(d.Uint32()))
			}
			return nil
		}},
	}
}

func repeat(name, unit string) Hostile {
	return Hostile{name, unit, func(d *draw) error { d.add(unit); return nil }}
}
