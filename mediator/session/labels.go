package session

import (
	"cmp"
	"slices"
	"sync"

	"github.com/margaydev/margay/confirm"
	"github.com/margaydev/margay/internal/recent"
	"github.com/margaydev/margay/label"
	"github.com/margaydev/margay/taint"
	"github.com/margaydev/margay/taint/clear"
)

// Labels are what is remembered of a trajectory's labels. It is safe for
// concurrent use.
type Labels struct {
	mu        sync.Mutex
	said      *taint.Memory   // of what the model said, and of results
	context   label.Label     // the highest that the model was shown
	known     bool            // context is known
	replayed  int             // steps that were made again
	faults    []confirm.Fault // what raised context, the latest last
	permits   []permit        // calls that were let through
	discarded [][32]byte      // requests for a step made again that led nowhere
	grew      func(bytes int) // told what said takes; nil for nobody
}

// Permit is a call that was let through, and who has seen it since.
type permit struct {
	digest clear.Digest
	seen   []string
}

// LabelBook is what the engines of one process know of labels together: those
// of their family's trajectory, and what models said to each caller.
type LabelBook struct {
	Policy    *taint.Policy
	MaxMemory int // bytes of labels that one trajectory remembers
	Family    Labels

	quotes *recent.Map[[32]byte, *Quotes] // of what models said to a caller, in whatever conversation
}

// NewLabelBook returns an empty book.
func NewLabelBook(p *taint.Policy, maxMemory int) *LabelBook {
	return &LabelBook{Policy: p, MaxMemory: maxMemory, quotes: recent.New[[32]byte, *Quotes](maxQuoting)}
}

// Memory is what is remembered of texts.
func (l *Labels) Memory(b *LabelBook) *taint.Memory {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.said == nil {
		l.said = taint.NewMemory(b.Policy, cmp.Or(b.MaxMemory, 4<<20), l.grew)
	}
	return l.said
}

// maxFaults bounds what a trajectory remembers of what raised its label.
const maxFaults = 8

// Rise notes a label that the model is shown, or that the trajectory's calls
// follow from, and what raised it.
func (l *Labels) Rise(lat label.Lattice, to label.Label, faults ...confirm.Fault) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.context, l.known = lat.Join(l.context, to), true
	for _, f := range faults {
		l.faults = latest(maxFaults, slices.DeleteFunc(l.faults, func(o confirm.Fault) bool { return o == f }), f)
	}
}

// latest adds one more and keeps as many as the bound admits, the latest.
func latest[T any](most int, all []T, one T) []T {
	all = append(all, one)
	return slices.Delete(all, 0, max(len(all)-most, 0))
}

// Known reports whether what the trajectory was told is known.
func (l *Labels) Known() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.known
}

// Highest is the join of all labels that the model was shown; unknown where it
// was shown things before this process knew the trajectory.
func (l *Labels) Highest(unknown label.Label) label.Label {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.known {
		return unknown
	}
	return l.context
}

// Faults are what raised the label, the latest last.
func (l *Labels) Faults() []confirm.Fault {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.faults)
}

// maxPermits bounds the calls that a trajectory remembers as let through.
const maxPermits = 256

// Permit notes a call that was let through, as somebody has seen: whoever else
// sees it does not ask again.
func (l *Labels) Permit(d clear.Digest, seen ...string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.permits = latest(maxPermits, l.permits, permit{d, seen})
}

// Spend takes a permit in a place, and reports whether there was one: each
// place sees a call once.
func (l *Labels) Spend(d clear.Digest, place string) bool {
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

// MayReplay counts a step that is made again, and reports false past a bound.
func (l *Labels) MayReplay(most int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.replayed++
	return l.replayed <= most
}

// maxDiscarded bounds the requests that a trajectory remembers to lead nowhere.
const maxDiscarded = 64

// Discarded reports whether a request for a step made again led nowhere.
func (l *Labels) Discarded(request [32]byte) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Contains(l.discarded, request)
}

// Discard notes a request for a step made again that led nowhere.
func (l *Labels) Discard(request [32]byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !slices.Contains(l.discarded, request) {
		l.discarded = latest(maxDiscarded, l.discarded, request)
	}
}
