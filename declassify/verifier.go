package declassify

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/margaydev/margay/declassify/smt"
	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/ledger"
	"github.com/margaydev/margay/rubric"
)

// FallbackRubric returns the bytes whose SHA-256 entries name where no rubric
// matched. A ledger must keep them.
func FallbackRubric() []byte { return rubric.FallbackBytes() }

// Config is what a Verifier needs.
type Config struct {
	// Resolve finds the rules of a release, by trusted metadata alone. An
	// error refuses the release.
	Resolve func(rubric.Query) (Rules, error)
	Ledger  Ledger
	// History reads what the ledger has committed, so that what was shown
	// before this process began is known. Without it all that a value is shown
	// as from then on adds up.
	History History
	// Defender labels candidates; without one nothing is labelled.
	Defender Defender
	// Models are the names and versions of what the defender consists of, for
	// the ledger.
	Models []ledger.Model
	// Validator decides clauses; natively if it is nil.
	Validator smt.Validator
	// Key is of fingerprints of values and of what was released, and of nothing
	// else.
	Key [32]byte
	// Start returns the limits of a family that has released nothing yet: those
	// of its task's signed rubric, which the family's first entry then names. If
	// it is nil, those of the first release.
	Start func(*Candidate, Rules) (rubric.Limits, rubric.Hash, error)
	// Challenges is the number of clauses that the second pass asks about; none
	// where the defender can't be asked.
	Challenges int
	// Deadline bounds each call of the defender; two seconds if it is 0.
	Deadline time.Duration
	// Ask makes of a release that does not fit without what the sink needs a
	// question, and not a denial.
	Ask bool
	// MaxFamilies bounds the families that are remembered; 4,096 if it is 0.
	MaxFamilies int
	// Without leaves checks out, to measure what they are good for: Coverage,
	// Structural, Audit, ChallengeConflict, Unlabelled (the conservative
	// default). It is for benchmarks: each of them undoes a guarantee.
	Without []Rule
}

// Verifier decides about releases. It is safe for concurrent use; releases of
// one family wait for each other.
type Verifier struct {
	cfg     Config
	prints  prints
	prover  prover
	auditor auditor

	mu       sync.Mutex
	families map[flow.TrajectoryID]*family
}

