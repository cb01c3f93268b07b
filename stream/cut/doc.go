// Package cut is the kernel of the guarantee that no byte of a matched span
// is emitted. It holds undecided text, cuts spans out of it, and alone makes
// what may go out: [Released].
//
// The package knows offsets, not secrets, and imports nothing of this module.
// Its feeder (package stream, with the detectors) gives it three things: the
// text, the spans that detectors match, and the offsets that they hold.
//
// # Guarantee
//
// No byte of a span that [Text.Cut] accepts is released, whatever the feeder
// does before or after.
//
// # Why it holds
//
// Each byte of a text is decided once, in order: it is clean, and goes out as it
// came, or it is cut out. A byte becomes clean in one place, where the cut passes
// it outside the open region, and the cut never passes a hold. Cut refuses a span
// of which a byte is clean. A span that it accepts starts in the open region, or
// at or behind the cut, and the cut can't pass it without cutting it out.
//
// A span that is refused shows that a detector did not hold what it had to. A
// part of the span may already be released, and nobody knows what else the
// detector missed. So the text is broken: all undecided text is cut out, to
// its end, and the caller gets [ErrOrder] and must deny.
//
// If more bytes would stay undecided than the limit allows, they are taken
// for a secret and cut out, and the caller is notified.
//
// The output depends on the text and its spans, not on how the text was
// divided into writes, if the feeder's holds are safe and its spans come in a
// fixed order (TestChunks). A feeder that gets this wrong releases less,
// never more (TestAnyFeeder, FuzzFeeder).
package cut
