package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/mediator/audit"
	"github.com/margaydev/margay/secret"
)

// eventStore is an engine that keeps events.
type eventStore interface {
	Store
	audit.Events
}

func eventsOf(t *testing.T, s Store) eventStore {
	t.Helper()
	kept, ok := s.(eventStore)
	if !ok {
		t.Fatal("the engine keeps no events")
	}
	return kept
}

// happening is an event of each kind in turn.
func happening(i int) audit.Event {
	e := audit.Event{
		ID: fmt.Sprintf("E%025d", i), Trajectory: flow.TrajectoryID(fmt.Sprintf("T%d", i%3)), At: at.Add(time.Duration(i) * 7 * time.Second),
		Sink: "up", Payload: audit.Payload{Version: audit.Version},
	}
	switch i % 5 {
	case 0:
		en := entry(i)
		e.Kind, e.Verb, e.Outcome = audit.KindDecision, flow.Prompt, []flow.Outcome{flow.Allow, flow.Rewrite, flow.Deny}[i/5%3]
		e.Payload.Decision, e.Payload.Size = &en, &audit.Size{Texts: i, Bytes: 10 * i}
	case 1:
		e.Kind, e.Verb = audit.KindAnswer, flow.Generate
		e.Payload.Answer = &audit.Answer{Stream: true, Calls: []string{"read \"<é>"}, Texts: []audit.Text{{Field: "content", Bytes: int64(i), Tokens: 2, Red: 1, Risk: 999}}}
		e.Detail = &audit.Detail{Version: audit.Version, Texts: []audit.TextDetail{{
			Text: "a [REDACTED:token]\x1b[31m", Spans: []audit.Span{{Start: 2, End: 40, At: 2, To: 18, Action: "redact", Kind: "token"}},
			Tokens: &audit.Series{N: 2, Every: 1, Risk: []int{1, 999}, Zone: "gr", Least: []int{-1, 0}, Most: []int{-1, 1000}, Ends: []int{2, 40}, Yellow: 500, Red: 800, Vocabulary: 128000},
		}}}
	case 2:
		e.Kind, e.Verb, e.Sink = audit.KindStep, flow.Prompt, ""
		e.Payload.Step = &audit.Step{Context: "untrusted", Messages: 4, From: 3, Regions: []audit.Region{{Message: 3, Role: "tool", Tool: "web", Field: "a.b", Label: "untrusted", Bytes: 9}}}
	case 3:
		e.Kind = audit.KindQuestion
		e.Payload.Question = &audit.Question{ID: "Q", Tool: "send"}
	case 4:
		e.Kind, e.Trajectory = audit.KindUpstream, ""
		e.Payload.Upstream = &audit.Upstream{Name: "up", Failed: true, Status: 503, Detail: "d"}
	}
	return e
}

func (u *suite) events(t *testing.T, s Store) {
	ctx := context.Background()
	kept := eventsOf(t, s)
	if n, err := kept.LastEvent(ctx); n != 0 || err != nil {
		t.Errorf("the last of none is %d, %v", n, err)
	}
	all := make([]audit.Event, 10)
	for i := range all {
		all[i] = happening(i)
	}
	live := audit.Event{Kind: audit.KindTokens, Trajectory: "T0"}
	batch := append(slices.Clone(all[:4]), live)
	check(t, kept.AppendEvents(ctx, batch))
	copy(all, batch[:4])
	check(t, kept.AppendEvents(ctx, nil))
	check(t, kept.AppendEvents(ctx, []audit.Event{live}))
	check(t, kept.AppendEvents(ctx, all[4:]))
	for i := range all {
		if all[i].Seq != int64(i+1) {
			t.Errorf("event %d has the place %d", i, all[i].Seq)
		}
	}
	if u.reopen != nil {
		s = u.reopen(t, s)
		kept = eventsOf(t, s)
	}
	for i := range all {
		got, err := kept.Event(ctx, all[i].Seq)
		check(t, err)
		if !same(got, all[i]) {
			t.Errorf("event %d is %+v, want %+v", i, got, all[i])
		}
	}
	for _, seq := range []int64{0, -1, 11} {
		_, err := kept.Event(ctx, seq)
		notFound(t, "an unknown event", err)
	}
	_, err := kept.Trajectory(ctx, "nobody")
	notFound(t, "an unknown trajectory", err)
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	if err := kept.AppendEvents(cancelled, []audit.Event{happening(1)}); !errors.Is(err, context.Canceled) {
		t.Errorf("an append with a cancelled context: %v", err)
	}
	if n, err := kept.LastEvent(ctx); n != 10 || err != nil {
		t.Errorf("the last is %d, %v", n, err)
	}
}

