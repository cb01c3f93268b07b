// Package storetest is the suite that every store runs.
package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/mediator"
	"github.com/margaydev/margay/secret"
)

// Run holds a store to what secret.Store and mediator.Log say. open returns a
// new, empty store, and a function that opens the same one again beside it, or
// nil where the store lasts no longer than its process.
func Run(t *testing.T, open func(t *testing.T) (s mediator.Store, again func() mediator.Store)) {
	for name, f := range map[string]func(*testing.T, mediator.Store, func() mediator.Store){
		"secrets": secrets, "all or none": allOrNone, "allows": allows, "epoch": epoch, "decisions": decisions, "concurrency": concurrency, "cancelled": cancelled,
	} {
		t.Run(name, func(t *testing.T) {
			s, again := open(t)
			f(t, s, again)
		})
	}
}

var at = time.UnixMilli(1760000000123).UTC()

func record(i int) secret.Record {
	return secret.Record{
		ID: fmt.Sprintf("%026d", i), Name: fmt.Sprintf("S%d", i), Kind: secret.KindToken, Source: secret.SourceRegistered, Origin: "test",
		Fingerprint: secret.Fingerprint{byte(i), byte(i >> 8), 1}, Print: []byte{1, 2, byte(i)}, Length: 20 + i, Created: at,
	}
}

func all(t *testing.T, s mediator.Store) (out []secret.Record) {
	t.Helper()
	for r, err := range s.Secrets(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, r)
	}
	return out
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func ids(recs []secret.Record) (out []string) {
	for _, r := range recs {
		out = append(out, r.ID)
	}
	return out
}

func secrets(t *testing.T, s mediator.Store, again func() mediator.Store) {
	ctx := context.Background()
	full := record(3)
	full.Sealed, full.Expires = []byte("sealed"), at.Add(time.Hour)
	check(t, s.PutSecrets(ctx, []secret.Record{full, record(1), record(2)}))
	got := all(t, s)
	if want := []string{record(1).ID, record(2).ID, record(3).ID}; !slices.Equal(ids(got), want) {
		t.Fatalf("ids are %v", ids(got))
	}
	if g := got[2]; g.Name != full.Name || g.Kind != full.Kind || g.Source != full.Source || g.Origin != full.Origin || g.Fingerprint != full.Fingerprint ||
		!slices.Equal(g.Print, full.Print) || g.Length != full.Length || !slices.Equal(g.Sealed, full.Sealed) || !g.Created.Equal(full.Created) || !g.Expires.Equal(full.Expires) {
		t.Errorf("a record came back otherwise: %+v", g)
	}
	if !got[0].Expires.IsZero() {
		t.Error("no expiry became one")
	}
	same := record(1) // same fingerprint and name under another id
	same.ID = record(9).ID
	check(t, s.PutSecrets(ctx, []secret.Record{same}))
	if got := ids(all(t, s)); !slices.Equal(got, []string{record(2).ID, record(3).ID, record(9).ID}) {
		t.Errorf("after replacing: %v", got)
	}
	for r, err := range s.Secrets(ctx) { // stopping early leaves nothing open
		if err != nil || r.ID == "" {
			t.Error("first record")
		}
		break
	}
	check(t, s.DeleteSecret(ctx, record(2).ID))
	if err := s.DeleteSecret(ctx, record(2).ID); !errors.Is(err, secret.ErrNotFound) {
		t.Errorf("deleting twice: %v", err)
	}
	if again != nil {
		if got := ids(all(t, again())); !slices.Equal(got, []string{record(3).ID, record(9).ID}) {
			t.Errorf("opened again: %v", got)
		}
	}
}

func allOrNone(t *testing.T, s mediator.Store, _ func() mediator.Store) {
	ctx := context.Background()
	if s.PutSecrets(ctx, []secret.Record{record(1), {}}) == nil {
		t.Error("a record without id was taken")
	}
	if s.AppendDecisions(ctx, []mediator.LogEntry{entry(1), {}}) == nil {
		t.Error("a decision without id was taken")
	}
	got, err := s.Decisions(ctx, "", 10)
	if len(all(t, s)) != 0 || len(got) != 0 || err != nil {
		t.Error("half of a refused batch was kept")
	}
}

func allows(t *testing.T, s mediator.Store, _ func() mediator.Store) {
	ctx := context.Background()
	a := secret.Allow{ID: "b", Fingerprint: secret.Fingerprint{1}, Rule: "r", Path: "p*", Reason: "why", Finding: "f", Created: at, Expires: at.Add(time.Hour)}
	b := secret.Allow{ID: "a", Rule: "r2", Created: at}
	check(t, s.PutAllow(ctx, a))
	check(t, s.PutAllow(ctx, b))
	got, err := s.Allows(ctx)
	check(t, err)
	if len(got) != 2 || got[0] != b || got[1] != a {
		t.Errorf("allowances are %+v", got)
	}
	a.Rule = "changed"
	check(t, s.PutAllow(ctx, a))
	if got, _ = s.Allows(ctx); got[1].Rule != "changed" {
		t.Error("an allowance was not replaced")
	}
	check(t, s.DeleteAllow(ctx, "a"))
	if err := s.DeleteAllow(ctx, "a"); !errors.Is(err, secret.ErrNotFound) {
		t.Errorf("deleting twice: %v", err)
	}
}

