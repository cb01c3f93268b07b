package world

import (
	"slices"
	"testing"
	"testing/fstest"
)

// Whatever stands in the files, reading ends; a world that is read can be
// drawn, and is the same when it is read again.
func FuzzParse(f *testing.F) {
	files := sketch()
	f.Add(files["world.yaml"].Data, files["payments.yaml"].Data)
	f.Fuzz(func(t *testing.T, common, category []byte) {
		files := fstest.MapFS{"world.yaml": {Data: common}, "payments.yaml": {Data: category}}
		s, bad := Parse(files)
		again, worse := Parse(files)
		if !slices.Equal(bad, worse) {
			t.Fatalf("mistakes %v and %v", bad, worse)
		}
		if len(bad) > 0 {
			return
		}
		if s.Hash != again.Hash {
			t.Fatal("one world has two hashes")
		}
		for _, task := range s.Generate(1, 4).Tasks {
			for i := range task.Steps {
				if step := &task.Steps[i]; step.Essential && !task.Served(i, task.Least(i)) {
					t.Fatalf("%v is not served by the least: %q", step, task.Least(i))
				}
			}
		}
	})
}
