package report

import (
	"fmt"
	"html"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Series are coloured by the page's variables --c00 to --c09, so that a plot
// follows the page into the dark; everything else is the colour of text.
const colours = 10

func hue(k int) string { return fmt.Sprintf("var(--c%02d)", k%colours) }

// Sizes, in the drawing's own units: about a pixel each.
const (
	width   = 720
	left    = 64
	right   = 16
	bottom  = 44
	line    = 18 // of the legend
	letter  = 6.4
	minimum = 120
	grouped = 7 // a bar beside others of its category
)

// canvas is a plot being drawn.
type canvas struct {
	b              strings.Builder
	x, y           axis
	left           float64
	height, top    float64
	legend         []item
	thick          float64 // of a bar; 0 for a plot over two axes
	categories     []string
	xLabel, yLabel string
}

// axis maps values to the drawing.
type axis struct{ lo, hi, from, to float64 }

func (a *axis) at(v float64) float64 { return a.from + (v-a.lo)/(a.hi-a.lo)*(a.to-a.from) }

// include widens the axis to take in v.
func (a *axis) include(v float64) {
	if !math.IsNaN(v) && !math.IsInf(v, 0) {
		a.lo, a.hi = min(a.lo, v), max(a.hi, v)
	}
}

// settle gives an axis that has seen one value, or none, some width.
func (a *axis) settle() {
	switch {
	case a.lo > a.hi:
		a.lo, a.hi = 0, 1
	case a.lo == a.hi:
		a.lo, a.hi = a.lo-0.5, a.hi+0.5
	}
}

// ticks are round numbers in the axis's range: steps of 1, 2 or 5 times a
// power of ten.
func (a *axis) ticks(most int) []float64 {
	raw := (a.hi - a.lo) / float64(most)
	step := math.Pow(10, math.Floor(math.Log10(raw)))
	for _, m := range []float64{1, 2, 5, 10} {
		if step*m >= raw {
			step *= m
			break
		}
	}
	var out []float64
	for i := math.Ceil(a.lo/step - 1e-9); i*step <= a.hi+step*1e-9 && len(out) <= 2*most; i++ {
		out = append(out, i*step)
	}
	return out
}

type item struct {
	name  string
	k     int
	rule  bool
	solid bool
}

// svg draws a figure. Its parts have been checked.
func (f *Figure) svg(id string) (string, error) {
	if err := f.Plot.check(); err != nil {
		return "", err
	}
	inf := math.Inf(1)
	c := &canvas{x: axis{lo: inf, hi: -inf}, y: axis{lo: inf, hi: -inf}, left: left, height: 320, xLabel: f.X, yLabel: f.Y}
	f.Plot.scale(c)
	c.x.settle()
	c.y.settle()
	c.top = 8 + line*float64(c.rows())
	c.height += c.top
	c.x.from, c.x.to = c.left, width-right
	c.y.from, c.y.to = c.height-bottom, c.top
	c.frame()
	f.Plot.draw(c)
	c.legends()
	out := fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %s" role="img" aria-labelledby="%[3]s-t %[3]s-d"><title id="%[3]s-t">%[4]s</title><desc id="%[3]s-d">%[5]s</desc>%[6]s</svg>`,
		width, num(c.height), id, html.EscapeString(f.Title), html.EscapeString(f.words()), c.b.String())
	return strings.Map(legal, out), nil
}

// legal drops what XML 1.0 can't hold, escaped or not (section 2.2).
func legal(r rune) rune {
	if r < 0x20 && r != '\t' && r != '\n' || r == 0xFFFE || r == 0xFFFF {
		return -1
	}
	return r
}

// num writes a coordinate to a tenth.
func num(v float64) string { return strconv.FormatFloat(math.Round(v*10)/10, 'f', -1, 64) }

func (c *canvas) text(x, y float64, anchor, class, s string) {
	fmt.Fprintf(&c.b, `<text x="%s" y="%s" text-anchor="%s" class="%s">%s</text>`, num(x), num(y), anchor, class, html.EscapeString(s))
}

func (c *canvas) segment(x1, y1, x2, y2 float64, style string) {
	fmt.Fprintf(&c.b, `<path d="M%s %sL%s %s" %s/>`, num(x1), num(y1), num(x2), num(y2), style)
}

