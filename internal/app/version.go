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
	v, rev := Version, ""
	if bi, ok := debug.ReadBuildInfo(); ok {
		if v == "" {
			v = bi.Main.Version
		}
		for _, s := range bi.Settings {
			if s.Key == "vcs.revision" {
				rev = s.Value
			}
		}
	}
	if v == "" || v == "(devel)" {
		v = "devel"
	}
	return map[string]string{"version": v, "revision": rev, "go": runtime.Version(), "os": runtime.GOOS, "arch": runtime.GOARCH}
}

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{Use: "version", Short: "Print the version", RunE: func(*cobra.Command, []string) error {
		v := version()
		return a.print(v, func(w io.Writer) { fmt.Fprintf(w, "margay %s %s %s/%s\n", v["version"], v["go"], v["os"], v["arch"]) })
	}}
}
