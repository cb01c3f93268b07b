package console

import (
	"fmt"
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
