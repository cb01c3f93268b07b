package app

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// full takes some bytes and then no more, like a disk.
type full struct{ room int }

var errFull = errors.New("no space left")

func (f *full) Write(p []byte) (int, error) {
	if f.room -= len(p); f.room < 0 {
		return max(0, len(p)+f.room), errFull
	}
	return len(p), nil
}

// TestLostResults: a command whose result could not be written says so, as
// text and as JSON.
func TestLostResults(t *testing.T) {
	for _, name := range []string{"XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR", "HOME"} {
		t.Setenv(name, t.TempDir())
	}
	for _, args := range [][]string{
		{"version"},
		{"config", "example"},
		{"--help"},
		{"ledger", "--help"},
		{"rubric", "new", "seat"},
		{"rubric", "list", "--key"},
		{"ledger", "head"},
		{"ledger", "verify"},
		{"ledger", "export", "-o", "-"},
		{"policy", "lint"},
		{"rubric", "explain"},
	} {
		for _, args := range [][]string{args, append([]string{"--json"}, args...)} {
			var errs strings.Builder
			if code := Main(args, strings.NewReader(""), &full{10}, &errs); code != exitFailed || !strings.Contains(errs.String(), errFull.Error()) {
				t.Errorf("%v ended with %d: %s", args, code, errs.String())
			}
		}
	}
}

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
		err := placeFile(path, forOwner, func(w io.Writer) error {
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
	if err := placeFile(dir, forOwner, func(io.Writer) error { return nil }); err == nil || !strings.Contains(err.Error(), "it is a folder") {
		t.Error(err)
	}
	if runtime.GOOS == "windows" {
		return
	}
	if st, err := os.Stat(path); err != nil || st.Mode().Perm() != forOwner {
		t.Error(st.Mode(), err)
	}
	// What is no file stays what it is.
	link := filepath.Join(dir, "link")
	if err := os.Symlink("result", link); err != nil {
		t.Fatal(err)
	}
	for _, one := range []string{link, os.DevNull} {
		before, err := os.Lstat(one)
		if err != nil {
			t.Fatal(err)
		}
		if err := writeFile(one, []byte("linked")); err != nil {
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
