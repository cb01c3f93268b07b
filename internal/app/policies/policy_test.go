//go:build unix

package policies

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestBoundedFiles: of what is not a pack no more is read than packs may have.
func TestBoundedFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "endless")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	wrote := make(chan int)
	go func() { // until nobody reads on
		n := 0
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		for chunk := make([]byte, 1<<16); err == nil && n < 16*maxPack; n += len(chunk) {
			_, err = f.Write(chunk)
		}
		_ = f.Close()
		wrote <- n
	}()
	if _, err := openPack(path); err == nil {
		t.Error("zeroes are a pack")
	}
	if n := <-wrote; n > 2*maxPack {
		t.Errorf("%d bytes were read", n)
	}
}
