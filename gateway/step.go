package gateway

import (
	"context"
	"errors"
	"net/http"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/httpedge"
	"github.com/margaydev/margay/mediator"
	"github.com/margaydev/margay/wire"
)

// prompt decides about a request, and writes the body from which its step is
// made.
func (g *Gateway) prompt(r *http.Request, c *call, req wire.Request, rt *route) *mediator.Turn {
	p := &mediator.Prompt{Texts: texts(r, c.path, req)}
	if req != nil {
		c.req = req
		p.Conversation, p.Turns, p.Tools, p.Elsewhere = true, req.Turns(), req.Tools(), req.Previous() != ""
		p.Closed, p.Raw = req.Closed, req.Raw()
	} else {
		// What the server keeps has calls, too, and they were made from what
		// is not shown here.
		p.Elsewhere = rt.previous != ""
	}
	c.turn = c.session.Prompt(r.Context(), p)
	if req == nil || c.turn.Denied() {
		return c.turn
	}
	switch {
	case c.turn.Withheld != nil:
		c.body = c.req.Withhold(c.turn.Withheld)
	case len(c.turn.Edits) > 0:
		c.body = req.Rewrite(c.turn.Edits)
	default:
		c.body = req.Raw()
	}
	return c.turn
}

// Withhold implements mediator.Upstream.
func (c *call) Withhold(w *flow.Withheld) []byte { return c.paid(c.req.Withhold(w)) }

// GoOn implements mediator.Upstream.
func (c *call) GoOn(emitted []string, refused []flow.RefusedCall) []byte {
	body := c.body
	if !c.asked && c.plain != nil {
		body = c.plain // the upstream tells no distributions
	}
	return c.req.Refused(body, emitted, refused)
}

// errReplay says that a step could not be made again.
var errReplay = errors.New("the upstream did not answer when the step was made again")

// again asks the upstream for the step with another request. The caller closes
// the response's body.
func (g *Gateway) again(ctx context.Context, first *http.Request, body []byte, typ string) (*http.Response, error) {
	c := first.Context().Value(callKey{}).(*call)
	r := first.Clone(ctx)
	setBody(r, body)
	resp, err := g.cfg.Transport.RoundTrip(r)
	if err != nil {
		g.cfg.Log.Warn("a step could not be made again", "upstream", g.cfg.Name, "error", httpedge.Reason(err))
		return nil, errReplay
	}
	if resp.StatusCode != http.StatusOK || httpedge.MediaType(resp.Header) != typ || c.decode(resp) != nil {
		_ = resp.Body.Close()
		g.cfg.Log.Warn("a step could not be made again", "upstream", g.cfg.Name, "status", resp.StatusCode)
		return nil, errReplay
	}
	return resp, nil
}

// follow goes on as the mediator says.
func (e *events) follow(n *mediator.Next, err error) {
	if n.Attempt < len(e.readings) {
		e.reading = e.readings[n.Attempt]
	}
	e.write(n.Out)
	switch {
	case e.end:
	case err != nil:
		e.halt(err)
	case n.Again != nil:
		resp, err := e.g.again(e.ctx, e.resp.Request, n.Again, "text/event-stream") //nolint:bodyclose // e.open owns the body
		if err != nil {
			e.follow(e.answer.End(err))
			return
		}
		e.open(resp.Body)
		e.idle.Reset(e.g.cfg.Idle)
	case n.Wait != nil:
		e.wait = n.Wait
	case n.Done:
		e.c.owe(e.codec)
		e.end = true
	}
}

// still is what a client is sent while its answer is held, so that it goes on
// waiting: a comment, which it drops.
const still = ": margay holds the answer until its calls are decided\n\n"
