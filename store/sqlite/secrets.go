package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"iter"
	"time"

	"github.com/margaydev/margay/secret"
)

// stored brings t to the precision that is kept: milliseconds, UTC.
func stored(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return t.UTC().Truncate(time.Millisecond)
}

// millis is NULL for the zero time: 0 is a time like any other, and must not
// come back as "never".
func millis(t time.Time) sql.NullInt64 {
	return sql.NullInt64{Int64: stored(t).UnixMilli(), Valid: !t.IsZero()}
}

func fromMillis(ms sql.NullInt64) time.Time {
	if !ms.Valid {
		return time.Time{}
	}
	return time.UnixMilli(ms.Int64).UTC()
}

// change runs f in a transaction that also moves the epoch on.
func (s *Store) change(ctx context.Context, f func(*sql.Tx) error) error {
	return s.transact(ctx, func(tx *sql.Tx) error {
		if err := f(tx); err != nil {
			return err
		}
		_, err := tx.StmtContext(ctx, s.bump).ExecContext(ctx)
		return err
	})
}

// transact runs f in a transaction that is durable when it returns nil.
func (s *Store) transact(ctx context.Context, f func(*sql.Tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	tx, err := s.w.BeginTx(ctx, nil)
	if err != nil {
		return s.explain(ctx, err)
	}
	defer func() { _ = tx.Rollback() }()
	if err := f(tx); err != nil {
		return s.explain(ctx, err)
	}
	return s.explain(ctx, tx.Commit())
}

// PutSecrets implements secret.Store. A record needs an ID and a Fingerprint.
// One call is one transaction: many records in one call are far cheaper than
// one in each.
func (s *Store) PutSecrets(ctx context.Context, recs []secret.Record) error {
	for i := range recs {
		if recs[i].ID == "" || recs[i].Fingerprint.IsZero() {
			return errors.New("sqlite store: a secret needs an id and a fingerprint")
		}
	}
	if len(recs) == 0 {
		return ctx.Err()
	}
	return s.change(ctx, func(tx *sql.Tx) error {
		put := tx.StmtContext(ctx, s.putSecret)
		// The driver watches a context with a goroutine for each statement;
		// asking it here is cheaper.
		each := context.WithoutCancel(ctx)
		for i := range recs {
			if err := ctx.Err(); err != nil {
				return err
			}
			r := &recs[i]
			var sealed any // NULL for none
			if len(r.Sealed) > 0 {
				sealed = r.Sealed
			}
			if _, err := put.ExecContext(each, r.ID, r.Name, string(r.Kind), string(r.Source), r.Origin, r.Fingerprint[:],
				append([]byte{}, r.Print...), r.Length, sealed, millis(r.Created), millis(r.Expires)); err != nil {
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
	missing := false
	err := s.change(ctx, func(tx *sql.Tx) error {
		res, err := tx.ExecContext(ctx, query, id)
		if err != nil {
			return err
		}
		n, err := res.RowsAffected()
		if err == nil && n == 0 {
			missing, err = true, secret.ErrNotFound // roll back: nothing changed
		}
		return err
	})
	if missing {
		return secret.ErrNotFound
	}
	return err
}

// Secrets implements secret.Store. It streams what was stored when it began;
// changes meanwhile, by the caller too, are not seen. An iteration holds a
// connection until it ends.
func (s *Store) Secrets(ctx context.Context) iter.Seq2[secret.Record, error] {
	return func(yield func(secret.Record, error) bool) {
		fail := func(err error) { yield(secret.Record{}, s.explain(ctx, err)) }
		if err := ctx.Err(); err != nil {
			fail(err)
			return
		}
		rows, err := s.r.QueryContext(ctx, `SELECT id, name, kind, source, origin, fingerprint, print, length, sealed, created, expires
			FROM secrets ORDER BY id`)
		if err != nil {
			fail(err)
			return
		}
		defer func() { _ = rows.Close() }()
		var fp, print, sealed sql.RawBytes
		for rows.Next() {
			var r secret.Record
			var created, expires sql.NullInt64
			err := rows.Scan(&r.ID, &r.Name, (*string)(&r.Kind), (*string)(&r.Source), &r.Origin, &fp, &print, &r.Length, &sealed, &created, &expires)
			if err != nil {
				fail(err)
				return
			}
			copy(r.Fingerprint[:], fp)
			r.Print, r.Sealed = append([]byte(nil), print...), append([]byte(nil), sealed...)
			r.Created, r.Expires = fromMillis(created), fromMillis(expires)
			if !yield(r, nil) {
				return
			}
		}
		if err := rows.Err(); err != nil {
			fail(err)
		}
	}
}

// PutAllow implements secret.Store.
func (s *Store) PutAllow(ctx context.Context, a secret.Allow) error {
	switch {
	case a.ID == "":
		return errors.New("sqlite store: an allowance needs an id")
	case a.Fingerprint.IsZero() && a.Rule == "":
		return errors.New("sqlite store: an allowance needs a fingerprint or a rule, or it would allow everything")
	case a.Path != "" && a.Rule == "":
		return errors.New("sqlite store: an allowance by path needs a rule")
	}
	return s.change(ctx, func(tx *sql.Tx) error {
		var fp any // NULL for none
		if !a.Fingerprint.IsZero() {
			fp = a.Fingerprint[:]
		}
		_, err := tx.ExecContext(ctx, `INSERT OR REPLACE INTO allows
			(id, fingerprint, rule, path, reason, finding, created, expires) VALUES (?,?,?,?,?,?,?,?)`, a.ID, fp, a.Rule, a.Path, a.Reason, a.Finding, millis(a.Created), millis(a.Expires))
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
		return nil, s.explain(ctx, err)
	}
	defer func() { _ = rows.Close() }()
	var out []secret.Allow
	for rows.Next() {
		var a secret.Allow
		var fp []byte
		var created, expires sql.NullInt64
		if err := rows.Scan(&a.ID, &fp, &a.Rule, &a.Path, &a.Reason, &a.Finding, &created, &expires); err != nil {
			return nil, s.explain(ctx, err)
		}
		copy(a.Fingerprint[:], fp)
		a.Created, a.Expires = fromMillis(created), fromMillis(expires)
		out = append(out, a)
	}
	return out, s.explain(ctx, rows.Err())
}

// Epoch implements secret.Store. It asks the database each time, so that a
// change by another process is seen at once; that takes some microseconds.
func (s *Store) Epoch(ctx context.Context) (uint64, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	var e int64
	// One row by its key, out of the cache: not worth a watch on ctx.
	err := s.epoch.QueryRowContext(context.WithoutCancel(ctx)).Scan(&e)
	return uint64(e), s.explain(ctx, err) //nolint:gosec // counts up from 1
}
