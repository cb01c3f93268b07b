package app

import (
	"context"

	"github.com/margaydev/margay/defend/rules"
	"github.com/margaydev/margay/lab/report"
	"github.com/margaydev/margay/lab/results"
	"github.com/margaydev/margay/lab/robust"
	"github.com/margaydev/margay/lab/traj"
)

func runRobust(ctx context.Context, o *options) (*results.Result, []report.Figure, error) {
	if o.traj.respell {
		r, err := runRespell(ctx, o)
		return r, nil, err
	}
	all, mine, notes, err := trajDefences(o)
	if err != nil {
		return nil, nil, err
	}
	if o.traj.note != "" {
		notes = append(notes, o.traj.note)
	}
	opt := robust.Options{World: o.world(), Seed: o.seed, Seeds: o.traj.seeds, N: o.n, Defences: all, Inner: robust.Forger{Inner: rules.Defender{}}, Progress: o.progress}
	if o.n < 0 {
		opt.N, opt.Seeds = 120, traj.Seeds
	}
	if o.quick {
		opt.N, opt.Seeds = 12, 1
	}
	if mine != nil {
		opt.Forged = mine.forged
		if opt.Ablations, err = mine.ablations(); err != nil {
			return nil, nil, err
		}
	}
	r, err := robust.Run(ctx, opt)
	if err != nil {
		return nil, nil, err
	}
	r.Notes = append(r.Notes, notes...)
	return r, robustFigures(r), nil
}

// robustFigures is how much more sinks learn that put together what they know.
func robustFigures(r *results.Result) []report.Figure {
	var plot report.Lines
	for i := range r.Rows {
		row := &r.Rows[i]
		if row.Slice != "all" {
			continue
		}
		l := report.Line{Name: row.Defence}
		for _, k := range []string{"1", "2", "4", "8"} {
			v, ok := row.Metrics["collusion_"+k]
			if !ok {
				continue
			}
			ci := row.CI["collusion_"+k]
			l.X, l.Y = append(l.X, float64(k[0]-'0')), append(l.Y, v)
			l.Lo, l.Hi = append(l.Lo, ci[0]), append(l.Hi, ci[1])
		}
		if len(l.X) > 0 {
			plot.Series = append(plot.Series, l)
		}
	}
	if b := r.Row("background", "all"); b != nil {
		plot.Levels = []report.Level{{Name: "background", At: b.Metrics["cumulative_top1"]}}
	}
	return []report.Figure{{
		Title: "Collusion", X: "recipients that pool what they learned", Y: "secrets guessed at the first try", Plot: plot,
		Alt:     "A line for each defence over the number of colluding sinks",
		Caption: "Eight sinks ask for a piece each (OCELOT, Figure 7), with 95 % intervals. The level line is what is guessed without any release.",
	}}
}
