package front

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/margaydev/margay/internal/app/child"
	"github.com/margaydev/margay/internal/app/invocation"
	"github.com/margaydev/margay/internal/app/watch"
	"github.com/margaydev/margay/internal/cli"
	"github.com/margaydev/margay/internal/problem"
)

// What a run says, and how it ends, for everything that can be counted and seen.
func TestJudge(t *testing.T) {
	past := []watch.Seen{{Host: "api.model.example", Address: netip.MustParseAddrPort("10.0.0.1:443"), Program: "codex"}}
	claude, stranger := child.Agent{Name: "Claude Code", API: "anthropic"}, child.Agent{}
	for _, c := range []struct {
		known    child.Agent
		requests int
		report   watch.Report
		flags    runFlags
		code     int // the agent's
		state    string
		text     string
		fails    bool
	}{
		{claude, 2, watch.Report{Samples: 3}, runFlags{require: true}, 0, seen, "2 requests came through Margay; no connection past it was seen, which sampling can't rule out", false},
		{claude, 1, watch.Report{}, runFlags{require: true}, 0, seen, "1 request came through Margay; whether others went past it can't be seen on this system", false},
		{claude, 0, watch.Report{Samples: 3}, runFlags{}, 0, none, "no request came", false},
		{claude, 0, watch.Report{Samples: 3}, runFlags{require: true}, 0, none, "no request came", true},
		{stranger, 1, watch.Report{}, runFlags{}, 0, unproved, "could not be watched", false},
		{stranger, 1, watch.Report{}, runFlags{require: true}, 0, unproved, "could not be watched", true},
		{stranger, 1, watch.Report{Samples: 3, Cut: true}, runFlags{require: true}, 0, unproved, "too many connections to look at all", true},
		{stranger, 1, watch.Report{Samples: 3}, runFlags{require: true}, 0, seen, "1 request came", false},
		{child.Agent{Name: "Gemini CLI", Uncovered: "x"}, 1, watch.Report{Samples: 3}, runFlags{uncovered: true, require: true}, 0, unproved, "can't cover", true},
		{claude, 9, watch.Report{Samples: 3, Seen: past}, runFlags{}, 0, bypassed, "a model API was reached without Margay: api.model.example (10.0.0.1:443) by codex", true},
		{claude, 0, watch.Report{Samples: 3, Seen: past}, runFlags{}, 4, bypassed, "a model API was reached without Margay", false},
		{claude, 9, watch.Report{Samples: 3, Seen: past}, runFlags{uncovered: true}, 0, bypassed, "a model API was reached without Margay", false},
		{claude, 9, watch.Report{Samples: 3, Seen: past}, runFlags{uncovered: true, require: true}, 0, bypassed, "a model API was reached without Margay", true},
		{claude, 0, watch.Report{}, runFlags{require: true}, 3, none, "no request came", false},
	} {
		v := &covering{flags: &c.flags, known: c.known, program: "x"}
		v.judge(c.requests, c.report)
		a := &app{&invocation.App{Command: cli.Command{Name: "margay", Code: c.code}}}
		err := a.fail(v)
		if v.State != c.state || !strings.Contains(v.text(), c.text) || (err != nil) != c.fails {
			t.Errorf("%+v: %s: %s (%v)", c, v.State, v.text(), err)
		}
		if err != nil && (&cli.Command{Err: new(strings.Builder)}).Fail(err) != problem.Failed {
			t.Errorf("%v has another exit code", err)
		}
	}
}
