package lexical

import (
	_ "embed"
	"slices"
	"strings"
	"testing"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/screen"
)

//go:embed testdata/paraphrase.txt
var paraphrases string

// paraphrased is a call in other words than the regions that it draws on, or
// one that draws on none.
type paraphrased struct {
	domain string
	text   string
	q      *screen.Question
	want   []int
}

func readParaphrases(t testing.TB) (out []paraphrased) {
	t.Helper()
	domain := ""
	for line := range strings.Lines(paraphrases) {
		line = strings.TrimSpace(line)
		if name, ok := strings.CutPrefix(line, "## "); ok {
			domain = name
			continue
		}
		if line == "" || line[0] == '#' {
			continue
		}
		parts := strings.Split(line[1:], " |")
		if len(parts) != 4 {
			t.Fatalf("%s: %d parts", line, len(parts))
		}
		c := paraphrased{domain: domain, text: line, q: &screen.Question{
			Requests: []string{strings.TrimSpace(parts[0])}, Calls: []flow.ToolCall{{Arguments: strings.TrimSpace(parts[2])}},
		}}
		var names []string
		for of := range strings.SplitSeq(parts[1], ";") {
			field, text, _ := strings.Cut(strings.TrimSpace(of), "=")
			field, bottom := strings.CutPrefix(field, "*")
			names = append(names, field)
			c.q.Regions = append(c.q.Regions, screen.Region{Field: field, Text: text, Bottom: bottom})
		}
		for of := range strings.SplitSeq(parts[3], ",") {
			if of = strings.TrimSpace(of); of != "" {
				i := slices.Index(names, of)
				if i < 0 {
					t.Fatalf("%s: no field %s", line, of)
				}
				c.want = append(c.want, i)
			}
		}
		if (line[0] == '+') != (len(c.want) > 0) {
			t.Fatalf("%s: the sign is wrong", line)
		}
		out = append(out, c)
	}
	return out
}

// Calls that paraphrase regions are found, and others leave regions alone. The
// bounds are what was reached, with some room.
func TestParaphrase(t *testing.T) {
	type score struct{ found, of, more, alone, plain int }
	scores := map[string]*score{"dev": {}, "held out": {}, "second": {}, "classes": {}}
	for _, c := range readParaphrases(t) {
		half, _, _ := strings.Cut(c.domain, ":")
		s := scores[half]
		out, err := Screener{}.Relevant(t.Context(), c.q)
		if err != nil {
			t.Fatal(err)
		}
		missed, more := false, false
		for i, yes := range out {
			missed = missed || !yes && slices.Contains(c.want, i)
			more = more || yes && !slices.Contains(c.want, i)
		}
		add := func(to *int, yes bool) {
			if yes {
				*to++
			}
		}
		if len(c.want) == 0 {
			s.plain++
			add(&s.alone, !more)
		} else {
			s.of++
			add(&s.found, !missed)
			add(&s.more, more)
		}
		if (missed || more) && half != "held out" {
			t.Logf("%v: %s", out, c.text)
		}
	}
	for half, s := range scores {
		t.Logf("%s: %d of %d found, %d with more than that; %d of %d left alone", half, s.found, s.of, s.more, s.alone, s.plain)
		if 10*s.found < 9*s.of || 3*s.more > s.of || 10*s.alone < 9*s.plain {
			t.Errorf("%s: fewer than nine in ten are found or left alone, or a third is found with more", half)
		}
	}
}
