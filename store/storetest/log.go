package storetest

import (
	"context"
	"testing"
	"time"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/mediator/audit"
)

func (u *suite) logRoundTrip(t *testing.T, s Store) {
	ctx := context.Background()
	bare := audit.Entry{Decision: flow.Decision{ID: "bare"}}
	zone := entry(3)
	zone.At = at.Add(999 * time.Microsecond).In(time.FixedZone("far", -12*3600))
	check(t, s.AppendDecisions(ctx, []audit.Entry{entry(2), bare, entry(1)}))
	check(t, s.AppendDecisions(ctx, []audit.Entry{zone}))
	check(t, s.AppendDecisions(ctx, nil))
	compare := func() {
		t.Helper()
		for _, want := range []audit.Entry{entry(1), entry(2), entry(3), bare} {
			got, err := s.Decision(ctx, want.ID)
			check(t, err)
			if !same(got, want) {
				t.Errorf("decision is %+v, want %+v", got, want)
			}
			for _, f := range want.Findings {
				got, id, err := s.FindingByID(ctx, f.ID)
				check(t, err)
				if id != want.ID || got != f {
					t.Errorf("finding is %+v of %s, want %+v of %s", got, id, f, want.ID)
				}
			}
		}
		for _, id := range []string{"", "none", entry(4).ID} {
			_, err := s.Decision(ctx, id)
			notFound(t, "unknown decision", err)
			_, _, err = s.FindingByID(ctx, id)
			notFound(t, "unknown finding", err)
		}
	}
	compare()
	if u.second != nil {
		s := u.second(t, s)
		got, err := s.Decisions(ctx, "", 10)
		if err != nil || len(got) != 4 {
			t.Errorf("another handle sees %d decisions, %v", len(got), err)
		}
	}
	if u.reopen != nil {
		s = u.reopen(t, s)
		compare()
	}
}

func tail(t *testing.T, s Store) {
	ctx := context.Background()
	page := func(after string, limit int, want ...int) string {
		t.Helper()
		got, err := s.Decisions(ctx, after, limit)
		check(t, err)
		if len(got) != len(want) {
			t.Fatalf("after %q: %d decisions, want %d", after, len(got), len(want))
		}
		for i, w := range want {
			if !same(got[i], entry(w)) {
				t.Errorf("after %q: decision %d is %s", after, i, got[i].ID)
			}
			after = got[i].ID
		}
		return after
	}
	page("", 10)
	check(t, s.AppendDecisions(ctx, []audit.Entry{entry(4), entry(1), entry(3)}))
	last := page("", 2, 1, 3)
	last = page(last, 2, 4)
	page(last, 2)
	page("", 0)
	page("", -1)
	page(entry(2).ID, 10, 3, 4) // an id that is not there
	page("~", 10)
	check(t, s.AppendDecisions(ctx, []audit.Entry{entry(5), entry(6)}))
	page(last, 10, 5, 6)
}

// arrivals is what an engine has besides audit.Log, for those who follow it.
type arrivals interface {
	Arrived(ctx context.Context, after int64, limit int) ([]audit.Entry, int64, error)
	LastArrival(ctx context.Context) (int64, error)
}

// arrival: whatever their ids, entries come in the order in which they were
// added, each once.
func arrival(t *testing.T, s Store) {
	ctx := context.Background()
	log, ok := s.(arrivals)
	if !ok {
		t.Fatal("the engine does not tell the order of arrival")
	}
	at := int64(0)
	next := func(limit int, want ...int) {
		t.Helper()
		got, n, err := log.Arrived(ctx, at, limit)
		check(t, err)
		if len(got) != len(want) || n < at || (n == at) != (len(want) == 0) {
			t.Fatalf("after %d: %d decisions up to %d, want %d", at, len(got), n, len(want))
		}
		for i, w := range want {
			if !same(got[i], entry(w)) {
				t.Errorf("after %d: decision %d is %s", at, i, got[i].ID)
			}
		}
		at = n
	}
	last := func() {
		t.Helper()
		if n, err := log.LastArrival(ctx); err != nil || n != at {
			t.Errorf("the last is %d, %v; want %d", n, err, at)
		}
	}
	next(10)
	last()
	check(t, s.AppendDecisions(ctx, []audit.Entry{entry(4), entry(1)}))
	next(10, 4, 1)
	last()
	check(t, s.AppendDecisions(ctx, []audit.Entry{entry(0), entry(4), entry(2)})) // 4 keeps its place
	next(1, 0)
	next(0)
	next(-1)
	next(10, 2)
	last()
	next(10)
}

func replaceEntry(t *testing.T, s Store) {
	ctx := context.Background()
	check(t, s.AppendDecisions(ctx, []audit.Entry{entry(1), entry(2)}))
	changed := entry(1)
	changed.Outcome, changed.Findings = flow.Deny, entry(7).Findings
	check(t, s.AppendDecisions(ctx, []audit.Entry{changed}))
	if got, err := s.Decision(ctx, changed.ID); err != nil || !same(got, changed) {
		t.Errorf("replaced: %+v, %v", got, err)
	}
	_, _, err := s.FindingByID(ctx, entry(1).Findings[0].ID)
	notFound(t, "a finding that is listed no more", err)

	// A finding of several decisions is shown with the last of them.
	shared := entry(5)
	shared.Findings = entry(2).Findings
	check(t, s.AppendDecisions(ctx, []audit.Entry{shared}))
	early := entry(0)
	early.Findings = entry(2).Findings
	check(t, s.AppendDecisions(ctx, []audit.Entry{early}))
	if _, id, err := s.FindingByID(ctx, entry(2).Findings[0].ID); err != nil || id != shared.ID {
		t.Errorf("the finding is one of %s, %v", id, err)
	}
	twice := entry(6)
	twice.Findings = append(twice.Findings, twice.Findings...)
	check(t, s.AppendDecisions(ctx, []audit.Entry{twice, twice}))
	if got, err := s.Decisions(ctx, "", 10); err != nil || len(got) != 5 {
		t.Errorf("%d decisions, %v", len(got), err)
	}
}

func logAllOrNone(t *testing.T, s Store) {
	ctx := context.Background()
	if s.AppendDecisions(ctx, []audit.Entry{entry(1), {}}) == nil {
		t.Error("a decision without id was taken")
	}
	got, err := s.Decisions(ctx, "", 10)
	if len(got) != 0 || err != nil {
		t.Errorf("half of a refused batch was kept: %d decisions, %v", len(got), err)
	}
	_, _, err = s.FindingByID(ctx, entry(1).Findings[0].ID)
	notFound(t, "a finding of a refused batch", err)
}
