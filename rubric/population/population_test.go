package population_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/rubric/domain"
	"github.com/margaydev/margay/rubric/population"
)

// world is a population in the open: every value with its prior, and the row
// that it is of.
type world struct {
	spec  domain.Spec
	rows  int
	value []int // row of each value
	prior []*big.Rat
}

// drawWorld draws a table with members, weights and three columns, each a
// function of the one before it.
func drawWorld(t *rapid.T, prefix string) world {
	n := rapid.IntRange(1, 7).Draw(t, "rows")
	weighted := rapid.Bool().Draw(t, "weighted")
	w := world{rows: n}
	columns := []string{"value", "members", "fine", "mid", "coarse"}
	if weighted {
		columns = append(columns, "weight")
	}
	tb := &domain.Table{Columns: columns}
	mid := rapid.SliceOfN(rapid.IntRange(0, 3), n, n).Draw(t, "mid")
	coarse := rapid.SliceOfN(rapid.IntRange(0, 1), 4, 4).Draw(t, "coarse")
	fine := rapid.SliceOfN(rapid.IntRange(0, 5), n, n).Draw(t, "fine")
	midOf := map[int]int{}
	total := int64(0)
	type row struct{ members, weight int64 }
	var rows []row
	for i := range n {
		if m, ok := midOf[fine[i]]; ok {
			mid[i] = m
		}
		midOf[fine[i]] = mid[i]
		r := row{members: rapid.Int64Range(1, 5).Draw(t, "members")}
		r.weight = r.members
		entries := []any{
			fmt.Sprintf("%s%d", prefix, i), json.Number(fmt.Sprint(r.members)), fmt.Sprintf("f%d", fine[i]), fmt.Sprintf("m%d", mid[i]), fmt.Sprintf("c%d", coarse[mid[i]]),
		}
		if weighted {
			r.weight = rapid.Int64Range(1, 20).Draw(t, "weight")
			entries = append(entries, json.Number(fmt.Sprint(r.weight)))
		}
		tb.Rows = append(tb.Rows, entries)
		rows = append(rows, r)
		total += r.weight
	}
	for i, r := range rows {
		for range r.members {
			w.value = append(w.value, i)
			w.prior = append(w.prior, big.NewRat(r.weight, r.members*total))
		}
	}
	w.spec = domain.Spec{Table: tb}
	return w
}

var ladder = []string{"fine", "mid", "coarse"}

func drawLevels(t *rapid.T, by func(string) population.By, as string) []population.Level {
	bits := []flow.Bits{}
	for range ladder {
		bits = append(bits, flow.Bits(rapid.Int64Range(0, 8*int64(flow.Bit)).Draw(t, "bits")))
	}
	var out []population.Level
	for i, c := range ladder {
		out = append(out, population.Level{Name: c, By: by(c), Bits: max(bits[0], bits[1], bits[2]) - flow.Bits(i)*flow.Bit/4, As: as})
	}
	for i := range out {
		out[i].Bits = max(out[i].Bits, 0)
	}
	return out
}

// gain is what the adversary that guesses best gains at most: over all that it
// may see, the greatest posterior of a guess over the greatest prior.
func gain(prior []*big.Rat, see func(i int) string, guess func(i int) string) *big.Rat {
	seen := map[string]*big.Rat{}
	joint := map[string]map[string]*big.Rat{}
	before := map[string]*big.Rat{}
	add := func(m map[string]*big.Rat, k string, p *big.Rat) {
		if m[k] == nil {
			m[k] = new(big.Rat)
		}
		m[k].Add(m[k], p)
	}
	for i, p := range prior {
		if p.Sign() == 0 {
			continue
		}
		s, g := see(i), guess(i)
		add(seen, s, p)
		add(before, g, p)
		if joint[s] == nil {
			joint[s] = map[string]*big.Rat{}
		}
		add(joint[s], g, p)
	}
	most := new(big.Rat)
	for _, p := range before {
		if p.Cmp(most) > 0 {
			most = p
		}
	}
	worst := new(big.Rat)
	for s, gs := range joint {
		for _, p := range gs {
			if r := new(big.Rat).Quo(p, seen[s]); r.Cmp(worst) > 0 {
				worst = r
			}
		}
	}
	return worst.Quo(worst, most)
}

