//go:build !linux && !darwin

package localsock

import "net"

// sameUser trusts the socket's permissions: this system does not tell who is
// at the other end.
func sameUser(net.Conn) bool { return true }
