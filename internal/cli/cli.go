// Package cli has what the command lines of this project share: output that
// is text or JSON, errors with a next step, exit codes, atomic writes of
// files, and the reference that is generated from the commands.
package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"reflect"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/margaydev/margay/internal/problem"
	"github.com/margaydev/margay/internal/visible"
)

// Command is one invocation of a command line.
type Command struct {
	Name     string // of the program
	In       io.Reader
	Out, Err io.Writer
	JSON     bool // --json is given
	Code     int  // the exit code of a command that returns no error
	Args     []string
	// Hint is the next step after an error that has none of its own.
	Hint string
}

// Execute runs the command line that Prepare has made and returns the exit
// code.
func (c *Command) Execute(root *cobra.Command) int {
	results := &output{Writer: c.Out}
	c.Out = results
	root.SetArgs(c.Args)
	root.SetIn(c.In)
	root.SetOut(results)
	root.SetErr(c.Err)
	err := root.ExecuteContext(context.Background())
	if lost := results.failed(); lost != nil && c.Code != problem.BadUsage && (err == nil || errors.Is(err, lost)) {
		err = problem.Failure("is the disk full, or was a pipe closed?", "the result can't be written: %w", Reason(lost))
	}
	if err != nil {
		return c.Fail(err)
	}
	return c.Code
}

// Fail prints an error in one line and the next step in another, and returns
// the exit code.
func (c *Command) Fail(err error) int {
	code, hint := problem.Failed, c.Hint
	var p *problem.Error
	switch {
	case errors.Is(err, context.Canceled): // whatever it interrupted
		err, hint = errors.New("interrupted"), ""
	case errors.As(err, &p):
		code, hint = p.Code, p.Hint
	case strings.HasPrefix(err.Error(), "unknown command"):
		code, hint = problem.BadUsage, c.Name+" --help lists the commands"
	}
	text := problem.OneLine(err.Error())
	if c.JSON {
		b, _ := json.Marshal(map[string]any{"error": text, "hint": hint, "code": code})
		fmt.Fprintf(c.Err, "%s\n", b)
		return code
	}
	fmt.Fprintf(Shown{c.Err}, "%s: %s\n", c.Name, text)
	if hint != "" {
		fmt.Fprintf(Shown{c.Err}, "hint: %s\n", hint)
	}
	return code
}

// usage is the error for one of cobra's own complaints.
func usage(c *cobra.Command, err error) error {
	return problem.Usage(c.CommandPath()+" --help shows how it is used", "%w", err)
}

// Prepare gives a root command what every command line here has: --json,
// --version, help, completion, and usage errors where cobra complains.
func (c *Command) Prepare(root *cobra.Command) {
	root.SilenceErrors, root.SilenceUsage = true, true
	root.PersistentFlags().BoolVar(&c.JSON, "json", false, "print JSON: one document, or one a line")
	root.Version = Version()["version"]
	root.SetVersionTemplate(c.Name + " {{.Version}}\n")
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		for _, arg := range c.Args { // cobra stops reading flags at the wrong one
			if arg == "--" {
				break
			}
			c.JSON = c.JSON || arg == "--json"
		}
		return usage(cmd, err)
	})
	root.InitDefaultCompletionCmd()
	root.InitDefaultHelpCmd()
	for _, s := range root.Commands() {
		if s.Name() == "help" {
			s.Args = helpTopic
		}
	}
	wrapArgs(root)
}

// helpTopic refuses unknown commands; cobra would print its help instead.
func helpTopic(c *cobra.Command, args []string) error {
	if found, rest, err := c.Root().Find(args); err != nil || found == nil || len(rest) > 0 {
		return problem.Usage(c.Root().Name()+" --help lists the commands", "unknown command %q", strings.Join(args, " "))
	}
	return nil
}

// wrapArgs turns cobra's complaints about arguments into usage errors.
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
		if err == nil {
			err = cmd.ValidateFlagGroups() // which cobra asks later
		}
		if p := new(problem.Error); err == nil || errors.As(err, &p) {
			return err
		}
		return usage(cmd, err)
	}
	if c.HasSubCommands() && c.RunE == nil {
		c.RunE = func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cmd.Help()
			}
			err := fmt.Errorf("unknown command %q for %q", args[0], cmd.CommandPath())
			if s := cmd.SuggestionsFor(args[0]); len(s) > 0 {
				err = fmt.Errorf("%w: did you mean %s?", err, s[0])
			}
			return usage(cmd, err)
		}
		c.SuggestionsMinimumDistance = 2
	}
	for _, s := range c.Commands() {
		wrapArgs(s)
	}
}

