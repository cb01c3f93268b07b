// Package predicate finds in a text what clauses of a rubric say may be a
// secret field: by the path of the text, by expressions, by entity types and
// by lists of words.
//
// Expressions are RE2, and no match may be longer than MaxWidth bytes, so
// that a search takes time linear in the text. They run as automata that are
// built as texts need them, within bounds, and find what package regexp
// finds. Texts and paths are bounded, too; callers must distrust as a whole
// what exceeds the bounds.
package predicate

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"github.com/margaydev/margay/internal/dfa"
	"github.com/margaydev/margay/internal/yamldoc"
	"github.com/margaydev/margay/secret/canon"
)

// Limits. What exceeds one of the first three is refused by New.
const (
	MaxClauses = 256
	MaxWidth   = 400   // characters of a match of an expression
	MaxWords   = 20000 // of a lexicon
	MaxText    = 1 << 20
	MaxPath    = 1024
)

// Clause is one predicate: a path, or one of Text, Entity and Lexicon, which a
// path may narrow. A Lexicon also narrows Text: of its matches those count whose
// group named listed is an entry.
type Clause struct {
	ID string
	// Path is an expression on the structured path of a text. Alone, it takes
	// the whole text.
	Path string
	// Text is an expression on the text. Where it has a group named value, the
	// match is that group.
	Text    string
	Entity  string   // one of Entities
	Lexicon []string // words and phrases, whole ones, by any case
}

// Span is what a clause matches, in bytes.
type Span struct {
	Start, End int
	Clause     int // index
}

// Set is compiled clauses. It is safe for concurrent use.
type Set struct {
	clauses []clause
	finders []*finder    // of all clauses
	soon    atomic.Int32 // texts that were read before
	ready   atomic.Bool
	once    sync.Once // makes what follows, and the clauses' automata
	symbols *dfa.Alphabet
}

type clause struct {
	path  *finder
	text  *finder
	find  func(*look) [][2]int // alone, or what uses text
	needs need                 // without which nothing in a text matches
}

// look is a text that is looked at, with what clauses share.
type look struct {
	text    string
	symbols []uint16 // of each character
	has     need
	words   []word // once split
	split   bool
	soon    bool // without automata, which take longer to make than a short text to read
}

// Before there are automata, so many texts of so many bytes are read without them.
const (
	short   = 256
	maxSoon = 32
)

// need is a set of kinds of characters.
type need uint8

const (
	digit need = 1 << iota
	sign       // @
)

func hasOf(text string) need {
	var n need
	if strings.ContainsAny(text, "0123456789") {
		n |= digit
	}
	if strings.Contains(text, "@") {
		n |= sign
	}
	return n
}

// needsOf says what every match of an expression has in it.
func needsOf(r *syntax.Regexp) need {
	var n need
	switch r.Op {
	case syntax.OpLiteral:
		for _, c := range r.Rune {
			if c < utf8.RuneSelf {
				n |= hasOf(string(c))
			}
		}
	case syntax.OpCharClass:
		inside := func(lo, hi rune) bool {
			for i := 0; i < len(r.Rune); i += 2 {
				if r.Rune[i] < lo || r.Rune[i+1] > hi {
					return false
				}
			}
			return len(r.Rune) > 0
		}
		if inside('0', '9') {
			n |= digit
		}
		if inside('@', '@') {
			n |= sign
		}
	case syntax.OpCapture, syntax.OpPlus:
		n = needsOf(r.Sub[0])
	case syntax.OpRepeat:
		if r.Min > 0 {
			n = needsOf(r.Sub[0])
		}
	case syntax.OpConcat:
		for _, s := range r.Sub {
			n |= needsOf(s)
		}
	case syntax.OpAlternate:
		n = digit | sign
		for _, s := range r.Sub {
			n &= needsOf(s)
		}
	}
	return n
}

// mustParse is for expressions that compile.
func mustParse(expr string) *syntax.Regexp {
	tree, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		panic(err)
	}
	return tree.Simplify()
}

// New compiles clauses. Errors have their place in the list, as yamldoc.Where
// gives it.
func New(clauses []Clause) (*Set, error) {
	if len(clauses) > MaxClauses {
		return nil, yamldoc.Where(fmt.Errorf("there are at most %d clauses", MaxClauses), strconv.Itoa(MaxClauses))
	}
	s := &Set{}
	for i := range clauses {
		c, err := compile(&clauses[i])
		if err != nil {
			return nil, yamldoc.Where(err, strconv.Itoa(i))
		}
		s.clauses = append(s.clauses, c)
		for _, f := range []*finder{c.path, c.text} {
			if f != nil {
				s.finders = append(s.finders, f)
			}
		}
	}
	return s, nil
}