// path draws a line through points, or an area where it is closed.
func (c *canvas) path(xs, ys []float64, style string, closed bool) {
	c.b.WriteString(`<path d="`)
	for i := range xs {
		op := "L"
		if i == 0 {
			op = "M"
		}
		c.b.WriteString(op + num(c.x.at(xs[i])) + " " + num(c.y.at(ys[i])))
	}
	if closed {
		c.b.WriteString("Z")
	}
	c.b.WriteString(`" ` + style + "/>")
}

func stroke(k int) string { return `fill="none" stroke="` + hue(k) + `" stroke-width="1.6"` }

func area(k int) string { return `fill="` + hue(k) + `" fill-opacity="0.22" stroke="none"` }

// dashes tell level lines apart without colour.
func dashes(k int) string {
	return fmt.Sprintf(`fill="none" stroke="currentColor" stroke-width="1" stroke-dasharray="%d 3"`, 2+3*k)
}

// frame draws axes, grid and labels.
func (c *canvas) frame() {
	const grid = `class="grid"`
	for _, v := range c.x.ticks(8) {
		c.segment(c.x.at(v), c.y.from, c.x.at(v), c.y.to, grid)
		c.text(c.x.at(v), c.y.from+15, "middle", "tick", tick(v))
	}
	if c.thick == 0 {
		for _, v := range c.y.ticks(6) {
			c.segment(c.x.from, c.y.at(v), c.x.to, c.y.at(v), grid)
			c.text(c.x.from-6, c.y.at(v)+4, "end", "tick", tick(v))
		}
	}
	for i, name := range c.categories {
		c.text(c.x.from-6, c.middle(i)+4, "end", "tick", name)
	}
	c.text((c.x.from+c.x.to)/2, c.height-8, "middle", "label", c.xLabel)
	if c.yLabel != "" {
		at := (c.y.from + c.y.to) / 2
		fmt.Fprintf(&c.b, `<text transform="translate(14 %s) rotate(-90)" text-anchor="middle" class="label">%s</text>`, num(at), html.EscapeString(c.yLabel))
	}
}

func tick(v float64) string {
	if math.Abs(v) < 1e-12 {
		v = 0
	}
	return strconv.FormatFloat(v, 'g', 4, 64)
}

// places lays the legend out in rows above the plot.
func (c *canvas) places() (xs []float64, rows []int) {
	x, row := c.left, 0
	for _, it := range c.legend {
		w := 34 + letter*float64(len([]rune(it.name)))
		if x > c.left && x+w > width-right {
			x, row = c.left, row+1
		}
		xs, rows = append(xs, x), append(rows, row)
		x += w
	}
	return xs, rows
}

func (c *canvas) rows() int {
	_, rows := c.places()
	if len(rows) == 0 {
		return 0
	}
	return rows[len(rows)-1] + 1
}

func (c *canvas) legends() {
	xs, rows := c.places()
	for i, it := range c.legend {
		y := 12 + line*float64(rows[i])
		switch {
		case it.rule:
			c.segment(xs[i], y, xs[i]+18, y, dashes(it.k))
		case it.solid:
			fmt.Fprintf(&c.b, `<rect x="%s" y="%s" width="14" height="10" fill="%s"/>`, num(xs[i]), num(y-5), hue(it.k))
		default:
			c.segment(xs[i], y, xs[i]+18, y, stroke(it.k))
		}
		c.text(xs[i]+22, y+4, "start", "tick", it.name)
	}
}

func (h Histogram) scale(c *canvas) {
	c.x.lo, c.x.hi = h.Min, h.Max
	c.y.include(0)
	c.y.include(1)
	for k, s := range h.Series {
		for _, n := range h.counts(s) {
			c.y.include(n)
		}
		c.legend = append(c.legend, item{name: s.Name, k: k})
	}
	for k, m := range h.Marks {
		c.legend = append(c.legend, item{name: m.Name, k: k, rule: true})
	}
}

func (h Histogram) draw(c *canvas) {
	for k, s := range h.Series {
		xs, ys := []float64{h.Min}, []float64{0}
		for i, n := range h.counts(s) {
			xs, ys = append(xs, h.edge(i), h.edge(i+1)), append(ys, n, n)
		}
		xs, ys = append(xs, h.Max), append(ys, 0)
		c.path(xs, ys, area(k), true)
		c.path(xs, ys, stroke(k), false)
	}
	for k, m := range h.Marks {
		at := c.x.at(min(max(m.At, h.Min), h.Max))
		c.segment(at, c.y.from, at, c.y.to, dashes(k))
	}
}

