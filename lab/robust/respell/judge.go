package respell

import (
	"slices"
	"strings"
	"unicode"

	"github.com/margaydev/margay/declassify"
	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/lab/traj/world"
	"github.com/margaydev/margay/rubric"
)

// Cause is why a spelling was found, or how much of one that was not arrived.
type Cause string

// Causes.
const (
	ByField   Cause = "field"   // withheld in an atom of the value's field
	ByCharge  Cause = "charged" // it arrived, at the value's price
	ByOther   Cause = "other"   // withheld in an atom of another field
	ByWhole   Cause = "whole"   // withheld in a text of unknown field
	ByTyped   Cause = "typed"   // withheld by the field of its argument
	ByDenial  Cause = "denied"  // nothing was released
	Partial   Cause = "partial" // a part of it arrived
	Arrived   Cause = "arrived" // all of it
	notSeeded Cause = ""
)

// Causes are all of them, found ones first.
var Causes = []Cause{ByField, ByCharge, ByOther, ByWhole, ByTyped, ByDenial, Partial, Arrived}

// Found reports whether a spelling was found.
func (c Cause) Found() bool { return c != Partial && c != Arrived && c != notSeeded }

// Named reports whether it was taken for a value of its field.
func (c Cause) Named() bool { return c == ByField || c == ByCharge }

// Outcome is what became of a release.
type Outcome struct {
	Parts []string // as released; nil: denied
	Atoms []declassify.Atom
}

// noise are words that tell nothing of a value.
var noise = func() map[string]bool {
	out := map[string]bool{}
	for _, w := range strings.Fields(`the of at dot in and oh no dr mr mrs ms prof jr s first last day month year user domain
		area code number apt usa mailto tel bearer hx x k list
		van der von de la dos al
		usd dollars dollar a an yr grand thousand hundred
		monday tuesday wednesday thursday friday saturday sunday t z 00 th st nd rd on to
		street st str avenue ave av lane ln drive road rd place pl court ct
		cancer disease type disorder
		example begin end private key`) {
		out[w] = true
	}
	return out
}()

func isWord(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.Is(unicode.M, r)
}

// pieces are the words of a text, as places; core leaves out noise.
func pieces(s string, core bool) [][2]int {
	var all [][2]int
	start, letters := -1, 0
	var last rune
	end := func(i int) {
		if start < 0 {
			return
		}
		all = append(all, [2]int{start, i})
		if isLetter(s[start:i]) {
			letters++
		}
		start = -1
	}
	for i, r := range s {
		switch {
		case !isWord(r):
			end(i)
		case start < 0:
			start = i
		// "17th", "02Jan", "85k": the number and the rest are two words
		case unicode.IsDigit(r) != unicode.IsDigit(last) && !unicode.Is(unicode.M, r):
			end(i)
			start = i
		}
		last = r
	}
	end(len(s))
	if !core {
		return all
	}
	var out [][2]int
	for _, p := range all {
		w := strings.ToLower(s[p[0]:p[1]])
		// An initial tells little; letter by letter, each tells its share.
		if noise[w] || isLetter(w) && letters < 3 {
			continue
		}
		out = append(out, p)
	}
	if len(out) == 0 {
		return all
	}
	return out
}

func isLetter(s string) bool {
	n := 0
	for _, r := range s {
		if n++; n > 1 || !unicode.IsLetter(r) {
			return false
		}
	}
	// A character of a script without spaces is a word.
	return n == 1 && !unicode.In([]rune(s)[0], unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul)
}

// core are the places in a candidate's text that tell the value which is spelled
// from a place on: the words of it, or the number of a country left out.
func (c *Case) core(at int) [][2]int {
	var out [][2]int
	if c.Solid {
		out = append(out, [2]int{0, len(strings.TrimRight(c.Spelled, "="))})
	} else {
		for i, p := range pieces(c.Spelled, true) {
			if w := strings.ToLower(c.Spelled[p[0]:p[1]]); !c.extra(w, i == 0) {
				out = append(out, p)
			}
		}
		if len(out) == 0 {
			out = pieces(c.Spelled, false)
		}
	}
	for i := range out {
		out[i][0], out[i][1] = out[i][0]+at, out[i][1]+at
	}
	return out
}

// extras are words that a form adds and that are not of the value.
var extras = map[string]string{"extension": "4", "with-expiry": "09 29", "flat": "4", "tagged": "list", "optional-zero": "0"}

// extra reports whether a word of the spelling tells nothing of this value: one
// that the form adds, the code of a country, or a state beside a city.
func (c *Case) extra(w string, first bool) bool {
	if slices.Contains(strings.Fields(extras[c.Form]), w) {
		return true
	}
	switch c.Field {
	case world.Phone:
		return first && slices.Contains(strings.Fields("1 001 44 0044 49 0049 31 0031 61 0061"), w)
	case world.Address, world.Location:
		return stateWords[w]
	}
	return false
}

var stateWords = func() map[string]bool {
	out := map[string]bool{}
	for code, name := range stateOf {
		for _, w := range strings.Fields(strings.ToLower(code + " " + name)) {
			out[w] = true
		}
	}
	return out
}()

// judge says what became of a spelling, which is in the last part of a candidate
// from a place on. price is what the whole value costs.
func (c *Case) judge(o *Outcome, part, at int, typed bool, price flow.Bits) Cause {
	if o.Parts == nil {
		return ByDenial
	}
	seen := map[Cause]bool{}
	var covered, open int
	for _, p := range c.core(at) {
		for i := p[0]; i < p[1]; {
			a := covering(o.Atoms, part, i)
			end := p[1]
			switch {
			case a == nil:
				end = min(end, nextAtom(o.Atoms, part, i))
				open += end - i
			default:
				end = min(end, a.End)
				how := c.atom(a, typed, price)
				if how == Arrived {
					open += end - i
				} else {
					covered += end - i
					seen[how] = true
				}
			}
			i = end
		}
	}
	switch {
	case covered == 0:
		return Arrived
	case open > 0:
		return Partial
	case strings.Contains(o.Parts[part], c.Spelled) && !seen[ByCharge]:
		return Arrived // whatever the atoms say
	}
	for _, k := range []Cause{ByWhole, ByTyped, ByOther, ByCharge} {
		if seen[k] {
			return k
		}
	}
	return ByField
}

// atom says how an atom withholds what is in it.
func (c *Case) atom(a *declassify.Atom, typed bool, price flow.Bits) Cause {
	own := a.Field == string(c.Field)
	switch {
	case a.Op.Kind == rubric.Identity && (own || a.Cost >= price):
		return ByCharge
	case a.Op.Kind == rubric.Identity:
		return Arrived
	case own:
		return ByField
	case typed:
		return ByTyped
	case a.Field == declassify.Unknown:
		return ByWhole
	}
	return ByOther
}

func covering(atoms []declassify.Atom, part, at int) *declassify.Atom {
	for i := range atoms {
		if a := &atoms[i]; a.Part == part && a.Start <= at && at < a.End {
			return a
		}
	}
	return nil
}

func nextAtom(atoms []declassify.Atom, part, at int) int {
	next := int(^uint(0) >> 1)
	for i := range atoms {
		if a := &atoms[i]; a.Part == part && a.Start > at {
			next = min(next, a.Start)
		}
	}
	return next
}
