package mediator

import (
	"context"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/secret"
)

// FindingRecord is what is kept of one finding: enough to explain it and to
// allow it, never its value.
type FindingRecord struct {
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

// LogEntry is one decision with the findings behind it.
type LogEntry struct {
	flow.Decision
	Findings []FindingRecord `json:"findings,omitempty"`
}

// Log keeps decisions. All methods are safe for concurrent use.
type Log interface {
	// AppendDecisions adds entries, all or none; durable where the engine is.
	AppendDecisions(ctx context.Context, entries []LogEntry) error
	// Decision returns one entry, or secret.ErrNotFound.
	Decision(ctx context.Context, id string) (LogEntry, error)
	// FindingByID returns one finding and the id of its decision, or
	// secret.ErrNotFound.
	FindingByID(ctx context.Context, id string) (FindingRecord, string, error)
	// Decisions returns up to limit entries whose ids are greater than
	// after, in the order of their ids; after may be empty.
	Decisions(ctx context.Context, after string, limit int) ([]LogEntry, error)
}

// Store is all the state that a mediator needs from one engine.
type Store interface {
	secret.Store
	Log
	// Close releases the engine's resources.
	Close() error
}
