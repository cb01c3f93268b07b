// Package worlds holds the worlds of the benchmarks traj and robust that come
// with the repository, as files in the format of docs/format/world.md. The
// package lab/traj/world reads them.
package worlds

import (
	"embed"
	"io/fs"
)

//go:embed dev
var files embed.FS

// Dev is the world that defences and adversaries are developed on.
func Dev() fs.FS {
	sub, err := fs.Sub(files, "dev")
	if err != nil {
		panic(err) // the folder is embedded
	}
	return sub
}
