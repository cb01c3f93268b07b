package source

import (
	"context"
	"crypto/ed25519"
	"testing"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/ledger"
	"github.com/margaydev/margay/ledger/charge"
	"github.com/margaydev/margay/store/memory"
)

// tampered is a store whose second entry was changed.
type tampered struct{ ledger.Store }

func (t tampered) Entries(ctx context.Context, family flow.TrajectoryID, after uint64, limit int) ([]charge.Stored, error) {
	all, err := t.Store.Entries(ctx, family, after, limit)
	for i := range all {
		if i+int(after) == 1 { //nolint:gosec // few
			b := append([]byte(nil), all[i].Bytes...)
			b[len(b)-70] ^= 1
			all[i].Bytes = b
		}
	}
	return all, err
}

// The console is told what a ledger says, by sink and field, and that it
// verifies; where it was tampered with, that it does not.
func TestBooks(t *testing.T) {
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	store := memory.New()
	_, key, err := ed25519.GenerateKey(nil)
	check(err)
	public := key.Public().(ed25519.PublicKey)
	b, err := ledger.NewBook(ledger.Config{Store: store, Key: key})
	check(err)
	family := flow.TrajectoryID(flow.NewID())
	for i := range 3 {
		s, err := b.Head(t.Context(), family)
		check(err)
		h, err := b.KeepRubric(t.Context(), []byte("rubric"))
		check(err)
		e := &charge.Entry{
			Trajectory: family, Channel: flow.ChannelTool, Sink: "airline", Class: flow.RequiredService, Rubrics: []charge.Hash{h}, Variant: charge.Hash{1}, Outcome: flow.Rewrite,
			Models: []charge.Model{{Name: "rules", Version: "1"}},
			Limits: charge.Limits{B: 40 * flow.Bit, Cap: [4]flow.Bits{0, 20 * flow.Bit, 4 * flow.Bit, flow.Bit}, Lambda: [4]int64{0, 1000, 2000, 4000}},
		}
		dob := charge.Atom{Field: "dob", Op: charge.Generalize, Level: 2, Value: charge.Hash{1}, Cost: 2 * flow.Bit, After: s.After(charge.Hash{1})}
		dob.After[1] += 2 * flow.Bit
		if i == 2 {
			dob.Field = "email"
		}
		e.Atoms = []charge.Atom{dob}
		check(s.Next(e))
		_, err = b.Commit(t.Context(), e)
		check(err)
	}
	open := func(s ledger.Store) *Books {
		b, err := ledger.NewBook(ledger.Config{Store: s, Public: public})
		check(err)
		return &Books{b, s}
	}
	good := open(store)
	meters, err := good.Budgets(t.Context(), family, 10)
	check(err)
	// All, one class, two fields.
	if len(meters) != 4 || meters[0].Bits != 6 || meters[0].Cap != 40 || meters[1].Cap != 20 || meters[2].Field != "dob" || meters[2].Bits != 4 || meters[3].Bits != 2 {
		t.Errorf("budgets are %+v", meters)
	}
	nearest, err := good.Budgets(t.Context(), "", 1)
	check(err)
	if len(nearest) != 1 || nearest[0].Share() < 0.29 || nearest[0].Trajectory != family {
		t.Errorf("nearest is %+v", nearest)
	}
	entries, err := good.Entries(t.Context(), family, 2)
	check(err)
	if len(entries) != 2 || entries[0].Field != "email" || !entries[0].Verified || entries[0].Variant != "generalize" {
		t.Errorf("entries are %+v", entries)
	}
	if none, err := good.Budgets(t.Context(), flow.TrajectoryID(flow.NewID()), 10); err != nil || len(none) != 0 {
		t.Errorf("another family: %+v, %v", none, err)
	}
	entries, err = open(tampered{store}).Entries(t.Context(), family, 10)
	if err != nil || len(entries) == 0 || entries[0].Verified {
		t.Errorf("a tampered ledger: %+v, %v", entries, err)
	}
}
