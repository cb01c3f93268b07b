package mediator

import (
	"context"
	"encoding/hex"
	"fmt"
	"time"

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

// Values keeps sealed values by their owner and the pseudonyms that stand for
// them. All methods are safe for concurrent use.
type Values interface {
	// PutValues keeps values, all or none; now is when they were used last.
	PutValues(ctx context.Context, owner [32]byte, values map[string][]byte, now time.Time) error
	// Value returns one, or secret.ErrNotFound.
	Value(ctx context.Context, owner [32]byte, name string) ([]byte, error)
}

// Store is all the state that a mediator needs from one engine.
type Store interface {
	secret.Store
	Log
	// Close releases the engine's resources.
	Close() error
}

// seal keeps the values that became pseudonyms, before these go anywhere. What
// was kept once in the trajectory is not kept again.
func (s *Session) seal(ctx context.Context) error {
	defer clear(s.replaced)
	if s.e.cfg.Values == nil || len(s.replaced) == 0 {
		return nil
	}
	values := map[string][]byte{}
	for name, raw := range s.replaced {
		if s.t.isSealed(name) {
			continue
		}
		sealed, err := s.e.cfg.Keys.SealValue(raw, sealContext(s.t.owner, name))
		if err != nil {
			return fmt.Errorf("seal: %w", err)
		}
		values[name] = sealed
	}
	if len(values) == 0 {
		return nil
	}
	if err := s.e.cfg.Values.PutValues(ctx, s.t.owner, values, s.now); err != nil {
		s.t.forget() // or the texts would be recalled and their values never kept
		return err
	}
	s.t.markSealed(values)
	return nil
}

// sealContext binds a sealed value to its place: moved to another trajectory,
// memory, caller or pseudonym it does not open.
func sealContext(owner [32]byte, name string) string {
	return hex.EncodeToString(owner[:]) + "/" + name
}
