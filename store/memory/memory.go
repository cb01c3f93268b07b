// Package memory is a store that lasts as long as its process: for tests and
// for runs that must leave nothing behind.
package memory

import (
	"cmp"
	"context"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/margaydev/margay/confirm"
	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/ledger/charge"
	"github.com/margaydev/margay/mediator/audit"
	"github.com/margaydev/margay/secret"
	"github.com/margaydev/margay/store"
)

// Defaults of a store's bounds.
const (
	DefaultMaxDecisions = 100_000
	DefaultMaxEvents    = 20_000
)

// Store is the state of one engine. It is safe for concurrent use. Records that
// it takes and returns are copies: a caller may change its own afterwards.
type Store struct {
	// MaxDecisions and MaxEvents bound the log and the events; New sets them to
	// their defaults. They may be changed before the store is used. Beyond them
	// the decisions with the lowest ids, and the oldest events, are discarded.
	MaxDecisions, MaxEvents int

	mu      sync.Mutex
	secrets map[string]secret.Record
	same    map[identity]string // the id of the record with a fingerprint and name
	allows  map[string]secret.Allow
	log     []logged // in the order of their ids
	arrived int64    // number of the last
	epoch   uint64
	values  map[place]value
	pins    map[[32]byte]map[[32]byte][32]byte // of servers

	said      map[[32]byte][]saidRow // in order, by caller
	saidLast  int64
	questions map[string]*confirm.Row
	places    placed
	events    events
	book      book
}

// logged is an entry with its number in the order of arrival.
type logged struct {
	audit.Entry
	arrived int64
}

// identity is what makes two records the same one under different ids.
type identity struct {
	fingerprint secret.Fingerprint
	name        string
}

// New returns an empty store.
func New() *Store {
	return &Store{
		MaxDecisions: DefaultMaxDecisions,
		MaxEvents:    DefaultMaxEvents,
		secrets:      map[string]secret.Record{},
		same:         map[identity]string{},
		allows:       map[string]secret.Allow{},
		values:       map[place]value{},
		pins:         map[[32]byte]map[[32]byte][32]byte{},
		said:         map[[32]byte][]saidRow{},
		questions:    map[string]*confirm.Row{},
		places:       placed{rows: map[[32]byte]placeRow{}},
		book:         book{families: map[flow.TrajectoryID]*chain{}, rubrics: map[charge.Hash][]byte{}},
		events: events{
			sums: map[flow.TrajectoryID]*audit.Summary{}, tallies: map[audit.Tally]int{}, hits: map[secret.Fingerprint]audit.Hit{},
		},
	}
}

// Close does nothing: what is in memory stays usable until it is dropped.
func (s *Store) Close() error { return nil }

// do runs f while nothing else uses the store.
func (s *Store) do(ctx context.Context, f func() error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return f()
}

// locked is do with a result.
func locked[T any](ctx context.Context, s *Store, f func() (T, error)) (out T, err error) {
	err = s.do(ctx, func() (err error) {
		out, err = f()
		return err
	})
	return out, err
}

// get returns a copy of a value, or missing where there is none.
func get[K comparable, V, T any](ctx context.Context, s *Store, from map[K]V, key K, missing error, copied func(V) T) (T, error) {
	return locked(ctx, s, func() (T, error) {
		if v, ok := from[key]; ok {
			return copied(v), nil
		}
		return *new(T), missing
	})
}

// snapshot yields what f returns when the iteration starts.
func snapshot[T any](ctx context.Context, s *Store, f func() []T) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		s.mu.Lock()
		all := f()
		s.mu.Unlock()
		for _, one := range all {
			if err := ctx.Err(); err != nil {
				yield(*new(T), err)
				return
			}
			if !yield(one, nil) {
				return
			}
		}
	}
}

// PutSecrets implements secret.Store. A record needs an ID and a Fingerprint.
func (s *Store) PutSecrets(ctx context.Context, recs []secret.Record) error {
	if err := store.CheckRecords(recs); err != nil {
		return err
	}
	if len(recs) == 0 {
		return ctx.Err()
	}
	return s.change(ctx, func() error {
		for i := range recs {
			r := cloned(recs[i])
			r.Created, r.Expires = store.Moment(r.Created), store.Moment(r.Expires)
			key := identity{r.Fingerprint, r.Name}
			if old, ok := s.secrets[r.ID]; ok {
				delete(s.same, identity{old.Fingerprint, old.Name})
			}
			if id, ok := s.same[key]; ok {
				delete(s.secrets, id)
			}
			s.secrets[r.ID], s.same[key] = r, r.ID
		}
		return nil
	})
}

// change is do, and moves the epoch on where f changes something.
func (s *Store) change(ctx context.Context, f func() error) error {
	return s.do(ctx, func() error {
		err := f()
		if err == nil {
			s.epoch++
		}
		return err
	})
}

// cloned returns r with byte slices of its own, nil where they are empty.
func cloned(r secret.Record) secret.Record {
	r.Print, r.Sealed = clone(r.Print), clone(r.Sealed)
	return r
}

// clone returns a copy of s, nil where s is empty.
func clone[T any](s []T) []T { return append([]T(nil), s...) }

// DeleteSecret implements secret.Store.
func (s *Store) DeleteSecret(ctx context.Context, id string) error {
	return s.change(ctx, func() error {
		r, ok := s.secrets[id]
		if !ok {
			return secret.ErrNotFound
		}
		delete(s.secrets, id)
		delete(s.same, identity{r.Fingerprint, r.Name})
		return nil
	})
}

