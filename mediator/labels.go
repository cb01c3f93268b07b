package mediator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/margaydev/margay/confirm"
	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/label"
	"github.com/margaydev/margay/taint"
)

// labels are what is remembered of a trajectory's labels. It is safe for
// concurrent use.
type labels struct {
	mu       sync.Mutex
	said     *taint.Memory   // of what the model said, and of results
	context  label.Label     // the highest that the model was shown
	begun    bool            // context is known
	replayed int             // steps that were made again
	faults   []confirm.Fault // what raised context, the latest last
	permits  []permit        // calls that were let through
	barren   [][32]byte      // requests for a step made again that led nowhere
}

// permit is a call that was let through, and who has seen it since.
type permit struct {
	digest taint.Digest
	seen   []string
}

// labelsOf are the labels of a new trajectory. All engines of a family share
// those of its trajectory.
func (e *Engine) labelsOf(id flow.TrajectoryID) *labels {
	if cfg := e.cfg.Taint; cfg != nil && e.cfg.Family != "" && id == e.cfg.Family {
		return &cfg.family
	}
	return &labels{}
}

// maxQuoting bounds the callers whose models' words are known again.
const maxQuoting = 256

// quotesOf is what models said to a caller, in whatever conversation.
func (e *Engine) quotesOf(caller [32]byte) *taint.Quotes {
	cfg := e.cfg.Taint
	if cfg == nil {
		return nil
	}
	cfg.quoting.Lock()
	defer cfg.quoting.Unlock()
	q := cfg.quotes[caller]
	if q == nil {
		if cfg.quotes == nil || len(cfg.quotes) >= maxQuoting {
			cfg.quotes = map[[32]byte]*taint.Quotes{}
		}
		q = taint.NewQuotes(cfg.Policy)
		cfg.quotes[caller] = q
	}
	return q
}

// memory is what is remembered of texts.
func (l *labels) memory(cfg *Taint) *taint.Memory {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.said == nil {
		l.said = taint.NewMemory(cfg.Policy, cmp.Or(cfg.MaxMemory, 4<<20))
	}
	return l.said
}

// rise notes a label that the model is shown.
func (l *labels) rise(lat label.Lattice, to label.Label) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.context, l.begun = lat.Join(l.context, to), true
}

// hasBegun reports whether what the trajectory was told is known.
func (l *labels) hasBegun() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.begun
}

// highest is the join of all labels that the model was shown; unknown where it
// was shown things before this process knew the trajectory.
func (l *labels) highest(unknown label.Label) label.Label {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.begun {
		return unknown
	}
	return l.context
}

// maxFaults bounds what a trajectory remembers of what raised its label.
const maxFaults = 8

// blame notes what raised the label of what the trajectory's calls follow from.
func (l *labels) blame(f confirm.Fault) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.faults = append(slices.DeleteFunc(l.faults, func(o confirm.Fault) bool { return o == f }), f)
	if n := len(l.faults); n > maxFaults {
		l.faults = l.faults[n-maxFaults:]
	}
}

func (l *labels) blamed() []confirm.Fault {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.faults)
}

// maxPermits bounds the calls that a trajectory remembers as let through.
const maxPermits = 256

// permit notes a call that was let through, as somebody has seen: whoever else
// sees it does not ask again.
func (l *labels) permit(d taint.Digest, seen ...string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.permits = append(l.permits, permit{d, seen})
	if n := len(l.permits); n > maxPermits {
		l.permits = slices.Delete(l.permits, 0, n-maxPermits)
	}
}

// permitAll notes calls that a step has let through.
func (l *labels) permitAll(key taint.Key, calls []flow.ToolCall) {
	for _, c := range calls {
		c.Arguments = Arguments(c.Arguments)
		if d, err := key.Digest(c); err == nil {
			l.permit(d)
		}
	}
}

