package prism

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/margaydev/margay/lab/prism/world"
)

// The records of testdata were made with scripts/local and Record: tasks of
// healthcare, of payments with three seeds, and those of the first of them once
// more with the instruction of the defence "prompt".
func TestFixtures(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: reads all records")
	}
	paths, err := filepath.Glob("testdata/*.jsonl.gz")
	if err != nil {
		t.Fatal(err)
	}
	var size int64
	total := 0
	repositories := map[string]*world.Repository{}
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		size += info.Size()
		h, recorded, err := ReadRecord(path)
		if err != nil {
			t.Fatal(err)
		}
		tasks, turns, err := byTask(path, recorded)
		if err != nil {
			t.Fatal(err)
		}
		if len(tasks) != h.Tasks || h.ModelHash == "" || h.Server == "" {
			t.Errorf("%s: %d tasks, header %+v", path, len(tasks), h)
		}
		if h.Instruction == "" {
			total += len(tasks)
		}
		r := &world.Repository{Name: h.Repository}
		instructed := h.Instruction != ""
		for _, s := range h.Secrets {
			r.Secrets = append(r.Secrets, world.Secret(s))
		}
		repositories[fmt.Sprintf("%s-%d", h.Repository, h.Seed)] = r
		find := r.Finder()
		leaking := 0
		for _, turn := range turns {
			leaks := false
			for _, rec := range turn {
				if len(rec.Tokens) > h.MaxTokens {
					t.Errorf("%s: %s of %s has %d tokens", path, rec.Agent, rec.Task, len(rec.Tokens))
				}
				leaks = leaks || len(rec.Emissions) > 0
				if found := find.Find(rec.Text()); len(found)+len(rec.Emissions) > 0 && !reflect.DeepEqual(found, rec.emissions()) {
					t.Errorf("%s: %s of %s: recorded %+v, found %+v", path, rec.Agent, rec.Task, rec.Emissions, found)
				}
			}
			if leaks {
				leaking++
			}
		}
		if share := float64(leaking) / float64(len(tasks)); share < 0.2 && !instructed || share > 0.8 {
			t.Errorf("%s: %.2f of the tasks leak; a mix is wanted", path, share)
		}
	}
	if total < 1250 || size > 24<<20 {
		t.Errorf("%d tasks in %d bytes", total, size)
	}
	for name, r := range repositories {
		if name == "healthcare-1" {
			continue
		}
		if err := world.Disjoint(repositories["healthcare-1"], r); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
