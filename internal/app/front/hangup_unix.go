//go:build unix

package front

import (
	"os"
	"os/signal"
	"syscall"
)

// hangups are the signals that ask for the configuration to be read again.
func hangups() (<-chan os.Signal, func()) {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGHUP)
	return c, func() { signal.Stop(c) }
}
