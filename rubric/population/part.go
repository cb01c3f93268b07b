package population

import (
	"errors"
	"fmt"
	"math/big"
	"math/bits"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// atom is a set of values that no level tells apart, all equally likely.
type atom struct {
	mass    uint64 // of the part's total
	members *big.Int
	rank    int // index of mass/members, the prior of a value, in part.peaks
}

// part is one independent part of a population.
type part struct {
	name    string
	atoms   []atom
	total   uint64     // of all masses
	peaks   []*big.Rat // distinct mass/members, ascending
	members *big.Int
	columns map[string]column
	find    func(string) (int, bool)
	normal  func(string) string // of a value in the part: equal values alike
}

// column is a function of the atoms: a label for each.
type column struct {
	of     []int32
	labels []string
}

// maxTotal bounds the sum of masses, so that sums are exact.
const maxTotal = 1 << 62

func newPart(s *Spec, columns []string) (part, error) {
	kinds := 0
	for _, is := range []bool{s.Uniform != "", s.Dates != nil, s.Numbers != nil, s.Table != nil} {
		if is {
			kinds++
		}
	}
	if kinds != 1 {
		return part{}, errors.New("a population is one of uniform, dates, numbers, table and product")
	}
	if s.Uniform == "" && s.Ignore != "" {
		return part{}, errors.New("ignore is of uniform populations")
	}
	if s.Dates == nil && s.Order != "" {
		return part{}, errors.New("order is of dates")
	}
	p := part{name: s.Name, columns: map[string]column{}}
	var err error
	switch {
	case s.Uniform != "":
		err = p.uniform(s, columns)
	case s.Dates != nil:
		err = p.dates(s, columns)
	case s.Numbers != nil:
		err = p.numbers(s, columns)
	default:
		err = p.table(s.Table, columns)
	}
	if err == nil && s.Pattern != "" {
		err = p.narrow(s)
	}
	if err == nil {
		err = p.weigh()
	}
	return p, err
}

// narrow keeps to values that match the pattern.
func (p *part) narrow(s *Spec) error {
	re, err := regexp.Compile(`\A(?:` + s.Pattern + `)\z`)
	if err != nil {
		return fmt.Errorf("pattern: %w", err)
	}
	find := p.find
	p.find = func(v string) (int, bool) {
		if !re.MatchString(strip(strings.TrimSpace(v), s.Ignore)) {
			return 0, false
		}
		return find(v)
	}
	return nil
}

// weigh adds masses up and ranks the atoms' priors.
func (p *part) weigh() error {
	if len(p.atoms) == 0 {
		return errors.New("the population is empty")
	}
	if len(p.atoms) > MaxAtoms {
		return fmt.Errorf("the population falls into more than %d cells", MaxAtoms)
	}
	p.members = new(big.Int)
	peaks := make([]*big.Rat, len(p.atoms))
	type same struct {
		mass    uint64
		members *big.Int
	}
	known := map[same]*big.Rat{} // most parts have few different ones
	for i := range p.atoms {
		a := &p.atoms[i]
		if a.mass == 0 || a.members.Sign() <= 0 {
			return errors.New("every member of a population has some weight")
		}
		sum, carry := bits.Add64(p.total, a.mass, 0)
		if carry != 0 || sum > maxTotal {
			return errors.New("the weights are too large")
		}
		p.total = sum
		p.members.Add(p.members, a.members)
		k := same{a.mass, a.members}
		if peaks[i] = known[k]; peaks[i] == nil {
			peaks[i] = new(big.Rat).SetFrac(new(big.Int).SetUint64(a.mass), a.members)
			known[k] = peaks[i]
			p.peaks = append(p.peaks, peaks[i])
		}
	}
	slices.SortFunc(p.peaks, (*big.Rat).Cmp)
	p.peaks = slices.CompactFunc(p.peaks, func(a, b *big.Rat) bool { return a.Cmp(b) == 0 })
	ranks := map[*big.Rat]int{}
	for i, r := range peaks {
		n, ok := ranks[r]
		if !ok {
			n, _ = slices.BinarySearchFunc(p.peaks, r, (*big.Rat).Cmp)
			ranks[r] = n
		}
		p.atoms[i].rank = n
	}
	return nil
}

// add makes a column of a label for each atom.
func (p *part) add(name string, label func(atom int) string) {
	c := column{of: make([]int32, len(p.atoms))}
	index := map[string]int32{}
	for i := range p.atoms {
		l := label(i)
		n, ok := index[l]
		if !ok {
			n = int32(len(c.labels)) //nolint:gosec // at most MaxAtoms
			index[l] = n
			c.labels = append(c.labels, l)
		}
		c.of[i] = n
	}
	p.columns[name] = c
}

// ParseCount reads a number of values: 1000, 10^9 or 2^128.
func ParseCount(s string) (*big.Int, error) {
	base, exp, power := strings.Cut(s, "^")
	n, ok := new(big.Int).SetString(base, 10)
	if !ok || len(base) > 40 || n.Sign() <= 0 || strings.HasPrefix(base, "+") {
		return nil, fmt.Errorf("%q is no number of values: write 1000, 10^9 or 2^128", s)
	}
	if !power {
		return n, nil
	}
	e, err := strconv.ParseUint(exp, 10, 16)
	if err != nil || e > 512 || n.BitLen() > 64 {
		return nil, fmt.Errorf("%q is no number of values: write 1000, 10^9 or 2^128", s)
	}
	if n.Exp(n, new(big.Int).SetUint64(e), nil); n.BitLen() > 1024 {
		return nil, fmt.Errorf("%q is more than 2^1024", s)
	}
	return n, nil
}

// argument reads the number in a column such as "last 4".
func argument(column, name string) (n int64, ok bool) {
	rest, ok := strings.CutPrefix(column, name+" ")
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseInt(rest, 10, 64)
	return n, err == nil && n > 0 && strconv.FormatInt(n, 10) == rest
}

// uniform: the only thing that can be kept of values that are not listed is
// their last digits, which are equally likely.
func (p *part) uniform(s *Spec, columns []string) error {
	n, err := ParseCount(string(s.Uniform))
	if err != nil {
		return err
	}
	p.normal = func(v string) string { return fold(strip(v, s.Ignore)) }
	digits := 0
	for _, c := range columns {
		d, ok := argument(c, "last")
		if !ok || d > 4 {
			return fmt.Errorf("a uniform population has the columns last 1 to last 4, not %q", c)
		}
		digits = max(digits, int(d))
	}
	cells := uint64(1)
	for range digits {
		cells *= 10
	}
	each, rest := new(big.Int).QuoRem(n, new(big.Int).SetUint64(cells), new(big.Int))
	if each.Sign() == 0 || rest.Sign() != 0 {
		return fmt.Errorf("%s values do not fall into %d equal cells", s.Uniform, cells)
	}
	for range cells {
		p.atoms = append(p.atoms, atom{mass: 1, members: each})
	}
	for _, c := range columns {
		d, _ := argument(c, "last")
		p.add(c, func(i int) string {
			t := strconv.Itoa(i + int(cells)) //nolint:gosec // at most 10^4
			return t[len(t)-int(d):]
		})
	}
	p.find = func(v string) (int, bool) {
		v = strip(strings.TrimSpace(v), s.Ignore)
		if v == "" {
			return 0, false
		}
		if digits == 0 {
			return 0, true
		}
		if len(v) < digits {
			return 0, false
		}
		i, err := strconv.ParseUint(v[len(v)-digits:], 10, 32)
		return int(i), err == nil //nolint:gosec // at most four digits
	}
	return nil
}
