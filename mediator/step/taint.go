// Package step controls what may influence the steps of an agent: it labels
// conversations, checks calls against the clearance of their tools, asks the
// model again without text that a call must not depend on, and asks people.
//
// A call is made only if its decision is committed. After a client has
// disconnected, nobody is asked on its behalf.
package step

import (
	"sync"

	"github.com/margaydev/margay/confirm"
	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/label"
	"github.com/margaydev/margay/mediator/session"
	"github.com/margaydev/margay/taint"
)

// Taint is how tool calls are held to what they may follow from.
type Taint struct {
	Policy *taint.Policy
	Key    taint.Key // that calls' digests are keyed by
	// Desk asks a person; nil for nobody, so that what would be asked is denied.
	Desk *confirm.Desk
	// Foreign reports whether strangers may have described a tool that no
	// pack knows; nil: any.
	Foreign func(tool string) bool
	// Report only reports what would be done.
	Report bool
	// Screen says which part of a history a step is made from; nil: all of
	// it, and a step whose calls its labels are too high for is made again
	// without what they must not follow from (clearance replay).
	Screen taint.Screener
	// NoReplay asks instead of making a step again.
	NoReplay bool
	// MaxReplays bounds the steps that are made again in one trajectory, as
	// whether one is made again is itself under the influence of what was
	// read; 256 by default.
	MaxReplays int
	// MaxTold bounds how often in one step a model whose calls were all
	// refused reads so and goes on at once, instead of with the next request;
	// 1 by default, negative for never.
	MaxTold int
	// Peer is another process that decides about the same trajectories; nil
	// for none.
	Peer Peer
	// MaxMemory bounds the bytes of labels that one trajectory remembers;
	// 4 MiB by default.
	MaxMemory int

	shared *session.LabelBook
	once   sync.Once
}

// Book is what the engines that this configures know of labels together.
func (cfg *Taint) Book() *session.LabelBook {
	cfg.once.Do(func() { cfg.shared = session.NewLabelBook(cfg.Policy, cfg.MaxMemory) })
	return cfg.shared
}

// Origin reports whether anybody may read what a tool told, and whether
// somebody else than the user may have written it.
func (cfg *Taint) Origin(tool, text string) (public, untrusted bool) {
	var l label.Label
	lat := cfg.Policy.Scheme().Lattice
	for _, r := range cfg.Policy.Annotate(flow.ToolCall{Name: tool, Arguments: "{}"}, text).Regions {
		l = lat.Join(l, r.Label)
	}
	return l.Confidentiality == "", l.Integrity != ""
}
