// Package memory is a store that lasts as long as its process: for tests and
// for runs that must leave nothing behind.
package memory

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/margaydev/margay/confirm"
	"github.com/margaydev/margay/mediator"
	"github.com/margaydev/margay/secret"
)

// DefaultMaxDecisions is the bound on the log unless MaxDecisions sets another.
const DefaultMaxDecisions = 100_000

// Store implements mediator.Store. It is safe for concurrent use. Records that
// it takes and gives are copies: a caller may change its own afterwards.
type Store struct {
	maxDecisions int

	mu      sync.Mutex
	secrets map[string]secret.Record
	same    map[identity]string // the id of the record with a fingerprint and name
	allows  map[string]secret.Allow
	log     []logged // in the order of their ids
	arrived int64    // number of the last
	epoch   uint64
	values  map[place]value
	pins    map[[32]byte]map[[32]byte][32]byte // of servers

	questions map[string]*confirm.Row
	events    events
	book      book
}

// logged is an entry with its number in the order of arrival.
type logged struct {
	mediator.LogEntry
	arrived int64
}

// identity is what makes two records the same one under different ids.
type identity struct {
	fingerprint secret.Fingerprint
	name        string
}

var _ mediator.Store = (*Store)(nil)

// Option changes how a store behaves.
type Option func(*Store)

// MaxDecisions sets how many decisions the log holds. Beyond it, those with
// the lowest ids are dropped. It panics if n is less than 1.
func MaxDecisions(n int) Option {
	if n < 1 {
		panic("memory: MaxDecisions needs at least 1")
	}
	return func(s *Store) { s.maxDecisions = n }
}

// New returns an empty store.
func New(opts ...Option) *Store {
	s := &Store{
		maxDecisions: DefaultMaxDecisions,
		secrets:      map[string]secret.Record{},
		same:         map[identity]string{},
		allows:       map[string]secret.Allow{},
		values:       map[place]value{},
		pins:         map[[32]byte]map[[32]byte][32]byte{},
	}
	for _, o := range opts {
		o(s)
	}
	return s
}

// Close does nothing: what is in memory stays usable until it is dropped.
func (s *Store) Close() error { return nil }

// PutSecrets implements secret.Store. A record needs an ID and a Fingerprint.
func (s *Store) PutSecrets(ctx context.Context, recs []secret.Record) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	for i := range recs {
		if recs[i].ID == "" || recs[i].Fingerprint.IsZero() {
			return errors.New("memory store: a secret needs an id and a fingerprint")
		}
	}
	if len(recs) == 0 {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range recs {
		r := cloned(recs[i])
		r.Created, r.Expires = stored(r.Created), stored(r.Expires)
		key := identity{r.Fingerprint, r.Name}
		if old, ok := s.secrets[r.ID]; ok {
			delete(s.same, identity{old.Fingerprint, old.Name})
		}
		if id, ok := s.same[key]; ok {
			delete(s.secrets, id)
		}
		s.secrets[r.ID], s.same[key] = r, r.ID
	}
	s.epoch++
	return nil
}

// cloned returns r with byte slices of its own, nil where they are empty.
func cloned(r secret.Record) secret.Record {
	r.Print, r.Sealed = clone(r.Print), clone(r.Sealed)
	return r
}

// clone returns a copy of s, nil where s is empty.
func clone[T any](s []T) []T { return append([]T(nil), s...) }

// stored brings t to the precision that every engine keeps.
func stored(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return t.UTC().Truncate(time.Millisecond)
}

