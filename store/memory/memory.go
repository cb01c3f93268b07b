// Package memory is a store that lasts as long as its process: for tests and
// for runs that must leave nothing behind.
package memory

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"sync"

	"github.com/margaydev/margay/mediator"
	"github.com/margaydev/margay/secret"
)

// maxDecisions bounds the log; the oldest are dropped.
const maxDecisions = 100000

// Store implements mediator.Store. It is safe for concurrent use.
type Store struct {
	mu      sync.Mutex
	secrets map[string]secret.Record
	allows  map[string]secret.Allow
	log     []mediator.LogEntry // in the order of their ids
	epoch   uint64
}

var _ mediator.Store = (*Store)(nil)

// New returns an empty store.
func New() *Store {
	return &Store{secrets: map[string]secret.Record{}, allows: map[string]secret.Allow{}}
}

// Close does nothing.
func (s *Store) Close() error { return nil }

// PutSecrets implements secret.Store.
func (s *Store) PutSecrets(ctx context.Context, recs []secret.Record) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	for _, r := range recs {
		if r.ID == "" {
			return errors.New("memory store: secret without id")
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range recs {
		for id, o := range s.secrets {
			if o.Fingerprint == r.Fingerprint && o.Name == r.Name {
				delete(s.secrets, id)
			}
		}
		r.Print, r.Sealed = slices.Clone(r.Print), slices.Clone(r.Sealed)
		s.secrets[r.ID] = r
	}
	s.epoch++
	return nil
}

// DeleteSecret implements secret.Store.
func (s *Store) DeleteSecret(ctx context.Context, id string) error {
	return remove(ctx, s, s.secrets, id)
}

func remove[T any](ctx context.Context, s *Store, m map[string]T, id string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := m[id]; !ok {
		return secret.ErrNotFound
	}
	delete(m, id)
	s.epoch++
	return nil
}

// Secrets implements secret.Store. It yields what was stored when it began.
func (s *Store) Secrets(ctx context.Context) iter.Seq2[secret.Record, error] {
	return func(yield func(secret.Record, error) bool) {
		s.mu.Lock()
		recs := sorted(s.secrets, func(r secret.Record) string { return r.ID })
		s.mu.Unlock()
		for _, r := range recs {
			if err := ctx.Err(); err != nil {
				yield(secret.Record{}, err)
				return
			}
			if !yield(r, nil) {
				return
			}
		}
	}
}

func sorted[T any](m map[string]T, id func(T) string) []T {
	out := make([]T, 0, len(m))
	for _, v := range m {
		out = append(out, v)
	}
	slices.SortFunc(out, func(a, b T) int { return strings.Compare(id(a), id(b)) })
	return out
}

// PutAllow implements secret.Store.
func (s *Store) PutAllow(ctx context.Context, a secret.Allow) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if a.ID == "" {
		return errors.New("memory store: allowance without id")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.allows[a.ID] = a
	s.epoch++
	return nil
}

// DeleteAllow implements secret.Store.
func (s *Store) DeleteAllow(ctx context.Context, id string) error {
	return remove(ctx, s, s.allows, id)
}

// Allows implements secret.Store.
func (s *Store) Allows(ctx context.Context) ([]secret.Allow, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return sorted(s.allows, func(a secret.Allow) string { return a.ID }), ctx.Err()
}

// Epoch implements secret.Store.
func (s *Store) Epoch(ctx context.Context) (uint64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.epoch, ctx.Err()
}

// AppendDecisions implements mediator.Log.
func (s *Store) AppendDecisions(ctx context.Context, entries []mediator.LogEntry) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	for i := range entries {
		if entries[i].ID == "" {
			return errors.New("memory store: decision without id")
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, en := range entries {
		i, ok := s.find(en.ID)
		if ok {
			s.log[i] = en
			continue
		}
		s.log = slices.Insert(s.log, i, en)
	}
	if n := len(s.log) - maxDecisions; n > 0 {
		s.log = slices.Delete(s.log, 0, n)
	}
	return nil
}

func (s *Store) find(id string) (int, bool) {
	return slices.BinarySearchFunc(s.log, id, func(e mediator.LogEntry, id string) int { return strings.Compare(e.ID, id) })
}

// Decision implements mediator.Log.
func (s *Store) Decision(ctx context.Context, id string) (mediator.LogEntry, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i, ok := s.find(id); ok {
		return s.log[i], ctx.Err()
	}
	return mediator.LogEntry{}, secret.ErrNotFound
}

// FindingByID implements mediator.Log.
func (s *Store) FindingByID(ctx context.Context, id string) (mediator.FindingRecord, string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.log {
		for _, f := range s.log[i].Findings {
			if f.ID == id {
				return f, s.log[i].ID, ctx.Err()
			}
		}
	}
	return mediator.FindingRecord{}, "", secret.ErrNotFound
}

// Decisions implements mediator.Log.
func (s *Store) Decisions(ctx context.Context, after string, limit int) ([]mediator.LogEntry, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i, ok := s.find(after)
	if ok {
		i++
	}
	return slices.Clone(s.log[i:min(len(s.log), i+max(0, limit))]), ctx.Err()
}
