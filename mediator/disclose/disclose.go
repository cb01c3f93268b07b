// Package disclose decides what texts disclose and to whom: prompts on their
// way to a model, results of tools, messages and calls to tools, and writes
// to memories. Secrets become pseudonyms or are redacted; releases are
// checked against rubrics and charged to budgets.
//
// Nothing passes before its decision is committed, and a client that has
// disconnected is charged nothing.
package disclose

import (
	"context"

	"github.com/margaydev/margay/confirm"
	"github.com/margaydev/margay/declassify"
	"github.com/margaydev/margay/declassify/known"
	"github.com/margaydev/margay/declassify/schema"
	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/mediator/session"
)

// Declassify is how releases are held to rubrics and charged to budgets.
type Declassify struct {
	// Verifier decides, and commits what it authorises.
	Verifier Releaser
	// Tool returns what is known by configuration of the tool that a call is
	// of: a memory where it writes to one. Other calls are not looked at here.
	// Only a name and arguments are asked for.
	Tool func(call flow.ToolCall) (schema.Tool, bool)
	// Memories are the sinks that keep what they get beyond a trajectory:
	// of tools whose channel is flow.ChannelMemory. Names that one was told mean
	// the same in all trajectories of a caller.
	Memories []string
	// Kept is where the values of those names are kept, sealed, for as long as
	// the memories last; nil: in Config.Values.
	Kept session.Values
	// Results returns the fields of what a tool returns as JSON; nil: of none.
	Results func(tool string) []schema.Arg
	// Model returns the model endpoint as a sink. What a prompt says, and what
	// tools tell the model, is a release to it. Nil: neither is looked at here.
	Model func(sink flow.Sink) (schema.Tool, bool)
	// Trusted reports whether nobody else writes what a tool tells. It is asked
	// where labels are not kept (Config.Taint); nil: of none.
	Trusted func(tool string) bool
	// Desk asks a person about releases that can't be made with what their sinks
	// need, where the verifier makes questions of them (declassify.Config.Ask);
	// nil: they are denied.
	Desk *confirm.Desk
	// Report reports what would be done and changes nothing. The verifier should
	// then commit to a ledger that is nobody's record.
	Report bool
}

// Releaser decides about releases; *declassify.Verifier is one.
type Releaser interface {
	Release(ctx context.Context, c declassify.Candidate) (declassify.Release, error)
	// Learn notes values that a family has seen.
	Learn(ctx context.Context, family flow.TrajectoryID, values []known.Value) error
}

// Origins says where texts of tools come from, by labels.
type Origins interface {
	// Origin reports whether anybody may read what a tool told, and whether
	// somebody else than the user may have written it.
	Origin(tool, text string) (public, untrusted bool)
}

// Verbs are the verbs of one session that are about texts. They are not safe
// for concurrent use.
type Verbs struct {
	s       *session.Session
	cfg     *Declassify
	origins Origins
}

// New returns the verbs of a session. cfg is nil where releases are not held to
// rubrics, and origins where labels are not looked at.
func New(s *session.Session, cfg *Declassify, origins Origins) *Verbs {
	return &Verbs{s, cfg, origins}
}

// Rubrics reports whether calls are held to rubrics.
func (v *Verbs) Rubrics() bool { return v.cfg != nil }
