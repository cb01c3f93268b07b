package engine

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strconv"

	"github.com/margaydev/margay/lab/engine/corpus"
	"github.com/margaydev/margay/lab/results"
)

// Options of a run.
type Options struct {
	Corpora  []string // names of kinds of text; empty for all
	Writes   []int    // sizes of writes, 0 for whole texts; empty for all
	Secrets  []int    // numbers of registered secrets; empty for all
	MB       float64  // of each text; 0 for 1
	Reps     int      // measurements of each figure; 0 for 5
	Rules    int      // whose prefixes are hostile texts, drawn in order; 0 for all
	Seed     uint64
	Peers    string // where scripts/peers installed; what is not there is skipped
	Margay   string // the program whose scan is measured; empty for none
	Progress func(string)
}

// Corpora are the names of what is measured: kinds of text, hostile texts, and a
// tree of files.
func Corpora() []string {
	var names []string
	for _, c := range corpus.All() {
		names = append(names, c.Name)
	}
	return append(names, hostile, tree)
}

// Defaults of Options.
var (
	Writes  = []int{4, 64, 4096, whole}
	Secrets = []int{0, 10, 1000, 100_000, 1_000_000}
)

const (
	hostile = "adversarial"
	ours    = "margay"
	few     = 10 // registered secrets, for whom has some
)

// suite is a run.
type suite struct {
	Options
	r     *results.Result
	vault map[int]*registered
}

// Run measures.
func Run(ctx context.Context, o Options) (*results.Result, error) {
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
	if len(o.Corpora) == 0 {
		o.Corpora = Corpora()
	}
	if o.MB <= 0 {
		o.MB = 1
	}
	if o.Reps < 1 {
		o.Reps = 5
	}
	if len(o.Writes) == 0 {
		o.Writes = Writes
	}
	if len(o.Secrets) == 0 {
		o.Secrets = Secrets
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	s := &suite{Options: o, vault: map[int]*registered{}, r: &results.Result{
		Suite: "engine", Seed: o.Seed, N: int(o.MB * (1 << 20)), Environment: results.Here(),
		Source: "texts of n bytes: source, prose and some JavaScript of the installed Go distribution, the rest generated",
		Notes: []string{
			fmt.Sprintf("processor time of one process with GOMAXPROCS=1; the least of %d measurements in turn, spread is the greatest by the least", o.Reps),
			"margay has the gateway's default configuration: all rules, findings with fingerprints; streamed texts hold URLs, whole ones are prompts",
			"gitleaks: its library and default rules, whole texts, no registered secrets",
			fmt.Sprintf("%s: the engine before this one (lab/reference), with %d secrets, on pieces of %d bytes from all over each text, %d bytes at most; times_as_long is its time by margay's on the same bytes, in the same run", former, few, sampled, sample),
		},
	}}
	for _, n := range append([]int{0}, o.Secrets...) {
		s.vault[n] = &registered{n: n, seed: o.Seed}
	}
	if err := s.texts(ctx); err != nil {
		return nil, err
	}
	if err := s.attacks(ctx); err != nil {
		return nil, err
	}
	if err := s.scans(ctx); err != nil {
		return nil, err
	}
	judge(s.r)
	o.Progress("")
	return s.r, nil
}

// slice names a cell.
func slice(corpus string, write, secrets int) string {
	return "corpus=" + corpus + ",write=" + writeName(write) + ",secrets=" + strconv.Itoa(secrets)
}

func writeName(n int) string {
	if n == whole {
		return "whole"
	}
	return strconv.Itoa(n)
}

// texts measures ordinary texts.
func (s *suite) texts(ctx context.Context) error {
	var texts []corpus.Corpus
	for _, c := range corpus.All() {
		if slices.Contains(s.Corpora, c.Name) {
			texts = append(texts, c)
		}
	}
	if len(texts) == 0 {
		return nil
	}
	made := map[string][]byte{}
	for _, c := range texts {
		s.Progress(c.Name)
		text, err := c.Text(s.r.N, s.Seed)
		if err != nil {
			s.r.Notes = append(s.r.Notes, "skipped: "+err.Error())
			continue
		}
		made[c.Name] = text
	}
	cells, err := s.cells(made)
	if err != nil {
		return err
	}
	var also func() error
	p, err := startPeer(ctx, s.Peers, made, s.Writes)
	switch {
	case errors.Is(err, errUnavailable):
		s.r.Notes = append(s.r.Notes, theirs+" skipped: "+err.Error())
	case err != nil:
		return err
	default:
		defer p.Close()
		also = p.round
	}
	judged, err := s.judging(made)
	if err != nil {
		return err
	}
	if err := measureAll(ctx, slices.Concat(cells, judged), s.Reps, s.Progress, also); err != nil {
		return err
	}
	for _, c := range slices.Concat(cells, judged) {
		s.r.Add(c.defence, c.slice, c.metrics())
	}
	if p != nil {
		p.report(s)
	}
	for _, n := range s.Secrets {
		if v := s.vault[n]; v.index != nil {
			s.r.Add(ours, "secrets="+strconv.Itoa(n), map[string]float64{"index_mib": v.mib})
		}
	}
	s.beside()
	return nil
}

// cells are all engines on all texts.
func (s *suite) cells(texts map[string][]byte) ([]*cell, error) {
	var cells []*cell
	for _, e := range engines() {
		for _, n := range e.secrets(s.Secrets) {
			s.Progress(fmt.Sprintf("%s, %d secrets", e.name(), n))
			scan, err := e.open(s.vault[n])
			if errors.Is(err, errUnavailable) {
				s.r.Notes = append(s.r.Notes, e.name()+" skipped: "+err.Error())
				continue
			}
			if err != nil {
				return nil, fmt.Errorf("%s: %w", e.name(), err)
			}
			for _, c := range corpus.All() {
				for _, w := range s.Writes {
					if text := texts[c.Name]; text != nil && e.takes(w) {
						c, err := s.cell(e, text, slice(c.Name, w, n), w, scan)
						if err != nil {
							return nil, err
						}
						cells = append(cells, c)
					}
				}
			}
		}
	}
	return cells, nil
}

// beside compares our rows with prose, with ten secrets and with gitleaks.
func (s *suite) beside() {
	for _, c := range corpus.All() {
		for _, w := range s.Writes {
			for _, n := range s.Secrets {
				row := s.r.Row(ours, slice(c.Name, w, n))
				if row == nil {
					continue
				}
				s.ratio(row, "ratio_to_prose", s.r.Row(ours, slice("prose", w, n)))
				s.ratio(row, "ratio_to_ten", s.r.Row(ours, slice(c.Name, w, few)))
				if leaks := s.r.Row("gitleaks", slice(c.Name, w, 0)); leaks != nil && n == few {
					row.Metrics["times_gitleaks"] = leaks.Metrics["ns_per_byte"] / row.Metrics["ns_per_byte"]
				}
				if old := s.r.Row(former, slice(c.Name, w, n)); old != nil {
					row.Metrics["times_reference"] = old.Metrics["times_as_long"]
				}
			}
		}
	}
}

func (s *suite) ratio(row *results.Row, name string, to *results.Row) {
	if to != nil && to != row && to.Metrics["ns_per_byte"] > 0 {
		row.Metrics[name] = row.Metrics["ns_per_byte"] / to.Metrics["ns_per_byte"]
	}
}
