package console

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/mediator"
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
	active           = 5 * time.Minute // since its last event, a trajectory is under way
)

// Overview is what is to be seen at a glance.
type Overview struct {
	At        time.Time                    `json:"at"`
	Active    int                          `json:"active"` // trajectories under way, as far as listed
	Latest    []mediator.TrajectorySummary `json:"latest"`
	Minutes   []Minute                     `json:"minutes"` // of the last hour, oldest first
	Totals    []Total                      `json:"totals"`  // of the last hour
	Waiting   int                          `json:"waiting"` // questions
	Upstreams []Upstream                   `json:"upstreams"`
	Meters    []Meter                      `json:"meters,omitempty"` // nearest to their cap
	Lost      int64                        `json:"lost"`             // events that were not kept
	Failing   bool                         `json:"failing"`          // events are not kept at the moment
	Seq       int64                        `json:"seq"`              // the latest event
}

// Minute is how decisions came out in one minute.
type Minute struct {
	At      time.Time `json:"at"`
	Allow   int       `json:"allow"`
	Rewrite int       `json:"rewrite"`
	Confirm int       `json:"confirm"`
	Deny    int       `json:"deny"`
}

// Total is how many decisions of a verb came out in which way.
type Total struct {
	Verb    flow.Verb `json:"verb"`
	Allow   int       `json:"allow"`
	Rewrite int       `json:"rewrite"`
	Confirm int       `json:"confirm"`
	Deny    int       `json:"deny"`
}

func add(allow, rewrite, confirm, deny *int, t *mediator.Tally) {
	switch t.Outcome {
	case flow.Allow:
		*allow += t.N
	case flow.Rewrite:
		*rewrite += t.N
	case flow.Confirm:
		*confirm += t.N
	case flow.Deny:
		*deny += t.N
	}
}

func (c *Console) overview(r *http.Request) (any, error) { return c.overviewNow(r.Context()) }

func (c *Console) overviewNow(ctx context.Context) (*Overview, error) {
	now := c.cfg.Now().UTC()
	o := &Overview{At: now, Latest: []mediator.TrajectorySummary{}, Upstreams: []Upstream{}, Waiting: c.openQuestions(ctx)}
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
			m := &o.Minutes[k]
			add(&m.Allow, &m.Rewrite, &m.Confirm, &m.Deny, t)
		}
		if k := slices.IndexFunc(o.Totals, func(x Total) bool { return x.Verb == t.Verb }); k >= 0 {
			x := &o.Totals[k]
			add(&x.Allow, &x.Rewrite, &x.Confirm, &x.Deny, t)
		}
	}
	if c.cfg.Upstreams != nil {
		o.Upstreams = c.cfg.Upstreams()
	}
	if c.cfg.Budgets != nil {
		if o.Meters, err = c.cfg.Budgets.Budgets(ctx, "", overviewRows); err != nil {
			return nil, err
		}
	}
	if c.cfg.Lost != nil {
		o.Lost, o.Failing = c.cfg.Lost()
	}
	return o, nil
}

// Trajectories is a page of them.
type Trajectories struct {
	Trajectories []mediator.TrajectorySummary `json:"trajectories"`
	Before       int64                        `json:"before"` // for the next page; 0: this is the last
}

// number reads a number of a query; 0 where there is none.
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
	out := &Trajectories{Trajectories: append([]mediator.TrajectorySummary{}, all[:min(len(all), pageTrajectories)]...)}
	if len(all) > pageTrajectories {
		out.Before = all[pageTrajectories-1].LastSeq
	}
	return out, nil
}

// Trajectory is what happened in one.
type Trajectory struct {
	Summary mediator.TrajectorySummary `json:"summary"`
	// Events are the latest ones before a place, the latest first.
	Events  []mediator.TraceEvent `json:"events"`
	Before  int64                 `json:"before"` // for the next page; 0: this is the last
	Seq     int64                 `json:"seq"`    // the latest event that is told of
	Context string                `json:"context,omitempty"`
	Regions []Region              `json:"regions"`
	Budgets []Meter               `json:"budgets,omitempty"`
	Ledger  []Entry               `json:"ledger,omitempty"`
	// HasBudgets and HasLedger: the sections are there at all.
	HasBudgets bool `json:"has_budgets"`
	HasLedger  bool `json:"has_ledger"`
	First      bool `json:"first"` // this is the first page
}

// Region is a part of what the model is shown, with its label.
type Region struct {
	mediator.RegionTrace
	Withheld bool `json:"withheld"` // the latest step was made without it
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
	t := &Trajectory{Regions: []Region{}, Events: []mediator.TraceEvent{}, First: before == 0}
	if t.Summary, err = c.cfg.Events.Trajectory(ctx, id); err != nil {
		return nil, err
	}
	all, err := c.cfg.Events.Events(ctx, mediator.EventQuery{Trajectory: id, Before: before, Limit: pageEvents + 1, Last: true})
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
	if err := c.regions(ctx, id, t); err != nil {
		return nil, err
	}
	if t.HasBudgets = c.cfg.Budgets != nil; t.HasBudgets {
		if t.Budgets, err = c.cfg.Budgets.Budgets(ctx, id, pageEvents); err != nil {
			return nil, err
		}
	}
	if t.HasLedger = c.cfg.Ledger != nil; t.HasLedger {
		t.Ledger, err = c.cfg.Ledger.Entries(ctx, id, pageEvents)
	}
	return t, err
}

// regions puts the latest steps together to what the model is shown now.
func (c *Console) regions(ctx context.Context, id flow.TrajectoryID, t *Trajectory) error {
	steps, err := c.cfg.Events.Events(ctx, mediator.EventQuery{
		Trajectory: id, Limit: pageSteps, Last: true, Kinds: []mediator.EventKind{mediator.EventStep, mediator.EventWithheld},
	})
	if err != nil {
		return err
	}
	for i := range steps {
		if s := steps[i].Payload.Step; s != nil {
			// What comes from this message on was told of anew.
			t.Regions = slices.DeleteFunc(t.Regions, func(r Region) bool { return r.Message >= s.From || r.Message >= s.Messages })
			for k := range t.Regions {
				t.Regions[k].Withheld = false
			}
			for _, r := range s.Regions {
				t.Regions = append(t.Regions, Region{RegionTrace: r})
			}
			t.Context = s.Context
		}
		if w := steps[i].Payload.Withheld; w != nil {
			for k := range t.Regions {
				m := t.Regions[k].Message
				t.Regions[k].Withheld = !t.Regions[k].Bottom && (slices.Contains(w.Messages, m) || slices.Contains(w.Gone, m))
			}
			t.Context = w.Context
		}
	}
	if n := len(t.Regions); n > pageRegions {
		t.Regions = t.Regions[n-pageRegions:]
	}
	return nil
}

// Event is one event with its detail.
type Event struct {
	mediator.TraceEvent
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
