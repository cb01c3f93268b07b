package declassify_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/margaydev/margay/declassify"
	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/rubric"
	"github.com/margaydev/margay/rubric/dependency"
)

// BenchmarkRelease takes candidates of 20 atoms through the verifier and tells
// how long each phase took, in the median and for one in a hundred. A graph of
// two fields is audited; the ledger is in memory, and signs.
func BenchmarkRelease(b *testing.B) {
	w := travel()
	w.limits = rubric.Limits{B: 1 << 40, Cap: [4]flow.Bits{0, 1 << 40, 1 << 40, 1 << 40}, Lambda: [4]int64{0, 1000, 2000, 4000}, Margin: bit}
	w.graph = dependency.Graph{
		Variables: []dependency.Variable{{Name: "dob", States: 10, Members: slices.Repeat([]float64{3650}, 10)}, {Name: "phone", States: 10, Members: slices.Repeat([]float64{1e6}, 10)}},
		Factors:   []dependency.Factor{{Vars: []string{"dob", "phone"}, Low: slices.Repeat([]float64{1}, 100), High: slices.Repeat([]float64{2}, 100)}},
	}
	rows := func(n float64) (out [][]float64) {
		for i := range 10 {
			row := make([]float64, 10)
			row[i] = n
			out = append(out, row)
		}
		return out
	}
	w.cells = map[string][][][]float64{"dob": {rows(1), rows(30), rows(365)}, "phone": {rows(1), rows(100), rows(1e6)}}
	book, store := ledgerOf(b, w)
	v, err := declassify.New(declassify.Config{
		Resolve: func(rubric.Query) (declassify.Rules, error) { return w, nil },
		Ledger:  book, History: store, Defender: labeller{}, Key: [32]byte{1},
	})
	if err != nil {
		b.Fatal(err)
	}
	tool := broker()
	var parts []declassify.Part
	for i := range 10 {
		parts = append(parts, declassify.Part{Path: fmt.Sprintf("passengers.%d.name", i), Text: fmt.Sprintf("Ada Lovelac%c", 'a'+i)},
			declassify.Part{Path: fmt.Sprintf("passengers.%d.dob", i), Text: fmt.Sprintf("19%d0-05-17", i)})
	}
	phases := map[string][]time.Duration{}
	b.ReportAllocs()
	b.ResetTimer()
	for i := range b.N {
		c := declassify.Candidate{Trajectory: flow.TrajectoryID(fmt.Sprintf("T%d", i/50)), Decision: "D", Tool: tool, Parts: parts}
		r, err := v.Release(context.Background(), c)
		if err != nil || !r.Released() || len(r.Atoms) != 20 {
			b.Fatalf("%v %s %v", err, r.Outcome, r.Reasons)
		}
		p := &r.Phases
		for name, d := range map[string]time.Duration{"defend": p.Defend, "bind": p.Bind, "validate": p.Validate, "cost": p.Cost, "audit": p.Audit, "commit": p.Commit} {
			phases[name] = append(phases[name], d)
		}
	}
	b.StopTimer()
	for name, ds := range phases {
		slices.Sort(ds)
		b.ReportMetric(float64(ds[len(ds)/2])/1e3, name+"-p50-µs")
		b.ReportMetric(float64(ds[min(len(ds)-1, len(ds)*99/100)])/1e3, name+"-p99-µs")
	}
}
