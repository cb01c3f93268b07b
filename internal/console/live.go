package console

import (
	"context"
	"errors"
	"net/http"
	"strconv"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/console/access"
	"github.com/margaydev/margay/internal/console/live"
	"github.com/margaydev/margay/mediator"
)

func (c *Console) hub() *live.Hub {
	return live.New(live.Config{Last: c.cfg.Events.LastEvent, Rows: c.rows, Overview: c.overviewParts, Queue: c.queueParts, Open: c.openQuestions})
}

// Watches reports whether somebody looks at a trajectory.
func (c *Console) Watches(id flow.TrajectoryID) bool { return c.live.Watches(id) }

// Happened tells those who look on of events that were stored, and of tokens.
// It does not block.
func (c *Console) Happened(events []mediator.TraceEvent) { c.live.Happened(events) }

// rowData is an event as a line of its trajectory's page.
type rowData struct {
	Seq  int64              `json:"seq"`
	ID   string             `json:"id"`
	Kind mediator.EventKind `json:"kind"`
	HTML string             `json:"html"`
}

func (c *Console) rows(ctx context.Context, q mediator.EventQuery) ([]live.Row, error) {
	events, err := c.cfg.Events.Events(ctx, q)
	if err != nil || len(events) == 0 {
		return nil, err
	}
	if _, err := c.masked(ctx, events); err != nil {
		return nil, err
	}
	out := make([]live.Row, len(events))
	for i := range events {
		e := &events[i]
		text, err := c.part("row", e)
		if err != nil {
			return nil, err
		}
		out[i] = live.Row{Seq: e.Seq, Data: rowData{e.Seq, e.ID, e.Kind, text}}
	}
	return out, nil
}

func (c *Console) overviewParts(ctx context.Context) ([]live.Part, error) {
	o, err := c.overviewNow(ctx)
	if err != nil {
		return nil, err
	}
	v, err := c.masked(ctx, o)
	if err != nil {
		return nil, err
	}
	var out []live.Part
	for _, name := range []string{"overview-facts", "overview-chart", "overview-upstreams", "overview-latest"} {
		text, err := c.part(name, v)
		if err != nil {
			return nil, err
		}
		out = append(out, live.Part{Name: name, HTML: text})
	}
	return out, nil
}

// queueParts has no forms: they are for each who is asking. The page loads
// itself again where the list has changed.
func (c *Console) queueParts(ctx context.Context) ([]live.Part, error) {
	q, err := c.queue(ctx, false)
	if err != nil {
		return nil, err
	}
	ids := ""
	for i := range q.Waiting {
		ids += q.Waiting[i].ID + " "
	}
	return []live.Part{{Name: "queue", HTML: ids}}, nil
}

// stream answers a request for a stream.
func (c *Console) stream(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	topic, id := live.Topic(q.Get("topic")), flow.TrajectoryID("")
	after, err := number(r, "after")
	if last := r.Header.Get("Last-Event-ID"); err == nil && last != "" {
		after, err = strconv.ParseInt(last, 10, 64)
	}
	if err != nil || after < 0 {
		c.fail(w, r, &Problem{http.StatusBadRequest, "query", "the place to resume at must be a number", "load the page again"})
		return
	}
	switch topic {
	case live.Overview, live.Questions, live.None:
	case live.Trajectory:
		if id, err = flow.ParseTrajectoryID(q.Get("id")); err == nil {
			break
		}
		fallthrough
	default:
		c.fail(w, r, &Problem{http.StatusBadRequest, "query", "topic is overview, questions, none, or trajectory with its id", "docs/api/openapi.json says how"})
		return
	}
	v, err := c.live.Join(r.Context(), topic, id)
	if errors.Is(err, live.ErrFull) {
		err = &Problem{http.StatusServiceUnavailable, "too-many", err.Error(), "close some, and load this one again"}
	}
	if err != nil {
		c.fail(w, r, err)
		return
	}
	s := live.Stream{After: after, For: access.SessionTime, Allowed: func() bool { return c.sessions.Of(r) != nil }}
	if who := access.From(r.Context()); !who.Expires.IsZero() {
		s.For = who.Expires.Sub(c.cfg.Now())
	}
	v.Serve(r.Context(), w, s)
}
