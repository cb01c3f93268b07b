package app

import (
	"errors"
	"strings"
	"testing"

	"github.com/margaydev/margay/internal/problem"
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
			if code := Main(args, strings.NewReader(""), &full{10}, &errs); code != problem.Failed || !strings.Contains(errs.String(), errFull.Error()) {
				t.Errorf("%v ended with %d: %s", args, code, errs.String())
			}
		}
	}
}
