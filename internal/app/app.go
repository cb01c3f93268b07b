// Package app is the command line: it wires the packages together. Only
// cmd/margay imports it.
package app

import (
	"cmp"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/margaydev/margay/internal/app/config"
	"github.com/margaydev/margay/internal/app/decisions"
	"github.com/margaydev/margay/internal/app/doctor"
	"github.com/margaydev/margay/internal/app/evidence"
	"github.com/margaydev/margay/internal/app/front"
	"github.com/margaydev/margay/internal/app/invocation"
	"github.com/margaydev/margay/internal/app/policies"
	"github.com/margaydev/margay/internal/app/serve"
	"github.com/margaydev/margay/internal/app/status"
	"github.com/margaydev/margay/internal/app/trust"
	"github.com/margaydev/margay/internal/app/values"
	"github.com/margaydev/margay/internal/cli"
	"github.com/margaydev/margay/internal/problem"
)

// app is one invocation, with the commands that belong to no other package.
type app struct{ *invocation.App }

// Main runs the command line and returns the exit code.
func Main(args []string, in io.Reader, out, errw io.Writer) int {
	a := newApp()
	a.In, a.Out, a.Err, a.Args = in, out, errw, args
	return a.Execute(a.root())
}

//go:generate go test -run ^Test(Reference|API)IsUpToDate$ . ./console -update

func newApp() *app {
	return &app{&invocation.App{Command: cli.Command{Name: "margay", Hint: "margay doctor looks for what is wrong"}}}
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "margay",
		Short: "Keeps LLM agents from leaking secrets and private data",
		Long:  "Margay runs between an agent and its model, and keeps secrets from leaking in either direction.\n\nPut it in front of your agent:  margay run -- your-agent",
	}
	root.PersistentFlags().StringVar(&a.Config, "config", "", "configuration `file` (default $XDG_CONFIG_HOME/margay/config.yaml)")
	root.PersistentFlags().StringVar(&a.StateDir, "state-dir", "", "`folder` for keys and database (default $XDG_DATA_HOME/margay)")
	root.PersistentFlags().BoolVar(&a.NewState, "new-state", false, "accept that the database of these keys is lost, and start with nothing registered")
	root.AddCommand(a.doctorCommand(), a.configCommand(), a.versionCommand(), a.consoleCommand(), status.Command(a.App))
	for _, commands := range []func(*invocation.App) []*cobra.Command{
		front.Commands, decisions.Commands, evidence.Commands, policies.Commands, trust.Commands, values.Commands,
	} {
		root.AddCommand(commands(a.App)...)
	}
	for name, hint := range moved {
		root.AddCommand(a.movedCommand(name, hint))
	}
	a.Prepare(root)
	return root
}

// moved are commands of earlier versions that now live in the source, with what
// replaces them.
var moved = map[string]string{
	"bench": "in a checkout of the source, in lab: go run ./cmd/margay-lab SUITE",
	"train": "in a checkout of the source, in lab: go run ./cmd/margay-lab train",
	"demo":  "in a checkout of the source: make demo",
}

// movedCommand answers a command of an earlier version, whatever its flags.
func (a *app) movedCommand(name, hint string) *cobra.Command {
	return &cobra.Command{
		Use: name, Hidden: true, Short: "Moved: " + hint, DisableFlagParsing: true, Args: cobra.ArbitraryArgs,
		RunE: func(_ *cobra.Command, args []string) error {
			a.JSON = slices.Contains(args, "--json")
			return problem.Usage(hint, "unknown command %q for %q", name, a.Name)
		},
	}
}

func (a *app) configCommand() *cobra.Command {
	c := &cobra.Command{Use: "config", Short: "Show and check the configuration"}
	c.AddCommand(
		&cobra.Command{Use: "example", Short: "Print a commented configuration with the defaults", RunE: func(*cobra.Command, []string) error {
			return a.Print(map[string]string{"yaml": config.Example}, func(w io.Writer) { fmt.Fprint(w, config.Example) })
		}},
		&cobra.Command{Use: "path", Short: "Print where Margay looks for the configuration", RunE: func(*cobra.Command, []string) error {
			path := cmp.Or(a.ConfigPath(), config.Path())
			return a.Print(map[string]string{"path": path}, func(w io.Writer) { fmt.Fprintln(w, path) })
		}},
		&cobra.Command{
			Use: "check", Short: "Check the configuration",
			Long: "Check the configuration as margay serve does before it starts: what that would refuse is refused here, in the same words. It makes nothing, and does not ask the upstreams; margay doctor does.",
			RunE: func(cmd *cobra.Command, _ []string) error {
				c, err := a.Load(nil)
				if err != nil {
					return err
				}
				if err := serve.Check(cmd.Context(), c); err != nil {
					return err
				}
				name, up, err := c.Named("")
				if err != nil {
					return err
				}
				from := cmp.Or(c.File, "defaults and environment")
				return a.Print(map[string]any{"ok": true, "file": c.File, "upstream": name, "url": up.URL, "unknown": c.Unknown}, func(w io.Writer) {
					cli.Fprintf(w, "ok: %s (upstream %s at %s)\n", from, name, up.URL)
				})
			},
		},
	)
	return c
}

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{Use: "version", Short: "Print the version", RunE: func(*cobra.Command, []string) error {
		v := cli.Version()
		return a.Print(v, func(w io.Writer) {
			cli.Fprintf(w, "margay %s %s %s/%s\n", v["version"], v["go"], v["os"], v["arch"])
			if v["revision"] != "" {
				cli.Fprintf(w, "revision %s\n", v["revision"])
			}
		})
	}}
}

func (a *app) doctorCommand() *cobra.Command {
	o := doctor.Options{Dir: "."}
	c := &cobra.Command{
		Use: "doctor", Short: "Check configuration, keys, database, rubrics, upstreams and hooks",
		Long: "Check the configuration, the key files and their permissions, the database, the rubrics, proxies and certificates, and whether the upstreams and the MCP servers with a URL answer. It sends them no credentials, and takes any answer of HTTP; where there is none, it names the step that failed: name (DNS), TCP, proxy, TLS or HTTP. It names the hooks and the wrapped MCP servers in the files of agents, and looks whether the programs are there and margay is this program. It changes nothing. The exit code is 1 if a check fails.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := a.Load(nil)
			if err != nil {
				c = config.Default()
				c.StateDir, c.NewState = a.StateDir, a.NewState
			}
			v := cli.Version()
			version := fmt.Sprintf("margay %s, %s, %s/%s", v["version"], v["go"], v["os"], v["arch"])
			all := append(doctor.Run(cmd.Context(), c, err, o), doctor.Check{Name: "version", Status: doctor.OK, Detail: version})
			if slices.ContainsFunc(all, func(c doctor.Check) bool { return c.Status == doctor.Fail }) {
				a.Code = problem.Failed
			}
			return a.Print(all, func(w io.Writer) {
				for _, ch := range all {
					cli.Fprintf(w, "%-4s  %-14s %s\n", ch.Status, ch.Name, ch.Detail)
					if ch.Hint != "" {
						cli.Fprintf(w, "      %-14s hint: %s\n", "", ch.Hint)
					}
				}
			})
		},
	}
	c.Flags().BoolVar(&o.Offline, "offline", false, "do not ask the upstreams")
	return c
}
