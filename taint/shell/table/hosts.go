package table

import (
	"slices"
	"strconv"
	"strings"
)

// Local reports whether a host is this machine, as every program reads it.
func Local(host string) bool {
	return slices.Contains([]string{"localhost", "127.0.0.1", "[::1]", "0.0.0.0"}, host)
}

// Host is the host of an address, or the text itself.
func Host(s string) string {
	if _, rest, ok := strings.Cut(s, "://"); ok {
		s = rest
	}
	s, _, _ = strings.Cut(s, "/")
	if at := strings.LastIndexByte(s, '@'); at >= 0 {
		s = s[at+1:]
	}
	if h, port, ok := strings.Cut(s, ":"); ok {
		if _, err := strconv.Atoi(port); err == nil {
			return h
		}
	}
	return s
}
