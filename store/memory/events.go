package memory

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sort"
	"time"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/mediator"
	"github.com/margaydev/margay/secret"
)

// DefaultMaxEvents is the bound on events unless MaxEvents sets another.
const DefaultMaxEvents = 20_000

// MaxEvents sets how many events are kept. Beyond it the oldest go. It panics
// if n is less than 1.
func MaxEvents(n int) Option {
	if n < 1 {
		panic("memory: MaxEvents needs at least 1")
	}
	return func(s *Store) { s.events.max = n }
}

// events are kept as JSON: what is given out shares nothing with what was
// taken, and looks as other engines give it.
type events struct {
	max   int
	last  int64
	all   []kept // in order
	sums  map[flow.TrajectoryID]*mediator.TrajectorySummary
	tally map[tallied]int
	hits  map[secret.Fingerprint]mediator.Hit
}

type kept struct {
	mediator.TraceEvent // without payload and detail
	payload, detail     []byte
}

type tallied struct {
	minute  int64
	verb    flow.Verb
	outcome flow.Outcome
}

var _ mediator.Events = (*Store)(nil)

// AppendEvents implements mediator.Events.
func (s *Store) AppendEvents(ctx context.Context, evs []mediator.TraceEvent) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	add := make([]kept, 0, len(evs))
	for i := range evs {
		e := kept{TraceEvent: evs[i]}
		if e.Kind == mediator.EventTokens {
			continue
		}
		var err error
		if e.payload, err = json.Marshal(&e.Payload); err != nil {
			return fmt.Errorf("memory store: %w", err)
		}
		if e.Detail != nil {
			if e.detail, err = json.Marshal(e.Detail); err != nil {
				return fmt.Errorf("memory store: %w", err)
			}
		}
		e.At = stored(e.At)
		add = append(add, e)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	v := &s.events
	for i := range add {
		v.last++
		add[i].Seq = v.last
		v.count(&add[i].TraceEvent)
		add[i].Payload, add[i].Detail = mediator.Payload{}, nil
	}
	for i, k := 0, 0; i < len(evs); i++ {
		if evs[i].Kind != mediator.EventTokens {
			evs[i].Seq = add[k].Seq
			k++
		}
	}
	v.all = append(v.all, add...)
	if most := cmp.Or(v.max, DefaultMaxEvents); len(v.all) > most {
		n := len(v.all) - most
		clear(v.all[:n])
		v.all = v.all[n:]
		for id, sum := range v.sums {
			if sum.LastSeq < v.all[0].Seq {
				delete(v.sums, id)
			}
		}
	}
	return nil
}

// count keeps the summary of an event's trajectory, and the tallies.
func (v *events) count(e *mediator.TraceEvent) {
	if e.Kind == mediator.EventDecision {
		if v.tally == nil {
			v.tally = map[tallied]int{}
		}
		m := e.At.UnixMilli() / 60_000
		v.tally[tallied{m, e.Verb, e.Outcome}]++
		for t := range v.tally {
			if t.minute < m-mediator.TallyDays*24*60 {
				delete(v.tally, t)
			}
		}
	}
	if d := e.Payload.Decision; d != nil {
		for i := range d.Findings {
			v.hit(d.Findings[i].Fingerprint, e)
		}
	}
	if e.Trajectory == "" {
		return
	}
	if v.sums == nil {
		v.sums = map[flow.TrajectoryID]*mediator.TrajectorySummary{}
	}
	sum := v.sums[e.Trajectory]
	if sum == nil {
		sum = &mediator.TrajectorySummary{ID: e.Trajectory, First: e.At}
		v.sums[e.Trajectory] = sum
	}
	answers, findings, denied, asked, edited := e.Counts()
	sum.Last, sum.LastSeq, sum.Events = e.At, e.Seq, sum.Events+1
	sum.Answers, sum.Findings, sum.Denied, sum.Asked, sum.Edited = sum.Answers+answers, sum.Findings+findings, sum.Denied+denied, sum.Asked+asked, sum.Edited+edited
	if e.Sink != "" {
		sum.Sink = e.Sink
	}
}

// hit counts a finding of a value.
func (v *events) hit(fp secret.Fingerprint, e *mediator.TraceEvent) {
	if fp.IsZero() {
		return
	}
	if v.hits == nil {
		v.hits = map[secret.Fingerprint]mediator.Hit{}
	}
	v.hits[fp] = mediator.Hit{N: v.hits[fp].N + 1, Last: e.At, Seq: e.Seq}
	if len(v.hits) > mediator.MaxHits {
		first := fp
		for k, h := range v.hits {
			if h.Seq < v.hits[first].Seq {
				first = k
			}
		}
		delete(v.hits, first)
	}
}

