package sqlite

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestLocksAreKept: while a store is open, this process holds SQLite's lock on the
// wal-index. Whoever opens and closes one of the files of the database beside SQLite
// drops it; then the next process to come cuts the file off that this one has mapped.
func TestLocksAreKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "margay.db")
	s := open(t, path, Options{})
	if _, err := s.Epoch(context.Background()); err != nil {
		t.Fatal(err)
	}
	var st syscall.Stat_t
	if err := syscall.Stat(path+"-shm", &st); err != nil {
		t.Fatal(err)
	}
	locks, err := os.ReadFile("/proc/locks")
	if err != nil {
		t.Skip(err)
	}
	if held := fmt.Sprintf(":%d ", st.Ino); !strings.Contains(string(locks), held) {
		t.Error("nobody holds a lock on the wal-index")
	}
}
