package adversary

import (
	"testing"

	"github.com/margaydev/margay/lab/traj/world"
)

// Who knows the joint distribution learns of a home by an area code, and who
// takes fields for independent does not, unless they are tied.
func TestApartAndTogether(t *testing.T) {
	p := New(people)
	index := map[world.Field]int{}
	for i, f := range fields {
		index[f] = i
	}
	x := people.Person(141, 3)
	for i := 3; x.Phone[:3] != people.Cities[x.City].Areas[0]; i++ {
		x = people.Person(141, i)
	}
	seen := &Seen{Facts: []world.Fact{{Kind: world.KArea, Value: x.Phone[:3]}}}
	alone := func(_, _ world.Field) bool { return false }
	tied := func(_, _ world.Field) bool { return true }
	home, phone := index[world.Address], index[world.Phone]
	apart, near, all := p.Apart(x, nil, seen, alone, nil, ""), p.Apart(x, nil, seen, tied, nil, ""), p.Together(x, nil, seen, nil, "")
	if apart.Bits[home] != 0 || near.Bits[home] <= 1 || all.Bits[home] != near.Bits[home] {
		t.Errorf("a home by an area code: %v bits alone, %v tied, %v together", apart.Bits[home], near.Bits[home], all.Bits[home])
	}
	if apart.Bits[phone] <= 1 || all.Total <= 0 {
		t.Errorf("%v bits of the number, %v in all", apart.Bits[phone], all.Total)
	}
	known := p.Together(x, seen.Facts, seen, nil, "")
	if known.Total != 0 || known.Bits[home] != 0 {
		t.Errorf("what was known before leaks %v bits", known.Total)
	}
	// Asked about one field, it says the same of it.
	for _, f := range fields {
		a, b := p.Apart(x, nil, seen, tied, nil, f), p.Together(x, nil, seen, nil, f)
		if i := index[f]; a.Bits[i] != near.Bits[i] || b.Bits[i] != all.Bits[i] || a.Right[i] != near.Right[i] {
			t.Errorf("%s: %v and %v bits asked alone, %v and %v with the others", f, a.Bits[i], b.Bits[i], near.Bits[i], all.Bits[i])
		}
	}
	if b := p.Best(world.Phone, x); b > -20 || b < -34 {
		t.Errorf("the best guess of a number has 2^%v", b)
	}
}
