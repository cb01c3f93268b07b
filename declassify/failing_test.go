package declassify_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/margaydev/margay/declassify"
	"github.com/margaydev/margay/declassify/evidence"
	"github.com/margaydev/margay/declassify/rule"
	"github.com/margaydev/margay/declassify/smt"
	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/ledger/charge"
	"github.com/margaydev/margay/rubric"
)

var errBroken = errors.New("it is broken")

// brokenLedger fails where it is told to.
type brokenLedger struct {
	declassify.Ledger
	head, commit error
}

func (l *brokenLedger) Head(ctx context.Context, family flow.TrajectoryID) (*charge.State, error) {
	if l.head != nil {
		return nil, l.head
	}
	return l.Ledger.Head(ctx, family)
}

func (l *brokenLedger) Commit(ctx context.Context, e *charge.Entry) (charge.Receipt, error) {
	if l.commit != nil {
		return charge.Receipt{}, l.commit
	}
	return l.Ledger.Commit(ctx, e)
}

type brokenHistory struct{}

func (brokenHistory) Entries(context.Context, flow.TrajectoryID, uint64, int) ([]charge.Stored, error) {
	return nil, errBroken
}

type brokenValidator struct{}

func (brokenValidator) Validate(context.Context, *smt.Problem) (smt.Verdict, error) {
	return smt.Verdict{OK: true}, errBroken
}

// Whatever fails that a release rests on denies it: nothing is handed out
// that is not in the ledger.
func TestFailuresDeny(t *testing.T) {
	for _, c := range []struct {
		name   string
		broken func(*declassify.Config)
		rule   rule.Rule
	}{
		{"the entry can't be kept", func(cfg *declassify.Config) { cfg.Ledger = &brokenLedger{Ledger: cfg.Ledger, commit: errBroken} }, rule.LedgerFailed},
		{"it may be there", func(cfg *declassify.Config) {
			cfg.Ledger = &brokenLedger{Ledger: cfg.Ledger, commit: context.DeadlineExceeded}
		}, rule.LedgerFailed},
		{"the head can't be read", func(cfg *declassify.Config) { cfg.Ledger = &brokenLedger{Ledger: cfg.Ledger, head: errBroken} }, rule.LedgerFailed},
		{"others always come first", func(cfg *declassify.Config) {
			cfg.Ledger = &brokenLedger{Ledger: cfg.Ledger, commit: fmt.Errorf("entry: %w", charge.ErrConflict)}
		}, rule.Busy},
		{"what was shown can't be read", func(cfg *declassify.Config) { cfg.History = brokenHistory{} }, rule.LedgerFailed},
		{"the validator can't say", func(cfg *declassify.Config) { cfg.Validator = brokenValidator{} }, rule.ValidatorError},
		{"the rubrics can't be relied on", func(cfg *declassify.Config) {
			cfg.Resolve = func(rubric.Query) (declassify.Rules, error) { return travel(), errBroken }
		}, rule.Rubric},
		{"nor can the task's", func(cfg *declassify.Config) {
			cfg.Start = func(*declassify.Candidate, declassify.Rules) (rubric.Limits, rubric.Hash, error) {
				return travel().limits, rubric.Hash{}, errBroken
			}
		}, rule.Rubric},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := travel()
			book, store := ledgerOf(t, w)
			fill := func(cfg *declassify.Config) { cfg.Ledger, cfg.History = book, store }
			if c.rule == rule.LedgerFailed { // there is something to be read
				v := verifier(t, w, fill)
				if r := release(t, v, candidate("T1", broker(), "from", "SFO")); !r.Released() {
					t.Fatal(r.Reasons)
				}
			}
			before, err := store.Entries(t.Context(), "T1", 0, 10)
			if err != nil {
				t.Fatal(err)
			}
			v := verifier(t, w, func(cfg *declassify.Config) { fill(cfg); c.broken(cfg) })
			r := release(t, v, candidate("T1", airline(), "passengers.0.name", "Ada Lovelace"))
			if r.Outcome != flow.Deny || !hasRule(&r, c.rule) || r.Parts() != nil || r.Entry != nil {
				t.Errorf("%s %q %v", r.Outcome, sent(&r), r.Reasons)
			}
			after, err := store.Entries(t.Context(), "T1", 0, 10)
			if err != nil || len(after) != len(before) {
				t.Errorf("%d entries became %d, %v", len(before), len(after), err)
			}
		})
	}
}

// bad is a defender that does not do as it should.
type bad func(ctx context.Context, r *declassify.Request) ([]byte, error)

