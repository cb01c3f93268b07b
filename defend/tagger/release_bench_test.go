//go:build unix

package tagger_test

import (
	"crypto/ed25519"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/margaydev/margay/declassify"
	"github.com/margaydev/margay/declassify/schema"
	"github.com/margaydev/margay/defend/tagger"
	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/ledger"
	"github.com/margaydev/margay/rubric"
	"github.com/margaydev/margay/rubric/library"
	"github.com/margaydev/margay/store/memory"
	"github.com/margaydev/margay/store/sqlite"
)

// BenchmarkRelease times whole releases of 300 characters to a curious recipient by the
// library's rubrics: evidence, checks, challenges, screening, and the commit to the
// ledger. It is deployed with SQLite and, unless the configuration says otherwise, without
// challenges. Each family has seen a name and an
// address of mail before, and makes 20 releases. The goal is a median of 1.5 ms. Where
// other processes take the cores, cpu-ms says more: the processor time of a release, with
// all that the runtime does.
func BenchmarkRelease(b *testing.B) {
	for _, challenges := range []int{0, 3} {
		b.Run(fmt.Sprintf("store=memory/challenges=%d", challenges), func(b *testing.B) { releases(b, memory.New(), challenges) })
		b.Run(fmt.Sprintf("store=sqlite/challenges=%d", challenges), func(b *testing.B) {
			s, err := sqlite.Open(b.Context(), filepath.Join(b.TempDir(), "margay.db"), sqlite.Options{})
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close()
			releases(b, s, challenges)
		})
	}
}

// text is one of 300 characters: most of it is harmless, some is not.
func text(number int) string {
	words := []string{"boiler", "printer", "lawn mower", "projector", "kettle", "bicycle", "heater", "scanner"}
	a, c := words[number%8], words[number/8%8]
	s := fmt.Sprintf("Is there a workshop near the station that repairs a %s on Saturdays? The %s makes a grinding noise since the move, number %d on the plate. "+
		"My sister is going through a divorce and can't pay much. Please answer Maria Lopez at maria.lopez@mail.example. "+
		"It should be ready by Friday, with new seals and a clean filter", a, c, 100+number)
	return s[:300-1] + "."
}

// used is the processor time of this process.
func used(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func releases(b *testing.B, store ledger.Store, challenges int) {
	b.Helper()
	must := func(err error) {
		b.Helper()
		if err != nil {
			b.Fatal(err)
		}
	}
	key := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	reg := rubric.NewRegistry(rubric.Config{Keys: []ed25519.PublicKey{key.Public().(ed25519.PublicKey)}})
	book, err := ledger.NewBook(ledger.Config{Store: store, Key: key})
	must(err)
	for _, f := range library.All() {
		r, err := library.Rubric(f.Name)
		must(err)
		_, err = reg.Add(f.Name, rubric.Sign(r, key))
		must(err)
		_, err = book.KeepRubric(b.Context(), r.Canonical())
		must(err)
	}
	m, err := tagger.Default()
	must(err)
	v, err := declassify.New(declassify.Config{
		Resolve: func(q rubric.Query) (declassify.Rules, error) { return reg.Resolve(q) },
		Ledger:  book, History: store, Defender: tagger.New(m), Screener: tagger.NewScreener(m), Challenges: challenges, Key: [32]byte{1},
	})
	must(err)
	release := func(family, class int, at flow.Class, args []schema.Arg, texts ...string) (declassify.Release, time.Duration) {
		c := declassify.Candidate{
			Trajectory: flow.TrajectoryID(fmt.Sprintf("01ARZ3NDEKTSV4RRFFQ%07d", family)), Decision: fmt.Sprintf("D%d", class),
			Tool: schema.Tool{Name: "ask", Action: "customer-support", Sink: "helper", Class: at, Channel: flow.ChannelTool, Args: args},
		}
		for i, t := range texts {
			c.Parts = append(c.Parts, declassify.Part{Path: args[i].Path, Text: t})
		}
		began := time.Now()
		r, err := v.Release(b.Context(), c)
		took := time.Since(began)
		must(err)
		return r, took
	}
	const perFamily = 20
	var all []time.Duration
	var aside time.Duration // what begins families
	b.ReportAllocs()
	began := used(b)
	for n := 0; b.Loop(); n++ {
		family := n / perFamily
		if n%perFamily == 0 {
			b.StopTimer()
			from := used(b)
			release(family, n, flow.RequiredService, []schema.Arg{{Path: "name", Field: "legal-name"}, {Path: "mail", Field: "email"}}, "Maria Lopez", "maria.lopez@mail.example")
			aside += used(b) - from
			b.StartTimer()
		}
		t := text(n)
		r, took := release(family, n, flow.SemiTrusted, []schema.Arg{{Path: "question", Free: true}}, t)
		parts := r.Parts()
		if len(t) != 300 || !r.Released() || !strings.Contains(parts[0].Text, "workshop") || strings.Contains(parts[0].Text, "divorce") || strings.Contains(parts[0].Text, "Lopez") {
			b.Fatalf("%q: %v %+v", t, r.Outcome, parts)
		}
		all = append(all, took)
	}
	spent := used(b) - began - aside
	slices.Sort(all)
	ms := func(at int) float64 { return float64(all[at].Nanoseconds()) / 1e6 }
	b.ReportMetric(ms(len(all)/2), "p50-ms")
	b.ReportMetric(ms(min(len(all)-1, len(all)*99/100)), "p99-ms")
	b.ReportMetric(ms(0), "best-ms")
	b.ReportMetric(float64(spent.Nanoseconds())/1e6/float64(len(all)), "cpu-ms")
}
