package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/mediator"
	"github.com/margaydev/margay/secret"
)

const (
	// maxEventTrim bounds the events that one transaction removes, beyond
	// those that it adds: others wait for it.
	maxEventTrim = 512

	sumEvent = `INSERT INTO trajectories (id, first, last, last_seq, events, answers, findings, denied, asked, edited, sink)
		VALUES (?,?,?,?,?,?,?,?,?,?,?) ON CONFLICT DO UPDATE SET last = excluded.last, last_seq = excluded.last_seq,
		events = events + excluded.events, answers = answers + excluded.answers, findings = findings + excluded.findings,
		denied = denied + excluded.denied, asked = asked + excluded.asked, edited = edited + excluded.edited,
		sink = CASE excluded.sink WHEN '' THEN sink ELSE excluded.sink END`
	sumColumns   = "id, first, last, last_seq, events, answers, findings, denied, asked, edited, sink"
	eventColumns = "seq, id, trajectory, at, kind, verb, sink, outcome, payload"
)

var _ mediator.Events = (*Store)(nil)

// eventRow is an event as it is written.
type eventRow struct {
	payload string
	detail  any // NULL for none
	size    int
}

// AppendEvents implements mediator.Events. One call is one transaction, and
// whoever decides meanwhile waits for it: a few dozen events make a good one.
func (s *Store) AppendEvents(ctx context.Context, evs []mediator.TraceEvent) error {
	rows := make([]eventRow, len(evs))
	n := 0
	for i := range evs {
		if evs[i].Kind == mediator.EventTokens {
			continue
		}
		n++
		payload, err := json.Marshal(&evs[i].Payload)
		if err != nil {
			return fmt.Errorf("sqlite store: %w", err)
		}
		rows[i] = eventRow{payload: string(payload), size: len(payload)}
		if evs[i].Detail != nil {
			detail, err := json.Marshal(evs[i].Detail)
			if err != nil {
				return fmt.Errorf("sqlite store: %w", err)
			}
			rows[i].detail, rows[i].size = string(detail), rows[i].size+len(detail)
		}
	}
	if n == 0 {
		return ctx.Err()
	}
	seqs := make([]int64, len(evs))
	err := s.transact(ctx, func(tx *sql.Tx) error {
		sums, tallies := map[flow.TrajectoryID]*mediator.TrajectorySummary{}, map[mediator.Tally]int{}
		var size int64
		put := tx.StmtContext(ctx, s.newEvent)
		for i := range evs {
			e := &evs[i]
			if e.Kind == mediator.EventTokens {
				continue
			}
			at := stored(e.At)
			res, err := put.ExecContext(ctx, e.ID, string(e.Trajectory), at.UnixMilli(), string(e.Kind), string(e.Verb), e.Sink, string(e.Outcome), rows[i].size, rows[i].payload, rows[i].detail)
			if err != nil {
				return err
			}
			if seqs[i], err = res.LastInsertId(); err != nil {
				return err
			}
			size += int64(rows[i].size)
			gather(sums, tallies, e, seqs[i], at)
			if err := s.countHits(ctx, tx, e, seqs[i], at); err != nil {
				return err
			}
		}
		if err := s.summarise(ctx, tx, sums, tallies); err != nil {
			return err
		}
		return s.boundEvents(ctx, tx, n, size)
	})
	if err != nil {
		return err
	}
	for i := range evs {
		evs[i].Seq = seqs[i]
	}
	return nil
}

// gather counts an event.
func gather(sums map[flow.TrajectoryID]*mediator.TrajectorySummary, tallies map[mediator.Tally]int, e *mediator.TraceEvent, seq int64, at time.Time) {
	if e.Kind == mediator.EventDecision {
		tallies[mediator.Tally{Minute: time.UnixMilli(at.UnixMilli() / 60_000 * 60_000).UTC(), Verb: e.Verb, Outcome: e.Outcome}]++
	}
	if e.Trajectory == "" {
		return
	}
	sum := sums[e.Trajectory]
	if sum == nil {
		sum = &mediator.TrajectorySummary{ID: e.Trajectory, First: at}
		sums[e.Trajectory] = sum
	}
	answers, findings, denied, asked, edited := e.Counts()
	sum.Last, sum.LastSeq, sum.Events = at, seq, sum.Events+1
	sum.Answers, sum.Findings, sum.Denied, sum.Asked, sum.Edited = sum.Answers+answers, sum.Findings+findings, sum.Denied+denied, sum.Asked+asked, sum.Edited+edited
	if e.Sink != "" {
		sum.Sink = e.Sink
	}
}

