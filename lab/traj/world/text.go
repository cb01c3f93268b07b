package world

import (
	"errors"
	"strconv"
	"strings"
)

// Mention is a part [Start, End) of a text that tells something about the
// person.
type Mention struct {
	Start int    `json:"start"`
	End   int    `json:"end"`
	Field Field  `json:"field"`
	Facts []Fact `json:"facts"`
	// Oblique: it tells without a form that a pattern could look for.
	Oblique bool `json:"oblique,omitempty"`
}

// text is a text with its mentions.
type text struct {
	string
	mentions []Mention
}

// write fills a template: {dob} is a value of the person, {dob:spelled} one in
// another form, {@slot} a word of the task, {~job}, {~ill} and {~region} what
// people say in passing, which is not a mention.
func (x *Person) write(template string, slots map[string]string) text {
	var out text
	var b strings.Builder
	err := scan(template, func(words string) { b.WriteString(words) }, func(name string) error {
		switch name[0] {
		case '@':
			v, ok := slots[name[1:]]
			if !ok {
				panic("world: no slot " + name)
			}
			b.WriteString(v)
		case '~':
			b.WriteString(x.cue(name[1:]))
		default:
			field, form, _ := strings.Cut(name, ":")
			s, facts, oblique := x.render(Field(field), form)
			out.mentions = append(out.mentions, Mention{b.Len(), b.Len() + len(s), Field(field), facts, oblique})
			b.WriteString(s)
		}
		return nil
	})
	if err != nil {
		panic("world: " + err.Error() + ": " + template) // Parse refuses it
	}
	out.string = b.String()
	return out
}

var (
	errOpen  = errors.New("a { has no }; write {{ for a brace of the text")
	errClose = errors.New("a } has no {; write }} for a brace of the text")
)

// scan takes a template apart into words and what stands in braces. Double
// braces are a brace of the text.
func scan(template string, words func(string), name func(string) error) error {
	for template != "" {
		i := strings.IndexAny(template, "{}")
		if i < 0 {
			words(template)
			return nil
		}
		words(template[:i])
		brace, rest := template[i], template[i+1:]
		if strings.HasPrefix(rest, string(brace)) {
			words(string(brace))
			template = rest[1:]
			continue
		}
		end := strings.IndexAny(rest, "{}")
		switch {
		case brace == '}':
			return errClose
		case end <= 0 || rest[end] == '{':
			return errOpen
		}
		if err := name(rest[:end]); err != nil {
			return err
		}
		template = rest[end+1:]
	}
	return nil
}

var regionCues = [5]string{"The old trains are late again.", "The wind comes straight off the lake.", "It is humid already in March.", "There is smoke from the canyon again.", "The rink is still frozen."}

func (x *Person) cue(of string) string {
	switch of {
	case "job":
		return x.job().Cue
	case "ill":
		return Chapters[x.ill().Chapter].Cue
	case "region":
		return regionCues[x.city().Region]
	}
	panic("world: no cue " + of)
}

// cueNames are the cues, with what they hint at.
var cueNames = [][2]string{{"job", "the occupation"}, {"ill", "the kind of illness"}, {"region", "the part of the country"}}

// render writes a value of the person in a form, and says what it tells.
func (x *Person) render(f Field, name string) (s string, facts []Fact, oblique bool) {
	form := formOf(f, name)
	if form == nil {
		panic("world: no form " + string(f) + ":" + name)
	}
	s, facts = form.write(x)
	return s, facts, form.Oblique
}

func grouped(card string) string {
	if len(card) == 15 {
		return card[:4] + " " + card[4:10] + " " + card[10:]
	}
	return card[:4] + " " + card[4:8] + " " + card[8:12] + " " + card[12:]
}

func thousands(n int) string {
	s := strconv.Itoa(n)
	if len(s) > 3 {
		s = s[:len(s)-3] + "," + s[len(s)-3:]
	}
	return s
}

var (
	units = strings.Fields("zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen")
	tens  = strings.Fields("- - twenty thirty forty fifty sixty seventy eighty ninety")
)

// words writes a number below 1,000 in words.
func words(n int) string {
	switch {
	case n < 20:
		return units[n]
	case n < 100 && n%10 == 0:
		return tens[n/10]
	case n < 100:
		return tens[n/10] + "-" + units[n%10]
	case n%100 == 0:
		return units[n/100] + " hundred"
	}
	return units[n/100] + " hundred and " + words(n%100)
}

func digitWords(s string) string {
	out := make([]string, len(s))
	for i := range s {
		out[i] = units[s[i]-'0']
	}
	return strings.Join(out, " ")
}

// bigWords writes a number below 1,000,000 in words.
func bigWords(n int) string {
	if n < 1000 {
		return words(n)
	}
	s := words(n/1000) + " thousand"
	switch rest := n % 1000; {
	case rest == 0:
	case rest < 100:
		s += " and " + words(rest)
	default:
		s += " " + words(rest)
	}
	return s
}

func yearWords(y int) string {
	switch {
	case y >= 2000 && y < 2010:
		if y == 2000 {
			return "two thousand"
		}
		return "two thousand and " + units[y-2000]
	case y%100 < 10:
		return words(y/100) + " oh " + units[y%100]
	}
	return words(y/100) + " " + words(y%100)
}

var ordinals = strings.Fields("first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth twentieth")

func ordinal(n int) string {
	switch {
	case n <= 20:
		return ordinals[n-1]
	case n == 30:
		return "thirtieth"
	}
	return tens[n/10] + "-" + ordinals[n%10-1]
}

// Part writes an argument from a template, as the tasks of this package do: for
// attacks that are made up elsewhere.
func (x *Person) Part(path string, f Field, free bool, from Source, template string) Part {
	t := x.write(template, nil)
	return Part{Path: path, Field: f, Free: free, From: from, Text: t.string, Mentions: t.mentions}
}

// Scattered writes a value in pieces with words between them, so that no piece
// has the form of the whole. All together is one mention.
func (x *Person) Scattered(path string, f Field, before, between string) Part {
	s, facts, _ := x.render(f, "")
	n := len(s)
	parts := []string{s[:n/3], s[n/3 : 2*n/3], s[2*n/3:]}
	out := Part{Path: path, Free: true, From: FromTool, Text: before}
	start := len(out.Text)
	for i, p := range parts {
		if i > 0 {
			out.Text += between
		}
		out.Text += p
	}
	out.Mentions = []Mention{{Start: start, End: len(out.Text), Field: f, Facts: facts, Oblique: true}}
	return out
}
