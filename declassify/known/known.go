// Package known finds values that somebody has seen in texts, however they are
// spelt: names with and without middle parts, or by initials and surname; dates in
// every order, with months as words or numbers, and in words; numbers of telephones,
// cards and accounts with any separators, or digit by digit in words; amounts of money;
// addresses with the usual abbreviations; other values without regard to case, marks
// and punctuation. Escapes and lookalikes are undone first (canon.Read).
//
// It decides nothing. A value that is found is of the field that it was seen under,
// whatever the argument that it stands in says of itself.
//
// # Cost
//
// Find takes time linear in the text: at each word it follows one path of at most
// [maxWords] words through a trie, reads at most one date and one amount, and compares
// at most [maxRun] letters and digits with what is known.
package known

import (
	"errors"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/margaydev/margay/secret/canon"
	"github.com/margaydev/margay/secret/spoken"
)

// Value is a value that was seen under a field.
type Value struct{ Field, Text string }

// Match is a place in a text, in bytes, where a known value stands.
type Match struct {
	Start, End int
	Field      string
	// Value is the known value; empty if what stands there may be several.
	Value string
}

// Bounds of a Set.
const (
	MaxValues    = 16384
	MaxValue     = 512     // bytes of a value
	MaxSpellings = 1 << 17 // of all values together
)

const (
	maxWords = 24 // of a spelling
	maxRun   = 64 // letters and digits of a number
	minRun   = 5  // shorter runs are not searched for
	heads    = 1024
)

// ErrFull says that a set has its bounds' worth of values, or that a value is longer
// than a set can look for.
var ErrFull = errors.New("known: too many values, or one too long")

// Set looks for values. It is not safe for concurrent use with Add.
type Set struct {
	values map[Value]bool
	words  map[step]*node
	nodes  uint32
	spelt  int // spellings, in words or as runs
	days   map[spoken.Day]entries
	runs   map[string]entries // by letters and digits without separators
	heads  [heads / 64]uint64 // of the first two letters or digits of each run
	length [maxRun + 1]bool   // of the runs
	pays   map[int]entries
}

// step leads from a node of the trie to the next by a word; node 0 is the root.
type step struct {
	from uint32
	word string
}

type node struct {
	id   uint32
	ends entries
}

// entries are what a spelling is of: one for each field.
type entries []Value

func (e entries) with(v Value) entries {
	for i := range e {
		if e[i].Field == v.Field {
			if e[i].Text != v.Text {
				e[i].Text = "" // it may be either
			}
			return e
		}
	}
	return append(e, v)
}

// Len is the number of values.
func (s *Set) Len() int { return len(s.values) }

// Add adds a value. Values that are too short to tell from ordinary text (a number of
// fewer than five digits, a word of two letters, a common word) are not looked for.
func (s *Set) Add(v Value) error {
	if s.values[v] {
		return nil
	}
	if len(s.values) >= MaxValues || s.spelt >= MaxSpellings || len(v.Text) > MaxValue {
		return ErrFull
	}
	if s.values == nil {
		*s = Set{values: map[Value]bool{}, words: map[step]*node{}, days: map[spoken.Day]entries{}, runs: map[string]entries{}, pays: map[int]entries{}}
	}
	s.values[v] = true
	for _, text := range transcribed(v.Text) {
		s.spell(v, text)
		if r, differs := canon.Read(text); differs {
			s.spell(v, r.Text)
		}
	}
	return nil
}

// phrase adds a spelling in words.
func (s *Set) phrase(v Value, words ...string) {
	letters := 0
	for _, w := range words {
		letters += len(w)
	}
	if len(words) == 0 || len(words) > maxWords || letters < 3 || len(words) == 1 && common[words[0]] {
		return
	}
	at := uint32(0)
	var n *node
	for _, w := range words {
		n = s.words[step{at, w}]
		if n == nil {
			s.nodes++
			n = &node{id: s.nodes}
			s.words[step{at, w}] = n
		}
		at = n.id
	}
	n.ends = n.ends.with(v)
	s.spelt++
}

