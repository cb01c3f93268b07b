// Package report writes results of benchmarks as one self-contained HTML page:
// tables by slice with intervals, and plots as inline SVG. The page loads
// nothing and runs nothing; it follows the reader's choice of light or dark;
// every plot has a title, a description and its numbers as a table. All that
// comes from a result is escaped, by html/template or by the SVG writer.
//
// The SVG is written here rather than by a chart library: those that draw SVG
// in Go bring megabytes of fonts and fixed colours, those that draw well in a
// browser need scripts and leave nothing to a screen reader.
package report

import (
	"cmp"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"math"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/margaydev/margay/lab/results"
)

//go:embed page.html
var page string

var pageTemplate = template.Must(template.New("page").Parse(page))

// Write writes a result with its figures. An error is the writer's, or that of
// a figure whose parts do not fit together; then nothing is written.
func Write(w io.Writer, r *results.Result, figures []Figure) error {
	d := document{Title: "Benchmark " + r.Suite, Facts: facts(r), Notes: r.Notes, Tables: tables(r)}
	return d.write(w, figures)
}

// document is what the template shows.
type document struct {
	Title   string
	Facts   []fact
	Notes   []string
	Tables  []table
	Figures []drawn
}

type fact struct{ Name, Value string }

type drawn struct {
	ID                   string
	Title, Caption, None string
	SVG                  template.HTML
	Data                 table
	Open                 bool // the numbers are all there is to see
}

// table is a table as it is shown. Cells of head columns name the row.
type table struct {
	Caption string
	Head    []string
	Rows    []row
}

type row struct {
	Names []string
	Cells []cell
}

type cell struct{ Value, CI string }

func (d *document) write(w io.Writer, figures []Figure) error {
	for i := range figures {
		f := &figures[i]
		one := drawn{ID: "figure-" + strconv.Itoa(i+1), Title: f.Title, Caption: f.Caption}
		if f.Plot == nil || f.Plot.empty() {
			one.None = cmp.Or(f.Missing, "There is nothing to show: no method or task of this run has the values.")
		} else if _, ok := f.Plot.(Listing); ok {
			one.Data, one.Open = f.Plot.table(), true
			one.Data.Caption = "Rows of “" + f.Title + "”"
		} else {
			svg, err := f.svg(one.ID)
			if err != nil {
				return fmt.Errorf("report: figure %q: %w", f.Title, err)
			}
			one.SVG = template.HTML(svg) //nolint:gosec // the SVG writer escapes every text, see TestEscapes
			one.Data = f.Plot.table()
			one.Data.Caption = "Numbers of “" + f.Title + "”"
		}
		d.Figures = append(d.Figures, one)
	}
	var b strings.Builder
	if err := pageTemplate.Execute(&b, d); err != nil {
		return err
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func facts(r *results.Result) []fact {
	return []fact{
		{"suite", r.Suite},
		{"source", r.Source},
		{"n", strconv.Itoa(r.N)},
		{"seed", strconv.FormatUint(r.Seed, 10)},
		{"revision", r.Revision},
		{"environment", fmt.Sprintf("%s, %s, %d cores", r.Environment.Go, r.Environment.CPU, r.Environment.Cores)},
	}
}

// family is the part of a slice's name that its tables share: "category" of
// "category=role_play"; a slice with several conditions goes by all of them.
func family(slice string) string {
	parts := strings.Split(slice, ",")
	for i, p := range parts {
		parts[i], _, _ = strings.Cut(p, "=")
	}
	return strings.Join(parts, ", ")
}

// tables groups rows by family and by the metrics they have, in the order of
// their first appearance.
func tables(r *results.Result) []table {
	type group struct {
		family  string
		metrics []string
		rows    []*results.Row
	}
	var groups []*group
	for i := range r.Rows {
		row := &r.Rows[i]
		f := family(row.Slice)
		at := slices.IndexFunc(groups, func(g *group) bool { return g.family == f })
		if at < 0 {
			at = len(groups)
			groups = append(groups, &group{family: f})
		}
		g := groups[at]
		g.rows = append(g.rows, row)
		for name := range row.Metrics {
			if !slices.Contains(g.metrics, name) {
				g.metrics = append(g.metrics, name)
			}
		}
	}
	var out []table
	for _, g := range groups {
		sort.Strings(g.metrics)
		t := listed(g.rows, "", g.metrics)
		t.Caption = caption(g.rows[0].Slice)
		out = append(out, t)
	}
	return out
}

// listed is a table of rows.
func listed(rows []*results.Row, prefix string, metrics []string) table {
	t := table{Head: append([]string{"slice", "defence"}, metrics...)}
	for _, r := range rows {
		slice := strings.TrimPrefix(r.Slice, prefix)
		if slice+"," == prefix {
			slice = "all"
		}
		line := row{Names: []string{cmp.Or(slice, "all"), r.Defence}}
		for _, m := range metrics {
			var c cell
			if v, ok := r.Metrics[m]; ok {
				c.Value = number(v)
			}
			if ci, ok := r.CI[m]; ok {
				c.CI = number(ci[0]) + " – " + number(ci[1])
			}
			line.Cells = append(line.Cells, c)
		}
		t.Rows = append(t.Rows, line)
	}
	return t
}

// caption says what the tables of a slice's family are of: the parts of its
// name without a value, by those that have one.
func caption(slice string) string {
	if slice == "all" {
		return "Overall"
	}
	var of, by []string
	for p := range strings.SplitSeq(slice, ",") {
		if name, _, ok := strings.Cut(p, "="); ok {
			by = append(by, name)
		} else {
			of = append(of, p)
		}
	}
	switch what := strings.Join(of, ", "); {
	case len(by) == 0:
		return "Of " + what
	case what == "":
		return "By " + strings.Join(by, ", ")
	default:
		return "Of " + what + ", by " + strings.Join(by, ", ")
	}
}

// number is short, and exact where it is an integer.
func number(v float64) string {
	switch {
	case math.IsNaN(v):
		return "undefined"
	case v == math.Trunc(v) && math.Abs(v) < 1e9:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case math.Abs(v) >= 0.001 && math.Abs(v) < 1e6:
		return strconv.FormatFloat(v, 'f', max(0, 4-len(strconv.Itoa(int(math.Abs(v))))+1), 64)
	}
	return strconv.FormatFloat(v, 'g', 4, 64)
}