// countHits counts what an event found, by its value.
func (s *Store) countHits(ctx context.Context, tx *sql.Tx, e *mediator.TraceEvent, seq int64, at time.Time) error {
	d := e.Payload.Decision
	if d == nil {
		return nil
	}
	for i := range d.Findings {
		fp := d.Findings[i].Fingerprint
		if fp.IsZero() {
			continue
		}
		if _, err := tx.StmtContext(ctx, s.hit).ExecContext(ctx, fp[:], at.UnixMilli(), seq); err != nil {
			return err
		}
	}
	return nil
}

// Hits implements mediator.Events.
func (s *Store) Hits(ctx context.Context, of []secret.Fingerprint) (map[secret.Fingerprint]mediator.Hit, error) {
	out := map[secret.Fingerprint]mediator.Hit{}
	for some := range slices.Chunk(of, 500) {
		args := make([]any, len(some))
		for i := range some {
			args[i] = some[i][:]
		}
		rows, err := s.r.QueryContext(ctx, "SELECT fingerprint, n, last, seq FROM hits WHERE fingerprint IN (?"+strings.Repeat(",?", len(some)-1)+")", args...) //nolint:gosec // question marks
		if err != nil {
			return nil, s.explain(ctx, err)
		}
		for rows.Next() {
			var fp []byte
			var h mediator.Hit
			var last int64
			if err := rows.Scan(&fp, &h.N, &last, &h.Seq); err != nil {
				return nil, errors.Join(s.explain(ctx, err), rows.Close())
			}
			h.Last = time.UnixMilli(last).UTC()
			out[secret.Fingerprint(fp)] = h
		}
		if err := errors.Join(rows.Err(), rows.Close()); err != nil {
			return nil, s.explain(ctx, err)
		}
	}
	return out, nil
}

// summarise adds counts to those that are kept.
func (s *Store) summarise(ctx context.Context, tx *sql.Tx, sums map[flow.TrajectoryID]*mediator.TrajectorySummary, tallies map[mediator.Tally]int) error {
	put := tx.StmtContext(ctx, s.sumEvent)
	for _, t := range sums {
		if _, err := put.ExecContext(ctx, string(t.ID), t.First.UnixMilli(), t.Last.UnixMilli(), t.LastSeq, t.Events, t.Answers, t.Findings, t.Denied, t.Asked, t.Edited, t.Sink); err != nil {
			return err
		}
	}
	latest := int64(0)
	put = tx.StmtContext(ctx, s.tally)
	for t, n := range tallies {
		minute := t.Minute.UnixMilli() / 60_000
		latest = max(latest, minute)
		if _, err := put.ExecContext(ctx, minute, string(t.Verb), string(t.Outcome), n); err != nil {
			return err
		}
	}
	if latest == 0 {
		return nil
	}
	_, err := tx.ExecContext(ctx, "DELETE FROM tallies WHERE minute < ?", latest-mediator.TallyDays*24*60)
	return err
}

