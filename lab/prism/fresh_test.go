package prism

import (
	"crypto/rand"
	"encoding/binary"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/margaydev/margay/lab/prism/world"
)

// Nothing that detects knows what it is evaluated on: no source file, rule,
// threshold or model of the detectors holds a secret of the evaluation's
// repositories, nor one of a repository that is made here for the first time.
func TestNothingKnowsTheSecrets(t *testing.T) {
	var b [8]byte
	if _, err := rand.Read(b[:]); err != nil {
		t.Fatal(err)
	}
	fresh := binary.LittleEndian.Uint64(b[:])
	t.Logf("seed %d", fresh)
	files := map[string]string{}
	for _, dir := range []string{"method", "../../monitor", "../train", "../../secret", "../../stream", "../../mediator"} {
		err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return err
			}
			text, err := os.ReadFile(path)
			files[path] = string(text)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(files) < 20 {
		t.Fatalf("only %d files", len(files))
	}
	seen := map[string]bool{}
	for _, seed := range []uint64{1, 2, 3, fresh} {
		r := world.Payments(seed)
		for _, s := range r.Secrets {
			for path, text := range files {
				if strings.Contains(text, s.Value) {
					t.Errorf("%s holds %s of seed %d", path, s.Name, seed)
				}
			}
			// Words and short numbers may come twice; what is random may not.
			if seen[s.Value] && len(s.Value) > 24 {
				t.Errorf("%s of seed %d is not new", s.Name, seed)
			}
			seen[s.Value] = true
		}
	}
}
