package engine

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/margaydev/margay/lab/engine/corpus"
)

const (
	// smaller is by how much the first size of a hostile text is less than
	// the second: 64 KiB and 1 MiB.
	smaller = 16
	// hopeless is the time a byte, in ns, above which the second size is left out.
	hopeless = 50_000
	// shown are the rules that are listed, those whose prefixes take longest.
	shown = 10
)

// attack is a hostile text in two sizes, of which the second may be missing.
type attack struct {
	corpus.Hostile
	small, large *cell
	split        *cell // the small one, streamed
}

// attacks measures hostile texts: whole in two sizes, and the small one in
// writes of four bytes.
func (s *suite) attacks(ctx context.Context) error {
	if !slices.Contains(s.Corpora, hostile) {
		return nil
	}
	s.Progress("hostile texts")
	scan, err := margay{}.open(&registered{n: few, seed: s.Seed})
	if err != nil {
		return err
	}
	all, rules, err := hostiles()
	if err != nil {
		return err
	}
	if s.Rules > 0 && s.Rules < len(rules) {
		rules = rules[:s.Rules]
	}
	worst, err := s.screen(ctx, scan, rules)
	if err != nil {
		return err
	}
	var list []*attack
	var cells []*cell
	for _, h := range append(all, worst...) {
		a := &attack{Hostile: h}
		if a.small, err = s.hostile(h, scan, s.r.N/smaller, whole); err != nil {
			return err
		}
		c := *a.small
		c.write = Writes[0]
		a.split = &c
		list, cells = append(list, a), append(cells, a.small, a.split)
	}
	if err := measureAll(ctx, cells, s.Reps, s.Progress, nil); err != nil {
		return err
	}
	cells = nil
	for _, a := range list {
		if a.small.nsPerByte() > hopeless {
			s.r.Notes = append(s.r.Notes, fmt.Sprintf("%s: not measured at full size, it takes %.0f ns a byte at a sixteenth", a.Name, a.small.nsPerByte()))
			continue
		}
		if a.large, err = s.hostile(a.Hostile, scan, s.r.N, whole); err != nil {
			return err
		}
		cells = append(cells, a.large)
	}
	if err := measureAll(ctx, cells, s.Reps, s.Progress, nil); err != nil {
		return err
	}
	s.reportAttacks(list)
	return nil
}

// hostiles are the hostile texts, and those that rules' expressions make.
func hostiles() (all, rules []corpus.Hostile, err error) {
	found, err := expressions()
	if err != nil {
		return nil, nil, err
	}
	var list []corpus.Expression
	for _, r := range found {
		list = append(list, corpus.Expression{Name: r.ID, Regex: r.Regex})
		h, err := corpus.Prefix(list[len(list)-1])
		if err != nil {
			return nil, nil, err
		}
		rules = append(rules, h)
	}
	inTurn, err := corpus.Prefixes(list)
	return append(corpus.Attacks(), inTurn), rules, err
}

// screen reads the prefixes of each rule and returns the worst.
func (s *suite) screen(ctx context.Context, scan scan, rules []corpus.Hostile) ([]corpus.Hostile, error) {
	type timed struct {
		corpus.Hostile
		took float64
	}
	var all []timed
	for _, h := range rules {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		s.Progress(h.Name)
		c, err := s.hostile(h, scan, s.r.N/smaller, whole)
		if err != nil {
			return nil, err
		}
		c.warm()
		c.measure()
		all = append(all, timed{h, c.nsPerByte()})
	}
	slices.SortStableFunc(all, func(a, b timed) int { return cmp.Compare(b.took, a.took) })
	s.r.Add(ours, "corpus="+hostile+",of=rules", map[string]float64{"rules": float64(len(all)), "ns_per_byte_p50": all[len(all)/2].took, "ns_per_byte_max": all[0].took})
	var worst []corpus.Hostile
	for _, t := range all[:min(shown, len(all))] {
		worst = append(worst, t.Hostile)
	}
	return worst, nil
}

func (s *suite) hostile(h corpus.Hostile, scan scan, n, write int) (*cell, error) {
	text, err := h.Text(n, s.Seed)
	return &cell{defence: ours, slice: h.Name, text: text, write: write, scan: scan}, err
}

func (s *suite) reportAttacks(list []*attack) {
	most, growth, split := list[0], list[0], list[0]
	for _, a := range list {
		m := a.last().metrics()
		m["ns_per_byte_small"], m["ns_per_byte_split"] = a.small.nsPerByte(), a.split.nsPerByte()
		if a.large != nil {
			m["growth"] = a.growth()
		}
		s.r.Add(ours, "corpus="+hostile+",input="+a.Name+",write=whole", m)
		if a.last().nsPerByte() > most.last().nsPerByte() {
			most = a
		}
		if a.growth() > growth.growth() {
			growth = a
		}
		if a.split.nsPerByte() > split.split.nsPerByte() {
			split = a
		}
	}
	s.r.Add(ours, slice(hostile, whole, few), map[string]float64{"ns_per_byte": most.last().nsPerByte(), "growth": growth.growth()})
	s.r.Add(ours, slice(hostile, Writes[0], few), map[string]float64{"ns_per_byte": split.split.nsPerByte(), "ns_per_write": split.split.nsPerByte() * float64(Writes[0])})
	s.r.Notes = append(s.r.Notes,
		fmt.Sprintf("hostile texts: _small is of a sixteenth of the text, _split of that in writes of %d; growth is the time a byte of the text by that of the sixteenth, 1 if time is linear", Writes[0]),
		fmt.Sprintf("worst hostile text: %s (%s); in writes of %d: %s; grows most: %s", most.Name, most.Unit, Writes[0], split.Name, growth.Name))
}

func (a *attack) last() *cell {
	if a.large != nil {
		return a.large
	}
	return a.small
}

func (a *attack) growth() float64 {
	if a.large == nil {
		return 0
	}
	return a.large.nsPerByte() / a.small.nsPerByte()
}
