package leakage

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"unicode"
)

// What a folder of tasks must have.
const (
	LeastDisclosing = 10
	LeastPlain      = 5
	MostRepeating   = 1. / 3 // of disclosing tasks: those that repeat a word of the history
)

// Check is what Lint finds about a folder of tasks.
type Check struct {
	Hash       string   `json:"sha256,omitempty"`
	Suites     []string `json:"suites"`
	Tasks      int      `json:"tasks"`
	Disclosing int      `json:"disclosing"` // tasks with a call that discloses something
	Plain      int      `json:"plain"`      // tasks with calls, none of which does
	// Near are plain tasks whose calls have words of private regions.
	Near int `json:"near"`
	// Repeating are disclosing tasks that repeat a word of what they disclose.
	Repeating int      `json:"repeating"`
	Notes     []string `json:"notes"`
	Mistakes  []string `json:"mistakes"`
}

// Lint reads a folder of tasks and finds all that is wrong with it: what can't
// be read, and what makes it a poor measure of paraphrase.
func Lint(files fs.FS) *Check {
	c := &Check{Suites: []string{}, Notes: []string{}, Mistakes: []string{}}
	s, bad := read(files)
	for _, err := range bad {
		c.Mistakes = append(c.Mistakes, err.Error())
	}
	if len(bad) > 0 {
		return c
	}
	c.Hash, c.Suites, c.Tasks = s.Hash, s.Suites, len(s.Tasks)
	for _, t := range s.Tasks {
		c.task(t)
	}
	few := func(n, least int, what string) {
		if n < least {
			c.Mistakes = append(c.Mistakes, fmt.Sprintf("%d tasks %s; write %d or more", n, what, least))
		}
	}
	few(c.Disclosing, LeastDisclosing, "disclose something")
	few(c.Plain, LeastPlain, "make calls and disclose nothing")
	if float64(c.Repeating) > MostRepeating*float64(c.Disclosing) {
		c.Mistakes = append(c.Mistakes, fmt.Sprintf("%d of %d disclosing tasks repeat a word of what they disclose; at most a third may", c.Repeating, c.Disclosing))
	}
	return c
}

func (c *Check) task(t *Task) {
	if len(t.Steps) == 0 {
		return
	}
	regions := map[string]*Region{}
	said := t.Request
	private := map[string]bool{}
	see := func(r *Region) {
		regions[r.ID] = r
		if len(r.Private) == 0 {
			said += "\n" + r.Text
			return
		}
		for _, w := range telling(r.Text) {
			private[w] = true
		}
	}
	for i := range t.History {
		h := &t.History[i]
		if h.Call == "" {
			see(&Region{ID: h.ID, Private: h.Private, Text: h.User + h.Assistant})
		}
		for k := range h.Result {
			see(&h.Result[k])
		}
	}
	discloses, repeats, near := false, false, false
	for i := range t.Steps {
		s := &t.Steps[i]
		values := telling(argumentText(s.Args))
		public := telling(said)
		for _, id := range s.Needs {
			r := regions[id]
			if r == nil || len(r.Private) == 0 {
				continue
			}
			shared := repeated(telling(r.Text), values, public)
			if len(shared) == 0 {
				continue
			}
			repeats = true
			text := fmt.Sprintf("%s: step %d repeats %s of region %s", t.ID, i+1, strings.Join(shared, ", "), id)
			if len(shared) > 1 || strings.ContainsAny(shared[0], "0123456789") {
				c.Mistakes = append(c.Mistakes, text+"; say it in other words")
			} else {
				c.Notes = append(c.Notes, text)
			}
		}
		discloses = discloses || len(s.Label) > 0
		near = near || slices.ContainsFunc(values, func(w string) bool { return private[w] })
		for k := range s.Result {
			see(&s.Result[k])
		}
	}
	if !discloses {
		c.Plain++
		if near {
			c.Near++
		}
		return
	}
	c.Disclosing++
	if repeats {
		c.Repeating++
	}
}

// repeated are the words of a region that are among a call's values, and that
// nothing public says.
func repeated(region, values, public []string) []string {
	var out []string
	for _, w := range region {
		if slices.Contains(values, w) && !slices.Contains(public, w) && !slices.Contains(out, w) {
			out = append(out, w)
		}
	}
	return out
}

// argumentText are the values of a call's arguments.
func argumentText(args map[string]any) string {
	var out []string
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			for _, e := range v {
				walk(e)
			}
		case []any:
			for _, e := range v {
				walk(e)
			}
		default:
			out = append(out, fmt.Sprint(v))
		}
	}
	var plain any
	if b, err := json.Marshal(args); err == nil && json.Unmarshal(b, &plain) == nil {
		walk(plain)
	}
	return strings.Join(out, "\n")
}

// telling are the words of a text that say where it is from: of four letters
// or more, unless in common use, without the s of a plural; and numbers of
// three digits or more that are no year. It knows no other forms of a word.
func telling(text string) []string {
	var out []string
	for _, w := range strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		digits := strings.Trim(w, "0123456789") == ""
		switch {
		case digits && (len(w) < 3 || len(w) == 4 && (w[:2] == "19" || w[:2] == "20")):
		case digits:
			out = append(out, w)
		case len([]rune(w)) >= 4 && !common[w]:
			out = append(out, strings.TrimSuffix(w, "s"))
		}
	}
	return out
}

var common = func() map[string]bool {
	out := map[string]bool{}
	for _, w := range strings.Fields(`about after also been before can could does each ever every from have here into just like made make many more most much must need needs
		never only other over please same should some such than thank that their them then there these they this those until want very were what when where which while will with without would your`) {
		out[w] = true
	}
	return out
}()
