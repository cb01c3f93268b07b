package audit

import (
	"sync"
	"time"

	"github.com/margaydev/margay/flow"
)

// Bounds of what refusals write to the log. Whoever floods Margay with what it
// refuses must not fill the log, which would drop older decisions.
const (
	MaxAlike  = 64        // refusals of one kind that have a decision each
	AlikeTime = time.Hour // for which they count
	maxKinds  = 1024
)

// Refusals counts what connectors refuse by themselves. The first refusals of a
// kind have a decision each; those after them share one, which counts them. It
// is safe for concurrent use.
type Refusals struct {
	// Own is the trajectory of refusals that belong to none.
	Own flow.TrajectoryID

	mu sync.Mutex
	by map[refusal]*alike
}

// refusal is a kind of refusals. Clients choose nothing of it: the codes are
// those of connectors.
type refusal struct {
	verb       flow.Verb
	sink, code string
}

// alike are the refusals of one kind.
type alike struct {
	mu   sync.Mutex
	from time.Time
	n    int
	all  flow.Decision // stands for those from MaxAlike on
}

// NewRefusals returns a count of none.
func NewRefusals() *Refusals {
	return &Refusals{Own: flow.TrajectoryID(flow.NewID()), by: map[refusal]*alike{}}
}

// of returns the refusals that one is like.
func (r *Refusals) of(d *flow.Decision) *alike {
	k := refusal{verb: d.Verb, sink: d.Sink.Name}
	if len(d.Reasons) > 0 {
		k.code = d.Reasons[0].Code
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.by[k] == nil && len(r.by) >= maxKinds {
		k = refusal{} // all others
	}
	if r.by[k] == nil {
		r.by[k] = &alike{}
	}
	return r.by[k]
}

// Count returns the decision that a refusal is written as: its own, or one that
// stands for several. Done is called when it is written; until then the next one
// of the kind may wait, so that the count in the log only grows.
func (r *Refusals) Count(d flow.Decision) (_ flow.Decision, done func()) {
	d.Outcome = flow.Deny
	a := r.of(&d)
	a.mu.Lock()
	if a.n == 0 || d.At.Sub(a.from) >= AlikeTime {
		a.from, a.n, a.all = d.At, 0, flow.Decision{}
	}
	if a.n++; a.n <= MaxAlike {
		a.mu.Unlock()
		return d, func() {}
	}
	if a.all.ID == "" {
		a.all = d
		a.all.Trajectory = r.Own
		a.all.Reasons = append(a.all.Reasons, flow.Reason{
			Code: "counted", Detail: "further refusals of this kind within an hour are counted here", Action: flow.ActReport,
		})
	}
	a.all.Count++
	return a.all, a.mu.Unlock
}
