package console

import (
	"fmt"
	"html"
	"html/template"
	"math"
	"strings"
)

// chart draws how decisions came out by the minute, as stacked bars. Its
// numbers stand beside it as a table. Colours come from the style sheet, and
// each outcome has its own pattern of height and place, so that colour is not
// all that tells them apart.
func chart(minutes []Minute) template.HTML {
	const height, bar = 120, 10
	most := 1
	for _, m := range minutes {
		most = max(most, m.Allow+m.Rewrite+m.Confirm+m.Deny)
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg class="bars" viewBox="0 0 %d %d" preserveAspectRatio="none" role="img" aria-labelledby="bars-title"><title id="bars-title">Decisions by the minute, the last hour; at most %d in one</title>`, bar*len(minutes), height, most)
	for i, m := range minutes {
		y := float64(height)
		for _, part := range []struct {
			class string
			n     int
		}{{"allow", m.Allow}, {"rewrite", m.Rewrite}, {"confirm", m.Confirm}, {"deny", m.Deny}} {
			if part.n == 0 {
				continue
			}
			h := math.Max(float64(part.n)/float64(most)*(height-4), 2)
			y -= h
			fmt.Fprintf(&b, `<rect class="%s" x="%d" y="%.1f" width="%d" height="%.1f"/>`, part.class, i*bar+1, y, bar-2, h)
		}
	}
	b.WriteString("</svg>")
	return template.HTML(b.String()) //nolint:gosec // numbers and our own words
}

// dots draws one metric of a table: a dot and its interval for each defence,
// and a ring for the result that is compared.
func dots(t BenchTable, metric int) template.HTML {
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
	name := html.EscapeString(visible(t.Metrics[metric]))
	fmt.Fprintf(&b, `<svg class="dots" viewBox="0 0 %d %d" role="img" aria-label="%s by defence; the table has its numbers">`, width, line*(len(t.Rows)+1), name)
	fmt.Fprintf(&b, `<line class="axis" x1="%d" x2="%d" y1="%d" y2="%[3]d"/>`, left, width-60, line*len(t.Rows)+4)
	fmt.Fprintf(&b, `<text class="tick" x="%d" y="%d">%s</text><text class="tick" x="%d" y="%[2]d" text-anchor="end">%[5]s</text>`, left, line*len(t.Rows)+18, number3(low), width-60, number3(high))
	for i, r := range t.Rows {
		c := r.Cells[metric]
		y := float64(i*line) + line/2
		label := []rune(visible(r.Defence))
		if len(label) > 26 {
			label = append(label[:25], '…')
		}
		fmt.Fprintf(&b, `<text x="%d" y="%.0f" text-anchor="end">%s</text>`, left-8, y+4, html.EscapeString(string(label)))
		if c.Interval != nil {
			fmt.Fprintf(&b, `<line class="ci" x1="%.1f" x2="%.1f" y1="%.0f" y2="%[3]f"/>`, x(c.Interval[0]), x(c.Interval[1]), y)
		}
		if c.Value != nil {
			fmt.Fprintf(&b, `<circle class="a" cx="%.1f" cy="%.0f" r="4"/><text class="value" x="%d" y="%.0f">%s</text>`, x(*c.Value), y, width-52, y+4, number3(*c.Value))
		}
		if c.Other != nil {
			fmt.Fprintf(&b, `<circle class="b" cx="%.1f" cy="%.0f" r="5"/>`, x(*c.Other), y)
		}
	}
	b.WriteString("</svg>")
	return template.HTML(b.String()) //nolint:gosec // all words are escaped
}
