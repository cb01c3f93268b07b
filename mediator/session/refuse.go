package session

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/mediator/audit"
)

// Refuse records that something is refused, and reports it. It returns the
// decision, which may stand for several, and whether the log has it.
func (r *Registry) Refuse(ctx context.Context, d flow.Decision) (_ flow.Decision, kept bool) {
	defer func() {
		if recover() != nil { // the log's
			kept = false
		}
	}()
	d, done := r.refused.Count(d)
	defer done()
	en := audit.Entry{Decision: d}
	_, err := r.book.Commit(ctx, en)
	trace := audit.Tracer{Trace: r.cfg.Trace, Trajectory: d.Trajectory, Sink: d.Sink.Name, Now: r.cfg.Now}
	trace.Decided(en)
	if r.cfg.Decided != nil {
		r.cfg.Decided(en)
	}
	return d, err == nil
}

// refusedIn is the trajectory of a refusal: the one that the caller named, where
// it is one, or else one that such refusals share.
func (r *Registry) refusedIn(named string) flow.TrajectoryID {
	if id, err := flow.ParseTrajectoryID(named); err == nil {
		return id
	}
	return cmp.Or(r.cfg.Family, r.refused.Own)
}

// RefuseCall records that a call is not made, and returns what the model reads
// about it, with the decision's id. A call that is not made stays so if the log
// fails; the error says so.
func (s *Session) RefuseCall(ctx context.Context, text string, why ...flow.Reason) (told string, err error) {
	r := Result{Decision: s.Decision(flow.Call)}
	r.Deny(append(slices.Clip(why), flow.Reason{Code: "call-refused", Detail: text, Action: flow.ActBlock})...)
	if err := s.Commit(ctx, &r); err != nil {
		return text, err
	}
	return WithID(text, r.Decision.ID), nil
}

// WithID is what a model reads about a call that is not made, with the id of the
// decision.
func WithID(text, id string) string {
	return strings.TrimSuffix(text, "]") + " (margay explain " + id + ")]"
}
