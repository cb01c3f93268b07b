// Package known finds values that somebody has seen in texts, however they are
// spelt: names with and without middle parts, or by initials and surname; dates in
// every order, with months as words or numbers, and in words; numbers of telephones,
// cards and accounts with any separators; other values without regard to case, marks
// and punctuation.
//
// It decides nothing. A value that is found is of a field that is known, whatever the
// argument that it stands in says of itself.
package known

import (
	"errors"
	"slices"
)

// Kind says how a value may be spelt.
type Kind uint8

// Kinds. Text is any value: its words, in their order.
const (
	Text   Kind = iota
	Name        // of a person: given names, then surnames
	Date        // a day
	Digits      // telephone numbers, cards, accounts: letters and digits without separators
)

// Value is a value that was seen under a field.
type Value struct {
	Field, Text string
	Kind        Kind
}

// Match is a place in a text, in bytes, where a known value stands.
type Match struct {
	Start, End int
	Field      string
	Value      int // the place of the value among those of the Set
}

// Bounds. A value or a text beyond them is an error, and not looked for in part.
const (
	MaxValues = 4096
	MaxValue  = 512     // bytes of a value
	MaxText   = 8 << 20 // bytes of a text
)

// Errors of the bounds.
var (
	ErrValues = errors.New("too many values are known, or one is too long")
	ErrText   = errors.New("the text is too long")
)

// Set looks for values. It is immutable and safe for concurrent use.
type Set struct {
	fields []string
	words  map[string][]form // by the word of a form that says the most
	days   map[day][]int
	runs   map[string][]int // by letters and digits without separators
	length []int            // of the runs, ascending
}

// form is one spelling: elements in their order, of which one is looked up.
type form struct {
	value  int
	anchor int
	elems  []elem
}

// elem is a word, or the letter that it starts with.
type elem struct {
	text    string
	initial bool
}

// New makes a set. A value that has nothing to be found by is left out.
func New(values []Value) (*Set, error) {
	if len(values) > MaxValues {
		return nil, ErrValues
	}
	s := &Set{words: map[string][]form{}, days: map[day][]int{}, runs: map[string][]int{}}
	for i, v := range values {
		if len(v.Text) > MaxValue {
			return nil, ErrValues
		}
		s.fields = append(s.fields, v.Field)
		tokens := tokenise(v.Text)
		switch v.Kind {
		case Date:
			for at := range tokens {
				if d, n := dayAt(tokens, at); n == len(tokens)-at && at == 0 && d != nil {
					for _, one := range d {
						s.days[one] = append(s.days[one], i)
					}
				}
			}
		case Digits:
			s.digits(i, tokens)
		case Name:
			s.name(i, tokens)
		default:
			s.add(form{value: i, elems: exactly(tokens)})
		}
	}
	for run := range s.runs {
		if !slices.Contains(s.length, len(run)) {
			s.length = append(s.length, len(run))
		}
	}
	slices.Sort(s.length)
	return s, nil
}

// add adds a form under the longest of its words.
func (s *Set) add(f form) {
	if len(f.elems) == 0 {
		return
	}
	for i, e := range f.elems {
		if !e.initial && (f.elems[f.anchor].initial || len(e.text) > len(f.elems[f.anchor].text)) {
			f.anchor = i
		}
	}
	key := f.elems[f.anchor].text
	if f.elems[f.anchor].initial || slices.ContainsFunc(s.words[key], func(o form) bool { return o.value == f.value && slices.Equal(o.elems, f.elems) }) {
		return
	}
	s.words[key] = append(s.words[key], f)
}

func exactly(tokens []token) []elem {
	var out []elem
	for _, t := range tokens {
		out = append(out, elem{text: t.text})
	}
	return out
}

