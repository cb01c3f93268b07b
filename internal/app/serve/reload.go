package serve

import (
	"context"
	"net/http"
	"sync"

	"github.com/margaydev/margay/internal/app/config"
	"github.com/margaydev/margay/internal/app/state"
	"github.com/margaydev/margay/internal/httpedge"
	"github.com/margaydev/margay/internal/problem"
)

// live is the Server that new requests go to: the one that listens, or what
// Reload made of a later configuration. Requests end on the one that they began
// on.
type live struct {
	mu  sync.Mutex
	now *Server
	old sync.WaitGroup // Servers that still answer
}

// take returns the Server of a new request, which calls busy.Done at its end.
func (l *live) take() *Server {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.now.busy.Add(1)
	return l.now
}

// ServeHTTP implements http.Handler.
func (l *live) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s := l.take()
	defer s.busy.Done()
	httpedge.Pace(w, r)
	s.ServeHTTP(w, r)
}

// swap puts another Server in place. The old one is released when it has
// answered.
func (l *live) swap(next *Server) {
	l.mu.Lock()
	old := l.now
	l.now = next
	l.mu.Unlock()
	old.muteConsole()
	l.old.Go(func() {
		old.busy.Wait()
		old.release()
	})
}

func (l *live) mute() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.now.muteConsole()
}

// close releases all Servers, once they have answered.
func (l *live) close() {
	l.old.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.now.release()
}

func (s *Server) muteConsole() {
	if s.console != nil {
		s.console.Close()
	}
}

// Reload puts a configuration in force for the requests that arrive from now on,
// or returns why margay serve would not start on it, and changes nothing. It also
// refuses defaults where there was a file: a lost one does not lift its rules. What
// the old one discovered in memory is forgotten, as at a start. fixed are the
// settings that differ and need a start to change.
func (s *Server) Reload(ctx context.Context, was, c *config.Config, st *state.State) (fixed []string, err error) {
	if was.File != "" && c.File == "" {
		return nil, problem.Usage("put it back; an empty file means the defaults", "the configuration file %s is gone", was.File)
	}
	fixed = keep(was, c)
	if err := mayListen(c, s.ln.Addr().String()); err != nil {
		return fixed, err
	}
	if err := CheckStart(ctx, c); err != nil {
		return fixed, err
	}
	next, err := New(c, st, s.o)
	if err != nil {
		return fixed, err
	}
	s.live.swap(next)
	return fixed, nil
}

// keep sets in c what can't change while a Server runs, and names what it sets.
func keep(was, c *config.Config) (fixed []string) {
	for _, f := range []struct {
		name string
		same bool
	}{
		{"listen", was.Listen == c.Listen},
		{"state_dir", was.State() == c.State()},
		{"store", was.StorePath() == c.StorePath()},
		{"key_dir", was.Keys() == c.Keys()},
		{"log", was.Log == c.Log},
	} {
		if !f.same {
			fixed = append(fixed, f.name)
		}
	}
	c.Listen, c.StateDir, c.Store, c.KeyDir, c.Log = was.Listen, was.StateDir, was.Store, was.KeyDir, was.Log
	return fixed
}
