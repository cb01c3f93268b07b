package mediation

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A pack's file that is too large is refused before it is read, and says so.
func TestPackIsBounded(t *testing.T) {
	name := filepath.Join(t.TempDir(), "p.yaml")
	if err := os.WriteFile(name, []byte(strings.Repeat("# x\n", maxPack/4+1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := LoadPack(name); err == nil || !strings.Contains(err.Error(), "larger than a pack can be") {
		t.Error(err)
	}
	if err := os.Truncate(name, maxPack); err != nil {
		t.Fatal(err)
	}
	if _, err := LoadPack(name); err == nil || strings.Contains(err.Error(), "larger") {
		t.Errorf("a pack within the bound: %v", err)
	}
}