// eventModel does any sequence of appends and queries to a store and to a
// plain list.
func (u *suite) eventModel(t *testing.T, open func(t *testing.T) Store) {
	ctx := context.Background()
	rapid.Check(t, func(r *rapid.T) {
		s := eventsOf(t, open(t))
		defer func() { _ = s.Close() }()
		var model []audit.Event
		ok := func(err error) {
			r.Helper()
			if err != nil {
				r.Fatalf("%v", err)
			}
		}
		r.Repeat(map[string]func(*rapid.T){
			"append": func(r *rapid.T) {
				var evs []audit.Event
				for _, i := range rapid.SliceOfN(rapid.IntRange(0, 40), 0, 5).Draw(r, "events") {
					evs = append(evs, happening(i))
				}
				ok(s.AppendEvents(ctx, evs))
				model = append(model, evs...)
			},
			"query": func(r *rapid.T) {
				q := audit.Query{
					After: rapid.Int64Range(0, 20).Draw(r, "after"), Before: rapid.Int64Range(0, 20).Draw(r, "before"),
					Limit: rapid.IntRange(-1, 12).Draw(r, "limit"), Last: rapid.Bool().Draw(r, "last"),
					Trajectory: rapid.SampledFrom([]flow.TrajectoryID{"", "T0", "T1", "T9"}).Draw(r, "trajectory"),
					Kinds:      rapid.SampledFrom([][]audit.Kind{nil, {audit.KindAnswer}, {audit.KindStep, audit.KindDecision}}).Draw(r, "kinds"),
				}
				if rapid.Bool().Draw(r, "times") {
					q.Since, q.Until = at.Add(30*time.Second), at.Add(150*time.Second)
				}
				got, err := s.Events(ctx, q)
				ok(err)
				if want := queried(model, q); !equal(got, want) {
					r.Fatalf("%+v: %d events, want %d\n%+v\n%+v", q, len(got), len(want), got, want)
				}
			},
			"": func(r *rapid.T) {
				n, err := s.LastEvent(ctx)
				ok(err)
				if n != int64(len(model)) {
					r.Fatalf("the last is %d of %d", n, len(model))
				}
				sums, tallies := summed(model)
				got, err := s.Trajectories(ctx, 0, 100)
				ok(err)
				if !equal(got, sums) {
					r.Fatalf("trajectories are %+v, want %+v", got, sums)
				}
				for i := range sums {
					one, err := s.Trajectory(ctx, sums[i].ID)
					ok(err)
					rest, err := s.Trajectories(ctx, sums[i].LastSeq, 1)
					ok(err)
					if !same(one, sums[i]) || !equal(rest, sums[min(i+1, len(sums)):min(i+2, len(sums))]) {
						r.Fatalf("trajectory %d is %+v, before it %+v", i, one, rest)
					}
				}
				hits, err := s.Hits(ctx, []secret.Fingerprint{{0, 9}, {5, 9}, {10, 9}, {1, 9}})
				ok(err)
				if want := hit(model); !same(hits, want) {
					r.Fatalf("hits are %+v, want %+v", hits, want)
				}
				counts, err := s.Tallies(ctx, at.Add(-time.Hour), at.Add(time.Hour))
				ok(err)
				if !equal(counts, tallies) {
					r.Fatalf("tallies are %+v, want %+v", counts, tallies)
				}
				if none, err := s.Tallies(ctx, at.Add(time.Hour), at.Add(2*time.Hour)); err != nil || len(none) > 0 {
					r.Fatalf("tallies of another time are %+v, %v", none, err)
				}
			},
		})
	})
}

