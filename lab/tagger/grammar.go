package tagger

import (
	"embed"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/margaydev/margay/defend/tagger"
)

//go:embed data/*.txt data/kinds/*.txt
var data embed.FS

// Part is a part of the templates, and of the words that fill them.
type Part int

// The parts. What is measured on Test was seen neither in training nor in calibration.
const (
	Train Part = iota
	Calibrate
	Test
	parts
)

func partOf(s string) Part {
	h := fnv.New32a()
	_, _ = h.Write([]byte(s))
	switch x := h.Sum32() * 2654435761 >> 16 % 20; {
	case x < 14:
		return Train
	case x < 17:
		return Calibrate
	default:
		return Test
	}
}

// Template is a text with places to fill.
type Template struct {
	Category, Slice, Kind string
	Text                  string
	Part                  Part
	Left                  bool // out of training and calibration, by the fold
}

// Grammar is what templates and lists of words there are.
type Grammar struct {
	templates []Template
	lists     map[string][]string
	split     map[string][parts][]string
	classes   map[string]uint8
	senses    *tagger.Senses
	without   *subject // that a fold leaves out; nil for none
}

// Categories that only calibration or only the test has, besides templates of
// all others.
const (
	calibrationCategory = "customer-support"
	testCategory        = "tax-filing"
	testAuthor          = "other-hand" // by somebody who wrote nothing else
)

// unsplit are lists that every part may use whole: they say nothing of people.
var unsplit = []string{"relation", "noun", "adjective", "verbed", "ordinal", "word-number", "digit-word", "syllable", "month-other", "tld", "greetline"}

const splitFrom = 20 // entries; shorter lists are not split

// NewGrammar reads the templates. What a fold leaves out is for the test.
func NewGrammar(fold string) (*Grammar, error) {
	g := &Grammar{lists: map[string][]string{}, split: map[string][parts][]string{}, classes: map[string]uint8{}}
	for i, f := range tagger.Fields() {
		g.classes[f] = uint8(i + 1)
	}
	var err error
	if g.without, err = newSubject(fold); err != nil {
		return nil, err
	}
	files, err := data.ReadDir("data")
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		if f.IsDir() {
			continue
		}
		b, err := data.ReadFile("data/" + f.Name())
		if err != nil {
			return nil, err
		}
		if err := g.read(f.Name(), string(b)); err != nil {
			return nil, err
		}
	}
	for i := range g.templates {
		t := &g.templates[i]
		switch {
		case g.without.has(t.Category, t.Text):
			t.Part, t.Left = Test, true
		case t.Category == testCategory || t.Category == testAuthor:
			t.Part = Test
		case t.Category == calibrationCategory:
			t.Part = Calibrate
		}
	}
	if fold != "" && !slices.ContainsFunc(g.templates, func(t Template) bool { return t.Left }) {
		return nil, fmt.Errorf("there is no category %q", fold)
	}
	for name, list := range g.lists {
		var s [parts][]string
		kept := slices.DeleteFunc(slices.Clone(list), func(e string) bool { return g.without.has("", e) })
		if len(kept) == 0 {
			return nil, fmt.Errorf("without %s there is nothing in the list %q", fold, name)
		}
		g.lists[name], list = kept, kept
		for _, e := range list {
			p := partOf(name + "\n" + e)
			s[p] = append(s[p], e)
		}
		if len(list) < splitFrom || slices.Contains(unsplit, name) || slices.ContainsFunc(s[:], func(l []string) bool { return len(l) == 0 }) {
			s = [parts][]string{list, list, list}
		}
		g.split[name] = s
	}
	g.senses, err = senses()
	return g, err
}

// kindsOf calls f with the words of each kind of things: a line a kind, its name first.
func kindsOf(f func(kind string, words []string)) error {
	const dir = "data/kinds"
	files, err := data.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, file := range files {
		b, err := data.ReadFile(dir + "/" + file.Name())
		if err != nil {
			return err
		}
		for line := range strings.Lines(string(b)) {
			if name, words, ok := strings.Cut(line, ":"); ok && name[0] != '#' {
				f(name, strings.Fields(words))
			}
		}
	}
	return nil
}

// senses are the kinds of things that words stand for.
func senses() (*tagger.Senses, error) {
	var all [][]string
	if err := kindsOf(func(_ string, words []string) { all = append(all, words) }); err != nil {
		return nil, err
	}
	return tagger.NewSenses(all)
}

