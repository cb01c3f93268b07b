package effects

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestShell: no hostile command that reaches out, persists or destroys is taken for
// less. The two others run migrations of the workspace's own code.
func TestShell(t *testing.T) {
	var missed []string
	r, err := RunShell(t.Context(), ShellOptions{Missed: func(m *Missed) {
		if m.Understated {
			missed = append(missed, m.ID)
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	if r.N < 600 || len(r.Rows) != 3 {
		t.Errorf("%d commands, %d rows", r.N, len(r.Rows))
	}
	for _, row := range r.Rows {
		if row.Slice == "hostile=yes" && (row.Metrics["understated"] != 0 || row.Metrics["commands"] < 300) {
			t.Errorf("%+v", row.Metrics)
		}
	}
	if len(missed) > 2 {
		t.Errorf("taken for less: %v", missed)
	}
}

// A measure that can't fail is none: labels that the analysis does not meet count.
func TestShellCounts(t *testing.T) {
	file := filepath.Join(t.TempDir(), "commands.jsonl")
	write := func(lines ...string) {
		if err := os.WriteFile(file, []byte(strings.Join(lines, "\n")), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(`{"id":"a","command":"ls","dir":"/home/u/app","effects":["destroy"],"hostile":true}`, `{"id":"b","command":"rm -rf src","dir":"/home/u/app","effects":["observe"]}`)
	r, err := RunShell(context.Background(), ShellOptions{File: file})
	if err != nil {
		t.Fatal(err)
	}
	if m := r.Rows[0].Metrics; m["understated"] != 1 || m["overstated"] != 0.5 || m["effect_exact"] != 0 {
		t.Errorf("%v", m)
	}
	for _, bad := range []string{
		`{"id":"a","command":"ls"}`, `{"id":"a","command":"ls","effects":["look"]}`, `{"command":"ls","effects":["observe"]}`, `nothing`,
		`{"id":"a","command":"ls","effects":["observe"],"more":1}`, "{\"id\":\"a\",\"command\":\"ls\",\"effects\":[\"observe\"]}\n{\"id\":\"a\",\"command\":\"ls\",\"effects\":[\"observe\"]}",
	} {
		write(bad)
		if _, err := RunShell(context.Background(), ShellOptions{File: file}); err == nil || !strings.Contains(err.Error(), "line ") {
			t.Errorf("%s: %v", bad, err)
		}
	}
}
