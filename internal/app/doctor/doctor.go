// Package doctor checks an installation and reports what is wrong, with the
// next step for each problem. It changes nothing.
package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"strings"

	"github.com/margaydev/margay/internal/app/config"
	"github.com/margaydev/margay/internal/app/environ"
	"github.com/margaydev/margay/internal/app/invocation"
	"github.com/margaydev/margay/internal/app/keys"
	"github.com/margaydev/margay/internal/app/serve"
	"github.com/margaydev/margay/internal/app/state"
	"github.com/margaydev/margay/internal/problem"
	"github.com/margaydev/margay/store/sqlite"
)

// Outcomes of a check.
const (
	OK   = "ok"
	Warn = "warn"
	Fail = "fail"
)

// Check is the outcome of one check.
type Check struct {
	Name   string `json:"name"`
	Status string `json:"status"` // OK, Warn or Fail
	Detail string `json:"detail"`
	Hint   string `json:"hint,omitempty"`
	Step   string `json:"step,omitempty"` // of reaching an upstream: the one that failed
}

// Options say what to check.
type Options struct {
	Offline bool   // skip the upstreams
	Dir     string // the working folder
}

// checkups gathers outcomes.
type checkups struct{ all []Check }

func (c *checkups) add(name, status, hint, format string, args ...any) {
	c.all = append(c.all, Check{Name: name, Status: status, Detail: problem.OneLine(fmt.Sprintf(format, args...)), Hint: hint})
}

func (c *checkups) ok(name, format string, args ...any) { c.add(name, OK, "", format, args...) }

// problem adds an error with its next step.
func (c *checkups) problem(name string, err error) {
	hint := ""
	var p *problem.Error
	if errors.As(err, &p) {
		hint = p.Hint
	}
	c.add(name, Fail, hint, "%v", err)
}

// Run checks an installation. c is its configuration. If that could not be read,
// loadErr says why, and c holds what can still be checked.
func Run(ctx context.Context, c *config.Config, loadErr error, o Options) []Check {
	var cs checkups
	if loadErr != nil {
		hint := "margay config example shows every key"
		var ce *config.Error
		if errors.As(loadErr, &ce) && ce.Hint != "" {
			hint = ce.Hint
		}
		cs.add("configuration", Fail, hint, "%v", loadErr)
	} else {
		checkConfig(c, &cs)
		if err := serve.Check(ctx, c); err != nil {
			cs.problem("start", err)
		} else {
			cs.ok("start", "margay serve would start")
		}
	}
	checkKeys(c, &cs)
	checkStore(ctx, c, &cs)
	checkNetwork(ctx, c, o.Offline, &cs)
	if r, err := state.Rules(c); err != nil {
		cs.add("rules", Fail, "install margay again", "%v", err)
	} else if r != nil {
		cs.ok("rules", "%d recognisers", len(r.Rules()))
	}
	checkAgents(c, o.Dir, &cs)
	checkWork(o.Dir, &cs)
	checkReleases(ctx, c, &cs)
	return cs.all
}

func checkConfig(c *config.Config, cs *checkups) {
	if c.File == "" {
		cs.ok("configuration", "no file at %s: defaults and environment", config.Path())
	} else {
		cs.ok("configuration", "%s", c.File)
	}
	if len(c.Unknown) > 0 {
		cs.add("environment", Warn, "margay config example shows every key", "no keys of the configuration: %s", strings.Join(c.Unknown, " "))
	}
	if c.Access.Token != "" && c.File != "" {
		if st, err := os.Stat(c.File); err == nil && keys.Exposed(st) {
			cs.add("configuration", Warn, "chmod 600 "+c.File, "it holds access.token, and others may read it")
		}
	}
	_, main, err := c.Named("")
	if err != nil {
		cs.add("upstream", Fail, "see upstream in margay config example", "%v", err)
		return
	}
	_, claude, err := c.Messages()
	if err != nil {
		cs.add("anthropic", Fail, "see anthropic in margay config example", "%v", err)
		return
	}
	for _, up := range []struct{ key, url, env string }{{"upstream", main.URL, "OPENAI_BASE_URL"}, {"anthropic", claude.URL, "ANTHROPIC_BASE_URL"}} {
		if u, err := url.Parse(up.url); err == nil && u.Host == c.Listen {
			cs.add(up.key, Warn, "margay serve would call itself: name the model API in "+up.key+", or unset "+up.env, "%s is where margay serve listens", up.url)
		}
	}
	if open := c.PassingUpstreams(main, claude); len(open) > 0 {
		cs.add("on_error", Warn, "set on_error: deny", "what Margay fails to decide goes out as it is, to %s", strings.Join(open, " "))
	}
	if c.Observe {
		cs.add("observe", Warn, "set observe: false to protect", "findings are reported and nothing is changed")
	}
	if !c.Discover {
		cs.add("discover", Warn, "set discover: true", "only registered secrets are protected")
	}
}

