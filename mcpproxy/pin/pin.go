// Package pin detects changes in the tools of an MCP server: if a server
// changes the description or schema of a tool after it was first seen, the
// tool is reported or refused.
//
// Only keyed hashes are kept: of the server, of a tool's name, and of its
// description and schema in their canonical form.
package pin

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"maps"
	"sync"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/wire/mcp"
)

// Store keeps what tools looked like, by keyed hashes: of the server, the tool,
// and what it says of itself. All methods are safe for concurrent use.
type Store interface {
	// Pinned returns the tools of a server.
	Pinned(ctx context.Context, server [32]byte) (map[[32]byte][32]byte, error)
	// Pin adds tools of a server, all or none, and replaces those that are
	// there.
	Pin(ctx context.Context, server [32]byte, tools map[[32]byte][32]byte) error
	// Unpin forgets a server and returns how many tools it had.
	Unpin(ctx context.Context, server [32]byte) (int, error)
}

// MaxTools bounds the tools of one server that are pinned.
const MaxTools = 4096

// MaxNotes bounds what one decision says about a list.
const MaxNotes = 64

// Tools are the tools of one server. They are safe for concurrent use.
type Tools struct {
	store  Store // nil: nothing is pinned
	key    [32]byte
	server [32]byte
	deny   bool

	mu      sync.Mutex
	changed map[[32]byte]bool // tools that are not called
}

// New returns the tools of the server with an identity. Deny refuses those that
// have changed; otherwise a change is reported. Without a store nothing is
// pinned.
func New(store Store, key [32]byte, identity string, deny bool) *Tools {
	return &Tools{store: store, key: key, server: Server(key, identity), deny: deny, changed: map[[32]byte]bool{}}
}

// Server is the keyed hash that a server's tools are pinned under.
func Server(key [32]byte, identity string) [32]byte { return keyed(key, "server", identity) }

func keyed(key [32]byte, domain, text string) (out [32]byte) {
	h := hmac.New(sha256.New, key[:])
	h.Write([]byte("margay mcp " + domain + " v1\x00"))
	h.Write([]byte(text))
	h.Sum(out[:0])
	return out
}

// complete is kept for a server whose list was seen to its end: tools that
// come later are new.
func (p *Tools) complete() [32]byte { return keyed(p.key, "complete", "") }

func (p *Tools) tool(name string) [32]byte { return keyed(p.key, "tool", name) }

// Denied reports whether a tool is not to be called.
func (p *Tools) Denied(name string) bool {
	if !p.deny {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.changed[p.tool(name)]
}

// Seen is what there is to say about a list.
type Seen struct {
	Notes  []flow.Reason
	Denied bool // the list is refused
	// Changed are the tools that are not what they were before, at most MaxTools.
	Changed []string

	of  *Tools
	add map[[32]byte][32]byte
}

// Keep makes the list known. It is called once the decision about it was made.
func (s *Seen) Keep(ctx context.Context) error {
	if len(s.add) == 0 {
		return nil
	}
	return s.of.store.Pin(context.WithoutCancel(ctx), s.of.server, s.add)
}

func (s *Seen) note(code string, action flow.Action, detail string) {
	if len(s.Notes) < MaxNotes {
		s.Notes = append(s.Notes, flow.Reason{Code: code, Action: action, Detail: detail})
	}
}

// Check compares a page of a server's list with what is pinned. More says that
// there are further pages. A change that is only reported is reported once.
func (p *Tools) Check(ctx context.Context, tools []mcp.Tool, more bool) (*Seen, error) {
	out := &Seen{of: p, add: map[[32]byte][32]byte{}}
	if p.store == nil {
		return out, nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	known, err := p.store.Pinned(ctx, p.server)
	if err != nil {
		return nil, err
	}
	complete := p.complete()
	_, whole := known[complete]
	for _, t := range tools {
		if len(known)+len(out.add) >= MaxTools && !p.pinned(known, out, t.Name) {
			out.note("tools-not-pinned", flow.ActReport, "the server has more tools than are pinned")
			return out, nil
		}
		p.check(known, out, &t, whole)
	}
	if !whole && !more {
		out.add[complete] = complete
	}
	maps.DeleteFunc(out.add, func(k, v [32]byte) bool { return known[k] == v })
	return out, nil
}

// pinned reports whether a tool is known, from before or from this list.
func (p *Tools) pinned(known map[[32]byte][32]byte, out *Seen, name string) bool {
	key := p.tool(name)
	_, before := known[key]
	_, now := out.add[key]
	return before || now
}

// check compares one tool with what is pinned. Whole says that the server's list
// was seen to its end before.
func (p *Tools) check(known map[[32]byte][32]byte, out *Seen, t *mcp.Tool, whole bool) {
	key, now := p.tool(t.Name), keyed(p.key, "looks", string(t.Canonical))
	was, ok := known[key]
	if then, again := out.add[key]; again {
		was, ok = then, true
	}
	if ok && was != now {
		out.Changed = append(out.Changed, t.Name)
	}
	switch {
	case ok && was == now:
		delete(p.changed, key)
	case ok && p.deny:
		if len(p.changed) < MaxTools {
			p.changed[key] = true
		}
		out.Denied = true
		out.note("tool-changed", flow.ActBlock, "the description or schema of the tool "+t.Name+" is not what it was at first sight; margay mcp forget takes it as it is now")
	case ok:
		out.add[key] = now
		out.note("tool-changed", flow.ActReport, "the description or schema of the tool "+t.Name+" is not what it was before")
	default:
		out.add[key] = now
		delete(p.changed, key) // it was forgotten
		if whole {
			out.note("tool-new", flow.ActReport, "the tool "+t.Name+" was not there before")
		}
	}
}
