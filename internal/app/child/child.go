// Package child runs an agent behind a gateway: it points the agent's base
// URLs there, passes on signals, and returns the agent's exit code.
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

// BaseURLs returns the variables by which programs find an OpenAI-compatible
// API, the one that takes precedence first.
func BaseURLs() []string { return []string{"OPENAI_BASE_URL", "OPENAI_API_BASE"} }

// Command is a program to run.
type Command struct {
	Path     string   // the executable file
	Args     []string // with the program's name as the first
	Env      []string // see Env
	In       io.Reader
	Out, Err io.Writer
}

// Find returns the file of a program.
func Find(name string) (string, error) {
	path, err := exec.LookPath(name)
	if err != nil {
		return "", problem.Usage("is it installed, and on the PATH?", "%s can't be run: %w", name, cause(err))
	}
	return path, nil
}

// cause leaves out the program's name: the message around it has one.
func cause(err error) error {
	if inner := errors.Unwrap(err); inner != nil {
		return inner
	}
	return err
}

// Run runs the program to its end and returns its exit code, or 128 plus the
// signal's number if a signal ended it. Run passes signals to this process on to
// the program, but not those of keys on a shared terminal, which reach the
// program by themselves.
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

// Env points environ at the gateway at base, by the variables of both APIs and
// those of agents that have their own, unless the user has set these. Loopback
// must not go through a proxy. What Claude Code sends besides its model's requests
// goes to the same hosts by itself; Env turns off what can be, unless the user has
// decided.
func Env(environ []string, base string) []string {
	out, env := slices.Clone(environ), lookup(environ)
	for _, v := range BaseURLs() {
		out = append(out, v+"="+base+"/v1")
	}
	out = append(out, "ANTHROPIC_BASE_URL="+base) // without /v1
	provider := `{"options":{"baseURL":` + quote(base+"/v1") + `}}`
	for _, kv := range [][2]string{
		{"OPENAI_HOST", base + "/"},
		{"ANTHROPIC_HOST", base + "/"}, // of goose
		{"OPENCODE_CONFIG_CONTENT", `{"provider":{"openai":` + provider + `,"anthropic":` + provider + `}}`},
		{"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"},
	} {
		if env(kv[0]) == "" {
			out = append(out, kv[0]+"="+kv[1])
		}
	}
	for _, v := range []string{"NO_PROXY", "no_proxy"} {
		if !strings.HasSuffix(env(v), loopback) {
			out = append(out, v+"="+strings.TrimPrefix(env(v)+","+loopback, ","))
		}
	}
	return out
}

const loopback = "127.0.0.1,localhost"

// Changed names the variables that are set in after and not, or otherwise, in
// before.
func Changed(before, after []string) []string {
	old, now := lookup(before), lookup(after)
	var out []string
	for _, kv := range after {
		name, _, _ := strings.Cut(kv, "=")
		if now(name) != old(name) {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Without returns environ without some variables, such as Margay's own keys and
// token.
func Without(environ []string, names ...string) []string {
	return slices.DeleteFunc(slices.Clone(environ), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return slices.Contains(names, name)
	})
}
