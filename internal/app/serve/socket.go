package serve

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/hook"
	"github.com/margaydev/margay/internal/app/config"
	"github.com/margaydev/margay/internal/app/mediation"
	"github.com/margaydev/margay/internal/app/state"
	"github.com/margaydev/margay/internal/strictjson"
	"github.com/margaydev/margay/mediator"
	"github.com/margaydev/margay/mediator/audit"
	"github.com/margaydev/margay/secret"
)

// maxHooks bounds the events that are decided at the same time. Others wait.
const maxHooks = 64

// NewHooks returns a handler for the events of harnesses, for a process without
// a running mediator; family is the trajectory of all, or empty. Errors are of
// type *problem.Error or *config.Error.
func NewHooks(c *config.Config, st *state.State, family flow.TrajectoryID, log *slog.Logger) (*hook.Handler, error) {
	es, _, err := newEngines(context.Background(), c, st, log, nil)
	if err != nil {
		return nil, err
	}
	es.base.Family = family
	es.base.Decided = func(en audit.Entry) { logDecision(log, &en) }
	engine, err := es.top(c)
	if err != nil {
		return nil, err
	}
	return es.hooks(engine, false), nil
}

// hooks returns a handler with an engine. whole: if all events belong to one
// trajectory, it started with this process.
func (e *engines) hooks(engine *mediator.Engine, whole bool) *hook.Handler {
	joined := e.base.Family != ""
	return hook.New(hook.Config{Engine: engine, Key: hookKey(&e.base.Keys), Joined: joined, Whole: whole && joined})
}

// hookKey returns the key that turns the sessions of harnesses into
// trajectories.
func hookKey(k *secret.Keys) [32]byte {
	return mediation.Derive(k.Pseudonym, "margay hook sessions v1")
}

// serveLocal answers events of hooks, and questions of the run's MCP servers
// about labels, until the listener is closed; then it waits for those under
// way. Without the listener, hooks and MCP servers decide by themselves.
func serveLocal(ctx context.Context, ln net.Listener, l *live, log *slog.Logger) {
	var all sync.WaitGroup
	defer all.Wait()
	slots := make(chan struct{}, maxHooks)
	for {
		slots <- struct{}{}
		conn, err := ln.Accept()
		if err != nil {
			if !errors.Is(err, net.ErrClosed) {
				log.Error("the socket for hooks failed", "error", err)
				_ = ln.Close()
			}
			return
		}
		all.Go(func() {
			defer func() { <-slots }()
			s := l.take()
			defer s.busy.Done()
			in := bufio.NewReaderSize(conn, 4096)
			_ = conn.SetReadDeadline(time.Now().Add(hook.MaxTime)) // a silent client must not hold a slot
			if word, err := in.Peek(len(labelsWord)); err == nil && string(word) == labelsWord {
				if err := serveLabels(ctx, conn, in, s.engine); err != nil {
					log.Warn("an MCP server got no labels", "error", err)
				}
				return
			}
			if err := s.hooks.Serve(ctx, &peeked{conn, in}); err != nil {
				log.Warn("a hook got no answer", "error", err)
			}
		})
	}
}

// A connection carries one question: a header line and a JSON document, and the
// same back. Anything else is an error, and an error refuses the call in question.
const (
	labelsHead = "margay labels 1 %d\n"
	labelsWord = "margay labels "
	maxShare   = 64 << 10
	shareTime  = 5 * time.Second
)

// peer is the mediator of the run that this process belongs to.
type peer struct {
	dial func(ctx context.Context) (net.Conn, error)
}

// Share implements step.Peer.
func (p *peer) Share(ctx context.Context, s mediator.Share) (mediator.Shared, error) {
	// Labels are shared even if nobody waits for the answer any more.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), shareTime)
	defer cancel()
	conn, err := p.dial(ctx)
	if err != nil {
		return mediator.Shared{}, fmt.Errorf("the run's mediator: %w", err)
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	var out mediator.Shared
	if err := writeShare(conn, s); err != nil {
		return out, fmt.Errorf("the run's mediator: %w", err)
	}
	if err := readShare(bufio.NewReaderSize(conn, 4096), &out); err != nil {
		return mediator.Shared{}, fmt.Errorf("the run's mediator: %w", err)
	}
	return out, nil
}

// serveLabels answers one question on a connection, and closes it.
func serveLabels(ctx context.Context, conn net.Conn, in *bufio.Reader, e *mediator.Engine) error {
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	_ = conn.SetDeadline(time.Now().Add(shareTime))
	var s mediator.Share
	if err := readShare(in, &s); err != nil {
		return err
	}
	out, err := e.Share(&s)
	if err != nil {
		return err
	}
	return writeShare(conn, out)
}

func writeShare(w io.Writer, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = w.Write(append(fmt.Appendf(nil, labelsHead, len(b)), b...))
	return err
}

func readShare(r *bufio.Reader, v any) error {
	line, err := r.ReadSlice('\n')
	if err != nil {
		return err
	}
	var n int
	if k, err := fmt.Sscanf(string(line), labelsHead, &n); err != nil || k != 1 || string(line) != fmt.Sprintf(labelsHead, n) || n < 0 || n > maxShare {
		return errors.New("unknown version of the labels protocol")
	}
	b := make([]byte, n)
	if _, err := io.ReadFull(r, b); err != nil {
		return err
	}
	var doc strictjson.Doc
	if err := doc.Parse(b, strictjson.Limits{MaxBytes: maxShare}); err != nil {
		return err
	}
	d := json.NewDecoder(strings.NewReader(string(b)))
	d.DisallowUnknownFields()
	return d.Decode(v)
}

// peeked is a connection with a buffer of what was read from it.
type peeked struct {
	net.Conn
	in *bufio.Reader
}

func (p *peeked) Read(b []byte) (int, error) { return p.in.Read(b) }
