//go:build race

package connectortest

// thinnest is how many places to split are left out at least: the race
// detector makes all of them slow, and sees no more in the hundredth.
const thinnest = 9
