// Package audit has what is kept and reported of decisions: the log's
// entries, the events that observers see, and the recorder that stores them.
//
// Nothing here holds a secret's value. A text is reported as it is after
// mediation, and findings that were only reported are replaced there, too.
// The log of decisions does not depend on observers: if events come too fast,
// or their store fails, events are lost and counted.
package audit

import (
	"cmp"
	"context"
	"iter"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/monitor"
	"github.com/margaydev/margay/secret"
)

// Finding is what is kept of one finding: enough to explain it and to allow
// it, never its value.
type Finding struct {
	ID          string             `json:"id"`
	Rule        string             `json:"rule"`           // recogniser rule, or "vault"
	Name        string             `json:"name,omitempty"` // the registered secret's name
	Kind        secret.Kind        `json:"kind"`
	Source      secret.Source      `json:"source,omitempty"`
	View        string             `json:"view,omitempty"` // the canonical view that showed it
	Fingerprint secret.Fingerprint `json:"fingerprint,omitzero"`
	Field       string             `json:"field,omitempty"` // text-bearing field
	Path        string             `json:"path,omitempty"`  // JSON path or file
	Action      flow.Action        `json:"action"`
	Length      int                `json:"length"` // bytes covered in the raw text
	// Of what the risk model judged: the risk, in [0,1], and the model's hash.
	Risk  float64 `json:"risk,omitzero"`
	Model string  `json:"model,omitempty"`
}

// Entry is one decision of the log with the findings behind it.
type Entry struct {
	flow.Decision
	Findings []Finding `json:"findings,omitempty"`
}

// Of returns the decision of an entry.
func (e Entry) Of() flow.Decision { return e.Decision }

// Log keeps decisions. All methods are safe for concurrent use.
type Log interface {
	// AppendDecisions adds entries, all or none; durable where the engine is.
	AppendDecisions(ctx context.Context, entries []Entry) error
	// Decision returns one entry, or secret.ErrNotFound.
	Decision(ctx context.Context, id string) (Entry, error)
	// FindingByID returns one finding and the id of its decision, or
	// secret.ErrNotFound.
	FindingByID(ctx context.Context, id string) (Finding, string, error)
	// Decisions returns up to limit entries whose ids are greater than
	// after, in the order of their ids; after may be empty.
	Decisions(ctx context.Context, after string, limit int) ([]Entry, error)
}

// Tracer reports to observers what one session does. What they do never changes
// a decision. It is not safe for concurrent use.
type Tracer struct {
	Trace      *Trace // nil if nobody observes
	Trajectory flow.TrajectoryID
	Sink       string
	Now        func() time.Time
	// Scrub returns a name or a place that somebody else chose as it may be
	// shown.
	Scrub func(string) string
	// Monitor and Vocabulary are what tokens are judged by; nil for nothing.
	Monitor    *monitor.Model
	Vocabulary int

	size *Size // of what is decided about
}

// Live reports whether somebody observes the session.
func (t *Tracer) Live() bool { return t.Trace != nil && t.Trace.Happened != nil }

// Happened reports an event.
func (t *Tracer) Happened(ev Event) {
	defer func() { _ = recover() }()
	ev.ID, ev.Trajectory, ev.At, ev.Sink, ev.Payload.Version = cmp.Or(ev.ID, flow.NewID()), t.Trajectory, t.Now().UTC(), t.Sink, Version
	t.Trace.Happened(ev)
}

// Sizing notes how much is decided about, until the function that it returns
// is called.
func (t *Tracer) Sizing(texts []flow.Text, tool string) func() {
	if !t.Live() {
		return func() {}
	}
	t.size = &Size{Texts: len(texts), Tool: t.Scrub(tool)}
	for i := range texts {
		t.size.Bytes += len(texts[i].Text)
	}
	return func() { t.size = nil }
}

// Decided reports a decision.
func (t *Tracer) Decided(en Entry) {
	if t.Live() {
		t.Happened(Event{ID: en.ID, Kind: KindDecision, Verb: en.Verb, Outcome: en.Outcome, Payload: Payload{Decision: &en, Size: t.size}})
	}
}

// Answer starts to gather what observers see of an answer; nil if nobody
// observes.
func (t *Tracer) Answer() *AnswerTracer {
	if !t.Live() {
		return nil
	}
	return &AnswerTracer{of: t, id: flow.NewID(), began: t.Now()}
}

const page = 1000

// FirstID returns an id that is less than all that are made at t or later; empty
// for the zero time.
func FirstID(t time.Time) string {
	var id ulid.ULID
	if ms := t.UnixMilli(); ms <= 0 || id.SetTime(uint64(ms)) != nil {
		return ""
	}
	return id.String()
}

// Since yields the entries of a log that were made at t or later, in the order
// of their ids.
func Since(ctx context.Context, log Log, t time.Time) iter.Seq2[*Entry, error] {
	return func(yield func(*Entry, error) bool) {
		for after, more := FirstID(t), true; more; {
			got, err := log.Decisions(ctx, after, page)
			if err != nil {
				yield(nil, err)
				return
			}
			for i := range got {
				if after = got[i].ID; !yield(&got[i], nil) {
					return
				}
			}
			more = len(got) == page
		}
	}
}
