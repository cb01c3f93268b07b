package results

import (
	"fmt"
	"html"
	"html/template"
	"math"
	"strings"

	"github.com/margaydev/margay/internal/console/view"
)

// Dots draws one metric of a table: a dot and its interval for each defence,
// and a ring for the result that is compared.
func Dots(t BenchTable, metric int) template.HTML {
	low, high := math.Inf(1), math.Inf(-1)
	n := 0
	see := func(x *float64) {
		if x != nil {
			low, high = math.Min(low, *x), math.Max(high, *x)
		}
	}
	for _, r := range t.Rows {
		c := r.Cells[metric]
		if c.Value != nil {
			n++
		}
		see(c.Value)
		see(c.Other)
		if c.Interval != nil {
			see(&c.Interval[0])
			see(&c.Interval[1])
		}
	}
	if n < 2 || !(high > low) {
		return ""
	}
	if low > 0 && low < high/2 {
		low = 0
	}
	const width, left, line = 640, 190, 20
	x := func(v float64) float64 { return left + (v-low)/(high-low)*(width-left-60) }
	var b strings.Builder
	name := html.EscapeString(view.Visible(t.Metrics[metric]))
	fmt.Fprintf(&b, `<svg class="dots" viewBox="0 0 %d %d" role="img" aria-label="%s by defence; the table has its numbers">`, width, line*(len(t.Rows)+1), name)
	fmt.Fprintf(&b, `<line class="axis" x1="%d" x2="%d" y1="%d" y2="%[3]d"/>`, left, width-60, line*len(t.Rows)+4)
	fmt.Fprintf(&b, `<text class="tick" x="%d" y="%d">%s</text><text class="tick" x="%d" y="%[2]d" text-anchor="end">%[5]s</text>`, left, line*len(t.Rows)+18, view.Number(low), width-60, view.Number(high))
	for i, r := range t.Rows {
		c := r.Cells[metric]
		y := float64(i*line) + line/2
		label := []rune(view.Visible(r.Defence))
		if len(label) > 26 {
			label = append(label[:25], '…')
		}
		fmt.Fprintf(&b, `<text x="%d" y="%.0f" text-anchor="end">%s</text>`, left-8, y+4, html.EscapeString(string(label)))
		if c.Interval != nil {
			fmt.Fprintf(&b, `<line class="ci" x1="%.1f" x2="%.1f" y1="%.0f" y2="%[3]f"/>`, x(c.Interval[0]), x(c.Interval[1]), y)
		}
		if c.Value != nil {
			fmt.Fprintf(&b, `<circle class="a" cx="%.1f" cy="%.0f" r="4"/><text class="value" x="%d" y="%.0f">%s</text>`, x(*c.Value), y, width-52, y+4, view.Number(*c.Value))
		}
		if c.Other != nil {
			fmt.Fprintf(&b, `<circle class="b" cx="%.1f" cy="%.0f" r="5"/>`, x(*c.Other), y)
		}
	}
	b.WriteString("</svg>")
	return template.HTML(b.String()) //nolint:gosec // all words are escaped
}
