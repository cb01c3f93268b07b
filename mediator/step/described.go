package step

import (
	"context"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"unicode"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/recent"
	"github.com/margaydev/margay/label"
	"github.com/margaydev/margay/mediator/session"
	"github.com/margaydev/margay/secret"
	"github.com/margaydev/margay/taint/clear"
)

// Pins keeps what tools of servers looked like, by keyed hashes of the server, the
// tool and its definition. All methods are safe for concurrent use.
type Pins interface {
	// Pinned returns the tools of a server.
	Pinned(ctx context.Context, server [32]byte) (map[[32]byte][32]byte, error)
	// Pin adds tools of a server, all or none.
	Pin(ctx context.Context, server [32]byte, tools map[[32]byte][32]byte) error
}

// maxDefined bounds the definitions that a process remembers as those that were
// pinned.
const maxDefined = 1 << 14

// definitions are those that are known to be as they were first seen.
type definitions struct {
	once sync.Once
	same *recent.Map[[32]byte, struct{}]
}

// describe labels the tools that are offered to a model. A user chooses his servers,
// not their words: what a server says of its tools counts as the workspace's, if it
// is what the server said when its tools were first seen, has no hidden characters
// and speaks of no other server's tool. Otherwise it is a stranger's.
func (st *Step) describe(ctx context.Context, tools []flow.OfferedTool) []clear.Description {
	cfg, scheme := st.cfg, st.cfg.Policy.Scheme()
	offered := make([]string, len(tools))
	for i := range tools {
		offered[i] = tools[i].Name
	}
	out := st.policy.Describe(offered, func(tool string) bool { return cfg.Foreign == nil || cfg.Foreign(tool) })
	pins := map[string]map[[32]byte][32]byte{}
	pinned, changed := map[string]bool{}, map[string]bool{} // by name: one that is offered twice may be both
	for i := range tools {
		t := &tools[i]
		if t.Server {
			out[i].Label = scheme.Worst()
			continue
		}
		server, _, ok := cutLast(t.Name, "__")
		if out[i].Label.Integrity != scheme.Untrusted || !ok || cfg.Pins == nil {
			continue
		}
		seen := st.definition(t)
		if speaksOfOthers(seen, server, offered) || hides(t.Parts, st.text) || !st.asPinned(ctx, pins, server, t.Name, seen) {
			changed[t.Name] = true
		} else {
			out[i].Label = label.Label{Integrity: scheme.Workspace}
			pinned[t.Name] = true
		}
	}
	st.profiles(tools, func(tool string) bool { return pinned[tool] && !changed[tool] })
	return out
}

// definition is all that a tool says of itself.
func (st *Step) definition(t *flow.OfferedTool) string {
	var b strings.Builder
	for _, p := range t.Parts {
		b.WriteString(strconv.Quote(st.text(p)))
	}
	return b.String()
}

// looks is the keyed hash of what a tool says of itself.
func (st *Step) looks(t *flow.OfferedTool) [32]byte {
	return st.s.Keyed("margay offered definition v1", []byte(t.Name), []byte(st.definition(t)))
}

// asPinned reports whether a definition is what it was when its tool was first seen.
// One that is seen for the first time is pinned. It fails closed.
func (st *Step) asPinned(ctx context.Context, known map[string]map[[32]byte][32]byte, server, tool, definition string) bool {
	d := &st.cfg.defined
	d.once.Do(func() { d.same = recent.New[[32]byte, struct{}](maxDefined) })
	id := st.s.Keyed("margay offered tool v1", []byte(tool))
	looks := st.s.Keyed("margay offered definition v1", []byte(tool), []byte(definition))
	if _, ok := d.same.Get(looks); ok {
		return true
	}
	of := ServerID(st.s.Keys(), server)
	pins, ok := known[server]
	if !ok {
		var err error
		if pins, err = st.cfg.Pins.Pinned(ctx, of); err != nil {
			return false
		}
		known[server] = pins
	}
	if was, ok := pins[id]; ok && was != looks || !ok && len(pins) > 0 {
		return false // it has changed, or is new
	} else if !ok && st.cfg.Pins.Pin(context.WithoutCancel(ctx), of, map[[32]byte][32]byte{id: looks}) != nil {
		return false
	}
	d.same.Put(looks, struct{}{})
	return true
}

// ServerID is the keyed hash under which the tools of a server are pinned, by its
// name in the names of tools: mcp__github of mcp__github__get_issue.
func ServerID(k *secret.Keys, server string) [32]byte {
	return session.Keyed(k, "margay offering server v1", []byte(server))
}

// cutLast cuts a text at the last of a separator.
func cutLast(s, sep string) (before, after string, ok bool) {
	i := strings.LastIndex(s, sep)
	if i <= 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

// hides reports whether some text has characters that people do not see.
func hides(parts []int, text func(int) string) bool {
	for _, p := range parts {
		for _, r := range text(p) {
			if !unicode.IsPrint(r) && r != '\n' && r != '\t' && r != '\r' {
				return true
			}
		}
	}
	return false
}

// speaksOfOthers reports whether a definition names a tool that is not its server's.
func speaksOfOthers(definition, server string, offered []string) bool {
	for _, name := range offered {
		if strings.HasPrefix(name, server+"__") {
			continue
		}
		if of, bare, ok := cutLast(name, "__"); ok && of != server { // another server's: its bare name, too
			name = bare
		}
		if strings.Contains(definition, name) && len(name) > 2 && regexp.MustCompile(`(?:^|[^A-Za-z0-9])`+regexp.QuoteMeta(name)+`(?:$|[^A-Za-z0-9])`).MatchString(definition) {
			return true
		}
	}
	return false
}
