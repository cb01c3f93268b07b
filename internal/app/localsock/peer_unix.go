//go:build linux || darwin

package localsock

import (
	"net"
	"os"
)

// sameUser reports whether the process at the other end is this user's.
func sameUser(conn net.Conn) bool {
	c, ok := conn.(*net.UnixConn)
	if !ok {
		return false
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return false
	}
	same := false
	err = raw.Control(func(fd uintptr) {
		uid, err := peer(int(fd)) //nolint:gosec // file descriptors are small
		same = err == nil && int(uid) == os.Getuid()
	})
	return err == nil && same
}
