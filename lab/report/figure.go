package report

import (
	"errors"
	"math"
	"slices"
	"sort"
	"strconv"
)

// Figure is one plot with what is said about it.
type Figure struct {
	Title   string
	Caption string // what is to be seen, from where the numbers come
	Alt     string // the plot in words, for who does not see it
	X, Y    string // axis labels
	Plot    Plot
	Missing string // why there is nothing to show, where there is nothing
}

// Plot is one of Histogram, Lines, Scatter, Bars and Listing.
type Plot interface {
	empty() bool
	check() error
	table() table
	scale(c *canvas) // takes in all values and names the legend
	draw(c *canvas)
}

var errLengths = errors.New("parts of different lengths")

// Histogram shows how the values of each series spread over [Min, Max] in
// equal bins. Values outside count in the outermost bins.
type Histogram struct {
	Series   []Values
	Bins     int // 20 where 0
	Min, Max float64
	Marks    []Mark
}

// Values are a named series of numbers.
type Values struct {
	Name   string
	Values []float64
}

// Mark is a named vertical line, such as a threshold.
type Mark struct {
	Name string
	At   float64
}

func (h Histogram) empty() bool {
	return !slices.ContainsFunc(h.Series, func(s Values) bool { return len(s.Values) > 0 })
}

func (h Histogram) check() error {
	if !(h.Max > h.Min) || math.IsInf(h.Max-h.Min, 0) {
		return errors.New("an empty range")
	}
	return nil
}

func (h Histogram) bins() int {
	if h.Bins <= 0 {
		return 20
	}
	return h.Bins
}

func (h Histogram) edge(i int) float64 {
	return h.Min + (h.Max-h.Min)*float64(i)/float64(h.bins())
}

// counts returns the bins of one series. NaN counts nowhere.
func (h Histogram) counts(s Values) []float64 {
	n := make([]float64, h.bins())
	for _, v := range s.Values {
		if math.IsNaN(v) {
			continue
		}
		at := math.Floor((v - h.Min) / (h.Max - h.Min) * float64(len(n)))
		n[int(min(max(at, 0), float64(len(n)-1)))]++
	}
	return n
}

func (h Histogram) table() table {
	t := table{Head: []string{"from", "to"}}
	var counts [][]float64
	for _, s := range h.Series {
		t.Head = append(t.Head, s.Name)
		counts = append(counts, h.counts(s))
	}
	for i := range h.bins() {
		r := row{Names: []string{number(h.edge(i)), number(h.edge(i + 1))}}
		for _, c := range counts {
			r.Cells = append(r.Cells, cell{Value: number(c[i])})
		}
		t.Rows = append(t.Rows, r)
	}
	return t
}

// Lines shows series over a common kind of x, with bands and level lines.
type Lines struct {
	Series []Line
	Levels []Level
}

// Line is a named line. Lo and Hi, where given, bound a band around it. Points
// whose Y is NaN leave a gap.
type Line struct {
	Name         string
	X, Y, Lo, Hi []float64
}

// Level is a named horizontal line, such as a bound.
type Level struct {
	Name string
	At   float64
}

func (l Lines) empty() bool {
	return !slices.ContainsFunc(l.Series, func(s Line) bool { return len(s.X) > 0 })
}

func (l Lines) check() error {
	for _, s := range l.Series {
		if len(s.X) != len(s.Y) || len(s.Lo) != len(s.Hi) || s.Lo != nil && len(s.Lo) != len(s.X) {
			return errLengths
		}
	}
	return nil
}

func (l Lines) table() table {
	t := table{Head: []string{"line", "x", "y"}}
	for _, s := range l.Series {
		// A long line is thinned: the plot has it all, the table its course.
		step := max(1, (len(s.X)+99)/100)
		for i := 0; i < len(s.X); i += step {
			c := cell{Value: number(s.Y[i])}
			if s.Lo != nil {
				c.CI = number(s.Lo[i]) + " – " + number(s.Hi[i])
			}
			t.Rows = append(t.Rows, row{Names: []string{s.Name, number(s.X[i])}, Cells: []cell{c}})
		}
	}
	for _, v := range l.Levels {
		t.Rows = append(t.Rows, row{Names: []string{v.Name, "all"}, Cells: []cell{{Value: number(v.At)}}})
	}
	return t
}

// Scatter shows named points. Points of one Group share a colour.
type Scatter struct{ Points []Point }

// Point is one point with its name beside it. Size is the marker's radius in
// points; 4 where 0.
type Point struct {
	Name, Group string
	X, Y, Size  float64
}

func (s Scatter) empty() bool { return len(s.Points) == 0 }

func (s Scatter) check() error {
	for _, p := range s.Points {
		if v := p.X + p.Y; math.IsNaN(v) || math.IsInf(v, 0) {
			return errors.New("a point without a place")
		}
	}
	return nil
}

// groups returns the groups in the order of their first point.
func (s Scatter) groups() []string {
	var out []string
	for _, p := range s.Points {
		if !slices.Contains(out, p.Group) {
			out = append(out, p.Group)
		}
	}
	return out
}

func (s Scatter) table() table {
	t := table{Head: []string{"point", "group", "x", "y"}}
	for _, p := range s.Points {
		t.Rows = append(t.Rows, row{Names: []string{p.Name, p.Group}, Cells: []cell{{Value: number(p.X)}, {Value: number(p.Y)}}})
	}
	return t
}

// Bars shows, for each category, the parts stacked one behind the other, or
// one below the other where they are Grouped.
type Bars struct {
	Categories []string
	Parts      []Values // one value for each category
	Grouped    bool
}

func (b Bars) empty() bool { return len(b.Categories) == 0 || len(b.Parts) == 0 }

func (b Bars) check() error {
	for _, p := range b.Parts {
		if len(p.Values) != len(b.Categories) {
			return errLengths
		}
		if slices.ContainsFunc(p.Values, func(v float64) bool { return v < 0 || math.IsNaN(v) || math.IsInf(v, 0) }) {
			return errors.New("a stacked part that is negative or not a number")
		}
	}
	return nil
}

func (b Bars) table() table {
	t := table{Head: []string{"category"}}
	for _, p := range b.Parts {
		t.Head = append(t.Head, p.Name)
	}
	for i, c := range b.Categories {
		r := row{Names: []string{c}}
		for _, p := range b.Parts {
			r.Cells = append(r.Cells, cell{Value: number(p.Values[i])})
		}
		t.Rows = append(t.Rows, r)
	}
	return t
}

func sortedKeys(m map[string]float64) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	sort.Strings(out)
	return out
}

// words puts a plot in words where its maker gave none.
func (f *Figure) words() string {
	if f.Alt != "" {
		return f.Alt
	}
	return f.Title + ": " + f.Y + " over " + f.X + ", " + strconv.Itoa(len(f.Plot.table().Rows)) + " rows in the table below."
}
