package step

import (
	"cmp"
	"context"
	"crypto/sha256"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/taint/clear"
)

// Upstream writes the requests by which a step is made again. A connector's
// codec implements it.
type Upstream interface {
	// Withhold is the request that shows a model less.
	Withhold(w *flow.Withheld) []byte
	// GoOn is the request by which a model goes on that reads about its refused
	// calls; nil if the API has none.
	GoOn(emitted []string, refused []flow.RefusedCall) []byte
}

// Attempt is an answer to a step that has ended, and whose calls wait.
type Attempt struct {
	Calls   []flow.ToolCall
	Items   []flow.Item     // which they are
	Emitted []string        // what it says besides
	Passed  []flow.ToolCall // calls that went out already

	ruling ruling
	view   View
}

// Move is what comes next. One of its members is set.
type Move struct {
	// Again is a request: the answer to it is the next attempt.
	Again []byte
	// Ask: a person is asked, by Course.Ask, which may wait.
	Ask bool
	// Keep is the attempt that goes out, with the calls that are Cleared and
	// without those that are Refused: what is said instead.
	Keep    *Attempt
	Refused map[flow.Item]string
	Cleared map[flow.Item]clear.Cleared
}

// Course decides which answer to a step counts. Each attempt that has ended is
// told to it, and each that failed; it says what comes next until one is kept.
// It is not safe for concurrent use.
type Course struct {
	st   *Step
	up   Upstream
	late bool // a part of the answer went out before
	view View // that the next attempt is made from

	first *Attempt       // the one whose calls are asked about, once the step is made again
	low   *Attempt       // without a call, from where the step was made again
	body  []byte         // the request for the step that was made again
	told  int            // how often the model was told of refused calls
	going map[int]string // the refused calls that the model reads about
}

// Course starts to decide about the answers to the step. Late says that a part
// of the first went out already: the step is not made again then.
func (st *Step) Course(up Upstream, from View, late bool) *Course {
	return &Course{st: st, up: up, view: from, late: late}
}

// Ended takes an attempt that has ended.
func (c *Course) Ended(ctx context.Context, a *Attempt) (Move, error) {
	if c.going != nil { // the model went on from the first
		c.going, c.view, c.first, c.body = nil, c.first.view, nil, nil
		c.told++
	}
	r, err := c.st.rule(ctx, a.Calls, false, c.view)
	if err != nil {
		return Move{}, err
	}
	a.view, a.ruling = c.view, r
	switch {
	case c.first == nil && (len(a.Calls) == 0 || r.Outcome() == flow.Allow):
		return c.keep(ctx, a, nil), nil
	case c.first == nil:
		c.first = a
		if c.replays() {
			return Move{Again: c.body}, nil
		}
	case len(a.Calls) > 0 && r.Outcome() == flow.Allow: // it may stand for the first
		err := c.st.noteReplay(ctx, &c.first.ruling)
		return c.keep(ctx, a, nil), err
	default:
		// Such requests ask for the answer that is most likely, so that the
		// same one would bring no other.
		c.st.s.Labels.Discard(sha256.Sum256(c.body))
		if len(a.Calls) == 0 && c.low == nil {
			c.low = a
		}
	}
	return Move{Ask: true}, nil
}

// replays prepares to make the step again from less. It reports false where it
// may not, any more, and where the same request has led nowhere before.
func (c *Course) replays() bool {
	if c.late || !c.first.ruling.Replay {
		return false
	}
	v := c.st.view(c.first.ruling.Level, true)
	v.replayed = true
	body := c.up.Withhold(v.Withheld)
	if c.st.s.Labels.Discarded(sha256.Sum256(body)) || !c.st.s.Labels.MayReplay(cmp.Or(c.st.cfg.MaxReplays, 256)) {
		return false
	}
	c.view, c.body = v, body
	return true
}

// Failed says that the request of a move could not be answered.
func (c *Course) Failed(ctx context.Context) Move {
	if c.going != nil {
		return c.settled(ctx, c.going)
	}
	return Move{Ask: true}
}

// Ask asks a person about the calls that need it, and waits.
func (c *Course) Ask(ctx context.Context) (Move, error) {
	refused, err := c.st.settle(ctx, &c.first.ruling)
	if err != nil {
		return Move{}, err
	}
	if body := c.goesOn(refused); body != nil {
		c.going = refused
		return Move{Again: body}, nil
	}
	return c.settled(ctx, refused), nil
}

// goesOn is the request by which a model goes on that reads about its refused
// calls; nil if it reads about them with the client's next request.
func (c *Course) goesOn(refused map[int]string) []byte {
	if c.late || len(refused) < len(c.first.Calls) {
		return nil
	}
	calls := make([]flow.RefusedCall, len(c.first.Calls))
	for i := range calls {
		calls[i] = flow.RefusedCall{ToolCall: c.first.Calls[i], Result: refused[i]}
	}
	if !c.st.goesOn(c.told, calls) {
		return nil
	}
	return c.up.GoOn(c.first.Emitted, calls)
}

// settled is the move once a person has answered, or nobody could.
func (c *Course) settled(ctx context.Context, refused map[int]string) Move {
	if len(refused) == len(c.first.Calls) && c.low != nil {
		return c.keep(ctx, c.low, nil) // what was said without what the calls followed from
	}
	return c.keep(ctx, c.first, refused)
}

// keep remembers the label of an answer that counts: what it says and calls, as
// the client gets it.
func (c *Course) keep(ctx context.Context, a *Attempt, refused map[int]string) Move {
	var made []flow.ToolCall
	m := Move{Keep: a, Refused: map[flow.Item]string{}, Cleared: map[flow.Item]clear.Cleared{}}
	for i := range a.Calls {
		text, no := refused[i]
		switch cleared := a.ruling.cleared[i]; {
		case no:
			m.Refused[a.Items[i]] = text
			continue
		case cleared.Covers(a.Calls[i]):
			if v := &a.ruling.Verdicts[i]; v.Outcome == flow.Allow && c.st.mark(ctx, a.Calls[i], a.view.Label) != nil {
				m.Refused[a.Items[i]], _ = c.st.s.RefuseCall(ctx, c.st.told(v, "what it writes could not be remembered"), v.Reasons...)
				continue
			}
			m.Cleared[a.Items[i]] = cleared
		case !c.st.cfg.Report: // nobody said no, and nobody cleared it
			v := &a.ruling.Verdicts[i]
			// It is not made, recorded or not.
			m.Refused[a.Items[i]], _ = c.st.s.RefuseCall(ctx, c.st.told(v, ""), v.Reasons...)
			continue
		}
		made = append(made, a.Calls[i])
	}
	c.st.Commit(a.Emitted, made, a.Passed, a.view)
	return m
}
