package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/config"
	"github.com/margaydev/margay/internal/problem"
	"github.com/margaydev/margay/internal/state"
	"github.com/margaydev/margay/ledger"
)

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
	Models     map[string]string  `json:"models,omitempty"`
	Decision   string             `json:"decision,omitempty"`
	Outcome    flow.Outcome       `json:"outcome"`
	Answer     string             `json:"answer,omitempty"`
}

type atomView struct {
	Field    string               `json:"field"`
	Operator string               `json:"operator"`
	Value    string               `json:"value"`
	Cost     flow.Bits            `json:"cost"`
	After    map[string]flow.Bits `json:"after"`
}

func viewOf(e *ledger.Entry) *entryView {
	v := &entryView{
		Family: e.Family, Number: e.Seq, Trajectory: e.Trajectory, Hash: e.Hash().String(), Prev: e.Prev.String(), At: e.At, Channel: e.Channel,
		Sink: e.Sink, Class: e.Class.String(), Variant: e.Variant.String(), Atoms: []atomView{}, Charge: e.Charge, Total: e.Total, B: e.Limits.B,
		Sums: sums(e.Caps, e.Limits.Cap), Weights: map[string]int64{}, Decision: e.Decision, Outcome: e.Outcome, Answer: e.Answer,
	}
	for _, h := range e.Rubrics {
		v.Rubrics = append(v.Rubrics, h.String())
	}
	for i := range e.Atoms {
		a := &e.Atoms[i]
		out := atomView{a.Field, operator(a), a.Value.String(), a.Cost, map[string]flow.Bits{}}
		for c := flow.RequiredService; c <= flow.Adversarial; c++ {
			out.After[c.String()] = a.After[c]
		}
		v.Atoms = append(v.Atoms, out)
	}
	for c := flow.RequiredService; c <= flow.Adversarial; c++ {
		v.Weights[c.String()] = e.Limits.Lambda[c]
	}
	for _, m := range e.Models {
		if v.Models == nil {
			v.Models = map[string]string{}
		}
		v.Models[m.Name] = m.Version
	}
	return v
}

func operator(a *ledger.Atom) string {
	switch a.Op {
	case ledger.Generalize:
		return fmt.Sprintf("generalize(%d)", a.Level)
	case ledger.Substitute:
		return "substitute(" + printable(a.Template) + ")"
	}
	return a.Op.String()
}

// write tells all of an entry.
func (v *entryView) write(w io.Writer) {
	tw := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	line := func(what, value string) {
		if value != "" {
			fmt.Fprintf(tw, "%s\t%s\n", what, value)
		}
	}
	line("entry", fmt.Sprintf("%d of family %s", v.Number, v.Family))
	line("trajectory", string(v.Trajectory))
	line("made", v.At.Format(time.RFC3339Nano))
	line("outcome", string(v.Outcome))
	line("decision", v.Decision)
	line("answer", v.Answer)
	line("to", fmt.Sprintf("%s %s (%s)", v.Channel, printable(v.Sink), v.Class))
	for _, r := range v.Rubrics {
		line("rubric", r)
	}
	line("variant", v.Variant)
	for i := range v.Atoms {
		a := &v.Atoms[i]
		line("atom", fmt.Sprintf("%s\t%s\t%s\tvalue %s", printable(a.Field), a.Operator, a.Cost, a.Value[:12]))
	}
	line("charge", v.Charge.String())
	line("total", fmt.Sprintf("%s of %s", v.Total, v.B))
	for c := flow.RequiredService; c <= flow.Adversarial; c++ {
		name := c.String()
		line("cap", fmt.Sprintf("%s\t%s of %s\tweight %d.%03d", name, v.Sums[name].Learnt, v.Sums[name].Cap, v.Weights[name]/1000, v.Weights[name]%1000))
	}
	for _, name := range slices.Sorted(maps.Keys(v.Models)) {
		line("model", printable(name)+" "+printable(v.Models[name]))
	}
	line("hash", v.Hash)
	line("follows", v.Prev)
	_ = tw.Flush()
}

// familyOf finds the family of a trajectory: its own, or that whose entries
// name it.
func familyOf(ctx context.Context, s ledger.Store, id string) (flow.TrajectoryID, error) {
	for _, name := range []string{id, strings.ToUpper(id)} {
		got, err := s.Entries(ctx, flow.TrajectoryID(name), 0, 1)
		if err != nil {
			return "", failure(problem.Doctor, "%w", err)
		}
		if len(got) > 0 {
			return flow.TrajectoryID(name), nil
		}
	}
	for h, err := range s.Heads(ctx) {
		for seq := uint64(0); err == nil && seq < h.Seq; {
			var got []ledger.Stored
			if got, err = s.Entries(ctx, h.Family, seq, logPage); len(got) == 0 {
				break
			}
			for i := range got {
				if e, err := ledger.Decode(got[i].Bytes); err == nil && strings.EqualFold(string(e.Trajectory), id) {
					return h.Family, nil
				}
				seq++
			}
		}
		if err != nil {
			return "", failure(problem.Doctor, "%w", err)
		}
	}
	return "", failure("margay ledger list shows what is there", "nothing of trajectory %s is in the ledger", printable(id))
}

var errShown = errors.New("shown")

