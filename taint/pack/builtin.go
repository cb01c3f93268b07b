package pack

import (
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/margaydev/margay/taint"
	"github.com/margaydev/margay/taint/observe"
)

//go:embed packs/*.yaml
var files embed.FS

// ErrNoPack says that no pack has a name.
var ErrNoPack = errors.New("unknown pack")

// Names returns the names of the packs that come with Margay, sorted.
func Names() []string {
	entries, err := files.ReadDir("packs")
	if err != nil {
		return nil
	}
	var out []string
	for _, e := range entries {
		out = append(out, strings.TrimSuffix(e.Name(), ".yaml"))
	}
	return out
}

// Builtin loads a pack that comes with Margay.
func Builtin(name string) (*Pack, error) {
	b, err := files.ReadFile(path.Join("packs", name+".yaml"))
	if err != nil {
		return nil, fmt.Errorf("%w %q; known packs are %s", ErrNoPack, name, strings.Join(Names(), ", "))
	}
	return Load(name+".yaml", b)
}

// Binding is a pack with the names that its tools have where it is used.
type Binding struct {
	Pack *Pack
	// Prefix goes before the tools' names: mcp__github__ for a server that a
	// harness has as github; empty for its own tools, and where a server is
	// spoken to alone.
	Prefix string
}

// Bind gives a pack the prefix by which harnesses offer its tools: none, or
// for a server's mcp__ and the name that the server has in the harness.
func Bind(p *Pack, server string) Binding {
	if p.Kind != Server {
		return Binding{Pack: p}
	}
	if server == "" {
		server = p.For
	}
	return Binding{p, "mcp__" + server + "__"}
}

// Policy makes a policy of packs. Two that have a tool of one name, or more
// than one lattice, are a taint.ErrContradiction. A pack's own lattice goes
// before the scheme given.
func Policy(scheme observe.Scheme, lists map[string][]string, bindings ...Binding) (*taint.Policy, error) {
	var tools []taint.Tool
	from := map[string]string{}
	own := ""
	for _, b := range bindings {
		if b.Pack.Scheme != nil {
			if own != "" && own != b.Pack.Name {
				return nil, fmt.Errorf("%w: %s and %s both have a lattice", taint.ErrContradiction, own, b.Pack.Name)
			}
			scheme, own = *b.Pack.Scheme, b.Pack.Name
		}
		for i := range b.Pack.Tools {
			t := b.Pack.Tools[i].Tool
			if b.Pack.Kind == Server {
				t.Rules = served(t.Rules, slices.ContainsFunc(lists[ListLocal], func(name string) bool { return b.Prefix == "mcp__"+name+"__" }))
			}
			t.Name = b.Prefix + t.Name
			if other, ok := from[t.Name]; ok {
				return nil, fmt.Errorf("%w: %s and %s both have the tool %s", taint.ErrContradiction, other, b.Pack.Name, t.Name)
			}
			from[t.Name] = b.Pack.Name
			tools = append(tools, t)
		}
	}
	return taint.New(taint.Config{Scheme: scheme, Tools: tools, Lists: lists})
}

// ListLocal is the list of the servers that work on the files of this machine, by the
// names that harnesses have them by. What others read is strangers', and a person is
// asked about the rest.
const ListLocal = "local-servers"

// served are the rules of a server's tool.
func served(rules []taint.Rule, local bool) []taint.Rule {
	out := slices.Clone(rules)
	for i := range out {
		if s := out[i].Spec; s != nil {
			of := *s
			of.Server, of.Away = true, !local
			out[i].Spec = &of
		}
	}
	return out
}

// Live is a tool as a server lists it.
type Live struct {
	Name string
	Args []string
}

// Listed reads the definitions in a server's answer to tools/list, in its result, or
// in the bare list.
func Listed(b []byte) ([]json.RawMessage, error) {
	var doc struct {
		Result struct {
			Tools []json.RawMessage `json:"tools"`
		} `json:"result"`
		Tools []json.RawMessage `json:"tools"`
	}
	var tools []json.RawMessage
	if err := json.Unmarshal(b, &tools); err != nil {
		if err := json.Unmarshal(b, &doc); err != nil {
			return nil, fmt.Errorf("not a list of tools: %w", err)
		}
		if tools = doc.Tools; tools == nil {
			tools = doc.Result.Tools
		}
	}
	if tools == nil {
		return nil, errors.New("not a list of tools: it has no member \"tools\"")
	}
	return tools, nil
}

// ParseTools reads what Listed reads.
func ParseTools(b []byte) ([]Live, error) {
	tools, err := Listed(b)
	if err != nil {
		return nil, err
	}
	var out []Live
	for _, raw := range tools {
		var t struct {
			Name        string `json:"name"`
			InputSchema struct {
				Properties map[string]json.RawMessage `json:"properties"`
			} `json:"inputSchema"`
		}
		if err := json.Unmarshal(raw, &t); err != nil {
			return nil, fmt.Errorf("not a list of tools: %w", err)
		}
		out = append(out, Live{t.Name, slices.Sorted(maps.Keys(t.InputSchema.Properties))})
	}
	return out, nil
}

// Drift compares a pack with what its server lists. A tool that the pack lacks
// is an unknown one to the policy, an argument that it lacks holds a call to
// the bottom: neither weakens a decision.
func Drift(p *Pack, live []Live) []Finding {
	var out []Finding
	add := func(code, format string, args ...any) {
		out = append(out, Finding{Pack: p.Name, Code: code, Detail: fmt.Sprintf(format, args...)})
	}
	seen := map[string]bool{}
	for _, l := range live {
		seen[l.Name] = true
		i := slices.IndexFunc(p.Tools, func(t Tool) bool { return t.Name == l.Name })
		if i < 0 {
			add("tool-not-in-pack", "the server has the tool %q, the pack does not", l.Name)
			continue
		}
		for _, a := range l.Args {
			if !slices.Contains(p.Tools[i].Args, a) {
				add("argument-not-in-pack", "%s has the argument %q, the pack does not know it", l.Name, a)
			}
		}
		for _, a := range p.Tools[i].Args {
			if !slices.Contains(l.Args, a) {
				add("argument-not-on-server", "the pack has the argument %s of %s, the server does not", a, l.Name)
			}
		}
	}
	for i := range p.Tools {
		if !seen[p.Tools[i].Name] {
			add("tool-not-on-server", "the pack has the tool %s, the server does not", p.Tools[i].Name)
		}
	}
	return out
}
