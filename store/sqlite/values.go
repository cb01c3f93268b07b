package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/margaydev/margay/secret"
)

// maxValues bounds the values behind pseudonyms. Beyond it those used longest
// ago go.
const maxValues = 200_000

// PutValues keeps sealed values by the pseudonyms that stand for them, all or
// none. The owner is who may turn them back: a trajectory under one caller's
// credential. A pseudonym that is there gets the new value; now is when it was
// used last. What is kept is opaque here: secret.Keys.SealValue makes it, under
// a key that is not in the store.
func (s *Store) PutValues(ctx context.Context, owner [32]byte, values map[string][]byte, now time.Time) error {
	for name, v := range values {
		if name == "" || len(v) == 0 {
			return errors.New("sqlite store: a value needs a pseudonym and must be sealed")
		}
	}
	if len(values) == 0 {
		return ctx.Err()
	}
	return s.transact(ctx, func(tx *sql.Tx) error {
		for name, v := range values {
			if _, err := tx.ExecContext(ctx, `INSERT INTO pseudonyms (owner, name, sealed, used) VALUES (?,?,?,?)
				ON CONFLICT (owner, name) DO UPDATE SET sealed = excluded.sealed, used = excluded.used`, owner[:], name, v, now.UnixMilli()); err != nil {
				return err
			}
		}
		_, err := tx.ExecContext(ctx, `DELETE FROM pseudonyms WHERE (owner, name) IN
			(SELECT owner, name FROM pseudonyms ORDER BY used LIMIT max(0, (SELECT count(*) FROM pseudonyms) - ?))`, maxValues)
		return err
	})
}

// Value returns the sealed value behind a pseudonym of an owner, or
// secret.ErrNotFound.
func (s *Store) Value(ctx context.Context, owner [32]byte, name string) ([]byte, error) {
	var v []byte
	err := s.r.QueryRowContext(ctx, "SELECT sealed FROM pseudonyms WHERE owner = ? AND name = ?", owner[:], name).Scan(&v)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, secret.ErrNotFound
	}
	return v, s.explain(ctx, err)
}

// ForgetValues removes the values that were last used before a time, and
// returns how many. SQLite overwrites them.
func (s *Store) ForgetValues(ctx context.Context, before time.Time) (int, error) {
	var n int64
	err := s.transact(ctx, func(tx *sql.Tx) error {
		res, err := tx.ExecContext(ctx, "DELETE FROM pseudonyms WHERE used < ?", before.UnixMilli())
		if err != nil {
			return err
		}
		n, err = res.RowsAffected()
		return err
	})
	return int(n), err
}
