// Package localsock is the socket by which one user's programs on a machine find
// the running mediator.
//
// Only the user may access the socket and its folder. If the system allows
// it, both ends check who is at the other end: a socket that somebody else
// put there is not used.
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
	// ErrNotRunning says that no mediator is running.
	ErrNotRunning = errors.New("no mediator is running")
	// ErrRunning says that another mediator listens there.
	ErrRunning = errors.New("another mediator answers there")
	// ErrOtherUser says that the process at the other end is another user's.
	ErrOtherUser = errors.New("another user is at the other end")
	// ErrNoSocket says that the path is too long for a socket, or that the system
	// has no sockets.
	ErrNoSocket = errors.New("no socket can be there")
)

// maxPath is the longest path of a socket that every system takes.
const maxPath = 100

// Path returns where the socket is: in $XDG_RUNTIME_DIR, else in the folder that
// state returns. It calls state only then.
func Path(state func() string) string {
	if dir := os.Getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) {
		return filepath.Join(dir, Name)
	}
	return filepath.Join(state(), Name)
}

// Listen listens at a path. It removes a socket that nobody listens at any more.
// The listener removes its own when it is closed.
func Listen(path string) (net.Listener, error) {
	if runtime.GOOS == "windows" || len(path) > maxPath {
		return nil, ErrNoSocket
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	var lc net.ListenConfig
	ln, err := lc.Listen(context.Background(), "unix", path)
	if errors.Is(err, syscall.EADDRINUSE) {
		if err := removeStale(path); err != nil {
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

// removeStale removes a socket that nobody listens at.
func removeStale(path string) error {
	st, err := os.Lstat(path)
	if err != nil {
		return err
	}
	if st.Mode()&fs.ModeSocket == 0 {
		return fmt.Errorf("%s is not a socket", path)
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

// Dial connects to the mediator at a path. ErrNotRunning means that none runs;
// after any other error, one may run.
func Dial(ctx context.Context, path string) (net.Conn, error) {
	if runtime.GOOS == "windows" || len(path) > maxPath {
		return nil, ErrNotRunning // nobody could listen there
	}
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", path)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, syscall.ENOTDIR):
		return nil, ErrNotRunning
	case err != nil:
		return nil, err
	case !sameUser(conn):
		_ = conn.Close()
		return nil, ErrOtherUser
	}
	return conn, nil
}
