package front

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/margaydev/margay/internal/app/child"
	"github.com/margaydev/margay/internal/app/config"
	"github.com/margaydev/margay/internal/app/invocation"
	"github.com/margaydev/margay/internal/app/watch"
	"github.com/margaydev/margay/internal/problem"
)

// Coverage is what a run can say of itself at its end. It comes from what the
// gateway counted and what was seen of connections, and not from what was set.
type Coverage struct {
	State    string       `json:"state"`    // "seen", "none", "unproved" or "bypassed"
	Requests int          `json:"requests"` // that came through the gateway
	Agents   []string     `json:"agents"`   // that shims started
	Bypassed []watch.Seen `json:"bypassed"`
	Samples  int          `json:"samples"` // of the connections; none where they can't be seen
	Cut      bool         `json:"cut"`     // a sample did not look at all there was
	Why      string       `json:"why,omitempty"`
}

// States of coverage.
const (
	seen     = "seen"     // requests came, and no other way was seen
	none     = "none"     // no request came
	unproved = "unproved" // requests came, and others may have gone elsewhere
	bypassed = "bypassed" // a connection to a model API past the gateway was seen
)

// covering is how one run is covered.
type covering struct {
	Coverage
	flags   *runFlags
	program string
	known   child.Agent
	shims   child.Shims
	watcher watch.Watcher
	to      []string // URLs of the upstreams in use
}

// aim loads the configuration with the upstreams that the agent needs.
func (a *app) aim(f *runFlags, known child.Agent, args []string) (*config.Config, *covering, error) {
	cov := &covering{flags: f, known: known, program: filepath.Base(args[0])}
	agent := known
	if known.Name == "" {
		agent = child.Inside(args, os.Environ())
	}
	claude := agent.API == "anthropic"
	f.upstream = cmp.Or(f.upstream, os.Getenv("MARGAY_UPSTREAM"))
	if !claude {
		for _, v := range child.BaseURLs() {
			f.upstream = cmp.Or(f.upstream, os.Getenv(v))
		}
	}
	c, err := a.Load(func(c *config.Config) {
		c.Observe = c.Observe || f.observe
		c.Taint.Mode = cmp.Or(f.taint, c.Taint.Mode)
		switch {
		case f.upstream != "" && claude:
			c.Anthropic = f.upstream
		case f.upstream != "":
			c.Upstream = f.upstream
		}
		cov.shims.Chosen = c.Upstream != "" || len(c.Upstreams) > 0 || os.Getenv(child.BaseURLs()[0]) != ""
		if c.Upstream == "" && agent.Upstream != "" {
			c.Upstream, cov.shims.Upstream = agent.Upstream, agent.Upstream
		}
	})
	if err != nil {
		return nil, nil, err
	}
	_, main, err := c.Named("")
	if err != nil {
		return nil, nil, err
	}
	_, messages, err := c.Messages()
	if err != nil {
		return nil, nil, err
	}
	if c.OnErrorPass(&main) || c.OnErrorPass(&messages) {
		a.Note("on_error is pass: what Margay fails to decide is sent as it is")
	}
	cov.watcher.Hosts = watch.Known()
	for _, up := range append(slices.Collect(maps.Values(c.Upstreams)), main, messages) {
		if h, ok := hostOf(up.URL); ok {
			cov.watcher.Hosts = append(cov.watcher.Hosts, h)
		}
	}
	cov.to = map[string][]string{"openai": {main.URL}, "anthropic": {messages.URL}, "": {main.URL, messages.URL}}[agent.API]
	return c, cov, nil
}

// hostOf is the host that a base URL leads to.
func hostOf(base string) (watch.Host, bool) {
	u, err := url.Parse(base)
	if err != nil || u.Hostname() == "" {
		return watch.Host{}, false
	}
	port, err := strconv.ParseUint(cmp.Or(u.Port(), map[string]string{"http": "80"}[u.Scheme], "443"), 10, 16)
	return watch.Host{Name: u.Hostname(), Port: uint16(port)}, err == nil
}

// point returns the command line and the environment that lead the agent to a
// gateway; those that it has, if that is of no use.
func (v *covering) point(args []string, base, token string, log *slog.Logger) (line, environ []string) {
	environ = os.Environ()
	if v.known.Uncovered != "" {
		return args, environ
	}
	environ = child.Env(environ, base+"/"+token)
	v.shims.Base, v.shims.Token, v.shims.Uncovered = base, token, v.flags.uncovered
	margay, err := os.Executable()
	if err == nil {
		var more []string
		more, err = v.shims.Make(margay, environ)
		environ = append(environ, more...)
	}
	if err != nil {
		log.Error("agents behind other programs are not pointed at Margay: no shims", "error", err)
	}
	return v.known.Args(args, base+"/v1"), environ
}

