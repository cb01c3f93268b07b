//go:build !unix

package child

import "os"

// forwarded are the signals that are passed on to the agent.
var forwarded = []os.Signal{os.Interrupt}

// fromTerminal reports whether the agent gets the signal by itself.
func fromTerminal(os.Signal) bool { return true }

// inForeground reports whether this process shares its console.
func inForeground() bool { return true }
