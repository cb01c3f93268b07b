package console

import (
	"context"
	"errors"
	"fmt"
	"html/template"
	"math"
	"net/http"
	"strconv"
	"strings"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/app/console/access"
	"github.com/margaydev/margay/internal/app/console/live"
	"github.com/margaydev/margay/mediator/audit"
)

func (c *Console) hub() *live.Hub {
	return live.New(live.Config{Last: c.cfg.Events.LastEvent, Rows: c.rows, Overview: c.overviewParts, Queue: c.queueParts, Open: c.openQuestions})
}

// Watches reports whether a page of a trajectory is open.
func (c *Console) Watches(id flow.TrajectoryID) bool { return c.live.Watches(id) }

// Publish passes stored events, and tokens, to open pages. It does not block.
func (c *Console) Publish(events []audit.Event) { c.live.Publish(events) }

// rowData is an event as a line of its trajectory's page.
type rowData struct {
	Seq  int64      `json:"seq"`
	ID   string     `json:"id"`
	Kind audit.Kind `json:"kind"`
	HTML string     `json:"html"`
}

func (c *Console) rows(ctx context.Context, q audit.Query) ([]live.Row, error) {
	events, err := c.cfg.Events.Events(ctx, q)
	if err != nil || len(events) == 0 {
		return nil, err
	}
	if err := c.mask(ctx, events); err != nil {
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
	if err := c.mask(ctx, o); err != nil {
		return nil, err
	}
	var out []live.Part
	for _, name := range []string{"overview-facts", "overview-chart", "overview-upstreams", "overview-latest"} {
		text, err := c.part(name, o)
		if err != nil {
			return nil, err
		}
		out = append(out, live.Part{Name: name, HTML: text})
	}
	return out, nil
}

// queueParts has no forms, since each session has its own. The page reloads
// itself when the list changes.
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
func (c *Console) stream(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	topic, id := live.Topic(q.Get("topic")), flow.TrajectoryID("")
	after, err := number(r, "after")
	if last := r.Header.Get("Last-Event-ID"); err == nil && last != "" {
		after, err = strconv.ParseInt(last, 10, 64)
	}
	if err != nil || after < 0 {
		return &Problem{http.StatusBadRequest, "query", "the place to resume at must be a number", "load the page again"}
	}
	switch topic {
	case live.Overview, live.Questions, live.None:
	case live.Trajectory:
		if id, err = flow.ParseTrajectoryID(q.Get("id")); err == nil {
			break
		}
		fallthrough
	default:
		return &Problem{http.StatusBadRequest, "query", "topic is overview, questions, none, or trajectory with its id", "docs/api/openapi.json says how"}
	}
	v, err := c.live.Join(r.Context(), topic, id)
	if errors.Is(err, live.ErrFull) {
		err = &Problem{http.StatusServiceUnavailable, "too-many", err.Error(), "close some, and load this one again"}
	}
	if err != nil {
		return err
	}
	s := live.Stream{After: after, For: access.SessionTime, Allowed: func() bool { return c.sessions.Of(r) != nil }}
	if who := access.From(r.Context()); !who.Expires.IsZero() {
		s.For = who.Expires.Sub(c.cfg.Now())
	}
	v.Serve(r.Context(), w, s)
	return nil
}

// chart draws the outcomes of decisions by the minute, as stacked bars. A table
// beside it has the numbers. Colours come from the style sheet; outcomes are
// always stacked in one order, so they differ by more than colour.
func chart(minutes []Minute) template.HTML {
	const height, bar = 120, 10
	most := 1
	for _, m := range minutes {
		most = max(most, m.Allow+m.Rewrite+m.Confirm+m.Deny)
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg class="bars" viewBox="0 0 %d %d" preserveAspectRatio="none" role="img" aria-labelledby="bars-title"><title id="bars-title">Decisions by the minute, the last hour; at most %d in one</title>`, bar*len(minutes), height, most)
	for i, m := range minutes {
		y := float64(height)
		for _, part := range []struct {
			class string
			n     int
		}{{"allow", m.Allow}, {"rewrite", m.Rewrite}, {"confirm", m.Confirm}, {"deny", m.Deny}} {
			if part.n == 0 {
				continue
			}
			h := math.Max(float64(part.n)/float64(most)*(height-4), 2)
			y -= h
			fmt.Fprintf(&b, `<rect class="%s" x="%d" y="%.1f" width="%d" height="%.1f"/>`, part.class, i*bar+1, y, bar-2, h)
		}
	}
	b.WriteString("</svg>")
	return template.HTML(b.String()) //nolint:gosec // numbers and our own words
}
