package plausible

import (
	"regexp"
	"regexp/syntax"
	"sync"
	"unicode/utf8"

	"github.com/margaydev/margay/internal/dfa"
)

// pattern is an expression that is asked of many values. Of ASCII an automaton says
// the same as package regexp does, in a fraction of the time.
type pattern struct {
	re   func() *regexp.Regexp
	auto *dfa.DFA
}

// expression returns a pattern that is compiled when it is first asked for.
func expression(expr string) func() *pattern {
	return sync.OnceValue(func() *pattern {
		p := &pattern{re: sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })}
		tree, err := syntax.Parse(expr, syntax.Perl)
		if err != nil {
			panic(err) // the expressions are constants
		}
		prog, err := syntax.Compile(tree.Simplify())
		if err != nil {
			panic(err)
		}
		p.auto = dfa.New(prog, dfa.Bytes, dfa.Config{Anywhere: true, MaxSize: patternSize})
		return p
	})
}

const (
	// patternSize bounds the states of one automaton, in bytes.
	patternSize = 1 << 18
	// patternBuilds is how many states one value may add: package regexp is quicker
	// then.
	patternBuilds = 128
)

// Match reports whether v has a match.
func (p *pattern) Match(v []byte) bool {
	s, builds := p.auto.Start(dfa.Nothing), 0
	for _, b := range v {
		if b >= utf8.RuneSelf {
			return p.re().Match(v)
		}
		next := p.auto.Known(s, b)
		if next == nil {
			if builds++; builds > patternBuilds {
				return p.re().Match(v)
			}
			next = p.auto.Step(s, b)
		}
		if s = next; s.Matched() {
			return true
		}
		if s.Dead() {
			return false
		}
	}
	return p.auto.Ends(s)
}