// boundEvents keeps the number of events and of their bytes, for all processes
// alike, and removes the oldest if there are too many.
func (s *Store) boundEvents(ctx context.Context, tx *sql.Tx, added int, size int64) error {
	var n, bytes int64
	if err := tx.QueryRowContext(ctx, "UPDATE meta SET value = value + ? WHERE key = 'events' RETURNING value", added).Scan(&n); err != nil {
		return err
	}
	if err := tx.QueryRowContext(ctx, "UPDATE meta SET value = value + ? WHERE key = 'event_bytes' RETURNING value", size).Scan(&bytes); err != nil {
		return err
	}
	if n <= int64(s.opt.MaxEvents) && bytes <= s.opt.MaxEventBytes {
		return nil
	}
	// Those beyond the number, or as many as were added and some more where
	// they are too large; the latest always stays.
	excess := n - int64(s.opt.MaxEvents)
	if bytes > s.opt.MaxEventBytes {
		excess = max(excess, int64(added)+16)
	}
	excess = min(excess, int64(added)+maxEventTrim, n-1)
	var last sql.NullInt64
	var gone, freed int64
	if err := tx.QueryRowContext(ctx, "SELECT max(seq), count(*), coalesce(sum(size), 0) FROM (SELECT seq, size FROM events ORDER BY seq LIMIT ?)", excess).Scan(&last, &gone, &freed); err != nil {
		return err
	}
	for _, q := range []struct {
		query string
		arg   int64
	}{
		{"DELETE FROM events WHERE seq <= ?", last.Int64},
		{"DELETE FROM trajectories WHERE last_seq <= ?", last.Int64},
		{"DELETE FROM hits WHERE seq IN (SELECT seq FROM hits ORDER BY seq DESC LIMIT -1 OFFSET ?)", mediator.MaxHits},
		{"UPDATE meta SET value = value - ? WHERE key = 'events'", gone},
		{"UPDATE meta SET value = value - ? WHERE key = 'event_bytes'", freed},
	} {
		if _, err := tx.ExecContext(ctx, q.query, q.arg); err != nil {
			return err
		}
	}
	return nil
}

// Events implements mediator.Events.
func (s *Store) Events(ctx context.Context, q mediator.EventQuery) ([]mediator.TraceEvent, error) {
	where, args := []string{"seq > ?"}, []any{q.After}
	and := func(cond string, arg ...any) { where, args = append(where, cond), append(args, arg...) }
	if q.Trajectory != "" {
		and("trajectory = ?", string(q.Trajectory))
	}
	if q.Before > 0 {
		and("seq < ?", q.Before)
	}
	if !q.Since.IsZero() {
		and("at >= ?", q.Since.UnixMilli())
	}
	if !q.Until.IsZero() {
		and("at < ?", q.Until.UnixMilli())
	}
	if len(q.Kinds) > 0 {
		kinds := make([]any, len(q.Kinds))
		for i, k := range q.Kinds {
			kinds[i] = string(k)
		}
		and("kind IN (?"+strings.Repeat(",?", len(kinds)-1)+")", kinds...)
	}
	order := ""
	if q.Last {
		order = " DESC"
	}
	rows, err := s.r.QueryContext(ctx, "SELECT "+eventColumns+" FROM events WHERE "+strings.Join(where, " AND ")+" ORDER BY seq"+order+" LIMIT ?", append(args, max(q.Limit, 0))...) //nolint:gosec // our own words; values are parameters
	if err != nil {
		return nil, s.explain(ctx, err)
	}
	defer func() { _ = rows.Close() }()
	var out []mediator.TraceEvent
	for rows.Next() {
		e, err := s.eventOf(ctx, rows)
		if err != nil {
			return nil, err
		}
		out = append(out, e)
	}
	if q.Last {
		slices.Reverse(out)
	}
	return out, s.explain(ctx, rows.Err())
}

// eventOf reads an event, and further columns.
func (s *Store) eventOf(ctx context.Context, from scanner, more ...any) (e mediator.TraceEvent, err error) {
	var at int64
	var payload []byte
	into := append([]any{&e.Seq, &e.ID, (*string)(&e.Trajectory), &at, (*string)(&e.Kind), (*string)(&e.Verb), &e.Sink, (*string)(&e.Outcome), &payload}, more...)
	if err := from.Scan(into...); err != nil {
		return e, s.explain(ctx, err)
	}
	e.At = time.UnixMilli(at).UTC()
	if err := json.Unmarshal(payload, &e.Payload); err != nil {
		return e, s.explain(ctx, fmt.Errorf("an event can't be read: %w", ErrCorrupt))
	}
	return e, nil
}

