// Package decisions has the commands that show decisions and answer
// questions.
package decisions

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/margaydev/margay/confirm"
	"github.com/margaydev/margay/internal/app/invocation"
	"github.com/margaydev/margay/internal/problem"
	"github.com/margaydev/margay/secret"
)

// app is one invocation.
type app struct{ *invocation.App }

// Commands are those of this package.
func Commands(a *invocation.App) []*cobra.Command {
	c := &app{a}
	return []*cobra.Command{c.logCommand(), c.explainCommand(), c.approveCommand(), c.allowCommand()}
}

// unknown is the problem with an id that was looked up.
func unknown(err error, hint, detail string) error {
	if errors.Is(err, secret.ErrNotFound) || errors.Is(err, confirm.ErrNotFound) {
		return problem.Failure(hint, "%s", detail)
	}
	return problem.Unexpected(err)
}
