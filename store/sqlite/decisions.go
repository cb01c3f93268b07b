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

// errClosed says that the store was closed.
var errClosed = errors.New("the store is closed")

// appendRequest waits for its batch to be durable.
type appendRequest struct {
	entries []mediator.LogEntry
	texts   [][]byte
	err     chan error
}

const maxBatch = 256

// AppendDecisions implements mediator.Log. Callers at the same time share one
// transaction; each returns when its entries are durable. When ctx ends first
// the entries may or may not be written.
func (s *Store) AppendDecisions(ctx context.Context, entries []mediator.LogEntry) error {
	req := appendRequest{entries: entries, err: make(chan error, 1)}
	for i := range entries {
		if entries[i].ID == "" {
			return errors.New("sqlite store: decision without id")
		}
		text, err := json.Marshal(&entries[i])
		if err != nil {
			return fmt.Errorf("sqlite store: %w", err)
		}
		req.texts = append(req.texts, text)
	}
	select {
	case s.log <- req:
	case <-ctx.Done():
		return ctx.Err()
	case <-s.quit:
		return errClosed
	}
	select {
	case err := <-req.err:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// commit is the goroutine that writes the log; Close ends it.
func (s *Store) commit() {
	defer close(s.done)
	for n := 0; ; {
		var batch []appendRequest
		select {
		case r := <-s.log:
			batch = append(batch, r)
		case <-s.quit:
			return
		}
	more:
		for len(batch) < maxBatch {
			select {
			case r := <-s.log:
				batch = append(batch, r)
			default:
				break more
			}
		}
		n += len(batch)
		trim := n >= 4096
		if trim {
			n = 0
		}
		err := s.write(batch, trim)
		for _, r := range batch {
			r.err <- err
		}
	}
}

func (s *Store) write(batch []appendRequest, trim bool) error {
	ctx := context.Background() // a batch belongs to several callers
	tx, err := s.w.BeginTx(ctx, nil)
	if err != nil {
		return explain(s.path, err)
	}
	defer func() { _ = tx.Rollback() }()
	for _, r := range batch {
		for i := range r.entries {
			if _, err := tx.ExecContext(ctx, "INSERT OR REPLACE INTO decisions VALUES (?,?)", r.entries[i].ID, string(r.texts[i])); err != nil {
				return explain(s.path, err)
			}
			for _, f := range r.entries[i].Findings {
				if _, err := tx.ExecContext(ctx, "INSERT OR REPLACE INTO findings VALUES (?,?)", f.ID, r.entries[i].ID); err != nil {
					return explain(s.path, err)
				}
			}
		}
	}
	if trim {
		if err := s.trim(ctx, tx); err != nil {
			return explain(s.path, err)
		}
	}
	return explain(s.path, tx.Commit())
}

// trim drops the oldest decisions beyond the limit.
func (s *Store) trim(ctx context.Context, tx *sql.Tx) error {
	var last string
	err := tx.QueryRowContext(ctx, "SELECT id FROM decisions ORDER BY id DESC LIMIT 1 OFFSET ?", s.opt.MaxDecisions).Scan(&last)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, "DELETE FROM findings WHERE decision <= ?", last); err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, "DELETE FROM decisions WHERE id <= ?", last)
	return err
}

// Decision implements mediator.Log.
func (s *Store) Decision(ctx context.Context, id string) (mediator.LogEntry, error) {
	var text string
	err := s.r.QueryRowContext(ctx, "SELECT entry FROM decisions WHERE id = ?", id).Scan(&text)
	if errors.Is(err, sql.ErrNoRows) {
		return mediator.LogEntry{}, secret.ErrNotFound
	}
	if err != nil {
		return mediator.LogEntry{}, explain(s.path, err)
	}
	return entryOf(text)
}

func entryOf(text string) (en mediator.LogEntry, err error) {
	if err := json.Unmarshal([]byte(text), &en); err != nil {
		return en, fmt.Errorf("decision in the store: %w", err)
	}
	return en, nil
}

// FindingByID implements mediator.Log.
func (s *Store) FindingByID(ctx context.Context, id string) (mediator.FindingRecord, string, error) {
	var decision string
	err := s.r.QueryRowContext(ctx, "SELECT decision FROM findings WHERE id = ?", id).Scan(&decision)
	if errors.Is(err, sql.ErrNoRows) {
		return mediator.FindingRecord{}, "", secret.ErrNotFound
	}
	if err != nil {
		return mediator.FindingRecord{}, "", explain(s.path, err)
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
	rows, err := s.r.QueryContext(ctx, "SELECT entry FROM decisions WHERE id > ? ORDER BY id LIMIT ?", after, max(0, limit))
	if err != nil {
		return nil, explain(s.path, err)
	}
	defer rows.Close()
	var out []mediator.LogEntry
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			return nil, explain(s.path, err)
		}
		en, err := entryOf(text)
		if err != nil {
			return nil, err
		}
		out = append(out, en)
	}
	return out, explain(s.path, rows.Err())
}