// run adds a spelling as letters and digits without separators.
func (s *Set) run(v Value, run string) {
	if len(run) < minRun || len(run) > maxRun {
		return
	}
	s.runs[run] = s.runs[run].with(v)
	s.spelt++
	h := head(run)
	s.heads[h/64] |= 1 << (h % 64)
	s.length[len(run)] = true
}

// head is a small number for how a run starts.
func head[T string | []byte](run T) uint { return (uint(run[0])*37 + uint(run[1])) % heads }

// Find returns the places of known values in a text, by their start. They may overlap.
func (s *Set) Find(text string) []Match {
	if len(s.values) == 0 || text == "" {
		return nil
	}
	out := s.find(text, nil)
	if r, differs := canon.Read(text); differs { // letters of other scripts look like Latin ones, in one case only
		out = append(out, s.find(r.Text, r.Span)...)
	}
	slices.SortFunc(out, compare)
	return joined(slices.Compact(out))
}

// find finds values in a text as it is; in, unless it is nil, is the place of what was
// read in the text that it was read from.
func (s *Set) find(read string, in func(start, end int) (int, int)) (out []Match) {
	tokens := spoken.Tokens(read)
	add := func(from, n int, e entries) {
		start, end := tokens[from].Start, tokens[from+n-1].End
		if c, size := utf8.DecodeLastRuneInString(read[:start]); tokens[from].Number && (c == '+' || unicode.Is(unicode.Sc, c)) {
			start -= size // the sign of a currency
		}
		if start > 0 && read[start-1] == '(' && strings.Contains(read[start:end], ")") {
			start--
		}
		for ; start > 0 && read[start-1] == '-'; start-- {
		}
		for ; end < len(read) && (read[end] == '-' || read[end] == '='); end++ {
		}
		if in != nil {
			start, end = in(start, end)
		}
		for _, v := range e {
			out = append(out, Match{start, end, v.Field, v.Text})
		}
	}
	for i := range tokens {
		s.phraseAt(tokens, i, func(n int, e entries) { add(i, n, e) })
		if len(s.days) > 0 {
			if days, n := spoken.DayAt(tokens, i); n > 0 {
				for _, d := range days {
					add(i, n, s.days[d])
				}
			}
		}
		if len(s.pays) > 0 {
			if pay, n := spoken.AmountAt(tokens, i); n > 0 {
				add(i, n, s.pays[pay])
			}
		}
		s.runAt(tokens, i, func(n int, e entries) { add(i, n, e) })
	}
	return out
}

// joined makes one place of the windows of a long value that overlap.
func joined(in []Match) []Match {
	out := in[:0]
	for _, m := range in {
		k := slices.IndexFunc(out[max(0, len(out)-maxJoined):], func(o Match) bool {
			return o.Field == m.Field && o.Value == m.Value && m.Value != "" && m.Start < o.End
		})
		if k >= 0 {
			o := &out[max(0, len(out)-maxJoined):][k]
			o.End = max(o.End, m.End)
			continue
		}
		out = append(out, m)
	}
	return out
}

// maxJoined bounds the places that a window is compared with.
const maxJoined = 8

func compare(a, b Match) int {
	switch {
	case a.Start != b.Start:
		return a.Start - b.Start
	case a.End != b.End:
		return a.End - b.End
	case a.Field < b.Field:
		return -1
	case a.Field > b.Field:
		return 1
	case a.Value < b.Value:
		return -1
	case a.Value > b.Value:
		return 1
	}
	return 0
}

