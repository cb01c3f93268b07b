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
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/margaydev/margay/internal/config"
	"github.com/margaydev/margay/internal/problem"
	"github.com/margaydev/margay/internal/state"
)

// Exit codes. `margay run` returns its child's instead.
const (
	exitFailed   = problem.Failed
	exitUsage    = problem.BadUsage
	exitFindings = problem.Findings
)

// app is one invocation.
type app struct {
	in       io.Reader
	out, err io.Writer
	config   string
	stateDir string
	json     bool
	code     int
	args     []string // as they were given
}

func usage(hint, format string, args ...any) error { return problem.Usage(hint, format, args...) }

func failure(hint, format string, args ...any) error { return problem.Failure(hint, format, args...) }

// Main runs the command line and returns the exit code.
func Main(args []string, in io.Reader, out, errw io.Writer) int {
	results := &output{Writer: out}
	a := &app{in: in, out: results, err: errw, args: args}
	root := a.root()
	root.SetArgs(args)
	root.SetIn(in)
	root.SetOut(results)
	root.SetErr(errw)
	err := root.ExecuteContext(context.Background())
	if lost := results.failed(); lost != nil && a.code != exitUsage && (err == nil || errors.Is(err, lost)) {
		err = failure("is the disk full, or was a pipe closed?", "the result can't be written: %w", reason(lost))
	}
	if err != nil {
		return a.fail(err)
	}
	return a.code
}

// fail tells an error in one line, and what to do next in another.
func (a *app) fail(err error) int {
	code, hint := exitFailed, "margay doctor looks for what is wrong"
	var p *problem.Error
	var c *config.Error
	var u *usageError
	switch {
	case errors.Is(err, context.Canceled): // whatever it broke off
		err, hint = errors.New("interrupted"), ""
	case errors.As(err, &p):
		code, hint = p.Code, p.Hint
	case errors.As(err, &c):
		code, hint = exitUsage, c.Hint
		if hint == "" {
			hint = "margay config example shows every key"
		}
	case errors.As(err, &u):
		code, hint = exitUsage, u.command+" --help shows how it is used"
	case strings.HasPrefix(err.Error(), "unknown command"):
		code, hint = exitUsage, "margay --help lists the commands"
	}
	text := problem.OneLine(err.Error())
	if a.json {
		b, _ := json.Marshal(map[string]any{"error": text, "hint": hint, "code": code})
		fmt.Fprintf(a.err, "%s\n", b)
		return code
	}
	fmt.Fprintf(shown{a.err}, "margay: %s\n", text)
	if hint != "" {
		fmt.Fprintf(shown{a.err}, "hint: %s\n", hint)
	}
	return code
}

// usageError marks cobra's own complaints.
type usageError struct {
	error
	command string
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:           "margay",
		Short:         "Keeps LLM agents from leaking secrets and private data",
		Long:          "Margay stands between an agent and its model, and lets no secret through in either direction.\n\nPut it in front of your agent:  margay run -- your-agent",
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.PersistentFlags().StringVar(&a.config, "config", "", "configuration `file` (default $XDG_CONFIG_HOME/margay/config.yaml)")
	root.PersistentFlags().StringVar(&a.stateDir, "state-dir", "", "`folder` for keys and database (default $XDG_DATA_HOME/margay)")
	root.PersistentFlags().BoolVar(&a.json, "json", false, "print JSON: one document, or one a line")
	root.Version = version()["version"]
	root.SetVersionTemplate("margay {{.Version}}\n")
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		for _, arg := range a.args { // flags behind the wrong one were not read
			if arg == "--" {
				break
			}
			a.json = a.json || arg == "--json"
		}
		return &usageError{err, c.CommandPath()}
	})
	root.AddCommand(
		a.runCommand(), a.serveCommand(), a.demoCommand(), a.scanCommand(), a.secretsCommand(), a.allowCommand(), a.approveCommand(), a.policyCommand(), a.rubricCommand(),
		a.logCommand(), a.explainCommand(), a.doctorCommand(), a.benchCommand(), a.trainCommand(), a.configCommand(), a.versionCommand(), a.docsCommand(),
		a.mcpCommand(), a.hookCommand(), a.ledgerCommand(), a.budgetCommand(), a.consoleCommand(), a.reportCommand(),
	)
	root.InitDefaultCompletionCmd()
	root.InitDefaultHelpCmd()
	for _, c := range root.Commands() {
		if c.Name() == "help" {
			c.Args = helpTopic
		}
	}
	wrapArgs(root)
	return root
}

// helpTopic refuses what is no command; cobra would print its help instead.
func helpTopic(c *cobra.Command, args []string) error {
	if found, rest, err := c.Root().Find(args); err != nil || found == nil || len(rest) > 0 {
		return usage("margay --help lists the commands", "there is no command %q", strings.Join(args, " "))
	}
	return nil
}

