package sqlite

import (
	"context"
	"time"

	"github.com/margaydev/margay/confirm"
	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/secret"
	"github.com/margaydev/margay/store"
)

// PutValues keeps sealed values by the pseudonyms that stand for them, all or
// none. Only their owner may turn them back: a trajectory under one caller's
// credential. A pseudonym that is there gets the new value; now is when it was
// used last. The store cannot read what it keeps: secret.Keys.SealValue makes
// it, under a key that is not in the store.
func (s *Store) PutValues(ctx context.Context, owner [32]byte, values map[string][]byte, now time.Time) error {
	if err := store.CheckValues(values); err != nil {
		return err
	}
	if len(values) == 0 {
		return ctx.Err()
	}
	return s.transact(ctx, func(t *tx) error {
		for name, v := range values {
			t.exec(`INSERT INTO pseudonyms (owner, name, sealed, used) VALUES (?,?,?,?)
				ON CONFLICT (owner, name) DO UPDATE SET sealed = excluded.sealed, used = excluded.used`, owner[:], name, v, now.UnixMilli())
		}
		t.exec(`DELETE FROM pseudonyms WHERE (owner, name) IN
			(SELECT owner, name FROM pseudonyms ORDER BY used LIMIT max(0, (SELECT count(*) FROM pseudonyms) - ?))`, store.MaxValues)
		return nil
	})
}

// Value returns the sealed value behind a pseudonym of an owner, or
// secret.ErrNotFound.
func (s *Store) Value(ctx context.Context, owner [32]byte, name string) ([]byte, error) {
	return one(ctx, s, secret.ErrNotFound, value[[]byte], "SELECT sealed FROM pseudonyms WHERE owner = ? AND name = ?", owner[:], name)
}

// ForgetValues removes the values that were last used before a time, and
// returns how many. SQLite overwrites them.
func (s *Store) ForgetValues(ctx context.Context, before time.Time) (int, error) {
	n, err := s.exec(ctx, "DELETE FROM pseudonyms WHERE used < ?", before.UnixMilli())
	return int(n), err
}

// PutSaid implements session.Said.
func (s *Store) PutSaid(ctx context.Context, caller [32]byte, rows [][]byte) error {
	return s.transact(ctx, func(t *tx) error {
		for _, row := range rows {
			t.exec("INSERT INTO said (caller, sealed) VALUES (?,?)", caller[:], row)
		}
		t.exec("DELETE FROM said WHERE caller = ?1 AND seq <= (SELECT seq FROM said WHERE caller = ?1 ORDER BY seq DESC LIMIT 1 OFFSET ?2)", caller[:], store.MaxSaidOne)
		t.exec("DELETE FROM said WHERE seq <= (SELECT max(seq) FROM said) - ?", store.MaxSaid)
		return nil
	})
}

// Said implements session.Said.
func (s *Store) Said(ctx context.Context, caller [32]byte, after int64) (rows [][]byte, last int64, err error) {
	type said struct {
		seq int64
		row []byte
	}
	all, err := list(ctx, s, func(r *said) []any { return []any{&r.seq, &r.row} }, "SELECT seq, sealed FROM said WHERE caller = ? AND seq > ? ORDER BY seq", caller[:], after)
	for _, r := range all {
		rows, after = append(rows, r.row), r.seq
	}
	return rows, after, err
}

// Pinned implements pin.Store.
func (s *Store) Pinned(ctx context.Context, server [32]byte) (map[[32]byte][32]byte, error) {
	type pin struct{ tool, looks [32]byte }
	pins, err := list(ctx, s, func(p *pin) []any { return []any{fixed(p.tool[:]), fixed(p.looks[:])} }, "SELECT tool, looks FROM pins WHERE server = ?", server[:])
	out := make(map[[32]byte][32]byte, len(pins))
	for _, p := range pins {
		out[p.tool] = p.looks
	}
	return out, err
}

