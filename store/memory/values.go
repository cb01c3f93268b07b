package memory

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/margaydev/margay/secret"
)

// maxValues bounds the values behind pseudonyms. Beyond it those used longest
// ago go.
const maxValues = 200_000

// place is a pseudonym of an owner.
type place struct {
	owner [32]byte
	name  string
}

type value struct {
	sealed []byte
	used   time.Time
}

// PutValues keeps sealed values by the pseudonyms that stand for them, all or
// none. The owner is who may turn them back: a trajectory under one caller's
// credential. A pseudonym that is there gets the new value; now is when it was
// used last.
func (s *Store) PutValues(ctx context.Context, owner [32]byte, values map[string][]byte, now time.Time) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	for name, v := range values {
		if name == "" || len(v) == 0 {
			return errors.New("memory store: a value needs a pseudonym and must be sealed")
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, v := range values {
		s.values[place{owner, name}] = value{clone(v), stored(now)}
	}
	if len(s.values) > maxValues+maxValues/8 { // rarely: it sorts them all
		type old struct {
			at   place
			used time.Time
		}
		all := make([]old, 0, len(s.values))
		for at, v := range s.values {
			all = append(all, old{at, v.used})
		}
		slices.SortFunc(all, func(a, b old) int { return cmp.Compare(a.used.UnixMilli(), b.used.UnixMilli()) })
		for _, o := range all[:len(all)-maxValues] {
			delete(s.values, o.at)
		}
	}
	return nil
}

// Value returns the sealed value behind a pseudonym of an owner, or
// secret.ErrNotFound.
func (s *Store) Value(ctx context.Context, owner [32]byte, name string) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	v, ok := s.values[place{owner, name}]
	if !ok {
		return nil, secret.ErrNotFound
	}
	return clone(v.sealed), nil
}

// ForgetValues removes the values that were last used before a time, and
// returns how many.
func (s *Store) ForgetValues(ctx context.Context, before time.Time) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for at, v := range s.values {
		if v.used.Before(stored(before)) {
			delete(s.values, at)
			n++
		}
	}
	return n, nil
}
