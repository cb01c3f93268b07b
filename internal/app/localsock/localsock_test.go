//go:build linux || darwin

package localsock

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

// strangerEnv makes the tests' own program another user's.
const strangerEnv = "LOCALSOCK_STRANGER"

func TestMain(m *testing.M) {
	if what := os.Getenv(strangerEnv); what != "" {
		os.Exit(asStranger(what, os.Getenv("AT")))
	}
	goleak.VerifyTestMain(m)
}

// folder is a short one, for the socket's path.
func folder(t *testing.T) string {
	dir, err := os.MkdirTemp("", "ls")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func TestPath(t *testing.T) {
	t.Setenv("XDG_RUNTIME_DIR", "/run/user/7")
	if got := Path(func() string { t.Error("asked for the state folder"); return "" }); got != "/run/user/7/margay.sock" {
		t.Error(got)
	}
	for _, dir := range []string{"", "relative"} {
		t.Setenv("XDG_RUNTIME_DIR", dir)
		if got := Path(func() string { return "/state" }); got != "/state/margay.sock" {
			t.Error(got)
		}
	}
}

func TestListen(t *testing.T) {
	path := filepath.Join(folder(t), "deep", Name)
	ctx := context.Background()
	if _, err := Dial(ctx, path); !errors.Is(err, ErrNotRunning) {
		t.Errorf("nothing there: %v", err)
	}
	ln, err := Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	if st, err := os.Stat(path); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", st, err)
	}
	if _, err := Listen(path); !errors.Is(err, ErrRunning) {
		t.Errorf("a second one: %v", err)
	}
	done := make(chan error, 1)
	go func() {
		// The second listener asked who is there, and went away.
		for {
			conn, err := ln.Accept()
			if err != nil {
				done <- err
				return
			}
			n, err := io.Copy(conn, conn)
			_ = conn.Close()
			if n > 0 || err != nil {
				done <- err
				return
			}
		}
	}()
	conn, err := Dial(ctx, path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Write([]byte("hello")); err != nil {
		t.Fatal(err)
	}
	if err := conn.(*net.UnixConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if b, err := io.ReadAll(conn); err != nil || string(b) != "hello" {
		t.Errorf("%q, %v", b, err)
	}
	_ = conn.Close()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if err := ln.Close(); err != nil {
		t.Error(err)
	}
	if _, err := Dial(ctx, path); !errors.Is(err, ErrNotRunning) {
		t.Errorf("closed: %v", err)
	}
}

// What a dead process left is taken away; what is not a socket is not.
func TestStale(t *testing.T) {
	dir := folder(t)
	path := filepath.Join(dir, Name)
	old, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	old.SetUnlinkOnClose(false)
	_ = old.Close()
	if _, err := Dial(context.Background(), path); !errors.Is(err, ErrNotRunning) {
		t.Errorf("a stale one: %v", err)
	}
	ln, err := Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	_ = ln.Close()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Listen(file); err == nil {
		t.Error("listens over a file")
	}
	if b, err := os.ReadFile(file); err != nil || string(b) != "mine" {
		t.Errorf("%q, %v", b, err)
	}
	// A file where a socket should be is not "nobody".
	if conn, err := Dial(context.Background(), file); err == nil {
		_ = conn.Close()
		t.Error("a file answers")
	}
	long := filepath.Join(dir, strings.Repeat("x", 120))
	if _, err := Listen(long); !errors.Is(err, ErrNoSocket) {
		t.Errorf("a long path: %v", err)
	}
	if _, err := Dial(context.Background(), long); !errors.Is(err, ErrNotRunning) {
		t.Errorf("a long path: %v", err)
	}
}
