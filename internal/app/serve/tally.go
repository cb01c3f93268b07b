package serve

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/gateway"
	"github.com/margaydev/margay/mediator/audit"
)

const (
	// maxListed bounds the findings that a summary lists.
	maxListed = 20
	// maxSeen bounds the values that are known to be repeated.
	maxSeen = 10000
)

// tally counts what a process did, for its summary. It is safe for concurrent
// use.
type tally struct {
	mu   sync.Mutex
	did  Summary         // its map is nil until there is a decision
	seen map[string]bool // findings by value and rule
}

func (t *tally) requested() {
	t.mu.Lock()
	t.did.Requests++
	t.mu.Unlock()
}

func (t *tally) streamed(s gateway.StreamStats) {
	t.mu.Lock()
	t.did.MaxHeld, t.did.MaxDelay = max(t.did.MaxHeld, s.MaxHeld), max(t.did.MaxDelay, s.MaxDelay)
	t.mu.Unlock()
}

func (t *tally) decided(en *audit.Entry) {
	t.mu.Lock()
	defer t.mu.Unlock()
	did := &t.did
	if did.Findings == nil {
		did.Findings, t.seen = map[string]int{}, map[string]bool{}
	}
	if en.Outcome == flow.Deny {
		did.Denied++
	}
	for i := range en.Findings {
		f := &en.Findings[i]
		did.Findings[string(f.Action)+" "+string(f.Kind)]++
		// The same value is found again in every turn: it is listed once.
		what := string(f.Action) + f.Fingerprint.String() + f.Rule
		if t.seen[what] {
			continue
		}
		if len(t.seen) < maxSeen {
			t.seen[what] = true
		}
		if len(did.Listed) < maxListed {
			did.Listed = append(did.Listed, *f)
		} else {
			did.More++
		}
	}
}

// Summary is what a server did.
type Summary struct {
	Requests int             // POST requests, with any outcome
	Denied   int             // decisions to deny
	Findings map[string]int  // by action and kind, as "pseudonym api-key"
	Listed   []audit.Finding // the first of each value and rule
	More     int             // findings that are not in Listed
	MaxHeld  int64           // most bytes that a stream held back
	MaxDelay time.Duration   // longest that any were held
}

func (t *tally) summary() Summary {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.did
	s.Findings, s.Listed = map[string]int{}, slices.Clone(s.Listed)
	maps.Copy(s.Findings, t.did.Findings)
	return s
}
