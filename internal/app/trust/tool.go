package trust

import (
	"context"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/margaydev/margay/internal/app/invocation"
	"github.com/margaydev/margay/internal/app/state"
	"github.com/margaydev/margay/internal/cli"
	"github.com/margaydev/margay/internal/problem"
	"github.com/margaydev/margay/mediator/places"
	"github.com/margaydev/margay/taint/effect"
)

// trustTool is the command that says what a tool does.
func (a *app) trustTool() *cobra.Command {
	var said effect.Profile
	var does string
	var forget bool
	c := &cobra.Command{
		Use: "tool NAME", Short: "Say what a tool does that no pack describes", Args: cobra.ExactArgs(1),
		Long: `Say what a tool does that no pack describes, instead of answering the question that
its first use asks. NAME is the tool's name as agents see it, such as
mcp__notes__list; with --forget also the name of a server.

A tool that only observes runs unasked, but where it is given an address that you
did not name. What a tool returns counts as strangers' words, except counts, dates,
identifiers and known states in JSON; with --own it holds your own records. What you
say of a server's tool counts as long as the server describes it as it did at first.`,
		Example: "  margay trust tool mcp__notes__list --does observe --own\n  margay trust tool mcp__notes --forget",
		RunE: a.onPlaces(func(ctx context.Context, b *places.Book, args []string) error {
			if err := mine(); err != nil {
				return err
			}
			if forget {
				return a.unsay(ctx, b, args[0])
			}
			e, err := effect.Parse(does)
			if said.Effect = e; err != nil && !said.Ask || e == effect.Administer {
				return problem.Usage("margay trust tool "+args[0]+" --does observe", "--does is observe, edit, run, persist, reach, spend or destroy; or give --ask")
			}
			if err := b.Say(ctx, places.Tool{Name: args[0], Profile: said}); err != nil {
				return err
			}
			return a.Print(&places.Tool{Name: args[0], Profile: said}, func(w io.Writer) {
				cli.Fprintf(w, "%s %s\n", invocation.Printable(args[0]), said)
			})
		}),
		ValidArgsFunction: a.CompleteFirst(func(ctx context.Context, st *state.State) ([]string, error) {
			all, err := places.New(places.Config{Store: st.Store, Keys: &st.Keys}).All(ctx)
			var out []string
			for _, p := range all {
				if p.Tool != nil && len(out) < invocation.MaxOffered {
					out = append(out, p.Tool.Name)
				}
			}
			return out, err
		}),
	}
	f := c.Flags()
	f.StringVar(&does, "does", "", "the most that it does: `effect` is observe, edit, run, persist, reach, spend or destroy")
	f.BoolVar(&said.Own, "own", false, "it returns your own records, and no words of strangers")
	f.BoolVar(&said.Open, "open", false, "an argument names what it opens: an address, a package, a repository")
	f.BoolVar(&said.Ask, "ask", false, "ask about each call")
	f.BoolVar(&forget, "forget", false, "forget what was said of it, or of all tools of a server")
	c.MarkFlagsMutuallyExclusive("does", "ask", "forget")
	var effects []string
	for _, e := range effect.All() {
		if e != effect.Administer {
			effects = append(effects, e.String())
		}
	}
	_ = c.RegisterFlagCompletionFunc("does", cobra.FixedCompletions(effects, cobra.ShellCompDirectiveNoFileComp))
	return c
}

func (a *app) unsay(ctx context.Context, b *places.Book, name string) error {
	gone, err := b.Unsay(ctx, name)
	if err != nil {
		return err
	}
	if !gone {
		return problem.Failure("margay trust tools lists them", "nothing was said of %s", name)
	}
	return a.Print(map[string]string{"forgotten": name}, func(w io.Writer) {
		cli.Fprintf(w, "forgotten: %s\n", invocation.Printable(name))
	})
}

func (a *app) listTools(ctx context.Context, b *places.Book, _ []string) error {
	all, err := b.All(ctx)
	if err != nil {
		return err
	}
	rows := a.Rows()
	for i := range all {
		if p := &all[i]; p.Tool != nil {
			if err := rows.Add(p, "%s\t%s\t%s\n", invocation.Printable(p.Tool.Name), p.Tool.Profile, p.At.Local().Format(time.DateTime)); err != nil {
				return err
			}
		}
	}
	return rows.Flush()
}