// phraseAt finds the longest spelling in words that starts at a token.
func (s *Set) phraseAt(tokens []spoken.Token, from int, found func(n int, e entries)) {
	at, best := uint32(0), 0
	var ends entries
	skipped, flat := 0, false
	passed, flats := 0, false // of the longest
	for i := from; i < len(tokens) && (i == from || spoken.Near(tokens, i)); i++ {
		n := s.words[step{at, tokens[i].Text}]
		if n == nil {
			if k := skips(tokens, i); i > from && k > 0 && skipped < maxSkips {
				i, skipped, flat = i+k-1, skipped+1, flat || k > 1
				continue
			}
			break
		}
		if len(n.ends) > 0 {
			best, ends, passed, flats = i+1-from, n.ends, skipped, flat
		}
		at = n.id
	}
	if best > 0 && passed > 0 {
		// The text holds more than the value, so the value is not known for certain.
		// Only addresses have flats.
		var some entries
		for _, e := range ends {
			if !flats || strings.Contains(e.Field, "address") {
				some = append(some, Value{e.Field, ""})
			}
		}
		ends = some
	}
	if best > 0 && len(ends) > 0 {
		found(best, ends)
	}
}

const maxSkips = 3

// skips is how many tokens may stand within a spelling besides its own words: one that
// links, or a flat and its number.
func skips(tokens []spoken.Token, i int) int {
	switch t := tokens[i].Text; {
	case between[t], labels[t]:
		return 1
	case dwellings[t] && i+1 < len(tokens) && len(tokens[i+1].Text) <= 4:
		return 2
	}
	return 0
}

var between = map[string]bool{"in": true, "at": true, "the": true, "of": true, "on": true, "near": true}

// labels say which part of a value comes next: area code 480, number 731 9106.
var labels = set("area code number first last given family middle name surname user local host domain city town state zip postcode house")

var dwellings = map[string]bool{"apt": true, "flat": true, "unit": true, "ste": true, "floor": true, "room": true, "no": true}

// runAt finds the runs of letters and digits that start at a token: numbers also
// without the zeros before them.
func (s *Set) runAt(tokens []spoken.Token, from int, found func(n int, e entries)) {
	if len(s.runs) == 0 {
		return
	}
	s.runFrom(tokens, from, tokens[from].Text, found)
	if bare := strings.TrimLeft(tokens[from].Text, "0"); tokens[from].Number && bare != "" && bare != tokens[from].Text {
		s.runFrom(tokens, from, bare, found)
	}
	if t := &tokens[from]; t.Number && (t.Plus || strings.HasPrefix(t.Text, "00")) {
		bare := strings.TrimPrefix(t.Text, "00")
		for code := 1; code <= 3 && len(bare)-code >= 7; code++ {
			s.runFrom(tokens, from, bare[code:], found)
		}
	}
}

// runFrom finds the longest run of each value, also with labels of its parts between.
func (s *Set) runFrom(tokens []spoken.Token, from int, first string, found func(n int, e entries)) {
	if some, labelled := s.runOf(tokens, from, first, 0, found); !some && labelled {
		s.runOf(tokens, from, first, maxSkips, found)
	}
}

func (s *Set) runOf(tokens []spoken.Token, from int, first string, skips int, found func(n int, e entries)) (some, labelled bool) {
	var buf [maxRun]byte
	run, times := buf[:0], 1
	var last entries
	n := 0
	for i := from; i < len(tokens) && (i == from || spoken.Near(tokens, i)); i++ {
		part := tokens[i].Text
		if i == from {
			part = first
		}
		if i > from && labels[part] {
			if labelled = true; skips > 0 {
				skips--
				continue
			}
		}
		if d, ok := spoken.Digits[part]; ok {
			part = d
		} else if k := spoken.Repeats[part]; k > 0 {
			if times > 1 {
				break
			}
			times = k // double three
			continue
		}
		if len(run)+times*len(part) > maxRun {
			break
		}
		for range times {
			run = append(run, part...)
		}
		times = 1
		if len(run) < 2 {
			continue
		}
		if h := head(run); s.heads[h/64]&(1<<(h%64)) == 0 {
			break
		}
		if !s.length[len(run)] {
			continue
		}
		if e, ok := s.runs[string(run)]; ok {
			if n > 0 && !slices.Equal(e, last) {
				found(n, last)
			}
			n, last = i+1-from, e
		}
	}
	if n > 0 {
		found(n, last)
	}
	return n > 0, labelled
}
