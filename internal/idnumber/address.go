package idnumber

import (
	"net/netip"
	"strings"
)

// IPv4 accepts an address of a host: none of this machine, nor one that stands for all.
func IPv4(v []byte) bool {
	a, err := netip.ParseAddr(string(v))
	return err == nil && !a.IsLoopback() && !a.IsUnspecified() && a != netip.AddrFrom4([4]byte{255, 255, 255, 255})
}

// IPv6 accepts an address of a host that is long enough to be none by chance.
func IPv6(v []byte) bool {
	a, err := netip.ParseAddr(string(v))
	return err == nil && !a.IsLoopback() && (strings.Contains(string(v), "::") || strings.Count(string(v), ":") == 7)
}
