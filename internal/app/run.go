package app

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/child"
	"github.com/margaydev/margay/internal/config"
	"github.com/margaydev/margay/internal/environ"
	"github.com/margaydev/margay/internal/localsock"
	"github.com/margaydev/margay/internal/serve"
	"github.com/margaydev/margay/internal/state"
	"github.com/margaydev/margay/secret"
	"github.com/margaydev/margay/secret/recognise"
	"github.com/margaydev/margay/store/memory"
)

type runFlags struct {
	upstream                 string
	noImport, observe, quiet bool
	uncovered, console       bool
}

func (a *app) runCommand() *cobra.Command {
	var f runFlags
	c := &cobra.Command{
		Use:   "run [flags] -- COMMAND [ARG...]",
		Short: "Run an agent with Margay in front of its model",
		Long: `Run an agent with Margay in front of its model.

Margay listens on a free loopback port, points the agent at it, and forwards to
the API that the agent would have used: --upstream, else MARGAY_UPSTREAM,
OPENAI_BASE_URL, OPENAI_API_BASE or ANTHROPIC_BASE_URL, the configuration, the
API's own address. Programs of the OpenAI and Anthropic SDKs and Claude Code find
it by OPENAI_BASE_URL, OPENAI_API_BASE and ANTHROPIC_BASE_URL; Codex by flags that
name a provider. Its address holds a random part, or needs a random header, that is
told to the agent alone, so that other users of the machine can't use it.

An agent whose model is out of reach is not run: Gemini CLI, Cursor, a Claude Code
on Bedrock or Vertex, a Codex with a provider of its own arguments. --uncovered
runs it all the same. What tools send by themselves never goes through here; see
docs/agents.md for what hooks and MCP cover.

The credentials in the agent's environment and in .env files of the working
directory are protected for this run. They are named, never shown or stored.

Signals are passed on. The exit code is the agent's; 128 and the signal's number
where a signal ended it.`,
		Example: "  margay run -- python agent.py\n  margay run --observe -- my-agent --verbose",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage("margay run -- python agent.py", "there is no command to run")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return a.run(cmd.Context(), &f, args) },
	}
	c.Flags().SetInterspersed(false)
	c.Flags().StringVar(&f.upstream, "upstream", "", "base `URL` of the model API, or the name of a configured upstream")
	complete(c, "upstream", a.upstreams)
	c.Flags().BoolVar(&f.noImport, "no-import", false, "do not protect the credentials of environment and .env files")
	c.Flags().BoolVar(&f.observe, "observe", false, "report findings and change nothing")
	c.Flags().BoolVar(&f.console, "console", false, "serve the console while the agent runs, and print its address")
	c.Flags().BoolVar(&f.quiet, "quiet", false, "print nothing of Margay's own but errors")
	c.Flags().BoolVar(&f.uncovered, "uncovered", false, "run an agent whose model is out of reach, too: its traffic with it is not looked at")
	return c
}