func queried(model []audit.Event, q audit.Query) (out []audit.Event) {
	for _, e := range model {
		if e.Seq <= q.After || q.Before > 0 && e.Seq >= q.Before || q.Trajectory != "" && e.Trajectory != q.Trajectory ||
			len(q.Kinds) > 0 && !slices.Contains(q.Kinds, e.Kind) || !q.Since.IsZero() && (e.At.Before(q.Since) || !e.At.Before(q.Until)) {
			continue
		}
		e.Detail = nil
		out = append(out, e)
	}
	n := min(max(q.Limit, 0), len(out))
	if q.Last {
		return out[len(out)-n:]
	}
	return out[:n]
}

// hit counts the findings of three values, and of one that is never found.
func hit(model []audit.Event) map[secret.Fingerprint]audit.Hit {
	out := map[secret.Fingerprint]audit.Hit{}
	for _, e := range model {
		if d := e.Payload.Decision; d != nil {
			fp := d.Findings[0].Fingerprint
			if fp[0] == 0 || fp[0] == 5 || fp[0] == 10 {
				out[fp] = audit.Hit{N: out[fp].N + 1, Last: e.At, Seq: e.Seq}
			}
		}
	}
	return out
}

func summed(model []audit.Event) (sums []audit.Summary, tallies []audit.Tally) {
	for _, e := range model {
		if e.Kind == audit.KindDecision {
			t := audit.Tally{Minute: e.At.Truncate(time.Minute), Verb: e.Verb, Outcome: e.Outcome}
			if i := slices.IndexFunc(tallies, func(o audit.Tally) bool { o.N = 0; return o == t }); i >= 0 {
				tallies[i].N++
			} else {
				t.N = 1
				tallies = append(tallies, t)
			}
		}
		if e.Trajectory == "" {
			continue
		}
		i := slices.IndexFunc(sums, func(s audit.Summary) bool { return s.ID == e.Trajectory })
		if i < 0 {
			i = len(sums)
			sums = append(sums, audit.Summary{ID: e.Trajectory, First: e.At})
		}
		s := &sums[i]
		s.Last, s.LastSeq, s.Events = e.At, e.Seq, s.Events+1
		if e.Payload.Decision != nil {
			s.Findings += len(e.Payload.Decision.Findings)
		}
		if e.Kind == audit.KindAnswer {
			s.Answers++
		}
		if e.Kind == audit.KindQuestion && e.Payload.Question != nil && e.Payload.Question.Answer == "" {
			s.Asked++
		}
		if e.Kind == audit.KindDecision && e.Outcome == flow.Deny {
			s.Denied++
		}
		if e.Kind == audit.KindDecision && e.Outcome == flow.Rewrite {
			s.Edited++
		}
		if e.Sink != "" {
			s.Sink = e.Sink
		}
	}
	slices.SortFunc(sums, func(a, b audit.Summary) int { return int(b.LastSeq - a.LastSeq) })
	slices.SortFunc(tallies, func(a, b audit.Tally) int {
		return 4*a.Minute.Compare(b.Minute) + 2*compare(string(a.Verb), string(b.Verb)) + compare(string(a.Outcome), string(b.Outcome))
	})
	return sums, tallies
}

func compare(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// EventsBounded holds an engine that keeps at most so many events to keeping
// the latest, and to forgetting trajectories with their events.
func EventsBounded(t *testing.T, s Store, most int) {
	ctx := context.Background()
	kept := eventsOf(t, s)
	total := 5 * most
	for i := 0; i < total; i += 10 {
		var evs []audit.Event
		for k := range 10 {
			e := happening(5*(i+k) + 1)
			e.Trajectory = flow.TrajectoryID(fmt.Sprintf("T%d", (i+k)/20))
			evs = append(evs, e)
		}
		check(t, kept.AppendEvents(ctx, evs))
	}
	got, err := kept.Events(ctx, audit.Query{Limit: total})
	check(t, err)
	if len(got) > most || len(got) < most/2 || got[len(got)-1].Seq != int64(total) {
		t.Fatalf("%d events are kept of %d; the bound is %d", len(got), total, most)
	}
	sums, err := kept.Trajectories(ctx, 0, total)
	check(t, err)
	if n := (total - int(got[0].Seq)) / 20; len(sums) < n || len(sums) > n+2 {
		t.Errorf("%d trajectories are kept with %d events", len(sums), len(got))
	}
	_, err = kept.Trajectory(ctx, "T0")
	if !errors.Is(err, secret.ErrNotFound) {
		t.Errorf("a trajectory without events: %v", err)
	}
}
