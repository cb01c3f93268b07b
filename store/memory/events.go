package memory

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sort"
	"time"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/mediator/audit"
	"github.com/margaydev/margay/secret"
	"github.com/margaydev/margay/store"
)

// events are kept as JSON: what is returned shares nothing with what was
// appended, and looks as other engines return it.
type events struct {
	last    int64
	all     []kept // in order
	sums    map[flow.TrajectoryID]*audit.Summary
	tallies map[audit.Tally]int
	hits    map[secret.Fingerprint]audit.Hit
}

type kept struct {
	audit.Event     // without payload and detail
	payload, detail []byte
}

var _ audit.Events = (*Store)(nil)

// AppendEvents implements audit.Events.
func (s *Store) AppendEvents(ctx context.Context, evs []audit.Event) error {
	add := make([]kept, len(evs))
	for i := range evs {
		var err error
		add[i].Event = evs[i]
		if add[i].payload, add[i].detail, err = evs[i].Encoded(); err != nil {
			return fmt.Errorf("memory store: %w", err)
		}
		add[i].At = store.Moment(evs[i].At)
	}
	return s.do(ctx, func() error {
		v := &s.events
		for i := range add {
			e := &add[i]
			if e.Kind == audit.KindTokens {
				continue
			}
			v.last++
			e.Seq, evs[i].Seq = v.last, v.last
			v.count(&e.Event)
			e.Payload, e.Detail = audit.Payload{}, nil
			v.all = append(v.all, *e)
		}
		if n := len(v.all) - s.MaxEvents; n > 0 {
			clear(v.all[:n])
			v.all = v.all[n:]
			maps.DeleteFunc(v.sums, func(_ flow.TrajectoryID, sum *audit.Summary) bool { return sum.LastSeq < v.all[0].Seq })
		}
		return nil
	})
}

// count keeps the summary of an event's trajectory, the tallies and the hits.
func (v *events) count(e *audit.Event) {
	if tally, ok := e.Tally(); ok {
		v.tallies[tally]++
		oldest := tally.Minute.AddDate(0, 0, -audit.TallyDays)
		maps.DeleteFunc(v.tallies, func(t audit.Tally, _ int) bool { return t.Minute.Before(oldest) })
	}
	if d := e.Payload.Decision; d != nil {
		for i := range d.Findings {
			v.hit(d.Findings[i].Fingerprint, e)
		}
	}
	if e.Trajectory != "" {
		if v.sums[e.Trajectory] == nil {
			v.sums[e.Trajectory] = &audit.Summary{}
		}
		v.sums[e.Trajectory].Add(e)
	}
}

// hit counts a finding of a value.
func (v *events) hit(fp secret.Fingerprint, e *audit.Event) {
	if fp.IsZero() {
		return
	}
	v.hits[fp] = audit.Hit{N: v.hits[fp].N + 1, Last: e.At, Seq: e.Seq}
	if len(v.hits) > audit.MaxHits {
		first := fp
		for k, h := range v.hits {
			if h.Seq < v.hits[first].Seq {
				first = k
			}
		}
		delete(v.hits, first)
	}
}

// Hits implements audit.Events.
func (s *Store) Hits(ctx context.Context, of []secret.Fingerprint) (map[secret.Fingerprint]audit.Hit, error) {
	return locked(ctx, s, func() (map[secret.Fingerprint]audit.Hit, error) {
		out := map[secret.Fingerprint]audit.Hit{}
		for _, fp := range of {
			if h, ok := s.events.hits[fp]; ok {
				out[fp] = h
			}
		}
		return out, nil
	})
}

// open returns an event as others see it.
func (e *kept) open(detail bool) (audit.Event, error) {
	out := e.Event
	err := json.Unmarshal(e.payload, &out.Payload)
	if err == nil && detail && e.detail != nil {
		err = json.Unmarshal(e.detail, &out.Detail)
	}
	if err != nil {
		return out, fmt.Errorf("memory store: %w", err)
	}
	return out, nil
}

// behind returns how many events have at most a number.
func (v *events) behind(seq int64) int {
	return sort.Search(len(v.all), func(i int) bool { return v.all[i].Seq > seq })
}

// Events implements audit.Events.
func (s *Store) Events(ctx context.Context, q audit.Query) ([]audit.Event, error) {
	return locked(ctx, s, func() ([]audit.Event, error) {
		some := s.events.all
		if q.Before > 0 {
			some = some[:s.events.behind(q.Before-1)]
		}
		some = some[min(s.events.behind(q.After), len(some)):]
		order := slices.All(some)
		if q.Last {
			order = slices.Backward(some)
		}
		var out []audit.Event
		for _, e := range order {
			if len(out) >= q.Limit {
				break
			}
			if !fits(&e.Event, &q) {
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
	})
}

// fits reports whether an event is one that a query asks for.
func fits(e *audit.Event, q *audit.Query) bool {
	return (q.Trajectory == "" || e.Trajectory == q.Trajectory) && (len(q.Kinds) == 0 || slices.Contains(q.Kinds, e.Kind)) &&
		(q.Since.IsZero() || e.At.UnixMilli() >= q.Since.UnixMilli()) && (q.Until.IsZero() || e.At.UnixMilli() < q.Until.UnixMilli())
}

// Event implements audit.Events.
func (s *Store) Event(ctx context.Context, seq int64) (audit.Event, error) {
	return locked(ctx, s, func() (audit.Event, error) {
		all, i := s.events.all, s.events.behind(seq-1)
		if i == len(all) || all[i].Seq != seq {
			return audit.Event{}, secret.ErrNotFound
		}
		return all[i].open(true)
	})
}

// LastEvent implements audit.Events.
func (s *Store) LastEvent(ctx context.Context) (int64, error) {
	return locked(ctx, s, func() (int64, error) { return s.events.last, nil })
}

// Trajectories implements audit.Events.
func (s *Store) Trajectories(ctx context.Context, before int64, limit int) ([]audit.Summary, error) {
	return locked(ctx, s, func() ([]audit.Summary, error) {
		var out []audit.Summary
		for _, sum := range s.events.sums {
			if before == 0 || sum.LastSeq < before {
				out = append(out, *sum)
			}
		}
		slices.SortFunc(out, func(a, b audit.Summary) int { return cmp.Compare(b.LastSeq, a.LastSeq) })
		return out[:min(len(out), max(limit, 0))], nil
	})
}

// Trajectory implements audit.Events.
func (s *Store) Trajectory(ctx context.Context, id flow.TrajectoryID) (audit.Summary, error) {
	return get(ctx, s, s.events.sums, id, secret.ErrNotFound, func(sum *audit.Summary) audit.Summary { return *sum })
}

// Tallies implements audit.Events.
func (s *Store) Tallies(ctx context.Context, from, to time.Time) ([]audit.Tally, error) {
	return locked(ctx, s, func() ([]audit.Tally, error) {
		var out []audit.Tally
		for t, n := range s.events.tallies {
			if !t.Minute.Before(from) && t.Minute.Before(to) {
				t.N = n
				out = append(out, t)
			}
		}
		slices.SortFunc(out, func(a, b audit.Tally) int {
			return cmp.Or(a.Minute.Compare(b.Minute), cmp.Compare(a.Verb, b.Verb), cmp.Compare(a.Outcome, b.Outcome))
		})
		return out, nil
	})
}
