package serve

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"

	"github.com/margaydev/margay/internal/app/config"
	"github.com/margaydev/margay/internal/app/state"
	"github.com/margaydev/margay/internal/problem"
	"github.com/margaydev/margay/secret"
	"github.com/margaydev/margay/store/memory"
)

// Check returns what margay serve would refuse at its start, in the same words,
// except that an address is in use. It listens nowhere, and makes nothing.
func Check(ctx context.Context, c *config.Config) error {
	if err := CheckStart(ctx, c); err != nil {
		return err
	}
	// What New refuses, New says: over a state that is forgotten.
	dry := *c
	dry.Store = "memory"
	s, err := New(&dry, &state.State{Keys: secret.NewKeys(), Store: memory.New()}, Options{Listener: nowhere(c.Listen), Log: slog.New(slog.DiscardHandler), Console: true})
	if err != nil {
		return err
	}
	s.muteConsole()
	s.release()
	return nil
}

// CheckStart is the part of Check that New does not do.
func CheckStart(ctx context.Context, c *config.Config) error {
	if err := checkLoop(c, c.Listen); err != nil {
		return err
	}
	if err := mayListen(c, c.Listen); err != nil {
		return err
	}
	if err := checkLog(c.Log.File); err != nil {
		return err
	}
	return state.Check(ctx, c)
}

// checkLog returns an error if a file can't be appended to, or made.
func checkLog(path string) error {
	if path == "" {
		return nil
	}
	f, err := os.OpenFile(filepath.Clean(path), os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		return f.Close()
	}
	if errors.Is(err, fs.ErrNotExist) {
		if st, serr := os.Stat(filepath.Dir(path)); serr == nil && st.IsDir() {
			return nil
		}
	}
	return LogProblem(err)
}

// LogProblem is what is wrong with the log's file.
func LogProblem(err error) error {
	return problem.Failure("see log.file in the configuration", "the log can't be written: %w", err)
}

// nowhere is a listener that only has its address.
type nowhere string

func (nowhere) Accept() (net.Conn, error) { return nil, net.ErrClosed }
func (nowhere) Close() error              { return nil }
func (n nowhere) Addr() net.Addr          { return n }
func (nowhere) Network() string           { return "tcp" }
func (n nowhere) String() string          { return string(n) }

// checkLoop refuses a configuration one of whose upstreams is the address to
// listen on: each request would come back as another one.
func checkLoop(c *config.Config, addr string) error {
	ups := map[string]config.Upstream{}
	maps.Copy(ups, c.Upstreams)
	name, main, err := c.Named("")
	if err != nil {
		return err
	}
	ups[name] = main
	if name, main, err = c.Messages(); err != nil {
		return err
	}
	ups[name] = main
	for _, name := range slices.Sorted(maps.Keys(ups)) {
		if same(addr, ups[name].URL) {
			return problem.Usage("name the model API with --upstream; OPENAI_BASE_URL and ANTHROPIC_BASE_URL count where nothing else names one", "the upstream %s is this gateway itself", ups[name].URL)
		}
	}
	// Beyond the gateway nobody holds an endpoint to this machine.
	for _, e := range []struct {
		key, url string
		asked    bool
	}{
		{"taint.judge.url", c.Taint.Judge.URL, c.Taint.Screen == "judge"},
		{"declassify.llm.url", c.Declassify.LLM.URL, c.Declassify.Defender == "llm"},
	} {
		if e.asked && same(addr, e.url) {
			return problem.Usage("name the address of the model itself", "%s is this gateway itself", e.key)
		}
	}
	return nil
}
