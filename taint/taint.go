// Package taint is information-flow control for tool calls: it says which
// label every part of a tool's result has, which label a call may be made
// under, and what of a history a model may see at a level. It is the trusted
// core: pure computation over values, deterministic and bounded, without
// input or output. Its rules come compiled from taint/pack.
//
// # The agent step
//
// A trajectory's messages are cut into regions with labels (Labeller). A
// Level bounds what a model is shown: Redact leaves out every region that is
// not below it, so that two histories that differ only above the level read
// the same, byte for byte. A call is run if the label of what its model was
// shown flows to the call's Clearance (Policy.Decide), or if a person allowed
// exactly this call (Digest) or calls like it (Grant). Its result enters the
// history with its tool's label joined to the label that the call was made
// under (Labeller.History does it).
//
// The content of an executed, unconfirmed call is independent of everything
// above its level. The fact and the level of a replay are not: count and cap
// replays.
//
// # Advisers
//
// A Screener proposes which regions matter. Its mistakes cost utility or
// questions, never security: Redact bounds what the model sees, and Decide
// what is run.
//
// Sources: RTBAS, algorithms 1 to 4; Devriese and Piessens for secure
// multi-execution; Myers and Liskov for readers and sources. The format of
// packs is in docs/format/pack.md.
package taint

import (
	"context"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/label"
	"github.com/margaydev/margay/taint/clear"
)

// Screener proposes which regions of a history matter for the next action. It
// is outside the trusted base.
type Screener interface {
	// Screen returns the level that the next step should be made at.
	Screen(ctx context.Context, h *clear.History) (clear.Level, error)
}

// ScreenNone is the screener that takes nothing for relevant: all that is not
// trusted and public is redacted. It needs no model.
type ScreenNone struct{}

// Screen returns the bottom.
func (ScreenNone) Screen(context.Context, *clear.History) (clear.Level, error) {
	return clear.Level{}, nil
}

// Blame is a region that keeps a call from being run.
type Blame struct {
	Message, Region int // its place in the history
	Label           label.Label
	From            flow.Provenance
}
