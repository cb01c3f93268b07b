package recognise

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"sync"

	"github.com/margaydev/margay/internal/dfa"
	"github.com/margaydev/margay/secret/recognise/armour"
	"github.com/margaydev/margay/secret/recognise/expression"
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
	dense   *dfa.Dense // of crowd
	crowdRe *syntax.Regexp
	gates   int
	longer  int // the longest literal
	room    int // bytes of states of one rule; the crowd has four times as many
	pem     *Rule
}

type compiled struct {
	rule     *Rule
	auto     func() *dfa.DFA // made when the rule first starts: most never do
	gate     int             // index of its gate, or -1
	path     *regexp.Regexp
	preceded *[256]bool           // bytes of the stripped optional prefix
	after    *[256]bool           // bytes one of which, or nothing, must be before the match
	alphabet *expression.Alphabet // of its tokens; nil for personal data, which ends where its rule says
	allow    []compiledAllow
}

type compiledAllow struct {
	Allow
	once sync.Once
	res  []*regexp.Regexp
}

// PrivateKeyID is the id of the rule for private keys in PEM and PGP armour.
const PrivateKeyID = "private-key"

// New compiles rules. A rule with the id PrivateKeyID is found by a detector
// of its own, which needs no expression.
func New(rules []Rule) (*Set, error) { return newSet(rules, maxStates) }

// newSet is New with a bound of its own for the states of automata.
func newSet(rules []Rule, room int) (*Set, error) {
	s := &Set{room: room}
	uses := map[string][]wordUse{}
	for i := range rules {
		if err := s.add(&rules[i], uses); err != nil {
			return nil, fmt.Errorf("rule %s: %w", rules[i].ID, err)
		}
	}
	if s.crowdRe != nil {
		s.crowd = automaton(s.crowdRe, dfa.Config{All: true, Tags: s.tag(), MaxSize: 4 * room})
		s.first = firstBytes(s.crowd)
		s.dense = dfa.NewDense(s.crowd, room/perRow, &s.first)
	}
	if s.pem != nil {
		uses[armour.Header] = append(uses[armour.Header], wordUse{rule: armourUse, length: uint8(len(armour.Header)), inside: true})
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

// perRow is how many bytes of room there are for each state of all wordly rules that has
// a row in the dense table: megabytes of mixed text visit 4,000, and there is room for
// 8,192.
const perRow = 128

// tag marks the expressions of the wordly rules with groups of their own, and
// returns the number of the first.
func (s *Set) tag() int {
	first := s.crowdRe.MaxCap() + 1
	for i, sub := range s.crowdRe.Sub {
		s.crowdRe.Sub[i] = &syntax.Regexp{Op: syntax.OpCapture, Cap: first + tagOf(i), Sub: []*syntax.Regexp{sub}}
	}
	return first
}

// tagOf returns the tag of a wordly rule. Those past the last share it.
func tagOf(i int) int { return min(i, dfa.MaxTags-1) }

// Rules returns the rules of the set. They must not be changed.
func (s *Set) Rules() []*Rule {
	out := make([]*Rule, 0, len(s.rules)+1)
	for _, c := range s.rules {
		out = append(out, c.rule)
	}
	if s.pem != nil {
		out = append(out, s.pem)
	}
	return out
}

func (s *Set) add(r *Rule, uses map[string][]wordUse) error {
	if r.ID == PrivateKeyID {
		s.pem = r
		return nil
	}
	re, err := syntax.Parse(r.Regex, syntax.Perl)
	if err != nil {
		return err
	}
	re, after := expression.StripBefore(re)
	re, removed := expression.StripPrefix(re)
	auto := sync.OnceValue(func() *dfa.DFA { return automaton(re, dfa.Config{Group: r.Group, MaxSize: s.room}) })
	c := &compiled{rule: r, auto: auto, gate: -1, preceded: expression.Bytes(removed), after: expression.Bytes(after)}
	if r.Class != ClassPersonal {
		c.alphabet = expression.AlphabetOf(re, r.Group)
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

	lits := expression.Leading(re)
	for _, lit := range lits {
		uses[lit] = append(uses[lit], wordUse{rule: id, length: uint8(len(lit)), inside: expression.InsideGroup(re, r.Group)})
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

// maxStates bounds the states of one rule's automaton, in bytes. Megabytes of
// mixed text fill less than half of it.
const maxStates = 1 << 20

func automaton(re *syntax.Regexp, cfg dfa.Config) *dfa.DFA {
	prog, err := syntax.Compile(re.Simplify())
	if err != nil {
		panic("recognise: what was parsed does not compile: " + err.Error()) // it always does
	}
	return dfa.New(prog, dfa.Bytes, cfg)
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
