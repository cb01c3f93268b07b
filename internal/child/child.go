// Package child runs an agent behind a gateway: with its base URLs pointed
// there, with the signals passed on, and with its exit code as the result.
package child

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/margaydev/margay/internal/problem"
)

var baseURLs = []string{"OPENAI_BASE_URL", "OPENAI_API_BASE"}

// BaseURLs returns the variables by which programs find an OpenAI-compatible
// API, the one that counts first.
func BaseURLs() []string { return append([]string(nil), baseURLs...) }

// Command is a program to run.
type Command struct {
	Path     string   // the executable file
	Args     []string // with the program's name as the first
	Env      []string // see Env
	In       io.Reader
	Out, Err io.Writer
}

// Find returns the file of a program that is named on a command line.
func Find(name string) (string, error) {
	path, err := exec.LookPath(name)
	if err != nil {
		return "", problem.Usage("is it installed, and on the PATH?", "%s can't be run: %w", name, cause(err))
	}
	return path, nil
}

// cause leaves out the program's name, which its caller says.
func cause(err error) error {
	if inner := errors.Unwrap(err); inner != nil {
		return inner
	}
	return err
}

// Run runs the program to its end and returns its exit code, which is 128 and
// the signal's number where a signal ended it. Signals to this process go to
// the program; a key that was pressed on a shared terminal reaches it by
// itself, and is not passed on a second time.
func (c *Command) Run() (int, error) {
	cmd := &exec.Cmd{Path: c.Path, Args: c.Args, Stdin: c.In, Stdout: c.Out, Stderr: c.Err, Env: c.Env}
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, forwarded...)
	defer signal.Stop(signals)
	if err := cmd.Start(); err != nil {
		return problem.Failed, problem.Failure("is it a program for this machine?", "%s does not start: %w", c.Args[0], cause(err))
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	for {
		select {
		case sig := <-signals:
			if !fromTerminal(sig) || !inForeground() {
				_ = cmd.Process.Signal(sig)
			}
		case err := <-done:
			var e *exec.ExitError
			if !errors.As(err, &e) {
				return problem.Done, err
			}
			if ws, ok := e.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
				return 128 + int(ws.Signal()), nil
			}
			return e.ExitCode(), nil
		}
	}
}

// Env returns environ pointed at the gateway at base, by the variables that
// programs of both APIs know. Loopback must not go through a proxy.
func Env(environ []string, base string) []string {
	noProxy := map[string]string{"NO_PROXY": "", "no_proxy": ""}
	out := slices.Clone(environ)
	for _, kv := range environ {
		name, value, _ := strings.Cut(kv, "=")
		if _, ok := noProxy[name]; ok {
			noProxy[name] = value
		}
	}
	for _, v := range baseURLs {
		out = append(out, v+"="+base+"/v1")
	}
	out = append(out, "ANTHROPIC_BASE_URL="+base) // without /v1
	for _, v := range []string{"NO_PROXY", "no_proxy"} {
		out = append(out, v+"="+strings.TrimPrefix(noProxy[v]+",127.0.0.1,localhost", ","))
	}
	return out
}

// Without returns environ without some variables: Margay's own keys and token
// are not for the agent.
func Without(environ []string, names ...string) []string {
	return slices.DeleteFunc(slices.Clone(environ), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return slices.Contains(names, name)
	})
}
