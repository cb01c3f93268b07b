package gateway

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/margaydev/margay/internal/strictjson"
	"github.com/margaydev/margay/monitor"
)

// A model's answers are made up of these: sentences, lists, code, output of
// programs. Few stretches of a text are alike, so that nothing that remembers one
// sentence fits the next.
var (
	nouns     = strings.Fields("committee river parser request budget garden engine morning contract failure window column teacher archive station signal harbour winter compiler message account village machine letter question branch record mountain server customer theory bridge painting method island library kitchen forest journal network surface language student product market engineer captain")
	verbs     = strings.Fields("describes returns follows measures opens repeats explains changes keeps reads writes answers breaks collects prefers ignores carries builds counts waits reaches moves covers replaces supports compares remembers")
	adjective = strings.Fields("small quiet remote usual broken heavy early public narrow careful cold empty modern strict slow curious large local simple grey partial bright recent")
	openers   = strings.Fields("However Then Because Although Today Meanwhile First Finally Still Perhaps Often Nevertheless")
	idents    = strings.Fields("count index buffer total items reader err result value next offset limit names cache state user path size config handler")
)

// sentence writes one of several kinds.
func sentence(r *rand.Rand) string {
	pick := func(from []string) string { return from[r.IntN(len(from))] }
	a, b, c, n := pick(idents), pick(idents), pick(idents), r.IntN(4000)
	switch r.IntN(12) {
	case 0:
		return fmt.Sprintf("\n\n```go\nfunc %s%s(%s []int) (%s int, err error) {\n\tfor i, v := range %s {\n\t\tif v > %d {\n\t\t\treturn i, nil\n\t\t}\n\t\t%s += v\n\t}\n\treturn %s, errors.New(\"no %s\")\n}\n```\n\n", a, strings.ToUpper(c[:1])+c[1:], b, c, b, n, c, c, pick(nouns))
	case 1:
		return fmt.Sprintf("\n    %s = [%s for %s in %s if len(%s) > %d]\n    print(f\"{%s}: {%s}\")\n", a, b, b, c, b, n%20, a, c)
	case 2:
		return fmt.Sprintf("\n- **%s**: the %s %s the %s (%d of %d)\n- `%s.%s(%s)`\n", pick(nouns), pick(nouns), pick(verbs), pick(nouns), n%17, n, a, b, c)
	case 3:
		return fmt.Sprintf("\n{\"%s\": %d, \"%s\": \"%s %s\", \"%s\": [true, null, %d.5]}\n", a, n, b, pick(adjective), pick(nouns), c, n%90)
	case 4:
		return fmt.Sprintf("See https://example.com/%s/%s-%d?%s=%d for the %s. ", pick(nouns), pick(nouns), n, a, n%50, pick(nouns))
	case 5:
		return fmt.Sprintf("%s, “%s” isn’t the %s — die Brücke über den Fluß, 図書館 — and it costs €%d. ", pick(openers), pick(nouns), pick(nouns), n)
	default:
		return fmt.Sprintf("%s the %s %s %s a %s %s, and the %s of the %s %s it in %d. ", pick(openers), pick(adjective), pick(nouns), pick(verbs), pick(adjective), pick(nouns), pick(nouns), pick(nouns), pick(verbs), 1900+n%140)
	}
}

// tokens makes a long text, cut as a tokenizer cuts, each piece as JSON.
func tokens(seed uint64, n int) [][]byte {
	r := rand.New(rand.NewPCG(seed, 5))
	var out [][]byte
	for len(out) < n {
		for text := sentence(r); text != ""; {
			k := monitor.NextPiece(text)
			out = append(out, strictjson.AppendQuote(nil, []byte(text[:k])))
			text = text[k:]
		}
	}
	return out
}

// prose makes a text of about so many bytes.
func prose(r *rand.Rand, size int) string {
	var b strings.Builder
	for b.Len() < size {
		b.WriteString(sentence(r))
	}
	return b.String()
}

// source is program text of at least a size.
func source(r *rand.Rand, size int) string {
	pick := func(from []string) string { return from[r.IntN(len(from))] }
	var b strings.Builder
	for b.Len() < size {
		a, c, n := pick(idents), pick(idents), r.IntN(4000)
		fmt.Fprintf(&b, "// %s%s %s the %s of the %s.\nfunc (p *%s) %s%s(%s []int, %s string) (%s int, err error) {\n", a, pick(nouns), pick(verbs), pick(nouns), pick(nouns), pick(nouns), a, pick(nouns), c, pick(idents), a)
		for range 3 + r.IntN(9) {
			switch x, y := pick(idents), pick(idents); r.IntN(6) {
			case 0:
				fmt.Fprintf(&b, "\tfor i, v := range %s.%s {\n\t\tif v > %d {\n\t\t\treturn i, nil\n\t\t}\n\t}\n", x, y, n)
			case 1:
				fmt.Fprintf(&b, "\tif err := p.%s(%s, \"%s/%s\"); err != nil {\n\t\treturn 0, fmt.Errorf(\"%s %s: %%w\", err)\n\t}\n", y, x, pick(nouns), pick(nouns), pick(adjective), pick(nouns))
			case 2:
				fmt.Fprintf(&b, "\t%s := map[string]int{\"%s\": %d, \"%s\": 0x%x}\n", x, pick(nouns), n, pick(nouns), n)
			case 3:
				fmt.Fprintf(&b, "\tp.%s.%s = append(p.%s.%s, %s[%d:]...) // %s %s\n", x, y, x, y, c, n%50, pick(adjective), pick(nouns))
			case 4:
				fmt.Fprintf(&b, "\tassert.Equal(t, %d, len(%s.%s(\"%s-%d\")))\n", n, x, y, pick(nouns), n)
			default:
				fmt.Fprintf(&b, "\t%s, %s = %s.%s(%s), %s+%d\n", x, y, pick(idents), pick(verbs), x, y, n)
			}
		}
		b.WriteString("\treturn 0, nil\n}\n\n")
	}
	return b.String()
}
