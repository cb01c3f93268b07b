// Package bench has the format of benchmark results, which all suites share.
package bench

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"sort"
	"strings"
	"text/tabwriter"
)

// Result is what a suite measured. The same seed gives the same numbers on
// every machine, timings apart.
type Result struct {
	Suite       string      `json:"suite"`
	Seed        uint64      `json:"seed"`
	N           int         `json:"n"`
	Revision    string      `json:"revision"`
	Source      string      `json:"source"`
	Environment Environment `json:"environment"`
	Rows        []Row       `json:"rows"`
	Notes       []string    `json:"notes,omitempty"`
}

// Environment is where a suite ran.
type Environment struct {
	Go    string `json:"go"`
	CPU   string `json:"cpu"`
	Cores int    `json:"cores"`
}

// Row is one defence on one slice. A metric that was not measured is absent.
type Row struct {
	Defence string                `json:"defence"`
	Slice   string                `json:"slice"`
	Metrics map[string]float64    `json:"metrics"`
	CI      map[string][2]float64 `json:"ci,omitempty"`
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

// Table writes the result for people.
func (r *Result) Table(w io.Writer) {
	fmt.Fprintf(w, "%s  n=%d  seed=%d  source: %s\n%s, %s, %d cores\n\n", r.Suite, r.N, r.Seed, r.Source, r.Environment.Go, r.Environment.CPU, r.Environment.Cores)
	tw := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	last := ""
	for _, row := range r.Rows {
		names := make([]string, 0, len(row.Metrics))
		for n := range row.Metrics {
			names = append(names, n)
		}
		sort.Strings(names)
		if head := strings.Join(names, "\t"); head != last {
			fmt.Fprintf(tw, "\nslice\tdefence\t%s\n", head)
			last = head
		}
		fmt.Fprintf(tw, "%s\t%s", row.Slice, row.Defence)
		for _, n := range names {
			fmt.Fprintf(tw, "\t%.6g", row.Metrics[n])
		}
		fmt.Fprintln(tw)
	}
	_ = tw.Flush()
	for _, n := range r.Notes {
		fmt.Fprintf(w, "\nnote: %s", n)
	}
	fmt.Fprintln(w)
}
