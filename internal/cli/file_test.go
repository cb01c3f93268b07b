package cli

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestPlaceFile: nothing is seen under a file's name until all is written, and
// nothing is left behind where that fails.
func TestPlaceFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "result")
	read := func() string {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Error(err)
		}
		return string(b)
	}
	if err := os.WriteFile(path, []byte("old"), 0o644); err != nil {
		t.Fatal(err)
	}
	broke := errors.New("broke")
	for _, end := range []error{broke, nil} {
		err := PlaceFile(path, ForOwner, func(w io.Writer) error {
			if _, err := io.WriteString(w, "new"); err != nil {
				return err
			}
			if got := read(); got != "old" {
				t.Errorf("half a file is seen: %q", got)
			}
			return end
		})
		if !errors.Is(err, end) {
			t.Fatal(err)
		}
		want := "new"
		if end != nil {
			want = "old"
		}
		if got := read(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if names, err := os.ReadDir(dir); err != nil || len(names) != 1 {
		t.Errorf("left behind: %v, %v", names, err)
	}
	if err := PlaceFile(dir, ForOwner, func(io.Writer) error { return nil }); err == nil || !strings.Contains(err.Error(), "it is a folder") {
		t.Error(err)
	}
	if runtime.GOOS == "windows" {
		return
	}
	if st, err := os.Stat(path); err != nil || st.Mode().Perm() != ForOwner {
		t.Error(st.Mode(), err)
	}
	// What is not a file stays what it is.
	link := filepath.Join(dir, "link")
	if err := os.Symlink("result", link); err != nil {
		t.Fatal(err)
	}
	for _, one := range []string{link, os.DevNull} {
		before, err := os.Lstat(one)
		if err != nil {
			t.Fatal(err)
		}
		if err := WriteFile(one, []byte("linked")); err != nil {
			t.Fatal(err)
		}
		if after, err := os.Lstat(one); err != nil || !os.SameFile(before, after) {
			t.Errorf("%s was replaced: %v", one, err)
		}
	}
	if got := read(); got != "linked" {
		t.Errorf("got %q through the link", got)
	}
}
