//go:build unix

package sqlite

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/mediator/audit"
	"github.com/margaydev/margay/secret"
)

// records returns n records of the size that registering makes: a print of
// 150 bytes, nothing sealed.
func records(n int) []secret.Record {
	out := make([]secret.Record, n)
	for i := range out {
		r := &out[i]
		*r = secret.Record{
			ID: fmt.Sprintf("01K%023d", i), Name: fmt.Sprintf("SERVICE_%d_TOKEN", i), Kind: secret.KindToken, Source: secret.SourceRegistered,
			Origin: "file:.env:3", Print: make([]byte, 150), Length: 40, Created: time.UnixMilli(1760000000123).UTC(),
		}
		// Fingerprints are spread like those of a keyed hash.
		x := uint64(i+1) * 0x9e3779b97f4a7c15
		binary.BigEndian.PutUint64(r.Fingerprint[:], x)
		for j := range r.Print {
			x = x*6364136223846793005 + 1442695040888963407
			r.Print[j] = byte(x >> 56)
		}
	}
	return out
}

const many = 100_000

func BenchmarkPutSecrets100k(b *testing.B) {
	recs := records(many)
	b.ReportAllocs()
	b.StopTimer()
	b.ResetTimer()
	for i := range b.N {
		path := filepath.Join(b.TempDir(), fmt.Sprint(i))
		s := open(b, path, Options{})
		b.StartTimer()
		for at := 0; at < many; at += 10_000 {
			if err := s.PutSecrets(context.Background(), recs[at:at+10_000]); err != nil {
				b.Fatal(err)
			}
		}
		b.StopTimer()
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
		fi, err := os.Stat(path)
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(fi.Size())/many, "B/secret")
	}
}

func BenchmarkSecrets100k(b *testing.B) {
	s := open(b, filepath.Join(b.TempDir(), "margay.db"), Options{})
	if err := s.PutSecrets(context.Background(), records(many)); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		n := 0
		for _, err := range s.Secrets(context.Background()) {
			if err != nil {
				b.Fatal(err)
			}
			n++
		}
		if n != many {
			b.Fatal(n)
		}
	}
}

func BenchmarkOpen100k(b *testing.B) {
	path := filepath.Join(b.TempDir(), "margay.db")
	s := open(b, path, Options{})
	if err := s.PutSecrets(context.Background(), records(many)); err != nil {
		b.Fatal(err)
	}
	for _, c := range []struct {
		name string
		left bool // another handle keeps the log of writes: the file is checked
	}{{"checked", true}, {"clean", false}} {
		if !c.left {
			if err := s.Close(); err != nil {
				b.Fatal(err)
			}
		}
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				s, err := Open(context.Background(), path, Options{})
				if err != nil {
					b.Fatal(err)
				}
				if err := s.Close(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkEpoch(b *testing.B) {
	s := open(b, filepath.Join(b.TempDir(), "margay.db"), Options{})
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Epoch(ctx); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAppendDecisions(b *testing.B) {
	for _, callers := range []int{1, 16, 256} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			s := open(b, filepath.Join(b.TempDir(), "margay.db"), Options{})
			var n atomic.Int64
			b.SetParallelism(callers) // times GOMAXPROCS
			b.ReportAllocs()
			b.RunParallel(func(p *testing.PB) {
				for p.Next() {
					e := decision(int(n.Add(1)))
					e.Findings = []audit.Finding{{ID: "F" + e.ID, Rule: "vault", Kind: secret.KindToken}}
					if err := s.AppendDecisions(context.Background(), []audit.Entry{e}); err != nil {
						b.Error(err)
						return
					}
				}
			})
		})
	}
}

// BenchmarkAppendEvents is what a recorder writes in one go: of each request two
// decisions and an answer.
func BenchmarkAppendEvents(b *testing.B) {
	s := open(b, filepath.Join(b.TempDir(), "margay.db"), Options{})
	const n = 384
	evs := make([]audit.Event, n)
	b.ReportAllocs()
	for round := 0; b.Loop(); round++ {
		for i := range evs {
			of := flow.TrajectoryID(fmt.Sprintf("01J%023d", round*n+i/3))
			e := audit.Event{ID: fmt.Sprintf("01K%023d", round*n+i), Trajectory: of, At: time.UnixMilli(1760000000123).UTC(), Kind: audit.KindDecision, Verb: flow.Prompt, Sink: "model", Outcome: flow.Allow}
			e.Payload = audit.Payload{Version: audit.Version, Decision: &audit.Entry{}, Size: &audit.Size{}}
			if i%3 == 2 {
				e.Kind, e.Payload = audit.KindAnswer, audit.Payload{Version: audit.Version, Answer: &audit.Answer{Texts: make([]audit.Text, 1)}}
			}
			evs[i] = e
		}
		if err := s.AppendEvents(context.Background(), evs); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/event")
}
