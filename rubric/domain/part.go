package domain

import (
	"errors"
	"fmt"
	"math/big"
	"math/bits"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/margaydev/margay/secret/spoken"
)

// Atom is a set of values that no level distinguishes, all equally likely.
type Atom struct {
	Mass    uint64 // of the part's total
	Members *big.Int
	Rank    int // index of Mass/Members, the prior of a value, in Part.Peaks
}

// Part is one independent part of a population. It must not be changed.
type Part struct {
	Name    string
	Atoms   []Atom
	Total   uint64     // of all masses
	Peaks   []*big.Rat // distinct Mass/Members, ascending
	Members *big.Int
	Columns map[string]Column

	find finder
	// Mention returns the range of the value that a text mentions, as the part's own values
	// are written: a date in words, an age, an amount in a sentence, a listed value among
	// other words. It reports false if the text mentions none.
	Mention func(text string, today time.Time) (spoken.Range[string], bool)
}

// finder returns the atom that a value is in and the value's normal form. It
// reports false for a value that the part does not have.
type finder func(value string) (atom int, normal string, ok bool)

// Column is a function of the atoms: a label for each.
type Column struct {
	Of     []int32
	Labels []string
}

// Find returns the atom that a value is in, and its normal form: equal values
// have the same one. It reports false for a value that the part does not have.
func (p *Part) Find(value string) (atom int, normal string, ok bool) { return p.find(value) }

// maxTotal bounds the sum of masses, so that sums are exact.
const maxTotal = 1 << 62

var errKind = errors.New("a population is one of uniform, dates, numbers, table and product")

// New makes a part with columns; its name is that of the Spec.
func New(s *Spec, columns []string) (*Part, error) {
	p := &Part{Name: s.Name, Columns: map[string]Column{}, Mention: func(string, time.Time) (t spoken.Range[string], ok bool) { return t, false }}
	var build func(*Spec, []string) error
	for _, kind := range []struct {
		is    bool
		build func(*Spec, []string) error
	}{{s.Uniform != "", p.uniform}, {s.Dates != nil, p.dates}, {s.Numbers != nil, p.numbers}, {s.Table != nil, p.table}} {
		if kind.is && build != nil {
			return nil, errKind
		}
		if kind.is {
			build = kind.build
		}
	}
	switch {
	case build == nil:
		return nil, errKind
	case s.Uniform == "" && s.Ignore != "":
		return nil, errors.New("ignore is for uniform populations")
	case s.Dates == nil && s.Order != "":
		return nil, errors.New("order is for dates")
	}
	err := build(s, columns)
	if err == nil && s.Pattern != "" {
		err = p.narrow(s)
	}
	if err == nil {
		err = p.weigh()
	}
	if err != nil {
		return nil, err
	}
	return p, nil
}

// narrow keeps to values that match the pattern.
func (p *Part) narrow(s *Spec) error {
	re, err := regexp.Compile(`\A(?:` + s.Pattern + `)\z`)
	if err != nil {
		return fmt.Errorf("pattern: %w", err)
	}
	find := p.find
	p.find = func(v string) (int, string, bool) {
		if !re.MatchString(strip(strings.TrimSpace(v), s.Ignore)) {
			return 0, "", false
		}
		return find(v)
	}
	return nil
}

// weigh adds masses up and ranks the atoms' priors.
func (p *Part) weigh() error {
	if len(p.Atoms) == 0 {
		return errors.New("the population is empty")
	}
	if len(p.Atoms) > MaxAtoms {
		return fmt.Errorf("the population falls into more than %d cells", MaxAtoms)
	}
	p.Members = new(big.Int)
	type same struct {
		mass    uint64
		members *big.Int
	}
	priors := map[same]*big.Rat{} // most parts have few different ones
	for i := range p.Atoms {
		a := &p.Atoms[i]
		if a.Mass == 0 || a.Members.Sign() <= 0 {
			return errors.New("every member of a population has some weight")
		}
		sum, carry := bits.Add64(p.Total, a.Mass, 0)
		if carry != 0 || sum > maxTotal {
			return errors.New("the weights are too large")
		}
		p.Total = sum
		p.Members.Add(p.Members, a.Members)
		if k := (same{a.Mass, a.Members}); priors[k] == nil {
			priors[k] = new(big.Rat).SetFrac(new(big.Int).SetUint64(a.Mass), a.Members)
			p.Peaks = append(p.Peaks, priors[k])
		}
	}
	slices.SortFunc(p.Peaks, (*big.Rat).Cmp)
	p.Peaks = slices.CompactFunc(p.Peaks, func(a, b *big.Rat) bool { return a.Cmp(b) == 0 })
	ranks := map[same]int{}
	for k, prior := range priors {
		ranks[k], _ = slices.BinarySearchFunc(p.Peaks, prior, (*big.Rat).Cmp)
	}
	for i := range p.Atoms {
		p.Atoms[i].Rank = ranks[same{p.Atoms[i].Mass, p.Atoms[i].Members}]
	}
	return nil
}

// add makes a column of a label for each atom.
func (p *Part) add(name string, label func(atom int) string) {
	c := Column{Of: make([]int32, len(p.Atoms))}
	index := map[string]int32{}
	for i := range p.Atoms {
		l := label(i)
		n, ok := index[l]
		if !ok {
			n = int32(len(c.Labels)) //nolint:gosec // at most MaxAtoms
			index[l] = n
			c.Labels = append(c.Labels, l)
		}
		c.Of[i] = n
	}
	p.Columns[name] = c
}

// ParseCount reads a number of values: 1000, 10^9 or 2^128.
func ParseCount(s string) (*big.Int, error) {
	base, exp, power := strings.Cut(s, "^")
	n, ok := new(big.Int).SetString(base, 10)
	if !ok || len(base) > 40 || n.Sign() <= 0 || strings.HasPrefix(base, "+") {
		return nil, fmt.Errorf("%q is not a number of values: write 1000, 10^9 or 2^128", s)
	}
	if !power {
		return n, nil
	}
	e, err := strconv.ParseUint(exp, 10, 16)
	if err != nil || e > 512 || n.BitLen() > 64 {
		return nil, fmt.Errorf("%q is not a number of values: write 1000, 10^9 or 2^128", s)
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
func (p *Part) uniform(s *Spec, columns []string) error {
	n, err := ParseCount(string(s.Uniform))
	if err != nil {
		return err
	}
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
		p.Atoms = append(p.Atoms, Atom{Mass: 1, Members: each})
	}
	for _, c := range columns {
		d, _ := argument(c, "last")
		p.add(c, func(i int) string {
			t := strconv.Itoa(i + int(cells)) //nolint:gosec // at most 10^4
			return t[len(t)-int(d):]
		})
	}
	p.find = func(v string) (int, string, bool) {
		v = strip(strings.TrimSpace(v), s.Ignore)
		if v == "" || len(v) < digits {
			return 0, "", false
		}
		if digits == 0 {
			return 0, Fold(v), true
		}
		i, err := strconv.ParseUint(v[len(v)-digits:], 10, 32)
		return int(i), Fold(v), err == nil //nolint:gosec // at most four digits
	}
	return nil
}
