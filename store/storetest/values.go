package storetest

import (
	"bytes"
	"context"
	"testing"
	"time"

	"github.com/margaydev/margay/secret"
)

// values is what an engine keeps behind pseudonyms.
type values interface {
	PutValues(ctx context.Context, owner [32]byte, values map[string][]byte, now time.Time) error
	Value(ctx context.Context, owner [32]byte, name string) ([]byte, error)
	ForgetValues(ctx context.Context, before time.Time) (int, error)
}

// sealedValues: what is kept comes back to its owner alone, opens under the
// key and for the pseudonym it was sealed with, and goes when it is old.
func (u *suite) sealedValues(t *testing.T, s Store) {
	ctx := context.Background()
	kept, ok := s.(values)
	if !ok {
		t.Fatal("the engine keeps no values")
	}
	keys := secret.NewKeys()
	a, b := [32]byte{1}, [32]byte{2}
	seal := func(v, name string) []byte {
		out, err := keys.SealValue([]byte(v), name)
		check(t, err)
		return out
	}
	old, both := seal("first value", "margay-token-a"), seal("second value", "margay-token-b")
	epoch, err := s.Epoch(ctx)
	check(t, err)
	check(t, kept.PutValues(ctx, a, nil, at))
	check(t, kept.PutValues(ctx, a, map[string][]byte{"margay-token-a": old, "margay-token-b": both}, at))
	check(t, kept.PutValues(ctx, b, map[string][]byte{"margay-token-b": seal("another's", "margay-token-b")}, at.Add(time.Minute)))
	for _, bad := range []map[string][]byte{{"margay-token-c": both, "": both}, {"margay-token-c": both, "margay-token-d": nil}} {
		if kept.PutValues(ctx, a, bad, at) == nil {
			t.Error("a value without a name, or that is empty, was taken")
		}
	}
	expect := func(owner [32]byte, name, want string) {
		t.Helper()
		sealed, err := kept.Value(ctx, owner, name)
		if want == "" {
			notFound(t, name, err)
			return
		}
		check(t, err)
		if bytes.Contains(sealed, []byte(want)) {
			t.Error("the value is kept in the clear")
		}
		if got, err := keys.OpenValue(sealed, name); err != nil || string(got) != want {
			t.Errorf("%s is %q, %v", name, got, err)
		}
		clear(sealed) // the store keeps its own
	}
	all := func() {
		t.Helper()
		expect(a, "margay-token-a", "first value")
		expect(a, "margay-token-b", "second value")
		expect(b, "margay-token-b", "another's")
		expect(b, "margay-token-a", "")
		expect([32]byte{3}, "margay-token-a", "")
		expect(a, "margay-token-c", "")
		expect(a, "", "")
	}
	all()
	all()
	if u.second != nil {
		kept2 := u.second(t, s).(values)
		if _, err := kept2.Value(ctx, a, "margay-token-a"); err != nil {
			t.Errorf("another handle: %v", err)
		}
	}
	if u.reopen != nil {
		s = u.reopen(t, s)
		kept = s.(values)
		all()
	}
	// Used again: the one that is old goes, the other stays.
	check(t, kept.PutValues(ctx, a, map[string][]byte{"margay-token-b": seal("changed", "margay-token-b")}, at.Add(time.Hour)))
	if n, err := kept.ForgetValues(ctx, at.Add(time.Second)); err != nil || n != 1 {
		t.Errorf("%d forgotten, %v", n, err)
	}
	expect(a, "margay-token-a", "")
	expect(a, "margay-token-b", "changed")
	expect(b, "margay-token-b", "another's")
	if e, err := s.Epoch(ctx); err != nil || e != epoch {
		t.Errorf("the epoch went from %d to %d, %v: no secret or allowance changed", epoch, e, err)
	}
}