// watch starts to look at the connections of the run's processes.
func (v *covering) watch(ctx context.Context, mark string) {
	v.watcher.Proc, v.watcher.PID, v.watcher.Mark, v.watcher.Resolve = "/proc", os.Getpid(), mark, watch.Lookup
	v.watcher.Self, _ = os.Executable()
	v.watcher.Start(ctx)
}

// announce says what is set. That it works is said at the end, if it did.
func (a *app) announce(v *covering, environ []string) {
	set := strings.Join(child.Changed(os.Environ(), environ), ", ")
	if v.known.API == "openai" {
		set += ", and flags that name a provider"
	}
	to := strings.Join(v.to, " and ")
	if outer := os.Getenv(child.TokenEnv); outer != "" { // in the address of the run around this one
		to = strings.ReplaceAll(to, outer, "[token]")
	}
	switch {
	case v.known.Uncovered != "":
	case v.known.API != "":
		a.Note("%s is pointed at Margay, which forwards to %s; set: %s", v.program, to, set)
	case v.known.Name != "":
		a.Note("the coverage of %s is unproved: %s; Margay forwards to %s; set: %s", v.known.Name, v.known.Unproved, to, set)
	default:
		a.Note("%s is no agent that Margay knows, so its coverage is unproved; Margay forwards to %s; set: %s", v.program, to, set)
	}
}

// judge makes the run's coverage from what was counted and seen.
func (v *covering) judge(requests int, r watch.Report) {
	v.Coverage = Coverage{State: seen, Requests: requests, Agents: v.shims.Started(), Bypassed: append([]watch.Seen{}, r.Seen...), Samples: r.Samples, Cut: r.Cut}
	uncovered := slices.ContainsFunc(v.Agents, func(s string) bool { return strings.HasSuffix(s, child.Uncovered) })
	switch {
	case len(r.Seen) > 0:
		v.State = bypassed
	case requests == 0:
		v.State = none
	case v.known.Uncovered != "" || uncovered:
		v.State, v.Why = unproved, "an agent ran that Margay can't cover"
	case v.known.API == "" && (r.Samples == 0 || r.Cut):
		v.State, v.Why = unproved, "what else "+v.program+" reached could not be watched"
	}
}

// text says the coverage in a line.
func (c *Coverage) text() string {
	out := "no request came through Margay"
	if c.Requests > 0 {
		out = invocation.Count(c.Requests, "request") + " came through Margay"
	}
	if len(c.Agents) > 0 {
		out += " (started in the run: " + strings.Join(c.Agents, ", ") + ")"
	}
	switch {
	case c.State == bypassed:
		return out + "; " + c.past()
	case c.Samples == 0:
		out += "; whether others went past it can't be seen on this system"
	default:
		out += "; no connection past it was seen, which sampling can't rule out"
	}
	if c.Cut {
		out += "; there were too many connections to look at all"
	}
	if c.Why != "" {
		out += "; unproved: " + c.Why
	}
	return out
}

// past names the hosts that were reached past the gateway.
func (c *Coverage) past() string {
	var parts []string
	for _, s := range c.Bypassed {
		what := s.Host + " (" + s.Address.String() + ")"
		if s.Host == s.Address.Addr().String() {
			what = s.Address.String()
		}
		parts = append(parts, fmt.Sprintf("%s by %s", what, invocation.Printable(s.Program)))
	}
	return "a model API was reached without Margay: " + strings.Join(parts, ", ")
}

// fail ends a run with an error if its coverage is not what it must be, unless
// the agent itself failed: its exit code stays.
func (a *app) fail(v *covering) error {
	if a.Code != problem.Done {
		if v.State == bypassed && v.flags.quiet {
			a.Note("%s", v.past())
		}
		return nil
	}
	const hint = "docs/agents.md says how each agent is pointed at Margay"
	switch {
	case v.State == bypassed && (!v.flags.uncovered || v.flags.require):
		return problem.Failure(hint+"; --uncovered accepts it", "%s", v.past())
	case v.State != seen && v.flags.require:
		return problem.Failure(hint, "coverage is required, and not proved: %s", v.text())
	}
	return nil
}

// shimCommand is what the shims of a run call.
func (a *app) shimCommand() *cobra.Command {
	return &cobra.Command{
		Use: "shim DIR PROGRAM [ARG...]", Hidden: true, Short: "Start a program in a run, as its shim", DisableFlagParsing: true, Args: cobra.MinimumNArgs(2),
		RunE: func(_ *cobra.Command, args []string) error { return child.Shim(args[0], args[1:], os.Environ()) },
	}
}
