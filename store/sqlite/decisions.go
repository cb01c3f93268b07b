package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/margaydev/margay/mediator"
	"github.com/margaydev/margay/secret"
)

// maxTrim bounds the rows that one transaction removes, unless twice what it
// adds is more.
const maxTrim = 8192

// decided are one caller's entries of the log.
type decided struct {
	list  []mediator.LogEntry
	texts []string
}

func (d *decided) entries() int { return len(d.list) }

// AppendDecisions implements mediator.Log. Callers at the same time share one
// transaction; each returns when its entries are durable. An entry with the ID
// of one that is there replaces it. Until its transaction begins, a call ends
// with ctx; from then on it waits for the outcome, at most for as long as
// Options.Busy and the disk take.
func (s *Store) AppendDecisions(ctx context.Context, entries []mediator.LogEntry) error {
	if err := ctx.Err(); err != nil || len(entries) == 0 {
		return err
	}
	d := &decided{list: entries, texts: make([]string, len(entries))}
	for i := range entries {
		if entries[i].ID == "" {
			return errors.New("sqlite store: a decision needs an id")
		}
		en := entries[i]
		en.At = stored(en.At)
		text, err := json.Marshal(&en)
		if err != nil {
			return fmt.Errorf("sqlite store: %w", err)
		}
		d.texts[i] = string(text)
	}
	return s.log.put(ctx, d)
}

// writeDecisions makes one transaction of a batch.
func (s *Store) writeDecisions(batch []*decided) error {
	ctx := context.Background() // a batch belongs to several callers
	tx, err := s.w.BeginTx(ctx, nil)
	if err != nil {
		return s.explain(ctx, err)
	}
	defer func() { _ = tx.Rollback() }()
	added := 0
	for _, d := range batch {
		for i := range d.list {
			fresh, err := s.put(ctx, tx, &d.list[i], d.texts[i])
			if err != nil {
				return s.explain(ctx, err)
			}
			if fresh {
				added++
			}
		}
	}
	if err := s.count(ctx, tx, added); err != nil {
		return s.explain(ctx, err)
	}
	return s.explain(ctx, tx.Commit())
}

// put writes one entry and reports whether it is new.
func (s *Store) put(ctx context.Context, tx *sql.Tx, en *mediator.LogEntry, text string) (fresh bool, err error) {
	res, err := tx.StmtContext(ctx, s.newEntry).ExecContext(ctx, en.ID, text)
	if err != nil {
		return false, err
	}
	n, err := res.RowsAffected()
	if err != nil {
		return false, err
	}
	if n == 0 {
		if _, err := tx.StmtContext(ctx, s.setEntry).ExecContext(ctx, text, en.ID); err != nil {
			return false, err
		}
		if _, err := tx.StmtContext(ctx, s.unlink).ExecContext(ctx, en.ID); err != nil {
			return false, err
		}
	}
	for i := range en.Findings {
		if en.Findings[i].ID == "" {
			continue
		}
		if _, err := tx.StmtContext(ctx, s.link).ExecContext(ctx, en.Findings[i].ID, en.ID); err != nil {
			return false, err
		}
	}
	return n > 0, nil
}

// count keeps the number of decisions, for all processes alike, and removes
// the oldest if there are too many.
func (s *Store) count(ctx context.Context, tx *sql.Tx, added int) error {
	var n int
	if err := tx.StmtContext(ctx, s.n).QueryRowContext(ctx, added).Scan(&n); err != nil {
		return err
	}
	if n <= s.opt.MaxDecisions {
		return nil
	}
	slack := min(s.opt.MaxDecisions/8, 1024)
	// A bound that was lowered must not make one append remove a million.
	excess := min(n-s.opt.MaxDecisions+slack, max(maxTrim, 2*added))
	res, err := tx.StmtContext(ctx, s.oldest).ExecContext(ctx, excess)
	if err != nil {
		return err
	}
	gone, err := res.RowsAffected()
	if err != nil {
		return err
	}
	return tx.StmtContext(ctx, s.n).QueryRowContext(ctx, -gone).Scan(&n)
}

