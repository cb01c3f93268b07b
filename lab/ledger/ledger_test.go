package ledger_test

import (
	"context"
	"testing"

	"go.uber.org/goleak"

	benchledger "github.com/margaydev/margay/lab/ledger"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestRun(t *testing.T) {
	r, err := benchledger.Run(context.Background(), benchledger.Options{Seed: 1, Releases: 200})
	if err != nil {
		t.Fatal(err)
	}
	for _, engine := range []string{"memory", "sqlite"} {
		for slice, names := range map[string][]string{
			"families=1": {"commits_per_second", "release_us_p50", "release_us_p99"}, "families=64": {"commits_per_second", "release_us_p50", "release_us_p99"},
			"verify": {"verify_entries_per_second", "verify_chain_entries_per_second", "bytes_per_entry"},
		} {
			row := r.Row(engine, slice)
			if row == nil {
				t.Fatalf("%s has no row %s", engine, slice)
			}
			for _, n := range names {
				if row.Metrics[n] <= 0 {
					t.Errorf("%s, %s: %s is %v", engine, slice, n, row.Metrics[n])
				}
			}
		}
	}
	gone, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := benchledger.Run(gone, benchledger.Options{Releases: 10}); err == nil {
		t.Error("a cancelled run has a result")
	}
}
