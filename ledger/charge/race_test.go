//go:build race

package charge_test

// The race detector makes arithmetic many times slower, and these tests look
// for other things: it sees a part of them.
func init() { slow = 17 } // a constant of the build
