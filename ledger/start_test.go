package ledger_test

import (
	"errors"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/ledger"
	"github.com/margaydev/margay/ledger/charge"
	"github.com/margaydev/margay/store/memory"
)

// allows are the limits of the rubrics of these tests.
func allows(by map[string]charge.Limits) func([]byte) (charge.Limits, error) {
	return func(b []byte) (charge.Limits, error) {
		l, ok := by[string(b)]
		if !ok {
			return l, errors.New("no rubric")
		}
		return l, nil
	}
}

func someLimits(b, c1, c2, c3 flow.Bits, l3 int64) charge.Limits {
	return charge.Limits{B: b, Cap: [charge.Classes]flow.Bits{0, c1, c2, c3}, Lambda: [charge.Classes]int64{0, 1000, 2000, l3}}
}

// begin writes the first entry of a family, and one more, under limits that
// somebody chose.
func begin(t testing.TB, b *ledger.Book, family string, l charge.Limits, rubrics ...string) {
	t.Helper()
	var hashes []charge.Hash
	for _, r := range rubrics {
		h, err := b.KeepRubric(t.Context(), []byte(r))
		if err != nil {
			t.Fatal(err)
		}
		hashes = append(hashes, h)
	}
	slices.SortFunc(hashes, func(a, b charge.Hash) int { return slices.Compare(a[:], b[:]) })
	for range 2 {
		s, err := b.Head(t.Context(), flow.TrajectoryID(family))
		if err != nil {
			t.Fatal(err)
		}
		e := release(flow.RequiredService)
		e.Rubrics, e.Limits = hashes, l
		for i := range e.Atoms {
			e.Atoms[i].After, e.Atoms[i].Cost = s.After(e.Atoms[i].Value), 0
		}
		if err := s.Next(e); err != nil {
			t.Fatal(err)
		}
		if _, err := b.Commit(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
}

// A ledger whose owner started a family with more than its rubrics allow is whole
// in itself, and found.
func TestLaxLimitsAreFound(t *testing.T) {
	strict, wide := someLimits(40, 20, 4, 1, 4000), someLimits(80, 10, 8, 0, 4000)
	by := allows(map[string]charge.Limits{"strict": strict, "wide": wide})
	for name, c := range map[string]struct {
		limits  charge.Limits
		rubrics []string
		lax     bool
	}{
		"the rubric's":              {strict, []string{"strict"}, false},
		"less":                      {someLimits(39, 19, 3, 0, 5000), []string{"strict"}, false},
		"one of several":            {wide, []string{"strict", "wide"}, false},
		"of both together":          {someLimits(40, 10, 4, 0, 4000), []string{"strict", "wide"}, false},
		"beside what can't be read": {strict, []string{"strict", "none"}, false},
		"a larger budget":           {someLimits(41, 20, 4, 1, 4000), []string{"strict"}, true},
		"a larger cap":              {someLimits(40, 20, 5, 1, 4000), []string{"strict"}, true},
		"a larger first cap":        {someLimits(40, 21, 4, 1, 4000), []string{"strict"}, true},
		"a smaller weight":          {someLimits(40, 20, 4, 1, 3999), []string{"strict"}, true},
		"text passes by a model":    {screening(strict), []string{"strict"}, true},
		"the best of both":          {someLimits(80, 20, 8, 1, 4000), []string{"strict", "wide"}, true},
		"another's":                 {wide, []string{"strict"}, true},
		"none that can be read":     {strict, []string{"none"}, true},
	} {
		b := newBook(t, memory.New())
		begin(t, b, "A", strict, "strict")
		begin(t, b, "B", c.limits, c.rubrics...)
		begin(t, b, "C", c.limits, c.rubrics...) // told once
		text := export(t, b)
		if r := check(t, text, ledger.Check{}); len(r.Findings) > 0 {
			t.Fatalf("%s: %v", name, r.Findings)
		}
		r := check(t, text, ledger.Check{Limits: by})
		if !c.lax && len(r.Findings) > 0 || c.lax && (len(r.Findings) != 1 || r.Findings[0].Rule != ledger.Lax || r.Findings[0].Entry != 3 || r.Findings[0].Family != "B") {
			t.Errorf("%s: %v", name, r.Findings)
		}
	}
}

// screening are limits that let text pass by a model's judgement.
func screening(l charge.Limits) charge.Limits {
	l.Screened = 1
	return l
}

// Whatever limits somebody draws: what is above the rubric's in any is found,
// and nothing else.
func TestLaxLimits(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		bits := func(name string, most flow.Bits) flow.Bits {
			return flow.Bits(rapid.Int64Range(0, int64(most)).Draw(rt, name))
		}
		draw := func(what string) charge.Limits {
			c1 := bits(what+" cap 1", 4)
			c2 := bits(what+" cap 2", c1)
			return someLimits(bits(what+" budget", 4), c1, c2, bits(what+" cap 3", c2), rapid.Int64Range(2000, 2003).Draw(rt, what+" weight"))
		}
		of, has := draw("rubric"), draw("family")
		lax := has.B > of.B || has.Lambda[3] < of.Lambda[3]
		for k := 1; k < charge.Classes; k++ {
			lax = lax || has.Cap[k] > of.Cap[k]
		}
		b := newBook(t, memory.New())
		begin(t, b, "A", has, "rubric")
		r := check(t, export(t, b), ledger.Check{Limits: allows(map[string]charge.Limits{"rubric": of})})
		if lax != (len(r.Findings) == 1) || len(r.Findings) > 1 {
			rt.Fatalf("%+v of %+v: %v", has, of, r.Findings)
		}
	})
}
