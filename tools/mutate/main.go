// Command mutate draws mutants of the kernels, runs the tests of the mutated
// package on each, and prints which survive. A mutant is one small change of
// one place: a comparison, a boundary, an operator, a condition, a constant, a
// returned value, a statement left out. Run it as scripts/mutate.
//
// The same seed draws the same mutants of the same code: all candidates of all
// packages are shuffled as one. Mutants that do not compile are drawn again.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/margaydev/margay/tools/measure"
)

func main() {
	root := flag.String("root", ".", "the folder of the module")
	n := flag.Int("n", 300, "how many mutants")
	seed := flag.Uint64("seed", 1, "draws the mutants")
	packages := flag.String("packages", "", "the packages to mutate, with commas between; the kernels by default")
	parallel := flag.Int("parallel", runtime.NumCPU(), "how many at once")
	list := flag.Bool("list", false, "print the mutants, and run nothing")
	asJSON := flag.Bool("json", false, "print JSON")
	flag.Parse()
	var only []string
	if *packages != "" {
		only = strings.Split(*packages, ",")
	}
	r, err := run(*root, only, *n, *seed, *parallel, *list, !*asJSON)
	if err == nil && *asJSON {
		err = json.NewEncoder(os.Stdout).Encode(r)
	} else if err == nil && !*list {
		r.print()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(1)
	}
}

// A Report is the result of one run.
type Report struct {
	Seed        uint64    `json:"seed"`
	Candidates  int       `json:"candidates"`
	Killed      int       `json:"killed"`
	Survived    int       `json:"survived"`
	Explained   int       `json:"explained"`    // of those that survived
	NotCompiled int       `json:"not_compiled"` // drawn again
	Share       float64   `json:"share"`        // killed, in percent
	Mutants     []*Mutant `json:"mutants"`
}

func run(root string, only []string, n int, seed uint64, parallel int, list, progress bool) (*Report, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, err
	}
	if only == nil {
		if only, err = kernels(root); err != nil {
			return nil, err
		}
	}
	l, err := measure.NewLoader(root, measure.Patterns(only...)...)
	if err != nil {
		return nil, err
	}
	by := map[string]*measure.Checked{}
	var all []*Mutant
	for _, path := range only {
		c, err := l.Check(path)
		if err != nil {
			return nil, err
		}
		by[path] = c
		all = append(all, candidates(l, c)...)
	}
	explained, err := readExplained(filepath.Join(root, "docs", "mutants.md"))
	if err != nil {
		return nil, err
	}
	r := &Report{Seed: seed, Candidates: len(all)}
	rng := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // the seed is the purpose
	rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	draw := func() *Mutant {
		for len(all) > 0 {
			m := all[0]
			all = all[1:]
			if compiles(l, by[m.Package], m) {
				m.Explained = explained[m.Key]
				return m
			}
			r.NotCompiled++
		}
		return nil
	}
	if list {
		for range n {
			if m := draw(); m != nil {
				fmt.Printf("%s:%d: %s\n", m.File, m.Line, m.Key)
			}
		}
		return r, nil
	}
	return r, r.kill(root, draw, only, n, parallel, progress)
}

// kill runs n mutants. draw is called by one goroutine at a time.
func (r *Report) kill(root string, draw func() *Mutant, packages []string, n, parallel int, progress bool) error {
	t, err := newTester(root, packages)
	if err != nil {
		return err
	}
	defer t.close()
	var mu sync.Mutex
	var wg sync.WaitGroup
	var failed error
	taken := 0
	next := func() *Mutant {
		mu.Lock()
		defer mu.Unlock()
		if failed != nil || taken == n {
			return nil
		}
		taken++
		return draw()
	}
	done := func(m *Mutant, err error) {
		mu.Lock()
		defer mu.Unlock()
		if err != nil {
			failed = err
			return
		}
		if m.Result == notCompiled {
			r.NotCompiled++
			taken--
			return
		}
		r.Mutants = append(r.Mutants, m)
		if m.Result == survived {
			r.Survived++
			if m.Explained != "" {
				r.Explained++
			}
		} else {
			r.Killed++
		}
		if progress {
			fmt.Printf("%3d %-8s %s:%d: %s\n", len(r.Mutants), m.Result, m.File, m.Line, m.Key)
		}
	}
	for range parallel {
		wg.Go(func() {
			for m := next(); m != nil; m = next() {
				done(m, t.test(m))
			}
		})
	}
	wg.Wait()
	if len(r.Mutants) > 0 {
		r.Share = 100 * float64(r.Killed) / float64(len(r.Mutants))
	}
	slices.SortFunc(r.Mutants, func(a, b *Mutant) int { return strings.Compare(a.Key, b.Key) })
	return failed
}

// kernels are the packages of the limits file's kernels that are there, sorted.
func kernels(root string) (out []string, err error) {
	table, err := measure.ReadTable(root)
	if err != nil {
		return nil, err
	}
	for _, packages := range table.Kernels {
		for _, p := range packages {
			if _, err := os.Stat(filepath.Join(root, p)); err == nil {
				out = append(out, p)
			}
		}
	}
	slices.Sort(out)
	return out, nil
}

func (r *Report) print() {
	fmt.Println()
	type count struct{ killed, all int }
	by := map[string]*count{}
	var packages []string
	for _, m := range r.Mutants {
		if by[m.Package] == nil {
			by[m.Package] = &count{}
			packages = append(packages, m.Package)
		}
		by[m.Package].all++
		if m.Result != survived {
			by[m.Package].killed++
			continue
		}
		fmt.Printf("survived: %s:%d\n- `` %s ``:\n%s", m.File, m.Line, m.Key, m.Diff)
		if m.Explained != "" {
			fmt.Printf("  explained: %s\n", m.Explained)
		}
		fmt.Println()
	}
	for _, p := range packages {
		fmt.Printf("%4d of %4d killed in %s\n", by[p].killed, by[p].all, p)
	}
	fmt.Printf("%.1f %% of %d mutants killed (seed %d, of %d candidates); %d survived, %d of them explained in docs/mutants.md; %d did not compile and were drawn again\n",
		r.Share, len(r.Mutants), r.Seed, r.Candidates, r.Survived, r.Explained, r.NotCompiled)
}
