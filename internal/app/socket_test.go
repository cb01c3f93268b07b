//go:build unix

package app

import (
	"net"
	"os"
	"path/filepath"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/margaydev/margay/internal/app/localsock"
)

// fakeSocket puts a socket where a mediator's would be: socket stale, which
// nobody listens at, or socket rude, where connections are closed at once.
func fakeSocket(ts *testscript.TestScript, _ bool, args []string) {
	path := filepath.Join(ts.Getenv("XDG_RUNTIME_DIR"), localsock.Name)
	ln, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	ts.Check(err)
	ln.SetUnlinkOnClose(args[0] != "stale")
	if args[0] == "stale" {
		ts.Check(ln.Close())
		_, err := os.Lstat(path)
		ts.Check(err)
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			_ = conn.Close()
		}
	}()
	ts.Defer(func() {
		_ = ln.Close()
		<-done
	})
}
