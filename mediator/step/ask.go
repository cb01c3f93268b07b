package step

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/margaydev/margay/confirm"
	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/label"
	"github.com/margaydev/margay/mediator/session"
	"github.com/margaydev/margay/taint"
	"github.com/margaydev/margay/taint/clear"
)

// asker asks people about the calls of one session.
type asker struct {
	s   *session.Session
	cfg *Taint
	// policy is the configuration's, for the machine as it is now.
	policy *taint.Policy
	h      *clear.History // the conversation; only its lattice where that is not seen
	// hash is of a tool's definition, and says are its texts; nil where only calls
	// are seen. It reports false for a tool that is not offered.
	hash func(tool string) (string, bool)
	says func(tool string) []string
}

// errNobody says that there is nobody to ask.
var errNobody = errors.New("there is nobody to ask")

// ask puts a question to a person and waits for the answer. The text says why
// nobody said yes. Show is called with the question once it is known at the desk;
// nil shows it nowhere else. Nobody waits for a client that has disconnected.
func (st *asker) ask(ctx context.Context, q *confirm.Question, show func(*confirm.Question)) (confirm.Answer, string) {
	if err := st.put(ctx, q); err != nil {
		return confirm.Deny, err.Error()
	}
	if show != nil {
		show(q)
	}
	return st.wait(ctx, q)
}

// put makes a question known at the desk, and gives it its id.
func (st *asker) put(ctx context.Context, q *confirm.Question) error {
	if q == nil || st.cfg.Desk == nil {
		return errNobody
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return st.cfg.Desk.Put(ctx, q)
}

func (st *asker) wait(ctx context.Context, q *confirm.Question) (confirm.Answer, string) {
	answer, err := st.cfg.Desk.Wait(ctx, q)
	switch {
	case errors.Is(err, confirm.ErrExpired):
		return confirm.Deny, "question " + q.ID + " had no answer in time"
	case err != nil:
		return confirm.Deny, err.Error()
	case answer == confirm.Deny:
		return confirm.Deny, "the user said no"
	}
	return answer, ""
}

// maxAsked bounds the questions among which one is looked for.
const maxAsked = 100

// asked returns the questions about a call with a digest that wait for an answer;
// with all, the others, too.
func (st *asker) asked(ctx context.Context, digest [32]byte, all bool) ([]confirm.Row, error) {
	if st.cfg.Desk == nil {
		return nil, nil
	}
	rows, err := st.cfg.Desk.Rows(ctx, all, maxAsked)
	return slices.DeleteFunc(rows, func(r confirm.Row) bool { return r.Digest != digest || r.Trajectory != st.s.ID }), err
}

// confirmed is the reason that a person allowed a call.
func confirmed(how string) flow.Reason {
	return flow.Reason{Code: taint.CodeConfirmed, Detail: "allowed by a person: " + how, Action: flow.ActAllow}
}

// maxExcerpt bounds what a question quotes of a region, in bytes.
const maxExcerpt = 240

func (st *asker) question(v *taint.Verdict, under label.Label) (*confirm.Question, error) {
	tq, err := st.policy.Question(st.cfg.Key, v, under)
	if err != nil {
		return nil, err
	}
	lat := st.h.Lattice
	q := &confirm.Question{
		Trajectory: st.s.ID, First: st.first(v), Values: st.origins(&tq), Digest: tq.Digest, Call: tq.Call, Sink: destination(&tq), Label: lat.Format(under), Needs: tq.Limit.Format(lat), Free: tq.Free, Kinds: tq.Kinds, Folder: tq.Folder,
	}
	if g, err := st.policy.Grant(st.cfg.Key, st.s.ID, tq.Call, under, tq.Free); err == nil {
		q.Grant = g.Fixed
	}
	for i := range tq.Acts {
		a := &tq.Acts[i]
		if len(q.Deeds) == maxDeeds {
			break
		}
		q.Deeds = append(q.Deeds, confirm.Deed{Effect: a.Effect.String(), Part: st.s.Clean(excerpt(a.Text)), To: st.s.Clean(excerpt(a.To)), Why: a.Why})
	}
	flows := map[string]bool{}
	for _, b := range tq.Blame {
		m := &st.h.Messages[b.Message]
		region := m.Regions[b.Region]
		f := confirm.Fault{Source: cmp.Or(b.From.Tool, string(b.From.Role)), Field: b.From.Field, Label: lat.Format(b.Label), Excerpt: excerpt(m.Text[region.Start:region.End])}
		q.Faults = append(q.Faults, f)
		if b.Label.Confidentiality != "" {
			flows["what "+f.Source+" returned"] = true
		}
	}
	q.Flows = slices.Sorted(maps.Keys(flows))
	return q, nil
}

// destination says to whom a call goes, as far as its arguments tell.
func destination(q *taint.Question) string {
	if len(q.Destinations) == 0 {
		return q.Call.Name
	}
	var out []string
	for _, d := range q.Destinations {
		if v, ok := taint.Argument(q.Call, d); ok {
			out = append(out, excerpt(v))
		}
	}
	return cmp.Or(strings.Join(out, ", "), q.Call.Name)
}

// maxDeeds bounds the parts of a call that a question shows.
const maxDeeds = 16

func excerpt(s string) string {
	if len(s) > maxExcerpt {
		s = strings.ToValidUTF8(s[:maxExcerpt], "") + "…"
	}
	return s
}

// grants are what a person allowed for the trajectory.
func (st *asker) grants(ctx context.Context) ([]clear.Grant, error) {
	if st.cfg.Desk == nil {
		return nil, nil
	}
	qs, err := st.cfg.Desk.Granted(ctx, st.s.ID)
	if err != nil {
		return nil, err
	}
	var out []clear.Grant
	for _, q := range qs {
		under, err := st.h.Lattice.Parse(q.Label)
		if err != nil {
			continue // it was given under another lattice
		}
		out = append(out, clear.Grant{Trajectory: st.s.ID, Tool: q.Call.Name, Label: under, Free: q.Free, Fixed: q.Grant, Kinds: q.Kinds})
	}
	return out, nil
}

// told is what the model reads about a call that is not made. It quotes
// nothing but the tool's name.
func (st *asker) told(v *taint.Verdict, why string) string {
	name := st.s.Clean(excerpt(v.Call.Name))
	return fmt.Sprintf("[margay: the call of %s was not made: it may not follow from what was read, and %s.]", name, cmp.Or(why, "it is never allowed"))
}
