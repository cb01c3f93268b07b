package sqlite

import (
	"bufio"
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/mediator"
	"github.com/margaydev/margay/secret"
	"github.com/margaydev/margay/store/storetest"
)

func TestMain(m *testing.M) {
	if path := os.Getenv("MARGAY_TEST_APPEND"); path != "" {
		appendForever(path)
	}
	goleak.VerifyTestMain(m)
}

func open(t testing.TB, path string, o Options) *Store {
	t.Helper()
	s, err := Open(context.Background(), path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func TestStore(t *testing.T) {
	storetest.Run(t,
		func(t *testing.T) mediator.Store {
			return open(t, filepath.Join(t.TempDir(), "sub", "a b%3f#?.db"), Options{})
		},
		storetest.Second(func(t *testing.T, s mediator.Store) mediator.Store {
			return open(t, s.(*Store).path, Options{})
		}),
		storetest.Reopen(func(t *testing.T, s mediator.Store) mediator.Store {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			return open(t, s.(*Store).path, Options{})
		}),
	)
}

func decision(i int) mediator.LogEntry {
	return mediator.LogEntry{Decision: flow.Decision{ID: fmt.Sprintf("D%025d", i)}}
}

// appendForever appends decisions and prints the number of each when it is
// durable. The parent kills it.
func appendForever(path string) {
	s, err := Open(context.Background(), path, Options{})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	for i := 0; ; i++ {
		if err := s.AppendDecisions(context.Background(), []mediator.LogEntry{decision(i)}); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println(i)
	}
}

func TestKilled(t *testing.T) {
	path := filepath.Join(t.TempDir(), "margay.db")
	for range 3 {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "MARGAY_TEST_APPEND="+path)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		acknowledged := -1
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			if _, err := fmt.Sscan(lines.Text(), &acknowledged); err != nil {
				t.Fatal(lines.Text())
			}
			if acknowledged == 25 {
				_ = cmd.Process.Kill()
			}
		}
		_ = cmd.Wait()
		s, err := Open(context.Background(), path, Options{})
		if err != nil {
			t.Fatal(err)
		}
		got, err := s.Decisions(context.Background(), "", 1<<20)
		if err != nil || len(got) <= acknowledged {
			t.Errorf("%d decisions after %d were acknowledged; %v", len(got), acknowledged+1, err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestOpenToOthers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "margay.db")
	if err := os.WriteFile(path, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(context.Background(), path, Options{}); !errors.Is(err, ErrOpen) || !strings.Contains(err.Error(), "chmod 600") {
		t.Error(err)
	}
}

func TestCorrupt(t *testing.T) {
	dir := t.TempDir()
	garbage := filepath.Join(dir, "garbage.db")
	if err := os.WriteFile(garbage, bytes.Repeat([]byte("not a database "), 1000), 0o600); err != nil {
		t.Fatal(err)
	}
	damaged := filepath.Join(dir, "damaged.db")
	s, err := Open(context.Background(), damaged, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 200 {
		if err := s.AppendDecisions(context.Background(), []mediator.LogEntry{decision(i)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(damaged)
	if err != nil {
		t.Fatal(err)
	}
	for i := 4096; i < len(b); i++ {
		b[i] ^= 0x5a
	}
	if err := os.WriteFile(damaged, b, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{garbage, damaged} {
		before, _ := os.ReadFile(path)
		s, err := Open(context.Background(), path, Options{})
		if !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: %v", filepath.Base(path), err)
			if s != nil {
				_ = s.Close()
			}
		}
		if after, _ := os.ReadFile(path); !bytes.Equal(before, after) {
			t.Errorf("%s was changed", filepath.Base(path))
		}
	}
}

func TestLocked(t *testing.T) {
	path := filepath.Join(t.TempDir(), "margay.db")
	s := open(t, path, Options{Busy: 10 * time.Millisecond})
	other, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	other.SetMaxOpenConns(1)
	if _, err := other.Exec("BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	if err := s.AppendDecisions(context.Background(), []mediator.LogEntry{decision(1)}); !errors.Is(err, ErrLocked) {
		t.Errorf("while locked: %v", err)
	}
	if _, err := other.Exec("ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	if err := s.AppendDecisions(context.Background(), []mediator.LogEntry{decision(1)}); err != nil {
		t.Errorf("after: %v", err)
	}
}

func TestFull(t *testing.T) {
	path := filepath.Join(t.TempDir(), "margay.db")
	s := open(t, path, Options{})
	if err := s.AppendDecisions(context.Background(), []mediator.LogEntry{decision(0)}); err != nil {
		t.Fatal(err)
	}
	var pages int
	if err := s.w.QueryRow("PRAGMA page_count").Scan(&pages); err != nil {
		t.Fatal(err)
	}
	if _, err := s.w.Exec(fmt.Sprintf("PRAGMA max_page_count = %d", pages+2)); err != nil {
		t.Fatal(err)
	}
	var failed error
	for i := 1; i < 10000 && failed == nil; i++ {
		failed = s.AppendDecisions(context.Background(), []mediator.LogEntry{decision(i)})
	}
	if !errors.Is(failed, ErrFull) {
		t.Errorf("when full: %v", failed)
	}
	if _, err := s.Decision(context.Background(), decision(0).ID); err != nil {
		t.Errorf("what was written before: %v", err)
	}
}

func TestNewer(t *testing.T) {
	path := filepath.Join(t.TempDir(), "margay.db")
	s := open(t, path, Options{})
	if _, err := s.w.Exec("UPDATE meta SET value = 99 WHERE key = 'format'"); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(context.Background(), path, Options{}); !errors.Is(err, ErrNewer) {
		t.Error(err)
	}
}

func TestNothingOfAValue(t *testing.T) {
	dir := t.TempDir()
	s := open(t, filepath.Join(dir, "margay.db"), Options{})
	keys := secret.NewKeys()
	value := []byte("kQ8" + strings.Repeat("zR4v", 6))
	rec, _, err := secret.Prepare(&keys, "1", "NAME", secret.KindToken, secret.SourceRegistered, "test", value, time.Unix(1, 0))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.PutSecrets(context.Background(), []secret.Record{rec}); err != nil {
		t.Fatal(err)
	}
	files, _ := filepath.Glob(filepath.Join(dir, "*"))
	for _, f := range files {
		b, _ := os.ReadFile(f)
		for n := 4; n <= len(value); n += 4 {
			if bytes.Contains(b, value[:n]) || bytes.Contains(b, value[len(value)-n:]) {
				t.Errorf("%d bytes of the value are in %s", n, filepath.Base(f))
			}
		}
	}
}

func TestTrim(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "margay.db"), Options{MaxDecisions: 10})
	for i := range 30 {
		if err := s.AppendDecisions(context.Background(), []mediator.LogEntry{decision(i)}); err != nil {
			t.Fatal(err)
		}
	}
	got, err := s.Decisions(context.Background(), "", 100)
	if err != nil || len(got) != 10 {
		t.Errorf("%d decisions kept, %v", len(got), err)
	}
}
