package corpus

import (
	"fmt"
	"regexp/syntax"
	"unicode/utf8"
)

// Expression is a rule's, by its name.
type Expression struct{ Name, Regex string }

// longest bounds what an expression without a bound repeats.
const longest = 200

// Prefix is the text that an expression reads the longest without a match:
// repeated matches that lack their end.
func Prefix(e Expression) (Hostile, error) {
	re, err := syntax.Parse(e.Regex, syntax.Perl)
	if err != nil {
		return Hostile{}, fmt.Errorf("rule %s: %w", e.Name, err)
	}
	return Hostile{"rule:" + e.Name, "matches of the rule that are cut before their end", func(d *draw) error {
		d.prefix(re)
		return nil
	}}, nil
}

// Prefixes is one text of all expressions' prefixes, in turn.
func Prefixes(all []Expression) (Hostile, error) {
	res := make([]*syntax.Regexp, len(all))
	for i, e := range all {
		var err error
		if res[i], err = syntax.Parse(e.Regex, syntax.Perl); err != nil {
			return Hostile{}, fmt.Errorf("rule %s: %w", e.Name, err)
		}
	}
	return Hostile{"rules", "matches of each rule in turn that are cut before their end", func(d *draw) error {
		d.prefix(res[d.turn%len(res)])
		d.turn++
		return nil
	}}, nil
}

// prefix appends a match without its last character, and without what only
// ends it.
func (d *draw) prefix(re *syntax.Regexp) {
	from := len(d.b)
	d.match(trunk(re))
	if len(d.b) > from+1 {
		_, n := utf8.DecodeLastRune(d.b[from:])
		d.b = d.b[:len(d.b)-n]
	}
	if len(d.b) == from {
		d.b = append(d.b, ' ')
	}
}

// trunk is an expression without what only says where a match ends: what comes
// after its last group.
func trunk(re *syntax.Regexp) *syntax.Regexp {
	last := len(re.Sub) - 1
	if re.Op != syntax.OpConcat || last < 1 || re.MaxCap() == 0 || re.Sub[last].MaxCap() > 0 {
		return re
	}
	return &syntax.Regexp{Op: syntax.OpConcat, Flags: re.Flags, Sub: re.Sub[:last]}
}

// match appends a random match. It takes the longest repetitions, and of a
// class a character that keeps words going where the class has one.
func (d *draw) match(re *syntax.Regexp) {
	switch re.Op {
	case syntax.OpLiteral:
		for _, r := range re.Rune {
			d.b = utf8.AppendRune(d.b, r)
		}
	case syntax.OpCharClass:
		d.class(re.Rune)
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		d.from(alphanum, 1)
	case syntax.OpCapture:
		d.match(re.Sub[0])
	case syntax.OpConcat:
		for _, s := range re.Sub {
			d.match(s)
		}
	case syntax.OpAlternate:
		d.match(re.Sub[d.IntN(len(re.Sub))])
	case syntax.OpQuest:
		d.times(re.Sub[0], d.IntN(2))
	case syntax.OpStar, syntax.OpPlus:
		d.times(re.Sub[0], 1+d.IntN(longest))
	case syntax.OpRepeat:
		most := re.Max
		if most < 0 {
			most = re.Min + d.IntN(longest)
		}
		d.times(re.Sub[0], min(most, max(re.Min, longest)))
	}
}

// times appends n matches, of which nested repetitions make no more than a few
// kilobytes.
func (d *draw) times(re *syntax.Regexp, n int) {
	from := len(d.b)
	for range n {
		if d.match(re); len(d.b)-from > 4*longest {
			return
		}
	}
}

func (d *draw) class(ranges []rune) {
	if len(ranges) == 0 {
		return
	}
	for range 20 {
		c := alphanum[d.IntN(len(alphanum))]
		for i := 0; i < len(ranges); i += 2 {
			if ranges[i] <= rune(c) && rune(c) <= ranges[i+1] {
				d.b = append(d.b, c)
				return
			}
		}
	}
	at := 2 * d.IntN(len(ranges)/2)
	d.b = utf8.AppendRune(d.b, ranges[at]+d.Int32N(min(ranges[at+1]-ranges[at], 30)+1))
}