func (f bad) Evidence(ctx context.Context, r *declassify.Request) ([]byte, error) { return f(ctx, r) }

// A defender that is late, floods, fails or panics means no labels, and
// nothing else.
func TestBadDefenders(t *testing.T) {
	over := make(chan struct{})
	t.Cleanup(func() { close(over) })
	for name, c := range map[string]struct {
		rule rule.Rule
		f    bad
	}{
		"late": {evidence.Late, func(ctx context.Context, _ *declassify.Request) ([]byte, error) { <-ctx.Done(); return nil, ctx.Err() }},
		"deaf": {evidence.Late, func(context.Context, *declassify.Request) ([]byte, error) { <-over; return nil, errBroken }},
		"floods": {evidence.TooLarge, func(context.Context, *declassify.Request) ([]byte, error) {
			return make([]byte, evidence.MaxSize+1), nil
		}},
		"fails": {evidence.Failed, func(context.Context, *declassify.Request) ([]byte, error) {
			return nil, errors.New("Lovelace is unknown")
		}},
		"panics": {evidence.Failed, func(context.Context, *declassify.Request) ([]byte, error) { panic("Lovelace") }},
		"silent": {evidence.Syntax, func(context.Context, *declassify.Request) ([]byte, error) { return nil, nil }},
	} {
		t.Run(name, func(t *testing.T) {
			v := verifier(t, travel(), func(cfg *declassify.Config) {
				if cfg.Defender, cfg.Deadline = c.f, time.Hour; c.rule == evidence.Late {
					cfg.Deadline = 10 * time.Millisecond
				}
			})
			r := release(t, v, candidate("T1", broker(), "from", "SFO", "passengers.0.name", "Ada Lovelace", "note", "born 1990-05-17, flies"))
			if r.Outcome != flow.Rewrite || sent(&r) != "SFO|[REDACTED]|born [REDACTED], flies" || !hasRule(&r, c.rule) {
				t.Errorf("%s %q %v", r.Outcome, sent(&r), r.Reasons)
			}
			if strings.Contains(fmt.Sprint(r.Reasons), "Lovelace") {
				t.Errorf("what it said is told: %v", r.Reasons)
			}
		})
	}
}

// A sink whose class is not known is taken for the worst.
func TestUnknownClassIsAdversarial(t *testing.T) {
	for _, class := range []flow.Class{0, 4, 200} {
		tool := airline()
		tool.Class = class
		r := release(t, verifier(t, travel(), nil), candidate("T1", tool, "passengers.0.dob", "1990-05-17"))
		if !r.Released() || sent(&r) != "[REDACTED]" || r.Entry.Class != flow.Adversarial {
			t.Errorf("class %d: %s %q %v", class, r.Outcome, sent(&r), r.Reasons)
		}
	}
}

// What is too large to be looked at, or can be read in several ways, is denied.
func TestCandidatesAreBounded(t *testing.T) {
	many := make([]string, 2*(declassify.MaxParts+1))
	for name, c := range map[string]declassify.Candidate{
		"a text":     candidate("T1", broker(), "note", strings.Repeat("so ", declassify.MaxText/3+1)),
		"texts":      candidate("T1", broker(), "note", strings.Repeat("a", declassify.MaxText/2+1), "other", strings.Repeat("a", declassify.MaxText/2+1)),
		"a path":     candidate("T1", broker(), strings.Repeat("a", declassify.MaxText+1), "so"),
		"parts":      candidate("T1", broker(), many...),
		"bad text":   candidate("T1", broker(), "note", "born \xff1990-05-17"),
		"a bad path": candidate("T1", broker(), "note\xc3", "so"),
	} {
		if r := release(t, verifier(t, travel(), nil), c); r.Outcome != flow.Deny || !hasRule(&r, rule.Candidate) || r.Parts() != nil {
			t.Errorf("%s: %s %v", name, r.Outcome, r.Reasons)
		}
	}
}

// A release says why in a bounded number of reasons, however many parts of it
// were redacted.
func TestReasonsAreBounded(t *testing.T) {
	var notes []string
	for i := range 200 {
		notes = append(notes, fmt.Sprint("note", i), "so it is")
	}
	w := travel()
	w.residual = false
	r := release(t, verifier(t, w, nil), candidate("T1", broker(), notes...))
	if !r.Released() || strings.Contains(sent(&r), "so") || len(r.Reasons) == 0 || len(r.Reasons) > 64 {
		t.Errorf("%s with %d reasons", r.Outcome, len(r.Reasons))
	}
}
