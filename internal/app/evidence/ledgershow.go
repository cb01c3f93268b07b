package evidence

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/app/invocation"
	"github.com/margaydev/margay/internal/app/report"
	"github.com/margaydev/margay/internal/app/state"
	"github.com/margaydev/margay/internal/cli"
	"github.com/margaydev/margay/internal/problem"
	"github.com/margaydev/margay/ledger"
	"github.com/margaydev/margay/ledger/charge"
)

// entryPage is how many entries or decisions are read at once.
const entryPage = 1000

// entryView is an entry for --json. Amounts are in millionths of a bit.
type entryView struct {
	Family     flow.TrajectoryID  `json:"family"`
	Number     uint64             `json:"number"`
	Trajectory flow.TrajectoryID  `json:"trajectory"`
	Hash       string             `json:"hash"`
	Prev       string             `json:"prev"`
	At         time.Time          `json:"at"`
	Channel    flow.Channel       `json:"channel"`
	Sink       string             `json:"sink"`
	Class      string             `json:"class"`
	Rubrics    []string           `json:"rubrics"`
	Variant    string             `json:"variant"`
	Atoms      []atomView         `json:"atoms"`
	Charge     flow.Bits          `json:"charge"`
	Total      flow.Bits          `json:"total"`
	B          flow.Bits          `json:"budget"`
	Sums       map[string]classed `json:"sums"`
	Weights    map[string]int64   `json:"weights"` // in thousandths
	Screened   *screenedView      `json:"screened,omitempty"`
	Models     map[string]string  `json:"models,omitempty"`
	Decision   string             `json:"decision,omitempty"`
	Outcome    flow.Outcome       `json:"outcome"`
	Answer     string             `json:"answer,omitempty"`
}

// screenedView is what text that passed by a model's judgement is charged: empirical,
// and in no other sum.
type screenedView struct {
	Charge flow.Bits `json:"charge"` // of the release
	Total  flow.Bits `json:"total"`  // of the family
	Cap    flow.Bits `json:"cap"`
}

type atomView struct {
	Field    string               `json:"field"`
	Operator string               `json:"operator"`
	Value    string               `json:"value"`
	Cost     flow.Bits            `json:"cost"`
	After    map[string]flow.Bits `json:"after"`
}

func viewOf(e *charge.Entry) *entryView {
	v := &entryView{
		Family: e.Family, Number: e.Seq, Trajectory: e.Trajectory, Hash: e.Hash().String(), Prev: e.Prev.String(), At: e.At, Channel: e.Channel,
		Sink: e.Sink, Class: e.Class.String(), Variant: e.Variant.String(), Atoms: []atomView{}, Charge: e.Charge, Total: e.Total, B: e.Limits.B,
		Sums: sums(e.Caps, e.Limits.Cap), Weights: byClass(e.Limits.Lambda), Decision: e.Decision, Outcome: e.Outcome, Answer: e.Answer,
	}
	if e.Limits.Screened > 0 {
		v.Screened = &screenedView{e.Screened, e.Doubt, e.Limits.Screened}
	}
	for _, h := range e.Rubrics {
		v.Rubrics = append(v.Rubrics, h.String())
	}
	for i := range e.Atoms {
		a := &e.Atoms[i]
		v.Atoms = append(v.Atoms, atomView{a.Field, operator(a), a.Value.String(), a.Cost, byClass(a.After)})
	}
	for _, m := range e.Models {
		if v.Models == nil {
			v.Models = map[string]string{}
		}
		v.Models[m.Name] = m.Version
	}
	return v
}

// byClass names the amounts of classes.
func byClass[T any](of [charge.Classes]T) map[string]T {
	out := map[string]T{}
	for c := flow.RequiredService; c <= flow.Adversarial; c++ {
		out[c.String()] = of[c]
	}
	return out
}

func operator(a *charge.Atom) string {
	switch a.Op {
	case charge.Generalize:
		return fmt.Sprintf("generalize(%d)", a.Level)
	case charge.Substitute:
		return "substitute(" + invocation.Printable(a.Template) + ")"
	}
	return a.Op.String()
}

