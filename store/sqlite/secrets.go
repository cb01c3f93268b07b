package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"iter"
	"time"

	"github.com/margaydev/margay/secret"
)

func millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

func fromMillis(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}

// change runs f in a transaction that also moves the epoch on.
func (s *Store) change(ctx context.Context, f func(*sql.Tx) error) error {
	tx, err := s.w.BeginTx(ctx, nil)
	if err != nil {
		return explain(s.path, err)
	}
	defer func() { _ = tx.Rollback() }()
	if err := f(tx); err != nil {
		return explain(s.path, err)
	}
	if _, err := tx.ExecContext(ctx, "UPDATE meta SET value = value + 1 WHERE key = 'epoch'"); err != nil {
		return explain(s.path, err)
	}
	return explain(s.path, tx.Commit())
}

// PutSecrets implements secret.Store.
func (s *Store) PutSecrets(ctx context.Context, recs []secret.Record) error {
	for i := range recs {
		if recs[i].ID == "" {
			return errors.New("sqlite store: secret without id")
		}
	}
	return s.change(ctx, func(tx *sql.Tx) error {
		put, err := tx.PrepareContext(ctx, `INSERT OR REPLACE INTO secrets
			(id, name, kind, source, origin, fingerprint, print, length, sealed, created, expires) VALUES (?,?,?,?,?,?,?,?,?,?,?)`)
		if err != nil {
			return err
		}
		defer put.Close()
		for i := range recs {
			r := &recs[i]
			if _, err := put.ExecContext(ctx, r.ID, r.Name, string(r.Kind), string(r.Source), r.Origin, r.Fingerprint[:], append([]byte{}, r.Print...),
				r.Length, r.Sealed, millis(r.Created), millis(r.Expires)); err != nil {
				return err
			}
		}
		return nil
	})
}

// DeleteSecret implements secret.Store.
func (s *Store) DeleteSecret(ctx context.Context, id string) error {
	return s.remove(ctx, "DELETE FROM secrets WHERE id = ?", id)
}

func (s *Store) remove(ctx context.Context, query, id string) error {
	return s.change(ctx, func(tx *sql.Tx) error {
		res, err := tx.ExecContext(ctx, query, id)
		if err != nil {
			return err
		}
		if n, err := res.RowsAffected(); err != nil || n == 0 {
			return errors.Join(err, secret.ErrNotFound)
		}
		return nil
	})
}

// Secrets implements secret.Store.
func (s *Store) Secrets(ctx context.Context) iter.Seq2[secret.Record, error] {
	return func(yield func(secret.Record, error) bool) {
		rows, err := s.r.QueryContext(ctx, `SELECT id, name, kind, source, origin, fingerprint, print, length, sealed, created, expires
			FROM secrets ORDER BY id`)
		if err != nil {
			yield(secret.Record{}, explain(s.path, err))
			return
		}
		defer rows.Close()
		for rows.Next() {
			var r secret.Record
			var fp []byte
			var created, expires int64
			if err := rows.Scan(&r.ID, &r.Name, &r.Kind, &r.Source, &r.Origin, &fp, &r.Print, &r.Length, &r.Sealed, &created, &expires); err != nil {
				yield(secret.Record{}, explain(s.path, err))
				return
			}
			copy(r.Fingerprint[:], fp)
			r.Created, r.Expires = fromMillis(created), fromMillis(expires)
			if !yield(r, nil) {
				return
			}
		}
		if err := rows.Err(); err != nil {
			yield(secret.Record{}, explain(s.path, err))
		}
	}
}

// PutAllow implements secret.Store.
func (s *Store) PutAllow(ctx context.Context, a secret.Allow) error {
	if a.ID == "" {
		return errors.New("sqlite store: allowance without id")
	}
	return s.change(ctx, func(tx *sql.Tx) error {
		var fp []byte
		if !a.Fingerprint.IsZero() {
			fp = a.Fingerprint[:]
		}
		_, err := tx.ExecContext(ctx, "INSERT OR REPLACE INTO allows VALUES (?,?,?,?,?,?,?,?)",
			a.ID, fp, a.Rule, a.Path, a.Reason, a.Finding, millis(a.Created), millis(a.Expires))
		return err
	})
}

// DeleteAllow implements secret.Store.
func (s *Store) DeleteAllow(ctx context.Context, id string) error {
	return s.remove(ctx, "DELETE FROM allows WHERE id = ?", id)
}

// Allows implements secret.Store.
func (s *Store) Allows(ctx context.Context) ([]secret.Allow, error) {
	rows, err := s.r.QueryContext(ctx, "SELECT id, fingerprint, rule, path, reason, finding, created, expires FROM allows ORDER BY id")
	if err != nil {
		return nil, explain(s.path, err)
	}
	defer rows.Close()
	var out []secret.Allow
	for rows.Next() {
		var a secret.Allow
		var fp []byte
		var created, expires int64
		if err := rows.Scan(&a.ID, &fp, &a.Rule, &a.Path, &a.Reason, &a.Finding, &created, &expires); err != nil {
			return nil, explain(s.path, err)
		}
		copy(a.Fingerprint[:], fp)
		a.Created, a.Expires = fromMillis(created), fromMillis(expires)
		out = append(out, a)
	}
	return out, explain(s.path, rows.Err())
}

// Epoch implements secret.Store.
func (s *Store) Epoch(ctx context.Context) (uint64, error) {
	var e uint64
	err := s.r.QueryRowContext(ctx, "SELECT value FROM meta WHERE key = 'epoch'").Scan(&e)
	return e, explain(s.path, err)
}
