package session

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/mediator/audit"
	"github.com/margaydev/margay/mediator/commit"
	"github.com/margaydev/margay/stream"
)

// Result is the answer to a verb. It lets something pass only where its
// decision was committed.
type Result struct {
	Decision flow.Decision
	Findings []audit.Finding
	// Edits has the new texts by Text.ID.
	Edits map[int]string

	committed commit.Committed
}

// Denied reports whether nothing may pass.
func (r *Result) Denied() bool { return !r.Releases() }

// Releases reports whether the decision was committed and lets something pass.
// It implements cut.Permit.
func (r *Result) Releases() bool { return r.committed.Releases() }

// CodeStore is the reason where the store fails.
const CodeStore = "store-failed"

// Decision starts a decision about a flow of the session.
func (s *Session) Decision(verb flow.Verb) flow.Decision {
	return flow.Decision{ID: flow.NewID(), Trajectory: s.ID, Verb: verb, Sink: s.Sink, Outcome: flow.Allow, At: s.cfg.Now().UTC()}
}

// Commit makes a result's decision durable, and reports it to the listener and
// the observers. Only then does the result let anything pass.
func (s *Session) Commit(ctx context.Context, r *Result) error {
	if r.Decision.Outcome == flow.Deny && len(r.Decision.Reasons) == 0 {
		// Without a reason it would not be in the log.
		r.Decision.Reasons = []flow.Reason{{Code: "denied", Detail: "what was found in it before may not pass here", Action: flow.ActBlock}}
	}
	en := audit.Entry{Decision: r.Decision, Findings: r.Findings}
	c, err := s.book.Commit(ctx, en)
	if err != nil {
		return err
	}
	r.committed = c
	if len(r.Findings) > 0 || len(r.Decision.Reasons) > 0 {
		s.tell(en)
	}
	return nil
}

// Record commits a decision of the session's own, such as a person's answer.
func (s *Session) Record(ctx context.Context, verb flow.Verb, outcome flow.Outcome, reasons ...flow.Reason) error {
	r := Result{Decision: s.Decision(verb)}
	r.Decision.Outcome, r.Decision.Reasons = outcome, reasons
	return s.Commit(ctx, &r)
}

// Reported are reasons of what was only reported.
func Reported(reasons []flow.Reason) []flow.Reason {
	out := slices.Clone(reasons)
	for i := range out {
		out[i].Action = flow.ActReport
	}
	return out
}

// CommitOrPass commits as Commit does. Where failures pass (on_error: pass), a
// result that the log does not take releases all the same, unless the client has
// disconnected.
func (s *Session) CommitOrPass(ctx context.Context, r *Result) error {
	err := s.Commit(ctx, r)
	if err == nil || !s.Passes() || errors.Is(err, commit.ErrDisconnected) {
		return err
	}
	r.committed = s.book.Fail(ctx, audit.Entry{Decision: r.Decision, Findings: r.Findings}, false)
	return nil
}

// Passed reports to observers a decision that nothing was found for, and that is
// not in the log.
func (s *Session) Passed(r *Result) {
	if len(r.Findings) == 0 && len(r.Decision.Reasons) == 0 {
		s.Trace.Decided(audit.Entry{Decision: r.Decision})
	}
}

func (s *Session) tell(en audit.Entry) {
	s.Trace.Decided(en)
	if s.cfg.Decided != nil {
		s.cfg.Decided(en)
	}
}

// Passes reports whether a flow is let through that could not be decided.
func (s *Session) Passes() bool { return s.book.Passes() }

// Failed is the result where Margay itself fails.
func (s *Session) Failed(ctx context.Context, verb flow.Verb, code, detail string) Result {
	r := Result{Decision: s.Decision(verb)}
	r.Deny(flow.Reason{Code: code, Detail: detail})
	if s.Passes() {
		r.Decision.Outcome = flow.Allow
	}
	en := audit.Entry{Decision: r.Decision}
	r.committed = s.book.Fail(ctx, en, code != CodeStore)
	s.tell(en)
	return r
}

// Guard commits what a verb decides, and turns its errors and panics into
// denials. A panic's value may quote content, so only its type is reported.
func (s *Session) Guard(ctx context.Context, verb flow.Verb, f func() (Result, error)) (r Result) {
	defer func() {
		if p := recover(); p != nil {
			r = s.Failed(ctx, verb, "internal-error", InternalError(p))
		}
	}()
	if err := ctx.Err(); err != nil {
		return s.Failed(ctx, verb, "deadline", "the request was cancelled or timed out before it was decided")
	}
	r, err := f()
	if err == nil {
		err = s.Commit(ctx, &r)
	}
	switch {
	case err == nil:
		return r
	case errors.Is(err, commit.ErrDisconnected):
		return s.gone(ctx, verb)
	case ctx.Err() != nil:
		return s.Failed(ctx, verb, "deadline", "the request was cancelled or timed out while it was decided")
	default:
		return s.Failed(ctx, verb, CodeStore, StoreFailed(err))
	}
}

