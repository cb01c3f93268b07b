// Package mediation turns a configuration into the rules of the mediator:
// policies of tool calls, rubrics of releases, the risk model.
package mediation

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/margaydev/margay/confirm"
	"github.com/margaydev/margay/internal/app/config"
	"github.com/margaydev/margay/internal/app/state"
	"github.com/margaydev/margay/internal/completion"
	"github.com/margaydev/margay/internal/problem"
	"github.com/margaydev/margay/mediator"
	"github.com/margaydev/margay/screen"
	"github.com/margaydev/margay/screen/judge"
	"github.com/margaydev/margay/screen/lexical"
	"github.com/margaydev/margay/screen/saliency"
	"github.com/margaydev/margay/taint"
	"github.com/margaydev/margay/taint/effect"
	"github.com/margaydev/margay/taint/observe"
	"github.com/margaydev/margay/taint/pack"
	"github.com/margaydev/margay/taint/suggest"
)

// Taint is how to check tool calls by what may influence them; nil if they are not
// checked.
func Taint(c *config.Config, st *state.State, asked func(*confirm.Question), log *slog.Logger) (*mediator.Taint, error) {
	if c.Taint.Mode == "off" {
		return nil, nil //nolint:nilnil // no labels are not an error
	}
	p, err := Policy(&c.Taint)
	if err != nil {
		return nil, err
	}
	t := &mediator.Taint{
		Policy: p, Key: Derive(st.Keys.Pseudonym, "margay call digests v1"), Report: c.Taint.Mode == "report" || c.Observe,
		// Harnesses name the tools of the user's servers with two underscores;
		// they describe all other tools themselves.
		Foreign: func(tool string) bool { return strings.Contains(tool, "__") },
	}
	t.Pins, t.Suggest = st.Store, Suggest
	book, err := Places(c, st)
	if err != nil {
		return nil, err
	}
	t.Machine = book
	t.Desk = confirm.New(confirm.Config{Store: st.Store, Sealer: &st.Keys, Limit: c.Taint.Wait.Value(), Asked: asked, Say: Say(book), Trust: Trust(book)})
	if t.MaxTold = c.Taint.GoOn; t.MaxTold == 0 {
		t.MaxTold = -1
	}
	switch c.Taint.Screen {
	case "all":
		t.NoReplay = true
	case "none":
		t.Screen = taint.ScreenNone{}
	case "lexical":
		t.Screen = screen.Screener{Adviser: lexical.Screener{}}
	case "judge":
		j, err := judge.New(judge.Config{Config: endpoint(&c.Taint.Judge), Asked: logJudge(log)})
		if err != nil {
			return nil, problem.Usage(taintHint, "taint.judge: %w", err)
		}
		t.Screen = screen.Screener{Adviser: j}
	case "saliency":
		l := c.Taint.Saliency
		l.Model = "local"
		client, err := saliency.NewClient(endpoint(&l))
		if err != nil {
			return nil, problem.Usage(taintHint, "taint.saliency: %w", err)
		}
		m, err := saliency.Default()
		if err != nil {
			return nil, err
		}
		t.Screen = screen.Screener{Adviser: &watched{Adviser: &saliency.Screener{Source: client, Model: m}, log: log}}
	}
	return t, nil
}

// endpoint is one that a configuration names.
func endpoint(l *config.LLM) completion.Config {
	return completion.Config{BaseURL: l.URL, Model: l.Model, Key: l.Key, Remote: l.Remote, Timeout: l.Wait.Value()}
}

// logJudge writes failures of the judge to the log, of many fewer and fewer, and
// what its answers took. Nothing of the conversation is in either.
func logJudge(log *slog.Logger) func(judge.Asked) {
	var failed atomic.Int64
	return func(a judge.Asked) {
		ms := a.Took.Milliseconds()
		switch {
		case errors.Is(a.Err, context.Canceled): // the client has gone
		case a.Err == nil:
			log.Debug("the judge answered", "ms", ms, "known", a.Known, "prompt_tokens", a.Usage.Prompt, "answer_tokens", a.Usage.Answer)
		default:
			if n := failed.Add(1); n&(n-1) == 0 {
				log.Warn("the judge failed: the model is shown everything, and more calls may ask", "error", a.Err, "ms", ms, "count", n)
			}
		}
	}
}

// watched writes failures of an adviser to the log, of many fewer and fewer.
// Nothing of the conversation is in them.
type watched struct {
	screen.Adviser
	log    *slog.Logger
	failed atomic.Int64
}

// Relevant implements screen.Adviser.
func (w *watched) Relevant(ctx context.Context, q *screen.Question) ([]bool, error) {
	relevant, err := w.Adviser.Relevant(ctx, q)
	if err != nil && !errors.Is(err, context.Canceled) { // else the client has gone
		if n := w.failed.Add(1); n&(n-1) == 0 {
			w.log.Warn("the screener failed: the model is shown everything, and more calls may ask", "error", err, "count", n)
		}
	}
	return relevant, err
}

// Suggest proposes what a tool does that nothing is known of. It is the suggested
// answer to a question, and decides nothing.
func Suggest(tool string, says []string) effect.Profile {
	p := suggest.Propose(&suggest.Tool{Name: tool, Texts: says})
	return effect.Profile{Effect: p.Effect, Open: p.Open}
}

