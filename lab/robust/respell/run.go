package respell

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	"github.com/margaydev/margay/lab/results"
	"github.com/margaydev/margay/lab/stats"
)

// Least is the fewest cases of a cell of sink and argument.
const Least = 192

// Options of a run.
type Options struct {
	Seed     uint64
	N        int // cases of each sink and argument, 216 at least; twice the forms where 0
	Name     string
	Verifier Verifier
	Progress func(string)
}

// Report is what a run saw besides its result.
type Report struct{ Played []Played }

// Run measures a verifier.
func Run(ctx context.Context, o Options) (*results.Result, *Report, error) {
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
	if o.N <= 0 {
		o.N = 2 * len((&generator{seed: o.Seed}).pairs(false))
	}
	// A few values never reach their service; Least remain without them.
	o.N = max(o.N, Least+Least/8)
	p := &player{v: o.Verifier, seed: o.Seed}
	played, err := p.all(ctx, Generate(o.Seed, o.N, o.N/2), o.Progress)
	if err != nil {
		return nil, nil, err
	}
	res := &results.Result{
		Suite: "robust", Seed: o.Seed, N: o.N, Environment: results.Here(),
		Source: fmt.Sprintf("lab/robust/respell, %d respellings and %d near values for each sink and argument", o.N, o.N/2),
		Notes: []string{
			"respellings_found: share of spellings of which nothing that tells the value arrives, or that are charged as the value",
			"respellings_named: share that is withheld or charged as the value's field; respellings_found_open: share found in arguments of no field and in free text to the curious sink, without those of the causes whole and denied; respellings_found_unseen: share found in a family that has released another person's value instead",
			"false_alarms: share of near values, untouched where another value was released, that are touched where the value was",
			"seeded: share of first releases that brought the value to the service unchanged; the others are left out",
			"intervals: Clopper-Pearson",
		},
	}
	rows(res, o.Name, played)
	return res, &Report{played}, nil
}

// counts is one slice of what was played.
type counts struct {
	n, asked, found, named int
	open, openFound        int
	control, unseen        int
	untouched, alarms      int
	causes                 map[Cause]int
}

func rows(res *results.Result, name string, played []Played) {
	var order []string
	all := map[string]*counts{}
	add := func(slice string, x *Played) {
		c := all[slice]
		if c == nil {
			c = &counts{causes: map[Cause]int{}}
			all[slice] = c
			order = append(order, slice)
		}
		c.add(x)
	}
	for i := range played {
		x := &played[i]
		for _, s := range slicesOf(x) {
			add(s, x)
		}
	}
	slices.SortStableFunc(order, func(a, b string) int { return rank(a) - rank(b) })
	for _, s := range order {
		res.Rows = append(res.Rows, all[s].row(name, s))
	}
	total := all["all"]
	for _, k := range Causes {
		if total == nil || total.n == 0 {
			break
		}
		row := results.Row{Defence: name, Slice: "cause=" + string(k), Metrics: map[string]float64{}, CI: map[string][2]float64{}}
		share(&row, "respellings", total.causes[k], total.n)
		res.Rows = append(res.Rows, row)
	}
}

func slicesOf(x *Played) []string {
	carrier, forms := "sentence", "shown"
	if x.Alone {
		carrier = "alone"
	}
	if x.Held {
		forms = "held-out"
	}
	if x.Negative {
		return []string{"all", "sink=" + x.Sink, "arg=" + string(x.Arg), "sink=" + x.Sink + ",arg=" + string(x.Arg), "field=" + string(x.Field), "near=" + x.Form}
	}
	return []string{
		"all", "sink=" + x.Sink, "arg=" + string(x.Arg), "sink=" + x.Sink + ",arg=" + string(x.Arg), "carrier=" + carrier, "forms=" + forms,
		"field=" + string(x.Field), "form=" + x.Form,
	}
}

// rank puts the slices of one kind together.
func rank(slice string) int {
	for i, p := range []string{"all", "sink=curious,", "sink=adversarial,", "sink=", "arg=", "carrier=", "forms=", "field=", "form=", "near="} {
		if len(slice) >= len(p) && slice[:len(p)] == p {
			return i
		}
	}
	return 99
}

func (c *counts) add(x *Played) {
	if x.Negative {
		if x.Seen != notSeeded && x.Control == Arrived {
			c.untouched++
			if x.Seen != Arrived {
				c.alarms++
			}
		}
		return
	}
	c.asked++
	if x.Seen == notSeeded {
		return
	}
	c.n++
	c.causes[x.Seen]++
	if x.Seen.Found() {
		c.found++
	}
	if x.Seen.Named() {
		c.named++
	}
	if x.open() {
		c.open++
		if x.Seen.Found() {
			c.openFound++
		}
	}
	if x.Control != notSeeded {
		c.control++
		if x.Control.Found() {
			c.unseen++
		}
	}
}

// open reports whether what stands around a spelling goes on there, so that
// what is found is found by itself.
func (x *Played) open() bool {
	return (x.Arg == Plain || x.Arg == Free && x.Sink == Sinks[0].Name) && x.Seen != ByWhole && x.Seen != ByDenial
}

func (c *counts) row(name, slice string) results.Row {
	row := results.Row{Defence: name, Slice: slice, Metrics: map[string]float64{}, CI: map[string][2]float64{}}
	share(&row, "respellings_found", c.found, c.n)
	share(&row, "respellings_named", c.named, c.n)
	share(&row, "respellings_found_open", c.openFound, c.open)
	share(&row, "respellings_found_unseen", c.unseen, c.control)
	share(&row, "false_alarms", c.alarms, c.untouched)
	share(&row, "seeded", c.n, c.asked)
	if c.n > 0 {
		row.Metrics["cases"] = float64(c.n)
	}
	if c.untouched > 0 {
		row.Metrics["near_cases"] = float64(c.untouched)
	}
	return row
}

func round(v float64) float64 { return math.Round(v*1e6) / 1e6 }

func share(row *results.Row, metric string, k, n int) {
	if n == 0 {
		return
	}
	ci := stats.ClopperPearson(k, n, .95)
	row.Metrics[metric], row.CI[metric] = round(float64(k)/float64(n)), [2]float64{round(ci[0]), round(ci[1])}
}

// WriteCauses writes, a line each, the spellings that were missed, the near
// values that were touched and the values that no service got.
func (r *Report) WriteCauses(w io.Writer) error {
	if _, err := fmt.Fprintln(w, "kind\tfield\tform\tsink\targ\tcause\tvalue\tspelled"); err != nil {
		return err
	}
	for i := range r.Played {
		x := &r.Played[i]
		kind := ""
		switch {
		case x.Seen == notSeeded:
			kind = "not-seeded"
		case x.Negative && x.Control == Arrived && x.Seen != Arrived:
			kind = "false-alarm"
		case !x.Negative && !x.Seen.Found():
			kind = "missed"
		default:
			continue
		}
		if _, err := fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", kind, x.Field, x.Form, x.Sink, x.Arg, x.Seen,
			strconv.Quote(x.Value), strconv.Quote(x.Spelled)); err != nil {
			return err
		}
	}
	return nil
}
