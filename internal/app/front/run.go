package front

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/margaydev/margay/confirm"
	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/app/child"
	"github.com/margaydev/margay/internal/app/config"
	"github.com/margaydev/margay/internal/app/environ"
	"github.com/margaydev/margay/internal/app/invocation"
	"github.com/margaydev/margay/internal/app/localsock"
	"github.com/margaydev/margay/internal/app/mediation"
	"github.com/margaydev/margay/internal/app/serve"
	"github.com/margaydev/margay/internal/app/state"
	"github.com/margaydev/margay/internal/cli"
	"github.com/margaydev/margay/internal/problem"
	"github.com/margaydev/margay/mediator/audit"
	"github.com/margaydev/margay/secret"
	"github.com/margaydev/margay/store/memory"
)

type runFlags struct {
	upstream, taint          string
	noImport, observe, quiet bool
	uncovered, console       bool
	require                  bool
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
name a provider. Behind npx, sh -c, env, make and scripts, shims on the PATH set
the same for Claude Code and Codex. The address has a random part, or needs a
random header, that only the agent gets: other users of the machine can't use it.

Margay does not run an agent whose model it can't mediate: Gemini CLI, Cursor, a
Claude Code on Bedrock or Vertex, a Codex with a provider among its arguments.
--uncovered runs it all the same. What tools send by themselves does not go
through here; docs/agents.md says what hooks and MCP cover.

At the end Margay says how many requests came through it, and if none did. On
Linux it samples the connections of the agent's processes. If one led to a model
API past Margay, the exit code is 1, unless the agent's own is not 0 or
--uncovered is given. Sampling can miss a connection, and can't show that there
was none. --require-coverage also fails if no request came, if an agent ran
uncovered, or if the connections of a program that Margay does not know could not
be watched.

Margay protects the credentials in the agent's environment and in .env files of
the working directory for this run. It prints their names, and does not show or
store their values.

Margay passes on signals. The exit code is else the agent's, or 128 plus the
signal's number if a signal ended it.`,
		Example: "  margay run -- python agent.py\n  margay run --observe -- my-agent --verbose",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return problem.Usage("margay run -- python agent.py", "there is no command to run")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return a.run(cmd.Context(), &f, args) },
	}
	c.Flags().SetInterspersed(false)
	c.Flags().StringVar(&f.upstream, "upstream", "", "base `URL` of the model API, or the name of a configured upstream")
	cli.Complete(c, "upstream", a.Upstreams)
	c.Flags().StringVar(&f.taint, "taint", "", "whether tool calls are held to what they may follow from: on, report or off (default taint.mode of the configuration)")
	cli.Complete(c, "taint", func() []string { return []string{"on", "report", "off"} })
	c.Flags().BoolVar(&f.noImport, "no-import", false, "do not protect the credentials of environment and .env files")
	c.Flags().BoolVar(&f.observe, "observe", false, "report findings and change nothing")
	c.Flags().BoolVar(&f.console, "console", false, "serve the console while the agent runs, and print its address")
	c.Flags().BoolVar(&f.quiet, "quiet", false, "print nothing of Margay's own but errors")
	c.Flags().BoolVar(&f.require, "require-coverage", false, "exit with 1 unless requests came through Margay and no other way was seen")
	c.Flags().BoolVar(&f.uncovered, "uncovered", false, "run an agent even if Margay can't mediate its model; that traffic is not protected")
	return c
}

func (a *app) run(ctx context.Context, f *runFlags, args []string) error {
	if err := child.Leave(); err != nil {
		return err
	}
	known := child.Recognise(args, os.Environ())
	if known.Uncovered != "" {
		if !f.uncovered {
			return problem.Failure(known.Hint+"; --uncovered runs it all the same", "margay cannot cover the model of %s: %s", known.Name, known.Uncovered)
		}
		a.Note("the model of %s is NOT covered: %s", known.Name, known.Uncovered)
	}
	c, cov, err := a.aim(f, known, args)
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
	log, st, done, err := a.open(ctx, c, true)
	if err != nil {
		return err
	}
	defer done()
	recs, err := a.importRun(c, &st.Keys, f.noImport, f.quiet)
	if err != nil {
		return err
	}
	if err := a.placed(ctx, c, st, f.quiet); err != nil {
		return err
	}
	c.Access.Token = "" // the random part of the URL replaces it
	var random [16]byte
	_, _ = rand.Read(random[:])
	token := fmt.Sprintf("%x", random)
	family := flow.TrajectoryID(flow.NewID())
	hooks, socket, closeHooks := ownSocket(log)
	defer closeHooks()
	if f.console {
		c.Console.Enabled = true
	}
	s, err := serve.New(c, st, serve.Options{
		Console:  f.console,
		Listener: ln, Token: token, Ephemeral: recs, Family: family, Log: log, Grace: time.Second, Hooks: hooks,
		Asked: func(q *confirm.Question) {
			if !f.quiet {
				a.Note("the call of %s waits for your answer until %s: margay approve show %s", invocation.Printable(q.Call.Name), q.Expires.Local().Format(time.TimeOnly), q.ID)
			}
		},
		Values: memory.New(), // the child's credentials are not stored, not even sealed
	})
	if err != nil {
		return err
	}
	if f.console {
		a.Note("console at %s (once, within ten minutes; margay console --listen %s prints another)", s.Console(&st.Keys), ln.Addr())
	}
	mark := config.EnvTrajectory + "=" + string(family)
	args, env := cov.point(args, s.Base(), token, log)
	defer cov.shims.Close()
	agent := child.Command{
		Path: path, Args: args, In: a.In, Out: cli.Bare(a.Out), Err: a.Err,
		Env: append(child.Without(env, config.EnvKeys, config.EnvLedgerKey, "MARGAY_ACCESS_TOKEN"),
			mark, localsock.Env+"="+socket, child.TokenEnv+"="+token),
	}
	if !f.quiet {
		a.announce(cov, agent.Env)
		if c.Taint.Mode == "on" {
			a.Note("taint is on: a call that text of others may have caused waits for your answer in margay approve; --taint off turns it off")
		}
	}
	serving, stop := context.WithCancel(ctx)
	served := make(chan error, 1)
	go func() { served <- s.Serve(serving) }()
	cov.watch(ctx, mark)
	a.Code, err = agent.Run()
	seen := cov.watcher.Stop()
	stop()
	if e := <-served; err == nil && e != nil && !errors.Is(e, http.ErrServerClosed) {
		err = problem.Failure("run it again", "the gateway failed: %w", e)
	}
	if err != nil {
		return err
	}
	did := s.Summary()
	cov.judge(did.Requests, seen)
	if !f.quiet {
		if err := a.summarise(did, c.Observe, &cov.Coverage); err != nil {
			return err
		}
	}
	return a.fail(cov)
}

