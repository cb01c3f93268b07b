package child

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/margaydev/margay/internal/problem"
)

// ShimsEnv is the variable that has the folder of a run's shims.
const ShimsEnv = "MARGAY_RUN_SHIMS"

// Shims is a private folder of small programs that stand on the PATH of a run
// before the agents of the same names. Each asks margay how to start the agent,
// as margay run itself would. Whoever makes it calls Close.
type Shims struct {
	// Base and Token are the gateway's.
	Base, Token string
	// Upstream is where requests to OpenAI's API go, and Chosen whether the user
	// says so. If not, an agent that would go elsewhere is not started: its
	// credential is another's.
	Upstream string
	Chosen   bool
	// Uncovered starts agents that Margay can't mediate, too.
	Uncovered bool

	dir string
}

// shimmed are the programs that have shims: agents that Margay points at itself
// or refuses, and launchers that find agents past the PATH.
var shimmed = []string{"claude", "codex", "gemini", "cursor-agent", "npx", "pnpx", "pnx", "pnpm", "yarn", "bun", "bunx"}

const (
	runFile     = "run.json"
	startedFile = "started"
	shellFile   = "script-shell"
)

// Make writes the folder. margay is the program that the shims call. It returns
// what to add to the environment of the run, which is nothing where scripts can't
// be programs.
func (s *Shims) Make(margay string, environ []string) ([]string, error) {
	if runtime.GOOS == "windows" {
		return nil, nil
	}
	dir, err := os.MkdirTemp("", "margay-shims-") // 0700
	if err != nil {
		return nil, err
	}
	s.dir = dir
	if !filepath.IsAbs(dir) || strings.ContainsAny(dir, ":\n") {
		return nil, fmt.Errorf("%s can't stand on a PATH", dir)
	}
	b, err := json.Marshal(s)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, runFile), b, 0o600)
	}
	env, path := lookup(environ), ""
	for _, name := range shimmed {
		own := filepath.Join(dir, name)
		if err == nil {
			err = os.Mkdir(own, 0o700)
		}
		if err == nil {
			err = script(filepath.Join(own, name), fmt.Sprintf("exec %s shim %s %s \"$@\"\n", shell(margay), shell(dir), name))
		}
		if _, e := exec.LookPath(name); e == nil { // a program must not seem to be there
			path += own + ":"
		}
	}
	out := []string{ShimsEnv + "=" + dir}
	if path != "" {
		out = append(out, "PATH="+path+env("PATH"))
	}
	if err == nil && !ownShell(env) {
		// npm and npx put folders before the PATH, and start programs by a shell:
		// theirs puts the shims before those.
		err = script(filepath.Join(dir, shellFile), fmt.Sprintf(`for name in %s; do
	if command -v "$name" >/dev/null 2>&1; then PATH=%s/$name:$PATH; fi
done
export PATH
exec /bin/sh "$@"
`, strings.Join(shimmed, " "), shell(dir)))
		out = append(out, "npm_config_script_shell="+filepath.Join(dir, shellFile))
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return out, nil
}

// ownShell reports whether a .npmrc or the environment names a shell for scripts,
// which stays.
func ownShell(env func(string) string) bool {
	if env("npm_config_script_shell") != "" {
		return true
	}
	home, _ := os.UserHomeDir()
	return slices.ContainsFunc([]string{home, "."}, func(dir string) bool {
		b, err := os.ReadFile(filepath.Join(dir, ".npmrc"))
		return err == nil && strings.Contains(string(b), "script-shell")
	})
}

func script(path, text string) error {
	return os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o700) //nolint:gosec // a program, of this user alone
}