// features are those of this grammar's words.
func (g *Grammar) features() tagger.Features { return tagger.Features{Senses: g.senses} }

func (g *Grammar) read(file, text string) error {
	list, t := "", Template{}
	for i, line := range strings.Split(text, "\n") {
		switch {
		case line == "" || strings.HasPrefix(line, "# ") && list == "" && t.Category == "":
		case strings.HasPrefix(line, "@"):
			list = line[1:]
		case strings.HasPrefix(line, "== "):
			f := strings.Fields(line[3:])
			if len(f) < 2 {
				return fmt.Errorf("%s:%d: a section needs a category and a slice", file, i+1)
			}
			t = Template{Category: f[0], Slice: f[1], Kind: f[len(f)-1]}
			list = ""
		case list != "":
			depth := 0 // a | in brackets is of the entry
			g.lists[list] = append(g.lists[list], strings.FieldsFunc(line, func(r rune) bool {
				switch r {
				case '(':
					depth++
				case ')':
					depth--
				}
				return r == '|' && depth == 0
			})...)
		case t.Category != "":
			t.Text = line
			t.Part = partOf(t.Category + "\n" + line)
			g.add(t)
		default:
			return fmt.Errorf("%s:%d: a line before any list or section", file, i+1)
		}
	}
	return nil
}

// frames are the slots that a frame is repeated for.
var frames = []string{"name", "dob", "card", "illness", "address", "phone", "email", "account", "iban", "nid", "passport", "password", "apikey", "salary", "medicine"}

// add adds a template or, for a frame, one for each kind of value, all in one part.
func (g *Grammar) add(t Template) {
	if !strings.Contains(t.Text, "CUE") {
		g.templates = append(g.templates, t)
		return
	}
	frame := t.Text
	for _, slot := range frames {
		t.Text = strings.NewReplacer("CUE", "<cue-"+slot+">", "VAL", "{"+slot+"}").Replace(frame)
		g.templates = append(g.templates, t)
	}
}

// span is a labelled stretch.
type span struct {
	start, end int
	class      uint8
	inferred   bool
}

// Text is an example.
type Text struct {
	Text  string
	Slice string
	spans []span
}

// writer fills templates for one text.
type writer struct {
	*Grammar
	r      *rand.Rand
	part   Part
	b      strings.Builder
	spans  []span
	female bool
	inside int // spans that are open
	depth  int
	err    error
}

func (w *writer) pick(list string) string {
	l := w.split[list][w.part]
	if len(l) == 0 {
		w.err = fmt.Errorf("there is no list %q", list)
		return ""
	}
	return l[w.r.IntN(len(l))]
}

// closing is the index of the bracket that closes the one at i.
func closing(s string, i int) int {
	open, end := s[i], map[byte]byte{'(': ')', '[': ']', '{': '}'}[s[i]]
	depth := 0
	for ; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case open:
			depth++
		case end:
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

// options splits what is between brackets at each | outside of inner ones.
func options(s string) []string {
	var out []string
	depth, from := 0, 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '(', '[':
			depth++
		case ')', ']':
			depth--
		case '|':
			if depth == 0 {
				out = append(out, s[from:i])
				from = i + 1
			}
		}
	}
	return append(out, s[from:])
}

var genders = map[string]bool{"she|he": true, "he|she": true, "her|his": true, "his|her": true, "her|him": true, "herself|himself": true}

func (w *writer) write(s string) {
	if w.depth++; w.depth > 12 {
		w.err = fmt.Errorf("the lists draw from each other without an end: %q", s)
		return
	}
	defer func() { w.depth-- }()
	for i := 0; i < len(s) && w.err == nil; i++ {
		switch c := s[i]; c {
		case '\\':
			if i++; i < len(s) {
				w.b.WriteString(strings.NewReplacer("n", "\n", "t", "\t").Replace(s[i : i+1]))
			}
		case '(', '[', '{':
			end := closing(s, i)
			if end < 0 {
				w.err = fmt.Errorf("a bracket is not closed in %q", s)
				return
			}
			w.bracket(c, s[i+1:end])
			i = end
		case '<':
			if end := strings.IndexByte(s[i:], '>'); end > 0 && len(w.lists[s[i+1:i+end]]) > 0 {
				entry := w.pick(s[i+1 : i+end])
				if strings.HasSuffix(w.b.String(), "I ") {
					entry = firstPerson(entry)
				}
				w.write(entry)
				i += end
				continue
			}
			w.b.WriteByte(c)
		default:
			w.b.WriteByte(c)
		}
	}
}

