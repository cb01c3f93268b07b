package mcpproxy

import (
	"context"
	"maps"
	"sync"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/mediator"
	"github.com/margaydev/margay/wire/mcp"
)

// maxPins bounds the tools of one server that are pinned.
const maxPins = 4096

// maxNotes bounds what one decision says about a list.
const maxNotes = 64

// pinning holds the tools of a server to what they were at first sight.
type pinning struct {
	proxy  *Proxy
	server [32]byte

	mu      sync.Mutex
	changed map[[32]byte]bool // tools that are not called
}

// complete is kept for a server whose list was seen to its end: tools that
// come later are new.
func (p *pinning) complete() [32]byte { return keyed(p.proxy.cfg.Key, "complete", "") }

func (p *pinning) tool(name string) [32]byte { return keyed(p.proxy.cfg.Key, "tool", name) }

// denied reports whether a tool is not to be called.
func (p *pinning) denied(name string) bool {
	if !p.proxy.cfg.DenyChanged {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.changed[p.tool(name)]
}

// check compares a list with what is pinned, adds what there is to say about
// it to the message, and returns what makes it known. A change that is only
// reported is reported once.
func (p *pinning) check(ctx context.Context, m *mcp.Message, tm *mediator.ToolMessage) (commit func() error, err error) {
	store, cfg := p.proxy.cfg.Pins, &p.proxy.cfg
	none := func() error { return nil }
	if store == nil {
		return none, nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	known, err := store.Pinned(ctx, p.server)
	if err != nil {
		return nil, err
	}
	complete := p.complete()
	_, whole := known[complete]
	add := map[[32]byte][32]byte{}
	say := func(code string, action flow.Action, detail string) {
		if len(tm.Notes) < maxNotes {
			tm.Notes = append(tm.Notes, flow.Reason{Code: code, Action: action, Detail: detail})
		}
	}
	for _, t := range m.Tools() {
		key, now := p.tool(t.Name), keyed(cfg.Key, "looks", string(t.Canonical))
		was, ok := known[key]
		if then, again := add[key]; again {
			was, ok = then, true
		}
		switch {
		case ok && was == now:
			delete(p.changed, key)
		case ok && cfg.DenyChanged:
			if p.changed == nil {
				p.changed = map[[32]byte]bool{}
			}
			if len(p.changed) < maxPins {
				p.changed[key] = true
			}
			tm.Denied = true
			say("tool-changed", flow.ActBlock, "the description or schema of the tool "+t.Name+" is not what it was at first sight; margay mcp forget takes it as it is now")
		case ok:
			add[key] = now
			say("tool-changed", flow.ActReport, "the description or schema of the tool "+t.Name+" is not what it was before")
		case len(known)+len(add) >= maxPins:
			say("tools-not-pinned", flow.ActReport, "the server has more tools than are pinned")
			return p.commit(ctx, add), nil
		default:
			add[key] = now
			delete(p.changed, key) // it was forgotten
			if whole {
				say("tool-new", flow.ActReport, "the tool "+t.Name+" was not there before")
			}
		}
	}
	if !whole && !m.More() {
		add[complete] = complete
	}
	maps.DeleteFunc(add, func(k, v [32]byte) bool { return known[k] == v })
	return p.commit(ctx, add), nil
}

func (p *pinning) commit(ctx context.Context, add map[[32]byte][32]byte) func() error {
	return func() error {
		if len(add) == 0 {
			return nil
		}
		return p.proxy.cfg.Pins.Pin(context.WithoutCancel(ctx), p.server, add)
	}
}
