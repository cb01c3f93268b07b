package declassify

import (
	"context"

	"github.com/margaydev/margay/declassify/known"
	"github.com/margaydev/margay/declassify/shown"
	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/ledger/charge"
	"github.com/margaydev/margay/rubric"
)

// Past is what a family has shown and seen. The zero Past is that of a family that
// has done neither. It is not safe for concurrent use.
type Past struct {
	Shown shown.Family
	Seen  known.Family
}

func (v *Verifier) catchUp(ctx context.Context, id flow.TrajectoryID, p *Past) (*charge.State, error) {
	s, err := v.cfg.Ledger.Head(ctx, id)
	if err == nil {
		err = p.Shown.CatchUp(ctx, v.cfg.History, s)
	}
	if err == nil {
		err = p.Seen.CatchUp(ctx, v.cfg.Keeper, id, s.Seq == 0)
	}
	return s, err
}

// Learn notes values that a family has seen elsewhere than in a release, such as in
// results of tools whose schema says what they are. Later releases of them are charged
// as what they are.
func (v *Verifier) Learn(ctx context.Context, id flow.TrajectoryID, values []known.Value) error {
	f := v.family(id)
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, err := v.catchUp(ctx, id, &f.past); err != nil {
		return err
	}
	for _, one := range values {
		f.past.Seen.See(one)
	}
	return f.past.Seen.Keep(ctx, v.cfg.Keeper, id)
}

// informed are the rules of a release to which values that were seen match, too.
type informed struct {
	Rules
	known *known.Finder
}

// Match implements Finder.
func (r informed) Match(path, text string) []rubric.Match {
	return append(r.Rules.Match(path, text), r.known.Matches(text)...)
}

// Only implements Finder.
func (r informed) Only(m rubric.Match) bool {
	return m.Clause == known.Clause && m.Field != rubric.AnyField || r.Rules.Only(m)
}

// sight notes the values of typed arguments, before any text is searched: one call may
// have a value twice.
func (d *Draft) sight() {
	for i := range d.c.Parts {
		p := &d.c.Parts[i]
		r := Reading{Arg: d.c.Tool.Arg(p.Path)}
		if !r.Typed() {
			continue
		}
		if d.c.Names != nil {
			r.Names = d.c.Names.Find(p.Text)
		}
		if n := r.whole(p.Text); n == nil || n.Value != "" && n.Field == r.Arg.Field {
			d.seen.See(known.Value{Field: r.Arg.Field, Text: r.value(p.Text)})
		}
	}
}

// Remember notes the values that clauses are sure of, for later releases.
func (d *Draft) Remember() {
	for i := range d.pieces {
		if a := &d.pieces[i]; a.sure && !a.named && a.canon == "" {
			d.seen.See(known.Value{Field: a.Field, Text: a.text})
		}
	}
}