// wrapArgs makes cobra's complaints about arguments usage errors.
func wrapArgs(c *cobra.Command) {
	check := c.Args
	if check == nil {
		check = cobra.ArbitraryArgs
		if !c.HasSubCommands() {
			check = cobra.NoArgs
			c.ValidArgsFunction = cobra.NoFileCompletions
		}
	}
	c.Args = func(cmd *cobra.Command, args []string) error {
		err := check(cmd, args)
		var p *problem.Error
		if err == nil || errors.As(err, &p) {
			return err
		}
		return &usageError{err, cmd.CommandPath()}
	}
	if c.HasSubCommands() && c.RunE == nil {
		c.RunE = func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cmd.Help()
			}
			text := fmt.Sprintf("unknown command %q for %q", args[0], cmd.CommandPath())
			if s := cmd.SuggestionsFor(args[0]); len(s) > 0 {
				text += ": did you mean " + s[0] + "?"
			}
			return &usageError{errors.New(text), cmd.CommandPath()}
		}
		c.SuggestionsMinimumDistance = 2
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
	c, err := config.Load(path, os.Environ(), func(c *config.Config) {
		if a.stateDir != "" {
			c.StateDir = a.stateDir
		}
		if set != nil {
			set(c)
		}
	})
	if err == nil && len(c.Unknown) > 0 {
		a.note("no key of the configuration, so ignored: %s", strings.Join(c.Unknown, " "))
	}
	return c, err
}

// withState runs f with the configuration and the state it names.
func (a *app) withState(ctx context.Context, f func(*config.Config, *state.State) error) error {
	c, err := a.load(nil)
	if err != nil {
		return err
	}
	st, err := state.Open(ctx, c)
	if err != nil {
		return err
	}
	defer st.Close()
	return f(c, st)
}

// note writes a line about progress to standard error.
func (a *app) note(format string, args ...any) {
	fmt.Fprintf(shown{a.err}, "margay: "+format+"\n", args...)
}

// print writes v as JSON where --json is given, and calls text otherwise.
func (a *app) print(v any, text func(w io.Writer)) error { return a.printTo(a.out, v, text) }

func (a *app) printTo(w io.Writer, v any, text func(w io.Writer)) error {
	if !a.json {
		text(shown{w})
		return nil
	}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// logger writes to standard error or the configured file, which close closes.
func (a *app) logger(l config.Log) (log *slog.Logger, closeLog func(), err error) {
	w, closeLog := a.err, func() {}
	if l.File != "" {
		f, err := os.OpenFile(filepath.Clean(l.File), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return nil, nil, failure("see log.file in the configuration", "the log can't be written: %w", err)
		}
		w, closeLog = f, func() { _ = f.Close() }
	}
	opt := &slog.HandlerOptions{}
	var level slog.Level
	if err := level.UnmarshalText([]byte(l.Level)); err == nil {
		opt.Level = level
	}
	if l.Format == "json" {
		return slog.New(slog.NewJSONHandler(w, opt)), closeLog, nil
	}
	return slog.New(slog.NewTextHandler(w, opt)), closeLog, nil
}

func isTerminal(w any) bool {
	if o, ok := w.(*output); ok {
		w = o.Writer
	}
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd())) //nolint:gosec // file descriptors are small
}

func (a *app) configCommand() *cobra.Command {
	c := &cobra.Command{Use: "config", Short: "Show and check the configuration"}
	c.AddCommand(
		&cobra.Command{Use: "example", Short: "Print a commented configuration with the defaults", RunE: func(*cobra.Command, []string) error {
			return a.print(map[string]string{"yaml": config.Example}, func(w io.Writer) { fmt.Fprint(w, config.Example) })
		}},
		&cobra.Command{Use: "path", Short: "Print where the configuration is looked for", RunE: func(*cobra.Command, []string) error {
			path := a.config
			for _, p := range []string{os.Getenv(config.EnvConfig), config.Path()} {
				if path == "" {
					path = p
				}
			}
			return a.print(map[string]string{"path": path}, func(w io.Writer) { fmt.Fprintln(w, path) })
		}},
		&cobra.Command{Use: "check", Short: "Check the configuration", RunE: func(*cobra.Command, []string) error {
			c, err := a.load(nil)
			if err != nil {
				return err
			}
			name, up, err := c.Named("")
			if err != nil {
				return err
			}
			from := c.File
			if from == "" {
				from = "defaults and environment"
			}
			return a.print(map[string]any{"ok": true, "file": c.File, "upstream": name, "url": up.URL, "unknown": c.Unknown}, func(w io.Writer) {
				fmt.Fprintf(w, "ok: %s (upstream %s at %s)\n", from, name, up.URL)
			})
		}},
	)
	return c
}
