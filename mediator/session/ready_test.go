package session

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/margaydev/margay/secret"
	"github.com/margaydev/margay/store/memory"
)

// full is a store that answers and can't be written to.
type full struct {
	*memory.Store
	tries int
	err   error
}

func (f *full) Writable(context.Context) error {
	f.tries++
	return f.err
}

// Who can't write is not ready, and many who ask cause one write in a second.
func TestReady(t *testing.T) {
	ctx, now := context.Background(), time.Unix(1e9, 0)
	store := &full{Store: memory.New(), err: errors.New("no space left")}
	r, err := New(Config{Store: store, Keys: secret.NewKeys(), Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	for range 100 {
		if err := r.Ready(ctx); !errors.Is(err, store.err) {
			t.Fatalf("ready: %v", err)
		}
	}
	if store.err = nil; store.tries != 1 {
		t.Errorf("%d writes", store.tries)
	}
	now = now.Add(time.Second)
	if err := r.Ready(ctx); err != nil || store.tries != 2 {
		t.Errorf("%v after %d writes", err, store.tries)
	}
}
