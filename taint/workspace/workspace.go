// Package workspace says to whom the places of a file system belong: to a
// folder that the user trusts, to others whose files lie in it, to nobody in
// particular, or to programs that will act on them later.
//
// It knows paths and opens no file. Paths are compared as they are written:
// links are not followed.
package workspace

// Zone is what a path is.
type Zone uint8

// Zones.
const (
	// Outside every trusted workspace, or not to be told.
	Outside Zone = iota
	// Own is a file of a trusted workspace.
	Own
	// Foreign is a file in a trusted workspace that others wrote: packages
	// that were installed, fetched branches, files that were written under the
	// influence of strangers.
	Foreign
	// Steering is a file that tells agents, shells, builds or machines what to
	// do later: hooks, CI, start-up files, instructions. To write it persists.
	Steering
	// Scratch is for files that nobody relies on, such as those in /tmp.
	Scratch
	// System is a folder of the machine's own programs and settings, or a
	// device that reads and writes nothing.
	System
	// Mediator is Margay's own configuration and state.
	Mediator
)

func (z Zone) String() string {
	return [...]string{"outside", "own", "foreign", "steering", "scratch", "system", "mediator"}[z]
}
