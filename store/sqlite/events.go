package sqlite

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/mediator/audit"
	"github.com/margaydev/margay/secret"
	"github.com/margaydev/margay/store"
)

// maxEventTrim bounds the events that one transaction removes, beyond those
// that it adds: others wait for it.
const maxEventTrim = 512

const (
	eventColumns = "seq, id, trajectory, at, kind, verb, sink, outcome, payload"
	sumColumns   = "id, first, last, last_seq, events, answers, findings, denied, asked, edited, sink"
	addsToSum    = ` ON CONFLICT DO UPDATE SET last = excluded.last, last_seq = excluded.last_seq,
		events = events + excluded.events, answers = answers + excluded.answers, findings = findings + excluded.findings,
		denied = denied + excluded.denied, asked = asked + excluded.asked, edited = edited + excluded.edited,
		sink = CASE excluded.sink WHEN '' THEN sink ELSE excluded.sink END`
	addTally = "INSERT INTO tallies (minute, verb, outcome, n) VALUES (?,?,?,?) ON CONFLICT DO UPDATE SET n = n + excluded.n"
	addHit   = "INSERT INTO hits (fingerprint, n, last, seq) VALUES (?,1,?,?) ON CONFLICT DO UPDATE SET n = n + 1, last = excluded.last, seq = excluded.seq"
	addMeta  = "UPDATE meta SET value = value + ? WHERE key = ? RETURNING value"
)

// Rows of events and of what is counted of them.
var (
	newEvents = rowsInto("events", "id, trajectory, at, kind, verb, sink, outcome, size, payload, detail", "")
	addSums   = rowsInto("trajectories", sumColumns, addsToSum)
)

var _ audit.Events = (*Store)(nil)

// eventRow is an event as it is written.
type eventRow struct {
	audit.Event

	of      int // its place in the call
	payload string
	detail  any // NULL for none
	size    int
}

// AppendEvents implements audit.Events. One call is one transaction, and
// decisions made meanwhile wait for it: a few dozen events make a good one.
func (s *Store) AppendEvents(ctx context.Context, evs []audit.Event) error {
	var rows []eventRow
	for i := range evs {
		if evs[i].Kind == audit.KindTokens {
			continue
		}
		payload, detail, err := evs[i].Encoded()
		if err != nil {
			return fmt.Errorf("sqlite store: %w", err)
		}
		row := eventRow{Event: evs[i], of: i, payload: string(payload), size: len(payload) + len(detail)}
		row.At = store.Moment(row.At)
		if detail != nil {
			row.detail = string(detail)
		}
		rows = append(rows, row)
	}
	if len(rows) == 0 {
		return ctx.Err()
	}
	err := s.transact(ctx, func(t *tx) error {
		var size int64
		w := t.rows(&newEvents)
		for i := range rows {
			e := &rows[i]
			w.put(e.ID, string(e.Trajectory), e.At.UnixMilli(), string(e.Kind), string(e.Verb), e.Sink, string(e.Outcome), e.size, e.payload, e.detail)
			size += int64(e.size)
		}
		// Nobody else adds meanwhile, and the engine counts on from the last.
		first := w.end() - int64(len(rows)) + 1
		for i := range rows {
			rows[i].Seq = first + int64(i)
		}
		t.summarise(rows)
		t.boundEvents(len(rows), size)
		return nil
	})
	if err != nil {
		return err
	}
	for i := range rows {
		evs[rows[i].of].Seq = rows[i].Seq
	}
	return nil
}

// summarise adds events to what is counted of them.
func (t *tx) summarise(rows []eventRow) {
	sums, tallies := map[flow.TrajectoryID]*audit.Summary{}, map[audit.Tally]int{}
	for i := range rows {
		e := &rows[i].Event
		if tally, ok := e.Tally(); ok {
			tallies[tally]++
		}
		if e.Trajectory != "" {
			if sums[e.Trajectory] == nil {
				sums[e.Trajectory] = &audit.Summary{}
			}
			sums[e.Trajectory].Add(e)
		}
		if d := e.Payload.Decision; d != nil {
			for k := range d.Findings {
				if fp := d.Findings[k].Fingerprint; !fp.IsZero() {
					t.exec(addHit, fp[:], e.At.UnixMilli(), e.Seq)
				}
			}
		}
	}
	w := t.rows(&addSums)
	for _, s := range sums {
		w.put(string(s.ID), s.First.UnixMilli(), s.Last.UnixMilli(), s.LastSeq, s.Events, s.Answers, s.Findings, s.Denied, s.Asked, s.Edited, s.Sink)
	}
	w.end()
	latest := int64(0)
	for tally, n := range tallies {
		minute := tally.Minute.Unix() / 60
		latest = max(latest, minute)
		t.exec(addTally, minute, string(tally.Verb), string(tally.Outcome), n)
	}
	if latest > 0 {
		t.exec("DELETE FROM tallies WHERE minute < ?", latest-audit.TallyDays*24*60)
	}
}

