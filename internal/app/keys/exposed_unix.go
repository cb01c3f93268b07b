//go:build unix

package keys

import "io/fs"

// Exposed reports whether others than its owner may do anything with a file
// or folder.
func Exposed(fi fs.FileInfo) bool { return fi.Mode().Perm()&0o077 != 0 }
