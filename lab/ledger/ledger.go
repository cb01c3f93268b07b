// Package ledger measures what a release costs: the ledger's head is read,
// the cost computed, the entry signed and appended (durably if the engine is
// durable), by many families of trajectories at once; and how fast an export
// is verified.
package ledger

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/lab/cputime"
	"github.com/margaydev/margay/lab/results"
	"github.com/margaydev/margay/ledger"
	"github.com/margaydev/margay/ledger/charge"
	"github.com/margaydev/margay/store/memory"
	"github.com/margaydev/margay/store/sqlite"
)

// Options of a run.
type Options struct {
	Seed     uint64
	Releases int // of each measurement; 20,000 by default
	Progress func(string)
}

// concurrent are the families that release at the same time.
var concurrent = []int{1, 16, 64}

// rounds are measured of everything. The best counts: others on the machine
// only ever make it slower.
const rounds = 3

// atoms are those of a release, values those of a family.
const (
	atoms  = 4
	values = 32
)

// store is an engine, and what ends it.
type store interface {
	ledger.Store
	Close() error
}

// Run measures.
func Run(ctx context.Context, o Options) (_ *results.Result, err error) {
	if o.Releases <= 0 {
		o.Releases = 20_000
	}
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
	r := &results.Result{Suite: "ledger", Seed: o.Seed, N: o.Releases, Source: fmt.Sprintf("made-up releases of %d atoms", atoms), Environment: results.Here()}
	dir, err := os.MkdirTemp("", "margay-bench-*")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	opened := 0
	engines := []struct {
		name string
		open func() (store, error)
	}{
		{"memory", func() (store, error) { return memory.New(), nil }},
		{"sqlite", func() (store, error) {
			opened++
			return sqlite.Open(ctx, filepath.Join(dir, fmt.Sprintf("%d.db", opened)), sqlite.Options{Busy: time.Minute})
		}},
	}
	for _, engine := range engines {
		for _, n := range concurrent {
			o.Progress(fmt.Sprintf("%s, %d families", engine.name, n))
			s, err := engine.open()
			if err != nil {
				return nil, err
			}
			err = measure(ctx, r, engine.name, s, n, &o)
			if err = errors.Join(err, s.Close()); err != nil {
				return nil, err
			}
		}
	}
	o.Progress("the disk")
	if err := disk(r, dir); err != nil {
		return nil, err
	}
	r.Notes = append(r.Notes,
		"a release reads the family's head, prices four atoms, signs the entry and appends it; with sqlite it is durable when it returns",
		fmt.Sprintf("of %d rounds the best; CPU time is that of all cores", rounds),
		"the disk's row is a write of one page and fsync, alone")
	o.Progress("")
	return r, nil
}

// measure makes releases in so many families at once, then exports them and
// verifies the export.
func measure(ctx context.Context, r *results.Result, engine string, s store, families int, o *Options) error {
	key := ed25519.NewKeyFromSeed(binary.BigEndian.AppendUint64(make([]byte, 24), o.Seed))
	book, err := ledger.NewBook(ledger.Config{Store: s, Key: key})
	if err != nil {
		return err
	}
	rubric, err := book.KeepRubric(ctx, []byte("a rubric"))
	if err != nil {
		return err
	}
	each := max(1, o.Releases/families)
	if families == 1 { // waits for the disk each time
		each = max(1, o.Releases/10)
	}
	best := map[string]float64{}
	made := 0
	for round := range rounds {
		times := make([][]time.Duration, families)
		errs := make([]error, families)
		var wg sync.WaitGroup
		begin, used := time.Now(), cputime.Used()
		for f := range families {
			wg.Go(func() {
				times[f], errs[f] = releases(ctx, book, rubric, f, each, o.Seed+uint64(round)<<32)
			})
		}
		wg.Wait()
		took, cpu := time.Since(begin), cputime.Used()-used
		if err := errors.Join(errs...); err != nil {
			return err
		}
		all := slices.Concat(times...)
		made += len(all)
		if rate := float64(len(all)) / took.Seconds(); rate > best["commits_per_second"] {
			best = map[string]float64{
				"commits_per_second": rate, "release_us_p50": quantile(all, 0.5), "release_us_p99": quantile(all, 0.99),
				"release_cpu_us": float64(cpu.Microseconds()) / float64(len(all)),
			}
		}
	}
	r.Add(engine, fmt.Sprintf("families=%d", families), best)
	if families != concurrent[len(concurrent)-1] {
		return nil
	}
	o.Progress(engine + ", verifying")
	var export bytes.Buffer
	if _, err := book.Export(ctx, &export); err != nil {
		return err
	}
	metrics := map[string]float64{"bytes_per_entry": float64(export.Len()) / float64(made)}
	for _, what := range []string{"verify", "verify_chain"} {
		rate, cpu, err := verify(ctx, export.Bytes(), ledger.Check{Key: book.Public(), Unsigned: what == "verify_chain"})
		if err != nil {
			return err
		}
		metrics[what+"_entries_per_second"], metrics[what+"_cpu_us"] = rate, cpu
	}
	r.Add(engine, "verify", metrics)
	return nil
}

