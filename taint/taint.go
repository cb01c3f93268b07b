// Package taint is information-flow control for tool calls: it says which
// label every part of a tool's result has, which label a call may be made
// under, and what of a history a model may see at a level. It is the trusted
// core: pure computation over values, deterministic and bounded, without
// input or output. Its rules come compiled from taint/pack.
//
// # The agent step
//
// A trajectory's messages are cut into regions with labels (Labeller). What a
// model is shown is bounded by a Level: Redact leaves out every region that is
// not below it, so that two histories which differ above the level alone read
// the same, byte for byte. A call is run if the label of what its model was
// shown flows to the call's Clearance (Policy.Decide), or if a person allowed
// exactly this call (Digest) or calls like it (Grant). Its result enters the
// history with its tool's label joined to the label that the call was made
// under (Labeller.History does it).
//
// The content of an executed, unconfirmed call is independent of everything
// above its level. That a step was made again, and at which level, is not:
// count and cap it.
//
// # Advisers
//
// A Screener proposes which regions matter. Its mistakes cost utility or
// questions, never security: what the model sees is bounded by Redact and
// what is run by Decide.
//
// Sources: RTBAS, algorithms 1 to 4; Devriese and Piessens for secure
// multi-execution; Myers and Liskov for readers and sources. The format of
// packs is in docs/format/pack.md.
package taint

import (
	"context"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/label"
)

// Limits of everything that is read. They are part of the behaviour: a result
// beyond them has its tool's worst label, a call beyond them is denied.
const (
	MaxResult    = 8 << 20 // bytes of a result that is cut into regions
	MaxNodes     = 1 << 17 // values in a result
	MaxRegions   = 1 << 14 // regions of a result
	MaxArguments = 1 << 20 // bytes of a call's arguments
	MaxDepth     = 64      // nesting of a result or of arguments
)

// Screener proposes which regions of a history matter for the next action. It
// is outside the trusted base.
type Screener interface {
	// Screen returns the level that the next step should be made at.
	Screen(ctx context.Context, h *History) (Level, error)
}

// Screeners that need no model.
type (
	// ScreenNone takes nothing for relevant: all that is not trusted and
	// public is redacted.
	ScreenNone struct{}
	// ScreenAll takes everything for relevant: conservative joins.
	ScreenAll struct{}
)

// Screen returns the bottom.
func (ScreenNone) Screen(context.Context, *History) (Level, error) { return Level{}, nil }

// Screen returns the level that admits everything.
func (ScreenAll) Screen(context.Context, *History) (Level, error) { return Everything(), nil }

// RegionAt names a region of a history: its message and its place in it.
type RegionAt struct{ Message, Region int }

// Blame is a region that keeps a call from being run.
type Blame struct {
	At    RegionAt
	Label label.Label
	From  flow.Provenance
}
