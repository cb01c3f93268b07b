package world

import (
	"embed"
	"fmt"
	"strings"
)

//go:embed text/*.txt
var files embed.FS

// templates are lines of text under headings; a block that begins with ```
// goes on to the line that ends it.
type templates map[string][]string

// lexicon is a domain's vocabulary, in the same form.
type lexicon = templates

func load(name string) templates {
	b, err := files.ReadFile("text/" + name + ".txt")
	if err != nil {
		panic(err)
	}
	t := templates{}
	head, block := "", []string(nil)
	for _, l := range strings.Split(strings.TrimSpace(string(b)), "\n") {
		switch {
		case block != nil:
			block = append(block, l)
			if l == "```" {
				t[head] = append(t[head], strings.Join(block, "\n"))
				block = nil
			}
		case strings.HasPrefix(l, "```"):
			block = []string{l}
		case strings.HasPrefix(l, "[") && strings.HasSuffix(l, "]") && !strings.Contains(l, " "):
			head = l[1 : len(l)-1]
		default:
			t[head] = append(t[head], l)
		}
	}
	return t
}

var (
	prompts = load("prompts")
	agents  = load("agents")
	values  = load("values")
)

var (
	days   = []string{"Monday", "Tuesday", "Wednesday", "Thursday", "Friday"}
	places = []string{"production", "staging", "the test environment", "the backup site"}
	kinds  = []string{"review", "routine change", "handover", "small repair", "dry run"}
)

// fill fills the names in braces of a template. Every slot that occurs is
// drawn anew, apart from those given.
func (r *Repository) fill(d draw, template string, given map[string]string) string {
	var b strings.Builder
	for {
		i := strings.IndexByte(template, '{')
		if i < 0 {
			break
		}
		n := strings.IndexByte(template[i:], '}')
		if n < 0 {
			break
		}
		name := template[i+1 : i+n]
		b.WriteString(template[:i])
		if strings.Trim(name, "abcdefghijklmnopqrstuvwxyz_") != "" || name == "" {
			b.WriteByte('{') // a brace of the text's own
			template = template[i+1:]
			continue
		}
		b.WriteString(r.slot(d, name, given))
		template = template[i+n+1:]
	}
	b.WriteString(template)
	return b.String()
}

func (r *Repository) slot(d draw, name string, given map[string]string) string {
	if v, ok := given[name]; ok {
		return v
	}
	switch name {
	case "file":
		return pick(d, r.docs).title
	case "path":
		return "src/" + pick(d, r.lex["word"]) + pick(d, []string{".py", ".go", "/main.ts", "/handler.py"})
	case "env":
		return pick(d, places)
	case "day":
		return pick(d, days)
	case "kindoftask":
		return pick(d, kinds)
	case "time":
		return fmt.Sprintf("%02d:%02d", d.IntN(24), d.IntN(60))
	case "ticket":
		return fmt.Sprintf("%s-%d", map[string]string{"healthcare": "CLIN", "payments": "PAY"}[r.Name], d.between(100, 9999))
	case "n":
		return fmt.Sprint(d.between(12, 4000))
	case "small":
		return fmt.Sprint(d.between(2, 9))
	case "pct":
		return fmt.Sprintf("%d.%d", d.IntN(40), d.IntN(10))
	}
	if of, ok := r.lex[name]; ok {
		return pick(d, of)
	}
	panic("no such slot: " + name)
}
