package audit_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/margaydev/margay/mediator/audit"
)

type events = audit.Events

// slow takes its time for each batch.
type slow struct {
	events

	sizes []int
}

func (s *slow) AppendEvents(_ context.Context, es []audit.Event) error {
	time.Sleep(10 * time.Millisecond)
	s.sizes = append(s.sizes, len(es))
	return nil
}

// Events that come while others are written wait for more to share a transaction
// with.
func TestRecorderBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slow{}
		r := audit.NewRecorder(audit.RecorderConfig{Events: s, Every: 250 * time.Millisecond})
		for range 200 {
			r.Happened(audit.Event{Kind: audit.KindDecision})
			time.Sleep(5 * time.Millisecond)
		}
		for range 150 {
			r.Happened(audit.Event{Kind: audit.KindDecision})
		}
		r.Close()
		sum := 0
		for _, n := range s.sizes {
			sum += n
		}
		if n, _ := r.Lost(); sum != 350 || n > 0 {
			t.Errorf("%d of 350 are kept, %d lost", sum, n)
		}
		if len(s.sizes) > 8 {
			t.Errorf("%d transactions: %v", len(s.sizes), s.sizes)
		}
	})
}