// Event implements mediator.Events.
func (s *Store) Event(ctx context.Context, seq int64) (mediator.TraceEvent, error) {
	var detail []byte
	e, err := s.eventOf(ctx, s.r.QueryRowContext(ctx, "SELECT "+eventColumns+", detail FROM events WHERE seq = ?", seq), &detail)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return mediator.TraceEvent{}, secret.ErrNotFound
	case err != nil:
		return mediator.TraceEvent{}, err
	case detail == nil:
		return e, nil
	}
	e.Detail = &mediator.Detail{}
	if err := json.Unmarshal(detail, e.Detail); err != nil {
		return mediator.TraceEvent{}, s.explain(ctx, fmt.Errorf("an event can't be read: %w", ErrCorrupt))
	}
	return e, nil
}

// LastEvent implements mediator.Events.
func (s *Store) LastEvent(ctx context.Context) (int64, error) {
	var n int64
	err := s.r.QueryRowContext(ctx, "SELECT coalesce(max(seq), 0) FROM events").Scan(&n)
	return n, s.explain(ctx, err)
}

func sumOf(from scanner) (t mediator.TrajectorySummary, err error) {
	var first, last int64
	err = from.Scan((*string)(&t.ID), &first, &last, &t.LastSeq, &t.Events, &t.Answers, &t.Findings, &t.Denied, &t.Asked, &t.Edited, &t.Sink)
	t.First, t.Last = time.UnixMilli(first).UTC(), time.UnixMilli(last).UTC()
	return t, err
}

// Trajectories implements mediator.Events.
func (s *Store) Trajectories(ctx context.Context, before int64, limit int) ([]mediator.TrajectorySummary, error) {
	query, args := "SELECT "+sumColumns+" FROM trajectories ORDER BY last_seq DESC LIMIT ?", []any{max(limit, 0)}
	if before > 0 {
		query, args = "SELECT "+sumColumns+" FROM trajectories WHERE last_seq < ? ORDER BY last_seq DESC LIMIT ?", []any{before, max(limit, 0)}
	}
	rows, err := s.r.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, s.explain(ctx, err)
	}
	defer func() { _ = rows.Close() }()
	var out []mediator.TrajectorySummary
	for rows.Next() {
		t, err := sumOf(rows)
		if err != nil {
			return nil, s.explain(ctx, err)
		}
		out = append(out, t)
	}
	return out, s.explain(ctx, rows.Err())
}

// Trajectory implements mediator.Events.
func (s *Store) Trajectory(ctx context.Context, id flow.TrajectoryID) (mediator.TrajectorySummary, error) {
	t, err := sumOf(s.r.QueryRowContext(ctx, "SELECT "+sumColumns+" FROM trajectories WHERE id = ?", string(id)))
	if errors.Is(err, sql.ErrNoRows) {
		return mediator.TrajectorySummary{}, secret.ErrNotFound
	}
	return t, s.explain(ctx, err)
}

// Tallies implements mediator.Events.
func (s *Store) Tallies(ctx context.Context, from, to time.Time) ([]mediator.Tally, error) {
	const minute = 60_000
	// The minutes that begin in [from, to).
	rows, err := s.r.QueryContext(ctx, "SELECT minute, verb, outcome, n FROM tallies WHERE minute >= ? AND minute < ? ORDER BY minute, verb, outcome",
		(from.UnixMilli()+minute-1)/minute, (to.UnixMilli()+minute-1)/minute)
	if err != nil {
		return nil, s.explain(ctx, err)
	}
	defer func() { _ = rows.Close() }()
	var out []mediator.Tally
	for rows.Next() {
		var t mediator.Tally
		var at int64
		if err := rows.Scan(&at, (*string)(&t.Verb), (*string)(&t.Outcome), &t.N); err != nil {
			return nil, s.explain(ctx, err)
		}
		t.Minute = time.UnixMilli(at * minute).UTC()
		out = append(out, t)
	}
	return out, s.explain(ctx, rows.Err())
}
