package recognise

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"sync"

	"github.com/margaydev/margay/lab/reference/dfa"
	product "github.com/margaydev/margay/secret/recognise"
)

// Set is a compiled set of rules. It is immutable to its users and safe for
// concurrent use: its automata grow behind a lock.
type Set struct {
	rules []*compiled
	words *words
	// Rules without a leading literal start at the first byte of any word.
	// While none of them has accepted, one automaton of all of them stands
	// for them.
	first   [256]bool
	wordly  []uint16
	crowd   *dfa.DFA
	crowdRe *syntax.Regexp
	gates   int
	longer  int // the longest literal
	pem     *product.Rule
}

type compiled struct {
	rule     *product.Rule
	auto     *dfa.DFA
	gate     int // index of its gate, or -1
	path     *regexp.Regexp
	preceded *[256]bool // bytes of the stripped optional prefix
	after    *[256]bool // bytes one of which, or nothing, must be before the match
	alphabet *alphabet  // of its tokens; nil for personal data, which ends where its rule says
	allow    []compiledAllow
}

type compiledAllow struct {
	product.Allow
	once sync.Once
	res  []*regexp.Regexp
}

// New compiles rules of the product. A rule with the id PrivateKeyID is found by a
// detector of its own, which needs no expression.
func New(rules []product.Rule) (*Set, error) {
	s := &Set{}
	uses := map[string][]wordUse{}
	for i := range rules {
		if err := s.add(&rules[i], uses); err != nil {
			return nil, fmt.Errorf("rule %s: %w", rules[i].ID, err)
		}
	}
	if s.crowdRe != nil {
		var err error
		if s.crowd, err = automaton(s.crowdRe, dfa.Config{All: true, MaxSize: 4 * maxStates}); err != nil {
			return nil, err
		}
		s.first = firstBytes(s.crowd)
	}
	if s.pem != nil {
		uses["-----begin"] = append(uses["-----begin"], wordUse{rule: pemUse, length: 10, inside: true})
	}
	total := 0
	for lit := range uses {
		s.longer = max(s.longer, len(lit))
		total += len(lit)
	}
	if total > 60000 || s.longer > 250 {
		return nil, fmt.Errorf("rules have too many leading literals: %d bytes", total)
	}
	s.words = newWords(uses)
	return s, nil
}

func (s *Set) add(r *product.Rule, uses map[string][]wordUse) error {
	if r.ID == product.PrivateKeyID {
		s.pem = r
		return nil
	}
	re, err := syntax.Parse(r.Regex, syntax.Perl)
	if err != nil {
		return err
	}
	re, after := stripBefore(re)
	re, removed := stripPrefix(re)
	auto, err := automaton(re, dfa.Config{Group: r.Group, MaxSize: maxStates})
	if err != nil {
		return err
	}
	c := &compiled{rule: r, auto: auto, gate: -1, preceded: bytesOf(removed), after: bytesOf(after)}
	if r.Class != product.ClassPersonal {
		c.alphabet = alphabetOf(re, r.Group)
	}
	if r.Path != "" {
		if c.path, err = regexp.Compile(r.Path); err != nil {
			return err
		}
	}
	for _, al := range r.Allow {
		c.allow = append(c.allow, compiledAllow{Allow: al})
	}
	id := uint16(len(s.rules))
	s.rules = append(s.rules, c)

	lits := leading(re)
	for _, lit := range lits {
		uses[lit] = append(uses[lit], wordUse{rule: id, length: uint8(len(lit)), inside: insideGroup(re, r.Group)})
	}
	if lits == nil {
		s.wordly = append(s.wordly, id)
		if s.crowdRe == nil {
			s.crowdRe = &syntax.Regexp{Op: syntax.OpAlternate}
		}
		s.crowdRe.Sub = append(s.crowdRe.Sub, re)
	}
	if len(r.Gate) > 0 {
		c.gate = s.gates
		s.gates++
		for _, g := range r.Gate {
			uses[g] = append(uses[g], wordUse{rule: id, length: uint8(len(g)), gate: true})
		}
	}
	return nil
}

// maxStates bounds the states of one rule's automaton, in bytes; that of the crowd
// has four times as many. Megabytes of mixed text fill less than half of it.
const maxStates = 1 << 20

func automaton(re *syntax.Regexp, cfg dfa.Config) (*dfa.DFA, error) {
	prog, err := syntax.Compile(re.Simplify())
	if err != nil {
		return nil, err
	}
	return dfa.New(prog, cfg), nil
}

// insideGroup reports whether a match may enter the secret group with its
// first byte, so that the start of a literal must be held.
func insideGroup(re *syntax.Regexp, group int) bool {
	for {
		switch re.Op {
		case syntax.OpConcat:
			i := slices.IndexFunc(re.Sub, func(s *syntax.Regexp) bool { return !isEmpty(s) })
			if i < 0 || re.MaxCap() == 0 {
				return true
			}
			re = re.Sub[i]
			if re.MaxCap() == 0 {
				return false
			}
		case syntax.OpCapture:
			if group == 0 || re.Cap == group {
				return true
			}
			re = re.Sub[0]
		default:
			return true
		}
	}
}

// isEmpty reports whether an expression matches nothing but a place.
func isEmpty(re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpBeginLine, syntax.OpBeginText, syntax.OpWordBoundary, syntax.OpNoWordBoundary, syntax.OpEmptyMatch:
		return true
	}
	return false
}

// allowed reports whether an allowlist exempts a match.
func (a *compiledAllow) allowed(secret, match, line []byte, path string) bool {
	a.once.Do(func() {
		for _, x := range a.Regexes {
			if re, err := regexp.Compile(x); err == nil {
				a.res = append(a.res, re)
			}
		}
	})
	held := make([]bool, 0, 3) // whether each of the conditions holds that are given
	if len(a.Regexes) > 0 {
		target := secret
		switch a.Target {
		case "match":
			target = match
		case "line":
			target = line
		}
		held = append(held, slices.ContainsFunc(a.res, func(re *regexp.Regexp) bool { return re.Match(target) }))
	}
	if len(a.StopWords) > 0 {
		low := strings.ToLower(string(secret))
		held = append(held, slices.ContainsFunc(a.StopWords, func(w string) bool { return strings.Contains(low, w) }))
	}
	if len(a.Paths) > 0 {
		held = append(held, path != "" && slices.ContainsFunc(a.Paths, func(p string) bool {
			ok, err := regexp.MatchString(p, path)
			return err == nil && ok
		}))
	}
	if a.All && slices.Contains(held, false) {
		return false
	}
	return slices.Contains(held, true)
}
