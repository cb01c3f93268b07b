package z3

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/margaydev/margay/declassify/smt"
	"github.com/margaydev/margay/internal/testkit"
)

func TestMain(m *testing.M) {
	if how := os.Getenv("MARGAY_FAKE_Z3"); how != "" {
		fake(how)
		return
	}
	goleak.VerifyTestMain(m)
}

// real opens the installed Z3, or skips the test.
func real(t testing.TB, c Config) *Pool {
	t.Helper()
	if _, err := exec.LookPath("z3"); err != nil {
		testkit.Missing(t, "z3", "run scripts/deps, or apt-get install z3")
	}
	return open(t, c)
}

func open(t testing.TB, c Config) *Pool {
	t.Helper()
	c.Timeout = time.Minute // of machines that do much else
	p, err := Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

// bad writes a program that plays Z3 and misbehaves once it has been greeted.
func bad(t testing.TB, how string) Config {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the fake z3 is started by a script of sh: run this elsewhere")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "z3")
	script := fmt.Sprintf("#!/bin/sh\nMARGAY_FAKE_Z3='%s' exec '%s'\n", how, self)
	if err := os.WriteFile(path, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	return Config{Path: path, Size: 1}
}

func fake(how string) {
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 1<<20)
	greeted := false
	for in.Scan() {
		line := in.Text()
		mark, isMark := strings.CutPrefix(line, `(echo "`)
		mark = strings.TrimSuffix(mark, `")`)
		if !greeted {
			if isMark {
				fmt.Println(mark)
				greeted = true
			} else if line == "(get-info :version)" {
				version := "4.8.12"
				if v, ok := strings.CutPrefix(how, "version "); ok {
					version = v
				}
				fmt.Printf("(:version %q)\n", version)
			}
			continue
		}
		switch how {
		case "hang":
			time.Sleep(time.Hour)
		case "end":
			return
		case "flood":
			for {
				fmt.Println("sat")
			}
		case "flood in a line":
			for {
				fmt.Print("sat sat sat ")
			}
		case "garbage":
			if isMark {
				fmt.Printf("satisfied\n%s\n", mark)
			}
		case "error":
			fmt.Println(`(error "line 1 column 1: unhappy")`)
			return
		case "other marks":
			if isMark {
				fmt.Println("sat")
				fmt.Println("margay 1")
				fmt.Println("margay 999")
				time.Sleep(time.Hour)
			}
		case "more than a status":
			if isMark {
				fmt.Printf("sat\nsat\n%s\n", mark)
			}
		case "unknown":
			if isMark {
				fmt.Printf("unknown\n%s\n", mark)
			}
		case "sat":
			if isMark {
				fmt.Printf("sat\n%s\n", mark)
			}
		case "unsat":
			if isMark {
				fmt.Printf("unsat\n%s\n", mark)
			}
		}
	}
}

// small is a problem of one clause, which holds or not.
func small(holds bool) *smt.Problem {
	var p smt.Problem
	p.Clause("small", p.Bool(holds))
	return &p
}

// hard is a problem that takes Z3 minutes: more atoms than values, no two of
// which may share one.
func hard() *smt.Problem {
	const holes = 13
	var p smt.Problem
	p.Atoms(holes + 1)
	var names []string
	for i := range holes {
		names = append(names, fmt.Sprint(i))
	}
	f := p.EnumFunc("hole", p.Enum("hole", names...))
	for a := range smt.Atom(holes + 1) {
		for b := range a {
			p.Clause("apart", p.Not(p.Same(p.Apply(f, a), p.Apply(f, b))))
		}
	}
	return &p
}

// works checks that a pool decides as it should.
func works(t *testing.T, p *Pool) {
	t.Helper()
	for _, holds := range []bool{true, false, true} {
		if v, err := p.Validate(t.Context(), small(holds)); err != nil || v.OK != holds {
			t.Fatalf("%v, %v", v, err)
		}
	}
}

func TestMissing(t *testing.T) {
	_, err := Open(t.Context(), Config{Path: filepath.Join(t.TempDir(), "z3")})
	if !errors.Is(err, ErrMissing) || !strings.Contains(err.Error(), "apt-get install z3") {
		t.Errorf("%v", err)
	}
}

// TestMisbehaviour: whatever a process does but answer is an error, and the
// zero Verdict.
func TestMisbehaviour(t *testing.T) {
	tests := map[string]error{
		"hang":               ErrTimeout,
		"end":                ErrEnded,
		"flood":              ErrOutput,
		"flood in a line":    ErrOutput,
		"garbage":            smt.ErrAnswer,
		"error":              smt.ErrAnswer,
		"other marks":        ErrTimeout,
		"more than a status": smt.ErrAnswer,
		"unknown":            smt.ErrUnknown,
		"unsat":              smt.ErrDisagree,
	}
	for how, want := range tests {
		t.Run(how, func(t *testing.T) {
			c := bad(t, how)
			c.MaxOutput = 1 << 20
			p := open(t, c)
			slow := errors.Is(want, ErrTimeout)
			if slow {
				p.cfg.Timeout = 100 * time.Millisecond
			}
			for range 2 { // a process that was replaced fares no better
				if v, err := p.Validate(t.Context(), small(true)); !errors.Is(err, want) || v.OK {
					t.Errorf("%v, %v", v, err)
				}
			}
		})
	}
}

// TestLiar: a model that is none is found out; so is a verdict, by Both.
func TestLiar(t *testing.T) {
	p := open(t, bad(t, "sat"))
	if a, err := p.Satisfiable(t.Context(), small(false)); err == nil || a.Satisfiable {
		t.Errorf("%v, %v", a, err)
	}
	both := smt.Both{First: new(smt.Native), Second: p}
	if v, err := both.Validate(t.Context(), small(false)); !errors.Is(err, smt.ErrDisagree) || v.OK {
		t.Errorf("%v, %v", v, err)
	}
}

func TestVersions(t *testing.T) {
	for version, ok := range map[string]bool{
		"4.8.11": true, "4.8.12": true, "4.13.0": true, "4.15.4.0": true, "5.0": true,
		"4.8.10": false, "4.8": false, "4.7.1": false, "3.9.9": false, "4.-8.12": false, "": false, "4": false, "four.eight": false, "4.x": false,
	} {
		p, err := Open(t.Context(), bad(t, "version "+version))
		if err == nil {
			p.Close()
		}
		if (err == nil) != ok || (err != nil && !errors.Is(err, ErrVersion)) {
			t.Errorf("version %s: %v", version, err)
		}
	}
}

// TestKilled kills processes in the middle of queries, before them, and
// between them.
func TestKilled(t *testing.T) {
	p := real(t, Config{Size: 2})
	for range 2 { // take each in turn, and put it back dead
		w := <-p.slots
		if w != nil {
			_ = w.cmd.Process.Kill()
		}
		p.slots <- w
	}
	works(t, p)

	killed := 0
	err := p.do(t.Context(), func(w *worker) error {
		if err := w.tell("(push)\n(assert true)\n"); err != nil {
			return err
		}
		if killed++; killed == 1 {
			_ = w.cmd.Process.Kill()
		}
		_, err := w.check([]byte("(check-sat)\n"))
		return err
	})
	if err != nil || killed != 2 {
		t.Errorf("after %d tries: %v", killed, err)
	}
	works(t, p)

	tries := 0
	err = p.do(t.Context(), func(w *worker) error {
		tries++
		_ = w.cmd.Process.Kill()
		_, err := w.check([]byte("(check-sat)\n"))
		return err
	})
	if !errors.Is(err, ErrEnded) || tries != 2 {
		t.Errorf("after %d tries: %v", tries, err)
	}
	works(t, p)
}

// TestKilledUnderLoad: with processes dying all the time, no verdict is wrong.
func TestKilledUnderLoad(t *testing.T) {
	p := real(t, Config{Size: 2, Queries: 7})
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := range 30 {
				if (g+i)%3 == 0 {
					_ = p.do(t.Context(), func(w *worker) error { return w.cmd.Process.Kill() })
				}
				holds := i%2 == 0
				v, err := p.Validate(t.Context(), small(holds))
				// Who comes twice upon a process that was just killed is refused.
				if err != nil && !errors.Is(err, ErrEnded) {
					t.Errorf("%v", err)
				}
				if v.OK && !holds || err == nil && v.OK != holds {
					t.Errorf("%v, %v; want %v", v, err, holds)
				}
			}
		})
	}
	wg.Wait()
	p.Close()
}