func checkKeys(c *config.Config, cs *checkups) {
	if text, ok := os.LookupEnv(config.EnvKeys); ok {
		if _, err := keys.FromText(text); err != nil {
			cs.add("keys", Fail, "unset "+config.EnvKeys+" to use key files", "%s: %v", config.EnvKeys, err)
			return
		}
		cs.ok("keys", "from %s", config.EnvKeys)
		return
	}
	checkMode("key folder", c.Keys(), cs)
	for _, p := range keys.Paths(c.Keys()) {
		if !checkKey("key", p, cs) {
			cs.ok("key", "%s will be made when it is first needed", p)
		}
	}
}

// checkKey checks the file of a key. It reports false if there is none.
func checkKey(name, path string, cs *checkups) bool {
	var k [32]byte
	switch err := keys.Read(path, &k); {
	case errors.Is(err, fs.ErrNotExist):
		return false
	case errors.Is(err, keys.ErrExposed):
		cs.add(name, Fail, "chmod 600 "+path, "%s may be read by other users", path)
	case err != nil:
		cs.add(name, Fail, "restore it from a backup", "%v", err)
	default:
		cs.ok(name, "%s", path)
	}
	return true
}

// checkMode looks at a folder's permissions.
func checkMode(name, path string, cs *checkups) {
	st, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		cs.add(name, Fail, "is it yours?", "%v", err)
	case !st.IsDir():
		cs.add(name, Fail, "move it away", "%s is not a folder", path)
	case keys.Exposed(st):
		cs.add(name, Warn, "chmod 700 "+path, "others may look into %s", path)
	default:
		cs.ok(name, "%s", path)
	}
}

func checkStore(ctx context.Context, c *config.Config, cs *checkups) {
	path := c.StorePath()
	if path == "memory" {
		cs.add("database", Warn, "set store to a file to keep secrets and allowances", "nothing is kept: store is memory")
		return
	}
	if st, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) || err == nil && st.Size() == 0 {
		if err := state.Lost(ctx, c); err != nil {
			cs.problem("database", err)
			return
		}
		cs.ok("database", "%s will be made when it is first needed", path)
		return
	}
	if err := state.MissingKey(ctx, c); err != nil && os.Getenv(config.EnvKeys) == "" {
		cs.add("database", Fail, "restore the key from a backup", "%v", err)
		return
	}
	s, err := sqlite.Open(ctx, path, sqlite.Options{})
	if err != nil {
		hint := "see the line above"
		if errors.Is(err, sqlite.ErrOpen) {
			hint = "chmod 600 " + path
		}
		cs.add("database", Fail, hint, "%v", err)
		return
	}
	defer s.Close()
	n := 0
	for _, err := range s.Secrets(ctx) {
		if err != nil {
			cs.add("database", Fail, "restore it from a backup", "%v", err)
			return
		}
		n++
	}
	allows, err := s.Allows(ctx)
	if err != nil {
		cs.add("database", Fail, "restore it from a backup", "%v", err)
		return
	}
	if err := state.Lost(ctx, c); err != nil {
		cs.problem("database", err)
		return
	}
	if was, _, err := state.Registered(c); err != nil || n < was {
		if err == nil {
			err = problem.Failure("restore the database from a backup, or register them again; margay secrets list --new-state accepts the loss", "%s: %d of %d registered secrets are gone", path, was-n, was)
		}
		cs.problem("database", err)
		return
	}
	cs.ok("database", "%s: %s registered, %s", path, invocation.Count(n, "secret"), invocation.Count(len(allows), "allowance"))
}

// checkWork names the files of the working folder that margay run protects.
func checkWork(dir string, cs *checkups) {
	files, skipped := environ.Files(dir)
	if len(files) > 0 {
		cs.ok("working folder", "margay run protects the credentials in %s", strings.Join(files, ", "))
	}
	if len(skipped) > 0 {
		cs.add("working folder", Warn, "are they .env files?", "too large to read: %s", strings.Join(skipped, ", "))
	}
}
