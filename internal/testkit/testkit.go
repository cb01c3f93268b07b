// Package testkit has what tests of several packages share: where outside
// data is, and what to do if it is missing.
package testkit

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Data returns the path of a file in $MARGAY_DATA. Where it is missing the
// test is skipped, or fails if $MARGAY_REQUIRE names "data".
func Data(t testing.TB, name string) string {
	t.Helper()
	dir := os.Getenv("MARGAY_DATA")
	path := filepath.Join(dir, name)
	if dir != "" {
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	Missing(t, "data", "set MARGAY_DATA to the folder that holds "+name)
	return ""
}

// Missing skips a test that lacks something, with a hint, or fails it where
// $MARGAY_REQUIRE asks for that thing.
func Missing(t testing.TB, what, hint string) {
	t.Helper()
	if slices.Contains(strings.Split(os.Getenv("MARGAY_REQUIRE"), ","), what) {
		t.Fatalf("%s is required and missing: %s", what, hint)
	}
	t.Skipf("%s is missing: %s", what, hint)
}

// Dir returns $MARGAY_DATA.
func Dir() string { return os.Getenv("MARGAY_DATA") }
