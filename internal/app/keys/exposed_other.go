//go:build !unix

package keys

import "io/fs"

// Exposed reports whether others than its owner may do anything with a file
// or folder. Where files have no modes, the access list of the user's own
// folder, which they inherit, is what protects them.
func Exposed(fs.FileInfo) bool { return false }
