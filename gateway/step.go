package gateway

import (
	"context"
	"errors"
	"io"
	"maps"
	"mime"
	"net/http"
	"slices"
	"time"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/mediator"
	"github.com/margaydev/margay/wire"
)

// plan labels a request's conversation and writes the body from which the
// step is made.
func (g *Gateway) plan(ctx context.Context, c *call, req wire.Request, edits map[int]string) {
	c.body = req.Raw()
	conv, ok := req.(wire.Conversation)
	if !ok {
		if len(edits) > 0 {
			c.body = req.Rewrite(edits)
		}
		return
	}
	parts := req.Parts()
	turns := conv.Turns()
	for i := range turns {
		turns[i].Opaque = slices.ContainsFunc(turns[i].Parts, func(p int) bool { return parts[p].Opaque != "" })
	}
	c.step = c.session.Step(turns, conv.Tools(), req.Previous() != "", func(p int) string {
		if text, ok := edits[p]; ok {
			return text
		}
		return parts[p].Text
	})
	c.conv, c.edits = conv, maps.Clone(edits)
	if c.step != nil {
		if c.edits == nil {
			c.edits = map[int]string{}
		}
		maps.Copy(c.edits, c.step.Wrapped())
		var less bool
		if c.view, less = c.step.First(ctx); less {
			c.body = c.shown(&c.view)
			return
		}
	}
	if len(c.edits) > 0 {
		c.body = req.Rewrite(c.edits)
	}
}

// shown is the body of the request for a view.
func (c *call) shown(v *mediator.View) []byte {
	w := *v.Withheld
	w.Edits = maps.Clone(c.edits)
	maps.Copy(w.Edits, v.Withheld.Edits)
	return c.conv.Withhold(&w)
}

// errReplay says that a step could not be made again.
var errReplay = errors.New("the upstream did not answer when the step was made again")

// askedFor is the body of the request for a view, as it goes to the upstream.
func (c *call) askedFor(v *mediator.View) []byte { return c.paid(c.shown(v)) }

// again asks the upstream for the step with another request. The caller closes
// the response's body.
func (g *Gateway) again(ctx context.Context, first *http.Request, body []byte, typ string) (*http.Response, error) {
	r := first.Clone(ctx)
	setBody(r, body)
	resp, err := g.cfg.Transport.RoundTrip(r)
	if err != nil {
		g.cfg.Log.Warn("a step could not be made again", "upstream", g.cfg.Name, "error", reachError(err))
		return nil, errReplay
	}
	got, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if enc := resp.Header.Get("Content-Encoding"); resp.StatusCode != http.StatusOK || got != typ || enc != "" && enc != "identity" {
		_ = resp.Body.Close()
		g.cfg.Log.Warn("a step could not be made again", "upstream", g.cfg.Name, "status", resp.StatusCode)
		return nil, errReplay
	}
	return resp, nil
}

// answer is a whole answer that was looked at.
type answer struct {
	resp   wire.Response
	res    mediator.Answered
	calls  []flow.ToolCall
	places []int         // of calls, among all that it proposes
	open   bool          // it is to be settled in its turn
	view   mediator.View // that it is made from, where that is not the call's
}

// proposed are the calls that an answer would make, as they would go out.
func (a *answer) proposed() {
	for i, tc := range a.resp.Calls() {
		if _, ok := a.res.Refused[i]; ok {
			continue
		}
		args := ""
		if tc.Arguments >= 0 {
			args = a.resp.Parts()[tc.Arguments].Text
		}
		if text, ok := a.res.Edits[tc.Arguments]; ok {
			args = text
		}
		a.calls, a.places = append(a.calls, flow.ToolCall{Name: tc.Name, Arguments: mediator.Arguments(args)}), append(a.places, i)
	}
}

// said are the texts of an answer, as the client gets them.
func (a *answer) said() []string {
	var out []string
	parts := a.resp.Parts()
	for i := range parts {
		p := &parts[i]
		if p.Choice < 0 || p.Field != flow.FieldContent && p.Field != flow.FieldRefusal {
			continue
		}
		text := p.Text
		if t, ok := a.res.Edits[p.ID]; ok {
			text = t
		}
		out = append(out, text)
	}
	return out
}

func (a *answer) body() []byte { return a.resp.Rewrite(a.res.Edits, a.res.Refused) }

// refusedOf are the calls of an answer that are refused, where all of them are.
func refusedOf(calls []flow.ToolCall, refused map[int]string) []flow.RefusedCall {
	if len(refused) < len(calls) {
		return nil
	}
	out := make([]flow.RefusedCall, len(calls))
	for i := range calls {
		out[i] = flow.RefusedCall{ToolCall: calls[i], Told: refused[i]}
	}
	return out
}