// shell quotes a word for sh.
func shell(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// Close removes the folder.
func (s *Shims) Close() error {
	if s.dir == "" {
		return nil
	}
	return os.RemoveAll(s.dir)
}

// Leave takes the shims of a run around this process out of its environment: a
// run inside has its own.
func Leave() error {
	dir := os.Getenv(ShimsEnv)
	if dir == "" {
		return nil
	}
	err := os.Setenv("PATH", beyond(os.Getenv("PATH"), dir))
	if strings.HasPrefix(os.Getenv("npm_config_script_shell"), dir+"/") {
		err = errors.Join(err, os.Unsetenv("npm_config_script_shell"))
	}
	return errors.Join(err, os.Unsetenv(ShimsEnv))
}

// beyond is a PATH without the folders of shims below dir.
func beyond(path, dir string) string {
	return strings.Join(slices.DeleteFunc(filepath.SplitList(path), func(d string) bool { return strings.HasPrefix(d, dir+"/") }), string(filepath.ListSeparator))
}

// Started names the agents that the shims started, in order; a name has Uncovered
// behind it where Margay could not mediate the agent.
func (s *Shims) Started() []string {
	if s.dir == "" {
		return []string{}
	}
	b, _ := os.ReadFile(filepath.Join(s.dir, startedFile)) // none: no agent was started
	out := strings.FieldsFunc(string(b), func(r rune) bool { return r == '\n' })
	slices.Sort(out)
	return slices.Compact(out)
}

// Uncovered marks agents in Started that ran although Margay can't mediate them.
const Uncovered = " (not covered)"

// Shim starts the program that a shim in dir stands for, in place of this
// process. It returns only if it can't.
func Shim(dir string, args, environ []string) error {
	s := Shims{dir: dir}
	b, err := os.ReadFile(filepath.Join(dir, runFile))
	if err == nil {
		err = json.Unmarshal(b, &s)
	}
	if err != nil {
		return problem.Failure("start it outside of margay run, or margay run again", "the run around %s has ended", args[0])
	}
	a := Recognise(args, environ)
	s.check(&a, lookup(environ))
	started := a.Name
	switch {
	case a.Uncovered != "" && !s.Uncovered:
		return problem.Failure(a.Hint+"; margay run --uncovered runs it all the same", "margay cannot cover the model of %s: %s", a.Name, a.Uncovered)
	case a.Uncovered != "":
		started += Uncovered
	case a.Name != "":
		args = a.Args(args, s.Base+"/v1")
		environ = append(Env(environ, s.Base+"/"+s.Token), TokenEnv+"="+s.Token)
	}
	if a.Name != "" {
		if err := appendLine(filepath.Join(dir, startedFile), started); err != nil {
			return err
		}
	}
	path, err := s.find(args[0], lookup(environ)("PATH"))
	if err != nil {
		return problem.Failure("is it installed, and on the PATH?", "%s can't be run: %w", args[0], cause(err))
	}
	return replace(path, args, environ)
}

// check finds what stands against covering an agent inside this run alone.
func (s *Shims) check(a *Agent, env func(string) string) {
	if a.Uncovered != "" {
		return
	}
	switch a.API {
	case "anthropic":
		if v := env("ANTHROPIC_BASE_URL"); v != "" && v != s.Base+"/"+s.Token {
			a.Uncovered, a.Hint = "ANTHROPIC_BASE_URL was changed inside the run", "don't set it there; set it for margay run, which forwards to that address"
		}
	case "openai":
		if want := a.Upstream; !s.Chosen && strings.TrimSuffix(want, "/") != strings.TrimSuffix(s.Upstream, "/") {
			if want == "" {
				want = "the API's own address"
			}
			a.Uncovered, a.Hint = "it would go to "+want+", and this run forwards elsewhere", "margay run --upstream URL says where"
		}
	}
}

// find is exec.LookPath past the shims.
func (s *Shims) find(name, path string) (string, error) {
	for _, d := range filepath.SplitList(beyond(path, s.dir)) {
		if p, err := exec.LookPath(filepath.Join(d, name)); err == nil && filepath.IsAbs(p) {
			return p, nil
		}
	}
	return "", exec.ErrNotFound
}

func appendLine(path, line string) error {
	f, err := os.OpenFile(filepath.Clean(path), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(line + "\n")
	return errors.Join(err, f.Close())
}
