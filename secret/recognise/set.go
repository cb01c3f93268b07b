package recognise

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"sync"
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
	crowd   *automaton
	crowdRe *syntax.Regexp
	gates   int
	longer  int // the longest literal
	pem     *Rule
}

type compiled struct {
	rule     *Rule
	auto     *automaton
	gate     int // index of its gate, or -1
	path     *regexp.Regexp
	preceded *[256]bool // bytes of the stripped optional prefix
	after    *[256]bool // bytes one of which, or nothing, must be before the match
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
func New(rules []Rule) (*Set, error) {
	s := &Set{}
	uses := map[string][]wordUse{}
	for i := range rules {
		if err := s.add(&rules[i], uses); err != nil {
			return nil, fmt.Errorf("rule %s: %w", rules[i].ID, err)
		}
	}
	if s.crowdRe != nil {
		var err error
		if s.crowd, err = newAutomaton(s.crowdRe, 0); err != nil {
			return nil, err
		}
		s.crowd.all = true
		s.first = s.crowd.firstBytes()
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
	re, after := stripBefore(re)
	re, removed := stripPrefix(re)
	auto, err := newAutomaton(re, r.Group)
	if err != nil {
		return err
	}
	c := &compiled{rule: r, auto: auto, gate: -1, preceded: bytesOf(removed), after: bytesOf(after)}
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

// insideGroup reports whether a match may enter the secret group with its
// first byte, so that a literal only begun must be held.
func insideGroup(re *syntax.Regexp, group int) bool {
	for {
		switch re.Op {
		case syntax.OpConcat:
			i := slices.IndexFunc(re.Sub, func(s *syntax.Regexp) bool {
				switch s.Op {
				case syntax.OpBeginLine, syntax.OpBeginText, syntax.OpWordBoundary, syntax.OpNoWordBoundary, syntax.OpEmptyMatch:
					return false
				}
				return true
			})
			if i < 0 {
				return true
			}
			if re.MaxCap() == 0 {
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

// entropy returns the Shannon entropy of b in bits a byte.
func entropy(b []byte) float64 {
	var n [256]int
	for _, c := range b {
		n[c]++
	}
	h := 0.0
	for _, k := range n {
		if k > 0 {
			p := float64(k) / float64(len(b))
			h -= p * log2(p)
		}
	}
	return h
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
	checks, held := 0, 0
	count := func(given, ok bool) {
		if given {
			checks++
			if ok {
				held++
			}
		}
	}
	target := secret
	switch a.Target {
	case "match":
		target = match
	case "line":
		target = line
	}
	count(len(a.Regexes) > 0, slices.ContainsFunc(a.res, func(re *regexp.Regexp) bool { return re.Match(target) }))
	if len(a.StopWords) > 0 {
		low := strings.ToLower(string(secret))
		count(true, slices.ContainsFunc(a.StopWords, func(w string) bool { return strings.Contains(low, w) }))
	}
	count(len(a.Paths) > 0, path != "" && slices.ContainsFunc(a.Paths, func(p string) bool {
		ok, err := regexp.MatchString(p, path)
		return err == nil && ok
	}))
	if a.All {
		return checks > 0 && held == checks
	}
	return held > 0
}
