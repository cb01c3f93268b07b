package dfa

import (
	"encoding/binary"
	"regexp/syntax"
	"slices"
	"sort"
	"unicode"
	"unicode/utf8"
)

// end is the class of the end of the text.
const end = 0

// byteRune returns the character that a byte stands for.
func byteRune(b byte) rune {
	if b >= utf8.RuneSelf {
		return utf8.RuneError
	}
	return rune(b)
}

// around are the sets of characters that assertions tell apart.
var around = [][]rune{{'\n', '\n'}, {'0', '9', 'A', 'Z', '_', '_', 'a', 'z'}}

// setsOf returns the sets of characters that a program tells apart, each once, as
// sorted pairs.
func setsOf(prog *syntax.Prog) [][]rune {
	// What is repeated by a count is the same set over and over.
	type source struct {
		first *rune
		count int
		arg   uint32
	}
	out, seen := slices.Clone(around), map[string]bool{}
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

// partition divides all characters into symbols: those that a program does not
// tell apart are one. It returns where each interval of characters starts, sorted,
// the first at 0, and the symbol of each.
func partition(prog *syntax.Prog) (from []rune, symbol []int) {
	sets := setsOf(prog)
	from = []rune{0}
	for _, set := range sets {
		for i := 0; i < len(set); i += 2 {
			from = append(from, set[i], set[i+1]+1)
		}
	}
	slices.Sort(from)
	from = slices.Compact(from)
	// Each set divides the symbols so far into what it has and what it has not.
	symbol = make([]int, len(from))
	count := 1
	for _, set := range sets {
		split := make([]int, 2*count) // one more than the symbol
		count = 0
		at := 0
		for i, r := range from {
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
	return from, symbol
}

// classes puts the bytes that a program does not tell apart into one class. It
// returns the class of each byte, and a character of each class; there are at most
// 128 and the end.
func classes(prog *syntax.Prog) (class [256]uint8, reps []rune) {
	from, symbol := partition(prog)
	reps = []rune{-1}
	known := map[int]uint8{}
	for b := range class {
		r := byteRune(byte(b))
		k := symbol[sort.Search(len(from), func(i int) bool { return from[i] > r })-1]
		if known[k] == end {
			known[k] = uint8(len(reps))
			reps = append(reps, r)
		}
		class[b] = known[k]
	}
	return class, reps
}
