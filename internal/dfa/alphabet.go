package dfa

import (
	"encoding/binary"
	"regexp/syntax"
	"slices"
	"sort"
	"unicode"
	"unicode/utf8"
)

// Alphabet says which symbol a character is. It is immutable.
type Alphabet struct {
	reps []rune // by symbol: a character of it, or -1

	from   []rune   // where each interval of characters starts, sorted, the first at 0
	symbol []uint16 // of each interval
	ascii  [utf8.RuneSelf]uint16
}

// Symbols that are not characters.
const (
	Inside = iota // a byte of a character, but for the first
	End           // the end of the text
	firstCharacter
)

// end is the class of the end of the text, in every DFA.
const end = 0

// Bytes is the alphabet of bytes: the symbol of a byte is its value. A byte of
// 0x80 and above stands for the character U+FFFD.
var Bytes = func() *Alphabet {
	a := &Alphabet{reps: make([]rune, 256)}
	for b := range a.reps {
		a.reps[b] = byteRune(byte(b))
	}
	return a
}()

// byteRune returns the character that a byte stands for.
func byteRune(b byte) rune {
	if b >= utf8.RuneSelf {
		return utf8.RuneError
	}
	return rune(b)
}

// around are the sets of characters that assertions tell apart.
var around = [][]rune{{'\n', '\n'}, {'0', '9', 'A', 'Z', '_', '_', 'a', 'z'}}

// setsOf returns the sets of characters that programs tell apart, each once, as
// sorted pairs.
func setsOf(progs ...*syntax.Prog) [][]rune {
	// What is repeated by a count is the same set over and over.
	type source struct {
		first *rune
		count int
		arg   uint32
	}
	out, seen := slices.Clone(around), map[string]bool{}
	for _, prog := range progs {
		had := map[source]bool{}
		for i := range prog.Inst {
			in := &prog.Inst[i]
			if len(in.Rune) > 0 {
				from := source{&in.Rune[0], len(in.Rune), in.Arg}
				if had[from] {
					continue
				}
				had[from] = true
			}
			set := setOf(in)
			if set == nil {
				continue
			}
			var key []byte
			for _, r := range set {
				key = binary.AppendVarint(key, int64(r))
			}
			if !seen[string(key)] {
				seen[string(key)] = true
				out = append(out, set)
			}
		}
	}
	return out
}

// setOf returns what an instruction matches as sorted pairs.
func setOf(in *syntax.Inst) []rune {
	switch in.Op {
	case syntax.InstRune1:
		return []rune{in.Rune[0], in.Rune[0]}
	case syntax.InstRuneAny:
		return []rune{0, unicode.MaxRune}
	case syntax.InstRuneAnyNotNL:
		return []rune{0, '\n' - 1, '\n' + 1, unicode.MaxRune}
	case syntax.InstRune:
		if len(in.Rune) != 1 {
			return in.Rune
		}
		orbit := []rune{in.Rune[0]}
		if syntax.Flags(in.Arg)&syntax.FoldCase != 0 {
			for r := unicode.SimpleFold(in.Rune[0]); r != in.Rune[0]; r = unicode.SimpleFold(r) {
				orbit = append(orbit, r)
			}
			slices.Sort(orbit)
		}
		var out []rune
		for _, r := range orbit {
			out = append(out, r, r)
		}
		return out
	}
	return nil
}

// NewAlphabet returns the coarsest alphabet for a set of programs: characters
// that none of them tells apart are one symbol.
func NewAlphabet(progs ...*syntax.Prog) *Alphabet {
	sets := setsOf(progs...)
	a := &Alphabet{from: []rune{0}}
	for _, set := range sets {
		for i := 0; i < len(set); i += 2 {
			a.from = append(a.from, set[i], set[i+1]+1)
		}
	}
	slices.Sort(a.from)
	a.from = slices.Compact(a.from)
	if a.from[len(a.from)-1] > unicode.MaxRune {
		a.from = a.from[:len(a.from)-1]
	}
	// Each set divides the symbols so far into what it has and what it has not.
	symbol := make([]int, len(a.from))
	count := 1
	for _, set := range sets {
		split := make([]int, 2*count) // one more than the symbol
		count = 0
		at := 0
		for i, r := range a.from {
			for at < len(set) && set[at+1] < r {
				at += 2
			}
			k := 2 * symbol[i]
			if at < len(set) && set[at] <= r {
				k++
			}
			if split[k] == 0 {
				count++
				split[k] = count
			}
			symbol[i] = split[k] - 1
		}
	}
	a.symbol, a.reps = make([]uint16, len(symbol)), make([]rune, firstCharacter+count)
	for i, k := range symbol {
		a.symbol[i], a.reps[firstCharacter+k] = uint16(firstCharacter+k), a.from[i]
	}
	a.reps[Inside], a.reps[End] = -1, -1
	for r := range rune(utf8.RuneSelf) {
		a.ascii[r] = a.of(r)
	}
	return a
}

// of returns the symbol of a character.
func (a *Alphabet) of(r rune) uint16 {
	return a.symbol[sort.Search(len(a.from), func(i int) bool { return a.from[i] > r })-1]
}

// Symbols returns the symbol of each character of a text at its first byte,
// Inside for its other bytes, and End behind the text. Bytes that are not UTF-8
// are characters, as they are for regexp.
func (a *Alphabet) Symbols(text string) []uint16 {
	out := make([]uint16, len(text)+1)
	for i := 0; i < len(text); {
		if b := text[i]; b < utf8.RuneSelf {
			out[i] = a.ascii[b]
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(text[i:])
		out[i] = a.of(r) // and Inside for the rest
		i += n
	}
	out[len(text)] = End
	return out
}

// join puts the symbols of an alphabet that a program does not tell apart into
// one class. It returns the class of each symbol, and a character of each class.
// Symbols that are not characters are in the class end.
func join(prog *syntax.Prog, symbols []rune) (class []uint16, reps []rune) {
	class, reps = make([]uint16, len(symbols)), []rune{-1}
	own, known := NewAlphabet(prog), map[uint16]uint16{}
	for i, r := range symbols {
		if r < 0 {
			continue
		}
		symbol := own.of(r)
		if known[symbol] == end {
			known[symbol] = uint16(len(reps))
			reps = append(reps, r)
		}
		class[i] = known[symbol]
	}
	return class, reps
}