// TestTimeout: a search that is too long ends, and the next question is
// answered.
func TestTimeout(t *testing.T) {
	p := real(t, Config{Size: 1})
	p.cfg.Timeout = 300 * time.Millisecond
	if a, err := p.Satisfiable(t.Context(), hard()); !errors.Is(err, ErrTimeout) || a.Satisfiable {
		t.Errorf("%v, %v", a, err)
	}
	p.cfg.Timeout = time.Minute
	works(t, p)
}

func TestCancelled(t *testing.T) {
	p := real(t, Config{Size: 1})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() {
		_, err := p.Satisfiable(ctx, hard())
		done <- err
	}()
	for len(p.slots) > 0 { // until it has begun
		runtime.Gosched()
	}
	// One who waits for the process can leave, too.
	waiting, leave := context.WithCancel(t.Context())
	go func() {
		_, err := p.Validate(waiting, small(true))
		done <- err
	}()
	leave()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("who waits: %v", err)
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("who asks: %v", err)
	}
	works(t, p)
	if v, err := p.Validate(ctx, small(true)); !errors.Is(err, context.Canceled) || v.OK {
		t.Errorf("%v, %v", v, err)
	}
}

func TestClose(t *testing.T) {
	p := real(t, Config{Size: 2})
	done := make(chan error)
	for range 4 { // two ask, two wait
		go func() {
			_, err := p.Satisfiable(t.Context(), hard())
			done <- err
		}()
	}
	for len(p.slots) > 0 {
		runtime.Gosched()
	}
	p.Close()
	for range 4 {
		if err := <-done; !errors.Is(err, ErrClosed) {
			t.Errorf("%v", err)
		}
	}
	if v, err := p.Validate(t.Context(), small(true)); !errors.Is(err, ErrClosed) || v.OK {
		t.Errorf("%v, %v", v, err)
	}
	p.Close()
}