func label(t *rapid.T, c *population.Chain, level int, value string) string {
	s, err := c.Label(level, value)
	if err != nil {
		t.Fatalf("level %d of a value in the population: %v", level, err)
	}
	return s
}

// TestCostIsTheBestAdversarys: a level's cost is exactly what the adversary
// that guesses best gains in the worst case, within the level's bits, falling
// from level to level, each of which is a function of the one before.
func TestCostIsTheBestAdversarys(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t, "v")
		by := func(c string) population.By { return population.By{"": c} }
		p, err := population.New(&w.spec, []population.By{by("fine"), by("mid"), by("coarse")})
		if err != nil {
			t.Fatal(err)
		}
		levels := drawLevels(t, by, "")
		c, err := p.Chain(nil, levels)
		if err != nil {
			t.Fatal(err)
		}
		id := func(i int) string { return fmt.Sprint(i) }
		if want := population.BitsUp(gain(w.prior, id, id)); c.Cost(0) != want {
			t.Fatalf("identity costs %v, the adversary gains %v", c.Cost(0), want)
		}
		for l := 1; l <= len(ladder); l++ {
			see := func(i int) string { return label(t, c, l, fmt.Sprintf("v%d", w.value[i])) }
			if want := population.BitsUp(gain(w.prior, see, id)); c.Cost(l) != want {
				t.Fatalf("level %d costs %v, the adversary gains %v", l, c.Cost(l), want)
			}
			if c.Cost(l) > levels[l-1].Bits || c.Cost(l) > c.Cost(l-1) {
				t.Fatalf("level %d costs %v, it may %v, the finer one costs %v", l, c.Cost(l), levels[l-1].Bits, c.Cost(l-1))
			}
			of := map[string]string{}
			for i := range w.value {
				v := fmt.Sprintf("v%d", w.value[i])
				fine, coarse := label(t, c, l-1, v), label(t, c, l, v)
				if old, ok := of[fine]; ok && old != coarse {
					t.Fatalf("level %d is no function of the finer one: %q is in %q and %q", l, fine, old, coarse)
				}
				of[fine] = coarse
			}
		}
	})
}

// TestJointIsTheBestAdversarys: views of a product by two hierarchies.
func TestJointIsTheBestAdversarys(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawWorld(t, "a"), drawWorld(t, "b")
		a.spec.Name, b.spec.Name = "a", "b"
		spec := domain.Spec{Product: []domain.Spec{a.spec, b.spec}, Split: "comma"}
		var uses []population.By
		for _, c := range ladder {
			uses = append(uses, population.By{"a": c, "b": c})
		}
		p, err := population.New(&spec, uses)
		if err != nil {
			t.Fatal(err)
		}
		one, err := p.Chain(nil, drawLevels(t, func(c string) population.By { return population.By{"a": c, "b": c} }, "{a}/{b}"))
		if err != nil {
			t.Fatal(err)
		}
		two, err := p.Chain(population.By{"b": "fine"}, drawLevels(t, func(c string) population.By { return population.By{"b": c} }, "{b}"))
		if err != nil {
			t.Fatal(err)
		}
		var prior []*big.Rat
		var values []string
		for i := range a.value {
			for j := range b.value {
				prior = append(prior, new(big.Rat).Mul(a.prior[i], b.prior[j]))
				values = append(values, fmt.Sprintf("a%d, b%d", a.value[i], b.value[j]))
			}
		}
		id := func(i int) string { return fmt.Sprint(i) }
		for l := 1; l <= len(ladder); l++ {
			for m := 0; m <= len(ladder); m++ {
				see := func(i int) string { return label(t, one, l, values[i]) + "|" + label(t, two, m, values[i]) }
				got, want := p.Joint(one.View(l), two.View(m)), population.BitsUp(gain(prior, see, id))
				if got != want {
					t.Fatalf("levels %d and %d together cost %v, the adversary gains %v", l, m, got, want)
				}
				if got < one.Cost(l) || got < two.Cost(m) || got > one.Cost(0) {
					t.Fatalf("levels %d and %d together cost %v, alone %v and %v, all of it %v", l, m, got, one.Cost(l), two.Cost(m), one.Cost(0))
				}
			}
		}
	})
}

