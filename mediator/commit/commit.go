// Package commit makes a decision durable before its bytes are released. It
// is a kernel: every release needs a [Committed], and this package alone can
// make one that releases.
//
// The order is fixed. A [Book] first writes the entry to its log, waits until
// the log confirms that the entry is durable, and only then mints. A decision
// without reasons found nothing and has nothing to keep: it is minted at
// once.
//
// Every failure denies: a store that can't be written or does not answer in
// time, an unknown outcome, a client that has disconnected. One exception is
// configured, not coded: a Book that passes failures (on_error: pass)
// releases a flow that could not be decided.
package commit

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/margaydev/margay/flow"
)

// Patience bounds the write of one entry.
const Patience = 30 * time.Second

// ErrDisconnected says that a decision was made, and that its client has
// disconnected. It wraps the context's error.
var ErrDisconnected = errors.New("the client has disconnected")

// Entry is what a log keeps of a decision.
type Entry interface {
	// Of returns the decision that the entry is about.
	Of() flow.Decision
}

// Log keeps entries. Implementations are safe for concurrent use.
type Log[E Entry] interface {
	// AppendDecisions adds entries, all or none. When it returns nil they are
	// durable, as far as the engine is.
	AppendDecisions(ctx context.Context, entries []E) error
}

// ErrNotKept says that a decision could not be written to the log.
var ErrNotKept = errors.New("the decision was not kept")

// Committed is a decision that may take effect. The zero Committed releases
// nothing.
type Committed struct {
	decision flow.Decision
	minted   bool
}

// Releases reports whether what the decision is about may go out, edited as the
// decision says.
func (c *Committed) Releases() bool {
	return c.minted && releases(c.decision.Outcome)
}

// releases reports whether an outcome lets anything out. An unknown one does
// not.
func releases(o flow.Outcome) bool {
	return o == flow.Allow || o == flow.Rewrite || o == flow.Confirm
}

// Book commits the decisions of an engine. It is safe for concurrent use.
type Book[E Entry] struct {
	log  Log[E]
	pass bool
}

// Open returns a book that keeps entries in a log. Pass lets flows through that
// could not be decided; see [Book.Fail].
func Open[E Entry](log Log[E], pass bool) *Book[E] { return &Book[E]{log: log, pass: pass} }

// Commit makes a decision durable and returns it committed. After an error
// nothing may be released.
//
// If the client has disconnected nothing is released to it, and the error is
// [ErrDisconnected]. A denial is kept all the same: whoever looks for it later finds
// it. A write that has started is not broken off when the client goes, but ends
// after [Patience].
func (b *Book[E]) Commit(ctx context.Context, entry E) (Committed, error) {
	if b.log == nil { // it is the zero Book
		return Committed{}, ErrNotKept
	}
	d := entry.Of()
	if !releases(d.Outcome) {
		d.Outcome = flow.Deny
	} else if err := ctx.Err(); err != nil {
		return Committed{}, fmt.Errorf("%w: %w", ErrDisconnected, err)
	}
	if len(d.Reasons) > 0 {
		if err := b.write(ctx, entry); err != nil {
			return Committed{}, fmt.Errorf("%w: %w", ErrNotKept, err)
		}
	}
	return Committed{decision: d, minted: true}, nil
}

// Fail returns the decision about a flow that could not be decided, such as
// after an internal error. It denies, or lets the flow through where the book
// passes failures. Keep says to write it to the log, so that its id can be
// explained; where that fails, too, the decision stands without an entry.
func (b *Book[E]) Fail(ctx context.Context, entry E, keep bool) Committed {
	d := entry.Of()
	if keep {
		b.try(ctx, entry)
	}
	if !b.pass {
		d.Outcome = flow.Deny
	}
	return Committed{decision: d, minted: true}
}

// Passes reports whether flows are let through that could not be decided.
func (b *Book[E]) Passes() bool { return b.pass }

// try writes an entry as far as that can be done: it may be the log that
// panicked.
func (b *Book[E]) try(ctx context.Context, entry E) {
	defer func() { _ = recover() }()
	_ = b.write(ctx, entry)
}

// write adds an entry to the log.
func (b *Book[E]) write(ctx context.Context, entry E) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), Patience)
	defer cancel()
	return b.log.AppendDecisions(ctx, []E{entry})
}
