package serve

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/gateway"
	"github.com/margaydev/margay/mediator"
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
	mu       sync.Mutex
	requests int
	denied   int
	byAction map[string]int // "pseudonym api-key"
	findings []mediator.FindingRecord
	more     int // findings that are not listed
	seen     map[string]bool
	maxHeld  int64
	maxDelay time.Duration
}

func (t *tally) requested() {
	t.mu.Lock()
	t.requests++
	t.mu.Unlock()
}

func (t *tally) streamed(s gateway.StreamStats) {
	t.mu.Lock()
	t.maxHeld, t.maxDelay = max(t.maxHeld, s.MaxHeld), max(t.maxDelay, s.MaxDelay)
	t.mu.Unlock()
}

func (t *tally) decided(en *mediator.LogEntry) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.byAction == nil {
		t.byAction, t.seen = map[string]int{}, map[string]bool{}
	}
	if en.Outcome == flow.Deny {
		t.denied++
	}
	for i := range en.Findings {
		f := &en.Findings[i]
		t.byAction[string(f.Action)+" "+string(f.Kind)]++
		// The same value is found again in every turn: it is listed once.
		what := string(f.Action) + f.Fingerprint.String() + f.Rule
		if t.seen[what] {
			continue
		}
		if len(t.seen) < maxSeen {
			t.seen[what] = true
		}
		if len(t.findings) < maxListed {
			t.findings = append(t.findings, *f)
		} else {
			t.more++
		}
	}
}

// Summary is what a server did.
type Summary struct {
	Requests int                      // POST requests, whatever became of them
	Denied   int                      // decisions that let nothing pass
	Findings map[string]int           // by action and kind, as "pseudonym api-key"
	Listed   []mediator.FindingRecord // the first of each value and rule
	More     int                      // findings that are not in Listed
	MaxHeld  int64                    // most bytes that a stream held back
	MaxDelay time.Duration            // longest that any were held
}

func (t *tally) summary() Summary {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.byAction == nil {
		t.byAction = map[string]int{}
	}
	return Summary{
		Requests: t.requests, Denied: t.denied, Findings: maps.Clone(t.byAction), Listed: slices.Clone(t.findings), More: t.more,
		MaxHeld: t.maxHeld, MaxDelay: t.maxDelay,
	}
}
