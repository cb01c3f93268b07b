package cut

import (
	"errors"
	"math"
	"slices"
)

// ErrOrder says that a span starts where it may not: before text that may have
// been released already, or behind a hold. The text is broken, and nothing more of it
// is released.
var ErrOrder = errors.New("cut: a span starts before text that is decided, or behind a hold")

// Edit replaces the raw bytes [Start, End) by Text. An edit whose Text is
// empty goes on where the edit before it ended.
type Edit struct {
	Start, End int64
	Text       []byte
}

// Text is one text on its way out; see NewText. It is not safe for concurrent
// use. All offsets count raw bytes from the beginning of the text.
type Text struct {
	raw  []byte // from base on
	base int64

	cut    int64 // every byte before it is decided
	clean  int64 // end of the last byte that goes out as it came, ≤ cut
	region int64 // end of the region that is being cut out; ≤ cut: none
	leads  bool  // the last edit begins a region that has no replacement yet

	hold int64 // the least hold since the last Advance

	most   int64 // undecided bytes; 0: no limit
	keep   bool  // text from out on is kept for Release
	out    int64 // every byte before it was released
	edits  []Edit
	broken bool
}

// NewText returns a text that holds back at most most bytes; 0 means no limit.
// Where keep is set, it keeps what is decided until Release. Otherwise the
// caller has the text and takes its edits.
func NewText(most int64, keep bool) Text { return Text{hold: nowhere, most: most, keep: keep} }

// nowhere is a hold that holds nothing.
const nowhere = math.MaxInt64

// Write adds bytes to the end of the text. They are undecided.
func (t *Text) Write(p []byte) { t.raw = append(t.raw, p...) }

// Grow makes room for so many bytes, which are written in parts.
func (t *Text) Grow(n int) { t.raw = slices.Grow(t.raw, n) }

// Len returns the bytes written so far.
func (t *Text) Len() int64 { return t.base + int64(len(t.raw)) }

// Decided returns the cut: every byte before it is decided.
func (t *Text) Decided() int64 { return t.cut }

// Region returns where the last region that was cut out ends. A span that starts
// before it belongs to the region.
func (t *Text) Region() int64 { return t.region }

// Broken reports whether a span was refused with ErrOrder.
func (t *Text) Broken() bool { return t.broken }

// Raw returns the bytes [start, end), as far as they are still there, for
// decisions about them. They are valid until the next call of a method.
func (t *Text) Raw(start, end int64) []byte {
	start = min(max(start, t.base), t.Len())
	end = min(max(end, start), t.Len())
	return t.raw[start-t.base : end-t.base : end-t.base]
}

// Hold says that a detector may still report a span that starts at the offset or
// behind it. It counts until the next Advance; before that, each detector names
// its hold again.
func (t *Text) Hold(at int64) { t.hold = min(t.hold, at) }

// Least returns where Advance moves the cut to: the least of the holds, or the
// end of the text if that comes first.
func (t *Text) Least() int64 { return max(min(t.hold, t.Len()), t.cut) }

// Cut cuts out the span [start, end), whose end may lie behind what is written.
// Spans come in the order of their starts, before Advance passes them.
//
// A span that overlaps the region before it joins the region; so does one that
// goes on where the region ends. Any other leads a region of its own, and
// Replace says what stands for it. The error is ErrOrder.
func (t *Text) Cut(start, end int64, goesOn bool) (leads bool, err error) {
	t.leads = false
	joins := start < t.region || goesOn && start == t.region
	switch {
	case t.broken || start < t.clean || !joins && start >= t.Least():
		t.broken = true
		return false, ErrOrder
	case end <= start:
		return false, nil
	case joins:
		t.region = max(t.region, end)
		return false, nil
	}
	t.settle(start)
	t.cut, t.region, t.leads = min(end, t.Least()), end, true
	t.edits = append(t.edits, Edit{Start: start, End: t.cut})
	return true, nil
}

// Replace says what stands for the region that the last Cut began. Without it
// nothing does. The text must stay as it is. After Advance, Release or Edits it is
// too late, whether they gave anything or not.
func (t *Text) Replace(text []byte) {
	if t.leads {
		t.edits[len(t.edits)-1].Text = text
		t.leads = false
	}
}

// Advance decides everything before the least of the holds: what is in no span
// goes out as it came. Then it forgets the holds.
//
// If more bytes than the limit would stay undecided, they are taken for a secret
// and cut out, and capped is where they start; else it is -1. They lead a region
// or join one, as of Cut.
func (t *Text) Advance() (capped int64, leads bool) {
	safe, end := t.Least(), t.Len()
	t.hold, t.leads, capped = nowhere, false, -1
	switch {
	case t.broken:
		t.region, safe = max(t.region, end), end
	case t.most > 0 && end-safe > t.most:
		capped = safe
		leads, _ = t.Cut(safe, end, false) // which has no hold any more, and nothing behind it is clean
		safe = end
	}
	t.settle(safe)
	t.forget()
	return capped, leads
}

// settle moves the cut forward to an offset: the open region is cut out, the
// rest is clean.
func (t *Text) settle(to int64) {
	if gone := min(t.region, to); gone > t.cut {
		t.edits = append(t.edits, Edit{Start: t.cut, End: gone})
		t.cut = gone
	}
	if to > t.cut {
		t.cut, t.clean = to, to
	}
}

// forget drops the bytes that nobody needs.
func (t *Text) forget() {
	n := t.cut - t.base
	if t.keep {
		n = t.out - t.base
	}
	if n == int64(len(t.raw)) || n >= 1024 {
		t.raw = t.raw[:copy(t.raw, t.raw[n:])]
		t.base += n
	}
}
