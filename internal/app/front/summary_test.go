package front

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/app/invocation"
	"github.com/margaydev/margay/internal/app/serve"
	"github.com/margaydev/margay/internal/cli"
	"github.com/margaydev/margay/mediator/audit"
)

func TestTell(t *testing.T) {
	var out bytes.Buffer
	a := &app{&invocation.App{Command: cli.Command{Name: "margay", Err: &out}}}
	f := audit.Finding{ID: "F1", Kind: "api-key", Rule: "r", View: "raw+base64", Action: flow.ActRedact, Path: "messages[0]"}
	sum := serve.Summary{Requests: 2, Denied: 1, Findings: map[string]int{"redact api-key": 3}, Listed: []audit.Finding{f}, More: 4, MaxHeld: 99, MaxDelay: 1234 * time.Microsecond}
	if err := a.summarise(sum, true, &Coverage{State: seen, Requests: 2, Samples: 1}); err != nil {
		t.Fatal(err)
	}
	want := "margay: 2 requests, 1 denied; redact api-key ×3 (observing: nothing was changed); at most 99 bytes held back, for 1.2ms\n" +
		"  redact: api-key by r in base64 at messages[0]; undo: margay allow add F1\n  and 4 more: margay log\n  why denied: margay log\n" +
		"margay: coverage: 2 requests came through Margay; no connection past it was seen, which sampling can't rule out\n"
	if out.String() != want {
		t.Errorf("got %q", out.String())
	}
	out.Reset()
	a.JSON = true
	if err := a.summarise(serve.Summary{Findings: map[string]int{}}, false, &Coverage{}); err != nil || !strings.HasPrefix(out.String(), `{"requests":0,"denied":0,"findings":{},"listed":[],`) {
		t.Errorf("got %q, %v", out.String(), err)
	}
}
