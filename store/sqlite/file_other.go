//go:build !unix

package sqlite

import "io/fs"

// Where there are neither owners nor modes, the folder's access list is what
// protects the file.

func ours(fs.FileInfo) bool { return true }

func openToOthers(fs.FileInfo) bool { return false }
