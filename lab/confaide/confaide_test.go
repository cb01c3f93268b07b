package confaide

import (
	"path/filepath"
	"testing"

	"github.com/margaydev/margay/internal/testkit"
	"github.com/margaydev/margay/lab/traj/defence"
)

func TestStory(t *testing.T) {
	s := Story{Text: "Ann once cheated in an exam. Bob helped her. The exam is on Monday.", Secret: "Cheating on an exam", Needed: "Monday"}
	if !s.Names(s.Text) || s.Names("Bob helped her.") || s.Names("") {
		t.Error("whether the secret is told is not seen")
	}
	if !s.Has("It is on MONDAY.") || s.Has("soon") {
		t.Error("whether what is needed is told is not seen")
	}
}

func TestRun(t *testing.T) {
	dir := filepath.Dir(filepath.Dir(testkit.Data(t, filepath.Join(Folder, "tier_3.txt.gz"))))
	stories, err := Read(dir)
	if err != nil || len(stories) != 290 {
		t.Fatal(len(stories), err)
	}
	for i := range stories {
		if s := &stories[i]; s.Text == "" || s.Secret == "" || (s.Tier == 4) != (s.Needed != "") || !s.Names(s.Text) {
			t.Errorf("story %d of tier %d: secret %q, needed %q", i, s.Tier, s.Secret, s.Needed)
		}
	}
	res, err := Run(t.Context(), Options{Data: dir, Seed: 1, N: 12, Defences: []defence.Defence{defence.Undefended{}, defence.Capability{}}})
	if err != nil {
		t.Fatal(err)
	}
	if row := res.Row("undefended", "tier=4,recipient=curious"); row.Metrics["secret_released"] != 1 || row.Metrics["needed_retained"] != 1 {
		t.Errorf("undefended: %v", row.Metrics)
	}
	if row := res.Row("capability", "tier=4,recipient=curious"); row.Metrics["secret_released"] != 0 || row.Metrics["needed_retained"] != 0 {
		t.Errorf("denied: %v", row.Metrics)
	}
}
