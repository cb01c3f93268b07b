package storetest

import (
	"context"
	"testing"
	"time"

	"github.com/margaydev/margay/secret"
)

func (u *suite) roundTrip(t *testing.T, s Store) {
	ctx := context.Background()
	full := record(3)
	full.Sealed, full.Expires = []byte{0, 1, 0xff}, at.Add(time.Hour)
	full.Name, full.Origin = "né \"q\" '; --\x00", "file:.env:3"
	bare := secret.Record{ID: "bare", Fingerprint: secret.Fingerprint{1}}
	expired := record(4)
	expired.Expires = at.Add(-100 * 365 * 24 * time.Hour)
	unix := record(5) // a time like any other, not "never"
	unix.Created, unix.Expires = time.Unix(0, 0).UTC(), time.Unix(0, 0).UTC()
	zone := record(6)
	zone.Created = at.Add(999 * time.Microsecond).In(time.FixedZone("far", 12*3600))
	want := []secret.Record{full, expired, unix, record(6), bare} // in the order of the ids

	put := []secret.Record{bare, zone, unix, full, expired}
	put[3].Print, put[3].Sealed = append([]byte(nil), full.Print...), append([]byte(nil), full.Sealed...)
	check(t, s.PutSecrets(ctx, put))
	put[3].Print[0], put[3].Sealed[0] = 77, 77 // the store keeps its own
	compare := func(what string) {
		t.Helper()
		got := all(t, s)
		if len(got) != len(want) {
			t.Fatalf("%s: %d records, want %d", what, len(got), len(want))
		}
		for i := range want {
			if !same(got[i], want[i]) {
				t.Errorf("%s: record is %+v, want %+v", what, got[i], want[i])
			}
			for j := range got[i].Print {
				got[i].Print[j] = 99 // nor is what it gives its own
			}
		}
	}
	compare("put")
	compare("read again")
	if u.reopen != nil {
		s = u.reopen(t, s)
		compare("opened again")
	}
}

func upsert(t *testing.T, s Store) {
	ctx := context.Background()
	put := func(recs ...secret.Record) {
		t.Helper()
		check(t, s.PutSecrets(ctx, recs))
	}
	put(record(1), record(2), record(3))

	byID := record(1)
	byID.Name, byID.Fingerprint = "other", secret.Fingerprint{42}
	put(byID)
	wantIDs(t, s, 1, 2, 3)
	if got := all(t, s)[0]; !same(got, byID) {
		t.Errorf("replaced by id: %+v", got)
	}

	byValue := record(2)
	byValue.ID = record(9).ID
	put(byValue)
	wantIDs(t, s, 1, 3, 9)

	// The name and fingerprint that record 1 had at first are free again.
	again := record(1)
	again.ID = record(4).ID
	put(again)
	wantIDs(t, s, 1, 3, 4, 9)

	// One that is another's id and yet another's value takes the place of both.
	both := record(3)
	both.ID = record(4).ID
	put(both)
	wantIDs(t, s, 1, 4, 9)

	// Only both together make the same.
	name, print := record(3), record(3)
	name.ID, name.Fingerprint = record(10).ID, secret.Fingerprint{43}
	print.ID, print.Name = record(11).ID, "elsewhere"
	put(name, print)
	wantIDs(t, s, 1, 4, 9, 10, 11)

	// Inside a batch, the later one stays.
	first, second := record(20), record(20)
	second.ID = record(21).ID
	put(first, second)
	wantIDs(t, s, 1, 4, 9, 10, 11, 21)
}

func iteration(t *testing.T, s Store) {
	ctx := context.Background()
	for range s.Secrets(ctx) { //nolint:errcheck // it yields its errors, and none is looked at here
		t.Error("an empty store yields something")
	}
	const n = 50
	var recs []secret.Record
	for i := range n {
		recs = append(recs, record((i*37)%n)) // not in their order
	}
	check(t, s.PutSecrets(ctx, recs))
	for i := range 20 { // stopping on the way leaves nothing open, however often
		seen := 0
		for r, err := range s.Secrets(ctx) {
			check(t, err)
			if r.ID != record(seen).ID {
				t.Fatalf("%s at %d", r.ID, seen)
			}
			if seen++; seen == i {
				break
			}
		}
	}
	// Inside an iteration the store can be asked and changed; the iteration
	// goes on with what there was.
	seen := 0
	for r, err := range s.Secrets(ctx) {
		check(t, err)
		if r.ID != record(seen).ID {
			t.Fatalf("%s at %d", r.ID, seen)
		}
		seen++
		check(t, s.DeleteSecret(ctx, r.ID))
		epochOf(t, s)
		for _, err := range s.Secrets(ctx) {
			check(t, err)
		}
	}
	if seen != n {
		t.Errorf("%d of %d records", seen, n)
	}
	wantIDs(t, s)
}

func secretsAllOrNone(t *testing.T, s Store) {
	ctx := context.Background()
	check(t, s.PutSecrets(ctx, []secret.Record{record(1)}))
	noID, noPrint := record(3), record(3)
	noID.ID, noPrint.Fingerprint = "", secret.Fingerprint{}
	gone := record(1)
	gone.ID = record(8).ID
	for _, bad := range []secret.Record{noID, noPrint} {
		if s.PutSecrets(ctx, []secret.Record{record(2), gone, bad}) == nil {
			t.Errorf("a record was taken without id or fingerprint: %+v", bad)
		}
	}
	wantIDs(t, s, 1)
}

func deleteSecret(t *testing.T, s Store) {
	ctx := context.Background()
	check(t, s.PutSecrets(ctx, []secret.Record{record(1), record(2)}))
	check(t, s.DeleteSecret(ctx, record(1).ID))
	notFound(t, "deleting twice", s.DeleteSecret(ctx, record(1).ID))
	notFound(t, "deleting none", s.DeleteSecret(ctx, ""))
	wantIDs(t, s, 2)
	check(t, s.PutSecrets(ctx, []secret.Record{record(1)}))
	wantIDs(t, s, 1, 2)
}

func allows(t *testing.T, s Store) {
	ctx := context.Background()
	a := secret.Allow{ID: "b", Fingerprint: secret.Fingerprint{1}, Rule: "r", Path: "p*", Reason: "why", Finding: "f", Created: at, Expires: at.Add(time.Hour)}
	b := secret.Allow{ID: "a", Rule: "r2", Created: at, Expires: time.Unix(0, 0).UTC()}
	c := secret.Allow{ID: "c", Fingerprint: secret.Fingerprint{15: 1}}
	want := func(want ...secret.Allow) {
		t.Helper()
		got, err := s.Allows(ctx)
		check(t, err)
		if len(got) != len(want) || len(want) > 0 && !same(got, want) {
			t.Errorf("allowances are %+v, want %+v", got, want)
		}
	}
	want()
	for _, x := range []secret.Allow{a, b, c} {
		check(t, s.PutAllow(ctx, x))
	}
	want(b, a, c)
	a.Rule, a.Expires = "changed", time.Time{}
	check(t, s.PutAllow(ctx, a))
	want(b, a, c)
	for _, bad := range []secret.Allow{
		{Rule: "no id"}, {ID: "everything"}, {ID: "b"}, {ID: "d", Path: "p"}, {ID: "d", Fingerprint: a.Fingerprint, Path: "p"},
	} {
		if s.PutAllow(ctx, bad) == nil {
			t.Errorf("taken: %+v", bad)
		}
	}
	want(b, a, c)
	check(t, s.DeleteAllow(ctx, "a"))
	notFound(t, "deleting twice", s.DeleteAllow(ctx, "a"))
	want(a, c)
}
