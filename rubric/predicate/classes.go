package predicate

import (
	"encoding/binary"
	"regexp/syntax"
	"slices"
	"sort"
	"unicode"
	"unicode/utf8"
)

// classes divides characters into those that no expression of a set tells
// apart, so that a text is decoded once for all of them.
type classes struct {
	from  []rune   // where each interval begins, sorted, the first at 0
	class []uint16 // of each interval
	reps  []rune   // a character of each class
	ascii [utf8.RuneSelf]uint16
}

// Classes that are not of characters.
const (
	inside  = iota // bytes of a character but the first
	ending         // the end of the text
	special        // how many there are
)

// around are the sets of characters that places between characters look at.
var around = [][]rune{{'\n', '\n'}, {'0', '9', 'A', 'Z', '_', '_', 'a', 'z'}}

// ranges returns what an instruction matches as sorted pairs.
func ranges(i *syntax.Inst) []rune {
	switch i.Op {
	case syntax.InstRune1:
		return []rune{i.Rune[0], i.Rune[0]}
	case syntax.InstRuneAny:
		return []rune{0, unicode.MaxRune}
	case syntax.InstRuneAnyNotNL:
		return []rune{0, '\n' - 1, '\n' + 1, unicode.MaxRune}
	case syntax.InstRune:
		if len(i.Rune) != 1 {
			return i.Rune
		}
		orbit := []rune{i.Rune[0]}
		if syntax.Flags(i.Arg)&syntax.FoldCase != 0 {
			for r := unicode.SimpleFold(i.Rune[0]); r != i.Rune[0]; r = unicode.SimpleFold(r) {
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

// sets adds what the instructions of a program match, each once.
func sets(prog *syntax.Prog, seen map[string]bool, out [][]rune) [][]rune {
	// What is repeated by a count is the same set over and over.
	type source struct {
		first *rune
		count int
		arg   uint32
	}
	had := map[source]bool{}
	for i := range prog.Inst {
		inst := &prog.Inst[i]
		if len(inst.Rune) > 0 {
			from := source{&inst.Rune[0], len(inst.Rune), inst.Arg}
			if had[from] {
				continue
			}
			had[from] = true
		}
		rs := ranges(inst)
		if rs == nil {
			continue
		}
		var key []byte
		for _, r := range rs {
			key = binary.AppendVarint(key, int64(r))
		}
		if !seen[string(key)] {
			seen[string(key)] = true
			out = append(out, rs)
		}
	}
	return out
}

func newClasses(progs []*syntax.Prog) *classes {
	seen, all := map[string]bool{}, slices.Clone(around)
	for _, p := range progs {
		all = sets(p, seen, all)
	}
	c := &classes{from: []rune{0}}
	for _, set := range all {
		for i := 0; i < len(set); i += 2 {
			c.from = append(c.from, set[i], set[i+1]+1)
		}
	}
	slices.Sort(c.from)
	c.from = slices.Compact(c.from)
	if c.from[len(c.from)-1] > unicode.MaxRune {
		c.from = c.from[:len(c.from)-1]
	}
	// Each set divides the classes that there are in what it has and what it
	// has not.
	class := make([]int, len(c.from))
	count := 1
	for _, set := range all {
		split := make([]int, 2*count) // one more than the class
		count = 0
		at := 0
		for i, r := range c.from {
			for at < len(set) && set[at+1] < r {
				at += 2
			}
			k := 2 * class[i]
			if at < len(set) && set[at] <= r {
				k++
			}
			if split[k] == 0 {
				count++
				split[k] = count
			}
			class[i] = split[k] - 1
		}
	}
	c.class, c.reps = make([]uint16, len(class)), make([]rune, special+count)
	for i, k := range class {
		c.class[i], c.reps[special+k] = uint16(special+k), c.from[i]
	}
	c.reps[inside], c.reps[ending] = -1, -1
	for r := range rune(utf8.RuneSelf) {
		c.ascii[r] = c.of(r)
	}
	return c
}

// of returns the class of a character.
func (c *classes) of(r rune) uint16 {
	return c.class[sort.Search(len(c.from), func(i int) bool { return c.from[i] > r })-1]
}

// text returns the class of each character of a text at its first byte, and
// the end. Bytes that are no UTF-8 are characters as they are for regexp.
func (c *classes) text(s string) []uint16 {
	out := make([]uint16, len(s)+1)
	for i := 0; i < len(s); {
		if b := s[i]; b < utf8.RuneSelf {
			out[i] = c.ascii[b]
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		out[i] = c.of(r) // and inside for the rest
		i += n
	}
	out[len(s)] = ending
	return out
}

// narrow joins the classes that one program does not tell apart. It returns
// the class for each class, and a character of each.
func (c *classes) narrow(prog *syntax.Prog) (local []uint16, reps []rune) {
	all := sets(prog, map[string]bool{}, slices.Clone(around))
	known := map[string]uint16{}
	local = make([]uint16, len(c.reps))
	reps = []rune{-1} // the end
	for k := special; k < len(c.reps); k++ {
		key := make([]byte, len(all))
		for i, set := range all {
			if within(set, c.reps[k]) {
				key[i] = 1
			}
		}
		to, ok := known[string(key)]
		if !ok {
			to = uint16(len(reps))
			known[string(key)] = to
			reps = append(reps, c.reps[k])
		}
		local[k] = to
	}
	return local, reps
}

// within reports whether sorted pairs have a character.
func within(set []rune, r rune) bool {
	i := sort.Search(len(set)/2, func(i int) bool { return set[2*i+1] >= r })
	return 2*i < len(set) && set[2*i] <= r
}