// Note writes a line about progress to standard error.
func (c *Command) Note(format string, args ...any) {
	Fprintf(Shown{c.Err}, c.Name+": "+format+"\n", args...)
}

// Print writes v as JSON where --json is given, and calls text otherwise.
func (c *Command) Print(v any, text func(w io.Writer)) error { return c.PrintTo(c.Out, v, text) }

// PrintTable is Print with columns: text writes cells with a tab behind each.
func (c *Command) PrintTable(v any, text func(w io.Writer)) error {
	return c.Print(v, func(w io.Writer) {
		t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
		text(t)
		_ = t.Flush()
	})
}

// Rows is a list: a JSON document for each row where --json is given, and
// columns otherwise. Flush ends it.
type Rows struct {
	c *Command
	*tabwriter.Writer
}

// Rows starts a list.
func (c *Command) Rows() Rows { return Rows{c, tabwriter.NewWriter(Shown{c.Out}, 0, 8, 2, ' ', 0)} }

// Add adds a row: v as JSON, or else the cells, with tabs between them.
func (r Rows) Add(v any, format string, cells ...any) error {
	return r.c.Print(v, func(io.Writer) { Fprintf(r, format, cells...) })
}

// PrintTo is Print to a writer.
func (c *Command) PrintTo(w io.Writer, v any, text func(w io.Writer)) error {
	if !c.JSON {
		text(Shown{w})
		return nil
	}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// IsTerminal reports whether a reader or writer is a terminal.
func IsTerminal(w any) bool {
	if o, ok := w.(*output); ok {
		w = o.Writer
	}
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd())) //nolint:gosec // file descriptors are small
}

// Interrupts ends a context at SIGINT or SIGTERM.
func Interrupts(ctx context.Context) (context.Context, context.CancelFunc) {
	return signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
}

// Reason is an error of the system without the path: the message around it has
// one.
func Reason(err error) error {
	var p *os.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// Shown writes text for people. It replaces what would steer their terminal or
// reorder the text by visible signs: others may have chosen the names, titles
// and paths in it.
type Shown struct{ io.Writer }

func (w Shown) Write(p []byte) (int, error) {
	if _, err := io.WriteString(w.Writer, visible.Text(string(p))); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Fprintf is fmt.Fprintf for lines of text for people: the texts among its
// arguments are fields, which neither end a line nor reach the next column.
func Fprintf(w io.Writer, format string, args ...any) {
	shown := make([]any, len(args))
	for i, arg := range args {
		switch v := arg.(type) {
		case string:
			shown[i] = visible.Line(v)
		case error:
			shown[i] = visible.Line(v.Error())
		default:
			if shown[i] = arg; reflect.ValueOf(arg).Kind() == reflect.String {
				shown[i] = visible.Line(fmt.Sprint(arg))
			}
		}
	}
	fmt.Fprintf(w, format, shown...)
}

// Complete offers values of a flag to the shell.
func Complete(c *cobra.Command, flag string, values func() []string) {
	CompleteBy(c, flag, func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return values(), cobra.ShellCompDirectiveNoFileComp
	})
}

// CompleteBy offers what f finds for a flag to the shell.
func CompleteBy(c *cobra.Command, flag string, f cobra.CompletionFunc) {
	if err := c.RegisterFlagCompletionFunc(flag, f); err != nil {
		panic(err) // the flag is not there
	}
}

// Release is set when a release is built, by the linker.
var Release = ""

// Version describes the build: version, revision, Go, system.
func Version() map[string]string {
	v, rev, changed := Release, "", false
	if bi, ok := debug.ReadBuildInfo(); ok {
		if v == "" {
			v = bi.Main.Version
		}
		for _, s := range bi.Settings {
			switch s.Key {
			case "vcs.revision":
				rev = s.Value
			case "vcs.modified":
				changed = s.Value == "true"
			}
		}
	}
	if changed {
		rev += "+changed" // the source differed from the revision
	}
	if v == "" || v == "(devel)" {
		v = "devel"
	}
	return map[string]string{"version": v, "revision": rev, "go": runtime.Version(), "os": runtime.GOOS, "arch": runtime.GOARCH}
}