// tied is two populations with a table between them.
type tied struct {
	w      [2]world
	chain  [2]*population.Chain
	pop    [2]*population.Population
	states [2]*population.States
	level  [2]int
}

func drawTied(t *rapid.T) tied {
	var x tied
	for k, prefix := range []string{"a", "b"} {
		w := drawWorld(t, prefix)
		by := func(c string) population.By { return population.By{"": c} }
		p, err := population.New(&w.spec, []population.By{by("fine"), by("mid"), by("coarse")})
		if err != nil {
			t.Fatal(err)
		}
		c, err := p.Chain(nil, drawLevels(t, by, ""))
		if err != nil {
			t.Fatal(err)
		}
		x.level[k] = rapid.IntRange(1, 3).Draw(t, "level")
		s, err := c.States(x.level[k], 100)
		if err != nil {
			t.Fatal(err)
		}
		x.w[k], x.chain[k], x.pop[k], x.states[k] = w, c, p, s
	}
	return x
}

// priors of all pairs of values, for weights of the joint states: given its
// state, a value has its own population's prior.
func (x *tied) priors(t *rapid.T, weight func(a, b int) *big.Rat, conditional bool) (prior []*big.Rat, pairs [][2]int) {
	state := func(k, i int) int {
		l := label(t, x.chain[k], x.level[k], x.value(k, i))
		for n, s := range x.states[k].Labels {
			if s == l {
				return n
			}
		}
		t.Fatalf("%q is no state", l)
		return 0
	}
	mass := [2]map[int]*big.Rat{{}, {}}
	for k := range 2 {
		for i, p := range x.w[k].prior {
			s := state(k, i)
			if mass[k][s] == nil {
				mass[k][s] = new(big.Rat)
			}
			mass[k][s].Add(mass[k][s], p)
		}
	}
	sum := new(big.Rat)
	for i, p := range x.w[0].prior {
		for j, q := range x.w[1].prior {
			a, b := state(0, i), state(1, j)
			v := new(big.Rat).Mul(weight(a, b), new(big.Rat).Quo(q, mass[1][b]))
			v.Mul(v, p)
			if !conditional {
				v.Quo(v, mass[0][a])
			}
			prior, pairs = append(prior, v), append(pairs, [2]int{i, j})
			sum.Add(sum, v)
		}
	}
	for _, v := range prior {
		v.Quo(v, sum)
	}
	return prior, pairs
}

func (x *tied) value(k, i int) string { return fmt.Sprintf("%c%d", 'a'+k, x.w[k].value[i]) }

// worst is what the best adversary gains about either, or both.
func (x *tied) worst(t *rapid.T, prior []*big.Rat, pairs [][2]int, seen [2]int) flow.Bits {
	see := func(i int) string {
		s := ""
		for k := range 2 {
			switch {
			case seen[k] == 0:
				s += fmt.Sprint(pairs[i][k]) + "|"
			case seen[k] > 0:
				s += label(t, x.chain[k], seen[k], x.value(k, pairs[i][k])) + "|"
			}
		}
		return s
	}
	most := flow.Bits(0)
	for _, guess := range []func(int) string{
		func(i int) string { return fmt.Sprint(pairs[i]) },
		func(i int) string { return fmt.Sprint(pairs[i][0]) },
		func(i int) string { return fmt.Sprint(pairs[i][1]) },
	} {
		most = max(most, population.BitsUp(gain(prior, see, guess)))
	}
	return most
}

func (x *tied) views(seen [2]int) []population.View {
	out := make([]population.View, 2)
	for k := range out {
		if seen[k] >= 0 {
			out[k] = x.chain[k].View(seen[k])
		}
	}
	return out
}