// name adds the spellings of a person's name. Who has one word only is looked for by
// that.
func (s *Set) name(i int, tokens []token) {
	words := exactly(tokens)
	if len(words) == 0 {
		return
	}
	s.add(form{value: i, elems: words})
	if len(words) == 1 {
		return
	}
	first, last := words[0], words[len(words)-1]
	initial := func(e elem) elem { return elem{e.text, true} }
	initials := make([]elem, len(words)-1)
	for k, w := range words[:len(words)-1] {
		initials[k] = initial(w)
	}
	for _, elems := range [][]elem{
		{first, last}, {last, first}, append([]elem{last}, words[:len(words)-1]...),
		append(slices.Clone(initials), last), append([]elem{last}, initials...), {initials[0], last}, {last, initials[0]},
		append(append([]elem{first}, initials[1:]...), last), append([]elem{last, first}, initials[1:]...),
	} {
		s.add(form{value: i, elems: elems})
	}
	if len(words) > 3 { // two surnames
		s.add(form{value: i, elems: []elem{first, words[len(words)-2]}})
		s.add(form{value: i, elems: []elem{first, words[len(words)-2], last}})
	}
}

// minRun is the shortest part of a number that is looked for without its code.
const minRun = 7

// digits adds the spellings of a number: with its code for a country or without.
func (s *Set) digits(i int, tokens []token) {
	run := ""
	for _, t := range tokens {
		run += t.text
	}
	if len(run) < 4 {
		return
	}
	add := func(r string) {
		if !slices.Contains(s.runs[r], i) {
			s.runs[r] = append(s.runs[r], i)
		}
	}
	add(run)
	if tokens[0].number && len(tokens) > 0 && tokens[0].plus || len(run) > 2 && run[:2] == "00" {
		bare := run
		if run[:2] == "00" {
			bare = run[2:]
			add(bare)
		} else {
			add("00" + run)
		}
		for code := 1; code <= 3 && len(bare)-code >= minRun; code++ {
			add(bare[code:])
			add("0" + bare[code:])
		}
	}
}

// Find returns the places of known values in a text, by their start. They may overlap.
func (s *Set) Find(text string) ([]Match, error) {
	if len(text) > MaxText {
		return nil, ErrText
	}
	tokens := tokenise(text)
	var out []Match
	add := func(from, to, value int) {
		out = append(out, Match{tokens[from].start, tokens[to-1].end, s.fields[value], value})
	}
	for i := range tokens {
		for _, f := range s.words[tokens[i].text] {
			if from := i - f.anchor; from >= 0 {
				if n := f.at(tokens, from); n > 0 {
					add(from, from+n, f.value)
				}
			}
		}
		if len(s.days) > 0 {
			if days, n := dayAt(tokens, i); n > 0 {
				for _, d := range days {
					for _, v := range s.days[d] {
						add(i, i+n, v)
					}
				}
			}
		}
		if len(s.length) > 0 {
			s.run(tokens, i, func(n, value int) { add(i, i+n, value) })
		}
	}
	slices.SortFunc(out, func(a, b Match) int {
		if a.Start != b.Start {
			return a.Start - b.Start
		}
		if a.End != b.End {
			return a.End - b.End
		}
		return a.Value - b.Value
	})
	return slices.Compact(out), nil
}

// at reports how many tokens from a place are a form's; 0 where they are others.
func (f *form) at(tokens []token, from int) int {
	if from+len(f.elems) > len(tokens) {
		return 0
	}
	for k, e := range f.elems {
		t := &tokens[from+k]
		same := t.text == e.text
		if e.initial {
			same = t.letters == 1 && len(e.text) >= len(t.text) && e.text[:len(t.text)] == t.text
		}
		if !same || k > 0 && !near(tokens, from+k) {
			return 0
		}
	}
	return len(f.elems)
}

// near reports whether a token follows the one before it with little between.
func near(tokens []token, i int) bool { return tokens[i].start-tokens[i-1].end <= maxGap }

// maxGap bounds what may stand between the words of a value, in bytes.
const maxGap = 6

// run finds the runs of letters and digits that start at a token.
func (s *Set) run(tokens []token, from int, found func(n, value int)) {
	longest := s.length[len(s.length)-1]
	run := ""
	for i := from; i < len(tokens) && (i == from || near(tokens, i)); i++ {
		part := tokens[i].text
		if d, ok := digitWords[part]; ok {
			part = d
		}
		if run += part; len(run) > longest {
			return
		}
		for _, v := range s.runs[run] {
			found(i+1-from, v)
		}
	}
}