// DeleteSecret implements secret.Store.
func (s *Store) DeleteSecret(ctx context.Context, id string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	r, ok := s.secrets[id]
	if !ok {
		return secret.ErrNotFound
	}
	delete(s.secrets, id)
	delete(s.same, identity{r.Fingerprint, r.Name})
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
			if !yield(cloned(r), nil) {
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
	switch {
	case a.ID == "":
		return errors.New("memory store: an allowance needs an id")
	case a.Fingerprint.IsZero() && a.Rule == "":
		return errors.New("memory store: an allowance needs a fingerprint or a rule, or it would allow everything")
	case a.Path != "" && a.Rule == "":
		return errors.New("memory store: an allowance by path needs a rule")
	}
	a.Created, a.Expires = stored(a.Created), stored(a.Expires)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.allows[a.ID] = a
	s.epoch++
	return nil
}

// DeleteAllow implements secret.Store.
func (s *Store) DeleteAllow(ctx context.Context, id string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.allows[id]; !ok {
		return secret.ErrNotFound
	}
	delete(s.allows, id)
	s.epoch++
	return nil
}

// Allows implements secret.Store.
func (s *Store) Allows(ctx context.Context) ([]secret.Allow, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return sorted(s.allows, func(a secret.Allow) string { return a.ID }), nil
}

// Epoch implements secret.Store.
func (s *Store) Epoch(ctx context.Context) (uint64, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.epoch, nil
}

// AppendDecisions implements mediator.Log. An entry with the ID of one that is
// there replaces it. Once the log is full, the entries with the lowest ids are
// dropped.
func (s *Store) AppendDecisions(ctx context.Context, entries []mediator.LogEntry) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	for i := range entries {
		if entries[i].ID == "" {
			return errors.New("memory store: a decision needs an id")
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range entries {
		en := clonedEntry(entries[i])
		en.At = stored(en.At)
		at, ok := s.find(en.ID)
		if ok {
			s.log[at].LogEntry = en
			continue
		}
		s.arrived++
		s.log = slices.Insert(s.log, at, logged{en, s.arrived})
		if len(s.log) > s.maxDecisions {
			// Cutting at the front moves nothing; the slot is cleared so
			// that its findings can be collected before the array is.
			s.log[0] = logged{}
			s.log = s.log[1:]
		}
	}
	return nil
}

func clonedEntry(en mediator.LogEntry) mediator.LogEntry {
	en.Reasons, en.Findings = clone(en.Reasons), clone(en.Findings)
	return en
}

func (s *Store) find(id string) (int, bool) {
	return slices.BinarySearchFunc(s.log, id, func(e logged, id string) int { return strings.Compare(e.ID, id) })
}

// Decision implements mediator.Log.
func (s *Store) Decision(ctx context.Context, id string) (mediator.LogEntry, error) {
	if err := ctx.Err(); err != nil {
		return mediator.LogEntry{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if i, ok := s.find(id); ok {
		return clonedEntry(s.log[i].LogEntry), nil
	}
	return mediator.LogEntry{}, secret.ErrNotFound
}

// FindingByID implements mediator.Log. Where several decisions list one
// finding, the one with the greatest id answers. It looks through the log from
// its newest entry back.
func (s *Store) FindingByID(ctx context.Context, id string) (mediator.FindingRecord, string, error) {
	if err := ctx.Err(); err != nil {
		return mediator.FindingRecord{}, "", err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := len(s.log) - 1; i >= 0 && id != ""; i-- {
		for _, f := range s.log[i].Findings {
			if f.ID == id {
				return f, s.log[i].ID, nil
			}
		}
	}
	return mediator.FindingRecord{}, "", secret.ErrNotFound
}

// Decisions implements mediator.Log.
func (s *Store) Decisions(ctx context.Context, after string, limit int) ([]mediator.LogEntry, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	i, ok := s.find(after)
	if ok {
		i++
	}
	out := make([]mediator.LogEntry, 0, min(len(s.log)-i, max(0, limit)))
	for _, en := range s.log[i : i+cap(out)] {
		out = append(out, clonedEntry(en.LogEntry))
	}
	return out, nil
}

// Arrived returns up to limit entries in the order in which they were added,
// beginning behind the one that had the number after, and the number of the
// last of them. It looks through the whole log.
func (s *Store) Arrived(ctx context.Context, after int64, limit int) ([]mediator.LogEntry, int64, error) {
	if err := ctx.Err(); err != nil {
		return nil, after, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []logged
	for _, en := range s.log {
		if en.arrived > after {
			found = append(found, en)
		}
	}
	slices.SortFunc(found, func(a, b logged) int { return cmp.Compare(a.arrived, b.arrived) })
	var out []mediator.LogEntry
	for _, en := range found[:min(len(found), max(0, limit))] {
		out, after = append(out, clonedEntry(en.LogEntry)), en.arrived
	}
	return out, after, nil
}

// LastArrival returns the number of the entry that was added last.
func (s *Store) LastArrival(ctx context.Context) (int64, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.arrived, nil
}
