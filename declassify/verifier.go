package declassify

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/margaydev/margay/declassify/bound"
	"github.com/margaydev/margay/declassify/choice"
	"github.com/margaydev/margay/declassify/clause"
	"github.com/margaydev/margay/declassify/known"
	"github.com/margaydev/margay/declassify/rule"
	"github.com/margaydev/margay/declassify/shown"
	"github.com/margaydev/margay/declassify/smt"
	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/ledger/charge"
	"github.com/margaydev/margay/rubric"
)

// Config is what a Verifier needs.
type Config struct {
	// Resolve finds the rules of a release from trusted metadata. An error
	// refuses the release.
	Resolve func(rubric.Query) (Rules, error)
	Ledger  Ledger
	// History reads committed entries, and so what was shown before this
	// process started. Without it, the costs of all further views of a value
	// add up.
	History shown.History
	// Keeper keeps the values that families saw. Without it they are remembered as
	// long as the Verifier.
	Keeper known.Keeper
	// Profile are values that every family counts as seen.
	Profile []known.Value
	// Defender labels candidates. Without one nothing is labelled.
	Defender Defender
	// Screener judges text that rubrics let pass by a model's judgement; nil: none
	// does.
	Screener Screener
	// Models are the names and versions of the defender's models, for the
	// ledger.
	Models []charge.Model
	// Validator decides clauses; smt.Native if it is nil.
	Validator smt.Validator
	// Key is for fingerprints of values and of released texts and for drawing
	// challenges, and for nothing else.
	Key [32]byte
	// Start returns the limits of a family that has released nothing yet: those
	// of its task's signed rubric, which the family's first entry then names. If
	// it is nil, the rubrics of the first release set them.
	Start func(*Candidate, Rules) (rubric.Limits, rubric.Hash, error)
	// Challenges is the number of challenges in the second pass. If there are
	// any, the defender must be Challenged.
	Challenges int
	// Deadline bounds each call of the defender; two seconds if it is 0.
	Deadline time.Duration
	// Ask turns the denial of a release into a question if it would fit without
	// fields that the sink needs.
	Ask bool
	// MaxFamilies bounds the families in memory; 4,096 if it is 0.
	MaxFamilies int
}

// Verification has what the phases of a release need. It decides, and charges
// nothing. It is safe for concurrent use.
type Verification struct {
	cfg     Config
	prover  clause.Prover
	auditor bound.Auditor
}

// NewVerification returns the phases alone. Config.Ledger may be nil.
func NewVerification(cfg Config) (*Verification, error) {
	if cfg.Resolve == nil {
		return nil, errors.New("declassify: a verifier needs rules")
	}
	if cfg.Key == [32]byte{} {
		return nil, errors.New("declassify: a verifier needs a key")
	}
	if _, second := cfg.Defender.(Challenged); cfg.Defender != nil && cfg.Challenges > 0 && !second {
		return nil, errors.New("declassify: challenges are configured, but the defender does not answer them")
	}
	if cfg.Validator == nil {
		cfg.Validator = &smt.Native{}
	}
	if cfg.Deadline <= 0 {
		cfg.Deadline = 2 * time.Second
	}
	if cfg.MaxFamilies <= 0 {
		cfg.MaxFamilies = 4096
	}
	return &Verification{cfg: cfg, prover: clause.Prover{By: cfg.Validator}}, nil
}

// Verifier decides about releases, and charges them. It is safe for concurrent
// use; releases of one family wait for each other.
type Verifier struct {
	*Verification

	mu       sync.Mutex
	families map[flow.TrajectoryID]*family
	warm     known.Recent[*family]
}

// family is what one family showed and saw. Its mutex is held for the
// whole of a release.
type family struct {
	mu   sync.Mutex
	past Past
}

// New returns a Verifier.
func New(cfg Config) (*Verifier, error) {
	if cfg.Ledger == nil {
		return nil, errors.New("declassify: a verifier needs a ledger")
	}
	v, err := NewVerification(cfg)
	if err != nil {
		return nil, err
	}
	return &Verifier{Verification: v, families: map[flow.TrajectoryID]*family{}}, nil
}

// maxTries bounds how often a release starts again because others committed.
const maxTries = 32