// Decision implements mediator.Log.
func (s *Store) Decision(ctx context.Context, id string) (mediator.LogEntry, error) {
	var text []byte
	err := s.decision.QueryRowContext(ctx, id).Scan(&text)
	if errors.Is(err, sql.ErrNoRows) {
		return mediator.LogEntry{}, secret.ErrNotFound
	}
	if err != nil {
		return mediator.LogEntry{}, s.explain(ctx, err)
	}
	return s.entryOf(ctx, text)
}

func (s *Store) entryOf(ctx context.Context, text []byte) (en mediator.LogEntry, err error) {
	if err := json.Unmarshal(text, &en); err != nil {
		// The decoder's error may quote the text.
		return mediator.LogEntry{}, s.explain(ctx, fmt.Errorf("a decision in the log can't be read: %w", ErrCorrupt))
	}
	return en, nil
}

// FindingByID implements mediator.Log. Where several decisions list one
// finding, the one with the greatest id answers.
func (s *Store) FindingByID(ctx context.Context, id string) (mediator.FindingRecord, string, error) {
	var decision string
	err := s.finding.QueryRowContext(ctx, id).Scan(&decision)
	if errors.Is(err, sql.ErrNoRows) {
		return mediator.FindingRecord{}, "", secret.ErrNotFound
	}
	if err != nil {
		return mediator.FindingRecord{}, "", s.explain(ctx, err)
	}
	en, err := s.Decision(ctx, decision)
	if err != nil {
		return mediator.FindingRecord{}, "", err
	}
	for _, f := range en.Findings {
		if f.ID == id {
			return f, decision, nil
		}
	}
	return mediator.FindingRecord{}, "", secret.ErrNotFound
}

// Decisions implements mediator.Log.
func (s *Store) Decisions(ctx context.Context, after string, limit int) ([]mediator.LogEntry, error) {
	rows, err := s.page.QueryContext(ctx, after, max(0, limit))
	if err != nil {
		return nil, s.explain(ctx, err)
	}
	defer func() { _ = rows.Close() }()
	var out []mediator.LogEntry
	for rows.Next() {
		var text sql.RawBytes
		if err := rows.Scan(&text); err != nil {
			return nil, s.explain(ctx, err)
		}
		en, err := s.entryOf(ctx, text)
		if err != nil {
			return nil, err
		}
		out = append(out, en)
	}
	return out, s.explain(ctx, rows.Err())
}

// Arrived returns up to limit entries in the order in which they were added,
// beginning behind the one that had the number after, and the number of the
// last of them. Entries that are replaced keep their place. Unlike the order
// of ids, which are given when a decision begins, this one never gains an
// entry before one that was already returned, whichever process added it.
func (s *Store) Arrived(ctx context.Context, after int64, limit int) ([]mediator.LogEntry, int64, error) {
	rows, err := s.arrived.QueryContext(ctx, after, max(0, limit))
	if err != nil {
		return nil, after, s.explain(ctx, err)
	}
	defer func() { _ = rows.Close() }()
	var out []mediator.LogEntry
	last := after
	for rows.Next() {
		var text sql.RawBytes
		if err := rows.Scan(&last, &text); err != nil {
			return nil, after, s.explain(ctx, err)
		}
		en, err := s.entryOf(ctx, text)
		if err != nil {
			return nil, after, err
		}
		out = append(out, en)
	}
	if err := rows.Err(); err != nil {
		return nil, after, s.explain(ctx, err)
	}
	return out, last, nil
}

// LastArrival returns the number of the entry that was added last.
func (s *Store) LastArrival(ctx context.Context) (int64, error) {
	var n int64
	err := s.last.QueryRowContext(ctx).Scan(&n)
	return n, s.explain(ctx, err)
}
