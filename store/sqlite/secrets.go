package sqlite

import (
	"context"
	"iter"

	"github.com/margaydev/margay/secret"
	"github.com/margaydev/margay/store"
)

const (
	recordColumns = "id, name, kind, source, origin, fingerprint, print, length, sealed, created, expires"
	putSecret     = "INSERT OR REPLACE INTO secrets (" + recordColumns + ") VALUES (?,?,?,?,?,?,?,?,?,?,?)"
	allowColumns  = "id, fingerprint, rule, path, reason, finding, created, expires"
	bump          = "UPDATE meta SET value = value + 1 WHERE key = 'epoch'"
	epoch         = "SELECT value FROM meta WHERE key = 'epoch'"
)

// change runs f in a transaction that also moves the epoch on.
func (s *Store) change(ctx context.Context, f func(*tx) error) error {
	return s.transact(ctx, func(t *tx) error {
		err := f(t)
		t.exec(bump)
		return err
	})
}

// PutSecrets implements secret.Store. A record needs an ID and a Fingerprint.
// One call is one transaction: many records in one call are far cheaper than
// one in each.
func (s *Store) PutSecrets(ctx context.Context, recs []secret.Record) error {
	if err := store.CheckRecords(recs); err != nil {
		return err
	}
	if len(recs) == 0 {
		return ctx.Err()
	}
	return s.change(ctx, func(t *tx) error {
		for i := range recs {
			r := &recs[i]
			var sealed any // NULL for none
			if len(r.Sealed) > 0 {
				sealed = r.Sealed
			}
			t.exec(putSecret, r.ID, r.Name, string(r.Kind), string(r.Source), r.Origin, r.Fingerprint[:],
				append([]byte{}, r.Print...), r.Length, sealed, millis(r.Created), millis(r.Expires))
		}
		return nil
	})
}

// DeleteSecret implements secret.Store.
func (s *Store) DeleteSecret(ctx context.Context, id string) error {
	return s.remove(ctx, "DELETE FROM secrets WHERE id = ?", id)
}

func (s *Store) remove(ctx context.Context, query, id string) error {
	return s.change(ctx, func(t *tx) error {
		if n, _ := t.exec(query, id); n == 0 {
			return secret.ErrNotFound // nothing changed
		}
		return nil
	})
}

// Secrets implements secret.Store. It streams what was stored when it started;
// changes meanwhile, by the caller too, are not seen. An iteration holds a
// connection until it ends.
func (s *Store) Secrets(ctx context.Context) iter.Seq2[secret.Record, error] {
	return each(ctx, s, func(r *secret.Record) []any {
		return []any{
			&r.ID, &r.Name, (*string)(&r.Kind), (*string)(&r.Source), &r.Origin, fixed(r.Fingerprint[:]),
			&r.Print, &r.Length, &r.Sealed,
			moment{&r.Created},
			moment{&r.Expires},
		}
	}, "SELECT "+recordColumns+" FROM secrets ORDER BY id")
}

// PutAllow implements secret.Store.
func (s *Store) PutAllow(ctx context.Context, a secret.Allow) error {
	if err := store.CheckAllow(&a); err != nil {
		return err
	}
	return s.change(ctx, func(t *tx) error {
		var fp any // NULL for none
		if !a.Fingerprint.IsZero() {
			fp = a.Fingerprint[:]
		}
		t.exec("INSERT OR REPLACE INTO allows ("+allowColumns+") VALUES (?,?,?,?,?,?,?,?)",
			a.ID, fp, a.Rule, a.Path, a.Reason, a.Finding, millis(a.Created), millis(a.Expires))
		return nil
	})
}

// DeleteAllow implements secret.Store.
func (s *Store) DeleteAllow(ctx context.Context, id string) error {
	return s.remove(ctx, "DELETE FROM allows WHERE id = ?", id)
}

// Allows implements secret.Store.
func (s *Store) Allows(ctx context.Context) ([]secret.Allow, error) {
	return list(ctx, s, func(a *secret.Allow) []any {
		return []any{&a.ID, fixed(a.Fingerprint[:]), &a.Rule, &a.Path, &a.Reason, &a.Finding, moment{&a.Created}, moment{&a.Expires}}
	}, "SELECT "+allowColumns+" FROM allows ORDER BY id")
}

// Epoch implements secret.Store. It asks the database each time, so that a
// change by another process is seen at once; that takes some microseconds.
func (s *Store) Epoch(ctx context.Context) (uint64, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	var e uint64
	// One row by its key, out of the cache: not worth a watch on ctx.
	err := s.prepared[epoch].QueryRowContext(context.WithoutCancel(ctx)).Scan(&e)
	return e, s.explain(ctx, err)
}
