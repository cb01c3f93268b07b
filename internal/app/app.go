// Package app is the command line: it wires the packages together and is
// imported by nobody but cmd/margay.
package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/margaydev/margay/internal/config"
	"github.com/margaydev/margay/internal/keys"
	"github.com/margaydev/margay/secret"
	"github.com/margaydev/margay/store/sqlite"
)

// Exit codes.
const (
	exitDone     = 0
	exitFailed   = 1
	exitUsage    = 2
	exitFindings = 3
)

// app is one invocation.
type app struct {
	in       io.Reader
	out, err io.Writer
	config   string
	stateDir string
	json     bool
	code     int
}

// problem is an error with the next step for a person, and an exit code.
type problem struct {
	code int
	err  error
	hint string
}

func (p *problem) Error() string { return p.err.Error() }
func (p *problem) Unwrap() error { return p.err }

func usage(hint, format string, args ...any) error {
	return &problem{code: exitUsage, err: fmt.Errorf(format, args...), hint: hint}
}

func failure(hint, format string, args ...any) error {
	return &problem{code: exitFailed, err: fmt.Errorf(format, args...), hint: hint}
}

// Main runs the command line and returns the exit code.
func Main(args []string, in io.Reader, out, errw io.Writer) int {
	a := &app{in: in, out: out, err: errw}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	root := a.root()
	root.SetArgs(args)
	root.SetIn(in)
	root.SetOut(out)
	root.SetErr(errw)
	if err := root.ExecuteContext(ctx); err != nil {
		return a.fail(err)
	}
	return a.code
}

// fail tells an error in one line, and what to do next in another.
func (a *app) fail(err error) int {
	code, hint := exitFailed, ""
	var p *problem
	var c *config.Error
	switch {
	case errors.As(err, &p):
		code, hint = p.code, p.hint
	case errors.As(err, &c):
		code, hint = exitUsage, c.Hint
	case errors.Is(err, errUsage):
		code, hint = exitUsage, "margay help"
	}
	if a.json {
		b, _ := json.Marshal(map[string]any{"error": err.Error(), "hint": hint, "code": code})
		fmt.Fprintf(a.err, "%s\n", b)
		return code
	}
	fmt.Fprintf(a.err, "margay: %s\n", strings.ReplaceAll(err.Error(), "\n", "; "))
	if hint != "" {
		fmt.Fprintf(a.err, "hint: %s\n", hint)
	}
	return code
}

var errUsage = errors.New("usage")

// usageError marks cobra's own complaints.
type usageError struct{ error }

func (u usageError) Is(target error) bool { return target == errUsage }

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:           "margay",
		Short:         "Keeps LLM agents from leaking secrets and private data",
		Long:          "Margay stands between an agent and its model, and lets no secret through in either direction.\n\nPut it in front of your agent:  margay run -- your-agent",
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.PersistentFlags().StringVar(&a.config, "config", "", "configuration file (default "+config.Path()+")")
	root.PersistentFlags().StringVar(&a.stateDir, "state-dir", "", "folder for keys and database (default $XDG_DATA_HOME/margay)")
	root.PersistentFlags().BoolVar(&a.json, "json", false, "print JSON")
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	root.AddCommand(
		a.runCommand(), a.serveCommand(), a.demoCommand(), a.scanCommand(), a.secretsCommand(), a.allowCommand(),
		a.logCommand(), a.explainCommand(), a.doctorCommand(), a.benchCommand(), a.configCommand(), a.versionCommand(),
	)
	for _, c := range root.Commands() {
		wrapArgs(c)
	}
	return root
}

// wrapArgs makes cobra's complaints about arguments usage errors.
func wrapArgs(c *cobra.Command) {
	check := c.Args
	if check == nil {
		check = cobra.ArbitraryArgs
		if !c.HasSubCommands() {
			check = cobra.NoArgs
		}
	}
	c.Args = func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return usageError{err}
		}
		return nil
	}
	if c.HasSubCommands() && c.RunE == nil {
		c.RunE = func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usageError{fmt.Errorf("unknown command %q for %q", args[0], cmd.CommandPath())}
			}
			return cmd.Help()
		}
	}
	for _, s := range c.Commands() {
		wrapArgs(s)
	}
}

// load reads the configuration. What set changes goes over file and
// environment.
func (a *app) load(set func(*config.Config)) (*config.Config, error) {
	path := a.config
	if path == "" {
		path = os.Getenv(config.EnvConfig)
	}
	return config.Load(path, os.Environ(), func(c *config.Config) {
		if a.stateDir != "" {
			c.StateDir = a.stateDir
		}
		if set != nil {
			set(c)
		}
	})
}

// state is what lies in the data folder.
type state struct {
	keys  secret.Keys
	store *sqlite.Store
}

func (a *app) open(ctx context.Context, c *config.Config) (*state, error) {
	k, err := keys.Load(c.Keys())
	if err != nil {
		return nil, failure("margay doctor looks at all files", "%w", err)
	}
	s, err := sqlite.Open(ctx, c.StorePath(), sqlite.Options{})
	if err != nil {
		return nil, failure("margay doctor looks at all files", "%w", err)
	}
	return &state{k, s}, nil
}

// print writes v as JSON where --json is given, and calls text otherwise.
func (a *app) print(v any, text func(w io.Writer)) error {
	if !a.json {
		text(a.out)
		return nil
	}
	e := json.NewEncoder(a.out)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

func (a *app) logger(level string) *slog.Logger {
	var l slog.Level
	_ = l.UnmarshalText([]byte(level)) // checked by config
	return slog.New(slog.NewTextHandler(a.err, &slog.HandlerOptions{Level: l}))
}

func (a *app) terminal(w any) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd())) //nolint:gosec // file descriptors are small
}

func (a *app) configCommand() *cobra.Command {
	c := &cobra.Command{Use: "config", Short: "Show and check the configuration"}
	c.AddCommand(
		&cobra.Command{Use: "example", Short: "Print a commented configuration", RunE: func(*cobra.Command, []string) error {
			_, err := io.WriteString(a.out, config.Example)
			return err
		}},
		&cobra.Command{Use: "path", Short: "Print where the configuration is looked for", RunE: func(*cobra.Command, []string) error {
			return a.print(map[string]string{"path": config.Path()}, func(w io.Writer) { fmt.Fprintln(w, config.Path()) })
		}},
		&cobra.Command{Use: "check", Short: "Check the configuration", RunE: func(*cobra.Command, []string) error {
			c, err := a.load(nil)
			if err != nil {
				return err
			}
			return a.print(map[string]any{"ok": true, "file": c.File}, func(w io.Writer) { fmt.Fprintln(w, "ok") })
		}},
	)
	return c
}