// spend takes a permit in a place, and reports whether there was one: each
// place sees a call once.
func (l *labels) spend(d taint.Digest, place string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range l.permits {
		if p := &l.permits[i]; p.digest == d && !slices.Contains(p.seen, place) {
			p.seen = append(p.seen, place)
			return true
		}
	}
	return false
}

// mayReplay counts a step that is made again, and reports false past a bound.
func (l *labels) mayReplay(most int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.replayed++
	return l.replayed <= most
}

// maxBarren bounds the requests that a trajectory remembers to lead nowhere.
const maxBarren = 64

func (l *labels) isBarren(request [32]byte) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Contains(l.barren, request)
}

func (l *labels) noteBarren(request [32]byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if slices.Contains(l.barren, request) {
		return
	}
	l.barren = append(l.barren, request)
	if n := len(l.barren); n > maxBarren {
		l.barren = slices.Delete(l.barren, 0, n-maxBarren)
	}
}

// Peer is another process that decides about the same trajectories, such as
// the one in whose run this one is.
type Peer interface {
	// Share tells the peer what is known here, and returns what is known
	// there. After an error nothing is known of what it knows.
	Share(ctx context.Context, s Share) (Shared, error)
}

// Share is what one process tells another one of a trajectory.
type Share struct {
	Trajectory flow.TrajectoryID `json:"trajectory"`
	Label      string            `json:"label"` // what its calls follow from
	Faults     []confirm.Fault   `json:"faults,omitempty"`
	// Place is who tells. Spend asks whether a call was let through elsewhere,
	// and takes that for this place; Permit is one that was let through here.
	Place  string        `json:"place"`
	Spend  *taint.Digest `json:"spend,omitempty"`
	Permit *taint.Digest `json:"permit,omitempty"`
}

// Shared is what the other process knows.
type Shared struct {
	Label  string          `json:"label"`
	Faults []confirm.Fault `json:"faults,omitempty"`
	Spent  bool            `json:"spent"` // the call was let through there
	Off    bool            `json:"off"`   // it looks at no labels
}

// ErrNoTrajectory says that a process does not decide about a trajectory.
var ErrNoTrajectory = errors.New("no such trajectory here")

// Share takes what another process knows of the family's trajectory.
func (e *Engine) Share(s *Share) (*Shared, error) {
	cfg := e.cfg.Taint
	if cfg == nil {
		return &Shared{Off: true}, nil
	}
	if e.cfg.Family == "" || s.Trajectory != e.cfg.Family {
		return nil, ErrNoTrajectory
	}
	lat := cfg.Policy.Scheme().Lattice
	told, err := lat.Parse(s.Label)
	if err != nil {
		return nil, fmt.Errorf("the other process has another lattice: %w", err)
	}
	l := &cfg.family
	l.rise(lat, told)
	for _, f := range s.Faults {
		l.blame(f)
	}
	if s.Permit != nil {
		l.permit(*s.Permit, s.Place)
	}
	out := &Shared{Label: lat.Format(l.highest(told)), Faults: l.blamed()}
	out.Spent = s.Spend != nil && l.spend(*s.Spend, s.Place)
	return out, nil
}

// share tells the peer what is known here, and takes what is known there. It
// does nothing where there is no peer.
func (s *Session) share(ctx context.Context, spend, permit *taint.Digest) (spent bool, err error) {
	cfg := s.e.cfg.Taint
	if cfg == nil || cfg.Peer == nil {
		return false, nil
	}
	lat, l := cfg.Policy.Scheme().Lattice, s.t.labels
	got, err := cfg.Peer.Share(ctx, Share{
		Trajectory: s.t.id, Label: lat.Format(l.highest(label.Label{})), Faults: l.blamed(), Place: s.sink.Name, Spend: spend, Permit: permit,
	})
	if err != nil || got.Off {
		return false, err
	}
	told, err := lat.Parse(got.Label)
	if err != nil {
		return false, fmt.Errorf("the other process has another lattice: %w", err)
	}
	l.rise(lat, told)
	for _, f := range got.Faults {
		l.blame(f)
	}
	return got.Spent, nil
}
