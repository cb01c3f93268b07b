//go:build !unix

package front

import "os"

// hangups are the signals that ask for the configuration to be read again: none.
func hangups() (<-chan os.Signal, func()) { return nil, func() {} }
