// Package results shows results of benchmarks: one slice of a file as tables and
// plots, and two files compared.
package results

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/margaydev/margay/bench"
)

// Benchmarks are results of benchmarks.
type Benchmarks struct {
	Names  []string      `json:"names"`
	A      string        `json:"a"`
	B      string        `json:"b"`
	Result *bench.Result `json:"result,omitempty"`
	Other  *bench.Result `json:"other,omitempty"`
	Slices []string      `json:"slices,omitempty"` // of the result
	Slice  string        `json:"slice"`            // that is shown
	Tables []BenchTable  `json:"tables,omitempty"` // of that slice
}

// BenchTable is one slice of a result: defences by metrics.
type BenchTable struct {
	Slice   string     `json:"slice"`
	Metrics []string   `json:"metrics"`
	Rows    []BenchRow `json:"rows"`
}

// BenchRow is one defence.
type BenchRow struct {
	Defence string      `json:"defence"`
	Cells   []BenchCell `json:"cells"`
}

// BenchCell is one metric; what was not measured has no value.
type BenchCell struct {
	Value    *float64    `json:"value"`
	Interval *[2]float64 `json:"interval,omitempty"`
	Other    *float64    `json:"other,omitempty"` // of the result that is compared
	// Apart: the other value is outside the interval, or there is none and
	// it differs.
	Apart bool `json:"apart"`
}

var resultName = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,63}$`)

// maxResult bounds a file of results.
const maxResult = 16 << 20

// Errors of Read. Each tells what is wrong, and nothing of the folder.
var (
	ErrUnknown = errors.New("there are no such results")
	ErrFolder  = errors.New("the folder of results can't be read")
	ErrAlone   = errors.New("b is compared with a, which is missing")
	ErrBroken  = errors.New("the file holds no results of a benchmark")
)

func read(folder, name string) (*bench.Result, error) {
	if folder == "" || !resultName.MatchString(name) {
		return nil, ErrUnknown
	}
	f, err := os.Open(filepath.Join(folder, name+".json"))
	if err != nil {
		return nil, ErrUnknown
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxResult+1))
	if err != nil || len(b) > maxResult {
		return nil, ErrUnknown
	}
	var r bench.Result
	if err := json.Unmarshal(b, &r); err != nil || r.Suite == "" {
		return nil, ErrBroken
	}
	return &r, nil
}

// Read reads the results a and b of a folder, and shows a slice of them. Without
// names it lists the folder alone; without a folder there are none.
func Read(folder, a, b, slice string) (*Benchmarks, error) {
	out := &Benchmarks{Names: []string{}, A: a, B: b}
	if folder != "" {
		files, err := os.ReadDir(folder)
		if err != nil {
			return nil, ErrFolder
		}
		for _, f := range files {
			if name, ok := strings.CutSuffix(f.Name(), ".json"); ok && resultName.MatchString(name) {
				out.Names = append(out.Names, name)
			}
		}
	}
	var err error
	if a != "" {
		if out.Result, err = read(folder, a); err != nil {
			return nil, err
		}
	}
	if b != "" {
		if out.Result == nil {
			return nil, ErrAlone
		}
		if out.Other, err = read(folder, b); err != nil {
			return nil, err
		}
	}
	if out.Result != nil {
		out.slice(slice)
	}
	return out, nil
}

// slice shows one slice of the results: that which is asked for, else all, else
// the first. A result may have hundreds.
func (b *Benchmarks) slice(of string) {
	r := *b.Result
	for i := range r.Rows {
		if s := r.Rows[i].Slice; !slices.Contains(b.Slices, s) {
			b.Slices = append(b.Slices, s)
		}
	}
	for _, s := range []string{of, "all"} {
		if b.Slice == "" && slices.Contains(b.Slices, s) {
			b.Slice = s
		}
	}
	if b.Slice == "" && len(b.Slices) > 0 {
		b.Slice = b.Slices[0]
	}
	r.Rows = slices.DeleteFunc(slices.Clone(r.Rows), func(row bench.Row) bool { return row.Slice != b.Slice })
	b.Tables = benchTables(&r, b.Other)
	b.Result = &r
	if b.Other != nil {
		o := *b.Other
		o.Rows = slices.DeleteFunc(slices.Clone(o.Rows), func(row bench.Row) bool { return row.Slice != b.Slice })
		b.Other = &o
	}
}

func benchTables(r, other *bench.Result) []BenchTable {
	var out []BenchTable
	for i := range r.Rows {
		row := &r.Rows[i]
		at := slices.IndexFunc(out, func(t BenchTable) bool { return t.Slice == row.Slice })
		if at < 0 {
			t := BenchTable{Slice: row.Slice}
			for k := range r.Rows {
				if r.Rows[k].Slice != row.Slice {
					continue
				}
				for m := range r.Rows[k].Metrics {
					if !slices.Contains(t.Metrics, m) {
						t.Metrics = append(t.Metrics, m)
					}
				}
			}
			slices.Sort(t.Metrics)
			at, out = len(out), append(out, t)
		}
		line := BenchRow{Defence: row.Defence}
		var twin *bench.Row
		if other != nil {
			twin = other.Row(row.Defence, row.Slice)
		}
		for _, m := range out[at].Metrics {
			var cell BenchCell
			if v, ok := row.Metrics[m]; ok {
				cell.Value = &v
			}
			if ci, ok := row.CI[m]; ok {
				cell.Interval = &ci
			}
			if twin != nil {
				if v, ok := twin.Metrics[m]; ok {
					cell.Other = &v
				}
			}
			cell.Apart = cell.Value != nil && cell.Other != nil && (cell.Interval != nil && (*cell.Other < cell.Interval[0] || *cell.Other > cell.Interval[1]) || cell.Interval == nil && *cell.Value != *cell.Other)
			line.Cells = append(line.Cells, cell)
		}
		out[at].Rows = append(out[at].Rows, line)
	}
	return out
}
