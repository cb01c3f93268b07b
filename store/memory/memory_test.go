package memory_test

import (
	"context"
	"fmt"
	"testing"

	"go.uber.org/goleak"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/mediator/audit"
	"github.com/margaydev/margay/secret"
	"github.com/margaydev/margay/store/memory"
	"github.com/margaydev/margay/store/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestStore(t *testing.T) {
	storetest.Run(t, func(*testing.T) storetest.Store { return memory.New() })
}

func TestBounded(t *testing.T) {
	ctx := context.Background()
	s := memory.New()
	s.MaxDecisions = 10
	for i := range 1000 {
		e := audit.Entry{Decision: flow.Decision{ID: fmt.Sprintf("%04d", i)}, Findings: []audit.Finding{{ID: fmt.Sprintf("F%04d", i)}}}
		if err := s.AppendDecisions(ctx, []audit.Entry{e}); err != nil {
			t.Fatal(err)
		}
	}
	got, err := s.Decisions(ctx, "", 100)
	if err != nil || len(got) != 10 || got[0].ID != "0990" {
		t.Errorf("%d decisions kept, %v", len(got), err)
	}
	if _, _, err := s.FindingByID(ctx, "F0001"); err == nil {
		t.Error("a finding outlasted its decision")
	}
}

func BenchmarkAppendDecisions(b *testing.B) {
	s := memory.New()
	b.ReportAllocs()
	for i := range b.N {
		e := []audit.Entry{{Decision: flow.Decision{ID: fmt.Sprintf("%012d", i)}}}
		if err := s.AppendDecisions(context.Background(), e); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkPutSecrets(b *testing.B) {
	s := memory.New()
	b.ReportAllocs()
	for i := range b.N {
		r := secret.Record{ID: fmt.Sprintf("%012d", i), Fingerprint: secret.Fingerprint{1, byte(i), byte(i >> 8), byte(i >> 16)}}
		if err := s.PutSecrets(context.Background(), []secret.Record{r}); err != nil {
			b.Fatal(err)
		}
	}
}

func TestEventsBounded(t *testing.T) {
	s := memory.New()
	s.MaxEvents = 100
	storetest.EventsBounded(t, s, 100)
}
