// Package step controls what may influence the steps of an agent: it labels
// conversations, checks calls against the clearance of their tools, asks the
// model again without text that a call must not depend on, and asks people.
//
// A call is made only if its decision is committed. After a client has
// disconnected, nobody is asked on its behalf.
package step

import (
	"context"
	"sync"

	"github.com/margaydev/margay/confirm"
	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/label"
	"github.com/margaydev/margay/mediator/session"
	"github.com/margaydev/margay/taint"
	"github.com/margaydev/margay/taint/act"
	"github.com/margaydev/margay/taint/effect"
)

// Taint is how tool calls are held to what they may follow from.
type Taint struct {
	Policy *taint.Policy
	// Machine is the one that the tools work on; nil where nothing is known of
	// it.
	Machine Machine
	Key     taint.Key // that calls' digests are keyed by
	// Desk asks a person; nil for nobody, so that what would be asked is denied.
	Desk *confirm.Desk
	// Foreign reports whether strangers may have described a tool that no
	// pack knows; nil: any.
	Foreign func(tool string) bool
	// Pins keeps how tools of servers were first described; nil: what servers say
	// of tools that no pack knows is a stranger's.
	Pins Pins
	// Suggest proposes what a tool does that nothing is known of, by its name and by
	// what it says of itself, as the suggested answer to a question; nil: it reaches
	// out.
	Suggest func(tool string, says []string) effect.Profile
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

	shared  *session.LabelBook
	once    sync.Once
	defined definitions
}

// Machine is what is known of the computer that tools work on.
type Machine interface {
	// Now is the machine as it is now, for tools that work in a folder; empty for
	// the one where the agent was started.
	Now(ctx context.Context, dir string) (*act.Machine, error)
	// Taint remembers, before it returns, that strangers had a part in files. The
	// machine is of another version then, also if it was known before, and if there
	// are none: such files were moved.
	Taint(ctx context.Context, files []string) error
	// Wrote notes, before a call is made, what it does to scratch files.
	Wrote(act.Scratch)
	// Approve notes that a person let code run that strangers had a part in, as the
	// machine was at a version.
	Approve(version int64)
}

// on is the policy for tools that work in a folder. Where the machine can't be
// asked, nothing is known of it: no folder is trusted.
func (cfg *Taint) on(ctx context.Context, dir string) *taint.Policy {
	if cfg.Machine == nil {
		return cfg.Policy
	}
	m, err := cfg.Machine.Now(ctx, dir)
	if err != nil {
		return cfg.Policy
	}
	return cfg.Policy.On(m)
}

// mark remembers the files that a call leaves strangers' words in, before it is
// made under a label.
func (st *asker) mark(ctx context.Context, call flow.ToolCall, under label.Label) error {
	call.Arguments = session.Arguments(call.Arguments)
	files, moved := st.policy.Taints(call, under)
	if m := st.policy.Machine(); m.Follows() {
		st.cfg.Machine.Wrote(st.policy.Scratch(call, under))
	}
	if len(files) == 0 && !moved || st.cfg.Report {
		return nil
	}
	return st.cfg.Machine.Taint(context.WithoutCancel(ctx), files)
}

// allowed does what follows from a person's yes to a call: what it writes is
// remembered like what is written unasked, and what he let run may run again.
func (st *asker) allowed(ctx context.Context, v *taint.Verdict, under label.Label) error {
	if m := st.policy.Machine(); m.Follows() && v.Clearance.RunsTainted() {
		st.cfg.Machine.Approve(m.Version)
	}
	st.renew(ctx)
	return st.mark(ctx, v.Call, under)
}

// renew takes the folders that are trusted now for what is decided from here on: an
// answer may have trusted one.
func (st *asker) renew(ctx context.Context) {
	m := st.policy.Machine()
	if m == nil || st.cfg.Machine == nil {
		return
	}
	if now, err := st.cfg.Machine.Now(ctx, m.Dir); err == nil {
		on := *m
		on.Places = now.Places
		st.policy = st.policy.On(&on)
	}
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
