package smt_test

import (
	"errors"
	"flag"
	"fmt"
	"os/exec"
	"reflect"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/margaydev/margay/declassify/smt"
	"github.com/margaydev/margay/declassify/smt/z3"
	"github.com/margaydev/margay/internal/testkit"
)

// pool opens Z3, or skips the test.
func pool(t testing.TB, c z3.Config) *z3.Pool {
	t.Helper()
	if _, err := exec.LookPath("z3"); err != nil {
		testkit.Missing(t, "z3", "run scripts/deps, or apt-get install z3")
	}
	c.Timeout = time.Minute // of machines that do much else
	p, err := z3.Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

// What the project promises is -instances 100000, which CI runs.
var instances = flag.Int("instances", 5_000, "random problems that TestDifferential decides")

// TestDifferential decides random problems natively and by Z3. Both must name
// the clauses that the generator says fail.
func TestDifferential(t *testing.T) {
	both := smt.Both{First: new(smt.Native), Second: pool(t, z3.Config{})}
	n := *instances
	var next, passed, failed atomic.Int64
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			var p smt.Problem
			for !t.Failed() {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				p.Reset()
				want := random(seeded(uint64(i)), &p)
				v, err := both.Validate(t.Context(), &p)
				if err != nil || !slices.Equal(failing(v), falses(want)) {
					t.Errorf("seed %d: %v, %v; %v should fail", i, v, err, falses(want))
					script, _ := p.Script()
					t.Logf("%s", script)
					return
				}
				if v.OK {
					passed.Add(1)
				} else {
					failed.Add(1)
				}
			}
		})
	}
	wg.Wait()
	t.Logf("%d problems: %d pass, %d fail, no disagreement", passed.Load()+failed.Load(), passed.Load(), failed.Load())
	if m := int64(n); passed.Load() < m/5 || failed.Load() < m/5 {
		t.Error("too one-sided to show anything")
	}
}

// TestReleases holds Z3 to the native verdicts on releases, whole and spoilt,
// atoms at fault and all.
func TestReleases(t *testing.T) {
	native, z := new(smt.Native), pool(t, z3.Config{})
	var p smt.Problem
	for i := range 40 {
		r := seeded(uint64(i))
		l := release(r, &p, 1+r.IntN(20), 1+r.IntN(3))
		spoilt := i%4 > 0
		if spoilt {
			p.SetEnum(l.nec, 0, unnecessary)
		}
		v, err := native.Validate(t.Context(), &p)
		if err != nil || v.OK == spoilt {
			t.Fatalf("%d: %v, %v", i, v, err)
		}
		if w, err := z.Validate(t.Context(), &p); err != nil || !reflect.DeepEqual(v, w) {
			t.Fatalf("%d: %v, and z3 %v, %v", i, v, w, err)
		}
	}
}

// TestLarge decides as many atoms as there may be, and by Z3 so many that its
// answers are more than a pipe holds.
func TestLarge(t *testing.T) {
	var p smt.Problem
	native := new(smt.Native)
	for _, spoilt := range []bool{false, true} {
		stated(seeded(1), &p, smt.MaxAtoms, spoilt)
		if v, err := native.Validate(t.Context(), &p); err != nil || v.OK == spoilt {
			t.Errorf("%v, %v", v, err)
		}
	}
	z := pool(t, z3.Config{Size: 1})
	stated(seeded(1), &p, 1_500, true)
	v, err := native.Validate(t.Context(), &p)
	if w, err2 := z.Validate(t.Context(), &p); err != nil || err2 != nil || !reflect.DeepEqual(v, w) {
		t.Errorf("%v, %v; z3 %v, %v", v, err, w, err2)
	}
}

// TestFailed: a verdict by indices names clauses and atoms, and is refused for
// clauses that are none.
func TestFailed(t *testing.T) {
	var p smt.Problem
	l := release(seeded(1), &p, 3, 1)
	p.SetEnum(l.nec, 0, unnecessary)
	v, err := p.Failed(7, 0, 7) // coverage holds
	if err != nil || v.OK || fmt.Sprint(v.Failures) != "[{0 necessity [0]} {7 challenge [0 1 2]}]" {
		t.Errorf("%v, %v", v.Failures, err)
	}
	if v, err := p.Failed(); err != nil || !v.OK {
		t.Errorf("%v, %v", v, err)
	}
	for _, i := range []int{-1, p.Clauses()} {
		if v, err := p.Failed(i); !errors.Is(err, smt.ErrAnswer) || v.OK {
			t.Errorf("%v, %v", v, err)
		}
	}
}

// TestRefusals: what is malformed is refused by Z3's side as well, before Z3
// hears of it.
func TestRefusals(t *testing.T) {
	z := pool(t, z3.Config{Size: 1})
	var p smt.Problem
	p.Atoms(1)
	e := p.Enum("e", "a", "b")
	f := p.EnumFunc("f", e)
	p.Clause("c", p.Is(p.Apply(f, 0), 1))
	if v, err := z.Validate(t.Context(), &p); !errors.Is(err, smt.ErrProblem) || v.OK {
		t.Errorf("a free function: %v, %v", v, err)
	}
	for _, f := range []smt.Formula{0, -1, 99, smt.Formula(p.Int(1))} {
		if a, err := z.Satisfiable(t.Context(), &p, f); !errors.Is(err, smt.ErrProblem) || a.Satisfiable {
			t.Errorf("%v: %v, %v", f, a, err)
		}
	}
	p.Clause("c", 0)
	if v, err := z.Validate(t.Context(), &p); !errors.Is(err, smt.ErrProblem) || v.OK {
		t.Errorf("a mistake: %v, %v", v, err)
	}
	if a, err := z.Satisfiable(t.Context(), &p); !errors.Is(err, smt.ErrProblem) || a.Satisfiable {
		t.Errorf("a mistake: %v, %v", a, err)
	}
}

// BenchmarkZ3Pooled decides releases of 20 atoms: with the clauses that the
// verifier states, and with those of 3 rubrics in full.
func BenchmarkZ3Pooled(b *testing.B) {
	z := pool(b, z3.Config{Size: 1})
	for _, c := range []struct {
		name         string
		full, spoilt bool
	}{{"stated-pass", false, false}, {"stated-fail", false, true}, {"full-pass", true, false}, {"full-fail", true, true}} {
		b.Run(c.name, func(b *testing.B) {
			ps := make([]smt.Problem, 16)
			for i := range ps {
				if !c.full {
					stated(seeded(uint64(i)), &ps[i], 20, c.spoilt)
				} else if l := release(seeded(uint64(i)), &ps[i], 20, 3); c.spoilt {
					ps[i].SetEnum(l.nec, 0, unnecessary)
				}
			}
			b.ReportMetric(float64(ps[0].Clauses()), "clauses")
			i := 0
			percentiles(b, func() {
				i++
				if v, err := z.Validate(b.Context(), &ps[i%len(ps)]); err != nil || v.OK == c.spoilt {
					b.Fatalf("%v, %v", v, err)
				}
			})
		})
	}
}
