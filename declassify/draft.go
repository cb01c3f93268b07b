package declassify

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/margaydev/margay/declassify/bound"
	"github.com/margaydev/margay/declassify/choice"
	"github.com/margaydev/margay/declassify/clause"
	"github.com/margaydev/margay/declassify/evidence"
	"github.com/margaydev/margay/declassify/known"
	"github.com/margaydev/margay/declassify/rule"
	"github.com/margaydev/margay/declassify/schema"
	"github.com/margaydev/margay/declassify/shown"
	"github.com/margaydev/margay/declassify/span"
	"github.com/margaydev/margay/declassify/terms"
	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/ledger/charge"
	"github.com/margaydev/margay/rubric"
)

// Draft is one release on one head of its family's chain, on its way through
// the phases. [Draft.Run] takes them in the order of a [Verifier]. They are
// exported so that each can be measured: if one is left out, the parts are not
// charged and have no receipt, so a mediator does not release them. A Draft is
// not safe for concurrent use.
//
//	Read             read each part by its tool's schema
//	Ask              get the defender's evidence
//	Cut, Plan        cut pieces; choose the least-disclosing useful operators
//	Apply            apply the operators to the candidate
//	Prove            decide the clauses of the rubrics
//	Charge, Audit    compute the cost, and whether it fits
//	Suspect, Lower   if not, distrust labels or disclose less
type Draft struct {
	cutter
	v      *Verification
	before *shown.Family
	seen   *known.Family
	s      *charge.State
	limits charge.Limits
	hashes []charge.Hash
	task   charge.Hash // the rubric that sets the limits of a new family; zero for those of the release

	labels    []evidence.Label
	proposals []evidence.Proposal
	answers   []clause.Answer
	distrust  map[int]rule.Rule

	r     *Release
	clock lap
	parts []Part        // what would be sent
	e     *charge.Entry // its charge
}

// maxRounds bounds single steps of escalation. After it, everything that may be
// redacted is, at once.
const maxRounds = 64

// Draft starts a release on the head of a family with its past. The state is not
// changed.
func (v *Verification) Draft(c *Candidate, rules Rules, past *Past, s *charge.State) (*Draft, error) {
	in := informed{rules, known.NewFinder(&past.Seen, rules.Fields())}
	d := &Draft{
		cutter: cutter{c: c, rules: in, known: in.known, lost: past.Seen.Lost(), screen: screen{by: v.cfg.Screener, ctx: context.Background(), seen: map[string][]span.Place{}}, class: c.Tool.Class.Known(), fields: rules.Fields()},
		v:      v, before: &past.Shown, seen: &past.Seen, s: s, hashes: terms.Hashes(rules.Hashes()), r: &Release{}, clock: lap{time.Now()},
	}
	for i := range c.Parts {
		if d.planted(i) {
			in.known.Hide(c.Parts[i].Text) // also from the defender
		}
	}
	if s.Seq > 0 || c.Tool.Channel == flow.ChannelUser {
		return d, nil
	}
	l := rules.Limits()
	if v.cfg.Start != nil {
		var of rubric.Hash
		var err error
		if l, of, err = v.cfg.Start(c, rules); err != nil {
			return nil, err
		}
		d.task = charge.Hash(of)
	}
	d.limits = terms.Limits(l)
	return d, nil
}

// Result is the release so far. It has no receipt.
func (d *Draft) Result() Release { return *d.r }

// Parts are what would be sent. The caller must not send them.
func (d *Draft) Parts() []Part { return d.parts }

// Entry is the entry that would charge the release.
func (d *Draft) Entry() *charge.Entry { return d.e }

// Run takes the release through all phases, and lowers what it discloses until
// it fits. It reports whether it fits; if not, the result has the reasons.
func (d *Draft) Run(ctx context.Context) bool {
	if d.c.Tool.Channel == flow.ChannelUser {
		return d.audited()
	}
	d.Read()
	d.screen.ctx = ctx
	d.Ask(ctx)
	defer d.Remember()
	for range len(d.labels) + 3 {
		if err := d.Cut(); err != nil {
			return d.Refuse(err)
		}
		d.Plan()
		if fits, again := d.settle(ctx); !again {
			return fits
		}
	}
	*d.r = deny(rule.ValidatorError, "the clauses kept contradicting labels")
	return false
}

