//go:build unix

package sqlite

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/margaydev/margay/mediator/audit"
	"github.com/margaydev/margay/store/storetest"
)

func TestEventsBounded(t *testing.T) {
	storetest.EventsBounded(t, open(t, filepath.Join(t.TempDir(), "margay.db"), Options{MaxEvents: 100}), 100)
}

// Large events go by their bytes, and the latest stays whatever its size is.
func TestEventBytesBounded(t *testing.T) {
	ctx := context.Background()
	s := open(t, filepath.Join(t.TempDir(), "margay.db"), Options{MaxEventBytes: 100_000})
	long := strings.Repeat("x", 30_000)
	for i := range 20 {
		e := audit.Event{ID: "E", Trajectory: "T", Kind: audit.KindAnswer, At: time.UnixMilli(int64(i)), Detail: &audit.Detail{Texts: []audit.TextDetail{{Text: long}}}}
		if i == 19 {
			e.Detail.Texts[0].Text = strings.Repeat("y", 500_000)
		}
		if err := s.AppendEvents(ctx, []audit.Event{e}); err != nil {
			t.Fatal(err)
		}
	}
	var n, bytes, counted, size int
	query(t, s, "SELECT value FROM meta WHERE key = 'events'", &n)
	query(t, s, "SELECT value FROM meta WHERE key = 'event_bytes'", &bytes)
	query(t, s, "SELECT count(*) FROM events", &counted)
	query(t, s, "SELECT sum(length(payload) + coalesce(length(detail), 0)) FROM events", &size)
	if n != counted || bytes != size || n < 1 || n > 4 {
		t.Errorf("%d events of %d bytes are counted, and %d of %d there", n, bytes, counted, size)
	}
	if e, err := s.Event(ctx, 20); err != nil || len(e.Detail.Texts[0].Text) != 500_000 {
		t.Errorf("the latest: %v", err)
	}
}

func query(t *testing.T, s *Store, q string, into any) {
	t.Helper()
	if err := s.r.QueryRowContext(context.Background(), q).Scan(into); err != nil {
		t.Fatal(err)
	}
}

// An event that can't be read is an error, and none of its text is disclosed.
func TestEventCorrupt(t *testing.T) {
	ctx := context.Background()
	s := open(t, filepath.Join(t.TempDir(), "margay.db"), Options{})
	if err := s.AppendEvents(ctx, []audit.Event{{ID: "E", Trajectory: "T", Kind: audit.KindStep, At: time.Now()}}); err != nil {
		t.Fatal(err)
	}
	do(t, s.w, "UPDATE events SET payload = '{\"v\":\"hush\"'")
	if _, err := s.Events(ctx, audit.Query{Limit: 10}); !errors.Is(err, ErrCorrupt) || strings.Contains(err.Error(), "hush") {
		t.Errorf("a list: %v", err)
	}
	if _, err := s.Event(ctx, 1); !errors.Is(err, ErrCorrupt) {
		t.Errorf("one: %v", err)
	}
}
