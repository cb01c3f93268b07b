package table

import (
	"slices"
	"strings"
)

// Device reports whether a path is a device that keeps nothing.
func Device(full string) bool {
	return slices.Contains([]string{"/dev/null", "/dev/zero", "/dev/full", "/dev/stdout", "/dev/stderr", "/dev/tty", "/dev/stdin"}, full) || strings.HasPrefix(full, "/dev/fd/")
}

// ToolFolder reports whether programs are installed in a folder by the user's own
// tools.
func ToolFolder(full string) bool {
	return strings.Contains(full, "/go/bin/") || strings.Contains(full, "/.cargo/bin/") || strings.Contains(full, "/.local/bin/") || strings.Contains(full, "/shims/") || strings.Contains(full, "/homebrew/bin/")
}
