package declassify

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/ledger"
)

// decision is one release on one head.
type decision struct {
	v         *Verifier
	k         *cutter
	f         *family
	s         *ledger.State
	limits    ledger.Limits
	labels    []Label
	proposals []Proposal
	answers   []answer
	hashes    []ledger.Hash
	task      ledger.Hash // the rubric that the limits of a new family are of; zero for those of the release
	distrust  map[int]Rule
	r         *Release
	clock     *lap
}

// run cuts, validates, costs, audits and commits, and lowers what is disclosed
// until it fits.
func (d *decision) run(ctx context.Context) (Release, bool) {
	for round := 0; ; round++ {
		if err := d.k.cut(d.labels, d.distrust); err != nil {
			return d.refuse(err)
		}
		d.k.plan()
		d.k.propose(d.proposals)
		for i := range d.k.atoms {
			a := &d.k.atoms[i]
			a.value = d.v.prints.value(d.k.rules, a)
		}
		r, again, redo := d.settle(ctx)
		if !redo {
			return r, again
		}
		if round > len(d.labels) {
			return deny(ValidatorError, "labels kept being refused"), false
		}
	}
}

// settle takes one cut through the phases, lowering operators. redo says that
// labels were refused, so that the candidate must be cut anew.
func (d *decision) settle(ctx context.Context) (r Release, again, redo bool) {
	p := &d.r.Phases
	for {
		p.Rounds++
		parts := d.k.variant()
		for i := range d.k.atoms {
			d.k.atoms[i].kappa = d.k.atoms[i].cost(d.k.rules)
		}
		d.clock.to(&p.Bind)
		fails, err := d.v.prover.prove(ctx, d.k, d.labels, d.answers)
		d.clock.to(&p.Validate)
		if err != nil {
			r, _ = d.refuse(err)
			return r, false, false
		}
		if len(fails) > 0 {
			if d.suspect(fails) {
				return r, false, true
			}
			return d.unprovable(fails), false, false
		}
		e := d.entry(parts)
		err = d.s.Next(e)
		if err == nil {
			err = tightens(d.k.rules.Limits(), e, d.s)
		}
		d.clock.to(&p.Cost)
		if err == nil && !d.v.without(Audit) {
			err = d.audit(e)
			d.clock.to(&p.Audit)
		}
		if err == nil {
			r, again = d.commit(ctx, e, parts)
			return r, again, false
		}
		if rule := fits(err); rule == "" {
			r, _ = d.refuse(err)
			return r, false, false
		}
		if !d.lower(e) {
			return d.unaffordable(err), false, false
		}
	}
}

// fits returns the rule by which a release does not fit as it is, and another
// might; "" for any other error.
func fits(err error) Rule {
	switch {
	case errors.Is(err, Audit):
		return Audit
	case errors.Is(err, ledger.Budget), errors.Is(err, ledger.Cap):
		return Budget
	default:
		return ""
	}
}

// suspect takes the word away from labels that a clause contradicts. It
// reports whether there were any.
func (d *decision) suspect(fails []failed) bool {
	any := false
	for _, x := range fails {
		if x.Rule != NecessityRule && x.Rule != ChallengeConflict && x.Rule != OperatorRule || x.Atom < 0 {
			continue
		}
		a := &d.k.atoms[x.Atom]
		if a.label < 0 || d.distrust[a.label] != "" {
			continue
		}
		if d.distrust == nil {
			d.distrust = map[int]Rule{}
		}
		d.distrust[a.label] = x.Rule
		any = true
	}
	return any
}

// entry is the release as the ledger would have it.
func (d *decision) entry(parts []Part) *ledger.Entry {
	c := d.k.c
	e := &ledger.Entry{
		Trajectory: c.Trajectory, Channel: c.Tool.Channel, Sink: c.Tool.Sink, Class: d.k.class,
		Rubrics: d.rubrics(), Variant: d.v.prints.variant(parts), Limits: d.limits, Models: d.v.cfg.Models,
		Decision: c.Decision, Outcome: flow.Allow, Answer: c.Answer, At: d.clock.at,
	}
	if !slices.Equal(texts(parts), texts(c.Parts)) {
		e.Outcome = flow.Rewrite
	}
	e.Atoms = d.f.charges(d.k.atoms, d.k.rules, d.k.class, d.hashes, d.s, make([]ledger.Atom, 0, len(d.k.atoms)))
	return e
}

// rubrics are those that the entry names: of the release, and in a family's
// first of the task, so that whoever reads it knows whose limits it has.
func (d *decision) rubrics() []ledger.Hash {
	at, named := slices.BinarySearchFunc(d.hashes, d.task, func(a, b ledger.Hash) int { return bytes.Compare(a[:], b[:]) })
	if named || d.task.IsZero() {
		return d.hashes
	}
	return slices.Insert(slices.Clone(d.hashes), at, d.task)
}

func texts(parts []Part) []string {
	out := make([]string, len(parts))
	for i := range parts {
		out[i] = parts[i].Text
	}
	return out
}

func (d *decision) audit(e *ledger.Entry) error {
	t, err := d.v.auditor.tree(together(d.hashes), d.k.rules)
	if err != nil || t == nil {
		return err
	}
	return t.check(d.f, e.Atoms, d.s, d.k.class, d.k.rules.Limits().Margin)
}