// settle takes one cut through the phases, and lowers operators. again says to cut
// the candidate again, because labels lost their trust.
func (d *Draft) settle(ctx context.Context) (fits, again bool) {
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
			if !d.intact() {
				return false, false
			}
			d.Report()
			return true, false
		case errors.Is(err, charge.Doubt) && !d.screen.off:
			d.screen.off = true
			d.r.because(rule.Doubt, "%v", err)
			return false, true
		case rule.Short(err) == "":
			return d.Refuse(err), false
		case !d.Lower():
			return d.Unaffordable(err), false
		}
	}
}

// Read reads the parts of the candidate by its tool's schema.
func (d *Draft) Read() {
	d.sight()
	d.readings = make([]Reading, len(d.c.Parts))
	for i := range d.readings {
		if p := &d.c.Parts[i]; p.Text != "" {
			d.readings[i] = d.read(i, d.c.Tool.Arg(p.Path))
		}
	}
}

// ReadAs reads a part as another argument.
func (d *Draft) ReadAs(part int, arg schema.Arg) { d.readings[part] = d.read(part, arg) }

// Readings are what is known of the parts.
func (d *Draft) Readings() []Reading { return d.readings }

// Cut cuts the candidate into pieces, by the readings of its parts and by the
// labels that are believed. A piece without one is of unknown field.
func (d *Draft) Cut() error { return d.cut(d.labels, d.distrust) }

// Pieces are those of the last cut.
func (d *Draft) Pieces() []Piece { return d.pieces }

// Plan chooses for every piece the least-disclosing operator that is useful.
// It looks at fields, the sink and the rubrics, never at a value. A defender's
// operator is taken where it discloses less.
func (d *Draft) Plan() {
	d.plan()
	d.propose(d.proposals)
	for i := range d.pieces {
		a := &d.pieces[i]
		a.value = d.v.fingerprint(d.rules, a)
	}
}

// Apply applies the operators.
func (d *Draft) Apply() {
	d.r.Phases.Rounds++
	d.parts = d.variant()
	for i := range d.pieces {
		d.pieces[i].kappa = d.pieces[i].cost(d.rules)
	}
	d.clock.to(&d.r.Phases.Bind)
}

// Suspect distrusts labels that a clause contradicts. It reports whether there
// are any; then the candidate must be cut again.
func (d *Draft) Suspect(fails []clause.Failure) bool {
	any := false
	for _, x := range fails {
		if x.Clause != clause.Necessity && x.Clause != clause.Challenge && x.Clause != clause.Operator || x.Atom < 0 {
			continue
		}
		a := &d.pieces[x.Atom]
		if a.label < 0 || d.distrust[a.label] != "" {
			continue
		}
		if d.distrust == nil {
			d.distrust = map[int]rule.Rule{}
		}
		d.distrust[a.label] = rule.Rule(x.Clause)
		any = true
	}
	return any
}

// Charge computes the entry, and holds it to the budget and to the limits of the
// release's own rubrics. [Short] tells from the error whether a release that
// discloses less might fit.
func (d *Draft) Charge() error {
	d.draft()
	err := d.s.Next(d.e)
	if err == nil {
		err = terms.Tightens(d.rules.Limits(), d.e, d.s)
	}
	d.clock.to(&d.r.Phases.Cost)
	return err
}

// Audit bounds what is disclosed by the rubrics' dependency graph.
func (d *Draft) Audit() error {
	r := bound.Release{By: shown.Together(d.hashes), Fields: d.fields, Atoms: d.e.Atoms, State: d.s, Class: d.class, Margin: d.rules.Limits().Margin}
	err := d.v.auditor.Check(&r, d.before, d.rules)
	d.clock.to(&d.r.Phases.Audit)
	return err
}

