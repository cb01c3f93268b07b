//go:build unix

package serve

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/app/config"
	"github.com/margaydev/margay/internal/app/localsock"
	"github.com/margaydev/margay/internal/app/mediation"
	"github.com/margaydev/margay/internal/app/state"
	"github.com/margaydev/margay/mediator"
	"github.com/margaydev/margay/mediator/session"
	"github.com/margaydev/margay/secret"
	"github.com/margaydev/margay/store/memory"
	"github.com/margaydev/margay/taint/clear"
)

// What is known of labels goes over the socket of a run, beside hooks.
func TestServeLabels(t *testing.T) {
	dir, err := os.MkdirTemp("", "s") // a short path, as sockets need
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	st := &state.State{Keys: secret.Keys{Pseudonym: [32]byte{1}}, Store: memory.New()}
	log := slog.New(slog.DiscardHandler)
	c := config.Default()
	c.Taint.Mode = "on"
	family := flow.TrajectoryID(flow.NewID())
	taints, err := mediation.Taint(c, st, nil, log)
	if err != nil {
		t.Fatal(err)
	}
	es := &engines{base: mediator.Config{Config: session.Config{Keys: st.Keys, Store: st.Store, Family: family}, Taint: taints}}
	engine, err := es.top(c)
	if err != nil {
		t.Fatal(err)
	}
	h := es.hooks(engine, true)
	path := filepath.Join(dir, localsock.Name)
	ln, err := localsock.Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		serveLocal(context.Background(), ln, &live{now: &Server{hooks: h, engine: engine}}, log)
	}()
	p := &peer{func(ctx context.Context) (net.Conn, error) { return localsock.Dial(ctx, path) }}
	digest := clear.Digest{1}
	for _, s := range []struct {
		share mediator.Share
		label string
		spent bool
	}{
		{mediator.Share{Label: "(trusted, public)"}, "(trusted, public)", false},
		{mediator.Share{Label: "(untrusted, public)", Place: "a", Spend: &digest}, "(untrusted, public)", false},
		{mediator.Share{Label: "(trusted, private)", Place: "a", Permit: &digest}, "(untrusted, private)", false},
		{mediator.Share{Label: "(trusted, public)", Place: "a", Spend: &digest}, "(untrusted, private)", false},
		{mediator.Share{Label: "(trusted, public)", Place: "b", Spend: &digest}, "(untrusted, private)", true},
		{mediator.Share{Label: "(trusted, public)", Place: "b", Spend: &digest}, "(untrusted, private)", false},
	} {
		s.share.Trajectory = family
		got, err := p.Share(t.Context(), s.share)
		if err != nil || got.Label != s.label || got.Spent != s.spent || got.Off {
			t.Errorf("%+v: %+v, %v", s.share, got, err)
		}
	}
	if _, err := p.Share(t.Context(), mediator.Share{Trajectory: flow.TrajectoryID(flow.NewID()), Label: "(trusted, public)"}); err == nil {
		t.Error("another trajectory was answered for")
	}
	for _, words := range []string{
		"margay labels 1 3\n{}}", "margay labels 2 2\n{}", "margay labels 1 -1\n", "margay labels 1 99999999\n{}", "margay labels 1 13\n{\"label\":\"\",,}",
		"margay labels 1 25\n{\"label\":\"x\",\"label\":\"y\"}", "margay labels 1 9\n{\"x\":\"y\"}", "margay labels " + strings.Repeat("1", 5000) + "\n",
	} {
		conn, err := localsock.Dial(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(conn, words)
		if out, _ := io.ReadAll(conn); len(out) > 0 {
			t.Errorf("%q was answered with %q", words, out)
		}
		_ = conn.Close()
	}
	_ = ln.Close()
	<-done
	if _, err := p.Share(t.Context(), mediator.Share{Trajectory: family}); !errors.Is(err, localsock.ErrNotRunning) {
		t.Errorf("closed: %v", err)
	}
}
