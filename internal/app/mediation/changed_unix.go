//go:build unix

package mediation

import (
	"time"

	"golang.org/x/sys/unix"
)

// changed is when the system last changed what it knows of a file, which programs can't
// set.
func changed(path string) (at time.Time, known bool) {
	var st unix.Stat_t
	if unix.Lstat(path, &st) != nil {
		return at, false
	}
	return time.Unix(st.Ctim.Unix()), true
}