func (l Lines) scale(c *canvas) {
	for k, s := range l.Series {
		for i := range s.X {
			c.x.include(s.X[i])
			c.y.include(s.Y[i])
			if s.Lo != nil {
				c.y.include(s.Lo[i])
				c.y.include(s.Hi[i])
			}
		}
		c.legend = append(c.legend, item{name: s.Name, k: k})
	}
	for k, v := range l.Levels {
		c.y.include(v.At)
		c.legend = append(c.legend, item{name: v.Name, k: k, rule: true})
	}
}

func (l Lines) draw(c *canvas) {
	for k, s := range l.Series {
		for from := 0; from < len(s.X); {
			to := from
			for to < len(s.X) && s.told(to) {
				to++
			}
			if to > from {
				if s.Lo != nil {
					xs := slices.Concat(s.X[from:to], reversed(s.X[from:to]))
					c.path(xs, slices.Concat(s.Hi[from:to], reversed(s.Lo[from:to])), area(k), true)
				}
				c.path(s.X[from:to], s.Y[from:to], stroke(k), false)
			}
			from = to + 1
		}
	}
	for k, v := range l.Levels {
		c.segment(c.x.from, c.y.at(v.At), c.x.to, c.y.at(v.At), dashes(k))
	}
}

// told reports whether there is a point i.
func (s *Line) told(i int) bool {
	v := s.X[i] + s.Y[i]
	if s.Lo != nil {
		v += s.Lo[i] + s.Hi[i]
	}
	return !math.IsNaN(v) && !math.IsInf(v, 0)
}

func reversed(x []float64) []float64 {
	x = slices.Clone(x)
	slices.Reverse(x)
	return x
}

func (s Scatter) scale(c *canvas) {
	for _, p := range s.Points {
		c.x.include(p.X)
		c.y.include(p.Y)
	}
	// Room around the outermost markers.
	for _, a := range []*axis{&c.x, &c.y} {
		pad := 0.06 * (a.hi - a.lo)
		a.lo, a.hi = a.lo-pad, a.hi+pad
	}
	for k, g := range s.groups() {
		if g != "" {
			c.legend = append(c.legend, item{name: g, k: k, solid: true})
		}
	}
}

func (s Scatter) draw(c *canvas) {
	groups := s.groups()
	for _, p := range s.Points {
		r := p.Size
		if r <= 0 {
			r = 4
		}
		x, y := c.x.at(p.X), c.y.at(p.Y)
		fmt.Fprintf(&c.b, `<circle cx="%s" cy="%s" r="%s" fill="%s" fill-opacity="0.8"/>`, num(x), num(y), num(r), hue(slices.Index(groups, p.Group)))
		if x > 0.8*width {
			c.text(x-r-3, y-3, "end", "tick", p.Name)
		} else {
			c.text(x+r+3, y-3, "start", "tick", p.Name)
		}
	}
}

func (b Bars) scale(c *canvas) {
	c.thick = 16
	if b.Grouped {
		c.thick = max(16, grouped*float64(len(b.Parts)))
	}
	c.categories = b.Categories
	c.y.lo, c.y.hi = 0, float64(len(b.Categories))
	c.height = max(minimum, bottom+float64(len(b.Categories))*(c.thick+6))
	c.x.include(0)
	longest := 0
	for i := range b.Categories {
		sum := 0.0
		for _, p := range b.Parts {
			sum += p.Values[i]
			if b.Grouped {
				c.x.include(p.Values[i])
			}
		}
		if !b.Grouped {
			c.x.include(sum)
		}
		longest = max(longest, len([]rune(b.Categories[i])))
	}
	c.left = min(max(left, 12+letter*float64(longest)), width/2)
	for k, p := range b.Parts {
		c.legend = append(c.legend, item{name: p.Name, k: k, solid: true})
	}
}

// middle is where the bar of a category stands; the first is on top.
func (c *canvas) middle(i int) float64 {
	return c.y.at(float64(len(c.categories)-i) - 0.5)
}

func (b Bars) draw(c *canvas) {
	for i := range b.Categories {
		sum, top, thick := 0.0, c.middle(i)-c.thick/2, c.thick
		if b.Grouped {
			thick /= float64(len(b.Parts))
		}
		for k, p := range b.Parts {
			from, to := c.x.at(sum), c.x.at(sum+p.Values[i])
			if to > from {
				fmt.Fprintf(&c.b, `<rect x="%s" y="%s" width="%s" height="%s" fill="%s"/>`, num(from), num(top), num(to-from), num(thick), hue(k))
			}
			if b.Grouped {
				top += thick
			} else {
				sum += p.Values[i]
			}
		}
	}
}
