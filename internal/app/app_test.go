package app

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/margaydev/margay/bench/docs"
	"github.com/spf13/cobra"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/serve"
	"github.com/margaydev/margay/mediator"
	"github.com/margaydev/margay/secret"
	"github.com/margaydev/margay/store/memory"
	"github.com/margaydev/margay/taint/pack"
)

func TestReferenceIsUpToDate(t *testing.T) {
	want, err := os.ReadFile(filepath.Join("..", "..", "docs", "cli.md"))
	if err != nil {
		t.Fatal(err)
	}
	if got := reference((&app{}).root()); got != string(want) {
		t.Error("docs/cli.md is out of date: go generate ./internal/app")
	}
}

// No figure in the documents is typed by hand.
func TestFiguresAreUpToDate(t *testing.T) {
	root := filepath.Join("..", "..")
	all, err := readResults(filepath.Join(root, "docs", "bench"))
	if err != nil || len(all) == 0 {
		t.Fatalf("%d results, %v", len(all), err)
	}
	for _, f := range []string{filepath.Join(root, "docs", "benchmarks.md"), filepath.Join(root, "README.md")} {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if text, err := docs.Fill(string(b), all); err != nil || text != string(b) {
			t.Errorf("%s is out of date: go generate ./internal/app (%v)", f, err)
		}
	}
}

// Every command and every flag says what it does.
func TestEveryFlagIsDescribed(t *testing.T) {
	for _, l := range strings.Split(reference((&app{}).root()), "\n") {
		if strings.HasPrefix(l, "| `--") && strings.HasSuffix(l, "|  |") {
			t.Errorf("no description: %s", l)
		}
	}
}

func logged(id string) mediator.LogEntry {
	return mediator.LogEntry{Decision: flow.Decision{
		ID: id, Verb: flow.Prompt, Outcome: flow.Rewrite, At: time.Now(), Reasons: []flow.Reason{{Code: "test", Detail: "entry " + id}},
	}}
}

// What is appended while the log is followed is printed once, even where its
// id is less than the last one printed.
func TestFollow(t *testing.T) {
	store := memory.New()
	long := before(time.Now().Add(-time.Hour)) // an answer that was an hour under way
	early, first := flow.NewID(), flow.NewID()
	add := func(id string) {
		t.Helper()
		if err := store.AppendDecisions(t.Context(), []mediator.LogEntry{logged(id)}); err != nil {
			t.Fatal(err)
		}
	}
	add(first)
	r, w := io.Pipe()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		a := &app{out: w}
		done <- a.showLog(ctx, store, time.Time{}, 100, true)
		_ = w.Close()
	}()
	lines := bufio.NewScanner(r)
	expect := func(id string) {
		t.Helper()
		for lines.Scan() {
			if strings.Contains(lines.Text(), "entry ") {
				if !strings.HasSuffix(lines.Text(), id) {
					t.Errorf("got %q, want the entry %s", lines.Text(), id)
				}
				return
			}
		}
		t.Error("the log ended")
	}
	expect(first)
	add(early)
	expect(early)
	add(long)
	expect(long)
	last := flow.NewID()
	add(last)
	expect(last)
	cancel()
	for lines.Scan() {
		t.Errorf("printed again: %q", lines.Text())
	}
	if err := <-done; err != nil && ctx.Err() == nil {
		t.Error(err)
	}
}

func TestLogPages(t *testing.T) {
	store := memory.New()
	var ids []string
	for range 2*logPage + 7 {
		ids = append(ids, flow.NewID())
		if err := store.AppendDecisions(t.Context(), []mediator.LogEntry{logged(ids[len(ids)-1])}); err != nil {
			t.Fatal(err)
		}
	}
	for _, n := range []int{0, 1, 5, logPage, len(ids), len(ids) + 1} {
		var out bytes.Buffer
		a := &app{out: &out}
		if err := a.showLog(t.Context(), store, time.Time{}, n, false); err != nil {
			t.Fatal(err)
		}
		want := ids
		if n > 0 && n < len(ids) {
			want = ids[len(ids)-n:]
		}
		got := 0
		for _, l := range strings.Split(out.String(), "\n") {
			if _, id, ok := strings.Cut(l, "entry "); ok {
				if got < len(want) && id != want[got] {
					t.Fatalf("-n %d: line %d is another entry", n, got)
				}
				got++
			}
		}
		if got != len(want) {
			t.Errorf("-n %d: %d entries, want %d", n, got, len(want))
		}
	}
}

