package app

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/margaydev/margay/internal/testkit"
	"github.com/margaydev/margay/lab/docs"
)

// No figure in the documents is typed by hand.
func TestFiguresAreUpToDate(t *testing.T) {
	root := filepath.Join("..", "..", "..")
	all, err := readResults(filepath.Join(root, "docs", "bench"))
	if err != nil || len(all) == 0 {
		t.Fatalf("%d results, %v", len(all), err)
	}
	for _, f := range []string{filepath.Join(root, "docs", "benchmarks.md"), filepath.Join(root, "README.md")} {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if text, err := docs.Fill(string(b), all); err != nil || text != string(b) {
			t.Errorf("%s is out of date: go generate ./internal/app in lab (%v)", f, err)
		}
	}
}

var update = flag.Bool("update", false, "write docs/lab.md")

func TestReferenceIsUpToDate(t *testing.T) {
	root := (&app{}).root()
	var b strings.Builder
	b.WriteString("<!-- Written by go generate ./internal/app in lab; do not edit. -->\n\n# The laboratory's command line\n\n" + root.Long + "\n\n" +
		"Run it with `go run ./cmd/margay-lab` in `lab`. Exit codes: 0 done, 1 failed, 2 wrong usage, 3 a gate of `calibrate --gates` fails.\n\n")
	testkit.Reference(&b, root)
	got, file := b.String(), filepath.Join("..", "..", "..", "docs", "lab.md")
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := os.ReadFile(file); err != nil || got != string(want) {
		t.Errorf("docs/lab.md is out of date: go generate ./internal/app in lab (%v)", err)
	}
	for _, l := range strings.Split(got, "\n") {
		if strings.HasPrefix(l, "| `--") && strings.HasSuffix(l, "|  |") {
			t.Errorf("no description: %s", l)
		}
	}
}