// Secrets implements secret.Store. It yields what was stored when it started.
func (s *Store) Secrets(ctx context.Context) iter.Seq2[secret.Record, error] {
	all := snapshot(ctx, s, func() []secret.Record { return sorted(s.secrets) })
	return func(yield func(secret.Record, error) bool) {
		for r, err := range all {
			if !yield(cloned(r), err) {
				return
			}
		}
	}
}

// sorted returns the values of m in the order of their keys.
func sorted[T any](m map[string]T) []T {
	out := make([]T, 0, len(m))
	for _, id := range slices.Sorted(maps.Keys(m)) {
		out = append(out, m[id])
	}
	return out
}

// PutAllow implements secret.Store.
func (s *Store) PutAllow(ctx context.Context, a secret.Allow) error {
	if err := store.CheckAllow(&a); err != nil {
		return err
	}
	a.Created, a.Expires = store.Moment(a.Created), store.Moment(a.Expires)
	return s.change(ctx, func() error {
		s.allows[a.ID] = a
		return nil
	})
}

// DeleteAllow implements secret.Store.
func (s *Store) DeleteAllow(ctx context.Context, id string) error {
	return s.change(ctx, func() error {
		if _, ok := s.allows[id]; !ok {
			return secret.ErrNotFound
		}
		delete(s.allows, id)
		return nil
	})
}

// Allows implements secret.Store.
func (s *Store) Allows(ctx context.Context) ([]secret.Allow, error) {
	return locked(ctx, s, func() ([]secret.Allow, error) { return sorted(s.allows), nil })
}

// Writable reports nothing: memory can be written to.
func (s *Store) Writable(ctx context.Context) error {
	return s.do(ctx, func() error { return nil })
}

// Epoch implements secret.Store.
func (s *Store) Epoch(ctx context.Context) (uint64, error) {
	return locked(ctx, s, func() (uint64, error) { return s.epoch, nil })
}

// AppendDecisions implements audit.Log. An entry with the ID of one that is
// there replaces it. Once the log is full, the entries with the lowest ids are
// dropped.
func (s *Store) AppendDecisions(ctx context.Context, entries []audit.Entry) error {
	if err := store.CheckEntries(entries); err != nil {
		return err
	}
	return s.do(ctx, func() error {
		for i := range entries {
			en := clonedEntry(entries[i])
			en.At = store.Moment(en.At)
			at, ok := s.find(en.ID)
			if ok {
				s.log[at].Entry = en
				continue
			}
			s.arrived++
			s.log = slices.Insert(s.log, at, logged{en, s.arrived})
			if len(s.log) > s.MaxDecisions {
				// Cutting at the front moves nothing; the slot is cleared so
				// that its findings can be collected before the array is.
				s.log[0] = logged{}
				s.log = s.log[1:]
			}
		}
		return nil
	})
}

func clonedEntry(en audit.Entry) audit.Entry {
	en.Reasons, en.Findings = clone(en.Reasons), clone(en.Findings)
	return en
}

func (s *Store) find(id string) (int, bool) {
	return slices.BinarySearchFunc(s.log, id, func(e logged, id string) int { return strings.Compare(e.ID, id) })
}

// Decision implements audit.Log.
func (s *Store) Decision(ctx context.Context, id string) (audit.Entry, error) {
	return locked(ctx, s, func() (audit.Entry, error) {
		if i, ok := s.find(id); ok {
			return clonedEntry(s.log[i].Entry), nil
		}
		return audit.Entry{}, secret.ErrNotFound
	})
}

// FindingByID implements audit.Log. Where several decisions list one
// finding, the one with the greatest id answers. It looks through the log from
// its newest entry back.
func (s *Store) FindingByID(ctx context.Context, id string) (f audit.Finding, decision string, err error) {
	err = s.do(ctx, func() error {
		for i := len(s.log) - 1; i >= 0 && id != ""; i-- {
			for _, f = range s.log[i].Findings {
				if f.ID == id {
					decision = s.log[i].ID
					return nil
				}
			}
		}
		f = audit.Finding{}
		return secret.ErrNotFound
	})
	return f, decision, err
}

// Decisions implements audit.Log.
func (s *Store) Decisions(ctx context.Context, after string, limit int) ([]audit.Entry, error) {
	return locked(ctx, s, func() ([]audit.Entry, error) {
		i, ok := s.find(after)
		if ok {
			i++
		}
		return entriesOf(s.log[i:], limit), nil
	})
}

// entriesOf returns up to limit of the entries.
func entriesOf(log []logged, limit int) []audit.Entry {
	out := make([]audit.Entry, min(len(log), max(0, limit)))
	for i := range out {
		out[i] = clonedEntry(log[i].Entry)
	}
	return out
}

// Arrived returns up to limit entries in the order in which they were added,
// from behind the one with the number after, and the number of the last of
// them. It looks through the whole log.
func (s *Store) Arrived(ctx context.Context, after int64, limit int) (out []audit.Entry, last int64, err error) {
	last = after
	err = s.do(ctx, func() error {
		later := slices.DeleteFunc(slices.Clone(s.log), func(en logged) bool { return en.arrived <= after })
		slices.SortFunc(later, func(a, b logged) int { return cmp.Compare(a.arrived, b.arrived) })
		if out = entriesOf(later, limit); len(out) > 0 {
			last = later[len(out)-1].arrived
		}
		return nil
	})
	return out, last, err
}

// LastArrival returns the number of the entry that was added last.
func (s *Store) LastArrival(ctx context.Context) (int64, error) {
	return locked(ctx, s, func() (int64, error) { return s.arrived, nil })
}