// lower makes the atom that costs most disclose one step less. It looks at
// what values are charged, never at values.
func (d *decision) lower(e *ledger.Entry) bool {
	if d.r.Phases.Rounds > maxRounds {
		some := false
		for i := range d.k.atoms {
			a := &d.k.atoms[i]
			if to := max(a.floor, min(a.op, 1)); to < a.op {
				a.op, some = to, true
			}
		}
		if some {
			return true
		}
	}
	best := -1
	var growth, kappa flow.Bits
	for i := range d.k.atoms {
		a := &d.k.atoms[i]
		if a.op <= a.floor || a.kappa == 0 {
			continue
		}
		g := e.Atoms[i].After[d.k.class] - d.s.After(a.value)[d.k.class]
		if best < 0 || g > growth || g == growth && a.kappa > kappa {
			best, growth, kappa = i, g, a.kappa
		}
	}
	return best >= 0 && d.k.atoms[best].lower()
}

// commit appends the entry; only then may the parts be sent.
func (d *decision) commit(ctx context.Context, e *ledger.Entry, parts []Part) (Release, bool) {
	err := d.v.cfg.Ledger.Commit(ctx, e)
	d.clock.to(&d.r.Phases.Commit)
	if errors.Is(err, ledger.ErrConflict) {
		return Release{}, true
	}
	if err != nil {
		return d.refuse(LedgerFailed.broken("%w", err))
	}
	d.f.take(e, d.k.rules)
	r := d.r
	r.Outcome, r.Parts, r.Entry = e.Outcome, parts, e
	r.Atoms = make([]Atom, len(d.k.atoms))
	for i := range d.k.atoms {
		a := &d.k.atoms[i]
		op := a.ops[a.op]
		r.Atoms[i] = Atom{Part: a.part, Start: a.start, End: a.end, Field: a.field, Op: op, Necessity: a.nec, Cost: a.kappa}
		if op == pseudonym && a.token == "" {
			r.Named = append(r.Named, Named{a.field, a.text, d.k.c.Names.Name(a.field, a.text)})
		}
		if a.field == Unknown || a.why == OutOfRange {
			r.because(a.why, "%s: bytes %d to %d may be of any secret field, and were %sed", d.place(a), a.start, a.end, strings.TrimSuffix(op.Kind.String(), "e"))
		}
	}
	return *r, false
}

// place is where an atom is, as the tool's schema has it: paths may hold names
// that a model chose.
func (d *decision) place(a *atom) string {
	if arg := d.k.c.Tool.Arg(a.path); arg.Path != a.path || slices.ContainsFunc(d.k.c.Tool.Args, func(x Arg) bool { return x.Path == arg.Path }) {
		return "argument " + arg.Path
	}
	return "a text"
}

// refuse is a denial that no lowering would change.
func (d *decision) refuse(err error) (Release, bool) {
	r := d.r
	r.Outcome = flow.Deny
	r.because(ruleOf(err, LedgerFailed), "%v", err)
	return *r, false
}

// unprovable is a denial by clauses that do not hold.
func (d *decision) unprovable(fails []failed) Release {
	r := d.r
	r.Outcome = flow.Deny
	only := true
	for _, x := range fails {
		if x.Atom < 0 {
			r.because(x.Rule, "the clause %s does not hold", x.Rule)
			only = false
			continue
		}
		a := &d.k.atoms[x.Atom]
		if x.Rule == Utility {
			r.Missing = append(r.Missing, a.need())
			r.because(x.Rule, "%s: %s must reach %s, and may not (%s)", d.place(a), a.need(), d.k.c.Tool.Sink, d.hindrance(a))
			continue
		}
		only = false
		r.because(x.Rule, "%s: %s(%s) is refused", d.place(a), a.ops[a.op], a.field)
	}
	d.ask(only)
	return *r
}

// hindrance says why an atom can't be shown.
func (d *decision) hindrance(a *atom) string {
	if a.field == Unknown || a.why == OutOfRange {
		return string(a.why)
	}
	return "the rubrics admit no operator that shows enough"
}

// unaffordable is a denial since what is needed does not fit.
func (d *decision) unaffordable(err error) Release {
	r := d.r
	r.Outcome = flow.Deny
	r.because(fits(err), "%v", err)
	for i := range d.k.atoms {
		if a := &d.k.atoms[i]; a.floor > 0 && a.kappa > 0 {
			r.Missing = append(r.Missing, a.field)
		}
	}
	d.ask(true)
	return *r
}

// ask makes a question of a denial that a person could resolve by doing without
// a field.
func (d *decision) ask(may bool) {
	slices.Sort(d.r.Missing)
	d.r.Missing = slices.Compact(d.r.Missing)
	if may && d.v.cfg.Ask && len(d.r.Missing) > 0 {
		d.r.Outcome = flow.Confirm
	}
}

// tell records what a user is told, which is audited and not charged.
func (d *decision) tell(ctx context.Context) (Release, bool) {
	d.limits = limits(d.k.rules.Limits())
	parts := slices.Clone(d.k.c.Parts)
	d.k.atoms = nil
	e := d.entry(parts)
	if err := d.s.Next(e); err != nil {
		return d.refuse(err)
	}
	return d.commit(ctx, e, parts)
}
