package localsock

import (
	"net"
	"os"

	"golang.org/x/sys/unix"
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
		who, err := unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) //nolint:gosec // file descriptors are small
		same = err == nil && int(who.Uid) == os.Getuid()
	})
	return err == nil && same
}
