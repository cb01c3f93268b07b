package commit_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/mediator/commit"
)

type entry struct {
	flow.Decision
}

func (e entry) Of() flow.Decision { return e.Decision }

// log is a log whose appends do what the test says.
type log struct {
	kept   []entry
	append func(ctx context.Context) error
}

func (l *log) AppendDecisions(ctx context.Context, entries []entry) error {
	if l.append != nil {
		if err := l.append(ctx); err != nil {
			return err
		}
	}
	l.kept = append(l.kept, entries...)
	return nil
}

func decided(o flow.Outcome, reasons ...string) entry {
	d := flow.Decision{ID: "d", Outcome: o}
	for _, r := range reasons {
		d.Reasons = append(d.Reasons, flow.Reason{Code: r})
	}
	return entry{d}
}

// A book without a log commits nothing.
func TestZeroBook(t *testing.T) {
	var b commit.Book[entry]
	for _, e := range []entry{decided(flow.Allow), decided(flow.Allow, "why")} {
		if got, err := b.Commit(t.Context(), e); !errors.Is(err, commit.ErrNotKept) || got.Releases() {
			t.Errorf("releases %v, %v", got.Releases(), err)
		}
		if got := b.Fail(t.Context(), e, true); got.Releases() {
			t.Error("a failure is passed")
		}
	}
}

// Each outcome, with and without a reason: what is kept, and whether anything is
// released.
func TestCommit(t *testing.T) {
	for _, c := range []struct {
		outcome  flow.Outcome
		releases bool
	}{{flow.Allow, true}, {flow.Rewrite, true}, {flow.Confirm, true}, {flow.Deny, false}, {"", false}, {"later", false}} {
		for _, reasons := range [][]string{nil, {"why"}, {"why", "and why"}} {
			l := &log{}
			got, err := commit.Open(l, false).Commit(t.Context(), decided(c.outcome, reasons...))
			if err != nil || got.Releases() != c.releases {
				t.Errorf("%q with %d reasons: releases %v, %v", c.outcome, len(reasons), got.Releases(), err)
			}
			want := 0
			if len(reasons) > 0 {
				want = 1
			}
			if len(l.kept) != want {
				t.Errorf("%q with %d reasons: %d entries are kept", c.outcome, len(reasons), len(l.kept))
			}
			if d := got.Decision(); d.ID != "d" || len(d.Reasons) != len(reasons) || (d.Outcome == flow.Deny) == c.releases {
				t.Errorf("%q: the committed decision is %+v", c.outcome, d)
			}
			if want == 1 && l.kept[0].Outcome != c.outcome {
				t.Errorf("%q is kept as %q", c.outcome, l.kept[0].Outcome)
			}
		}
	}
}

// Nothing but a book mints what releases.
func TestZeroReleasesNothing(t *testing.T) {
	var c commit.Committed
	if d := c.Decision(); c.Releases() || d.Outcome != flow.Deny {
		t.Errorf("the zero Committed is %+v", d)
	}
}

// The write has ended before a decision is committed.
func TestOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		l := &log{append: func(context.Context) error { time.Sleep(time.Second); return nil }}
		c, err := commit.Open(l, false).Commit(t.Context(), decided(flow.Allow, "why"))
		if err != nil || !c.Releases() || time.Since(began) != time.Second || len(l.kept) != 1 {
			t.Errorf("after %v: %v, %d kept", time.Since(began), err, len(l.kept))
		}
	})
}

// A log that fails releases nothing, whether or not failures pass: what was
// decided and not kept is another thing than what could not be decided.
func TestLogFails(t *testing.T) {
	broken := errors.New("disk full")
	for _, pass := range []bool{false, true} {
		for _, o := range []flow.Outcome{flow.Allow, flow.Rewrite, flow.Confirm, flow.Deny} {
			l := &log{append: func(context.Context) error { return broken }}
			c, err := commit.Open(l, pass).Commit(t.Context(), decided(o, "why"))
			if !errors.Is(err, commit.ErrNotKept) || !errors.Is(err, broken) || c.Releases() {
				t.Errorf("%s: releases %v, %v", o, c.Releases(), err)
			}
			if d := c.Decision(); d.Outcome != flow.Deny {
				t.Errorf("%s: the decision is %+v", o, d)
			}
			// Nothing found is nothing to keep.
			if c, err := commit.Open(l, pass).Commit(t.Context(), decided(o)); err != nil || c.Releases() != (o != flow.Deny) {
				t.Errorf("%s without reasons: %v, %v", o, c.Releases(), err)
			}
		}
	}
}

