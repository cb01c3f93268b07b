package app

import (
	"context"
	"path/filepath"
	"slices"

	"github.com/margaydev/margay/lab/prism"
	"github.com/margaydev/margay/lab/prism/method"
	"github.com/margaydev/margay/lab/report"
	"github.com/margaydev/margay/lab/results"
	"github.com/margaydev/margay/lab/train"
)

// recorded are the records of a real model in one repository, by seed.
type recorded struct {
	header *prism.Header // the first's
	of     []prism.Recording
	seeds  []uint64
}

// paths are those of the records.
func (r *recorded) paths() (out []string) {
	for _, x := range r.of {
		out = append(out, x.Path)
	}
	return out
}

// records are those to measure on, by model, and the one to train on, if any.
type records struct {
	evaluation []recorded
	training   *recorded
}

// fixtures finds the records that are kept with the source, from the root of the
// repository and from the laboratory's.
func fixtures() []string {
	for _, dir := range []string{"lab", "."} {
		// The pattern is well formed.
		if found, _ := filepath.Glob(filepath.Join(dir, "prism", "testdata", "*.jsonl.gz")); len(found) > 0 {
			return found
		}
	}
	return nil
}

// judgedFile is the file of the judge's recorded answers; empty for none.
func (p *prismOptions) judgedFile(quick bool) string {
	if p.given != nil && p.given("judged") || quick || p.judge != "" {
		return p.judged
	}
	for _, dir := range []string{"lab", "."} {
		if found, _ := filepath.Glob(filepath.Join(dir, "prism", "testdata", "*-judge.json.gz")); len(found) > 0 {
			return found[0]
		}
	}
	return ""
}

// records finds out which of the files are for what.
func (p *prismOptions) records(quick bool) (records, error) {
	paths := p.replay
	if !quick && (p.given == nil || !p.given("replay")) {
		paths = fixtures()
	}
	var out records
	type key struct {
		speaker string
		seed    uint64
	}
	instructed := map[key]string{}
	for _, path := range paths {
		h, err := prism.ReadHeader(path)
		if err != nil {
			return out, err
		}
		r := prism.Recording{Path: path}
		switch {
		case h.Repository == "payments" && h.Instruction != "":
			instructed[key{h.Speaker(), h.Seed}] = path
		case h.Repository == "payments":
			i := slices.IndexFunc(out.evaluation, func(e recorded) bool { return e.header.Speaker() == h.Speaker() })
			if i < 0 {
				i, out.evaluation = len(out.evaluation), append(out.evaluation, recorded{header: h})
			}
			e := &out.evaluation[i]
			e.of, e.seeds = append(e.of, r), append(e.seeds, h.Seed)
		case h.Repository == "healthcare":
			if out.training != nil {
				return out, usage("one monitor is trained, on one record", "--replay has two records of the repository healthcare")
			}
			out.training = &recorded{header: h, of: []prism.Recording{r}}
		default:
			return out, usage("record it again", "%s is of an unknown repository %q", path, h.Repository)
		}
	}
	for i := range out.evaluation {
		e := &out.evaluation[i]
		for j, seed := range e.seeds {
			if slices.Contains(e.seeds[:j], seed) {
				return out, usage("one record for each model and seed", "--replay has two records of %s on the repository payments, seed %d", e.header.Speaker(), seed)
			}
			k := key{e.header.Speaker(), seed}
			e.of[j].Instructed = instructed[k]
			delete(instructed, k)
		}
	}
	for _, path := range instructed {
		return out, usage("add the record of the same model and seed without the instruction", "%s has nothing to be compared with", path)
	}
	if out.training != nil && len(out.evaluation) == 0 {
		return out, usage("healthcare is for training alone; add a record of payments", "--replay has no record to measure on")
	}
	return out, nil
}

// ablates reports whether the ablations are wanted.
func (p *prismOptions) ablates(n int, quick bool) bool {
	if !wanted(p.defences, "monitor-risk") {
		return false
	}
	if p.given != nil && p.given("ablate") {
		return p.ablate
	}
	return !quick && (n == 0 || n >= prismTasks)
}

// replay measures on a record and adds what it finds to the result. Where there
// is a record to train on, a monitor trained on it is measured beside the one
// of the simulated traces, on the secrets of another repository.
func replay(ctx context.Context, o *options, set method.Options, po prism.Options, variants []prism.Defence,
	r *results.Result, e recorded, learned *recorded,
) ([]report.Figure, error) {
	source := "source=" + e.header.Speaker()
	set.Instructed = slices.ContainsFunc(e.of, func(r prism.Recording) bool { return r.Instructed != "" })
	var figures []report.Figure
	if learned != nil && wanted(o.prism.defences, "gbt", "tagger") {
		// What learns has learnt from the same model's words.
		var err error
		if set.Traces, err = prism.RecordedTraces(learned.of[0].Path); err != nil {
			return nil, err
		}
	}
	// The built-in model may have learnt from it already.
	if learned != nil && wanted(o.prism.defences, "monitor-risk") && !slices.Contains(set.Model.Spec().Training.Sources, learned.header.Model) {
		o.progress("training on " + learned.of[0].Path)
		name := learned.header.Speaker()
		m, err := prism.TrainOnRecord(learned.of[0].Path, e.paths(), train.Options{Name: name, Seed: o.seed, Progress: o.progress})
		if err != nil {
			return nil, err
		}
		trained := "trained=" + name
		d, err := prism.RiskVariant(m, trained)
		if err != nil {
			return nil, err
		}
		variants = append(slices.Clone(variants), d)
		r.Rows = append(r.Rows, prism.ModelRows(m, trained+",")...)
		r.Models["monitor, "+trained] = m.Hash()
		figures = append(figures, calibration(m, "a model trained on "+learned.header.Model))
	}
	real, more, err := against(ctx, set, po, variants, source+",", func(ctx context.Context, po prism.Options) (*results.Result, *prism.Report, error) {
		return prism.Replay(ctx, e.of, po)
	})
	if err != nil {
		return nil, err
	}
	r.Rows = append(r.Rows, real.Rows...)
	if r.Source == "" { // no simulation
		r.N, r.Source, r.Revision, r.Environment = real.N, real.Source, real.Revision, real.Environment
	} else {
		r.Source += "; " + real.Source
	}
	for _, n := range real.Notes {
		if !slices.Contains(r.Notes, n) {
			r.Notes = append(r.Notes, n)
		}
	}
	for _, f := range append(tables(r, source+","), more...) {
		f.Title += ", " + e.header.Model
		figures = append(figures, f)
	}
	return figures, nil
}
