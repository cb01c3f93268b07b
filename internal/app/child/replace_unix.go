//go:build unix

package child

import "syscall"

// replace puts a program in the place of this process.
func replace(path string, args, environ []string) error {
	return syscall.Exec(path, args, environ) //nolint:gosec // the user's own command
}