// goesOnWith is the request by which a model goes on that is told of its refused
// calls; nil where it is told with the next request of the client's.
func (c *call) goesOnWith(told int, said []string, refused []flow.RefusedCall) []byte {
	if !c.step.GoesOn(told, refused) {
		return nil
	}
	body := c.body
	if !c.asked && c.plain != nil {
		body = c.plain // the upstream tells no distributions
	}
	return c.conv.Refused(body, said, refused)
}

// settle holds the calls of a whole answer to what they may follow from, and
// returns the answer that counts.
func (g *Gateway) settle(ctx context.Context, c *call, first *http.Request, a *answer) (*answer, error) {
	if c.step == nil {
		return a, nil
	}
	a.proposed()
	var low *answer
	for told := 0; ; told++ {
		next, err := g.settleOnce(ctx, c, first, a, &low, told)
		if err != nil || next == nil {
			return a, err
		}
		if !next.open {
			return next, nil
		}
		a = next
	}
}

// settleOnce settles an answer. It returns another one where that one counts,
// or is to be settled in its turn; nil where this one counts. Low is the answer
// without a call that was made where the step was made again, to fall back to.
func (g *Gateway) settleOnce(ctx context.Context, c *call, first *http.Request, a *answer, low **answer, told int) (*answer, error) {
	if len(a.calls) == 0 {
		c.step.Stand(a.said(), nil, nil, c.view)
		return nil, nil //nolint:nilnil // this one counts
	}
	r, err := c.step.Rule(ctx, a.calls, c.view)
	if err != nil {
		return nil, g.stepFailed(err)
	}
	if v, body, ok := c.step.Again(&r, c.askedFor); ok {
		if b, err := g.replayed(ctx, c, first, body); err == nil {
			r2, err := c.step.Rule(ctx, b.calls, v)
			if err != nil {
				return nil, g.stepFailed(err)
			}
			if r2.Serves() {
				c.step.Stand(b.said(), b.calls, nil, v)
				return b, c.step.Note(ctx, &r)
			}
			c.step.Barren(body)
			if len(b.calls) == 0 {
				b.view, *low = v, b
			}
		}
	}
	refused, err := c.step.Settle(ctx, &r)
	if err != nil {
		return nil, g.stepFailed(err)
	}
	if body := c.goesOnWith(told, a.said(), refusedOf(a.calls, refused)); body != nil {
		if b, err := g.replayed(ctx, c, first, body); err == nil {
			b.open = true
			return b, nil
		}
	}
	if b := *low; len(refused) == len(a.calls) && b != nil {
		c.step.Stand(b.said(), nil, nil, b.view)
		return b, nil
	}
	for i, text := range refused {
		a.res.Refused[a.places[i]] = text
	}
	var made []flow.ToolCall
	for i := range a.calls {
		if _, ok := refused[i]; !ok {
			made = append(made, a.calls[i])
		}
	}
	c.step.Stand(a.said(), made, nil, c.view)
	return nil, nil //nolint:nilnil // this one counts
}

func (g *Gateway) stepFailed(err error) error {
	return &denied{status: http.StatusServiceUnavailable, code: "store-failed", detail: err.Error() + "; run margay doctor"}
}

// replayed makes a step again and looks at the answer.
func (g *Gateway) replayed(ctx context.Context, c *call, first *http.Request, body []byte) (*answer, error) {
	resp, err := g.again(ctx, first, body, "application/json")
	if err != nil {
		return nil, err
	}
	told, err := readAll(resp.Body, g.cfg.MaxBody)
	_ = resp.Body.Close()
	if err != nil {
		return nil, errReplay
	}
	a, halted, err := g.look(ctx, c, told)
	if err != nil || halted != nil {
		return nil, errReplay
	}
	a.proposed()
	return a, nil
}

// attempt is a stream that was read to its end and is held.
type attempt struct {
	*reading
	gen    *mediator.Generation
	calls  []mediator.ProposedCall
	ruling mediator.Ruling
	view   mediator.View
}

// settling is what happens to a stream whose calls are held.
type settling struct {
	first *attempt          // the one that was made again
	wait  chan settledCalls // what a person says to the first; nil while nobody is asked
	view  mediator.View
	body  []byte   // the request for the step that was made again
	late  bool     // a part of the answer went out before
	told  int      // how often the model was told of refused calls
	low   *attempt // an answer without a call, from where the step was made again
}

type settledCalls struct {
	refused map[int]string
	err     error
}