// New returns a Verifier.
func New(cfg Config) (*Verifier, error) {
	if cfg.Resolve == nil || cfg.Ledger == nil {
		return nil, errors.New("declassify: a verifier needs rules and a ledger")
	}
	if cfg.Key == [32]byte{} {
		return nil, errors.New("declassify: a verifier needs a key")
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
	v := &Verifier{cfg: cfg, prints: prints{cfg.Key}, families: map[flow.TrajectoryID]*family{}}
	v.prover.by = cfg.Validator
	return v, nil
}

func (v *Verifier) without(r Rule) bool { return slices.Contains(v.cfg.Without, r) }

// Release is what became of a candidate.
type Release struct {
	// Outcome is Allow (as it is), Rewrite, Confirm or Deny. After the last
	// two nothing may be sent.
	Outcome flow.Outcome
	Reasons []flow.Reason
	// Parts are what may be sent, and the entry that it was charged by.
	Parts []Part
	Entry *ledger.Entry
	// Atoms are what became of each part of the candidate.
	Atoms []Atom
	// Named are the values that pseudonyms in Parts stand for.
	Named []Named
	// Missing are the fields that the sink needs and can't be given: a person
	// may agree to do without them (Candidate.Waived).
	Missing []string
	Phases  Phases
}

// Released reports whether Parts may be sent.
func (r *Release) Released() bool { return r.Outcome == flow.Allow || r.Outcome == flow.Rewrite }

// Atom is one part of a candidate and what became of it.
type Atom struct {
	Part, Start, End int
	Field            string
	Op               rubric.Op
	Necessity        rubric.Necessity
	Cost             flow.Bits
}

// Named is a value that became a pseudonym.
type Named struct{ Field, Value, Name string }

// Phases are how long each phase took, all rounds together.
type Phases struct {
	Defend, Bind, Validate, Cost, Audit, Commit time.Duration
	Rounds                                      int
}

// lap adds the time since the last lap to a phase.
type lap struct{ at time.Time }

func (l *lap) to(d *time.Duration) {
	now := time.Now()
	*d += now.Sub(l.at)
	l.at = now
}

const (
	maxReasons = 64
	// maxTries bounds how often a release begins anew since others committed.
	maxTries = 32
	// maxRounds bounds single steps of escalation; then all is redacted at
	// once that may be.
	maxRounds = 64
)

func (r *Release) because(rule Rule, format string, args ...any) {
	if len(r.Reasons) < maxReasons {
		r.Reasons = append(r.Reasons, flow.Reason{Code: string(rule), Detail: fmt.Sprintf(format, args...)})
	}
}

func deny(rule Rule, format string, args ...any) Release {
	r := Release{Outcome: flow.Deny}
	r.because(rule, format, args...)
	return r
}

// Release takes a candidate through the phases. A denial is a value with
// reasons, none of which holds a text of the candidate. An error says that ctx
// ended first; nothing may be sent then, though it may have been charged.
func (v *Verifier) Release(ctx context.Context, c Candidate) (Release, error) {
	if err := c.check(); err != nil {
		return deny(ruleOf(err, CandidateRule), "%v", err), nil
	}
	c.Tool.Class = c.Tool.Class.Known()
	rules, err := v.cfg.Resolve(c.query())
	if err != nil {
		return deny(NoRubric, "%v", err), ctx.Err()
	}
	f := v.family(c.family())
	f.mu.Lock()
	defer f.mu.Unlock()
	for range maxTries {
		if err := ctx.Err(); err != nil {
			return deny(LedgerFailed, "cancelled"), err
		}
		s, err := v.cfg.Ledger.Head(ctx, c.family())
		if err == nil {
			err = f.catchUp(ctx, v.cfg.History, s)
		}
		if err != nil {
			return deny(LedgerFailed, "%v", err), ctx.Err()
		}
		r, again := v.try(ctx, &c, rules, f, s)
		if !again {
			return r, ctx.Err()
		}
	}
	return deny(Busy, "other releases of this trajectory kept coming first; try again"), nil
}

func (v *Verifier) family(id flow.TrajectoryID) *family {
	v.mu.Lock()
	defer v.mu.Unlock()
	f := v.families[id]
	if f != nil {
		return f
	}
	for other := range v.families { // in any order; it is read again if need be
		if len(v.families) < v.cfg.MaxFamilies {
			break
		}
		delete(v.families, other)
	}
	f = &family{}
	v.families[id] = f
	return f
}

func (c *Candidate) check() error {
	if len(c.Parts) > MaxParts {
		return CandidateRule.broken("%d parts, at most %d", len(c.Parts), MaxParts)
	}
	n := 0
	for i := range c.Parts {
		p := &c.Parts[i]
		if n += len(p.Text) + len(p.Path); n > MaxText {
			return CandidateRule.broken("more than %d bytes", MaxText)
		}
		if !utf8.ValidString(p.Text) || !utf8.ValidString(p.Path) {
			return CandidateRule.broken("part %d is no valid UTF-8", i)
		}
	}
	return nil
}

// try makes one release on one head; again says that another came first.
func (v *Verifier) try(ctx context.Context, c *Candidate, rules Rules, f *family, s *ledger.State) (r Release, again bool) {
	clock := lap{time.Now()}
	hashes := hashesOf(rules)
	k := &cutter{c: c, rules: rules, class: c.Tool.Class, fields: rules.Fields(), skip: v.without, only: func(rubric.Match) bool { return false }}
	if x, ok := rules.(exclusive); ok {
		k.only = x.Only
	}
	labels, proposals, answers := v.evidence(ctx, k, s, &r, &clock)
	d := decision{v: v, k: k, f: f, s: s, labels: labels, proposals: proposals, answers: answers, hashes: hashes, r: &r, clock: &clock}
	if c.Tool.Channel == flow.ChannelUser {
		return d.tell(ctx) // audited, not charged
	}
	if s.Seq == 0 {
		l := rules.Limits()
		if v.cfg.Start != nil {
			var of rubric.Hash
			var err error
			if l, of, err = v.cfg.Start(c, rules); err != nil {
				return deny(NoRubric, "%v", err), false
			}
			d.task = ledger.Hash(of)
		}
		d.limits = limits(l)
	}
	return d.run(ctx)
}

func hashesOf(rules Rules) []ledger.Hash {
	var out []ledger.Hash
	for _, h := range rules.Hashes() {
		out = append(out, ledger.Hash(h))
	}
	if len(out) == 0 {
		out = append(out, ledger.Hash(rubric.FallbackHash()))
	}
	return out
}

// evidence asks the defender and holds what it says to this release. Whatever
// goes wrong, there are no labels.
func (v *Verifier) evidence(ctx context.Context, k *cutter, s *ledger.State, r *Release, clock *lap) (labels []Label, proposals []Proposal, answers []answer) {
	if v.cfg.Defender == nil || k.c.Tool.Channel == flow.ChannelUser {
		return nil, nil, nil
	}
	tool := k.c.Tool
	tool.Args = slices.Clone(tool.Args)
	bound := contextOf(k.c, k.rules.Hashes(), s.Head.String())
	req := &Request{
		Context: bound, Tool: &tool, Parts: slices.Clone(k.c.Parts), Rules: k.rules,
		Plan:    func(l []Label) ([]Proposal, string, error) { return v.planned(k, l) },
		Variant: func(l []Label, p []Proposal) (string, error) { return v.proposed(k, l, p) },
	}
	req.Context.Rubrics = slices.Clone(bound.Rubrics)
	ev, err := v.bound(ctx, k, req, &bound)
	if err == nil {
		answers, err = v.challenge(ctx, req, ev.Atoms)
	}
	clock.to(&r.Phases.Defend)
	if err != nil {
		r.because(ruleOf(err, DefenderFailed), "the evidence is ignored: %v", err)
		return nil, nil, nil
	}
	return ev.Atoms, ev.Operators, answers
}

// bound asks for evidence and binds it.
func (v *Verifier) bound(ctx context.Context, k *cutter, req *Request, bound *Context) (*Evidence, error) {
	raw, err := v.ask(ctx, func(ctx context.Context) ([]byte, error) { return v.cfg.Defender.Evidence(ctx, req) })
	if err != nil {
		return nil, err
	}
	ev, err := ParseEvidence(raw)
	if err != nil {
		return nil, err
	}
	if err := ev.bind(bound); err != nil {
		return nil, err
	}
	if err := check(k.c.Parts, ev.Atoms, ev.Operators); err != nil {
		return nil, err
	}
	got, err := v.proposed(k, ev.Atoms, ev.Operators)
	if err != nil {
		return nil, err
	}
	if got != ev.Variant {
		return nil, EvidenceVariant.broken("its operators make another variant")
	}
	return ev, nil
}

// ask calls an adviser with a deadline. A panic of it is a failure; what it
// quotes may be a secret, so that only its being is told.
func (v *Verifier) ask(ctx context.Context, f func(context.Context) ([]byte, error)) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, v.cfg.Deadline)
	defer cancel()
	type result struct {
		raw []byte
		err error
	}
	done := make(chan result, 1)
	go func() { // ends with the adviser, which must heed its context
		defer func() {
			if recover() != nil {
				done <- result{nil, DefenderFailed.broken("it panicked")}
			}
		}()
		raw, err := f(ctx)
		done <- result{raw, err}
	}()
	select {
	case got := <-done:
		if got.err != nil {
			if ctx.Err() != nil {
				return nil, DefenderTimeout.broken("after %v", v.cfg.Deadline)
			}
			return nil, DefenderFailed.broken("it gave an error")
		}
		return got.raw, nil
	case <-ctx.Done():
		return nil, DefenderTimeout.broken("after %v", v.cfg.Deadline)
	}
}