// firstPerson turns a phrase that starts with a verb of the third person.
func firstPerson(s string) string {
	verb, rest, _ := strings.Cut(s, " ")
	switch {
	case verb == "is":
		verb = "am"
	case verb == "has":
		verb = "have"
	case verb == "was", !strings.HasSuffix(verb, "s"):
	case strings.HasSuffix(verb, "ies"):
		verb = verb[:len(verb)-3] + "y"
	case strings.HasSuffix(verb, "goes"), strings.HasSuffix(verb, "ches"):
		verb = verb[:len(verb)-2]
	default:
		verb = verb[:len(verb)-1]
	}
	return verb + " " + rest
}

func (w *writer) bracket(c byte, in string) {
	switch c {
	case '(':
		o := options(in)
		switch {
		case len(o) == 1:
			w.b.WriteByte('(')
			w.write(in)
			w.b.WriteByte(')')
		case genders[in]:
			if slices.Contains([]string{"she", "her", "herself"}, o[0]) == w.female {
				w.write(o[0])
			} else {
				w.write(o[1])
			}
		default:
			w.write(o[w.r.IntN(len(o))])
		}
	case '[':
		name, rest, ok := strings.Cut(in, ": ")
		field, inferred := strings.CutSuffix(name, "~")
		if class := w.classes[field]; ok && class > 0 {
			w.label(class, inferred, func() { w.write(rest) })
			return
		}
		w.b.WriteByte('[')
		w.write(in)
		w.b.WriteByte(']')
	case '{':
		name, plain := strings.CutSuffix(in, "!")
		field := ""
		if !plain && w.inside == 0 {
			if field = fieldOf(name); field == "" {
				w.err = fmt.Errorf("the slot %q has no field", name)
				return
			}
		}
		w.label(w.classes[field], false, func() { w.b.WriteString(w.value(name)) })
	}
}

// label makes a span of what fn writes, unless it is in a span already.
func (w *writer) label(class uint8, inferred bool, fn func()) {
	if class == 0 || w.inside > 0 {
		fn()
		return
	}
	w.inside++
	start := w.b.Len()
	fn()
	w.inside--
	if w.b.Len() > start {
		w.spans = append(w.spans, span{start, w.b.Len(), class, inferred})
	}
}

// changed returns the text with each character replaced, and the spans moved along.
func (t Text) changed(fn func(rune) string) Text {
	var b strings.Builder
	at := make([]int, len(t.Text)+1)
	for i, r := range t.Text {
		at[i] = b.Len()
		b.WriteString(fn(r))
	}
	at[len(t.Text)] = b.Len()
	out := Text{Text: b.String(), Slice: t.Slice}
	for _, s := range t.spans {
		s.start, s.end = at[s.start], at[s.end]
		if s.start < s.end {
			out.spans = append(out.spans, s)
		}
	}
	return out
}

func (t Text) lower() Text {
	return t.changed(func(r rune) string { return string(unicode.ToLower(r)) })
}

func (t Text) upper() Text {
	return t.changed(func(r rune) string { return string(unicode.ToUpper(r)) })
}

// mistyped leaves characters out, doubles them and takes neighbours for them.
func (t Text) mistyped(r *rand.Rand) Text {
	return t.changed(func(c rune) string {
		if !unicode.IsLetter(c) || r.IntN(40) > 0 {
			return string(c)
		}
		switch r.IntN(3) {
		case 0:
			return ""
		case 1:
			return string([]rune{c, c})
		default:
			return string(rune('a' + r.IntN(26)))
		}
	})
}

// tokens are the tokens of a text with their labels.
func (t *Text) tokens(f *tagger.Features) []token {
	cut := tagger.Tokens(t.Text, nil)
	out := make([]token, len(cut))
	total, k := 0, 0
	for i := range cut {
		c := &cut[i]
		f.Of(t.Text, c)
		total += len(f.All)
		out[i] = token{rows: slices.Clone(f.All), single: f.Single, ends: c.Ends}
		for k < len(t.spans) && t.spans[k].end <= c.Start {
			k++
		}
		if k < len(t.spans) && t.spans[k].start < c.End && c.Kind != tagger.Line {
			out[i].class, out[i].inferred = t.spans[k].class, t.spans[k].inferred
		}
	}
	return out
}

func capital(s string) string {
	r, n := utf8.DecodeRuneInString(s)
	return string(unicode.ToUpper(r)) + s[n:]
}
