// Package results has the format of benchmark results, which all suites share.
//
// Two rules hold for every Result. The same seed gives the same numbers on
// every machine, timings apart. A metric that was not measured is absent from
// its row: zero is a measurement.
package results

import (
	"bytes"
	"cmp"
	"encoding/json"
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

// WriteJSON writes the result as a JSON document with each row and each note on
// a line of its own, so that two of them can be compared by lines.
func (r *Result) WriteJSON(w io.Writer) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	value := func(v any) error {
		err := e.Encode(v)
		b.Truncate(max(0, b.Len()-1)) // the line's end
		return err
	}
	head := *r
	head.Rows, head.Notes = nil, nil
	if err := value(head); err != nil {
		return err
	}
	// Rows and notes are the last fields, and without notes rows are.
	b.Truncate(b.Len() - len("null}"))
	b.WriteString("[")
	for i := range r.Rows {
		b.WriteString(next[min(i, 1)])
		if err := value(&r.Rows[i]); err != nil {
			return err
		}
	}
	b.WriteString("\n]")
	if len(r.Notes) > 0 {
		b.WriteString(",\"notes\":[")
		for i := range r.Notes {
			b.WriteString(next[min(i, 1)])
			if err := value(r.Notes[i]); err != nil {
				return err
			}
		}
		b.WriteString("\n]")
	}
	b.WriteString("}\n")
	_, err := w.Write(b.Bytes())
	return err
}

// next stands before the first element of a list, and before the others.
var next = [...]string{"\n", ",\n"}

// maxColumns bounds the metrics that stand beside each other in a table.
const maxColumns = 6

// Table writes the result for people: a table for each kind of slice, with all
// defences of a slice together, wide ones in parts, and behind a metric its
// interval where there is one. A metric that a row lacks is left blank.
func (r *Result) Table(w io.Writer) {
	fmt.Fprintf(w, "%s  n=%d  seed=%d  source: %s\n%s, %s, %d cores\n", r.Suite, r.N, r.Seed, r.Source, r.Environment.Go, r.Environment.CPU, r.Environment.Cores)
	for _, rows := range r.families() {
		all := map[string]bool{}
		for _, row := range rows {
			for n := range row.Metrics {
				all[n] = true
			}
		}
		for part := range slices.Chunk(slices.Sorted(maps.Keys(all)), maxColumns) {
			writeRows(w, rows, part)
		}
	}
	for _, n := range r.Notes {
		fmt.Fprintf(w, "\nnote: %s", n)
	}
	fmt.Fprintln(w)
}

// families groups rows by the names of their slices' conditions, and within
// them by slice, in the order of their first appearance.
func (r *Result) families() [][]*Row {
	var out [][]*Row
	family, slice := map[string]int{}, map[string]int{}
	for i := range r.Rows {
		row := &r.Rows[i]
		parts := strings.Split(row.Slice, ",")
		for k, p := range parts {
			parts[k], _, _ = strings.Cut(p, "=")
		}
		name := strings.Join(parts, ",")
		at, ok := family[name]
		if !ok {
			at = len(out)
			family[name], out = at, append(out, nil)
		}
		if _, ok := slice[row.Slice]; !ok {
			slice[row.Slice] = i
		}
		out[at] = append(out[at], row)
	}
	for _, rows := range out {
		slices.SortStableFunc(rows, func(a, b *Row) int { return cmp.Compare(slice[a.Slice], slice[b.Slice]) })
	}
	return out
}

func writeRows(w io.Writer, rows []*Row, names []string) {
	tw := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	bounded := map[string]bool{}
	fmt.Fprint(tw, "\nslice\tdefence")
	for _, n := range names {
		bounded[n] = slices.ContainsFunc(rows, func(r *Row) bool { _, ok := r.CI[n]; return ok })
		fmt.Fprintf(tw, "\t%s", n)
		if bounded[n] {
			fmt.Fprint(tw, "\t95 %")
		}
	}
	fmt.Fprintln(tw)
	for _, row := range rows {
		// What a row has none of in this part of the table, it is not in.
		if !slices.ContainsFunc(names, func(n string) bool { _, ok := row.Metrics[n]; return ok }) {
			continue
		}
		fmt.Fprintf(tw, "%s\t%s", row.Slice, row.Defence)
		for _, n := range names {
			fmt.Fprint(tw, "\t")
			if v, ok := row.Metrics[n]; ok {
				fmt.Fprintf(tw, "%.6g", v)
			}
			if ci, ok := row.CI[n]; ok {
				fmt.Fprintf(tw, "\t[%.4g, %.4g]", ci[0], ci[1])
			} else if bounded[n] {
				fmt.Fprint(tw, "\t")
			}
		}
		fmt.Fprintln(tw)
	}
	_ = tw.Flush()
}
