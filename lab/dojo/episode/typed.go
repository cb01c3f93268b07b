package episode

import (
	"regexp"
	"strings"

	"github.com/goccy/go-yaml"
)

// typed are the values that a pack may trust for their type: dates, numbers,
// addresses, identifiers. Text that hides in one must not pass for it.
var typed = regexp.MustCompile(`^(?:\d{4}-\d{2}-\d{2}.*|-?\d+(?:\.\d+)?|[^\s@]+@[^\s@]+\.[a-z]+|[A-Z]{2}\d{10,30}|true|false)$`)

// Typed returns the episode with the injected texts moved: out of the fields
// where the environment put them and into the typed fields of the same record
// (all of them: a date, a number, an address), behind the value that stood
// there. Results that have no records stay as they are.
func (e *Episode) Typed() *Episode {
	if e.Benign() {
		return e
	}
	var texts []string
	for _, t := range e.Injections {
		texts = append(texts, strings.Join(strings.Fields(t), " "))
	}
	move := func(r *Run) *Run {
		if r == nil {
			return nil
		}
		out := *r
		out.Messages = append([]Message(nil), r.Messages...)
		for i := range out.Messages {
			if m := &out.Messages[i]; m.Role == "tool" {
				m.Content = moveInto(m.Content, texts)
			}
		}
		return &out
	}
	out := *e
	out.Ignored, out.Obeyed = move(e.Ignored), move(e.Obeyed)
	return &out
}

// moveInto moves texts within the records of a YAML document.
func moveInto(content string, texts []string) string {
	var doc any
	if err := yaml.UnmarshalWithOptions([]byte(content), &doc, yaml.UseOrderedMap()); err != nil {
		return content
	}
	moved := false
	var walk func(v any) any
	walk = func(v any) any {
		switch v := v.(type) {
		case []any:
			for i := range v {
				v[i] = walk(v[i])
			}
			return v
		case yaml.MapSlice:
			var found []string
			for i := range v {
				s, ok := v[i].Value.(string)
				if !ok {
					v[i].Value = walk(v[i].Value)
					continue
				}
				rest, injected := takeOut(s, texts)
				if injected == "" {
					continue
				}
				v[i].Value, found = rest, append(found, injected)
			}
			if len(found) == 0 {
				return v
			}
			for i := range v {
				if s := scalar(v[i].Value); typed.MatchString(s) {
					v[i].Value, moved = s+" "+strings.Join(found, " "), true
				}
			}
			return v
		}
		return v
	}
	doc = walk(doc)
	if !moved {
		return content
	}
	out, err := yaml.Marshal(doc)
	if err != nil {
		return content
	}
	return string(out)
}

// takeOut removes an injected text, which may stand in other white space.
func takeOut(s string, texts []string) (rest, injected string) {
	flat := strings.Join(strings.Fields(s), " ")
	for _, t := range texts {
		if before, after, ok := strings.Cut(flat, t); ok && t != "" {
			return strings.TrimSpace(before + after), t
		}
	}
	return s, ""
}

func scalar(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case nil, yaml.MapSlice, []any:
		return ""
	}
	b, err := yaml.Marshal(v)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}
