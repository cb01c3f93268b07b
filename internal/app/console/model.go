package console

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/app/console/view"
	"github.com/margaydev/margay/mediator/audit"
)

// Bounds of what one page shows.
const (
	pageTrajectories = 50
	pageEvents       = 200
	pageSteps        = 100
	pageRegions      = 500
	pageQuestions    = 100
	overviewRows     = 15
	overviewMinutes  = 60
	active           = 5 * time.Minute // a trajectory is under way for so long after an event
)

// Overview is what the first page shows.
type Overview struct {
	At        time.Time       `json:"at"`
	Active    int             `json:"active"` // trajectories under way, as far as listed
	Latest    []audit.Summary `json:"latest"`
	Minutes   []Minute        `json:"minutes"` // of the last hour, oldest first
	Totals    []Total         `json:"totals"`  // of the last hour
	Waiting   int             `json:"waiting"` // questions
	Upstreams []Upstream      `json:"upstreams"`
	Meters    []Meter         `json:"meters,omitempty"` // nearest to their cap
	Lost      int64           `json:"lost"`             // events that were not kept
	Failing   bool            `json:"failing"`          // events are not kept at the moment
	Seq       int64           `json:"seq"`              // the latest event
}

// Outcomes counts decisions by their outcome.
type Outcomes struct {
	Allow   int `json:"allow"`
	Rewrite int `json:"rewrite"`
	Confirm int `json:"confirm"`
	Deny    int `json:"deny"`
}

// Minute is how decisions came out in one minute.
type Minute struct {
	At time.Time `json:"at"`
	Outcomes
}

// Total is how many decisions of a verb came out in which way.
type Total struct {
	Verb flow.Verb `json:"verb"`
	Outcomes
}

func (o *Outcomes) add(t *audit.Tally) {
	switch t.Outcome {
	case flow.Allow:
		o.Allow += t.N
	case flow.Rewrite:
		o.Rewrite += t.N
	case flow.Confirm:
		o.Confirm += t.N
	case flow.Deny:
		o.Deny += t.N
	}
}

func (c *Console) overview(r *http.Request) (any, error) { return c.overviewNow(r.Context()) }

func (c *Console) overviewNow(ctx context.Context) (*Overview, error) {
	now := c.cfg.Now().UTC()
	o := &Overview{At: now, Latest: []audit.Summary{}, Upstreams: c.cfg.Upstreams(), Waiting: c.openQuestions(ctx)}
	o.Lost, o.Failing = c.cfg.Lost()
	var err error
	if o.Seq, err = c.cfg.Events.LastEvent(ctx); err != nil {
		return nil, err
	}
	latest, err := c.cfg.Events.Trajectories(ctx, 0, pageTrajectories)
	if err != nil {
		return nil, err
	}
	for i := range latest {
		if now.Sub(latest[i].Last) < active {
			o.Active++
		}
	}
	o.Latest = append(o.Latest, latest[:min(len(latest), overviewRows)]...)
	end := now.Truncate(time.Minute).Add(time.Minute)
	begin := end.Add(-overviewMinutes * time.Minute)
	tallies, err := c.cfg.Events.Tallies(ctx, begin, end)
	if err != nil {
		return nil, err
	}
	o.Minutes = make([]Minute, overviewMinutes)
	for i := range o.Minutes {
		o.Minutes[i].At = begin.Add(time.Duration(i) * time.Minute)
	}
	for _, v := range []flow.Verb{flow.Prompt, flow.Generate, flow.Call, flow.Observe, flow.Remember, flow.Tell} {
		o.Totals = append(o.Totals, Total{Verb: v})
	}
	for i := range tallies {
		t := &tallies[i]
		if k := int(t.Minute.Sub(begin) / time.Minute); k >= 0 && k < len(o.Minutes) {
			o.Minutes[k].add(t)
		}
		if k := slices.IndexFunc(o.Totals, func(x Total) bool { return x.Verb == t.Verb }); k >= 0 {
			o.Totals[k].add(t)
		}
	}
	if c.cfg.Books != nil {
		o.Meters, err = c.cfg.Books.Budgets(ctx, "", overviewRows)
	}
	return o, err
}

// Trajectories is a page of them.
type Trajectories struct {
	Trajectories []audit.Summary `json:"trajectories"`
	Before       int64           `json:"before"` // for the next page; 0: this is the last
}

