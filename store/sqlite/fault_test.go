//go:build unix

package sqlite

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/margaydev/margay/mediator/audit"
	"github.com/margaydev/margay/secret"
)

// What the test's own binary is told when it runs as a child.
const (
	childPath  = "MARGAY_TEST_STORE"       // the database
	childFirst = "MARGAY_TEST_STORE_FIRST" // the first number to append
	childLimit = "MARGAY_TEST_STORE_LIMIT" // the greatest size of a file, in bytes
)

const childWorkers = 4

// pair is the two entries of one append.
func pair(i int) []audit.Entry {
	a, b := decision(2*i), decision(2*i+1)
	a.Findings = []audit.Finding{{ID: "F" + a.ID, Path: strings.Repeat("x", 500)}}
	return []audit.Entry{a, b}
}

// child appends pairs of decisions from several goroutines, and prints the
// number of each pair once it is durable, until it is killed or can't go on.
func child(path string) {
	var first int
	var limit uint64
	_, _ = fmt.Sscan(os.Getenv(childFirst), &first)
	if n, _ := fmt.Sscan(os.Getenv(childLimit), &limit); n == 1 {
		signal.Ignore(syscall.SIGXFSZ)
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: limit, Max: limit}); err != nil {
			fmt.Println("setrlimit:", err)
			os.Exit(1)
		}
	}
	s, err := Open(context.Background(), path, Options{Busy: time.Minute})
	if err != nil {
		fmt.Println("open:", err)
		os.Exit(1)
	}
	var wg sync.WaitGroup
	for w := range childWorkers {
		wg.Go(func() {
			for i := first + w; ; i += childWorkers {
				if err := s.AppendDecisions(context.Background(), pair(i)); err != nil {
					fmt.Println("full:", errors.Is(err, ErrFull), err)
					return
				}
				fmt.Println("kept:", i)
			}
		})
	}
	wg.Wait()
	_ = s.Close() // it may fail for want of room
	os.Exit(0)
}

// runChild starts a child and returns the numbers that it said were durable,
// and its last other line. With killAt > 0 it is killed after so many.
func runChild(t *testing.T, killAt int, env ...string) (kept []int, other string) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		var i int
		if n, _ := fmt.Sscanf(lines.Text(), "kept: %d", &i); n != 1 {
			other = lines.Text()
			continue
		}
		if kept = append(kept, i); len(kept) == killAt {
			_ = cmd.Process.Kill()
		}
	}
	_ = cmd.Wait()
	return kept, other
}

// wantKept checks that all acknowledged pairs are there, none by half, and
// that the file is sound.
func wantKept(t *testing.T, s *Store, kept []int) {
	t.Helper()
	ctx := context.Background()
	for _, i := range kept {
		for _, e := range pair(i) {
			if _, err := s.Decision(ctx, e.ID); err != nil {
				t.Errorf("%s was acknowledged: %v", e.ID, err)
			}
			for _, f := range e.Findings {
				if _, _, err := s.FindingByID(ctx, f.ID); err != nil {
					t.Errorf("%s was acknowledged: %v", f.ID, err)
				}
			}
		}
	}
	all, err := s.Decisions(ctx, "", 1<<20)
	if err != nil || len(all)%2 != 0 {
		t.Errorf("%d decisions of pairs, %v", len(all), err)
	}
	var found string
	if err := s.r.QueryRow("PRAGMA integrity_check").Scan(&found); err != nil || found != "ok" {
		t.Errorf("the file is not sound: %v", err)
	}
	var n int
	if err := s.r.QueryRow("SELECT value FROM meta WHERE key = 'decisions'").Scan(&n); err != nil || n != len(all) {
		t.Errorf("the count says %d of %d, %v", n, len(all), err)
	}
}

