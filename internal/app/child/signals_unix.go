//go:build unix

package child

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// forwarded are the signals that are passed on to the agent.
var forwarded = []os.Signal{
	syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGUSR1, syscall.SIGUSR2,
}

// fromTerminal reports whether a key on the terminal makes this signal: then
// the whole foreground process group gets it.
func fromTerminal(sig os.Signal) bool { return sig == syscall.SIGINT || sig == syscall.SIGQUIT }

// inForeground reports whether this process belongs to the foreground group
// of its terminal.
func inForeground() bool {
	tty, err := os.Open("/dev/tty")
	if err != nil {
		return false
	}
	defer tty.Close()
	group, err := unix.IoctlGetInt(int(tty.Fd()), unix.TIOCGPGRP) //nolint:gosec // file descriptors are small
	return err == nil && group == unix.Getpgrp()
}
