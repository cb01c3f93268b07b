package main

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// planted is a throw-away secret.
type planted struct {
	Format string // what it looks like, for the record
	Value  string
}

const (
	lower  = "abcdefghijklmnopqrstuvwxyz"
	upper  = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	digits = "0123456789"
	alnum  = upper + lower + digits
	hexa   = "0123456789abcdef"
	base32 = upper + "234567"
)

// formats are how the throw-away secrets look: a pattern of literals and of
// {set:n} for n random characters. The values exist in no service.
var formats = []struct{ name, pattern string }{
	{"GitHub personal access token", "ghp" + "_{alnum:36}"},
	{"GitLab personal access token", "glpat" + "-{alnum:20}"},
	{"AWS access key id", "AKIA" + "{base32:16}"},
	{"Slack bot token", "xoxb" + "-{digits:12}-{digits:12}-{alnum:24}"},
	{"Stripe live key", "sk_live" + "_{alnum:24}"},
	{"npm token", "npm" + "_{alnum:36}"},
	{"Hugging Face token", "hf" + "_{lower:34}"},
	{"DigitalOcean token", "dop_v1" + "_{hex:64}"},
	{"Google API key", "AIza" + "{alnum:35}"},
	{"SendGrid key", "SG" + ".{alnum:22}.{alnum:43}"},
	{"Shopify token", "shpat" + "_{hex:32}"},
	{"Databricks token", "dapi" + "{hex:32}"},
	{"32 base16 digits", "{hex:32}"},
	{"40 base16 digits", "{hex:40}"},
	{"UUID", "{hex:8}-{hex:4}-4{hex:3}-8{hex:3}-{hex:12}"},
	{"24 letters and digits", "{alnum:24}"},
	{"16 letters and digits", "{alnum:16}"},
	{"12 letters and digits", "{alnum:12}"},
	{"licence key", "{upper:5}-{digits:5}-{upper:5}-{digits:5}"},
	{"in-house prefix", "acme_live_{alnum:20}"},
	{"made-up words", "{word:4}-{word:3}-{word:4}-{digits:3}"},
	{"made-up words, short", "{word:3}-{word:3}-{digits:2}"},
	{"password with punctuation", "{alnum:4}!{alnum:3}#{alnum:4}_{digits:2}"},
	{"base64 with padding", "{alnum:21}+{alnum:12}/{alnum:8}="},
	{"capital words", "{Word:3}{Word:3}{Word:2}{digits:4}"},
	{"dotted", "{lower:6}.{digits:4}.{lower:8}"},
}

// secrets returns one secret of each format, the same for the same seed.
func secrets(seed uint64) []planted {
	r := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // a record must be the same when it is made again; the values protect nothing
	var out []planted
	for _, f := range formats {
		out = append(out, planted{f.name, generate(r, f.pattern)})
	}
	return out
}

func generate(r *rand.Rand, pattern string) string {
	sets := map[string]string{"lower": lower, "upper": upper, "digits": digits, "alnum": alnum, "hex": hexa, "base32": base32}
	var b strings.Builder
	for pattern != "" {
		literal, rest, more := strings.Cut(pattern, "{")
		b.WriteString(literal)
		if !more {
			break
		}
		spec, after, _ := strings.Cut(rest, "}")
		name, count, _ := strings.Cut(spec, ":")
		n := 0
		if _, err := fmt.Sscan(count, &n); err != nil {
			panic("llm: a format's pattern is wrong: " + spec)
		}
		for i := range n {
			switch name {
			case "word", "Word":
				syllable := string("bdfgklmnprstvz"[r.IntN(14)]) + string("aeiou"[r.IntN(5)])
				if name == "Word" && i == 0 {
					syllable = strings.ToUpper(syllable[:1]) + syllable[1:]
				}
				b.WriteString(syllable)
			default:
				b.WriteByte(sets[name][r.IntN(len(sets[name]))])
			}
		}
		pattern = after
	}
	return b.String()
}
