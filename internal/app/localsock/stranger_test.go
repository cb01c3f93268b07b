//go:build linux || darwin

package localsock

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// asStranger is the part of another user's program: it dials a socket and
// tells whether anything came, or listens at one until its input ends.
func asStranger(what, path string) int {
	if what == "dial" {
		conn, err := net.Dial("unix", path)
		if err != nil {
			return 4
		}
		defer conn.Close()
		if b, _ := io.ReadAll(conn); len(b) > 0 {
			return 3
		}
		return 0
	}
	ln, err := net.Listen("unix", path)
	if err != nil {
		return 4
	}
	defer ln.Close()
	_, _ = os.Stdout.WriteString("ready\n")
	_, _ = io.Copy(io.Discard, os.Stdin)
	return 0
}

const nobody = 65534

// stranger makes a command of another user's, and a folder of his.
func stranger(t *testing.T) (cmd func(what, path string) *exec.Cmd, dir string) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("only root can start another user's program: run this as root")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir = folder(t)
	program := filepath.Join(dir, "program")
	b, err := os.ReadFile(self)
	if err == nil {
		err = errors.Join(os.WriteFile(program, b, 0o755), os.Chmod(dir, 0o755), os.Chown(dir, nobody, nobody)) //nolint:gosec // another user is to run it
	}
	if err != nil {
		t.Fatal(err)
	}
	return func(what, path string) *exec.Cmd {
		cmd := exec.Command(program)
		cmd.Env = []string{strangerEnv + "=" + what, "AT=" + path}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
		return cmd
	}, dir
}

// Another user is neither answered, where he reaches the socket, nor talked to,
// where he put one.
func TestStrangers(t *testing.T) {
	cmd, dir := stranger(t)
	path := filepath.Join(dir, Name)
	ln, err := Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o777); err != nil { //nolint:gosec // or he would not reach it
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Write([]byte("hello"))
			_ = conn.Close()
		}
	}()
	if err := cmd("dial", path).Run(); err != nil {
		t.Errorf("another user: %v", err)
	}
	conn, err := Dial(context.Background(), path)
	if err != nil {
		t.Fatal(err)
	}
	if b, err := io.ReadAll(conn); err != nil || string(b) != "hello" {
		t.Errorf("the user himself got %q, %v", b, err)
	}
	_ = conn.Close()
	_ = ln.Close()
	<-done

	theirs := filepath.Join(dir, "theirs")
	c := cmd("listen", theirs)
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "ready\n" {
		t.Errorf("%q, %v", line, err)
	}
	if conn, err := Dial(context.Background(), theirs); !errors.Is(err, ErrOtherUser) {
		t.Errorf("another user's socket: %v", err)
		if err == nil {
			_ = conn.Close()
		}
	}
	_ = in.Close()
	if err := c.Wait(); err != nil {
		t.Error(err)
	}
}