func compile(d *Clause) (clause, error) {
	var c clause
	if d.Path != "" {
		re, err := regexp.Compile(d.Path)
		if err != nil {
			return c, fmt.Errorf("path: %w", err)
		}
		c.path = newFinder(re, 0, true)
	}
	var list *entries
	if d.Lexicon != nil {
		var err error
		if list, err = newEntries(d.Lexicon); err != nil {
			return c, err
		}
	}
	var err error
	switch text, kind := d.Text != "", d.Entity != ""; {
	case text && !kind:
		var re *regexp.Regexp
		var group int
		if re, group, err = expression(d.Text); err != nil {
			return c, err
		}
		c.text = newFinder(re, group, false)
		c.text.entries = list
		c.find = c.text.all
		c.needs = needsOf(mustParse(d.Text))
		if (list != nil) != (re.SubexpIndex(listedGroup) > 0) {
			err = errors.New("text: where there is a lexicon besides, and only there, an expression has a group named listed")
		}
	case kind && !text && list == nil:
		i := slices.IndexFunc(entities, func(e entity) bool { return e.name == d.Entity })
		if i < 0 {
			return c, fmt.Errorf("unknown entity %q; known ones are %s", d.Entity, strings.Join(Entities(), ", "))
		}
		e := &entities[i]
		c.text, c.needs = newFinder(e.expr(), 0, false), needsOf(mustParse(e.expr().String()))
		c.find = e.by(c.text, e.ok)
	case list != nil && !text && !kind:
		c.find = list.find
	case text || kind || d.Path == "":
		err = errors.New("a clause has a path, or one of text, entity and lexicon, or one of these at a path")
	}
	return c, err
}

// expression compiles an expression whose matches are not empty and have a
// bounded width.
func expression(s string) (*regexp.Regexp, int, error) {
	tree, err := syntax.Parse(s, syntax.Perl)
	if err != nil {
		return nil, 0, fmt.Errorf("text: %w", err)
	}
	least, most := width(tree.Simplify())
	switch {
	case most > MaxWidth:
		return nil, 0, fmt.Errorf("text: a match may be longer than %d characters: write {1,40} instead of + and *", MaxWidth)
	case least == 0:
		return nil, 0, errors.New("text: it matches nothing at all")
	}
	re, err := regexp.Compile(s)
	if err != nil {
		return nil, 0, fmt.Errorf("text: %w", err)
	}
	return re, max(re.SubexpIndex("value"), 0), nil
}

// width returns the least and the greatest number of characters that an
// expression matches; the latter saturates above MaxWidth.
func width(r *syntax.Regexp) (least, most int) {
	const unbounded = MaxWidth + 1
	sub := func(i int) (int, int) { return width(r.Sub[i]) }
	switch r.Op {
	case syntax.OpLiteral:
		return len(r.Rune), min(len(r.Rune), unbounded)
	case syntax.OpCharClass, syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return 1, 1
	case syntax.OpCapture:
		return sub(0)
	case syntax.OpStar:
		return 0, unbounded
	case syntax.OpPlus:
		l, _ := sub(0)
		return l, unbounded
	case syntax.OpQuest:
		_, m := sub(0)
		return 0, m
	case syntax.OpRepeat:
		l, m := sub(0)
		if r.Max < 0 {
			return l * r.Min, unbounded
		}
		return l * r.Min, min(m*r.Max, unbounded)
	case syntax.OpConcat:
		for i := range r.Sub {
			l, m := sub(i)
			least, most = least+l, min(most+m, unbounded)
		}
		return least, most
	case syntax.OpAlternate:
		least = unbounded
		for i := range r.Sub {
			l, m := sub(i)
			least, most = min(least, l), max(most, m)
		}
		return least, most
	default:
		return 0, 0
	}
}

// prepare makes the automata when a text is first looked at: most rubrics that
// are read never see one.
func (s *Set) prepare() {
	var progs []*syntax.Prog
	for _, f := range s.finders {
		if f.progs[0] != nil {
			progs = append(progs, f.progs[0])
		}
	}
	s.symbols = dfa.NewAlphabet(progs...)
	for _, f := range s.finders {
		f.prepare(s.symbols)
	}
	s.ready.Store(true)
}

// Find returns what the clauses match, ordered by start, then by clause: in the
// text as it is written, and as it looks. It reports false where the path or the
// text is longer than what is looked at.
func (s *Set) Find(path, text string) ([]Span, bool) {
	if len(path) > MaxPath || len(text) > MaxText {
		return nil, false
	}
	out := s.find(nil, path, text)
	if f, differs := canon.Read(text); differs {
		known := make(map[Span]bool, len(out))
		for _, x := range out {
			known[x] = true
		}
		for _, x := range s.find(nil, path, f.Text) {
			if x.Start, x.End = f.Span(x.Start, x.End); x.Start < x.End && !known[x] {
				known[x] = true
				out = append(out, x)
			}
		}
	}
	slices.SortStableFunc(out, func(a, b Span) int { return a.Start - b.Start })
	return out, true
}

func (s *Set) find(out []Span, path, text string) []Span {
	if text == "" {
		return out
	}
	l := &look{text: text, has: hasOf(text), soon: len(text) <= short && !s.ready.Load() && s.soon.Add(1) <= maxSoon}
	var where []uint16
	if !l.soon {
		s.once.Do(s.prepare)
		where, l.symbols = s.symbols.Symbols(path), s.symbols.Symbols(text)
	}
	for i := range s.clauses {
		c := &s.clauses[i]
		if c.needs&^l.has != 0 || c.path != nil && !c.path.is(path, where, l.soon) {
			continue
		}
		if c.find == nil {
			out = append(out, Span{0, len(text), i})
			continue
		}
		for _, m := range c.find(l) {
			out = append(out, Span{m[0], m[1], i})
		}
	}
	return out
}

// Path reports whether a clause takes whole texts at a path.
func (s *Set) Path(clause int, path string) bool {
	c := &s.clauses[clause]
	return c.path != nil && c.find == nil && len(path) <= MaxPath && c.path.re.MatchString(path)
}
