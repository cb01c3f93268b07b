// Package evidence has the commands of the ledger and of reports.
package evidence

import (
	"github.com/spf13/cobra"

	"github.com/margaydev/margay/internal/app/invocation"
)

// app is one invocation.
type app struct{ *invocation.App }

// Commands are those of this package.
func Commands(a *invocation.App) []*cobra.Command {
	c := &app{a}
	return []*cobra.Command{c.ledgerCommand(), c.budgetCommand(), c.reportCommand()}
}
