//go:build unix

package sqlite

import (
	"io/fs"
	"os"
	"syscall"
)

// ours reports whether the file belongs to the user that this process acts as.
func ours(fi fs.FileInfo) bool {
	st, ok := fi.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Geteuid()
}

func openToOthers(fi fs.FileInfo) bool { return fi.Mode().Perm()&0o077 != 0 }