// boundEvents keeps the number of events and of their bytes, for all processes
// alike, and removes the oldest if there are too many.
func (t *tx) boundEvents(added int, size int64) {
	most, mostBytes := int64(t.store.opt.MaxEvents), t.store.opt.MaxEventBytes
	var n, bytes int64
	t.row([]any{&n}, addMeta, added, "events")
	t.row([]any{&bytes}, addMeta, size, "event_bytes")
	if n <= most && bytes <= mostBytes {
		return
	}
	// Those beyond the number, or as many as were added and some more where
	// they are too large; the latest always stays.
	excess := n - most
	if bytes > mostBytes {
		excess = max(excess, int64(added)+16)
	}
	excess = min(excess, int64(added)+maxEventTrim, n-1)
	var last, removed, freed int64
	t.row([]any{&last, &removed, &freed}, `SELECT coalesce(max(seq), 0), count(*), coalesce(sum(size), 0)
		FROM (SELECT seq, size FROM events ORDER BY seq LIMIT ?)`, excess)
	t.exec("DELETE FROM events WHERE seq <= ?", last)
	t.exec("DELETE FROM trajectories WHERE last_seq <= ?", last)
	t.exec("DELETE FROM hits WHERE seq IN (SELECT seq FROM hits ORDER BY seq DESC LIMIT -1 OFFSET ?)", audit.MaxHits)
	t.row([]any{&n}, addMeta, -removed, "events")
	t.row([]any{&bytes}, addMeta, -freed, "event_bytes")
}

// Hits implements audit.Events.
func (s *Store) Hits(ctx context.Context, of []secret.Fingerprint) (map[secret.Fingerprint]audit.Hit, error) {
	type hit struct {
		of secret.Fingerprint
		audit.Hit
	}
	out := map[secret.Fingerprint]audit.Hit{}
	for some := range slices.Chunk(of, 500) {
		args := make([]any, len(some))
		for i := range some {
			args[i] = some[i][:]
		}
		hits, err := list(ctx, s, func(h *hit) []any { return []any{fixed(h.of[:]), &h.N, moment{&h.Last}, &h.Seq} },
			"SELECT fingerprint, n, last, seq FROM hits WHERE fingerprint IN "+marks(len(some)), args...)
		if err != nil {
			return nil, err
		}
		for _, h := range hits {
			out[h.of] = h.Hit
		}
	}
	return out, nil
}

// marks are the places of n parameters in a list.
func marks(n int) string { return "(?" + strings.Repeat(",?", n-1) + ")" }

// Events implements audit.Events.
func (s *Store) Events(ctx context.Context, q audit.Query) ([]audit.Event, error) {
	where, args := "seq > ?", []any{q.After}
	and := func(cond string, arg ...any) { where, args = where+" AND "+cond, append(args, arg...) }
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
		and("kind IN " + marks(len(q.Kinds)))
		for _, k := range q.Kinds {
			args = append(args, string(k))
		}
	}
	order := ""
	if q.Last {
		order = " DESC"
	}
	out, err := list(ctx, s, eventInto, "SELECT "+eventColumns+" FROM events WHERE "+where+" ORDER BY seq"+order+" LIMIT ?", append(args, max(q.Limit, 0))...)
	if q.Last {
		slices.Reverse(out)
	}
	return out, err
}

func eventInto(e *audit.Event) []any {
	return []any{&e.Seq, &e.ID, &e.Trajectory, moment{&e.At}, &e.Kind, &e.Verb, &e.Sink, &e.Outcome, decoded{&e.Payload}}
}

// Event implements audit.Events.
func (s *Store) Event(ctx context.Context, seq int64) (audit.Event, error) {
	return one(ctx, s, secret.ErrNotFound, func(e *audit.Event) []any { return append(eventInto(e), decoded{&e.Detail}) },
		"SELECT "+eventColumns+", detail FROM events WHERE seq = ?", seq)
}

// LastEvent implements audit.Events.
func (s *Store) LastEvent(ctx context.Context) (int64, error) {
	return one(ctx, s, nil, value[int64], "SELECT coalesce(max(seq), 0) FROM events")
}

func sumInto(t *audit.Summary) []any {
	return []any{
		&t.ID, moment{&t.First}, moment{&t.Last}, &t.LastSeq, &t.Events, &t.Answers, &t.Findings, &t.Denied, &t.Asked, &t.Edited, &t.Sink,
	}
}

// Trajectories implements audit.Events.
func (s *Store) Trajectories(ctx context.Context, before int64, limit int) ([]audit.Summary, error) {
	if before <= 0 {
		before = math.MaxInt64
	}
	return list(ctx, s, sumInto, "SELECT "+sumColumns+" FROM trajectories WHERE last_seq < ? ORDER BY last_seq DESC LIMIT ?", before, max(limit, 0))
}

// Trajectory implements audit.Events.
func (s *Store) Trajectory(ctx context.Context, id flow.TrajectoryID) (audit.Summary, error) {
	return one(ctx, s, secret.ErrNotFound, sumInto, "SELECT "+sumColumns+" FROM trajectories WHERE id = ?", string(id))
}

// Tallies implements audit.Events.
func (s *Store) Tallies(ctx context.Context, from, to time.Time) ([]audit.Tally, error) {
	const minute = 60_000
	// The minutes that start in [from, to).
	return list(ctx, s, func(t *audit.Tally) []any { return []any{moment{&t.Minute}, &t.Verb, &t.Outcome, &t.N} },
		"SELECT minute * 60000, verb, outcome, n FROM tallies WHERE minute >= ? AND minute < ? ORDER BY minute, verb, outcome",
		(from.UnixMilli()+minute-1)/minute, (to.UnixMilli()+minute-1)/minute)
}