// A client that has gone is released nothing to. Denials are kept all the same.
func TestClientGone(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("gone"))
	l := &log{append: func(ctx context.Context) error { return ctx.Err() }}
	b := commit.Open(l, true)
	for _, o := range []flow.Outcome{flow.Allow, flow.Rewrite, flow.Confirm} {
		for _, e := range []entry{decided(o), decided(o, "why")} {
			if c, err := b.Commit(ctx, e); !errors.Is(err, context.Canceled) || c.Releases() {
				t.Errorf("%s: releases %v, %v", o, c.Releases(), err)
			}
		}
	}
	if len(l.kept) != 0 {
		t.Errorf("%d entries are kept", len(l.kept))
	}
	if _, err := b.Commit(ctx, decided(flow.Deny, "why")); err != nil || len(l.kept) != 1 {
		t.Errorf("a denial: %v, %d kept", err, len(l.kept))
	}
}

// A client that goes during the write does not break it off, and a log that
// does not answer ends after Patience.
func TestPatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		l := &log{append: func(ctx context.Context) error {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(10 * time.Second):
				return nil
			}
		}}
		if c, err := commit.Open(l, false).Commit(ctx, decided(flow.Allow, "why")); err != nil || !c.Releases() || len(l.kept) != 1 {
			t.Errorf("a slow log: %v", err)
		}
		began := time.Now()
		l.append = func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
		if c, err := commit.Open(l, false).Commit(t.Context(), decided(flow.Allow, "why")); !errors.Is(err, context.DeadlineExceeded) || c.Releases() {
			t.Errorf("a log that hangs: %v", err)
		}
		if took := time.Since(began); took != 30*time.Second {
			t.Errorf("it took %v", took)
		}
	})
}

// What could not be decided is denied, unless failures pass. Its entry is kept
// where it can be, and only where that is asked for.
func TestFail(t *testing.T) {
	for _, c := range []struct {
		outcome    flow.Outcome
		pass, keep bool
		append     func(context.Context) error
		releases   bool
		kept       int
	}{
		{flow.Allow, true, true, nil, true, 1},
		{flow.Allow, true, false, nil, true, 0},
		{flow.Allow, false, true, nil, false, 1},
		{flow.Deny, true, true, nil, false, 1},
		{flow.Deny, false, false, nil, false, 0},
		{flow.Allow, true, true, func(context.Context) error { return errors.New("full") }, true, 0},
		{flow.Deny, false, true, func(context.Context) error { panic("secret") }, false, 0},
		{"later", true, true, nil, false, 1},
	} {
		l := &log{append: c.append}
		b := commit.Open(l, c.pass)
		got := b.Fail(t.Context(), decided(c.outcome, "why"), c.keep)
		if d := got.Decision(); got.Releases() != c.releases || len(l.kept) != c.kept || d.ID != "d" || !c.pass && d.Outcome != flow.Deny {
			t.Errorf("%+v: releases %v, %d kept, %+v", c, got.Releases(), len(l.kept), d)
		}
		if b.Passes() != c.pass {
			t.Errorf("passes %v", b.Passes())
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	l := &log{append: func(ctx context.Context) error { return ctx.Err() }}
	commit.Open(l, false).Fail(ctx, decided(flow.Deny, "why"), true)
	if len(l.kept) != 1 {
		t.Error("a failure after the client went is not kept")
	}
}

// A panic of the log's goes up: whoever decides denies.
func TestLogPanics(t *testing.T) {
	l := &log{append: func(context.Context) error { panic("secret") }}
	defer func() {
		if recover() == nil {
			t.Error("the panic is swallowed")
		}
	}()
	_, _ = commit.Open(l, true).Commit(t.Context(), decided(flow.Allow, "why"))
}
