// Package localsock is the socket by which programs of one user on one machine
// find the mediator that is running.
//
// It lies in a folder that is the user's alone, and is the user's alone itself.
// Both ends look at who is at the other one, where the system tells: a socket
// that somebody else put there is not talked to.
package localsock

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"time"
)

// Name is the socket's, in its folder.
const Name = "margay.sock"

// Env names a socket to use instead: that of the mediator that runs a program.
const Env = "MARGAY_SOCKET"

// Errors.
var (
	// ErrNone says that no mediator is running.
	ErrNone = errors.New("no mediator is running")
	// ErrRunning says that another one listens there.
	ErrRunning = errors.New("another mediator answers there")
	// ErrStranger says that whoever is at the other end is another user.
	ErrStranger = errors.New("another user is at the other end")
	// ErrUnfit says that the path can't be that of a socket: it is too long, or
	// the system has none.
	ErrUnfit = errors.New("no socket can be there")
)

// maxPath is the longest path of a socket that every system takes.
const maxPath = 100

// Path returns where the socket is: in $XDG_RUNTIME_DIR, else in the folder
// that state returns, which is not called otherwise.
func Path(state func() string) string {
	if dir := os.Getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) {
		return filepath.Join(dir, Name)
	}
	return filepath.Join(state(), Name)
}

// Listen listens at a path. A socket that nobody listens at any more is taken
// away. The listener takes its own away when it is closed.
func Listen(path string) (net.Listener, error) {
	if runtime.GOOS == "windows" || len(path) > maxPath {
		return nil, ErrUnfit
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	var lc net.ListenConfig
	ln, err := lc.Listen(context.Background(), "unix", path)
	if errors.Is(err, syscall.EADDRINUSE) {
		if err := takeAway(path); err != nil {
			return nil, err
		}
		ln, err = lc.Listen(context.Background(), "unix", path)
	}
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, 0o600); err != nil {
		_ = ln.Close()
		return nil, err
	}
	return &listener{ln}, nil
}

// takeAway removes a socket that nobody listens at.
func takeAway(path string) error {
	st, err := os.Lstat(path)
	if err != nil {
		return err
	}
	if st.Mode()&fs.ModeSocket == 0 {
		return fmt.Errorf("%s is no socket", path)
	}
	conn, err := net.DialTimeout("unix", path, time.Second)
	if err == nil {
		_ = conn.Close()
		return ErrRunning
	}
	if !errors.Is(err, syscall.ECONNREFUSED) {
		return ErrRunning
	}
	return os.Remove(path)
}

// listener gives only connections of this user.
type listener struct{ net.Listener }

func (l *listener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if sameUser(conn) {
			return conn, nil
		}
		_ = conn.Close()
	}
}

// Dial connects to the mediator at a path. ErrNone means that there is none;
// any other error that there may be one.
func Dial(ctx context.Context, path string) (net.Conn, error) {
	if runtime.GOOS == "windows" || len(path) > maxPath {
		return nil, ErrNone // nobody could listen there
	}
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", path)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, syscall.ENOTDIR):
		return nil, ErrNone
	case err != nil:
		return nil, err
	case !sameUser(conn):
		_ = conn.Close()
		return nil, ErrStranger
	}
	return conn, nil
}