// Hits implements mediator.Events.
func (s *Store) Hits(ctx context.Context, of []secret.Fingerprint) (map[secret.Fingerprint]mediator.Hit, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	out := map[secret.Fingerprint]mediator.Hit{}
	for _, fp := range of {
		if h, ok := s.events.hits[fp]; ok {
			out[fp] = h
		}
	}
	return out, nil
}

// open is an event as it is given out.
func (e *kept) open(detail bool) (mediator.TraceEvent, error) {
	out := e.TraceEvent
	if err := json.Unmarshal(e.payload, &out.Payload); err != nil {
		return out, fmt.Errorf("memory store: %w", err)
	}
	if detail && e.detail != nil {
		out.Detail = &mediator.Detail{}
		if err := json.Unmarshal(e.detail, out.Detail); err != nil {
			return out, fmt.Errorf("memory store: %w", err)
		}
	}
	return out, nil
}

// Events implements mediator.Events.
func (s *Store) Events(ctx context.Context, q mediator.EventQuery) ([]mediator.TraceEvent, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.events.all
	from := sort.Search(len(all), func(i int) bool { return all[i].Seq > q.After })
	to := len(all)
	if q.Before > 0 {
		to = sort.Search(len(all), func(i int) bool { return all[i].Seq >= q.Before })
	}
	var out []mediator.TraceEvent
	fits := func(e *kept) bool {
		return (q.Trajectory == "" || e.Trajectory == q.Trajectory) && (len(q.Kinds) == 0 || slices.Contains(q.Kinds, e.Kind)) &&
			(q.Since.IsZero() || e.At.UnixMilli() >= q.Since.UnixMilli()) && (q.Until.IsZero() || e.At.UnixMilli() < q.Until.UnixMilli())
	}
	for i := from; i < to && len(out) < q.Limit; i++ {
		e := &all[i]
		if q.Last {
			e = &all[from+to-1-i]
		}
		if !fits(e) {
			continue
		}
		ev, err := e.open(false)
		if err != nil {
			return nil, err
		}
		out = append(out, ev)
	}
	if q.Last {
		slices.Reverse(out)
	}
	return out, nil
}

// Event implements mediator.Events.
func (s *Store) Event(ctx context.Context, seq int64) (mediator.TraceEvent, error) {
	if err := ctx.Err(); err != nil {
		return mediator.TraceEvent{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.events.all
	i := sort.Search(len(all), func(i int) bool { return all[i].Seq >= seq })
	if i == len(all) || all[i].Seq != seq {
		return mediator.TraceEvent{}, secret.ErrNotFound
	}
	return all[i].open(true)
}

// LastEvent implements mediator.Events.
func (s *Store) LastEvent(ctx context.Context) (int64, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.events.last, nil
}

// Trajectories implements mediator.Events.
func (s *Store) Trajectories(ctx context.Context, before int64, limit int) ([]mediator.TrajectorySummary, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []mediator.TrajectorySummary
	for _, sum := range s.events.sums {
		if before == 0 || sum.LastSeq < before {
			out = append(out, *sum)
		}
	}
	slices.SortFunc(out, func(a, b mediator.TrajectorySummary) int { return cmp.Compare(b.LastSeq, a.LastSeq) })
	return out[:min(len(out), max(limit, 0))], nil
}

// Trajectory implements mediator.Events.
func (s *Store) Trajectory(ctx context.Context, id flow.TrajectoryID) (mediator.TrajectorySummary, error) {
	if err := ctx.Err(); err != nil {
		return mediator.TrajectorySummary{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	sum, ok := s.events.sums[id]
	if !ok {
		return mediator.TrajectorySummary{}, secret.ErrNotFound
	}
	return *sum, nil
}

// Tallies implements mediator.Events.
func (s *Store) Tallies(ctx context.Context, from, to time.Time) ([]mediator.Tally, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []mediator.Tally
	for t, n := range s.events.tally {
		if at := time.UnixMilli(t.minute * 60_000).UTC(); !at.Before(from) && at.Before(to) {
			out = append(out, mediator.Tally{Minute: at, Verb: t.verb, Outcome: t.outcome, N: n})
		}
	}
	slices.SortFunc(out, func(a, b mediator.Tally) int {
		return cmp.Or(a.Minute.Compare(b.Minute), cmp.Compare(a.Verb, b.Verb), cmp.Compare(a.Outcome, b.Outcome))
	})
	return out, nil
}
