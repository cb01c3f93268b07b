package decisions

import (
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/margaydev/margay/confirm"
	"github.com/margaydev/margay/internal/app/config"
	"github.com/margaydev/margay/internal/app/invocation"
	"github.com/margaydev/margay/internal/app/mediation"
	"github.com/margaydev/margay/internal/app/state"
	"github.com/margaydev/margay/internal/cli"
	"github.com/margaydev/margay/internal/problem"
	"github.com/margaydev/margay/mediator/places"
)

// asked is a question, as it is printed.
type asked struct {
	confirm.Question
	Answer   confirm.Answer `json:"answer,omitempty"`
	By       string         `json:"answered_by,omitempty"`
	Answered time.Time      `json:"answered,omitzero"`
}

// firsts are the answers that remember what a tool does.
var firsts = []confirm.Answer{confirm.Reads, confirm.Changes, confirm.Asks}

// deskOf is the desk of an installation, without Trust.
func deskOf(st *state.State) *confirm.Desk {
	book := places.New(places.Config{Store: st.Store, Keys: &st.Keys})
	return confirm.New(confirm.Config{Store: st.Store, Sealer: &st.Keys, Say: mediation.Say(book)})
}

// trustFrom answers a question so that the folder which it offers is trusted.
func (a *app) trustFrom(ctx context.Context, id, folder string) error {
	return a.WithState(ctx, func(c *config.Config, st *state.State) error {
		book, err := mediation.Places(c, st)
		if err != nil {
			return err
		}
		desk := confirm.New(confirm.Config{Store: st.Store, Sealer: &st.Keys, Trust: mediation.Trust(book)})
		return a.reply(ctx, desk, id, confirm.Trust(folder))
	})
}

func (a *app) approveCommand() *cobra.Command {
	var all, forTrajectory bool
	var as, folder string
	list := a.OnState(func(ctx context.Context, st *state.State, _ []string) error {
		return a.listQuestions(ctx, deskOf(st), all)
	})
	c := &cobra.Command{
		Use: "approve", Short: "Answer what Margay asks about tool calls", Args: cobra.NoArgs, RunE: list,
		Long: `Answer what Margay asks about tool calls.

A call waits for a yes if it depends on text that must not influence it, or if
it would disclose what it must not. A yes is for that exact call, once; with
--trajectory it is for all later calls of the session (trajectory) that differ
only in the free arguments, or do only what the question says a yes covers.
Without an answer in time, the call is denied.

Of a tool that no pack describes, --as remembers what it does: reads (it only
reads), changes (it also changes things, spends, or tells somebody), or asks (ask
about each call). margay trust tools lists what is remembered. Of a folder that
you do not trust, --trust allows the call and trusts the folder from then on; the
question names it.`,
		Example: "  margay approve\n  margay approve show 01K00000000000000000000001\n  margay approve allow 01K00000000000000000000001",
	}
	c.PersistentFlags().BoolVar(&all, "all", false, "list answered and expired questions, too")
	allow := &cobra.Command{
		Use: "allow ID", Short: "Allow a call", Args: cobra.ExactArgs(1), ValidArgsFunction: a.CompleteFirst(a.questions),
		Example: "  margay approve allow 01K00000000000000000000001\n  margay approve allow --trajectory 01K00000000000000000000001",
		RunE: func(cmd *cobra.Command, args []string) error {
			if (as != "" || folder != "") && os.Getenv(config.EnvTrajectory) != "" {
				return problem.Failure("run it in a terminal of your own", "what tools do, and what is trusted, is not for an agent to say: this runs inside margay run")
			}
			if folder != "" {
				return a.trustFrom(cmd.Context(), args[0], folder)
			}
			answer := confirm.Once
			switch {
			case forTrajectory:
				answer = confirm.Trajectory
			case as != "":
				if answer = confirm.Answer(as); !slices.Contains(firsts, answer) {
					return problem.Usage("margay approve allow --as reads "+args[0], "--as is reads, changes or asks")
				}
			}
			return a.OnState(func(ctx context.Context, st *state.State, args []string) error {
				return a.reply(ctx, deskOf(st), args[0], answer)
			})(cmd, args)
		},
	}
	allow.Flags().StringVar(&as, "as", "", "and remember of a tool that nothing is known of: it only `reads`, it also changes, or it asks each time")
	_ = allow.RegisterFlagCompletionFunc("as", cobra.FixedCompletions([]string{"reads", "changes", "asks"}, cobra.ShellCompDirectiveNoFileComp))
	allow.Flags().BoolVar(&forTrajectory, "trajectory", false, "for the rest of the trajectory: whatever the free arguments are, and all that the question says a yes covers")
	allow.Flags().StringVar(&folder, "trust", "", "and trust the `folder` that the question offers from now on, as margay trust add does")
	allow.MarkFlagsMutuallyExclusive("as", "trajectory", "trust")
	c.AddCommand(
		&cobra.Command{Use: "list", Short: "List what waits for an answer", Args: cobra.NoArgs, RunE: list, Example: "  margay approve list --all"},
		&cobra.Command{Use: "show ID", Short: "Show a call, and what forced the question", Args: cobra.ExactArgs(1), ValidArgsFunction: a.CompleteFirst(a.questions), Example: "  margay approve show 01K00000000000000000000001", RunE: a.OnState(a.showQuestion)},
		allow,
		&cobra.Command{Use: "deny ID", Short: "Deny a call", Args: cobra.ExactArgs(1), ValidArgsFunction: a.CompleteFirst(a.questions), Example: "  margay approve deny 01K00000000000000000000001", RunE: a.OnState(func(ctx context.Context, st *state.State, args []string) error {
			return a.reply(ctx, deskOf(st), args[0], confirm.Deny)
		})},
	)
	return c
}

