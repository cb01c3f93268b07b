// Package own makes recognisers of patterns that a user writes, and tests them on
// the user's samples. Patterns and samples may be secrets: no error repeats them.
package own

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"

	"github.com/margaydev/margay/secret"
	"github.com/margaydev/margay/secret/recognise"
)

// Bounds on what a user may add.
const (
	MaxPatterns  = 100
	MaxStopWords = 1000
	MaxSamples   = 50   // of a pattern, of each sort
	MaxSample    = 4096 // bytes of a sample
	MaxText      = 1000 // bytes of a pattern's text
	MaxLength    = 1000 // bytes of what a pattern matches; recognise gives up longer runs
	MinLength    = 6    // bytes of a secret that a pattern finds
	MinStopWord  = 3    // bytes
	MaxStopWord  = 100
	maxProgram   = 5000  // instructions of a pattern
	maxPrograms  = 50000 // of all patterns
)

// Pattern is a recogniser of the user's.
type Pattern struct {
	ID string `yaml:"id"`
	// Pattern is a regular expression. The secret is its group or, without
	// one, the match.
	Pattern string  `yaml:"pattern"`
	Kind    string  `yaml:"kind"` // empty: token
	Samples Samples `yaml:"samples"`
}

// Samples are texts that a pattern is tested on.
type Samples struct {
	Match   []string `yaml:"match"`    // texts in which it finds a secret
	NoMatch []string `yaml:"no_match"` // texts in which it finds none
}

// Error is what is wrong with a pattern or a stop-word.
type Error struct {
	Detail string
	Hint   string // what to do next
}

// Error implements error.
func (e *Error) Error() string { return e.Detail }

func fail(hint, format string, args ...any) error {
	return &Error{Detail: fmt.Sprintf(format, args...), Hint: hint}
}

// Kinds returns the kinds that a pattern may have.
func Kinds() []secret.Kind {
	return []secret.Kind{secret.KindToken, secret.KindAPIKey, secret.KindPassword, secret.KindConnectionString, secret.KindWebhook, secret.KindSecret}
}

