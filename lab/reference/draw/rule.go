package draw

import (
	"math/rand/v2"
	"regexp/syntax"
	"strings"
	"unicode"
)

// ofRule draws a text that the expression of a rule matches, nearly always.
func (d *Drawer) ofRule() string {
	var b strings.Builder
	d.match(&b, d.src.trees[d.rng.IntN(len(d.src.trees))])
	s := b.String()
	if d.rng.IntN(6) == 0 {
		s = d.part(s)
	}
	return d.one([]string{"", " ", "\"", "=", "x", "_", "."}) + s + d.one([]string{"", " ", "\"", "\n", "y", "=", "== ", ".", "..", ".z", "=z", "-", "%3D"})
}

// mostDrawn bounds what is drawn of one rule, in bytes.
const mostDrawn = 500

func (d *Drawer) match(b *strings.Builder, re *syntax.Regexp) {
	if b.Len() > mostDrawn {
		return
	}
	switch re.Op {
	case syntax.OpLiteral:
		for _, r := range re.Rune {
			if re.Flags&syntax.FoldCase != 0 && d.rng.IntN(2) == 0 {
				r = unicode.SimpleFold(r)
				if r >= unicode.MaxASCII && d.rng.IntN(8) > 0 {
					r = unicode.SimpleFold(r)
				}
			}
			b.WriteRune(r)
		}
	case syntax.OpCharClass:
		b.WriteRune(inClass(d.rng, re.Rune))
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		b.WriteByte(byte(' ' + d.rng.IntN(95)))
	case syntax.OpCapture, syntax.OpConcat:
		for _, sub := range re.Sub {
			d.match(b, sub)
		}
	case syntax.OpAlternate:
		d.match(b, re.Sub[d.rng.IntN(len(re.Sub))])
	case syntax.OpQuest:
		d.repeat(b, re.Sub[0], 0, 1)
	case syntax.OpStar:
		d.repeat(b, re.Sub[0], 0, 8)
	case syntax.OpPlus:
		d.repeat(b, re.Sub[0], 1, 8)
	case syntax.OpRepeat:
		most := re.Max
		if most < 0 || most > re.Min+12 {
			most = re.Min + 12
		}
		d.repeat(b, re.Sub[0], re.Min, most)
	}
}

func (d *Drawer) repeat(b *strings.Builder, re *syntax.Regexp, least, most int) {
	for range least + d.rng.IntN(most-least+1) {
		d.match(b, re)
	}
}

// inClass draws a character of a class, in ASCII and printable where there is one.
func inClass(rng *rand.Rand, class []rune) rune {
	n := 0
	for i := 0; i < len(class); i += 2 {
		n += int(max(0, min(class[i+1], '~')-max(class[i], ' ')+1))
	}
	if n == 0 || rng.IntN(60) == 0 {
		i := 2 * rng.IntN(len(class)/2)
		return class[i] + rng.Int32N(min(class[i+1], class[i]+200)-class[i]+1)
	}
	k := rune(rng.IntN(n))
	for i := 0; ; i += 2 {
		from := max(class[i], ' ')
		size := max(0, min(class[i+1], '~')-from+1)
		if k < size {
			return from + k
		}
		k -= size
	}
}