// TestTieIsTheBestAdversarys: with single numbers the joint cost of dependent
// fields is exactly the best adversary's gain.
func TestTieIsTheBestAdversarys(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := drawTied(t)
		conditional := rapid.Bool().Draw(t, "conditional")
		na, nb := len(x.states[0].Labels), len(x.states[1].Labels)
		var entries []population.Bounds
		for range na {
			row, sum := make([]int64, nb), int64(0)
			for b := range row {
				row[b] = rapid.Int64Range(1, 9).Draw(t, "weight")
				sum += row[b]
			}
			for _, n := range row {
				r := big.NewRat(n, 1)
				if conditional {
					r = big.NewRat(n, sum)
				}
				entries = append(entries, population.Bounds{Low: r, High: r})
			}
		}
		tie, err := population.NewTie(x.states[:], []population.Factor{{Of: []int{0, 1}, Conditional: conditional, Entries: entries}})
		if err != nil {
			t.Fatal(err)
		}
		prior, pairs := x.priors(t, func(a, b int) *big.Rat { return entries[a*nb+b].Low }, conditional)
		for la := -1; la <= 3; la++ {
			for lb := -1; lb <= 3; lb++ {
				seen := [2]int{la, lb}
				if got, want := tie.Joint(x.views(seen)), x.worst(t, prior, pairs, seen); got != want {
					t.Fatalf("levels %v together cost %v, the adversary gains %v", seen, got, want)
				}
			}
		}
	})
}

// TestTieIsSound: with intervals no adversary gains more, whatever the weights
// within them.
func TestTieIsSound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := drawTied(t)
		na, nb := len(x.states[0].Labels), len(x.states[1].Labels)
		var entries []population.Bounds
		var inside []*big.Rat
		for range na * nb {
			lo := rapid.Int64Range(0, 9).Draw(t, "low")
			hi := lo + rapid.Int64Range(0, 4).Draw(t, "more")
			if hi == 0 {
				lo, hi = 1, 1
			}
			entries = append(entries, population.Bounds{Low: big.NewRat(lo, 1), High: big.NewRat(hi, 1)})
			inside = append(inside, big.NewRat(max(1, 2*lo+rapid.Int64Range(0, 2*(hi-lo)).Draw(t, "at")), 2))
		}
		tie, err := population.NewTie(x.states[:], []population.Factor{{Of: []int{0, 1}, Entries: entries}})
		if err != nil {
			return // nothing is possible for certain
		}
		prior, pairs := x.priors(t, func(a, b int) *big.Rat { return inside[a*nb+b] }, false)
		for la := -1; la <= 3; la++ {
			for lb := -1; lb <= 3; lb++ {
				seen := [2]int{la, lb}
				if got, truth := tie.Joint(x.views(seen)), x.worst(t, prior, pairs, seen); got < truth {
					t.Fatalf("levels %v together cost %v, an adversary gains %v", seen, got, truth)
				}
			}
		}
	})
}

// TestBitsUp: the logarithm is exact for powers of two, never below the truth,
// and at most a millionth above it.
func TestBitsUp(t *testing.T) {
	for e := range 300 {
		if got := population.BitsUp(new(big.Rat).SetInt(new(big.Int).Lsh(big.NewInt(1), uint(e)))); got != flow.Bits(e)*flow.Bit {
			t.Fatalf("2^%d: %v", e, got)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		den := rapid.Int64Range(1, 1<<40).Draw(t, "den")
		num := den + rapid.Int64Range(0, 1<<50).Draw(t, "more")
		got := float64(population.BitsUp(big.NewRat(num, den))) / float64(flow.Bit)
		truth := math.Log2(float64(num)) - math.Log2(float64(den))
		if got < truth-1e-9 || got > truth+1.001e-6 {
			t.Fatalf("%d/%d: %v, it is %v", num, den, got, truth)
		}
	})
	if population.BitsUp(big.NewRat(1, 2)) != 0 || population.BitsUp(big.NewRat(1, 1)) != 0 {
		t.Error("a ratio that is not above one tells something")
	}
}

