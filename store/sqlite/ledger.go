package sqlite

import (
	"context"
	"errors"
	"iter"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/ledger"
	"github.com/margaydev/margay/ledger/charge"
)

const (
	// The entry before is compared where the engine serialises writers, so
	// two that follow the same one can't both be there.
	appendEntry = `INSERT INTO ledger (family, seq, hash, entry) SELECT ?1, ?2, ?3, ?4
		WHERE coalesce((SELECT hash FROM ledger WHERE family = ?1 AND seq = ?2 - 1), zeroblob(32)) = ?5
		ON CONFLICT DO NOTHING`
	ledgerPage   = "SELECT arrival, entry FROM ledger WHERE family = ? AND seq > ? ORDER BY seq LIMIT ?"
	rubricByHash = "SELECT canonical FROM rubrics WHERE hash = ?"
	// Skips from family to family through the index.
	ledgerHeads = `WITH RECURSIVE f(family) AS (
			SELECT min(family) FROM ledger
			UNION ALL SELECT (SELECT min(l.family) FROM ledger l WHERE l.family > f.family) FROM f WHERE f.family IS NOT NULL)
		SELECT l.family, l.seq, l.hash, l.arrival FROM f
		JOIN ledger l ON l.family = f.family AND l.seq = (SELECT max(m.seq) FROM ledger m WHERE m.family = f.family)`
)

var _ ledger.Store = (*Store)(nil)

// spent is one caller's entry.
type spent struct {
	prev  charge.Hash
	next  charge.Head
	entry []byte
	fits  bool // it followed its family's head; else it is not there
}

func (*spent) entries() int { return 1 }

// AppendEntry implements ledger.Store. Callers at the same time share one
// transaction, and so one wait for the disk; each returns when its entry is
// durable. Until its transaction starts, a call ends with ctx; from then on it
// waits for the outcome, at most for as long as Options.Busy and the disk take.
func (s *Store) AppendEntry(ctx context.Context, prev charge.Hash, next charge.Head, encoded []byte) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if len(encoded) == 0 || len(encoded) > charge.MaxEntry || next.Seq == 0 {
		return errors.New("sqlite store: no entry of a ledger")
	}
	if (next.Seq == 1) != prev.IsZero() {
		return charge.ErrConflict // the first follows nothing, and only the first
	}
	e := &spent{prev: prev, next: next, entry: encoded}
	if err := s.book.put(ctx, e); err != nil {
		return err
	}
	if !e.fits {
		return charge.ErrConflict
	}
	return nil
}

// writeEntries makes one transaction of a batch. An entry that does not follow
// its family's head does not keep the others out.
func (s *Store) writeEntries(batch []*spent) error {
	return s.transact(context.Background(), func(t *tx) error { // a batch belongs to several callers
		for _, e := range batch {
			n, _ := t.exec(appendEntry, string(e.next.Family), int64(e.next.Seq), e.next.Hash[:], e.entry, e.prev[:])
			e.fits = n == 1
		}
		return nil
	})
}

// Entries implements ledger.Store.
func (s *Store) Entries(ctx context.Context, family flow.TrajectoryID, after uint64, limit int) ([]charge.Stored, error) {
	return list(ctx, s, func(e *charge.Stored) []any { return []any{&e.Arrival, &e.Bytes} }, ledgerPage, string(family), int64(after), max(0, limit))
}

// Heads implements ledger.Store. It yields what was stored when it started.
func (s *Store) Heads(ctx context.Context) iter.Seq2[charge.Head, error] {
	return each(ctx, s, func(h *charge.Head) []any { return []any{&h.Family, &h.Seq, fixed(h.Hash[:]), &h.Arrival} }, ledgerHeads)
}

// PutRubric implements ledger.Store.
func (s *Store) PutRubric(ctx context.Context, hash charge.Hash, canonical []byte) error {
	_, err := s.exec(ctx, "INSERT INTO rubrics (hash, canonical) VALUES (?,?) ON CONFLICT DO UPDATE SET canonical = excluded.canonical", hash[:], canonical)
	return err
}

// Rubric implements ledger.Store.
func (s *Store) Rubric(ctx context.Context, hash charge.Hash) ([]byte, error) {
	return one(ctx, s, charge.ErrNotFound, value[[]byte], rubricByHash, hash[:])
}
