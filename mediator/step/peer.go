package step

import (
	"context"
	"errors"
	"fmt"

	"github.com/margaydev/margay/confirm"
	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/label"
	"github.com/margaydev/margay/mediator/session"
	"github.com/margaydev/margay/taint"
	"github.com/margaydev/margay/taint/clear"
)

// Peer is another process that decides about the same trajectories, such as
// the one in whose run this one is.
type Peer interface {
	// Share reports to the peer what is known here, and returns what is known
	// there. After an error nothing is known of what it knows.
	Share(ctx context.Context, s Share) (Shared, error)
}

// Share is what one process reports to another one about a trajectory.
type Share struct {
	Trajectory flow.TrajectoryID `json:"trajectory"`
	Label      string            `json:"label"` // what its calls follow from
	Faults     []confirm.Fault   `json:"faults,omitempty"`
	// Place is who reports. Spend asks whether a call was let through elsewhere,
	// and takes that for this place; Permit is one that was let through here.
	Place  string        `json:"place"`
	Spend  *clear.Digest `json:"spend,omitempty"`
	Permit *clear.Digest `json:"permit,omitempty"`
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
func (cfg *Taint) Share(family flow.TrajectoryID, s *Share) (*Shared, error) {
	if cfg == nil {
		return &Shared{Off: true}, nil
	}
	if family == "" || s.Trajectory != family {
		return nil, ErrNoTrajectory
	}
	lat := cfg.Policy.Scheme().Lattice
	told, err := lat.Parse(s.Label)
	if err != nil {
		return nil, fmt.Errorf("the other process has another lattice: %w", err)
	}
	l := &cfg.Book().Family
	l.Rise(lat, told, s.Faults...)
	if s.Permit != nil {
		l.Permit(*s.Permit, s.Place)
	}
	out := &Shared{Label: lat.Format(l.Highest(told)), Faults: l.Faults()}
	out.Spent = s.Spend != nil && l.Spend(*s.Spend, s.Place)
	return out, nil
}

// share reports to the peer what is known here, and takes what is known there.
// Without a peer it does nothing.
func (st *asker) share(ctx context.Context, spend, permit *clear.Digest) (spent bool, err error) {
	cfg, s := st.cfg, st.s
	if cfg.Peer == nil {
		return false, nil
	}
	lat, l := cfg.Policy.Scheme().Lattice, s.Labels
	got, err := cfg.Peer.Share(ctx, Share{
		Trajectory: s.ID, Label: lat.Format(l.Highest(label.Label{})), Faults: l.Faults(), Place: s.Sink.Name, Spend: spend, Permit: permit,
	})
	if err != nil || got.Off {
		return false, err
	}
	told, err := lat.Parse(got.Label)
	if err != nil {
		return false, fmt.Errorf("the other process has another lattice: %w", err)
	}
	l.Rise(lat, told, got.Faults...)
	return got.Spent, nil
}

// permitAll notes calls that a step has let through.
func permitAll(l *session.Labels, key taint.Key, calls []flow.ToolCall) {
	for _, c := range calls {
		c.Arguments = session.Arguments(c.Arguments)
		if d, err := key.Digest(c); err == nil {
			l.Permit(d)
		}
	}
}