// Release takes a candidate through the phases. A denial is a value with
// reasons, none of which holds a text of the candidate. An error says that ctx
// ended first; nothing may be sent then, though it may have been charged.
func (v *Verifier) Release(ctx context.Context, c Candidate) (Release, error) {
	return v.decide(ctx, &c, func(d *Draft) (Release, bool) { return d.commit(ctx, v.cfg.Ledger) })
}

// Try returns what Release would decide and send. It charges nothing, so there is
// no receipt and nothing may be sent.
func (v *Verifier) Try(ctx context.Context, c Candidate) (Release, []Part, error) {
	var parts []Part
	r, err := v.decide(ctx, &c, func(d *Draft) (Release, bool) {
		parts = d.Parts()
		return d.Result(), false
	})
	return r, parts, err
}

// decide takes a candidate through the phases, and calls end if it fits. It starts
// again if end says that another release came first.
func (v *Verifier) decide(ctx context.Context, c *Candidate, end func(*Draft) (r Release, again bool)) (Release, error) {
	if err := c.check(); err != nil {
		return deny(rule.Of(err, rule.Candidate), "%v", err), nil
	}
	c.Tool.Class = c.Tool.Class.Known()
	rules, err := v.cfg.Resolve(c.query())
	if err != nil {
		return deny(rule.Rubric, "%v", err), ctx.Err()
	}
	f := v.family(c.family())
	f.mu.Lock()
	defer f.mu.Unlock()
	for range maxTries {
		if err := ctx.Err(); err != nil {
			return deny(rule.LedgerFailed, "cancelled"), err
		}
		s, err := v.catchUp(ctx, c.family(), &f.past)
		if err != nil {
			return deny(rule.LedgerFailed, "%v", err), ctx.Err()
		}
		d, err := v.Draft(c, rules, &f.past, s)
		if err != nil {
			return deny(rule.Rubric, "%v", err), ctx.Err()
		}
		fits := d.Run(ctx)
		if err := f.past.Seen.Keep(ctx, v.cfg.Keeper, c.family()); err != nil {
			return deny(rule.LedgerFailed, "%v", err), ctx.Err()
		}
		if !fits {
			return d.Result(), ctx.Err()
		}
		if r, again := end(d); !again {
			return r, ctx.Err()
		}
	}
	return deny(rule.Busy, "other releases of this trajectory kept coming first; try again"), nil
}

func (v *Verifier) family(id flow.TrajectoryID) *family {
	v.mu.Lock()
	defer v.mu.Unlock()
	f := v.families[id]
	if f != nil {
		v.warm.Use(f, cool)
		return f
	}
	for other := range v.families { // in any order; they are read again if needed
		if len(v.families) < v.cfg.MaxFamilies {
			break
		}
		delete(v.families, other)
	}
	f = &family{}
	f.past.Seen.Expect(v.cfg.Profile)
	v.families[id] = f
	v.warm.Use(f, cool)
	return f
}

// Prove returns the clauses of the rubrics that do not hold.
func (d *Draft) Prove(ctx context.Context) ([]clause.Failure, error) {
	atoms, needs := make([]clause.Atom, len(d.pieces)), choice.Needs(d.rules.Utility(d.class), d.c.Waived)
	for i := range d.pieces {
		a := &d.pieces[i]
		op := a.ops[a.op]
		least := min(d.rules.Cost(a.Field, op), charge.MaxAmount)
		atoms[i] = clause.Atom{Field: a.Field, Necessity: a.nec, Op: op.Kind, Cost: a.kappa, Least: least, Label: a.label, Lost: a.lost}
		if a.label >= 0 {
			atoms[i].Claimed = d.labels[a.label].Necessity
		}
		if level, ok := needs[a.need()]; ok && a.typed && !choice.Enough(op, level, d.c.Tool.Channel) {
			atoms[i].Lost = true
		}
	}
	fails, err := d.v.prover.Prove(ctx, d.fields, atoms, d.answers)
	d.clock.to(&d.r.Phases.Validate)
	if err != nil {
		return nil, rule.ValidatorError.Errorf("%w", err)
	}
	return fails, nil
}

// cool frees a family's search, unless it is in use.
func cool(f *family) bool {
	ok := f.mu.TryLock()
	if ok {
		f.past.Seen.Cool()
		f.mu.Unlock()
	}
	return ok
}
