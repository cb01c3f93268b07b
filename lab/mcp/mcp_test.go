package mcp

import (
	"context"
	"testing"
)

// A small run measures every size on both paths.
func TestRun(t *testing.T) {
	r, err := Run(context.Background(), Options{Seed: 1, Calls: 5})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Rows) != 2*len(sizes) {
		t.Fatalf("%d rows", len(r.Rows))
	}
	for _, row := range r.Rows {
		if row.Metrics["p50_ms"] <= 0 || row.Metrics["p99_ms"] < row.Metrics["p50_ms"] {
			t.Errorf("%s %s: %v", row.Defence, row.Slice, row.Metrics)
		}
	}
}
