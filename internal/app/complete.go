package app

import (
	"maps"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/margaydev/margay/internal/config"
)

// complete offers values of a flag to the shell.
func complete(c *cobra.Command, flag string, values func() []string) {
	err := c.RegisterFlagCompletionFunc(flag, func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return values(), cobra.ShellCompDirectiveNoFileComp
	})
	if err != nil {
		panic(err) // the flag is not there
	}
}

// upstreams names those of the configuration.
func (a *app) upstreams() []string {
	path := a.config
	if path == "" {
		path = os.Getenv(config.EnvConfig)
	}
	c, err := config.Load(path, os.Environ(), nil)
	if err != nil {
		return nil // the command itself says what is wrong
	}
	return slices.Sorted(maps.Keys(c.Upstreams))
}
