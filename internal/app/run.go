package app

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"sort"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/config"
	"github.com/margaydev/margay/secret"
)

// interrupts ends a context at SIGINT or SIGTERM.
func interrupts(ctx context.Context) (context.Context, context.CancelFunc) {
	return signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
}

// baseURLs are the variables by which programs find an OpenAI-compatible API.
var baseURLs = []string{"OPENAI_BASE_URL", "OPENAI_API_BASE"}

func (a *app) runCommand() *cobra.Command {
	var upstream string
	var noImport, observe, quiet bool
	c := &cobra.Command{
		Use:   "run [flags] -- COMMAND [ARG...]",
		Short: "Run an agent with Margay in front of its model",
		Long: `Run an agent with Margay in front of its model.

Margay listens on a free loopback port, points the agent at it through
OPENAI_BASE_URL, and forwards to the API that the agent would have used. The
credentials in the agent's environment and in .env files of the working
directory are protected for this run; they are named, never shown or stored.
The exit code is the agent's.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, v := range append([]string{"MARGAY_UPSTREAM"}, baseURLs...) {
				if u := os.Getenv(v); u != "" && upstream == "" {
					upstream = u
				}
			}
			c, err := a.load(func(c *config.Config) {
				if upstream != "" {
					c.Upstream = upstream
				}
				c.Observe = c.Observe || observe
			})
			if err != nil {
				return err
			}
			path, err := exec.LookPath(args[0])
			if err != nil {
				return usage("is it installed, and on the PATH?", "%s: no such command", args[0])
			}
			st, err := a.open(cmd.Context(), c)
			if err != nil {
				return err
			}
			defer st.store.Close()
			var recs []secret.Record
			if !noImport {
				recs = a.importRun(&st.keys, quiet)
			}
			var token [16]byte
			_, _ = rand.Read(token[:])
			level := c.Log.Level
			if level == "info" {
				level = "error" // the agent owns the terminal; margay log tells the rest
			}
			s, err := newServer(c, st, serverOptions{
				listen: "127.0.0.1:0", token: hex.EncodeToString(token[:]), ephemeral: recs,
				family: flow.TrajectoryID(flow.NewID()), log: a.logger(level),
			})
			if err != nil {
				return err
			}
			ctx, stop := context.WithCancel(cmd.Context())
			served := make(chan error, 1)
			go func() { served <- s.serve(ctx) }()
			a.code, err = a.child(cmd.Context(), path, args, s.base()+"/"+hex.EncodeToString(token[:])+"/v1")
			stop()
			if e := <-served; err == nil && e != nil && !errors.Is(e, context.Canceled) {
				err = e
			}
			if !quiet {
				a.summary(s.tally, c.Observe)
			}
			return err
		},
	}
	c.Flags().StringVar(&upstream, "upstream", "", "base URL of the model API (default: OPENAI_BASE_URL, then the configuration)")
	c.Flags().BoolVar(&noImport, "no-import", false, "do not protect the credentials of environment and .env files")
	c.Flags().BoolVar(&observe, "observe", false, "report findings and change nothing")
	c.Flags().BoolVar(&quiet, "quiet", false, "print nothing of Margay's own")
	return c
}

// child runs the agent and returns its exit code.
func (a *app) child(ctx context.Context, path string, args []string, base string) (int, error) {
	cmd := exec.Command(path, args[1:]...) //nolint:gosec,noctx // running the user's command is the purpose; signals are passed on below
	cmd.Stdin, cmd.Stdout, cmd.Stderr = a.in, a.out, a.err
	cmd.Env = os.Environ()
	for _, v := range baseURLs {
		cmd.Env = append(cmd.Env, v+"="+base)
	}
	// Loopback must not go through a proxy.
	cmd.Env = append(cmd.Env, "NO_PROXY="+noProxy(), "no_proxy="+noProxy())
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	defer signal.Stop(signals)
	if err := cmd.Start(); err != nil {
		return exitFailed, failure("can it be executed?", "%s does not start: %w", args[0], err)
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	for {
		select {
		case sig := <-signals:
			// A key on the terminal reaches the agent by itself.
			if sig != os.Interrupt && sig != syscall.SIGQUIT || !a.terminal(a.in) {
				_ = cmd.Process.Signal(sig)
			}
		case <-ctx.Done():
			_ = cmd.Process.Signal(syscall.SIGTERM)
			ctx = context.WithoutCancel(ctx)
		case err := <-done:
			var e *exec.ExitError
			if errors.As(err, &e) {
				if ws, ok := e.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
					return 128 + int(ws.Signal()), nil
				}
				return e.ExitCode(), nil
			}
			return exitDone, err
		}
	}
}

func noProxy() string {
	old := os.Getenv("NO_PROXY")
	if old == "" {
		old = os.Getenv("no_proxy")
	}
	return strings.TrimPrefix(old+",127.0.0.1,localhost", ",")
}

// importRun protects the credentials that the agent can read without asking.
func (a *app) importRun(k *secret.Keys, quiet bool) []secret.Record {
	var recs []secret.Record
	var named, weak []string
	seen := map[secret.Fingerprint]bool{}
	add := func(vars []variable) {
		for _, v := range vars {
			rec, st, err := secret.Prepare(k, flow.NewID(), v.name, kindOfName(v.name), secret.SourceRegistered, v.origin, []byte(v.value), time.Now())
			switch {
			case err != nil:
				weak = append(weak, v.name)
				continue
			case seen[rec.Fingerprint]:
				continue
			case !st.Disguised:
				weak = append(weak, v.name)
			}
			seen[rec.Fingerprint] = true
			recs = append(recs, rec)
			named = append(named, v.name+" ("+v.origin+")")
		}
	}
	add(credentials(environment(os.Environ())))
	for _, f := range dotenvFiles(".") {
		b, err := os.ReadFile(f)
		if err != nil {
			fmt.Fprintf(a.err, "margay: %s can't be read and is not protected by name\n", f)
			continue
		}
		add(credentials(dotenv(f, b)))
	}
	if quiet {
		return recs
	}
	if len(named) > 0 {
		fmt.Fprintf(a.err, "margay: protecting %d credentials: %s\n", len(named), strings.Join(named, ", "))
	}
	if len(weak) > 0 {
		fmt.Fprintf(a.err, "margay: too short or easy to guess, so found as whole words at most: %s\n", strings.Join(weak, ", "))
	}
	return recs
}

// summary tells what a run did.
func (a *app) summary(t *tally, observe bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.decisions == 0 {
		fmt.Fprintln(a.err, "margay: nothing to report")
		return
	}
	did := make([]string, 0, len(t.byAction))
	for k, n := range t.byAction {
		did = append(did, fmt.Sprintf("%s ×%d", k, n))
	}
	sort.Strings(did)
	what := "margay: "
	if observe {
		what = "margay (observing, nothing was changed): "
	}
	fmt.Fprintf(a.err, "%s%s; %d denied\n", what, strings.Join(did, ", "), t.denied)
	for _, f := range t.findings {
		if f.Action != flow.ActReport {
			fmt.Fprintln(a.err, "  "+describe(&f))
		}
	}
	fmt.Fprintln(a.err, "margay: a false positive? margay allow add FINDING-ID. More: margay log")
}
