package app

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/gateway"
	"github.com/margaydev/margay/mediator"
)

// maxListed bounds the findings that a summary lists.
const maxListed = 20

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
		switch {
		case t.seen[what]:
		case len(t.findings) >= maxListed:
			t.more++
		default:
			t.seen[what] = true
			t.findings = append(t.findings, *f)
		}
	}
}

// summary is what a run did, for --json.
type summary struct {
	Requests int            `json:"requests"`
	Denied   int            `json:"denied"`
	Findings map[string]int `json:"findings"` // by action and kind
	Listed   []listed       `json:"listed"`
	MaxHeld  int64          `json:"max_held_bytes"`
	MaxDelay time.Duration  `json:"max_delay_ns"`
	Observe  bool           `json:"observe"`
}

type listed struct {
	mediator.FindingRecord
	Allow string `json:"allow"` // the command that lets it pass
}

func (t *tally) summary(observe bool) summary {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := summary{Requests: t.requests, Denied: t.denied, Findings: maps.Clone(t.byAction), MaxHeld: t.maxHeld, MaxDelay: t.maxDelay, Observe: observe}
	for _, f := range t.findings {
		s.Listed = append(s.Listed, listed{f, allowCommandOf(f.ID)})
	}
	return s
}

func allowCommandOf(id string) string { return "margay allow add " + id }

// tell writes the summary of a run to standard error: standard output is the
// agent's.
func (a *app) tell(t *tally, observe bool) error {
	s := t.summary(observe)
	if a.json {
		return a.printTo(a.err, s, nil)
	}
	did := "nothing found"
	if len(s.Findings) > 0 {
		var parts []string
		for _, k := range slices.Sorted(maps.Keys(s.Findings)) {
			parts = append(parts, fmt.Sprintf("%s ×%d", k, s.Findings[k]))
		}
		did = strings.Join(parts, ", ")
	}
	if observe {
		did += " (observing: nothing was changed)"
	}
	held := ""
	if s.MaxHeld > 0 {
		held = fmt.Sprintf("; at most %d bytes held back, for %s", s.MaxHeld, s.MaxDelay.Round(100*time.Microsecond))
	}
	a.note("%s, %d denied; %s%s", count(s.Requests, "request"), s.Denied, did, held)
	for i := range s.Listed {
		fmt.Fprintln(a.err, "  "+describe(&s.Listed[i].FindingRecord))
	}
	if t.more > 0 {
		fmt.Fprintf(a.err, "  and %d more: margay log\n", t.more)
	}
	return nil
}

// count writes a number of things.
func count(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}

// disguise names the encodings that a view has undone; empty for plain text.
func disguise(view string) string {
	if view == "raw" {
		return ""
	}
	return strings.TrimPrefix(view, "raw+")
}

// describe tells a finding in a line, with the command that lets it pass.
func describe(f *mediator.FindingRecord) string {
	what := string(f.Kind) + " by " + f.Rule
	if f.Name != "" {
		what = string(f.Kind) + " " + f.Name
	}
	if v := disguise(f.View); v != "" {
		what += " in " + v
	}
	where := ""
	if f.Path != "" {
		where = " at " + f.Path
	}
	return fmt.Sprintf("%s: %s%s; undo: %s", f.Action, what, where, allowCommandOf(f.ID))
}
