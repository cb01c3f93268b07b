package smt_test

import (
	"errors"
	"flag"
	"os/exec"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

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
					script, _ := p.AppendScript(nil, smt.Query{})
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

// TestReleases holds Z3 to the native verdicts on releases, whole and spoilt.
func TestReleases(t *testing.T) {
	both := smt.Both{First: new(smt.Native), Second: pool(t, z3.Config{})}
	var p smt.Problem
	for i := range 40 {
		r := seeded(uint64(i))
		l := release(r, &p, 1+r.IntN(20), 1+r.IntN(3))
		spoilt := i%4 > 0
		if spoilt {
			p.SetEnum(l.nec, 0, unnecessary)
		}
		v, err := both.Validate(t.Context(), &p)
		if err != nil || v.OK == spoilt {
			t.Fatalf("%d: %v, %v", i, v, err)
		}
	}
}

// TestRefusals: what is malformed is refused by Z3's side as well, before Z3
// hears of it.
func TestRefusals(t *testing.T) {
	z := pool(t, z3.Config{Size: 1})
	var p smt.Problem
	e := p.Enum("e", "a", "b")
	f := p.EnumVar("f", e)
	p.Clause("c", p.Is(p.Apply(f, smt.Global), 1))
	if v, err := z.Validate(t.Context(), &p); !errors.Is(err, smt.ErrProblem) || v.OK {
		t.Errorf("a free function: %v, %v", v, err)
	}
	for _, q := range []smt.Query{{Assume: []smt.Formula{0}}, {Refute: []smt.Formula{99}}, {Omit: []int{1}}, {Omit: []int{-1}}} {
		if a, err := z.Satisfiable(t.Context(), &p, q); !errors.Is(err, smt.ErrProblem) || a.Satisfiable {
			t.Errorf("%v: %v, %v", q, a, err)
		}
	}
	p.Clause("c", 0)
	if v, err := z.Validate(t.Context(), &p); !errors.Is(err, smt.ErrProblem) || v.OK {
		t.Errorf("a mistake: %v, %v", v, err)
	}
	if a, err := z.Satisfiable(t.Context(), &p, smt.Query{}); !errors.Is(err, smt.ErrProblem) || a.Satisfiable {
		t.Errorf("a mistake: %v, %v", a, err)
	}
}

// BenchmarkZ3Pooled decides releases of 20 atoms under 3 rubrics.
func BenchmarkZ3Pooled(b *testing.B) {
	z := pool(b, z3.Config{Size: 1})
	for name, spoil := range map[string]bool{"pass": false, "fail": true} {
		b.Run(name, func(b *testing.B) {
			ps := make([]smt.Problem, 16)
			for i := range ps {
				l := release(seeded(uint64(i)), &ps[i], 20, 3)
				if spoil {
					ps[i].SetEnum(l.nec, 0, unnecessary)
				}
			}
			b.ReportMetric(float64(ps[0].Clauses()), "clauses")
			i := 0
			percentiles(b, func() {
				i++
				if v, err := z.Validate(b.Context(), &ps[i%len(ps)]); err != nil || v.OK == spoil {
					b.Fatalf("%v, %v", v, err)
				}
			})
		})
	}
}