// write prints all of an entry.
func (v *entryView) write(w io.Writer) {
	line := func(what, value string) {
		if value != "" {
			cli.Fprintf(w, "%s\t%s\n", what, value)
		}
	}
	line("entry", fmt.Sprintf("%d of family %s", v.Number, v.Family))
	line("trajectory", string(v.Trajectory))
	line("made", v.At.Format(time.RFC3339Nano))
	line("outcome", string(v.Outcome))
	line("decision", v.Decision)
	line("answer", v.Answer)
	line("to", fmt.Sprintf("%s %s (%s)", v.Channel, invocation.Printable(v.Sink), v.Class))
	for _, r := range v.Rubrics {
		line("rubric", r)
	}
	line("variant", v.Variant)
	for i := range v.Atoms {
		a := &v.Atoms[i]
		cli.Fprintf(w, "atom\t%s\t%s\t%s\tvalue %s\n", invocation.Printable(a.Field), a.Operator, a.Cost, a.Value[:12])
	}
	line("charge", v.Charge.String())
	line("total", fmt.Sprintf("%s of %s", v.Total, v.B))
	for c := flow.RequiredService; c <= flow.Adversarial; c++ {
		name := c.String()
		cli.Fprintf(w, "cap\t%s\t%s of %s\tweight %d.%03d\n", name, v.Sums[name].Learnt, v.Sums[name].Cap, v.Weights[name]/1000, v.Weights[name]%1000)
	}
	if s := v.Screened; s != nil {
		line("screened", fmt.Sprintf("%s (empirical), %s of %s in all", s.Charge, s.Total, s.Cap))
	}
	for _, name := range slices.Sorted(maps.Keys(v.Models)) {
		line("model", invocation.Printable(name)+" "+invocation.Printable(v.Models[name]))
	}
	line("hash", v.Hash)
	line("follows", v.Prev)
}

// familyOf finds the family of a trajectory: the one with its id, or else the one
// whose entries name it.
func familyOf(ctx context.Context, s ledger.Store, id string) (flow.TrajectoryID, error) {
	for _, name := range []string{id, strings.ToUpper(id)} {
		got, err := s.Entries(ctx, flow.TrajectoryID(name), 0, 1)
		if err != nil {
			return "", problem.Unexpected(err)
		}
		if len(got) > 0 {
			return flow.TrajectoryID(name), nil
		}
	}
	for h, err := range s.Heads(ctx) {
		for seq := uint64(0); err == nil && seq < h.Seq; {
			var got []charge.Stored
			if got, err = s.Entries(ctx, h.Family, seq, entryPage); len(got) == 0 {
				break
			}
			for i := range got {
				if e, err := charge.Decode(got[i].Bytes); err == nil && strings.EqualFold(string(e.Trajectory), id) {
					return h.Family, nil
				}
				seq++
			}
		}
		if err != nil {
			return "", problem.Unexpected(err)
		}
	}
	return "", problem.Failure("margay ledger list lists the families", "the ledger has nothing of trajectory %s", invocation.Printable(id))
}

var errShown = errors.New("shown")

func (a *app) showLedger(ctx context.Context, s ledger.Store, b *ledger.Book, id string, number uint64) error {
	family, err := familyOf(ctx, s, id)
	if err != nil {
		return err
	}
	st, err := b.Replay(ctx, family, func(_ *charge.State, e *charge.Entry) error {
		v := viewOf(e)
		switch {
		case number == 0:
			return a.Print(v, func(w io.Writer) {
				cli.Fprintf(w, "%d  %s  %s  %s %s (%s)  %s, %s of %s\n", v.Number, v.At.Format(time.DateTime), v.Outcome, v.Channel, invocation.Printable(v.Sink), v.Class, v.Charge, v.Total, v.B)
				for i := range v.Atoms {
					cli.Fprintf(w, "     %s %s  %s\n", invocation.Printable(v.Atoms[i].Field), v.Atoms[i].Operator, v.Atoms[i].Cost)
				}
			})
		case number == e.Seq:
			return errors.Join(a.PrintTable(v, v.write), errShown)
		}
		return nil
	})
	switch {
	case errors.Is(err, errShown):
		return nil
	case err != nil:
		return problem.Failure(ledgerHint, "%w", err)
	case number > st.Seq:
		return problem.Failure("margay ledger show "+string(family)+" shows them", "family %s has %s", family, invocation.Count(st.Seq, "entry"))
	}
	return nil
}