// number reads a number of a query; 0 if it is missing.
func number(r *http.Request, name string) (int64, error) {
	s := r.URL.Query().Get(name)
	if s == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 0 {
		return 0, &Problem{http.StatusBadRequest, "query", name + " must be a number", "take it from the page before"}
	}
	return n, nil
}

func (c *Console) trajectories(r *http.Request) (any, error) {
	before, err := number(r, "before")
	if err != nil {
		return nil, err
	}
	all, err := c.cfg.Events.Trajectories(r.Context(), before, pageTrajectories+1)
	if err != nil {
		return nil, err
	}
	out := &Trajectories{Trajectories: append([]audit.Summary{}, all[:min(len(all), pageTrajectories)]...)}
	if len(all) > pageTrajectories {
		out.Before = all[pageTrajectories-1].LastSeq
	}
	return out, nil
}

// Trajectory is what happened in one.
type Trajectory struct {
	Summary audit.Summary `json:"summary"`
	// Events are the latest ones before a place, the latest first.
	Events  []audit.Event `json:"events"`
	Before  int64         `json:"before"` // for the next page; 0: this is the last
	Seq     int64         `json:"seq"`    // the latest event that is shown
	Context string        `json:"context,omitempty"`
	Regions []view.Region `json:"regions"`
	Budgets []Meter       `json:"budgets,omitempty"`
	Ledger  []Entry       `json:"ledger,omitempty"`
	// HasBudgets and HasLedger: the sections are there at all.
	HasBudgets bool `json:"has_budgets"`
	HasLedger  bool `json:"has_ledger"`
	First      bool `json:"first"` // this is the first page
}

func trajectoryID(r *http.Request) (flow.TrajectoryID, error) {
	id, err := flow.ParseTrajectoryID(r.PathValue("id"))
	if err != nil {
		return "", &Problem{http.StatusNotFound, "not-found", err.Error(), "the list of trajectories is at /console/trajectories"}
	}
	return id, nil
}

func (c *Console) trajectory(r *http.Request) (any, error) {
	ctx := r.Context()
	id, err := trajectoryID(r)
	if err != nil {
		return nil, err
	}
	before, err := number(r, "before")
	if err != nil {
		return nil, err
	}
	t := &Trajectory{Regions: []view.Region{}, Events: []audit.Event{}, First: before == 0}
	if t.Summary, err = c.cfg.Events.Trajectory(ctx, id); err != nil {
		return nil, err
	}
	all, err := c.cfg.Events.Events(ctx, audit.Query{Trajectory: id, Before: before, Limit: pageEvents + 1, Last: true})
	if err != nil {
		return nil, err
	}
	t.Seq = t.Summary.LastSeq
	if len(all) > pageEvents {
		all = all[1:]
		t.Before = all[0].Seq
	}
	t.Events = append(t.Events, all...)
	slices.Reverse(t.Events)
	steps, err := c.cfg.Events.Events(ctx, audit.Query{
		Trajectory: id, Limit: pageSteps, Last: true, Kinds: []audit.Kind{audit.KindStep, audit.KindWithheld},
	})
	if err != nil {
		return nil, err
	}
	shown, last := view.Regions(steps)
	t.Context, t.Regions = last, append(t.Regions, shown[max(0, len(shown)-pageRegions):]...)
	if c.cfg.Books == nil {
		return t, nil
	}
	t.HasBudgets, t.HasLedger = true, true
	if t.Budgets, err = c.cfg.Books.Budgets(ctx, id, pageEvents); err != nil {
		return nil, err
	}
	t.Ledger, err = c.cfg.Books.Entries(ctx, id, pageEvents)
	return t, err
}

// Event is one event with its detail.
type Event struct {
	audit.Event
	TextsKept bool `json:"texts_kept"`
}

func (c *Console) event(r *http.Request) (any, error) {
	seq, err := strconv.ParseInt(r.PathValue("seq"), 10, 64)
	if err != nil {
		return nil, &Problem{http.StatusNotFound, "not-found", "an event has a number", "the pages of trajectories link to their events"}
	}
	e, err := c.cfg.Events.Event(r.Context(), seq)
	return &Event{e, c.cfg.Texts}, err
}
