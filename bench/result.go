// Package bench has the format of benchmark results, which all suites share.
//
// Two rules hold for every Result. The same seed gives the same numbers on
// every machine, timings apart. A metric that was not measured is absent from
// its row: zero is a measurement.
package bench

import (
	"fmt"
	"io"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"
)

// Result is what a suite measured.
type Result struct {
	Suite       string            `json:"suite"`
	Seed        uint64            `json:"seed"`
	N           int               `json:"n"` // of what, the suite's page says
	Revision    string            `json:"revision"`
	Source      string            `json:"source"`
	Models      map[string]string `json:"models,omitempty"` // hashes of trained models, by name
	Environment Environment       `json:"environment"`
	Rows        []Row             `json:"rows"`
	Notes       []string          `json:"notes,omitempty"`
}

// Environment is where a suite ran.
type Environment struct {
	Go    string `json:"go"`
	CPU   string `json:"cpu"`
	Cores int    `json:"cores"`
}

// Row is one defence on one slice.
type Row struct {
	Defence string                `json:"defence"`
	Slice   string                `json:"slice"` // "all", or conditions: "source=sim,pressure=high"
	Metrics map[string]float64    `json:"metrics"`
	CI      map[string][2]float64 `json:"ci,omitempty"` // 95 % intervals of some of Metrics
}

// Here describes this machine.
func Here() Environment {
	e := Environment{Go: runtime.Version(), CPU: runtime.GOARCH, Cores: runtime.NumCPU()}
	b, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return e
	}
	for _, l := range strings.Split(string(b), "\n") {
		if name, v, ok := strings.Cut(l, ":"); ok && strings.TrimSpace(name) == "model name" {
			e.CPU = strings.TrimSpace(v)
			break
		}
	}
	return e
}

// Add adds a row.
func (r *Result) Add(defence, slice string, metrics map[string]float64) {
	r.Rows = append(r.Rows, Row{Defence: defence, Slice: slice, Metrics: metrics})
}

// Row returns the row of a defence on a slice, or nil.
func (r *Result) Row(defence, slice string) *Row {
	for i := range r.Rows {
		if r.Rows[i].Defence == defence && r.Rows[i].Slice == slice {
			return &r.Rows[i]
		}
	}
	return nil
}

// maxColumns bounds the metrics that stand beside each other in a table.
const maxColumns = 6

// Table writes the result for people: a table for each run of rows with the
// same metrics, wide ones in parts, and behind a metric its interval where
// there is one.
func (r *Result) Table(w io.Writer) {
	fmt.Fprintf(w, "%s  n=%d  seed=%d  source: %s\n%s, %s, %d cores\n", r.Suite, r.N, r.Seed, r.Source, r.Environment.Go, r.Environment.CPU, r.Environment.Cores)
	for from := 0; from < len(r.Rows); {
		names := slices.Sorted(maps.Keys(r.Rows[from].Metrics))
		to := from + 1
		for to < len(r.Rows) && slices.Equal(names, slices.Sorted(maps.Keys(r.Rows[to].Metrics))) {
			to++
		}
		for part := range slices.Chunk(names, maxColumns) {
			writeRows(w, r.Rows[from:to], part)
		}
		from = to
	}
	for _, n := range r.Notes {
		fmt.Fprintf(w, "\nnote: %s", n)
	}
	fmt.Fprintln(w)
}

func writeRows(w io.Writer, rows []Row, names []string) {
	tw := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	bounded := map[string]bool{}
	fmt.Fprint(tw, "\nslice\tdefence")
	for _, n := range names {
		bounded[n] = slices.ContainsFunc(rows, func(r Row) bool { _, ok := r.CI[n]; return ok })
		fmt.Fprintf(tw, "\t%s", n)
		if bounded[n] {
			fmt.Fprint(tw, "\t95 %")
		}
	}
	fmt.Fprintln(tw)
	for i := range rows {
		fmt.Fprintf(tw, "%s\t%s", rows[i].Slice, rows[i].Defence)
		for _, n := range names {
			fmt.Fprintf(tw, "\t%.6g", rows[i].Metrics[n])
			if ci, ok := rows[i].CI[n]; ok {
				fmt.Fprintf(tw, "\t[%.4g, %.4g]", ci[0], ci[1])
			} else if bounded[n] {
				fmt.Fprint(tw, "\t")
			}
		}
		fmt.Fprintln(tw)
	}
	_ = tw.Flush()
}
