package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/ledger"
)

const (
	// The entry before is compared where the engine serialises writers, so
	// two that follow the same one can't both be there.
	appendEntry = `INSERT INTO ledger (family, seq, hash, entry) SELECT ?1, ?2, ?3, ?4
		WHERE coalesce((SELECT hash FROM ledger WHERE family = ?1 AND seq = ?2 - 1), zeroblob(32)) = ?5
		ON CONFLICT DO NOTHING`
	// Skips from family to family through the index.
	ledgerHeads = `WITH RECURSIVE f(family) AS (
			SELECT min(family) FROM ledger
			UNION ALL SELECT (SELECT min(l.family) FROM ledger l WHERE l.family > f.family) FROM f WHERE f.family IS NOT NULL)
		SELECT l.family, l.seq, l.hash, l.arrival FROM f
		JOIN ledger l ON l.family = f.family AND l.seq = (SELECT max(m.seq) FROM ledger m WHERE m.family = f.family)`
)

var _ ledger.Store = (*Store)(nil)

// book is the store's part that keeps the ledger.
type book struct {
	append       *sql.Stmt // on w
	page, rubric *sql.Stmt // on r
	log          *batches[*spent]
}

// spent is one caller's entry.
type spent struct {
	prev  ledger.Hash
	next  ledger.Head
	entry []byte
	fits  bool // it followed its family's head; else it is not there
}

func (*spent) entries() int { return 1 }

// AppendEntry implements ledger.Store. Callers at the same time share one
// transaction, and so one wait for the disk; each returns when its entry is
// durable. Until its transaction begins, a call ends with ctx; from then on it
// waits for the outcome, at most for as long as Options.Busy and the disk take.
func (s *Store) AppendEntry(ctx context.Context, prev ledger.Hash, next ledger.Head, encoded []byte) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if len(encoded) == 0 || len(encoded) > ledger.MaxEntry || next.Seq == 0 {
		return errors.New("sqlite store: no entry of a ledger")
	}
	if (next.Seq == 1) != prev.IsZero() {
		return ledger.ErrConflict // the first follows nothing, and only the first
	}
	e := &spent{prev: prev, next: next, entry: encoded}
	if err := s.book.log.put(ctx, e); err != nil {
		return err
	}
	if !e.fits {
		return ledger.ErrConflict
	}
	return nil
}

// writeEntries makes one transaction of a batch. An entry that does not follow
// its family's head is no obstacle to the others.
func (s *Store) writeEntries(batch []*spent) error {
	ctx := context.Background() // a batch belongs to several callers
	tx, err := s.w.BeginTx(ctx, nil)
	if err != nil {
		return s.explain(ctx, err)
	}
	defer func() { _ = tx.Rollback() }()
	put := tx.StmtContext(ctx, s.book.append)
	for _, e := range batch {
		res, err := put.ExecContext(ctx, string(e.next.Family), int64(e.next.Seq), e.next.Hash[:], e.entry, e.prev[:])
		if err != nil {
			return s.explain(ctx, err)
		}
		n, err := res.RowsAffected()
		if err != nil {
			return s.explain(ctx, err)
		}
		e.fits = n == 1
	}
	return s.explain(ctx, tx.Commit())
}

// Entries implements ledger.Store.
func (s *Store) Entries(ctx context.Context, family flow.TrajectoryID, after uint64, limit int) ([]ledger.Stored, error) {
	rows, err := s.book.page.QueryContext(ctx, string(family), int64(after), max(0, limit))
	if err != nil {
		return nil, s.explain(ctx, err)
	}
	defer func() { _ = rows.Close() }()
	var out []ledger.Stored
	for rows.Next() {
		var e ledger.Stored
		if err := rows.Scan(&e.Arrival, &e.Bytes); err != nil {
			return nil, s.explain(ctx, err)
		}
		out = append(out, e)
	}
	return out, s.explain(ctx, rows.Err())
}

// Heads implements ledger.Store. It yields what was stored when it began.
func (s *Store) Heads(ctx context.Context) iter.Seq2[ledger.Head, error] {
	return func(yield func(ledger.Head, error) bool) {
		rows, err := s.r.QueryContext(ctx, ledgerHeads)
		if err != nil {
			yield(ledger.Head{}, s.explain(ctx, err))
			return
		}
		defer func() { _ = rows.Close() }()
		for rows.Next() {
			var family string
			var seq int64
			var hash []byte
			h := ledger.Head{}
			if err := rows.Scan(&family, &seq, &hash, &h.Arrival); err != nil {
				yield(ledger.Head{}, s.explain(ctx, err))
				return
			}
			if len(hash) != len(h.Hash) {
				yield(ledger.Head{}, s.explain(ctx, fmt.Errorf("a hash in the ledger can't be read: %w", ErrCorrupt)))
				return
			}
			h.Family, h.Seq, h.Hash = flow.TrajectoryID(family), uint64(seq), ledger.Hash(hash)
			if !yield(h, nil) {
				return
			}
		}
		if err := rows.Err(); err != nil {
			yield(ledger.Head{}, s.explain(ctx, err))
		}
	}
}

// PutRubric implements ledger.Store.
func (s *Store) PutRubric(ctx context.Context, hash ledger.Hash, canonical []byte) error {
	return s.transact(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "INSERT INTO rubrics (hash, canonical) VALUES (?,?) ON CONFLICT DO UPDATE SET canonical = excluded.canonical", hash[:], canonical)
		return err
	})
}

// Rubric implements ledger.Store.
func (s *Store) Rubric(ctx context.Context, hash ledger.Hash) ([]byte, error) {
	var b []byte
	err := s.book.rubric.QueryRowContext(ctx, hash[:]).Scan(&b)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, ledger.ErrNotFound
	}
	return b, s.explain(ctx, err)
}
