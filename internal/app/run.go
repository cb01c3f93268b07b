package app

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/config"
	"github.com/margaydev/margay/internal/environ"
	"github.com/margaydev/margay/secret"
	"github.com/margaydev/margay/secret/recognise"
)

// baseURLs are the variables by which programs find an OpenAI-compatible API,
// the one that counts first.
var baseURLs = []string{"OPENAI_BASE_URL", "OPENAI_API_BASE"}

type runFlags struct {
	upstream                 string
	noImport, observe, quiet bool
}

func (a *app) runCommand() *cobra.Command {
	var f runFlags
	c := &cobra.Command{
		Use:   "run [flags] -- COMMAND [ARG...]",
		Short: "Run an agent with Margay in front of its model",
		Long: `Run an agent with Margay in front of its model.

Margay listens on a free loopback port, points the agent at it through
OPENAI_BASE_URL and OPENAI_API_BASE, and forwards to the API that the agent
would have used: --upstream, else MARGAY_UPSTREAM, OPENAI_BASE_URL,
OPENAI_API_BASE, the configuration, https://api.openai.com/v1. The base URL
holds a random part that is told to the agent alone, so that other users of the
machine can't use the listener.

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
	c.Flags().BoolVar(&f.noImport, "no-import", false, "do not protect the credentials of environment and .env files")
	c.Flags().BoolVar(&f.observe, "observe", false, "report findings and change nothing")
	c.Flags().BoolVar(&f.quiet, "quiet", false, "print nothing of Margay's own but errors")
	return c
}

func (a *app) run(ctx context.Context, f *runFlags, args []string) error {
	for _, v := range append([]string{"MARGAY_UPSTREAM"}, baseURLs...) {
		if f.upstream == "" {
			f.upstream = os.Getenv(v)
		}
	}
	c, err := a.load(func(c *config.Config) {
		if f.upstream != "" {
			c.Upstream = f.upstream
		}
		c.Observe = c.Observe || f.observe
	})
	if err != nil {
		return err
	}
	path, err := exec.LookPath(args[0])
	if err != nil {
		return usage("is it installed, and on the PATH?", "%s can't be run: %w", args[0], errors.Unwrap(err))
	}
	ln, err := listen(c, "127.0.0.1:0")
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
	st, err := a.open(ctx, c)
	if err != nil {
		return err
	}
	defer st.close()
	var recs []secret.Record
	if !f.noImport {
		if recs, err = a.importRun(&st.keys, f.quiet); err != nil {
			return err
		}
	}
	c.Access.Token = "" // the random part of the URL stands in for it
	var random [16]byte
	_, _ = rand.Read(random[:])
	token := hex.EncodeToString(random[:])
	s, err := newServer(c, st, serverOptions{
		ln: ln, token: token, ephemeral: recs, family: flow.TrajectoryID(flow.NewID()), log: log, grace: time.Second,
	})
	if err != nil {
		return err
	}
	_, up, err := c.Named("")
	if err != nil {
		return err
	}
	if !f.quiet {
		a.note("%s goes through Margay to %s", filepath.Base(args[0]), up.URL)
	}
	if c.OnErrorPass(&up) {
		a.note("on_error is pass: what Margay fails to decide goes out as it is")
	}
	serving, stop := context.WithCancel(ctx)
	served := make(chan error, 1)
	go func() { served <- s.serve(serving) }()
	a.code, err = a.child(path, args, s.base()+"/"+token+"/v1")
	stop()
	if e := <-served; err == nil && e != nil && !errors.Is(e, http.ErrServerClosed) {
		err = failure("run it again", "the gateway broke off: %w", e)
	}
	if err == nil && !f.quiet {
		err = a.tell(&s.tally, c.Observe)
	}
	return err
}

// child runs the agent and returns its exit code.
func (a *app) child(path string, args []string, base string) (int, error) {
	cmd := &exec.Cmd{Path: path, Args: args, Stdin: a.in, Stdout: a.out, Stderr: a.err, Env: childEnv(os.Environ(), base)}
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, forwarded...)
	defer signal.Stop(signals)
	if err := cmd.Start(); err != nil {
		return exitFailed, failure("is it a program for this machine?", "%s does not start: %w", args[0], errors.Unwrap(err))
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	for {
		select {
		case sig := <-signals:
			// A key pressed on the terminal reaches the agent by itself.
			if !fromTerminal(sig) || !inForeground() {
				_ = cmd.Process.Signal(sig)
			}
		case err := <-done:
			var e *exec.ExitError
			if !errors.As(err, &e) {
				return exitDone, err
			}
			if ws, ok := e.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
				return 128 + int(ws.Signal()), nil
			}
			return e.ExitCode(), nil
		}
	}
}

// childEnv points an environment at the gateway. Loopback must not go through
// a proxy, and Margay's keys and token are not for the agent.
func childEnv(env []string, base string) []string {
	var out []string
	for _, kv := range env {
		if name, _, _ := strings.Cut(kv, "="); name != config.EnvKeys && name != "MARGAY_ACCESS_TOKEN" {
			out = append(out, kv)
		}
	}
	for _, v := range baseURLs {
		out = append(out, v+"="+base)
	}
	for _, v := range []string{"NO_PROXY", "no_proxy"} {
		out = append(out, v+"="+strings.TrimPrefix(os.Getenv(v)+",127.0.0.1,localhost", ","))
	}
	return out
}

// importRun protects the credentials that the agent can read without asking.
func (a *app) importRun(k *secret.Keys, quiet bool) ([]secret.Record, error) {
	rules, err := recognise.Default()
	if err != nil {
		return nil, err
	}
	vars := environ.Process(os.Environ())
	files, skipped := environ.Files(".")
	for _, f := range files {
		b, err := os.ReadFile(filepath.Clean(f))
		if err != nil {
			skipped = append(skipped, f)
			continue
		}
		vars = append(vars, environ.Parse(f, b)...)
	}
	for _, f := range skipped {
		a.note("%s can't be read, so what it holds is protected only where it is recognised", f)
	}
	var recs []secret.Record
	var named, words, left, easy []string
	for _, v := range environ.Credentials(rules, vars) {
		rec, st, err := secret.Prepare(k, flow.NewID(), v.Name, v.Kind, secret.SourceRegistered, v.Origin, []byte(v.Value), time.Now())
		what := v.Name
		if file, ok := strings.CutPrefix(v.Origin, "file:"); ok {
			what += " (" + file + ")"
		}
		switch {
		case err != nil:
			left = append(left, what)
			continue
		case !st.Disguised && isWord(v.Value):
			// Replacing "postgres" would spoil every text about it.
			easy = append(easy, what)
			continue
		case st.Disguised:
			named = append(named, what)
		default:
			words = append(words, what)
		}
		recs = append(recs, rec)
	}
	if quiet {
		return recs, nil
	}
	if n := len(named); n > 0 {
		a.note("protecting %s: %s", count(n, "credential"), strings.Join(named, ", "))
	}
	if len(words) > 0 {
		a.note("too short to protect in encodings, so taken as whole words: %s", strings.Join(words, ", "))
	}
	if len(easy) > 0 {
		a.note("ordinary words, so left alone: %s", strings.Join(easy, ", "))
	}
	if len(left) > 0 {
		a.note("too short or too long to protect by value: %s", strings.Join(left, ", "))
	}
	return recs, nil
}

// isWord reports whether a value is made of letters alone.
func isWord(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return !unicode.IsLetter(r) }) < 0
}