func (a *app) run(ctx context.Context, f *runFlags, args []string) error {
	known := child.Recognise(args, os.Environ())
	if known.Uncovered != "" {
		if !f.uncovered {
			return failure(known.Hint+"; --uncovered runs it all the same", "margay can't stand in front of the model of %s: %s", known.Name, known.Uncovered)
		}
		a.note("the model of %s is NOT covered: %s", known.Name, known.Uncovered)
	}
	claude := known.API == "anthropic"
	named := []string{"MARGAY_UPSTREAM"}
	if !claude {
		named = append(named, child.BaseURLs()...)
	}
	for _, v := range named {
		if f.upstream == "" {
			f.upstream = os.Getenv(v)
		}
	}
	c, err := a.load(func(c *config.Config) {
		c.Observe = c.Observe || f.observe
		switch {
		case f.upstream != "" && claude:
			c.Anthropic = f.upstream
		case f.upstream != "":
			c.Upstream = f.upstream
		case known.Upstream != "":
			c.Upstream = cmp.Or(c.Upstream, known.Upstream)
		}
	})
	if err != nil {
		return err
	}
	path, err := child.Find(args[0])
	if err != nil {
		return err
	}
	ln, err := serve.Listen(c, "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer ln.Close()
	if c.Log.File == "" && c.Log.Level != "debug" {
		c.Log.Level = "error" // the agent owns the terminal; margay log tells the rest
	}
	log, closeLog, err := a.logger(c.Log)
	if err != nil {
		return err
	}
	defer closeLog()
	st, err := state.Open(ctx, c)
	if err != nil {
		return err
	}
	defer st.Close()
	var recs []secret.Record
	if !f.noImport {
		if recs, err = a.importRun(&st.Keys, f.quiet); err != nil {
			return err
		}
	}
	c.Access.Token = "" // the random part of the URL stands in for it
	var random [16]byte
	_, _ = rand.Read(random[:])
	token := hex.EncodeToString(random[:])
	family := flow.TrajectoryID(flow.NewID())
	hooks, socket, closeHooks := ownSocket(log)
	defer closeHooks()
	var page *serve.ConsoleOptions
	if f.console {
		c.Console.Enabled = true
		page = &serve.ConsoleOptions{Key: serve.ConsoleKey(&st.Keys)}
	}
	s, err := serve.New(c, st, serve.Options{
		Console:  page,
		Listener: ln, Token: token, Ephemeral: recs, Family: family, Log: log, Grace: time.Second, Hooks: hooks,
		Asked:  a.asksAbout(f.quiet),
		Values: memory.New(), // the child's credentials are not stored, not even sealed
	})
	if err != nil {
		return err
	}
	_, up, err := c.Named("")
	if claude {
		_, up, err = c.Messages()
	}
	if err != nil {
		return err
	}
	if !f.quiet && known.Uncovered == "" {
		a.note("%s goes through Margay to %s", filepath.Base(args[0]), up.URL)
	}
	if page != nil {
		a.note("console at %s (once, within ten minutes; margay console --listen %s prints another)", s.Console(page.Key), ln.Addr())
	}
	if c.OnErrorPass(&up) {
		a.note("on_error is pass: what Margay fails to decide goes out as it is")
	}
	serving, stop := context.WithCancel(ctx)
	served := make(chan error, 1)
	go func() { served <- s.Serve(serving) }()
	env := os.Environ()
	if known.Uncovered == "" {
		args = known.Args(args, s.Base()+"/v1")
		env = child.Env(env, s.Base()+"/"+token)
	}
	agent := child.Command{
		Path: path, Args: args, In: a.in, Out: bare(a.out), Err: a.err,
		Env: append(child.Without(env, config.EnvKeys, config.EnvLedgerKey, "MARGAY_ACCESS_TOKEN"),
			config.EnvTrajectory+"="+string(family), localsock.Env+"="+socket, child.TokenEnv+"="+token),
	}
	a.code, err = agent.Run()
	stop()
	if e := <-served; err == nil && e != nil && !errors.Is(e, http.ErrServerClosed) {
		err = failure("run it again", "the gateway broke off: %w", e)
	}
	if err == nil && !f.quiet {
		err = a.tell(s.Summary(), c.Observe)
	}
	return err
}

// ownSocket listens for the hooks of one run. They go to the mediator that knows
// the run's credentials, whatever else is running. Without it hooks decide
// alone.
func ownSocket(log *slog.Logger) (ln net.Listener, path string, closeIt func()) {
	none := func() {}
	dir := os.Getenv("XDG_RUNTIME_DIR")
	if !filepath.IsAbs(dir) {
		dir = os.TempDir()
	}
	dir, err := os.MkdirTemp(dir, "margay-run-") // 0700
	if err != nil {
		log.Warn("hooks decide alone: no folder for a socket", "error", err)
		return nil, "", none
	}
	path = filepath.Join(dir, localsock.Name)
	if ln, err = localsock.Listen(path); err != nil {
		_ = os.Remove(dir)
		log.Warn("hooks decide alone: no socket", "error", err)
		return nil, "", none
	}
	return ln, path, func() {
		_ = ln.Close()
		_ = os.Remove(dir)
	}
}

// importRun protects the credentials that the agent can read without asking.
func (a *app) importRun(k *secret.Keys, quiet bool) ([]secret.Record, error) {
	rules, err := recognise.Default()
	if err != nil {
		return nil, err
	}
	f := environ.Protect(k, rules, os.Environ(), ".", time.Now())
	for _, file := range f.Unreadable {
		a.note("%s can't be read, so what it holds is protected only where it is recognised", file)
	}
	if quiet {
		return f.Records, nil
	}
	if n := len(f.Whole); n > 0 {
		a.note("protecting %s: %s", count(n, "credential"), strings.Join(f.Whole, ", "))
	}
	for _, l := range []struct {
		what  string
		names []string
	}{
		{"too short to protect in encodings, so taken as whole words", f.Words},
		{"ordinary words, so left alone", f.Ordinary},
		{"too short or too long to protect by value", f.Unfit},
	} {
		if len(l.names) > 0 {
			a.note("%s: %s", l.what, strings.Join(l.names, ", "))
		}
	}
	return f.Records, nil
}
