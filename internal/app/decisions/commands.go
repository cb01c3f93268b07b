// Package decisions has the commands that show decisions and answer
// questions.
package decisions

import (
	"github.com/spf13/cobra"

	"github.com/margaydev/margay/internal/app/invocation"
)

// app is one invocation.
type app struct{ *invocation.App }

// Commands are those of this package.
func Commands(a *invocation.App) []*cobra.Command {
	c := &app{a}
	return []*cobra.Command{c.logCommand(), c.explainCommand(), c.approveCommand(), c.allowCommand()}
}