// gone is the result where a flow was decided, and its client has disconnected. It
// denies, even where failures pass: the flow may not pass as it came.
func (s *Session) gone(ctx context.Context, verb flow.Verb) Result {
	r := Result{Decision: s.Decision(verb)}
	r.Deny(flow.Reason{Code: "deadline", Detail: "the request was cancelled or timed out while it was decided"})
	if s.Commit(ctx, &r) != nil {
		s.tell(audit.Entry{Decision: r.Decision})
	}
	return r
}

// InternalError is the detail of a panic.
func InternalError(p any) string {
	return fmt.Sprintf("internal error of type %T; please report it", p)
}

// StoreFailed is the detail of an error of the store.
func StoreFailed(err error) string {
	if cause := errors.Unwrap(err); errors.Is(err, commit.ErrNotKept) && cause != nil {
		err = cause
	}
	return "the store failed: " + err.Error() + "; run margay doctor"
}

// TooMany is the reason where a trajectory can't remember one more secret. What
// it can't remember it would not know again, so the text with it is denied.
var TooMany = flow.Reason{
	Code:   "too-many-secrets",
	Detail: fmt.Sprintf("the conversation holds more than %d credentials, and Margay would not recognise the others again; start a new one without them", maxDiscovered),
}

// maxFindings bounds the findings that one decision lists.
const maxFindings = 256

// Found is what one pass over all texts of a flow found.
type Found struct {
	Findings []audit.Finding
	Denied   bool
	Notes    []flow.Reason
}

// Add adds a finding of a text.
func (j *Found) Add(s *Session, f *stream.Finding, t *flow.Text) {
	if f.Action == flow.ActBlock {
		j.Denied = true
	}
	if len(j.Findings) >= maxFindings {
		return
	}
	rec := audit.Finding{
		ID: flow.NewID(), Rule: f.Rule, Name: f.Name, Kind: f.Kind, Source: f.Source, View: f.View,
		Fingerprint: f.Fingerprint, Action: f.Action, Length: int(f.End - f.Start),
	}
	if f.Rule == stream.RuleRisk {
		rec.Risk, rec.Model = f.Risk, s.cfg.Monitor.Hash()
	}
	if t != nil {
		rec.Field = t.Field.String()
		if t.Path != nil {
			rec.Path = s.Clean(t.Path())
		}
	}
	j.Findings = append(j.Findings, rec)
}

// Take adds what was found in a text, and the text as it goes out.
func (r *Result) Take(s *Session, j *Found, t *flow.Text, edited []byte, found []stream.Finding) {
	for i := range found {
		j.Add(s, &found[i], t)
	}
	if string(edited) != t.Text {
		r.Edits[t.ID] = string(edited)
		j.Denied = j.Denied || t.Fixed
	}
}

// Deny refuses the flow, whatever was decided about it before.
func (r *Result) Deny(reasons ...flow.Reason) {
	r.Decision.Outcome = flow.Deny
	r.Decision.Reasons = append(r.Decision.Reasons, reasons...)
	clear(r.Edits)
}

// Conclude turns what was found into the result's decision.
func (r *Result) Conclude(j *Found) {
	r.Findings = j.Findings
	r.Decision.Reasons = append(r.Decision.Reasons, j.Notes...)
	for i := range j.Findings {
		r.Decision.Reasons = append(r.Decision.Reasons, reasonOf(&j.Findings[i]))
	}
	switch {
	case j.Denied:
		r.Deny()
	case len(r.Edits) > 0:
		r.Decision.Outcome = flow.Rewrite
	}
}

func reasonOf(f *audit.Finding) flow.Reason {
	detail := fmt.Sprintf("%s of %d bytes found by %s", f.Kind, f.Length, f.Rule)
	if f.Name != "" {
		detail = fmt.Sprintf("%s %q of %d bytes found", f.Kind, f.Name, f.Length)
	}
	if f.Rule == stream.RuleRisk {
		detail = fmt.Sprintf("%d bytes judged %s by the risk model %.8s: risk %.2f, %s", f.Length, f.Name, f.Model, f.Risk, f.View)
	} else if f.View != "raw" && f.View != "" {
		detail += " in the view " + f.View
	}
	if f.Path != "" {
		detail += " at " + f.Path
	}
	return flow.Reason{Code: "secret-found", Detail: detail, Finding: f.ID, Action: f.Action}
}