func TestKilled(t *testing.T) {
	path := filepath.Join(t.TempDir(), "margay.db")
	var kept []int
	for round := range 5 {
		killAt := 1 + 17*round
		got, other := runChild(t, killAt, childPath+"="+path, fmt.Sprintf("%s=%d", childFirst, round*100000))
		if len(got) < killAt {
			t.Fatalf("the child said %q after %d", other, len(got))
		}
		kept = append(kept, got...)
		s, err := Open(context.Background(), path, Options{})
		if err != nil {
			t.Fatal(err)
		}
		wantKept(t, s, kept)
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestFileSizeLimit(t *testing.T) {
	path := filepath.Join(t.TempDir(), "margay.db")
	kept, other := runChild(t, 0, childPath+"="+path, childFirst+"=0", childLimit+"=400000")
	if len(kept) == 0 || !strings.HasPrefix(other, "full: true") || !strings.Contains(other, "free some disk space") {
		t.Fatalf("%d kept; then %q", len(kept), other)
	}
	s := open(t, path, Options{})
	wantKept(t, s, kept)
	if err := s.AppendDecisions(context.Background(), pair(1000000)); err != nil {
		t.Errorf("when there is room again: %v", err)
	}
}

func TestFull(t *testing.T) {
	ctx := context.Background()
	s := open(t, filepath.Join(t.TempDir(), "margay.db"), Options{})
	var pages int
	if err := s.w.QueryRow("PRAGMA page_count").Scan(&pages); err != nil {
		t.Fatal(err)
	}
	exec1 := fmt.Sprintf("PRAGMA max_page_count = %d", pages+8)
	if _, err := s.w.Exec(exec1); err != nil {
		t.Fatal(err)
	}
	var kept []int
	var failed error
	for i := 0; i < 10000 && failed == nil; i++ {
		if failed = s.AppendDecisions(ctx, pair(i)); failed == nil {
			kept = append(kept, i)
		}
	}
	if !errors.Is(failed, ErrFull) || !strings.Contains(failed.Error(), "free some disk space") {
		t.Errorf("when full: %v", failed)
	}
	var recs []secret.Record
	for i := range 1000 {
		recs = append(recs, planted(t, i))
	}
	before, err := s.Epoch(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.PutSecrets(ctx, recs); !errors.Is(err, ErrFull) {
		t.Errorf("when full: %v", err)
	}
	if e, err := s.Epoch(ctx); e != before || err != nil {
		t.Errorf("epoch %d after a change that failed, %d before; %v", e, before, err)
	}
	for r, err := range s.Secrets(ctx) {
		t.Errorf("half of a batch was kept: %s, %v", r.ID, err)
	}
	if len(kept) == 0 {
		t.Error("nothing was written")
	}
	wantKept(t, s, kept)
}

func TestLocked(t *testing.T) {
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "margay.db")
	s := open(t, path, Options{Busy: 10 * time.Millisecond})
	if err := append1(s, 0); err != nil {
		t.Fatal(err)
	}
	other := raw(t, path)
	if _, err := other.Exec("BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	for name, err := range map[string]error{
		"AppendDecisions": append1(s, 1),
		"PutSecrets":      s.PutSecrets(ctx, []secret.Record{planted(t, 1)}),
		"PutAllow":        s.PutAllow(ctx, secret.Allow{ID: "a", Rule: "r"}),
		"DeleteSecret":    s.DeleteSecret(ctx, "a"),
	} {
		if !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), "try again") {
			t.Errorf("%s while locked: %v", name, err)
		}
	}
	// Who only reads need not wait, nor who opens.
	if _, err := open(t, path, Options{Busy: 10 * time.Millisecond}).Decision(ctx, decision(0).ID); err != nil {
		t.Errorf("reading while locked: %v", err)
	}
	if _, err := other.Exec("ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	if err := append1(s, 1); err != nil {
		t.Errorf("after: %v", err)
	}
}

func TestReadOnly(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "margay.db"), Options{})
	if _, err := s.w.Exec("PRAGMA query_only = 1"); err != nil {
		t.Fatal(err)
	}
	if err := append1(s, 1); !errors.Is(err, ErrReadOnly) || !strings.Contains(err.Error(), "writable") {
		t.Error(err)
	}
}

func TestCorrupt(t *testing.T) {
	sound := filepath.Join(t.TempDir(), "sound.db")
	s, err := Open(context.Background(), sound, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 200 {
		if err := s.AppendDecisions(context.Background(), pair(i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	b := bytesOf(t, sound)
	damage := map[string][]byte{
		"garbage":   bytes.Repeat([]byte("not a database "), 1000),
		"short":     []byte("x"),
		"truncated": b[:len(b)/2],
		"header":    append(bytes.Repeat([]byte{0xff}, 100), b[100:]...),
	}
	flipped := bytes.Clone(b)
	for i := 4096; i < len(b); i++ {
		flipped[i] ^= 0x5a
	}
	damage["flipped"] = flipped
	page := bytes.Clone(b)
	clear(page[len(page)-4096:])
	damage["lost page"] = page
	for name, content := range damage {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "damaged.db")
			if err := os.WriteFile(path, content, 0o600); err != nil {
				t.Fatal(err)
			}
			s, err := Open(context.Background(), path, Options{})
			if !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), "move "+path+" away") {
				t.Errorf("%v", err)
				if s != nil {
					_ = s.Close()
				}
			}
			if !bytes.Equal(content, bytesOf(t, path)) {
				t.Error("the file was changed")
			}
			// Having done as told, one has a new database.
			if err := os.Rename(path, path+".bad"); err != nil {
				t.Fatal(err)
			}
			open(t, path, Options{})
		})
	}
}
