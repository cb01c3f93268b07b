package decisions

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/app/invocation"
	"github.com/margaydev/margay/internal/cli"
	"github.com/margaydev/margay/mediator/audit"
	"github.com/margaydev/margay/store/memory"
)

func logged(id string) audit.Entry {
	return audit.Entry{Decision: flow.Decision{
		ID: id, Verb: flow.Prompt, Outcome: flow.Rewrite, At: time.Now(), Reasons: []flow.Reason{{Code: "test", Detail: "entry " + id}},
	}}
}

// What is appended while the log is followed is printed once, even where its
// id is less than the last one printed.
func TestFollow(t *testing.T) {
	store := memory.New()
	long := audit.FirstID(time.Now().Add(-time.Hour)) // an answer that was an hour under way
	early, first := flow.NewID(), flow.NewID()
	add := func(id string) {
		t.Helper()
		if err := store.AppendDecisions(t.Context(), []audit.Entry{logged(id)}); err != nil {
			t.Fatal(err)
		}
	}
	add(first)
	r, w := io.Pipe()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		a := &app{&invocation.App{Command: cli.Command{Out: w}}}
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
		if err := store.AppendDecisions(t.Context(), []audit.Entry{logged(ids[len(ids)-1])}); err != nil {
			t.Fatal(err)
		}
	}
	for _, n := range []int{0, 1, 5, logPage, len(ids), len(ids) + 1} {
		var out bytes.Buffer
		a := &app{&invocation.App{Command: cli.Command{Out: &out}}}
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
