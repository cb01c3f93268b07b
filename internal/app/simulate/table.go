package simulate

import (
	"fmt"
	"io"

	"github.com/margaydev/margay/internal/app/invocation"
	"github.com/margaydev/margay/internal/cli"
)

func (c *compared) write(w io.Writer) {
	cli.Fprintf(w, "before: %s\nafter:  %s\n%s, %s; no step is made again\n\n", c.Before.Config, c.After.Config, invocation.Count(c.Sessions, "session"), invocation.Count(c.Calls, "call"))
	cli.Fprintf(w, "tool\tasked because of\tbefore\tafter\tdifference\n")
	row := func(tool, why string, before, after int) {
		sign := "="
		if before != after {
			sign = fmt.Sprintf("%+d", after-before)
		}
		cli.Fprintf(w, "%s\t%s\t%d\t%d\t%s\n", tool, why, before, after, sign)
	}
	for i := range c.Changes {
		r := &c.Changes[i]
		row(invocation.Printable(r.Tool), r.Reason, r.Before, r.After)
	}
	row("calls asked about", "", c.Before.Asked, c.After.Asked)
	row("calls denied", "", c.Before.Denied, c.After.Denied)
	row("sessions with questions", "", c.Before.Sessions, c.After.Sessions)
}
