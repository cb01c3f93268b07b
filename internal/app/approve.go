package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/margaydev/margay/confirm"
	"github.com/margaydev/margay/internal/config"
	"github.com/margaydev/margay/internal/problem"
	"github.com/margaydev/margay/internal/state"
)

// asked is a question, as it is printed.
type asked struct {
	confirm.Question
	Answer   confirm.Answer `json:"answer,omitempty"`
	By       string         `json:"answered_by,omitempty"`
	Answered time.Time      `json:"answered,omitzero"`
}

// asksAbout tells the terminal that a call waits for an answer.
func (a *app) asksAbout(quiet bool) func(*confirm.Question) {
	if quiet {
		return nil
	}
	return func(q *confirm.Question) {
		a.note("the call of %s waits for your answer until %s: margay approve show %s", printable(q.Call.Name), q.Expires.Local().Format(time.TimeOnly), q.ID)
	}
}

// asking runs f with the desk of an installation.
func (a *app) asking(ctx context.Context, f func(*confirm.Desk) error) error {
	return a.withState(ctx, func(_ *config.Config, st *state.State) error {
		return f(confirm.New(confirm.Config{Store: st.Store, Sealer: &st.Keys}))
	})
}

func (a *app) approveCommand() *cobra.Command {
	var all, forTrajectory bool
	list := func(cmd *cobra.Command, _ []string) error {
		return a.asking(cmd.Context(), func(d *confirm.Desk) error { return a.listQuestions(cmd.Context(), d, all) })
	}
	c := &cobra.Command{
		Use: "approve", Short: "Answer what Margay asks about tool calls", Args: cobra.NoArgs, RunE: list,
		Long: `Answer what Margay asks about tool calls.

A call that follows from what it must not, or that would tell what it must not,
waits for a yes. A yes is for that exact call, once; with --trajectory for all
later calls of the trajectory that differ in the free arguments alone. Without
an answer in time the call is denied.`,
		Example: "  margay approve\n  margay approve show 01K00000000000000000000001\n  margay approve allow 01K00000000000000000000001",
	}
	c.PersistentFlags().BoolVar(&all, "all", false, "list answered and expired questions, too")
	allow := &cobra.Command{
		Use: "allow ID", Short: "Let a call be made", Args: cobra.ExactArgs(1), ValidArgsFunction: a.completeFirst(a.questions),
		Example: "  margay approve allow 01K00000000000000000000001\n  margay approve allow --trajectory 01K00000000000000000000001",
		RunE: func(cmd *cobra.Command, args []string) error {
			answer := confirm.Once
			if forTrajectory {
				answer = confirm.Trajectory
			}
			return a.reply(cmd.Context(), args[0], answer)
		},
	}
	allow.Flags().BoolVar(&forTrajectory, "trajectory", false, "for the rest of the trajectory, whatever the free arguments are")
	c.AddCommand(
		&cobra.Command{Use: "list", Short: "List what waits for an answer", Args: cobra.NoArgs, RunE: list, Example: "  margay approve list --all"},
		&cobra.Command{Use: "show ID", Short: "Show a call, and what forced the question", Args: cobra.ExactArgs(1), ValidArgsFunction: a.completeFirst(a.questions), Example: "  margay approve show 01K00000000000000000000001", RunE: func(cmd *cobra.Command, args []string) error {
			return a.asking(cmd.Context(), func(d *confirm.Desk) error { return a.showQuestion(cmd.Context(), d, args[0]) })
		}},
		allow,
		&cobra.Command{Use: "deny ID", Short: "Have a call denied", Args: cobra.ExactArgs(1), ValidArgsFunction: a.completeFirst(a.questions), Example: "  margay approve deny 01K00000000000000000000001", RunE: func(cmd *cobra.Command, args []string) error {
			return a.reply(cmd.Context(), args[0], confirm.Deny)
		}},
	)
	return c
}