func (a *app) budgetCommand() *cobra.Command {
	return &cobra.Command{
		Use: "budget TRAJECTORY", Short: "Show what a session has disclosed, and what it may still disclose", Args: cobra.ExactArgs(1),
		Long: `Show what a session has disclosed, and what it may still disclose: all bits, weighted;
what recipients of each class or worse learnt, and their caps; and by field.
All sessions of one run share one budget.`,
		ValidArgsFunction: a.CompleteFirst(a.families),
		Example:           "  margay budget 01K00000000000000000000001",
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withLedger(cmd.Context(), func(st *state.State, b *ledger.Book) error {
				family, err := familyOf(cmd.Context(), st.Store, args[0])
				if err != nil {
					return err
				}
				v, err := budgetOf(cmd.Context(), b, family)
				if err != nil {
					return problem.Failure(ledgerHint, "%w", err)
				}
				return a.PrintTable(v, v.write)
			})
		},
	}
}

// budget is what a family has spent. Amounts are in millionths of a bit.
type budget struct {
	Family       flow.TrajectoryID   `json:"family"`
	Trajectories []flow.TrajectoryID `json:"trajectories"`
	Entries      uint64              `json:"entries"`
	Total        flow.Bits           `json:"total"`
	B            flow.Bits           `json:"budget"`
	Left         flow.Bits           `json:"left"`
	Sums         map[string]classed  `json:"sums"`
	Fields       []fieldBudget       `json:"fields"` // the greatest charge first
	Screened     *screenedView       `json:"screened,omitempty"`
}

// fieldBudget is the part of one field, and what sinks of a class or worse
// learnt of it.
type fieldBudget struct {
	report.FieldBudget
	Learnt map[string]flow.Bits `json:"learnt"`
}

func budgetOf(ctx context.Context, b *ledger.Book, family flow.TrajectoryID) (*budget, error) {
	v := &budget{Family: family, Fields: []fieldBudget{}}
	fields := report.Fields{}
	s, err := b.Replay(ctx, family, func(before *charge.State, e *charge.Entry) error {
		if !slices.Contains(v.Trajectories, e.Trajectory) && len(v.Trajectories) < entryPage {
			v.Trajectories = append(v.Trajectories, e.Trajectory)
		}
		fields.Add(before, e)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if s.Limits.Screened > 0 {
		v.Screened = &screenedView{Total: s.Doubt, Cap: s.Limits.Screened}
	}
	v.Entries, v.Total, v.B, v.Left, v.Sums = s.Seq, s.Total, s.Limits.B, s.Limits.B-s.Total, sums(s.Caps, s.Limits.Cap)
	for _, f := range fields.Budgets() {
		v.Fields = append(v.Fields, fieldBudget{f, byClass(fields[f.Field].Learnt)})
	}
	return v, nil
}

func (v *budget) write(w io.Writer) {
	cli.Fprintf(w, "family\t%s, %s\n", v.Family, invocation.Count(v.Entries, "entry"))
	cli.Fprintf(w, "spent\t%s of %s, weighted; %s left\n", v.Total, v.B, v.Left)
	fmt.Fprint(w, "\nsinks of this class or worse\tlearnt\tcap\n")
	for c := flow.RequiredService; c <= flow.Adversarial; c++ {
		s := v.Sums[c.String()]
		cli.Fprintf(w, "%s\t%s\t%s\n", c, s.Learnt, s.Cap)
	}
	if s := v.Screened; s != nil {
		cli.Fprintf(w, "text that a model screened\t%s\t%s\n", s.Total, s.Cap)
	}
	fmt.Fprint(w, "\nfield\tvalues\tspent\tlearnt by any\tby curious\tby adversarial\n")
	for i := range v.Fields {
		f := &v.Fields[i]
		cli.Fprintf(w, "%s\t%d\t%s\t%s\t%s\t%s\n", invocation.Printable(f.Field), f.Values, f.Charge,
			f.Learnt[flow.RequiredService.String()], f.Learnt[flow.SemiTrusted.String()], f.Learnt[flow.Adversarial.String()])
	}
}