// audited is the release of text to the user, which is recorded and not charged.
func (d *Draft) audited() bool {
	d.limits = terms.Limits(d.rules.Limits())
	d.parts = slices.Clone(d.c.Parts)
	d.draft()
	if err := d.s.Next(d.e); err != nil {
		return d.Refuse(err)
	}
	d.Report()
	return true
}

// draft makes the entry of the parts.
func (d *Draft) draft() {
	d.r.sealed = seal(&d.v.cfg.Key, d.parts)
	d.e = &charge.Entry{
		Trajectory: d.c.Trajectory, Channel: d.c.Tool.Channel, Sink: d.c.Tool.Sink, Class: d.class,
		Rubrics: d.rubrics(), Variant: d.r.sealed.Variant(), Limits: d.limits, Models: d.v.cfg.Models,
		Decision: d.c.Decision, Outcome: flow.Allow, Answer: d.c.Answer, At: d.clock.at, Screened: d.screen.charged(d.rules),
	}
	if !slices.Equal(texts(d.parts), texts(d.c.Parts)) {
		d.e.Outcome = flow.Rewrite
	}
	atoms := make([]shown.Atom, len(d.pieces))
	for i := range d.pieces {
		a := &d.pieces[i]
		atoms[i] = shown.Atom{Value: a.value, Field: a.Field, Op: a.ops[a.op], Cost: a.kappa, Mixed: a.ambig}
	}
	after := d.before.After(atoms, d.rules, d.class, d.hashes, d.s)
	d.e.Atoms = make([]charge.Atom, len(atoms))
	for i, a := range atoms {
		d.e.Atoms[i] = charge.Atom{Field: a.Field, Op: charge.Op(a.Op.Kind), Template: a.Op.Template, Value: a.Value, Cost: a.Cost, After: after[a.Value]} //nolint:gosec // the same numbers
		if a.Op.Kind == rubric.Generalize {
			d.e.Atoms[i].Level = uint8(a.Op.Level) //nolint:gosec // at most 255
		}
	}
}

// rubrics are those that the entry names: of the release, and in a family's
// first entry also the task's, whose limits it has.
func (d *Draft) rubrics() []charge.Hash {
	at, named := slices.BinarySearchFunc(d.hashes, d.task, func(a, b charge.Hash) int { return bytes.Compare(a[:], b[:]) })
	if named || d.task.IsZero() {
		return d.hashes
	}
	return slices.Insert(slices.Clone(d.hashes), at, d.task)
}

