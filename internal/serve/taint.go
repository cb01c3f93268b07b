package serve

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"errors"
	"os"
	"slices"
	"strings"

	"github.com/margaydev/margay/confirm"
	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/config"
	"github.com/margaydev/margay/internal/problem"
	"github.com/margaydev/margay/internal/state"
	"github.com/margaydev/margay/label"
	"github.com/margaydev/margay/mediator"
	"github.com/margaydev/margay/screen"
	"github.com/margaydev/margay/screen/lexical"
	"github.com/margaydev/margay/secret"
	"github.com/margaydev/margay/taint"
	"github.com/margaydev/margay/taint/pack"
)

// taintOf is how tool calls are held to what they may follow from; nil where
// they are not.
func taintOf(c *config.Config, st *state.State, asked func(*confirm.Question)) (*mediator.Taint, error) {
	if c.Taint.Mode == "off" {
		return nil, nil //nolint:nilnil // no labels are not an error
	}
	p, err := Policy(&c.Taint)
	if err != nil {
		return nil, err
	}
	t := &mediator.Taint{
		Policy: p, Key: digestKey(&st.Keys), Report: c.Taint.Mode == "report" || c.Observe,
		Desk: confirm.New(confirm.Config{Store: st.Store, Sealer: &st.Keys, Limit: c.Taint.Patience(), Asked: asked}),
		// Harnesses name the tools of servers that the user connected with two
		// underscores; what else is offered the harness describes itself.
		Foreign: func(tool string) bool { return strings.Contains(tool, "__") },
	}
	if t.MaxTold = c.Taint.GoOn; t.MaxTold == 0 {
		t.MaxTold = -1
	}
	switch c.Taint.Screen {
	case "all":
		t.NoReplay = true
	case "none":
		t.Screen = taint.ScreenNone{}
	case "lexical":
		t.Screen = advised{lexical.Screener{}}
	}
	return t, nil
}

// digestKey keys the digests of calls.
func digestKey(k *secret.Keys) taint.Key {
	h := hmac.New(sha256.New, k.Pseudonym[:])
	h.Write([]byte("margay call digests v1"))
	return taint.Key(h.Sum(nil))
}

// Policy makes the policy of the packs that a configuration names. Errors are
// of type *problem.Error.
func Policy(t *config.Taint) (*taint.Policy, error) {
	const hint = "see taint in margay config example, and margay policy lint"
	scheme := taint.FourPoint()
	if t.Lattice == "sets" {
		var err error
		if scheme, err = taint.Sets(t.Self); err != nil {
			return nil, problem.Usage(hint, "taint.self: %w", err)
		}
	}
	names := t.Packs
	if len(names) == 0 {
		names = pack.Names()
	}
	var bindings []pack.Binding
	bound := map[string]bool{}
	for _, name := range names {
		p, err := load(name)
		if err != nil {
			return nil, problem.Usage(hint, "taint.packs: %w", err)
		}
		if len(t.Packs) == 0 && p.Kind == pack.Suite {
			continue // it is asked for by name
		}
		for server, of := range t.Servers {
			if p.Kind == pack.Server && (of == p.Name || of == p.For) {
				bindings, bound[server] = append(bindings, pack.Bind(p, server)), true
			}
		}
		bindings = append(bindings, pack.Bind(p, ""))
	}
	for server, of := range t.Servers {
		if !bound[server] {
			return nil, problem.Usage("the packs of servers are among: "+strings.Join(pack.Names(), " "), "taint.servers.%s: no pack of a server is named %s", server, of)
		}
	}
	p, err := pack.Policy(scheme, t.Lists, bindings...)
	if err != nil {
		return nil, problem.Usage(hint, "taint.packs: %w", err)
	}
	return p, nil
}

// load loads a built-in pack by its name, or one from a file.
func load(name string) (*pack.Pack, error) {
	if slices.Contains(pack.Names(), name) || !strings.ContainsAny(name, "/.") {
		return pack.Builtin(name)
	}
	b, err := os.ReadFile(name)
	if err != nil {
		var pe *os.PathError
		if errors.As(err, &pe) {
			err = pe.Err
		}
		return nil, errors.Join(errors.New(name), err)
	}
	return pack.Load(name, b)
}

// advised makes a screener of an adviser: the level of what it takes for
// relevant.
type advised struct{ of screen.Adviser }

// Screen implements taint.Screener.
func (a advised) Screen(ctx context.Context, h *taint.History) (taint.Level, error) {
	q := screen.Question{Requests: h.Own()}
	var labels []label.Label
	for i := range h.Messages {
		m := &h.Messages[i]
		if m.Kind != taint.KindResult && m.Role != flow.RoleAssistant {
			continue
		}
		for _, r := range m.Regions {
			q.Regions = append(q.Regions, screen.Region{Text: m.Text[r.Start:r.End], Message: i, Tool: m.Tool, Field: r.From.Field, Bottom: r.Label == (label.Label{})})
			labels = append(labels, r.Label)
		}
	}
	relevant, err := a.of.Relevant(ctx, &q)
	if err != nil {
		return taint.Everything(), err
	}
	var l label.Label
	for i := range labels {
		if relevant[i] {
			l = h.Lattice.Join(l, labels[i])
		}
	}
	return taint.AtLabel(l), nil
}
