package defence

import (
	"context"
	"slices"

	"github.com/margaydev/margay/declassify"
	"github.com/margaydev/margay/declassify/evidence"
	"github.com/margaydev/margay/declassify/rule"
	"github.com/margaydev/margay/declassify/schema"
	"github.com/margaydev/margay/ledger/charge"
)

// Ablation is a check of the verifier that is left out, to measure what it is
// good for.
type Ablation string

// Ablations, by the names of their slices.
const (
	NoCoverage  Ablation = "no-coverage"             // predicates match nothing in free text
	NoStructure Ablation = "no-structural-fields"    // typed arguments are text like any other
	NoDefault   Ablation = "no-conservative-default" // what nobody labels passes, and every label is believed
)

// bare takes releases through the verifier's phases without some of them. What
// comes out is charged to a chain in memory: there is no receipt for it, so
// that no mediator would send it.
type bare struct {
	phases  *declassify.Verification
	without []Ablation
}

func newBare(cfg declassify.Config, without []Ablation) (*bare, error) {
	v, err := declassify.NewVerification(cfg)
	return &bare{v, without}, err
}

// chain is the entries of a family that nobody else keeps.
type chain struct {
	state   *charge.State
	past    declassify.Past
	entries []*charge.Entry
}

// release is declassify.Verifier's, without what is left out. It returns what
// would be sent; nil for nothing.
func (b *bare) release(ctx context.Context, c *declassify.Candidate, rules declassify.Rules, at *chain) (declassify.Release, []declassify.Part, error) {
	c.Tool.Class = c.Tool.Class.Known()
	d, err := b.phases.Draft(c, rules, &at.past, at.state)
	if err != nil {
		return declassify.Release{}, nil, err
	}
	if !b.run(ctx, c, d) {
		return d.Result(), nil, ctx.Err()
	}
	e := d.Entry()
	if err := at.state.Apply(e); err != nil {
		return declassify.Release{}, nil, err
	}
	at.past.Shown.Take(e, rules)
	at.entries = append(at.entries, e)
	return d.Result(), d.Parts(), ctx.Err()
}

// run is declassify.Draft's, without what is left out.
func (b *bare) run(ctx context.Context, c *declassify.Candidate, d *declassify.Draft) bool {
	d.Read()
	b.forget(c, d)
	d.Ask(ctx)
	defer d.Remember()
	for {
		if err := d.Cut(); err != nil {
			return d.Refuse(err)
		}
		b.believe(d)
		d.Plan()
		if fits, again := b.settle(ctx, d); !again {
			return fits
		}
	}
}

// settle is declassify.Draft's, without what is left out.
func (b *bare) settle(ctx context.Context, d *declassify.Draft) (fits, again bool) {
	for {
		d.Apply()
		fails, err := d.Prove(ctx)
		switch {
		case err != nil:
			return d.Refuse(err), false
		case len(fails) > 0 && d.Suspect(fails):
			return false, true
		case len(fails) > 0:
			return d.Unprovable(fails), false
		}
		if err = d.Charge(); err == nil {
			err = d.Audit()
		}
		switch {
		case err == nil:
			d.Report()
			return true, false
		case rule.Short(err) == "":
			return d.Refuse(err), false
		case !d.Lower():
			return d.Unaffordable(err), false
		}
	}
}

// forget takes away what is known of parts before any evidence.
func (b *bare) forget(c *declassify.Candidate, d *declassify.Draft) {
	for i := range d.Readings() {
		r := &d.Readings()[i]
		if r.Typed() && slices.Contains(b.without, NoStructure) {
			d.ReadAs(i, schema.Arg{Path: r.Arg.Path})
		}
		if r.Typed() || c.Parts[i].Text == "" {
			continue
		}
		if slices.Contains(b.without, NoCoverage) {
			r.Matches = nil
		}
		if slices.Contains(b.without, NoDefault) {
			r.Passes = true
		}
	}
}

// believe takes every label at its word.
func (b *bare) believe(d *declassify.Draft) {
	if !slices.Contains(b.without, NoDefault) {
		return
	}
	for i := range d.Pieces() {
		p := &d.Pieces()[i]
		if p.Field == declassify.Unknown && p.Claim != "" && p.Claim != evidence.None {
			p.Field = p.Claim
		}
	}
}