var validID = regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-z0-9]+)*$`)

// reserved are names of rules that have no expression.
var reserved = []string{"vault", "risk", "undecided", recognise.PrivateKeyID}

// Check returns the first mistake in patterns, their samples and stop-words, as an
// *Error. held is how many bytes of text a stream holds back.
func Check(patterns []Pattern, stop []string, held int) error {
	if err := checkStopWords(stop); err != nil || len(patterns) == 0 {
		return err
	}
	rules, err := Rules(patterns, held)
	if err != nil {
		return err
	}
	if err := checkIDs(rules); err != nil {
		return err
	}
	set, err := recognise.New(rules)
	if err != nil {
		return fail("let patterns begin with shorter texts, or fewer", "patterns begin with too much fixed text")
	}
	for i := range patterns {
		if err := try(set, &patterns[i], held); err != nil {
			return err
		}
	}
	return nil
}

// Silence has the rules that go by names not report values that contain a
// stop-word.
func Silence(rules []recognise.Rule, stop []string) {
	if len(stop) == 0 {
		return
	}
	low := make([]string, len(stop))
	for i, w := range stop {
		low[i] = strings.ToLower(w)
	}
	for i := range rules {
		if r := &rules[i]; r.Class == recognise.ClassDiscovery {
			r.Allow = append(slices.Clip(r.Allow), recognise.Allow{StopWords: low})
		}
	}
}

func checkStopWords(stop []string) error {
	if len(stop) > MaxStopWords {
		return fail("leave out the rarest", "there are %d stop-words, and at most %d are possible", len(stop), MaxStopWords)
	}
	for i, w := range stop {
		if len(w) < MinStopWord || len(w) > MaxStopWord || strings.TrimSpace(w) != w {
			return fail("a stop-word is part of values that are no secrets, such as example", "stop-word %d must have %d to %d bytes, and no space around them", i+1, MinStopWord, MaxStopWord)
		}
	}
	return nil
}

// Rules returns the rules of patterns, which it does not test on their samples.
func Rules(patterns []Pattern, held int) ([]recognise.Rule, error) {
	if len(patterns) > MaxPatterns {
		return nil, fail("join some with |", "there are %d patterns, and at most %d are possible", len(patterns), MaxPatterns)
	}
	var out []recognise.Rule
	total := 0
	for i := range patterns {
		p := &patterns[i]
		if len(p.ID) > 40 || !validID.MatchString(p.ID) || slices.Contains(reserved, p.ID) {
			return nil, fail("an id has lower-case letters, digits and dashes, such as acme-key", "pattern %d needs another id", i+1)
		}
		kind := secret.KindToken
		if p.Kind != "" {
			kind = secret.Kind(p.Kind)
		}
		if !slices.Contains(Kinds(), kind) {
			return nil, fail(fmt.Sprintf("kinds of patterns are %v", Kinds()), "pattern %s has no kind that a pattern may have", p.ID)
		}
		text, group, size, err := expression(p, min(held-1, MaxLength))
		if err != nil {
			return nil, err
		}
		if total += size; total > maxPrograms {
			return nil, fail("use fewer or shorter patterns", "the patterns are too large together, from %s on", p.ID)
		}
		out = append(out, recognise.Rule{ID: p.ID, Kind: kind, Class: recognise.ClassCredential, Regex: text, Group: group})
	}
	return out, nil
}

// checkIDs returns an error if two rules have one id, built-in rules included.
func checkIDs(rules []recognise.Rule) error {
	known, err := recognise.Credentials()
	if err != nil {
		return err
	}
	taken := map[string]bool{}
	for _, of := range [][]recognise.Rule{known, recognise.Discovery(), recognise.Personal(), rules} {
		for i := range of {
			if id := of[i].ID; taken[id] {
				return fail("give it another id", "pattern %s has the id of another pattern or of a rule of Margay's", id)
			}
			taken[of[i].ID] = true
		}
	}
	return nil
}

// expression returns a pattern as a rule has it, with its group and the size
// of its program.
func expression(p *Pattern, most int) (text string, group, size int, err error) {
	if p.Pattern == "" || len(p.Pattern) > MaxText {
		return "", 0, 0, fail("see secrets in margay config example", "pattern %s must have 1 to %d bytes", p.ID, MaxText)
	}
	re, err := syntax.Parse(p.Pattern, syntax.Perl)
	if err != nil {
		what := "it can't be read"
		if e := (*syntax.Error)(nil); errors.As(err, &e) {
			what = e.Code.String()
		}
		return "", 0, 0, fail("patterns are regular expressions as Go has them (RE2)", "pattern %s is no regular expression: %s", p.ID, what)
	}
	var found *syntax.Regexp
	switch re.MaxCap() {
	case 0:
		found, text = re, "("+re.String()+")"
	case 1:
		found, text = onPath(re), p.Pattern
	}
	if found == nil {
		return "", 0, 0, fail("write the others as (?:…), and the secret's where nothing repeats it or leaves it out", "pattern %s may have one group, which takes part once in every match", p.ID)
	}
	if _, longest := lengths(re); longest < 0 || longest > most {
		return "", 0, 0, fail("write {16,64} instead of + or *; what is found grows to the end of its token anyway", "pattern %s must match at most %d bytes, and limits.held must be more", p.ID, most)
	}
	if least, _ := lengths(found); least < MinLength {
		return "", 0, 0, fail("ask for more characters, as {16,64} does", "pattern %s must find secrets of at least %d bytes", p.ID, MinLength)
	}
	prog, err := syntax.Compile(re.Simplify())
	if err != nil || len(prog.Inst) > maxProgram {
		return "", 0, 0, fail("use fewer repetitions", "pattern %s is too large", p.ID)
	}
	return text, 1, len(prog.Inst), nil
}

// onPath returns the group of an expression that takes part once in every match;
// nil if it may not.
func onPath(re *syntax.Regexp) *syntax.Regexp {
	switch re.Op {
	case syntax.OpCapture:
		return re
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			if sub.MaxCap() > 0 {
				return onPath(sub)
			}
		}
	}
	return nil
}

// lengths returns how many bytes an expression matches at least and at most; a
// negative number for no bound. A class matches a byte, as in package recognise.
func lengths(re *syntax.Regexp) (least, most int) {
	switch re.Op {
	case syntax.OpLiteral:
		n := len(string(re.Rune))
		return n, n
	case syntax.OpCharClass, syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return 1, 1
	case syntax.OpStar, syntax.OpPlus, syntax.OpQuest, syntax.OpRepeat:
		from, to := repeats(re)
		least, most = lengths(re.Sub[0])
		if to < 0 || most < 0 {
			return least * from, -1
		}
		return least * from, most * to
	case syntax.OpAlternate:
		least, most = lengths(re.Sub[0])
		for _, sub := range re.Sub[1:] {
			l, m := lengths(sub)
			if least = min(least, l); m < 0 || most < 0 {
				most = -1
			} else {
				most = max(most, m)
			}
		}
	case syntax.OpCapture, syntax.OpConcat:
		for _, sub := range re.Sub {
			l, m := lengths(sub)
			if least += l; m < 0 || most < 0 {
				most = -1
			} else {
				most += m
			}
		}
	}
	return least, most
}

// repeats returns how often an expression matches its part; to is negative for no
// bound.
func repeats(re *syntax.Regexp) (from, to int) {
	switch re.Op {
	case syntax.OpStar:
		return 0, -1
	case syntax.OpPlus:
		return 1, -1
	case syntax.OpQuest:
		return 0, 1
	}
	return re.Min, re.Max
}

// try tests a pattern on its samples, which come byte by byte.
func try(set *recognise.Set, p *Pattern, held int) error {
	if len(p.Samples.Match) == 0 {
		return fail("add samples: {match: [...]}, texts with an invented secret", "pattern %s has no sample to match", p.ID)
	}
	for _, of := range []struct {
		name  string
		texts []string
		found bool
		wrong string
	}{{"match", p.Samples.Match, true, "is not found"}, {"no_match", p.Samples.NoMatch, false, "is found"}} {
		if len(of.texts) > MaxSamples {
			return fail("leave some out", "pattern %s has more than %d samples of %s", p.ID, MaxSamples, of.name)
		}
		for i, text := range of.texts {
			if text == "" || len(text) > MaxSample {
				return fail("leave out what is not needed", "pattern %s: sample %d of %s must have 1 to %d bytes", p.ID, i+1, of.name, MaxSample)
			}
			if finds(set, p.ID, text, held) != of.found {
				return fail("change the pattern or the sample; fixed text or the start of a word must begin what is found", "pattern %s: sample %d of %s %s", p.ID, i+1, of.name, of.wrong)
			}
		}
	}
	return nil
}

func finds(set *recognise.Set, id, text string, held int) bool {
	sc := set.NewScanner(recognise.WithMaxHeld(held))
	for i := range len(text) {
		sc.Write([]byte{text[i]})
	}
	sc.Close()
	return slices.ContainsFunc(sc.Take(nil), func(m recognise.Match) bool { return m.Rule.ID == id && !m.Capped })
}