// placed asks whether the user trusts the folder that the agent works in, where it
// matters and somebody is there to answer.
func (a *app) placed(ctx context.Context, c *config.Config, st *state.State, quiet bool) error {
	dir, trust, err := mediation.Untrusted(ctx, c, st)
	if err != nil || dir == "" || quiet {
		return err
	}
	dir = invocation.Printable(dir)
	if yes, _ := a.Ask("Do you trust the files of " + dir + "? If not, they count as strangers' text, and Margay asks more."); yes {
		return trust()
	}
	a.Note("the files of %s count as strangers' text: margay trust add, once you trust them", dir)
	return nil
}

// ownSocket listens for the hooks of one run, so that they reach the mediator that
// knows the run's credentials, whatever else is running. Without it, hooks decide
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
func (a *app) importRun(c *config.Config, k *secret.Keys, not, quiet bool) ([]secret.Record, error) {
	if not {
		return nil, nil
	}
	rules, err := state.Importing(c)
	if err != nil {
		return nil, err
	}
	f := environ.Protect(k, rules, os.Environ(), ".", time.Now())
	for _, file := range f.Unreadable {
		a.Note("%s can't be read, so only what Margay recognises of it is protected", file)
	}
	if quiet {
		return f.Records, nil
	}
	if n := len(f.Whole); n > 0 {
		a.Note("protecting %s: %s", invocation.Count(n, "credential"), strings.Join(f.Whole, ", "))
	}
	for _, l := range []struct {
		what  string
		names []string
	}{
		{"too short to protect in encodings, so protected only as whole words", f.Words},
		{"ordinary words, so not protected", f.Ordinary},
		{"too short or too long to protect by value", f.Unfit},
	} {
		if len(l.names) > 0 {
			a.Note("%s: %s", l.what, strings.Join(l.names, ", "))
		}
	}
	return f.Records, nil
}

// summary is what a run did, for --json.
type summary struct {
	Requests int            `json:"requests"`
	Denied   int            `json:"denied"`
	Findings map[string]int `json:"findings"` // by action and kind
	Listed   []listed       `json:"listed"`
	MaxHeld  int64          `json:"max_held_bytes"`
	MaxDelay time.Duration  `json:"max_delay_ns"`
	Observe  bool           `json:"observe"`
	Coverage *Coverage      `json:"coverage,omitempty"` // of margay run
}

type listed struct {
	audit.Finding
	Allow string `json:"allow,omitempty"` // the command that undoes what was changed for it
}

// summarise writes the summary of a run to standard error: standard output is the
// agent's.
func (a *app) summarise(s serve.Summary, observe bool, cov *Coverage) error {
	if a.JSON {
		out := summary{Requests: s.Requests, Denied: s.Denied, Findings: s.Findings, Listed: []listed{}, MaxHeld: s.MaxHeld, MaxDelay: s.MaxDelay, Observe: observe, Coverage: cov}
		for _, f := range s.Listed {
			out.Listed = append(out.Listed, listed{f, invocation.Undo(&f)})
		}
		return a.PrintTo(a.Err, out, nil)
	}
	did := "nothing found"
	if len(s.Findings) > 0 {
		var parts []string
		for _, k := range slices.Sorted(maps.Keys(s.Findings)) {
			parts = append(parts, fmt.Sprintf("%s ×%d", k, s.Findings[k]))
		}
		did = strings.Join(parts, ", ")
	}
	if observe {
		did += " (observing: nothing was changed)"
	}
	held := ""
	if s.MaxHeld > 0 {
		held = fmt.Sprintf("; at most %d bytes held back, for %s", s.MaxHeld, s.MaxDelay.Round(100*time.Microsecond))
	}
	a.Note("%s, %d denied; %s%s", invocation.Count(s.Requests, "request"), s.Denied, did, held)
	for i := range s.Listed {
		cli.Fprintf(a.Err, "  %s\n", invocation.Describe(&s.Listed[i]))
	}
	if s.More > 0 {
		cli.Fprintf(a.Err, "  and %d more: margay log\n", s.More)
	}
	if s.Denied > 0 {
		cli.Fprintf(a.Err, "  why denied: margay log\n")
	}
	if cov != nil {
		a.Note("coverage: %s", cov.text())
	}
	return nil
}