// TestStatesAgree: what a value leaves is among the kinds of cells of its
// level, or in a smaller one's place.
func TestStatesAgree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := drawTied(t)
		s, c := x.states[0], x.chain[0]
		for l := 0; l <= len(ladder); l++ {
			kinds := s.Kinds(c, l)
			for i := range x.w[0].value {
				left, err := s.Left(c, l, x.value(0, i))
				if err != nil {
					t.Fatal(err)
				}
				if !covered(kinds, left) {
					t.Fatalf("level %d leaves %v, which is no kind of %v", l, left, kinds)
				}
			}
		}
	})
}

func covered(kinds [][]float64, left []float64) bool {
	for _, k := range kinds {
		same, within := true, 0
		for i := range k {
			same = same && k[i] == left[i]
			if k[i] > 0 && left[i] >= k[i] {
				within++
			}
			if (k[i] > 0) != (left[i] > 0) {
				within = -10
			}
		}
		if same || within == 1 {
			return true
		}
	}
	return false
}

func TestOutside(t *testing.T) {
	for _, c := range []struct {
		spec    domain.Spec
		in, out []string
	}{
		{domain.Spec{Dates: []string{"1990-01-15", "1999-12-31"}}, []string{"1990-01-15", "31.12.1999", "2 March 1995", "Mar 2, 1995"}, []string{"1990-01-14", "2000-01-01", "", "soon", "1995-02-30"}},
		{domain.Spec{Numbers: []int64{1000, 2000, 10}}, []string{"1000", "2,000", "$1 500.50", "2k", "1995", "1500 EUR"}, []string{"999", "2010", "", "12,34", "1e3", "3k", "1.5k"}},
		{domain.Spec{Uniform: "100", Pattern: `\d\d`, Ignore: "-"}, []string{"12", "1-2"}, []string{"123", "", "ab"}},
		{domain.Spec{Table: &domain.Table{Key: "country-code", Columns: []string{"code"}, Rows: [][]any{{"+33"}}}}, []string{"+33 6 12 34 56 78", "0033612345678"}, []string{"+44 1234567", "33 6 12 34 56 78", "+33", ""}},
		{domain.Spec{Table: &domain.Table{Key: "domain", Columns: []string{"d"}, Rows: [][]any{{"a.example"}}}}, []string{"x@a.example", "X@A.Example"}, []string{"x@b.example", "@a.example", "x", "see a b@a.example", "<x@a.example", strings.Repeat("x", 65) + "@a.example", "a@b@a.example"}},
		{domain.Spec{Table: &domain.Table{Key: "initial", Columns: []string{"i"}, Rows: [][]any{{"M"}}}}, []string{"Maria", "maria-luisa d'A."}, []string{"Maria 4111", "Maria: the code is", "Nora", strings.Repeat("Ma ", 7), "M\nM"}},
		{domain.Spec{Pattern: `[^!]{1,40}`, Table: &domain.Table{Key: "place", Columns: []string{"d"}, Rows: [][]any{{"Lyon"}}}}, []string{"1 Rue X, Lyon"}, []string{"1 Rue X!, Lyon", strings.Repeat("a", 41) + ", Lyon"}},
		{domain.Spec{Table: &domain.Table{Key: "place", Columns: []string{"d"}, Rows: [][]any{{"Paris, Texas"}, {"Paris"}}}}, []string{"1 Main St, Paris, Texas 75460", "2 Rue X, 75001 Paris, France"}, []string{"1 Main St, Dallas", "Parisian Road", ""}},
	} {
		p, err := population.New(&c.spec, nil)
		if err != nil {
			t.Fatal(err)
		}
		chain, err := p.Chain(nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range c.in {
			if got, err := chain.Label(0, v); err != nil || got != v {
				t.Errorf("%q: %q, %v", v, got, err)
			}
		}
		for _, v := range c.out {
			if _, err := chain.Label(0, v); !errors.Is(err, population.ErrOutside) {
				t.Errorf("%q is inside: %v", v, err)
			}
		}
	}
}