const taintHint = "see taint in margay config example, and margay policy lint"

// Scheme is the lattice that a configuration names.
func Scheme(t *config.Taint) (s observe.Scheme, err error) {
	switch t.Lattice {
	case "sets":
	case "four-point":
		return observe.FourPoint(), nil
	default:
		return observe.Machine(), nil
	}
	if s, err = observe.Sets(t.Self); err != nil {
		err = problem.Usage(taintHint, "taint.self: %w", err)
	}
	return s, err
}

// Policy makes the policy of the packs that a configuration names. Errors are
// of type *problem.Error.
func Policy(t *config.Taint) (*taint.Policy, error) {
	scheme, err := Scheme(t)
	if err != nil {
		return nil, err
	}
	packs, failed := Packs(t.Packs)
	for _, f := range failed {
		return nil, problem.Usage(taintHint, "taint.packs: %w", f.Err)
	}
	var bindings []pack.Binding
	bound := map[string]bool{}
	for _, p := range packs {
		for server, of := range t.Servers {
			if p.Kind == pack.Server && (of == p.Name || of == p.For) {
				bindings, bound[server] = append(bindings, pack.Bind(p, server)), true
			}
		}
		bindings = append(bindings, pack.Bind(p, ""))
	}
	for server, of := range t.Servers {
		if !bound[server] {
			return nil, problem.Usage("packs of servers are among: "+strings.Join(pack.Names(), " "), "taint.servers.%s: unknown pack of a server %s", server, of)
		}
	}
	p, err := pack.Policy(scheme, t.Lists, bindings...)
	if err != nil {
		return nil, problem.Usage(taintHint, "taint.packs: %w", err)
	}
	return p, nil
}

// BindServer makes the pack of a server that the user names, or else one that is
// known by its command, hold for the server under its name. What the configuration
// says of the name goes before what is known. A server whose command is known works on
// this machine. Errors are of type *problem.Error.
func BindServer(t *config.Taint, name, named, known string) error {
	if known != "" {
		if t.Lists = maps.Clone(t.Lists); t.Lists == nil {
			t.Lists = map[string][]string{}
		}
		t.Lists[pack.ListLocal] = append(slices.Clip(t.Lists[pack.ListLocal]), name)
	}
	of := named
	if of == "" {
		if of = known; of == "" || t.Servers[name] != "" {
			return nil
		}
	}
	packs, _ := Packs(t.Packs) // Policy says what can't be loaded
	var p *pack.Pack
	for _, one := range packs {
		if one.Kind == pack.Server && (one.Name == of || one.For == of) {
			p = one
		}
	}
	switch {
	case p == nil && named == "":
		return nil // packs of a suite took its place
	case p == nil:
		return problem.Usage("packs of servers are: "+strings.Join(ServerPacks(), " ")+", and those of taint.packs", "unknown pack of a server %s", named)
	case p.For == name:
		return nil // it is bound by that name
	}
	if t.Servers = maps.Clone(t.Servers); t.Servers == nil {
		t.Servers = map[string]string{}
	}
	t.Servers[name] = of
	return nil
}

// ServerPacks are the servers that built-in packs describe.
func ServerPacks() (out []string) {
	for _, name := range pack.Names() {
		if p, err := pack.Builtin(name); err == nil && p.Kind == pack.Server {
			out = append(out, p.For)
		}
	}
	return out
}

// NotLoaded is a pack that can't be read.
type NotLoaded struct {
	Name string
	Err  error
}

// Packs are the built-in packs of harnesses and servers, and more by name or
// file. One for the same harness or server takes the built-in pack's place, and one
// for a suite of benchmarks that of all built-in packs. What can't be read is left
// out and returned apart.
func Packs(more []string) (packs []*pack.Pack, failed []NotLoaded) {
	var own []*pack.Pack
	load := func(name string) *pack.Pack {
		p, err := LoadPack(name)
		if err != nil {
			failed = append(failed, NotLoaded{name, err})
		}
		return p
	}
	for _, name := range more {
		if p := load(name); p != nil {
			own = append(own, p)
		}
	}
	if slices.ContainsFunc(own, func(p *pack.Pack) bool { return p.Kind == pack.Suite }) {
		return own, failed
	}
	for _, name := range pack.Names() {
		if p := load(name); p != nil && p.Kind != pack.Suite && !slices.ContainsFunc(own, func(o *pack.Pack) bool { return o.Kind == p.Kind && o.For == p.For }) {
			packs = append(packs, p)
		}
	}
	return append(packs, own...), failed
}

// maxPack bounds a pack's file, in bytes.
const maxPack = 1 << 20

// LoadPack loads a built-in pack by its name, or one from a file.
func LoadPack(name string) (*pack.Pack, error) {
	if slices.Contains(pack.Names(), name) || !strings.ContainsAny(name, "/.") {
		return pack.Builtin(name)
	}
	f, err := os.Open(filepath.Clean(name))
	if err != nil {
		return nil, err // it names the file
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxPack+1))
	switch {
	case err != nil:
		return nil, err
	case len(b) > maxPack:
		return nil, fmt.Errorf("%s is larger than a pack can be, %d bytes", name, maxPack)
	}
	return pack.Load(name, b)
}