// releases makes one after another, of values that are told a little more of
// each time, to sinks of all classes.
func releases(ctx context.Context, book *ledger.Book, rubric charge.Hash, f, n int, seed uint64) ([]time.Duration, error) {
	draw := rand.New(rand.NewPCG(seed, uint64(f)))
	family := flow.TrajectoryID(fmt.Sprintf("01K%023d", f))
	times := make([]time.Duration, 0, n)
	for i := range n {
		begin := time.Now()
		s, err := book.Head(ctx, family)
		if err != nil {
			return nil, err
		}
		e := &charge.Entry{
			Trajectory: family, Channel: flow.ChannelTool, Sink: "a tool", Class: flow.Class(1 + draw.IntN(3)), Rubrics: []charge.Hash{rubric},
			Variant: charge.Hash{1, byte(i), byte(i >> 8)}, Outcome: flow.Rewrite, Decision: "01K00000000000000000000000",
			Models: []charge.Model{{Name: "rules", Version: "1"}},
			Limits: charge.Limits{
				B:   1 << 50,
				Cap: [charge.Classes]flow.Bits{0, 1 << 50, 1 << 50, 1 << 50}, Lambda: [charge.Classes]int64{0, 1000, 2000, 4000},
			},
		}
		for a, first := 0, draw.IntN(values); a < atoms; a++ {
			v := charge.Hash{1, byte((first + a) % values), byte(f)}
			atom := charge.Atom{Field: "legal-name", Op: charge.Generalize, Level: 1, Value: v, After: s.After(v)}
			for k := 1; k <= int(e.Class); k++ {
				atom.After[k] += flow.Bits(1 + a)
			}
			atom.Cost = atom.After[e.Class]
			e.Atoms = append(e.Atoms, atom)
		}
		if err := s.Next(e); err != nil {
			return nil, err
		}
		if _, err := book.Commit(ctx, e); err != nil {
			return nil, err
		}
		times = append(times, time.Since(begin))
	}
	return times, nil
}

// verify returns the entries verified in a second, and the microseconds of all
// cores that one took, in the best of the rounds.
func verify(ctx context.Context, export []byte, c ledger.Check) (rate, cpu float64, err error) {
	for range rounds {
		begin, used := time.Now(), cputime.Used()
		report, err := ledger.Verify(ctx, bytes.NewReader(export), c)
		if err != nil {
			return 0, 0, err
		}
		if len(report.Findings) > 0 {
			return 0, 0, fmt.Errorf("the export is not sound: %s", report.Findings[0].String())
		}
		if now := float64(report.Entries) / time.Since(begin).Seconds(); now > rate {
			rate, cpu = now, float64((cputime.Used()-used).Microseconds())/float64(report.Entries)
		}
	}
	return rate, cpu, nil
}

// disk measures what durability costs without a database.
func disk(r *results.Result, dir string) error {
	f, err := os.Create(filepath.Join(dir, "page"))
	if err != nil {
		return err
	}
	defer f.Close()
	page := make([]byte, 4096)
	var times []time.Duration
	for i := range 100 {
		begin := time.Now()
		if _, err := f.WriteAt(page, int64(i)*4096); err != nil {
			return err
		}
		if err := f.Sync(); err != nil {
			return err
		}
		times = append(times, time.Since(begin))
	}
	r.Add("disk", "fsync", map[string]float64{"fsync_us_p50": quantile(times, 0.5), "fsync_us_p99": quantile(times, 0.99)})
	return nil
}

// quantile returns one in microseconds.
func quantile(times []time.Duration, q float64) float64 {
	slices.Sort(times)
	return float64(times[min(len(times)-1, int(q*float64(len(times))))].Nanoseconds()) / 1e3
}
