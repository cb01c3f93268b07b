// Package storetest is the suite that every store runs: it checks an engine
// against the contracts of secret.Store and audit.Log.
package storetest

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/mediator/audit"
	"github.com/margaydev/margay/secret"
)

// Store is what every engine is.
type Store interface {
	secret.Store
	audit.Log
	// Close releases the engine's resources.
	Close() error
}

// Option says what more an engine can do, and so must do right.
type Option func(*suite)

// Reopen is for engines that outlast their process: f closes s and opens the
// same data again.
func Reopen(f func(t *testing.T, s Store) Store) Option {
	return func(u *suite) { u.reopen = f }
}

// Second is for engines that several processes share: f opens the data of s
// once more, while s stays open.
func Second(f func(t *testing.T, s Store) Store) Option {
	return func(u *suite) { u.second = f }
}

type suite struct {
	reopen, second func(t *testing.T, s Store) Store
}

// Run runs the suite. open returns a new, empty store that is closed at the
// test's end; closing a store twice must do no harm. The stores must keep at
// least 10,000 decisions.
func Run(t *testing.T, open func(t *testing.T) Store, opts ...Option) {
	var u suite
	for _, o := range opts {
		o(&u)
	}
	for _, c := range []struct {
		name string
		f    func(*testing.T, Store)
	}{
		{"secrets/round trip", u.roundTrip},
		{"secrets/upsert", upsert},
		{"secrets/iteration", iteration},
		{"secrets/all or none", secretsAllOrNone},
		{"secrets/delete", deleteSecret},
		{"allows", allows},
		{"epoch", u.epoch},
		{"log/round trip", u.logRoundTrip},
		{"log/tail", tail},
		{"log/arrival", arrival},
		{"log/replace", replaceEntry},
		{"log/all or none", logAllOrNone},
		{"values", u.sealedValues},
		{"said", u.said},
		{"pins", u.toolPins},
		{"places", u.places},
		{"questions", u.questions},
		{"events", u.events},
		{"ledger/chains", u.chains},
		{"ledger/race", u.race},
		{"concurrency", u.concurrency},
		{"cancelled", cancelled},
	} {
		t.Run(c.name, func(t *testing.T) { c.f(t, open(t)) })
	}
	t.Run("model", func(t *testing.T) { u.model(t, open) })
	t.Run("ledger/model", func(t *testing.T) { u.ledgerModel(t, open) })
	t.Run("event model", func(t *testing.T) { u.eventModel(t, open) })
}

// at is any time with the precision that stores keep.
var at = time.UnixMilli(1760000000123).UTC()

func record(i int) secret.Record {
	return secret.Record{
		ID: fmt.Sprintf("%026d", i), Name: fmt.Sprintf("S%d", i), Kind: secret.KindToken, Source: secret.SourceRegistered, Origin: "env:S",
		Fingerprint: secret.Fingerprint{0: byte(i), 1: byte(i >> 8), 15: 1}, Print: []byte{1, 2, byte(i)}, Length: 20 + i, Created: at,
	}
}

