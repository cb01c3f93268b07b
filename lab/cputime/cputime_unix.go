//go:build unix

package cputime

import (
	"syscall"
	"time"
)

// Used returns what the process has used of all cores, 0 where the system does not tell.
func Used() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
