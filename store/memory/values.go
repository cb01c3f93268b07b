package memory

import (
	"bytes"
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/margaydev/margay/confirm"
	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/secret"
	"github.com/margaydev/margay/store"
)

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
// none. Only their owner may turn them back: a trajectory under one caller's
// credential. A pseudonym that is there gets the new value; now is when it was
// used last.
func (s *Store) PutValues(ctx context.Context, owner [32]byte, values map[string][]byte, now time.Time) error {
	if err := store.CheckValues(values); err != nil {
		return err
	}
	return s.do(ctx, func() error {
		for name, v := range values {
			s.values[place{owner, name}] = value{clone(v), store.Moment(now)}
		}
		if len(s.values) > store.MaxValues+store.MaxValues/8 { // rarely: it sorts them all
			all := slices.SortedFunc(maps.Keys(s.values), func(a, b place) int {
				return cmp.Compare(s.values[a].used.UnixMilli(), s.values[b].used.UnixMilli())
			})
			for _, at := range all[:len(all)-store.MaxValues] {
				delete(s.values, at)
			}
		}
		return nil
	})
}

// Value returns the sealed value behind a pseudonym of an owner, or
// secret.ErrNotFound.
func (s *Store) Value(ctx context.Context, owner [32]byte, name string) ([]byte, error) {
	return get(ctx, s, s.values, place{owner, name}, secret.ErrNotFound, func(v value) []byte { return clone(v.sealed) })
}

// ForgetValues removes the values that were last used before a time, and
// returns how many.
func (s *Store) ForgetValues(ctx context.Context, before time.Time) (int, error) {
	return locked(ctx, s, func() (int, error) {
		n := len(s.values)
		maps.DeleteFunc(s.values, func(_ place, v value) bool { return v.used.Before(store.Moment(before)) })
		return n - len(s.values), nil
	})
}

type saidRow struct {
	seq int64
	row []byte
}

// PutSaid implements session.Said.
func (s *Store) PutSaid(ctx context.Context, caller [32]byte, rows [][]byte) error {
	return s.do(ctx, func() error {
		for _, row := range rows {
			s.saidLast++
			s.said[caller] = append(s.said[caller], saidRow{s.saidLast, bytes.Clone(row)})
		}
		if all := s.said[caller]; len(all) > store.MaxSaidOne {
			s.said[caller] = slices.Clone(all[len(all)-store.MaxSaidOne:])
		}
		if n := s.saidLast - store.MaxSaid; n > 0 && n%1024 < int64(len(rows)) { // rarely: it looks at all
			for c, all := range s.said {
				s.said[c] = slices.DeleteFunc(all, func(r saidRow) bool { return r.seq <= n })
			}
			maps.DeleteFunc(s.said, func(_ [32]byte, all []saidRow) bool { return len(all) == 0 })
		}
		return nil
	})
}

// Said implements session.Said.
func (s *Store) Said(ctx context.Context, caller [32]byte, after int64) (rows [][]byte, last int64, err error) {
	err = s.do(ctx, func() error {
		for _, r := range s.said[caller] {
			if r.seq > max(after, s.saidLast-store.MaxSaid) {
				rows, after = append(rows, bytes.Clone(r.row)), r.seq
			}
		}
		return nil
	})
	return rows, after, err
}

// Pinned implements pin.Store.
func (s *Store) Pinned(ctx context.Context, server [32]byte) (map[[32]byte][32]byte, error) {
	return locked(ctx, s, func() (map[[32]byte][32]byte, error) { return maps.Clone(s.pins[server]), nil })
}

// Pin implements pin.Store.
func (s *Store) Pin(ctx context.Context, server [32]byte, tools map[[32]byte][32]byte) error {
	return s.do(ctx, func() error {
		if s.pins[server] == nil {
			s.pins[server] = map[[32]byte][32]byte{}
		}
		maps.Copy(s.pins[server], tools)
		return nil
	})
}

// Unpin implements pin.Store.
func (s *Store) Unpin(ctx context.Context, server [32]byte) (int, error) {
	return locked(ctx, s, func() (int, error) {
		n := len(s.pins[server])
		delete(s.pins, server)
		return n, nil
	})
}

// PutQuestion implements confirm.Store.
func (s *Store) PutQuestion(ctx context.Context, r confirm.Row) error {
	return s.do(ctx, func() error {
		r.Sealed = bytes.Clone(r.Sealed)
		s.questions[r.ID] = &r
		if len(s.questions) > store.MaxQuestions {
			oldest := r.ID
			for id := range s.questions {
				oldest = min(oldest, id)
			}
			delete(s.questions, oldest)
		}
		return nil
	})
}

// Question implements confirm.Store.
func (s *Store) Question(ctx context.Context, id string) (confirm.Row, error) {
	return get(ctx, s, s.questions, id, confirm.ErrNotFound, row)
}

func row(r *confirm.Row) confirm.Row {
	out := *r
	out.Sealed = bytes.Clone(r.Sealed)
	return out
}

// asked returns the questions that are wanted, the oldest first.
func (s *Store) asked(ctx context.Context, wanted func(*confirm.Row) bool) ([]confirm.Row, error) {
	return locked(ctx, s, func() ([]confirm.Row, error) {
		var out []confirm.Row
		for _, r := range s.questions {
			if wanted(r) {
				out = append(out, row(r))
			}
		}
		slices.SortFunc(out, func(a, b confirm.Row) int { return strings.Compare(a.ID, b.ID) })
		return out, nil
	})
}

// Questions implements confirm.Store.
func (s *Store) Questions(ctx context.Context, now time.Time, all bool, limit int) ([]confirm.Row, error) {
	out, err := s.asked(ctx, func(r *confirm.Row) bool { return all || r.Refuses(now) == nil })
	if all {
		return out[max(0, len(out)-limit):], err
	}
	return out[:min(limit, len(out))], err
}

// AnswerQuestion implements confirm.Store.
func (s *Store) AnswerQuestion(ctx context.Context, id string, a confirm.Answer, by string, now time.Time) error {
	return s.do(ctx, func() error {
		r, ok := s.questions[id]
		if !ok {
			return confirm.ErrNotFound
		}
		if err := r.Refuses(now); err != nil {
			return err
		}
		r.Answer, r.By, r.Answered = a, by, store.Moment(now)
		return nil
	})
}

// UseAnswer implements confirm.Store.
func (s *Store) UseAnswer(ctx context.Context, id string, digest [32]byte, now time.Time) (bool, error) {
	return locked(ctx, s, func() (bool, error) {
		r, ok := s.questions[id]
		if !ok || r.Used || r.Digest != digest || r.Answer != confirm.Once && r.Answer != confirm.Trajectory || !now.Before(r.Expires) {
			return false, nil
		}
		r.Used = true
		return true, nil
	})
}

// Grants implements confirm.Store.
func (s *Store) Grants(ctx context.Context, t flow.TrajectoryID, limit int) ([]confirm.Row, error) {
	out, err := s.asked(ctx, func(r *confirm.Row) bool { return r.Trajectory == t && r.Answer == confirm.Trajectory })
	slices.Reverse(out)
	return out[:min(limit, len(out))], err
}