func TestBefore(t *testing.T) {
	now := time.Now()
	id := flow.NewID()
	if before(now.Add(-time.Second)) >= id || before(now.Add(time.Second)) <= id || before(time.Time{}) != "" {
		t.Error("an id is on the wrong side of its time")
	}
}

func TestParseDuration(t *testing.T) {
	for s, want := range map[string]time.Duration{
		"30d": 720 * time.Hour, "12h": 12 * time.Hour, "90m": 90 * time.Minute, "0d": 0, "-1d": 0, "-5m": 0, "": 0, "d": 0, "5": 0, "99999999d": 0, "soon": 0,
	} {
		if got, err := parseDuration(s); got != want && err == nil || (err == nil) != (want > 0) {
			t.Errorf("%q: %v, %v", s, got, err)
		}
	}
}

// An allowance that was made for a while ends by itself; one list shows when.
func TestExpiry(t *testing.T) {
	now := time.Now()
	until, err := expiry("1h", now)
	if err != nil {
		t.Fatal(err)
	}
	fp := secret.Fingerprint{1}
	allows := []secret.Allow{{ID: "x", Fingerprint: fp, Expires: until}}
	if !mediator.Allowed(allows, fp, "r", "", now) || mediator.Allowed(allows, fp, "r", "", now.Add(2*time.Hour)) {
		t.Error("the expiry does not count")
	}
}

func TestTell(t *testing.T) {
	var out bytes.Buffer
	a := &app{err: &out}
	f := mediator.FindingRecord{ID: "F1", Kind: "api-key", Rule: "r", View: "raw+base64", Action: flow.ActRedact, Path: "messages[0]"}
	sum := serve.Summary{Requests: 2, Denied: 1, Findings: map[string]int{"redact api-key": 3}, Listed: []mediator.FindingRecord{f}, More: 4, MaxHeld: 99, MaxDelay: 1234 * time.Microsecond}
	if err := a.tell(sum, true); err != nil {
		t.Fatal(err)
	}
	want := "margay: 2 requests, 1 denied; redact api-key ×3 (observing: nothing was changed); at most 99 bytes held back, for 1.2ms\n" +
		"  redact: api-key by r in base64 at messages[0]; undo: margay allow add F1\n  and 4 more: margay log\n"
	if out.String() != want {
		t.Errorf("got %q", out.String())
	}
	out.Reset()
	a.json = true
	if err := a.tell(serve.Summary{Findings: map[string]int{}}, false); err != nil || !strings.HasPrefix(out.String(), `{"requests":0,"denied":0,"findings":{},"listed":[],`) {
		t.Errorf("got %q, %v", out.String(), err)
	}
}

// The review of the packs is written from the packs.
func TestReviewIsUpToDate(t *testing.T) {
	want, err := os.ReadFile(filepath.Join("..", "..", "docs", "packs.md"))
	if err != nil {
		t.Fatal(err)
	}
	packs, err := pack.All()
	if err != nil {
		t.Fatal(err)
	}
	if pack.Review(packs) != string(want) {
		t.Error("docs/packs.md is out of date: go generate ./internal/app")
	}
}

// The commands that take ids, files and keys have examples.
func TestEveryCommandHasAnExample(t *testing.T) {
	var look func(c *cobra.Command)
	look = func(c *cobra.Command) {
		if !strings.Contains(c.Example, "margay") && !c.HasSubCommands() {
			t.Errorf("%s has no example", c.CommandPath())
		}
		for _, s := range c.Commands() {
			if !s.Hidden && s.Name() != "help" && s.Name() != "completion" {
				look(s)
			}
		}
	}
	for _, c := range (&app{}).root().Commands() {
		if slices.Contains([]string{"approve", "budget", "console", "ledger", "policy", "report", "rubric", "run", "serve"}, c.Name()) {
			look(c)
		}
	}
}

// What is broken off is said to be, and nothing is said to be wrong.
func TestInterrupted(t *testing.T) {
	var errs strings.Builder
	a := &app{err: &errs}
	if code := a.fail(failure(ledgerHint, "store: %w", context.Canceled)); code != exitFailed || errs.String() != "margay: interrupted\n" {
		t.Errorf("%d: %q", code, errs.String())
	}
}

// Hooks start margay for each call: nothing is built for commands that are not
// run. A set of recognisers alone takes some hundred thousand allocations.
func TestStartsLight(t *testing.T) {
	n := testing.AllocsPerRun(1, func() {
		if Main([]string{"version"}, strings.NewReader(""), io.Discard, io.Discard) != 0 {
			t.Error("version fails")
		}
	})
	if n > 10_000 {
		t.Errorf("%.0f allocations to start", n)
	}
}