// Pin implements pin.Store.
func (s *Store) Pin(ctx context.Context, server [32]byte, tools map[[32]byte][32]byte) error {
	if len(tools) == 0 {
		return ctx.Err()
	}
	return s.transact(ctx, func(t *tx) error {
		for tool, looks := range tools {
			t.exec(`INSERT INTO pins (server, tool, looks) VALUES (?,?,?)
				ON CONFLICT (server, tool) DO UPDATE SET looks = excluded.looks`, server[:], tool[:], looks[:])
		}
		return nil
	})
}

// Unpin implements pin.Store.
func (s *Store) Unpin(ctx context.Context, server [32]byte) (int, error) {
	n, err := s.exec(ctx, "DELETE FROM pins WHERE server = ?", server[:])
	return int(n), err
}

const (
	questionColumns = "id, trajectory, digest, granted, sealed, asked, expires, answer, answered_by, answered, used"
	questionByID    = "SELECT " + questionColumns + " FROM questions WHERE id = ?"
)

func questionInto(r *confirm.Row) []any {
	return []any{
		&r.ID, &r.Trajectory, fixed(r.Digest[:]), fixed(r.Grant[:]), &r.Sealed,
		moment{&r.Asked},
		moment{&r.Expires},
		&r.Answer, &r.By,
		moment{&r.Answered},
		&r.Used,
	}
}

// PutQuestion implements confirm.Store.
func (s *Store) PutQuestion(ctx context.Context, r confirm.Row) error {
	return s.transact(ctx, func(t *tx) error {
		t.exec("INSERT INTO questions ("+questionColumns+") VALUES (?,?,?,?,?,?,?,'','',NULL,0)",
			r.ID, string(r.Trajectory), r.Digest[:], r.Grant[:], r.Sealed, r.Asked.UnixMilli(), r.Expires.UnixMilli())
		t.exec("DELETE FROM questions WHERE id IN (SELECT id FROM questions ORDER BY id DESC LIMIT -1 OFFSET ?)", store.MaxQuestions)
		return nil
	})
}

// Question implements confirm.Store.
func (s *Store) Question(ctx context.Context, id string) (confirm.Row, error) {
	return one(ctx, s, confirm.ErrNotFound, questionInto, questionByID, id)
}

// Questions implements confirm.Store.
func (s *Store) Questions(ctx context.Context, now time.Time, all bool, limit int) ([]confirm.Row, error) {
	if all {
		return list(ctx, s, questionInto, "SELECT * FROM (SELECT "+questionColumns+" FROM questions ORDER BY id DESC LIMIT ?) ORDER BY id", limit)
	}
	return list(ctx, s, questionInto, "SELECT "+questionColumns+" FROM questions WHERE answer = '' AND expires > ? ORDER BY id LIMIT ?", now.UnixMilli(), limit)
}

// AnswerQuestion implements confirm.Store.
func (s *Store) AnswerQuestion(ctx context.Context, id string, a confirm.Answer, by string, now time.Time) error {
	return s.transact(ctx, func(t *tx) error {
		var r confirm.Row
		if !t.row(questionInto(&r), questionByID, id) {
			return confirm.ErrNotFound
		}
		if err := r.Refuses(now); err != nil {
			return err
		}
		t.exec("UPDATE questions SET answer = ?, answered_by = ?, answered = ? WHERE id = ?", string(a), by, now.UnixMilli(), id)
		return nil
	})
}

// UseAnswer implements confirm.Store.
func (s *Store) UseAnswer(ctx context.Context, id string, digest [32]byte, now time.Time) (bool, error) {
	n, err := s.exec(ctx, `UPDATE questions SET used = 1
		WHERE id = ? AND digest = ? AND used = 0 AND answer IN ('once', 'trajectory') AND expires > ?`, id, digest[:], now.UnixMilli())
	return n == 1, err
}

// Grants implements confirm.Store.
func (s *Store) Grants(ctx context.Context, t flow.TrajectoryID, limit int) ([]confirm.Row, error) {
	return list(ctx, s, questionInto,
		"SELECT "+questionColumns+" FROM questions WHERE trajectory = ? AND answer = 'trajectory' ORDER BY id DESC LIMIT ?", string(t), limit)
}
