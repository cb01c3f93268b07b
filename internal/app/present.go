package app

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/margaydev/margay/internal/console/view"
	"github.com/margaydev/margay/internal/serve"
	"github.com/margaydev/margay/mediator"
)

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

// tell writes the summary of a run to standard error: standard output is the
// agent's.
func (a *app) tell(s serve.Summary, observe bool) error {
	if a.json {
		out := summary{Requests: s.Requests, Denied: s.Denied, Findings: s.Findings, Listed: []listed{}, MaxHeld: s.MaxHeld, MaxDelay: s.MaxDelay, Observe: observe}
		for _, f := range s.Listed {
			out.Listed = append(out.Listed, listed{f, allowCommandOf(f.ID)})
		}
		return a.printTo(a.err, out, nil)
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
		fmt.Fprintln(a.err, "  "+describe(&s.Listed[i]))
	}
	if s.More > 0 {
		fmt.Fprintf(a.err, "  and %d more: margay log\n", s.More)
	}
	return nil
}

func allowCommandOf(id string) string { return "margay allow add " + id }

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

// shown writes text for people. What would steer their terminal, or turn what
// they read around, stands as a sign for it: names, titles and paths may have
// been chosen by somebody else.
type shown struct{ io.Writer }

func (w shown) Write(p []byte) (int, error) {
	if _, err := io.WriteString(w.Writer, view.Visible(string(p))); err != nil {
		return 0, err
	}
	return len(p), nil
}