// settle is called when all of an answer has come and is held. It lets it go,
// has the step made again, or asks.
func (e *events) settle() {
	if e.held == nil { // a call did not pass
		e.held, e.quiet = &settling{view: e.c.view, late: true}, time.Now()
	}
	calls := e.gen.Proposed()
	plain := make([]flow.ToolCall, len(calls))
	for i := range calls {
		plain[i] = calls[i].Call
	}
	h := e.held
	r, err := e.c.step.Rule(e.ctx, plain, h.view)
	if err != nil {
		e.fail("store-failed", err.Error()+"; run margay doctor")
		return
	}
	this := &attempt{e.reading, e.gen, calls, r, h.view}
	switch {
	case h.first == nil && (len(calls) == 0 || r.Outcome() == flow.Allow):
		if h.low != nil {
			e.drop(h.low)
		}
		e.stand(this, nil)
	case h.first != nil && r.Serves():
		if err := e.c.step.Note(e.ctx, &h.first.ruling); err != nil {
			e.fail("store-failed", err.Error()+"; run margay doctor")
			return
		}
		e.drop(h.first)
		if h.low != nil {
			e.drop(h.low)
		}
		e.stand(this, nil)
	case h.first == nil && !h.late && e.replay(this):
	default:
		if h.body != nil {
			e.c.step.Barren(h.body)
		}
		switch {
		case h.first == nil:
			h.first = this
		case len(calls) == 0 && h.low == nil:
			h.low = this
		default:
			e.drop(this) // of no use
		}
		e.reading, e.gen = h.first.reading, h.first.gen
		wait := make(chan settledCalls, 1)
		h.wait = wait
		go func() { // ends with the answer, or with the request
			refused, err := e.c.step.Settle(e.ctx, &h.first.ruling)
			wait <- settledCalls{refused, err}
		}()
	}
}

// replay opens the stream of a step that is made again. It reports false where
// that failed.
func (e *events) replay(first *attempt) bool {
	v, body, ok := e.c.step.Again(&first.ruling, e.c.askedFor)
	if !ok {
		return false
	}
	resp, err := e.g.again(e.ctx, e.resp.Request, body, "text/event-stream") //nolint:bodyclose // e.open owns the body
	if err != nil {
		return false
	}
	e.held.first, e.held.view, e.held.body = first, v, body
	e.open(resp.Body)
	return true
}

// answered goes on when a person has answered, or nobody in time.
func (e *events) answered(s settledCalls) {
	h := e.held
	h.wait = nil
	switch {
	case s.err != nil:
		e.fail("store-failed", s.err.Error()+"; run margay doctor")
	case e.goOn(s.refused):
	case len(s.refused) == len(h.first.calls) && h.low != nil:
		low := h.low
		e.drop(h.first)
		e.reading, e.gen = low.reading, low.gen
		e.stand(low, nil) // what was said without what the call followed from
	default:
		if h.low != nil {
			e.drop(h.low)
		}
		e.stand(h.first, s.refused)
	}
}

// goOn has the model told of its refused calls, and opens the stream of what it
// says then. It reports false where the client has to tell it.
func (e *events) goOn(refused map[int]string) bool {
	h := e.held
	if h.late {
		return false
	}
	calls := make([]flow.ToolCall, len(h.first.calls))
	for i := range calls {
		calls[i] = h.first.calls[i].Call
	}
	body := e.c.goesOnWith(h.told, h.first.gen.Said(), refusedOf(calls, refused))
	if body == nil {
		return false
	}
	resp, err := e.g.again(e.ctx, e.resp.Request, body, "text/event-stream") //nolint:bodyclose // e.open owns the body
	if err != nil {
		return false
	}
	e.drop(h.first)
	e.held = &settling{view: h.first.view, told: h.told + 1, low: h.low}
	e.open(resp.Body)
	e.idle.Reset(e.g.cfg.Idle)
	return true
}

// stand lets an answer go, without the calls that are refused.
func (e *events) stand(a *attempt, refused map[int]string) {
	var made []flow.ToolCall
	for i := range a.calls {
		if text, ok := refused[i]; ok {
			e.gen.Refuse(a.calls[i].Item, text)
			continue
		}
		made = append(made, a.calls[i].Call)
	}
	e.c.step.Stand(e.gen.Said(), made, e.gen.Gone(), a.view)
	e.held = nil
	e.gen.Let()
	e.release()
	e.owe()
	e.end = true
}

// drop gives the memory of an attempt back that does not count.
func (e *events) drop(a *attempt) {
	a.in.Reset(nil, 0)
	a.pool.Put(a.reading)
	a.gen.Free()
}

// still is what a client is sent while its answer is held, so that it goes on
// waiting: a comment, which it drops.
const still = ": margay holds the answer until its calls are decided\n\n"

var _ io.ReadCloser = (*events)(nil)