// TestReplaced: a process does not outlive its number of queries, and none is
// left behind.
func TestReplaced(t *testing.T) {
	p := real(t, Config{Size: 1, Queries: 2})
	seen := map[*worker]bool{}
	for range 9 {
		works(t, p)
		if w := <-p.slots; w != nil {
			seen[w] = true
			p.slots <- w
		} else {
			p.slots <- nil
		}
	}
	if len(seen) != 4 { // who is alive after every other round
		t.Errorf("%d processes for 28 queries", len(seen))
	}
	p.Close()
	for w := range seen {
		if w.cmd.ProcessState == nil {
			t.Errorf("process %d was not waited for", w.cmd.Process.Pid)
		}
	}
}

// TestEnvironment: a process is told nothing that may be secret.
func TestEnvironment(t *testing.T) {
	t.Setenv("MARGAY_TEST_SECRET", "xyzzy")
	p := real(t, Config{Size: 1})
	w := <-p.slots
	defer func() { p.slots <- w }()
	for _, v := range w.cmd.Env {
		if name, _, _ := strings.Cut(v, "="); name != "PATH" && name != "LC_ALL" && name != "LD_LIBRARY_PATH" && name != "SYSTEMROOT" {
			t.Errorf("%s is passed on", name)
		}
	}
}
