package app

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// Version is set when a release is built, by the linker.
var Version = ""

func version() map[string]string {
	v, rev, changed := Version, "", false
	if bi, ok := debug.ReadBuildInfo(); ok {
		if v == "" {
			v = bi.Main.Version
		}
		for _, s := range bi.Settings {
			switch s.Key {
			case "vcs.revision":
				rev = s.Value
			case "vcs.modified":
				changed = s.Value == "true"
			}
		}
	}
	if changed {
		rev += "+changed" // the tree it was built from differs from it
	}
	if v == "" || v == "(devel)" {
		v = "devel"
	}
	return map[string]string{"version": v, "revision": rev, "go": runtime.Version(), "os": runtime.GOOS, "arch": runtime.GOARCH}
}

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{Use: "version", Short: "Print the version", RunE: func(*cobra.Command, []string) error {
		v := version()
		return a.print(v, func(w io.Writer) {
			fmt.Fprintf(w, "margay %s %s %s/%s\n", v["version"], v["go"], v["os"], v["arch"])
			if v["revision"] != "" {
				fmt.Fprintf(w, "revision %s\n", v["revision"])
			}
		})
	}}
}
