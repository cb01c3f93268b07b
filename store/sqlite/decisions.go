package sqlite

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/margaydev/margay/mediator/audit"
	"github.com/margaydev/margay/secret"
	"github.com/margaydev/margay/store"
)

const (
	newEntry       = "INSERT INTO decisions (id, entry) VALUES (?,?) ON CONFLICT (id) DO NOTHING"
	setEntry       = "UPDATE decisions SET entry = ? WHERE id = ?"
	unlink         = "DELETE FROM findings WHERE decision = ?"
	link           = "INSERT INTO findings (id, decision) VALUES (?,?) ON CONFLICT DO NOTHING"
	countEntries   = "UPDATE meta SET value = value + ? WHERE key = 'decisions' RETURNING value"
	dropOldest     = "DELETE FROM decisions WHERE id IN (SELECT id FROM decisions ORDER BY id LIMIT ?)"
	entryByID      = "SELECT entry FROM decisions WHERE id = ?"
	entriesAfter   = "SELECT entry FROM decisions WHERE id > ? ORDER BY id LIMIT ?"
	entriesArrived = "SELECT rowid, entry FROM decisions WHERE rowid > ? ORDER BY rowid LIMIT ?"
	decisionOf     = "SELECT decision FROM findings WHERE id = ? ORDER BY decision DESC LIMIT 1"
)

// maxTrim bounds the rows that one transaction removes, unless twice what it
// adds is more.
const maxTrim = 8192

// decided are one caller's entries of the log.
type decided struct {
	list  []audit.Entry
	texts []string
}

func (d *decided) entries() int { return len(d.list) }

// AppendDecisions implements audit.Log. Callers at the same time share one
// transaction; each returns when its entries are durable. An entry with the ID
// of one that is there replaces it. Until its transaction starts, a call ends
// with ctx; from then on it waits for the outcome, at most for as long as
// Options.Busy and the disk take.
func (s *Store) AppendDecisions(ctx context.Context, entries []audit.Entry) error {
	if err := ctx.Err(); err != nil || len(entries) == 0 {
		return err
	}
	if err := store.CheckEntries(entries); err != nil {
		return err
	}
	d := &decided{list: entries, texts: make([]string, len(entries))}
	for i := range entries {
		en := entries[i]
		en.At = store.Moment(en.At)
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
	return s.transact(context.Background(), func(t *tx) error { // a batch belongs to several callers
		added := 0
		for _, d := range batch {
			for i := range d.list {
				added += t.put(&d.list[i], d.texts[i])
			}
		}
		t.bound(added)
		return nil
	})
}

// put writes one entry and returns how many it added: 1, or 0 for one that
// replaces another.
func (t *tx) put(en *audit.Entry, text string) int {
	added, _ := t.exec(newEntry, en.ID, text)
	if added == 0 {
		t.exec(setEntry, text, en.ID)
		t.exec(unlink, en.ID)
	}
	for i := range en.Findings {
		if en.Findings[i].ID != "" {
			t.exec(link, en.Findings[i].ID, en.ID)
		}
	}
	return int(added)
}

// bound keeps the number of decisions, for all processes alike, and removes
// the oldest if there are too many.
func (t *tx) bound(added int) {
	var n int
	t.row([]any{&n}, countEntries, added)
	most := t.store.opt.MaxDecisions
	if n <= most {
		return
	}
	slack := min(most/8, 1024)
	// A bound that was lowered must not make one append remove a million.
	removed, _ := t.exec(dropOldest, min(n-most+slack, max(maxTrim, 2*added)))
	t.row([]any{&n}, countEntries, -removed)
}

func entryInto(en *audit.Entry) []any { return []any{decoded{en}} }

// Decision implements audit.Log.
func (s *Store) Decision(ctx context.Context, id string) (audit.Entry, error) {
	return one(ctx, s, secret.ErrNotFound, entryInto, entryByID, id)
}

// FindingByID implements audit.Log. Where several decisions list one
// finding, the one with the greatest id answers.
func (s *Store) FindingByID(ctx context.Context, id string) (audit.Finding, string, error) {
	decision, err := one(ctx, s, secret.ErrNotFound, value[string], decisionOf, id)
	if err != nil {
		return audit.Finding{}, "", err
	}
	en, err := s.Decision(ctx, decision)
	if err != nil {
		return audit.Finding{}, "", err
	}
	for _, f := range en.Findings {
		if f.ID == id {
			return f, decision, nil
		}
	}
	return audit.Finding{}, "", secret.ErrNotFound
}

// Decisions implements audit.Log.
func (s *Store) Decisions(ctx context.Context, after string, limit int) ([]audit.Entry, error) {
	return list(ctx, s, entryInto, entriesAfter, after, max(0, limit))
}

// Arrived returns up to limit entries in the order in which they were added,
// from behind the one with the number after, and the number of the last of
// them. Entries that are replaced keep their place. The order of ids is another
// one, since an id is given when a decision starts: in this order no entry ever
// comes before one that was already returned, whichever process added it.
func (s *Store) Arrived(ctx context.Context, after int64, limit int) ([]audit.Entry, int64, error) {
	last := after
	out, err := list(ctx, s, func(en *audit.Entry) []any { return []any{&last, decoded{en}} }, entriesArrived, after, max(0, limit))
	if err != nil {
		return nil, after, err
	}
	return out, last, nil
}

// LastArrival returns the number of the entry that was added last.
func (s *Store) LastArrival(ctx context.Context) (int64, error) {
	return one(ctx, s, nil, value[int64], "SELECT coalesce(max(rowid), 0) FROM decisions")
}