func (a *app) listQuestions(ctx context.Context, d *confirm.Desk, all bool) error {
	const page = 100
	rows, err := d.Rows(ctx, all, page+1)
	if err != nil {
		return problem.Unexpected(err)
	}
	if len(rows) > page { // the newest, where all are listed; fewer wait at one time
		rows = rows[len(rows)-page:]
		a.Note("older questions are not listed")
	}
	if len(rows) == 0 && !a.JSON {
		a.Note("nothing waits for an answer")
		return nil
	}
	list := a.Rows()
	for i := range rows {
		q, err := question(d, &rows[i])
		if err != nil {
			return err
		}
		err = list.Add(q, "%s\t%s\tto %s\t%s\n", q.ID, invocation.Printable(q.Call.Name), invocation.Printable(q.Sink), q.standing(time.Now()))
		if err != nil {
			return err
		}
	}
	return list.Flush()
}

func question(d *confirm.Desk, r *confirm.Row) (*asked, error) {
	q, err := d.Open(r)
	if err != nil {
		return nil, problem.Failure(problem.Doctor, "question %s: %w", r.ID, err)
	}
	return &asked{*q, r.Answer, r.By, r.Answered}, nil
}

// standing returns the answer of a question, or when it expires.
func (q *asked) standing(now time.Time) string {
	switch {
	case q.Answer != "":
		return string(q.Answer) + ", by " + q.By
	case !now.Before(q.Expires):
		return "expired: denied"
	}
	return "denied in " + q.Expires.Sub(now).Round(time.Second).String()
}

func (a *app) showQuestion(ctx context.Context, st *state.State, args []string) error {
	d := deskOf(st)
	r, err := d.Row(ctx, strings.ToUpper(args[0]))
	if err != nil {
		return unknown(err, "margay approve lists them", "no question has this id")
	}
	q, err := question(d, &r)
	if err != nil {
		return err
	}
	return a.PrintTable(q, q.write)
}

// write prints all of a question. Text in quotes is not Margay's: the model or
// an author that it read has written it.
func (q *asked) write(w io.Writer) {
	line := func(what, value string) { cli.Fprintf(w, "%s\t%s\n", what, value) }
	line("question", q.ID+", "+q.standing(time.Now()))
	line("call", invocation.Printable(q.Call.Name)+", to "+invocation.Printable(q.Sink))
	line("arguments", strconv.Quote(q.Call.Arguments))
	line("made under", q.Label)
	line("needs", q.Needs)
	if len(q.Flows) > 0 {
		line("would disclose", strings.Join(q.Flows, ", "))
	}
	if q.First != nil {
		line("first use", "nothing is known of this tool; by what it says of itself it "+q.First.Profile.String())
	}
	for i := range q.Deeds {
		line("would", q.Deeds[i].Text())
	}
	if q.Folder != "" {
		line("folder", q.Trusting())
	}
	for i := range q.Values {
		line("value", q.Values[i].Text())
	}
	for i := range q.Faults {
		f := &q.Faults[i]
		where := invocation.Printable(f.Source)
		if f.Field != "" {
			where += " " + invocation.Printable(f.Field)
		}
		line("because of", where+" "+f.Label+": "+strconv.Quote(f.Excerpt))
	}
	if len(q.Free) > 0 {
		line("free", strings.Join(q.Free, ", "))
	}
	for _, k := range q.Kinds {
		line("covers", "with --trajectory: "+invocation.Printable(k))
	}
	if q.Answer == "" && time.Now().Before(q.Expires) {
		cli.Fprintf(w, "\nmargay approve allow %[1]s\nmargay approve deny %[1]s\n", q.ID)
		if q.Grant != [32]byte{} {
			cli.Fprintf(w, "margay approve allow --trajectory %s\n", q.ID)
		}
		if q.First != nil {
			for _, a := range firsts {
				cli.Fprintf(w, "margay approve allow --as %s %s\n", a, q.ID)
			}
		}
		if q.Folder != "" {
			cli.Fprintf(w, "margay approve allow --trust %s %s\n", strconv.Quote(q.Folder), q.ID)
		}
	}
}

func (a *app) reply(ctx context.Context, d *confirm.Desk, id string, answer confirm.Answer) error {
	id = strings.ToUpper(id)
	switch err := d.Answer(ctx, id, answer, "terminal"); {
	case errors.Is(err, confirm.ErrFirst), errors.Is(err, confirm.ErrFolder):
		return problem.Usage("margay approve allow "+id, "%w", err)
	case errors.Is(err, confirm.ErrAnswered), errors.Is(err, confirm.ErrExpired):
		return problem.Failure("margay approve show "+id, "%w", err)
	case err != nil:
		return unknown(err, "margay approve lists them", "no question has this id")
	}
	return a.Print(map[string]any{"question": id, "answer": answer}, func(w io.Writer) { cli.Fprintf(w, "%s: %s\n", id, answer) })
}

// questions lists those that wait for an answer, for completion.
func (a *app) questions(ctx context.Context, st *state.State) ([]string, error) {
	d := deskOf(st)
	rows, err := d.Rows(ctx, false, invocation.MaxOffered)
	var out []string
	for i := range rows {
		q, err := question(d, &rows[i])
		if err != nil {
			return nil, err
		}
		out = append(out, q.ID+"\t"+invocation.Printable(q.Call.Name))
	}
	return out, err
}