// Lower makes the piece that costs most disclose one step less; false if none
// can. It looks at the charges of values, never at values.
func (d *Draft) Lower() bool {
	if d.r.Phases.Rounds > maxRounds {
		some := false
		for i := range d.pieces {
			a := &d.pieces[i]
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
	for i := range d.pieces {
		a := &d.pieces[i]
		if a.op <= a.floor || a.kappa == 0 {
			continue
		}
		g := d.e.Atoms[i].After[d.class] - d.s.After(a.value)[d.class]
		if best < 0 || g > growth || g == growth && a.kappa > kappa {
			best, growth, kappa = i, g, a.kappa
		}
	}
	if best >= 0 {
		d.pieces[best].op--
	}
	return best >= 0
}

// Report notes in the result what happened to each piece.
func (d *Draft) Report() {
	r := d.r
	r.Outcome, r.Entry = d.e.Outcome, d.e
	r.Atoms = make([]Atom, len(d.pieces))
	for i := range d.pieces {
		a := &d.pieces[i]
		op := a.ops[a.op]
		r.Atoms[i] = Atom{Part: a.part, Start: a.start, End: a.end, Field: a.Field, Op: op, Necessity: a.nec, Cost: a.kappa, Resolved: a.token != ""}
		if op == choice.Pseudonym && a.token == "" {
			r.Named = append(r.Named, Named{a.Field, a.whole(), d.c.Names.Name(a.Field, a.whole())})
		}
		if a.Field == Unknown || a.why == rule.OutOfRange {
			r.because(a.why, "%s: bytes %d to %d may be of any secret field, and were %sed", d.place(a), a.start, a.end, strings.TrimSuffix(op.Kind.String(), "e"))
		}
	}
}

// intact reports whether nothing was taken from parts that must be as they are, and
// refuses the release otherwise: it is not charged.
func (d *Draft) intact() bool {
	for i := range d.pieces {
		a := &d.pieces[i]
		p := &d.c.Parts[a.part]
		switch keep := d.readings[a.part].Arg.Keep; {
		case a.ops[a.op].Kind == rubric.Identity || a.token != "" && !p.Fixed || !keep && !p.Fixed || slices.Contains(d.c.Waived, a.Field):
		case keep:
			return d.Refuse(rule.Needed.Errorf("%s: %s would be taken from it, and the call makes no sense without it", d.place(a), a.Field))
		default:
			return d.Refuse(rule.Needed.Errorf("%s would have to be taken from a name or another text that can't be edited", a.Field))
		}
	}
	return true
}

// place names a piece by the tool's schema: paths may hold names that a model
// chose.
func (d *Draft) place(a *Piece) string {
	if arg := d.c.Tool.Arg(a.path); arg.Path != a.path || slices.ContainsFunc(d.c.Tool.Args, func(x schema.Arg) bool { return x.Path == arg.Path }) {
		return "argument " + arg.Path
	}
	return "a text"
}

// Refuse denies the release for a reason that no lowering changes. It returns
// false, as the others do.
func (d *Draft) Refuse(err error) bool {
	d.r.Outcome = flow.Deny
	d.r.because(rule.Of(err, rule.LedgerFailed), "%v", err)
	return false
}

// Unprovable denies the release because clauses do not hold.
func (d *Draft) Unprovable(fails []clause.Failure) bool {
	r := d.r
	r.Outcome = flow.Deny
	only := true
	for _, x := range fails {
		which := rule.Rule(x.Clause)
		if x.Atom < 0 {
			r.because(which, "the clause %s does not hold", which)
			only = false
			continue
		}
		a := &d.pieces[x.Atom]
		if which == rule.Utility {
			r.Missing = append(r.Missing, a.need())
			r.because(which, "%s: %s must reach %s, and may not (%s)", d.place(a), a.need(), d.c.Tool.Sink, a.hindrance())
			continue
		}
		only = false
		r.because(which, "%s: %s(%s) is refused", d.place(a), a.ops[a.op], a.Field)
	}
	return d.question(only)
}

// hindrance is why a piece can't be shown.
func (a *Piece) hindrance() string {
	if a.Field == Unknown || a.why == rule.OutOfRange {
		return string(a.why)
	}
	return "the rubrics admit no operator that shows enough"
}

// Unaffordable denies the release because the needed fields do not fit.
func (d *Draft) Unaffordable(err error) bool {
	d.r.Outcome = flow.Deny
	d.r.because(rule.Short(err), "%v", err)
	for i := range d.pieces {
		if a := &d.pieces[i]; a.floor > 0 && a.kappa > 0 {
			d.r.Missing = append(d.r.Missing, a.Field)
		}
	}
	return d.question(true)
}

// question turns a denial into a question if a person could resolve it by
// withholding a field.
func (d *Draft) question(may bool) bool {
	slices.Sort(d.r.Missing)
	d.r.Missing = slices.Compact(d.r.Missing)
	if may && d.v.cfg.Ask && len(d.r.Missing) > 0 {
		d.r.Outcome = flow.Confirm
	}
	return false
}

// commit appends the entry. Only then there is a receipt, and the parts may be
// sent. again says that another release came first.
func (d *Draft) commit(ctx context.Context, l Ledger) (r Release, again bool) {
	receipt, err := l.Commit(ctx, d.e)
	d.clock.to(&d.r.Phases.Commit)
	if errors.Is(err, charge.ErrConflict) {
		return Release{}, true
	}
	if _, ok := receipt.Open(d.r.sealed); err == nil && !ok {
		err = errors.New("the receipt is for another release")
	}
	if err != nil {
		*d.r = Release{Reasons: d.r.Reasons, Phases: d.r.Phases}
		d.Refuse(rule.LedgerFailed.Errorf("%w", err))
		return *d.r, false
	}
	d.r.Receipt = receipt
	d.before.Take(d.e, d.rules)
	return *d.r, false
}
