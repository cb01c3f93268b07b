package app

import (
	"path/filepath"
	"testing"
)

// The small run needs no outside data, and finds what its sessions are made for.
func TestReplayQuick(t *testing.T) {
	r, _, err := runReplay(t.Context(), &options{n: -1, seed: 1, quick: true, progress: func(string) {}})
	if err != nil {
		t.Fatal(err)
	}
	for mode, asked := range map[string]float64{"all": 3, "replay": 2, "best": 1} {
		m := r.Row(mode, "all").Metrics
		if got := m["calls_asked"] * m["calls"]; got < asked-0.001 || got > asked+0.001 || m["sessions"] != 6 {
			t.Errorf("%s: %v calls asked of %v sessions, want %v", mode, got, m["sessions"], asked)
		}
	}
}

func TestReplayFiles(t *testing.T) {
	o := &options{data: t.TempDir(), files: []string{"a.jsonl", filepath.Join("x", "b.jsonl")}}
	got, err := replayFiles(o)
	if err != nil || got[0] != filepath.Join(o.data, "a.jsonl") || got[1] != o.files[1] {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := replayFiles(&options{}); err == nil {
		t.Error("no data and no file, and no error")
	}
}