func (a *app) listQuestions(ctx context.Context, d *confirm.Desk, all bool) error {
	const page = 100
	rows, err := d.Rows(ctx, all, page+1)
	if err != nil {
		return failure(problem.Doctor, "%w", err)
	}
	if len(rows) > page { // the newest, where all are listed; fewer wait at one time
		rows = rows[len(rows)-page:]
		a.note("older questions are not listed")
	}
	if len(rows) == 0 && !a.json {
		a.note("nothing waits for an answer")
		return nil
	}
	tw := tabwriter.NewWriter(a.out, 0, 8, 2, ' ', 0)
	for i := range rows {
		q, err := question(d, &rows[i])
		if err != nil {
			return err
		}
		if a.json {
			if err := a.print(q, nil); err != nil {
				return err
			}
			continue
		}
		fmt.Fprintf(tw, "%s\t%s\tto %s\t%s\n", q.ID, printable(q.Call.Name), printable(q.Sink), q.standing(time.Now()))
	}
	return tw.Flush()
}

func question(d *confirm.Desk, r *confirm.Row) (*asked, error) {
	q, err := d.Open(r)
	if err != nil {
		return nil, failure(problem.Doctor, "question %s: %w", r.ID, err)
	}
	return &asked{*q, r.Answer, r.By, r.Answered}, nil
}

// standing says what becomes of a question.
func (q *asked) standing(now time.Time) string {
	switch {
	case q.Answer != "":
		return string(q.Answer) + ", by " + q.By
	case !now.Before(q.Expires):
		return "expired: denied"
	}
	return "denied in " + q.Expires.Sub(now).Round(time.Second).String()
}

func (a *app) showQuestion(ctx context.Context, d *confirm.Desk, id string) error {
	r, err := d.Row(ctx, strings.ToUpper(id))
	if errors.Is(err, confirm.ErrNotFound) {
		return failure("margay approve lists them", "no question has this id")
	}
	if err != nil {
		return failure(problem.Doctor, "%w", err)
	}
	q, err := question(d, &r)
	if err != nil {
		return err
	}
	return a.print(q, func(w io.Writer) { q.write(w) })
}

// write tells all of a question. What stands in quotes was written by the
// model or by whoever it read: it is no word of Margay's.
func (q *asked) write(w io.Writer) {
	tw := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	line := func(what, value string) { fmt.Fprintf(tw, "%s\t%s\n", what, value) }
	line("question", q.ID+", "+q.standing(time.Now()))
	line("call", printable(q.Call.Name)+", to "+printable(q.Sink))
	line("arguments", strconv.Quote(q.Call.Arguments))
	line("made under", q.Label)
	line("needs", q.Needs)
	if len(q.Flows) > 0 {
		line("would tell", strings.Join(q.Flows, ", "))
	}
	for i := range q.Faults {
		f := &q.Faults[i]
		where := printable(f.Source)
		if f.Field != "" {
			where += " " + printable(f.Field)
		}
		line("because of", where+" "+f.Label+": "+strconv.Quote(f.Excerpt))
	}
	if len(q.Free) > 0 {
		line("free", strings.Join(q.Free, ", "))
	}
	_ = tw.Flush()
	if q.Answer == "" && time.Now().Before(q.Expires) {
		fmt.Fprintf(w, "\nmargay approve allow %[1]s\nmargay approve deny %[1]s\n", q.ID)
		if q.Grant != [32]byte{} {
			fmt.Fprintf(w, "margay approve allow --trajectory %s\n", q.ID)
		}
	}
}

// printable is a name that somebody else chose: quoted unless it is plain.
func printable(s string) string {
	if q := strconv.Quote(s); q != `"`+s+`"` || s == "" || strings.ContainsAny(s, " \t") {
		return q
	}
	return s
}

func (a *app) reply(ctx context.Context, id string, answer confirm.Answer) error {
	id = strings.ToUpper(id)
	return a.asking(ctx, func(d *confirm.Desk) error {
		switch err := d.Answer(ctx, id, answer, "terminal"); {
		case errors.Is(err, confirm.ErrNotFound):
			return failure("margay approve lists them", "no question has this id")
		case errors.Is(err, confirm.ErrAnswered), errors.Is(err, confirm.ErrExpired):
			return failure("margay approve show "+id, "%w", err)
		case err != nil:
			return failure(problem.Doctor, "%w", err)
		}
		return a.print(map[string]any{"question": id, "answer": answer}, func(w io.Writer) { fmt.Fprintf(w, "%s: %s\n", id, answer) })
	})
}
