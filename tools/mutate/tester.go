package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"time"
)

// memoryKiB bounds the address space of a mutant's tests: what loops without
// end often takes memory without end.
const memoryKiB = 8 << 20

// tester runs the tests of packages with a mutant in them. It is safe for
// concurrent use.
type tester struct {
	root, dir string
	flags     map[string][]string // of each package's tests
	patience  map[string]time.Duration
	n         atomic.Int64
}

// newTester runs the tests of each package once as they are: they have to pass,
// and the time they take bounds that of the mutants.
func newTester(root string, packages []string) (*tester, error) {
	dir, err := os.MkdirTemp("", "mutate")
	if err != nil {
		return nil, err
	}
	t := &tester{root: root, dir: dir, flags: map[string][]string{}, patience: map[string]time.Duration{}}
	limiter := fmt.Sprintf("#!/bin/sh\nulimit -v %d 2>/dev/null\nexec \"$@\"\n", memoryKiB)
	if err := os.WriteFile(t.limiter(), []byte(limiter), 0o700); err != nil { //nolint:gosec // it is run
		return nil, err
	}
	for _, p := range packages {
		cmd := exec.Command("go", "list", "-f", "{{.TestImports}} {{.XTestImports}}", "./"+p)
		cmd.Dir = root
		imports, err := cmd.Output()
		if err != nil {
			return nil, fmt.Errorf("go list %s: %w", p, err)
		}
		if bytes.Contains(imports, []byte("pgregory.net/rapid")) {
			// The same cases for all, no files in testdata, and no smaller case for
			// a person to read.
			t.flags[p] = []string{"-rapid.seed=1", "-rapid.nofailfile", "-rapid.shrinktime=1ms"}
		}
		t.patience[p] = 5 * time.Minute
		for range 2 { // the first run builds
			start := time.Now()
			if out, err := t.run(p, ""); err != nil {
				return nil, fmt.Errorf("the tests of %s fail without a mutant: %w\n%s", p, err, out)
			}
			t.patience[p] = max(20*time.Second, 6*time.Since(start))
		}
	}
	return t, nil
}

func (t *tester) close() { _ = os.RemoveAll(t.dir) }

func (t *tester) limiter() string { return filepath.Join(t.dir, "limited") }

// buildFailed is what go test prints of a package that does not compile.
var buildFailed = regexp.MustCompile(`(?m)^FAIL\t\S+ \[(build|setup) failed\]`)

// test runs the tests with the mutant in place and sets its result.
func (t *tester) test(m *Mutant) error {
	at := filepath.Join(t.dir, fmt.Sprint(t.n.Add(1)))
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {m.path: at + ".go"}})
	if err != nil {
		return err
	}
	if err := errors.Join(os.WriteFile(at+".go", m.mutated(), 0o600), os.WriteFile(at+".json", overlay, 0o600)); err != nil {
		return err
	}
	defer os.Remove(at + ".go")
	defer os.Remove(at + ".json")
	out, err := t.run(m.Package, at+".json")
	var exit *exec.ExitError
	switch {
	case err == nil:
		m.Result = survived
	case errors.Is(err, context.DeadlineExceeded) || bytes.Contains(out, []byte("panic: test timed out after")):
		m.Result = timedOut
	case !errors.As(err, &exit):
		return err
	case buildFailed.Match(out):
		m.Result = notCompiled
	case !bytes.Contains(out, []byte("FAIL")):
		return fmt.Errorf("go test of %s: %w\n%s", m.Key, err, out)
	default:
		m.Result = killed
	}
	return nil
}

func (t *tester) run(pkg, overlay string) ([]byte, error) {
	args := []string{"test", "-count=1", "-failfast", "-vet=off", "-exec", t.limiter(), "-timeout", t.patience[pkg].String()}
	if overlay != "" {
		args = append(args, "-overlay", overlay)
	}
	args = append(append(args, "./"+pkg), t.flags[pkg]...)
	ctx, cancel := context.WithTimeout(context.Background(), t.patience[pkg]+5*time.Minute) // it builds, too
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = t.root
	out, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	return out, err
}

// explanation is a line of docs/mutants.md: a key as code, and why the mutant
// survives.
var explanation = regexp.MustCompile("(?m)^- `` ?(.+?) ?``: (.+)$")

// readExplained are the survivors that are explained, by key.
func readExplained(path string) (map[string]string, error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for _, m := range explanation.FindAllStringSubmatch(string(b), -1) {
		out[m[1]] = strings.TrimSpace(m[2])
	}
	return out, nil
}