func entry(i int) audit.Entry {
	return audit.Entry{
		Decision: flow.Decision{
			ID: fmt.Sprintf("D%025d", i), Trajectory: "T", Verb: flow.Prompt, Outcome: flow.Rewrite, At: at,
			Sink:    flow.Sink{Name: "up", Channel: flow.ChannelModel, Trust: flow.TrustProvider},
			Reasons: []flow.Reason{{Code: "c", Detail: "d \"quoted\" <é>", Finding: fmt.Sprintf("F%025d", i), Action: flow.ActRedact}},
		},
		Findings: []audit.Finding{{
			ID: fmt.Sprintf("F%025d", i), Rule: "r", Name: "n", Kind: secret.KindToken, Source: secret.SourceRegistered, View: "raw",
			Fingerprint: secret.Fingerprint{byte(i), 9}, Field: "content", Path: "messages[0].content", Action: flow.ActRedact, Length: i,
		}},
	}
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func notFound(t testing.TB, what string, err error) {
	t.Helper()
	if !errors.Is(err, secret.ErrNotFound) {
		t.Errorf("%s: error is %v, want secret.ErrNotFound", what, err)
	}
}

// fatalf is what the helpers need of testing.TB and of rapid.T.
type fatalf interface {
	Helper()
	Fatalf(format string, args ...any)
}

func all(t fatalf, s Store) (out []secret.Record) {
	t.Helper()
	for r, err := range s.Secrets(context.Background()) {
		if err != nil {
			t.Fatalf("iterating: %v", err)
		}
		out = append(out, r)
	}
	return out
}

func ids(recs []secret.Record) (out []string) {
	for _, r := range recs {
		out = append(out, r.ID)
	}
	return out
}

func wantIDs(t *testing.T, s Store, want ...int) {
	t.Helper()
	var w []string
	for _, i := range want {
		w = append(w, record(i).ID)
	}
	if got := ids(all(t, s)); !slices.Equal(got, w) {
		t.Errorf("secrets are %v, want %v", got, w)
	}
}

func epochOf(t fatalf, s Store) uint64 {
	t.Helper()
	e, err := s.Epoch(context.Background())
	if err != nil {
		t.Fatalf("epoch: %v", err)
	}
	return e
}

func (u *suite) epoch(t *testing.T, s Store) {
	ctx := context.Background()
	last := epochOf(t, s)
	expect := func(what string, grows bool) {
		t.Helper()
		e := epochOf(t, s)
		if e < last || (e > last) != grows {
			t.Errorf("%s: epoch went from %d to %d", what, last, e)
		}
		last = e
	}
	expect("nothing", false)
	check(t, s.PutSecrets(ctx, []secret.Record{record(1), record(2)}))
	expect("putting secrets", true)
	check(t, s.PutSecrets(ctx, []secret.Record{record(1)}))
	expect("replacing a secret", true)
	check(t, s.PutSecrets(ctx, nil))
	expect("putting no secret", false)
	notFound(t, "deleting", s.DeleteSecret(ctx, "none"))
	expect("deleting what is not there", false)
	check(t, s.DeleteSecret(ctx, record(1).ID))
	expect("deleting a secret", true)
	check(t, s.PutAllow(ctx, secret.Allow{ID: "a", Rule: "r", Created: at}))
	expect("putting an allowance", true)
	check(t, s.DeleteAllow(ctx, "a"))
	expect("deleting an allowance", true)
	check(t, s.AppendDecisions(ctx, []audit.Entry{entry(1)}))
	expect("a decision", false)
	if s.PutSecrets(ctx, []secret.Record{{}}) == nil {
		t.Error("an empty record was taken")
	}
	expect("a refused change", false)
	if u.second != nil {
		other := u.second(t, s)
		expect("opening it once more", false)
		check(t, other.DeleteSecret(ctx, record(2).ID))
		expect("a change through another handle", true)
		if e := epochOf(t, other); e != last {
			t.Errorf("the other handle's epoch is %d, not %d", e, last)
		}
	}
	if u.reopen != nil {
		s = u.reopen(t, s)
		expect("opening it again", false)
	}
}

func (u *suite) concurrency(t *testing.T, s Store) {
	ctx := context.Background()
	handles := []Store{s}
	if u.second != nil {
		handles = append(handles, u.second(t, s))
	}
	const workers, each = 8, 25
	var wg sync.WaitGroup
	for w := range workers {
		h := handles[w%len(handles)]
		wg.Go(func() {
			for i := range each {
				n := w*each + i
				err := errors.Join(
					h.AppendDecisions(ctx, []audit.Entry{entry(n)}),
					h.PutSecrets(ctx, []secret.Record{record(n)}),
					h.PutAllow(ctx, secret.Allow{ID: fmt.Sprint(w), Rule: "r", Created: at}),
				)
				if err != nil {
					t.Error(err)
					return
				}
				// What was acknowledged is there, for every handle.
				for _, h := range handles {
					if got, err := h.Decision(ctx, entry(n).ID); err != nil || got.ID != entry(n).ID {
						t.Errorf("decision %d is not there: %v", n, err)
					}
				}
			}
		})
		wg.Go(func() {
			var last uint64
			for range each {
				e, err := h.Epoch(ctx)
				if err != nil || e < last {
					t.Errorf("epoch went from %d to %d: %v", last, e, err)
				}
				last = e
				prev := ""
				for r, err := range h.Secrets(ctx) {
					if err != nil || r.ID <= prev {
						t.Errorf("%q after %q: %v", r.ID, prev, err)
						return
					}
					prev = r.ID
				}
			}
		})
	}
	wg.Wait()
	for _, h := range handles {
		got, err := h.Decisions(ctx, "", 10*workers*each)
		check(t, err)
		a, err := h.Allows(ctx)
		check(t, err)
		if n := len(all(t, h)); len(got) != workers*each || n != workers*each || len(a) != workers {
			t.Errorf("%d decisions, %d secrets, %d allowances; want %d, %[4]d, %d", len(got), n, len(a), workers*each, workers)
		}
	}
}

func cancelled(t *testing.T, s Store) {
	check(t, s.PutSecrets(context.Background(), []secret.Record{record(1), record(2), record(3)}))
	check(t, s.AppendDecisions(context.Background(), []audit.Entry{entry(1)}))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	got := map[string]error{
		"PutSecrets":      s.PutSecrets(ctx, []secret.Record{record(4)}),
		"DeleteSecret":    s.DeleteSecret(ctx, record(1).ID),
		"PutAllow":        s.PutAllow(ctx, secret.Allow{ID: "a", Rule: "r"}),
		"DeleteAllow":     s.DeleteAllow(ctx, "a"),
		"AppendDecisions": s.AppendDecisions(ctx, []audit.Entry{entry(2)}),
	}
	_, got["Allows"] = s.Allows(ctx)
	_, got["Epoch"] = s.Epoch(ctx)
	_, got["Decision"] = s.Decision(ctx, entry(1).ID)
	_, _, got["FindingByID"] = s.FindingByID(ctx, entry(1).Findings[0].ID)
	_, got["Decisions"] = s.Decisions(ctx, "", 10)
	for _, got["Secrets"] = range s.Secrets(ctx) {
		continue
	}
	for name, err := range got {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s with a cancelled context: %v", name, err)
		}
	}
	wantIDs(t, s, 1, 2, 3)
	if log, err := s.Decisions(context.Background(), "", 10); err != nil || len(log) != 1 {
		t.Errorf("%d decisions after a cancelled append, %v", len(log), err)
	}

	// An iteration that is cancelled on its way ends with one error. What was
	// read ahead may still come.
	ctx, cancel = context.WithCancel(context.Background())
	defer cancel()
	var last error
	n := 0
	for _, err := range s.Secrets(ctx) {
		cancel()
		if last != nil {
			t.Error("the iteration went on after an error")
		}
		n, last = n+1, err
	}
	if last != nil && !errors.Is(last, context.Canceled) || last == nil && n < 3 {
		t.Errorf("cancelled on its way: %d steps, %v", n, last)
	}
	check(t, s.PutSecrets(context.Background(), []secret.Record{record(5)}))
}

func same(a, b any) bool { return reflect.DeepEqual(a, b) }
