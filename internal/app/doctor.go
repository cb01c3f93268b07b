package app

import (
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/margaydev/margay/internal/config"
	"github.com/margaydev/margay/internal/doctor"
)

func (a *app) doctorCommand() *cobra.Command {
	o := doctor.Options{Dir: "."}
	c := &cobra.Command{
		Use: "doctor", Short: "Check configuration, keys, database, rubrics and upstreams",
		Long: "Check the configuration, the key files and their permissions, the database, the rubrics, proxies and certificates, and whether the upstreams answer. It changes nothing. The exit code is 1 where a check fails.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := a.load(nil)
			if err != nil {
				c = config.Default()
				c.StateDir = a.stateDir
			}
			v := version()
			all := append(append(doctor.Run(cmd.Context(), c, err, o), checkReleases(cmd.Context(), c)...), doctor.Check{
				Name: "version", Status: doctor.OK, Detail: fmt.Sprintf("margay %s, %s, %s/%s", v["version"], v["go"], v["os"], v["arch"]),
			})
			if slices.ContainsFunc(all, func(c doctor.Check) bool { return c.Status == doctor.Fail }) {
				a.code = exitFailed
			}
			return a.print(all, func(w io.Writer) {
				for _, ch := range all {
					fmt.Fprintf(w, "%-4s  %-14s %s\n", ch.Status, ch.Name, ch.Detail)
					if ch.Hint != "" {
						fmt.Fprintf(w, "      %-14s hint: %s\n", "", ch.Hint)
					}
				}
			})
		},
	}
	c.Flags().BoolVar(&o.Offline, "offline", false, "do not ask the upstreams")
	return c
}
