// Package source reads, from state and configuration, what the console shows:
// budgets and entries of the ledger, rubrics and trials of releases, packs.
package source

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/app/config"
	"github.com/margaydev/margay/internal/app/console"
	"github.com/margaydev/margay/internal/app/state"
	"github.com/margaydev/margay/internal/problem"
	"github.com/margaydev/margay/ledger"
	"github.com/margaydev/margay/ledger/charge"
)

// Books reads budgets and entries of the ledger for the console.
type Books struct {
	book  *ledger.Book
	store ledger.Store
}

// OpenBooks opens an installation's ledger to read; nil if there is none.
func OpenBooks(c *config.Config, st *state.State) (*Books, error) {
	public, err := state.LedgerPublic(c)
	if err != nil || public == nil {
		return nil, err
	}
	b, err := ledger.NewBook(ledger.Config{Store: st.Store, Public: public})
	if err != nil {
		return nil, problem.Failure(problem.Doctor, "the ledger: %w", err)
	}
	return &Books{b, st.Store}, nil
}

// maxFamilies bounds the families, the latest, that are searched for the budgets
// nearest to their caps.
const maxFamilies = 64

// Budgets implements console.Books.
func (b *Books) Budgets(ctx context.Context, of flow.TrajectoryID, limit int) ([]console.Meter, error) {
	if of != "" {
		return b.meters(ctx, of, limit)
	}
	var families []flow.TrajectoryID
	for h, err := range b.store.Heads(ctx) {
		if err != nil {
			return nil, err
		}
		families = append(families, h.Family)
	}
	slices.Sort(families)
	families = families[max(0, len(families)-maxFamilies):]
	var out []console.Meter
	for _, f := range families {
		s, err := b.book.Head(ctx, f)
		if err != nil {
			return nil, err
		}
		out = append(out, metersOf(s)...)
	}
	slices.SortFunc(out, func(a, b console.Meter) int { return cmp.Compare(b.Share(), a.Share()) })
	return out[:min(len(out), limit)], nil
}

// metersOf are the budgets of a family: of all sinks together, and by class.
func metersOf(s *charge.State) []console.Meter {
	out := []console.Meter{{Trajectory: s.Family, Sink: "all, weighted", Bits: bits(s.Total), Cap: bits(s.Limits.B)}}
	for class := flow.RequiredService; class <= flow.Adversarial; class++ {
		if learnt := s.Caps[class]; learnt > 0 {
			out = append(out, console.Meter{Trajectory: s.Family, Sink: class.String() + " or worse", Bits: bits(learnt), Cap: bits(s.Limits.Cap[class])})
		}
	}
	return out
}

func bits(b flow.Bits) float64 { return float64(b) / float64(flow.Bit) }

// meters are those of one family, and what each field disclosed to each sink.
func (b *Books) meters(ctx context.Context, of flow.TrajectoryID, limit int) ([]console.Meter, error) {
	var fields []console.Meter
	s, err := b.book.Replay(ctx, of, func(_ *charge.State, e *charge.Entry) error {
		for i := range e.Atoms {
			a := &e.Atoms[i]
			at := slices.IndexFunc(fields, func(m console.Meter) bool { return m.Sink == e.Sink && m.Field == a.Field })
			if at < 0 && len(fields) < limit {
				at = len(fields)
				fields = append(fields, console.Meter{Trajectory: of, Sink: e.Sink, Field: a.Field, Cap: bits(e.Limits.Cap[e.Class])})
			}
			if at >= 0 {
				fields[at].Bits += bits(a.Cost)
			}
		}
		return nil
	})
	if err != nil || s.Seq == 0 {
		return nil, err
	}
	return append(metersOf(s), fields...), nil
}

// Entries implements console.Books: one for each part of a release, the
// latest first. Replay checks them by every rule, and the signature over the
// chain, so that all that it yields are verified.
func (b *Books) Entries(ctx context.Context, of flow.TrajectoryID, limit int) ([]console.Entry, error) {
	var out []console.Entry
	_, err := b.book.Replay(ctx, of, func(_ *charge.State, e *charge.Entry) error {
		for i := range e.Atoms {
			a := &e.Atoms[i]
			out = append(out, console.Entry{
				ID: fmt.Sprintf("%s/%d", e.Family, e.Seq), At: e.At, Sink: e.Sink, Field: a.Field, Variant: a.Op.String(), Bits: bits(a.Cost), Verified: true,
			})
		}
		if n := len(out); n > 2*limit {
			out = append(out[:0], out[n-limit:]...)
		}
		return ctx.Err()
	})
	if err != nil && len(out) > 0 && ctx.Err() == nil {
		for i := range out { // nothing in a broken chain is verified
			out[i].Verified = false
		}
		err = nil
	}
	out = out[max(0, len(out)-limit):]
	slices.Reverse(out)
	return out, err
}
