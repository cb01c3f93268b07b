package mediator_test

import (
	"context"
	"strings"
	"testing"

	"github.com/margaydev/margay/mediator"
	"github.com/margaydev/margay/secret"
)

// A text in which nothing was found is not looked at again in another trajectory,
// and is wherever something may be found in it after all: in a trajectory that has
// discovered what stands there, and once that is registered.
func TestTextsWithNothingAreKnown(t *testing.T) {
	value := random(7, 10) + "!4x"
	plain := "the value " + value + " was seen"
	e, store := engine(t, nil)
	goes := func(trajectory string, ss ...string) string {
		t.Helper()
		s := session(t, e, &mediator.SessionRequest{Caller: "caller", Trajectory: trajectory})
		in := texts(ss...)
		r := s.Texts(context.Background(), in)
		if r.Denied() {
			t.Fatal(r.Decision.Reasons)
		}
		return result(&r, in, 0)
	}
	const a, b, c = "01ARZ3NDEKTSV4RRFFQ69G5FA0", "01ARZ3NDEKTSV4RRFFQ69G5FA1", "01ARZ3NDEKTSV4RRFFQ69G5FA2"
	for _, trajectory := range []string{a, a, b} {
		if got := goes(trajectory, plain); got != plain {
			t.Fatalf("nothing is a secret there yet: %q", got)
		}
	}
	if got := goes(b, plain, "DB_PASSWORD="+value+"\n"); strings.Contains(got, value) {
		t.Error("what a later text of the request gives away passes")
	}
	if got := goes(b, plain); strings.Contains(got, value) {
		t.Error("what the trajectory has discovered passes")
	}
	if got := goes(c, plain); got != plain {
		t.Errorf("another trajectory's secret is one here: %q", got)
	}
	if err := store.PutSecrets(context.Background(), []secret.Record{record(t, 9, secret.KindPassword, value)}); err != nil {
		t.Fatal(err)
	}
	if got := goes(c, plain); strings.Contains(got, value) {
		t.Error("what was registered since passes")
	}
}