// planned is what the verifier would choose for labels, and what that makes.
func (v *Verifier) planned(k *cutter, labels []Label) ([]Proposal, string, error) {
	labels = slices.Clone(labels)
	proposals := make([]Proposal, len(labels))
	for i := range proposals {
		proposals[i] = proposal(i, rubric.Op{Kind: rubric.Redact})
	}
	if err := check(k.c.Parts, labels, proposals); err != nil {
		return nil, "", err
	}
	p := *k
	p.atoms = nil
	if err := p.cut(labels, nil); err != nil {
		return nil, "", err
	}
	p.plan()
	p.variant()
	for i := range labels {
		if labels[i].Field == None {
			proposals[i] = proposal(i, rubric.Op{Kind: rubric.Identity})
		}
	}
	for i := range p.atoms {
		if a := &p.atoms[i]; a.label >= 0 {
			proposals[a.label] = proposal(a.label, a.ops[a.op])
		}
	}
	hash, err := v.proposed(k, labels, proposals)
	return proposals, hash, err
}

// proposed is the hash of what a defender's operators make of the candidate.
func (v *Verifier) proposed(k *cutter, labels []Label, proposals []Proposal) (string, error) {
	labels, proposals = slices.Clone(labels), slices.Clone(proposals)
	if err := check(k.c.Parts, labels, proposals); err != nil {
		return "", err
	}
	p := *k
	p.atoms = make([]atom, len(labels))
	for i := range labels {
		l := &labels[i]
		op, _ := proposals[i].op()
		if op == pseudonym && k.c.Names == nil {
			return "", EvidenceOperator.broken("atom %d: there are no pseudonyms here", i)
		}
		p.atoms[i] = atom{part: l.Part, start: l.Start, end: l.End, text: k.c.Parts[l.Part].Text[l.Start:l.End], field: l.Field, ops: []rubric.Op{op}, label: i}
	}
	parts, failed := p.build(func(a *atom) (string, error) {
		if a.ops[0].Kind == rubric.Identity { // in its population or not
			return a.text, nil
		}
		return p.apply(a)
	})
	if len(failed) > 0 {
		return "", EvidenceOperator.broken("an operator can't be applied")
	}
	return v.prints.variantText(parts), nil
}
