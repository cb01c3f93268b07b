//go:build unix

package sqlite

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// changes are statements that change or remove rows of the ledger.
var changes = regexp.MustCompile(`(?is)\b(?:update|delete\s+from|replace\s+into|insert\s+or\s+\w+\s+into|drop\s+table(?:\s+if\s+exists)?|alter\s+table)\s+ledger\b`)

// Entries of the ledger are added and read: no statement of the store changes or
// removes one.
func TestLedgerIsAppendedTo(t *testing.T) {
	read := 0
	for _, pattern := range []string{"*.go", "migrations/*"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			b, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			if matched, _ := filepath.Match("*_test.go", f); matched {
				continue
			}
			if read++; changes.Match(b) {
				t.Errorf("%s: %s", f, changes.Find(b))
			}
		}
	}
	if read < 5 {
		t.Errorf("%d files: the test is not what it was", read)
	}
	for _, s := range []string{"DELETE FROM ledger WHERE 1", "update  ledger SET entry = ?", "INSERT OR REPLACE INTO ledger"} {
		if !changes.MatchString(s) {
			t.Errorf("%s is not noticed", s)
		}
	}
}