func (a *app) showLedger(ctx context.Context, s ledger.Store, b *ledger.Book, id string, number uint64) error {
	family, err := familyOf(ctx, s, id)
	if err != nil {
		return err
	}
	st, err := b.Replay(ctx, family, func(_ *ledger.State, e *ledger.Entry) error {
		v := viewOf(e)
		switch {
		case number == 0:
			return a.print(v, func(w io.Writer) {
				fmt.Fprintf(w, "%d  %s  %s  %s %s (%s)  %s, %s of %s\n", v.Number, v.At.Format(time.DateTime), v.Outcome, v.Channel, printable(v.Sink), v.Class, v.Charge, v.Total, v.B)
				for i := range v.Atoms {
					fmt.Fprintf(w, "     %s %s  %s\n", printable(v.Atoms[i].Field), v.Atoms[i].Operator, v.Atoms[i].Cost)
				}
			})
		case number == e.Seq:
			return errors.Join(a.print(v, v.write), errShown)
		}
		return nil
	})
	switch {
	case errors.Is(err, errShown):
		return nil
	case err != nil:
		return failure(ledgerHint, "%w", err)
	case number > st.Seq:
		return failure("margay ledger show "+string(family)+" shows them", "family %s has %s", family, entries(st.Seq))
	}
	return nil
}

func (a *app) budgetCommand() *cobra.Command {
	return &cobra.Command{
		Use: "budget TRAJECTORY", Short: "Show what a trajectory may still tell, and what it has told", Args: cobra.ExactArgs(1),
		Long: `Show what a trajectory may still tell, and what it has told: all bits, weighted;
what sinks of each class or worse learnt, and the caps on it; and by field.
Trajectories of one run have one budget.`,
		ValidArgsFunction: a.completeFirst(a.families),
		Example:           "  margay budget 01K00000000000000000000001",
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.keeping(cmd.Context(), func(_ *config.Config, st *state.State, b *ledger.Book) error {
				family, err := familyOf(cmd.Context(), st.Store, args[0])
				if err != nil {
					return err
				}
				v, err := budgetOf(cmd.Context(), b, family)
				if err != nil {
					return failure(ledgerHint, "%w", err)
				}
				return a.print(v, v.write)
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
	Fields       []fieldBudget       `json:"fields"` // those that told most first
}

// fieldBudget is the part of one field. A value that went out as several
// fields is counted under the one under which each of its bits first went.
type fieldBudget struct {
	Field  string               `json:"field"`
	Values int                  `json:"values"`
	Charge flow.Bits            `json:"charge"`
	Learnt map[string]flow.Bits `json:"learnt"`
}

func budgetOf(ctx context.Context, b *ledger.Book, family flow.TrajectoryID) (*budget, error) {
	v := &budget{Family: family, Fields: []fieldBudget{}}
	type part struct {
		values map[ledger.Hash]bool
		charge flow.Bits
		learnt [ledger.Classes]flow.Bits
	}
	fields := map[string]*part{}
	s, err := b.Replay(ctx, family, func(before *ledger.State, e *ledger.Entry) error {
		if !slices.Contains(v.Trajectories, e.Trajectory) && len(v.Trajectories) < logPage {
			v.Trajectories = append(v.Trajectories, e.Trajectory)
		}
		seen := map[ledger.Hash]bool{}
		for i := range e.Atoms {
			a := &e.Atoms[i]
			p := fields[a.Field]
			if p == nil {
				p = &part{values: map[ledger.Hash]bool{}}
				fields[a.Field] = p
			}
			p.values[a.Value] = true
			if seen[a.Value] {
				continue
			}
			seen[a.Value] = true
			was := before.After(a.Value)
			p.charge += e.Limits.Weigh(a.After) - e.Limits.Weigh(was)
			for k := range was {
				p.learnt[k] += a.After[k] - was[k]
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	v.Entries, v.Total, v.B, v.Left, v.Sums = s.Seq, s.Total, s.Limits.B, s.Limits.B-s.Total, sums(s.Caps, s.Limits.Cap)
	for name, p := range fields {
		f := fieldBudget{name, len(p.values), p.charge, map[string]flow.Bits{}}
		for c := flow.RequiredService; c <= flow.Adversarial; c++ {
			f.Learnt[c.String()] = p.learnt[c]
		}
		v.Fields = append(v.Fields, f)
	}
	slices.SortFunc(v.Fields, func(a, b fieldBudget) int {
		if a.Charge != b.Charge {
			return -int(max(-1, min(1, a.Charge-b.Charge)))
		}
		return strings.Compare(a.Field, b.Field)
	})
	return v, nil
}

func (v *budget) write(w io.Writer) {
	tw := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintf(tw, "family\t%s, %s\n", v.Family, entries(v.Entries))
	fmt.Fprintf(tw, "spent\t%s of %s, weighted; %s left\n", v.Total, v.B, v.Left)
	fmt.Fprint(tw, "\nsinks of this class or worse\tlearnt\tcap\n")
	for c := flow.RequiredService; c <= flow.Adversarial; c++ {
		s := v.Sums[c.String()]
		fmt.Fprintf(tw, "%s\t%s\t%s\n", c, s.Learnt, s.Cap)
	}
	fmt.Fprint(tw, "\nfield\tvalues\tspent\tlearnt by any\tby curious\tby adversarial\n")
	for i := range v.Fields {
		f := &v.Fields[i]
		fmt.Fprintf(tw, "%s\t%d\t%s\t%s\t%s\t%s\n", printable(f.Field), f.Values, f.Charge,
			f.Learnt[flow.RequiredService.String()], f.Learnt[flow.SemiTrusted.String()], f.Learnt[flow.Adversarial.String()])
	}
	_ = tw.Flush()
}
