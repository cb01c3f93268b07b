package vectors

import (
	"slices"
	"strings"
	"testing"
)

// The matrix has a row for every ordered pair of disguises; what is left out
// has its reason, what is measured leaks nothing under any cut tried, and what
// the documents name as not found is not.
func TestPairs(t *testing.T) {
	r, err := Pairs(t.Context(), PairOptions{N: 1, Seed: 2})
	if err != nil {
		t.Fatal(err)
	}
	n := len(disguises())
	if len(r.Rows) != n*n {
		t.Fatalf("%d rows for %d disguises", len(r.Rows), n)
	}
	left := 0
	for _, row := range r.Rows {
		if row.Metrics["excluded"] == 1 {
			left++
		} else if row.Metrics["leaked_bytes"] != 0 {
			t.Errorf("%s: %v bytes leaked", row.Slice, row.Metrics["leaked_bytes"])
		}
	}
	if left != len(r.Notes) || !slices.ContainsFunc(r.Notes, func(s string) bool { return strings.Contains(s, "it is the value itself") }) {
		t.Errorf("%d pairs are left out, with %d reasons", left, len(r.Notes))
	}
	for slice, want := range map[string]float64{
		"outer=base64,inner=rot13": 1, "outer=decimals,inner=base64": 1, "outer=base64,inner=tags": 1, "outer=tags,inner=base32": 1,
		"outer=octals,inner=zero_width": 1, "outer=reversed,inner=base64": 0,
	} {
		if row := r.Row(defence, slice); row == nil || row.Metrics["found"] != want {
			t.Errorf("%s: %+v, want %v", slice, row, want)
		}
	}
}
