package recount_test

import (
	"bytes"
	"context"
	"testing"

	"github.com/margaydev/margay/declassify/recount"
	"github.com/margaydev/margay/ledger"
)

// BenchmarkVerify verifies a signed ledger of random releases, with and without
// the rubrics.
func BenchmarkVerify(b *testing.B) {
	x := newRun(b, 5, map[string]int{})
	for range 1500 {
		x.release()
	}
	var out bytes.Buffer
	if _, err := x.book.Export(context.Background(), &out); err != nil {
		b.Fatal(err)
	}
	for _, c := range []struct {
		name     string
		rubrics  bool
		unsigned bool
	}{{"signed", false, false}, {"signed-and-rubrics", true, false}, {"chain", false, true}, {"chain-and-rubrics", true, true}} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			entries := uint64(0)
			by := shared()
			for i := -1; i < 0 || b.Loop(); i++ { // once to compile the rubrics
				check := ledger.Check{Key: x.book.Public(), Unsigned: c.unsigned}
				if c.rubrics {
					check.Judge = recount.New(by).Entry
				}
				r, err := ledger.Verify(context.Background(), bytes.NewReader(out.Bytes()), check)
				if err != nil || len(r.Findings) > 0 {
					b.Fatal(err, r.Findings)
				}
				if i >= 0 {
					entries += r.Entries
				}
			}
			b.ReportMetric(float64(entries)/b.Elapsed().Seconds(), "entries/s")
		})
	}
}