func epoch(t *testing.T, s mediator.Store, again func() mediator.Store) {
	ctx := context.Background()
	last, err := s.Epoch(ctx)
	check(t, err)
	grows := func(what string, want bool) {
		t.Helper()
		e, err := s.Epoch(ctx)
		check(t, err)
		if (e > last) != want {
			t.Errorf("%s: epoch went from %d to %d", what, last, e)
		}
		last = e
	}
	check(t, s.PutSecrets(ctx, []secret.Record{record(1)}))
	grows("putting a secret", true)
	check(t, s.PutAllow(ctx, secret.Allow{ID: "a", Rule: "r", Created: at}))
	grows("putting an allowance", true)
	check(t, s.AppendDecisions(ctx, []mediator.LogEntry{entry(1)}))
	grows("a decision", false)
	if again != nil {
		check(t, again().DeleteSecret(ctx, record(1).ID))
		grows("a change by somebody else", true)
	}
}

func entry(i int) mediator.LogEntry {
	return mediator.LogEntry{
		Decision: flow.Decision{ID: fmt.Sprintf("D%025d", i), Trajectory: "T", Verb: flow.Prompt, Outcome: flow.Rewrite, At: at, Reasons: []flow.Reason{{Code: "c", Detail: "d"}}},
		Findings: []mediator.FindingRecord{{ID: fmt.Sprintf("F%025d", i), Rule: "r", Kind: secret.KindToken, Fingerprint: secret.Fingerprint{byte(i)}, Action: flow.ActRedact}},
	}
}

func decisions(t *testing.T, s mediator.Store, again func() mediator.Store) {
	ctx := context.Background()
	check(t, s.AppendDecisions(ctx, []mediator.LogEntry{entry(2), entry(1)}))
	check(t, s.AppendDecisions(ctx, []mediator.LogEntry{entry(3)}))
	if again != nil {
		s = again()
	}
	page := func(after string, limit int, want ...int) string {
		t.Helper()
		got, err := s.Decisions(ctx, after, limit)
		check(t, err)
		if len(got) != len(want) {
			t.Fatalf("after %q: %d decisions, want %d", after, len(got), len(want))
		}
		for i, w := range want {
			if got[i].ID != entry(w).ID {
				t.Errorf("after %q: decision %d is %s", after, i, got[i].ID)
			}
		}
		if len(got) > 0 {
			return got[len(got)-1].ID
		}
		return after
	}
	last := page("", 2, 1, 2)
	last = page(last, 2, 3)
	page(last, 2)
	got, err := s.Decision(ctx, entry(2).ID)
	check(t, err)
	if fmt.Sprint(got) != fmt.Sprint(entry(2)) {
		t.Errorf("a decision came back otherwise: %+v", got)
	}
	f, d, err := s.FindingByID(ctx, entry(3).Findings[0].ID)
	if err != nil || d != entry(3).ID || f != entry(3).Findings[0] {
		t.Errorf("a finding came back otherwise: %+v in %s, %v", f, d, err)
	}
	if _, err := s.Decision(ctx, "none"); !errors.Is(err, secret.ErrNotFound) {
		t.Errorf("unknown decision: %v", err)
	}
	if _, _, err := s.FindingByID(ctx, "none"); !errors.Is(err, secret.ErrNotFound) {
		t.Errorf("unknown finding: %v", err)
	}
}

func concurrency(t *testing.T, s mediator.Store, _ func() mediator.Store) {
	ctx := context.Background()
	var wg sync.WaitGroup
	const workers, each = 8, 20
	for w := range workers {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for i := range each {
				n := w*each + i
				if err := errors.Join(s.AppendDecisions(ctx, []mediator.LogEntry{entry(n)}), s.PutSecrets(ctx, []secret.Record{record(n)})); err != nil {
					t.Error(err)
				}
				if _, err := s.Epoch(ctx); err != nil {
					t.Error(err)
				}
			}
		}()
	}
	wg.Wait()
	got, err := s.Decisions(ctx, "", 1000)
	if err != nil || len(got) != workers*each || len(all(t, s)) != workers*each {
		t.Errorf("%d decisions, %d secrets, want %d; %v", len(got), len(all(t, s)), workers*each, err)
	}
}

func cancelled(t *testing.T, s mediator.Store, _ func() mediator.Store) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if s.PutSecrets(ctx, []secret.Record{record(1)}) == nil || s.PutAllow(ctx, secret.Allow{ID: "a", Rule: "r"}) == nil {
		t.Error("a cancelled change was made")
	}
}
