package taint

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/label"
)

// Reach is how high a label a rule admits, in one component.
type Reach uint8

// Reaches.
const (
	ReachLow  Reach = iota // trusted; public
	ReachHigh              // whatever strangers wrote; what the user may see
	ReachAny               // not looked at
)

// Rule is a part of a tool's policy.
type Rule struct {
	When []Cond // all of them; none: always
	// Source and Reader are the highest label that the rule admits.
	Source, Reader Reach
	// Readers lead to the arguments that name who will read what is sent. In
	// a lattice of people they are the rule's reach for confidentiality,
	// unless that is ReachAny.
	Readers []Path
	Confirm bool // ask, whatever the label
	Deny    bool // never
	Why     string
}

// Tool is what is known of a tool.
type Tool struct {
	Name   string
	Args   []string // all names of arguments; a call with others is held to the bottom
	Result Annotation
	// Rules: one that denies and applies is final. Otherwise the first that
	// applies counts; if none does, the bottom.
	Rules []Rule
	// Destinations are the arguments that say where something goes, and Free
	// those that a grant for a trajectory leaves free; never both.
	Destinations, Free []string
}

// Config makes a Policy.
type Config struct {
	Scheme Scheme
	Tools  []Tool
	// Lists are what conditions refer to by name: trusted paths, the
	// organisation's domains.
	Lists map[string][]string
}

// Policy knows tools: what their results are and what calls need. It is
// immutable and safe for concurrent use.
type Policy struct {
	scheme Scheme
	lists  map[string][]string
	tools  map[string]*Tool
	folded map[string]string
}

// Errors of New.
var (
	ErrContradiction = errors.New("packs contradict each other")
	ErrTool          = errors.New("not a tool")
)

// New makes a policy. A name that comes twice is an ErrContradiction.
func New(c Config) (*Policy, error) {
	if c.Scheme.Lattice.Integrity == nil || c.Scheme.Lattice.Confidentiality == nil {
		return nil, fmt.Errorf("%w: none given", ErrScheme)
	}
	p := &Policy{scheme: c.Scheme, lists: map[string][]string{}, tools: map[string]*Tool{}, folded: map[string]string{}}
	for n, l := range c.Lists {
		p.lists[n] = slices.Clone(l)
	}
	for i := range c.Tools {
		t := c.Tools[i]
		if err := t.check(); err != nil {
			return nil, err
		}
		if p.tools[t.Name] != nil {
			return nil, fmt.Errorf("%w: tool %q comes twice", ErrContradiction, t.Name)
		}
		p.tools[t.Name] = &t
		p.folded[fold(t.Name)] = t.Name
	}
	return p, nil
}

func (t *Tool) check() error {
	bad := func(format string, args ...any) error {
		return fmt.Errorf("%w: %s: %w", ErrTool, t.Name, fmt.Errorf(format, args...))
	}
	if !plainName(t.Name) {
		return fmt.Errorf("%w: %q can't name one", ErrTool, t.Name)
	}
	conds := [][]Cond{}
	for i := range t.Rules {
		r := &t.Rules[i]
		conds = append(conds, r.When)
		if len(r.When) == 0 && i < len(t.Rules)-1 && !r.Deny {
			return bad("rule %d always applies: the rules after it never would", i+1)
		}
		if r.Deny && r.Confirm {
			return bad("rule %d both denies and asks", i+1)
		}
		for _, p := range r.Readers {
			if !slices.Contains(t.Args, p.Head()) {
				return bad("rule %d has readers at %s, which is no argument", i+1, p)
			}
		}
	}
	for i := range t.Result.Cases {
		conds = append(conds, t.Result.Cases[i].When)
	}
	for _, cs := range conds {
		for i := range cs {
			if err := cs[i].Check(); err != nil {
				return bad("%w", err)
			}
			if cs[i].Op != OpTest && !slices.Contains(t.Args, cs[i].Arg.Head()) {
				return bad("a condition is on %s, which is no argument", cs[i].Arg)
			}
		}
	}
	for _, d := range t.Destinations {
		if !slices.Contains(t.Args, d) {
			return bad("destination %s is no argument", d)
		}
	}
	for _, f := range t.Free {
		if !slices.Contains(t.Args, f) || slices.Contains(t.Destinations, f) {
			return bad("%s is free, and no argument, or one that says where it goes", f)
		}
	}
	return nil
}

// ListTrusted is the list of the people whose records are trusted. Whoever can
// write in their name is trusted, too: a mail's sender is as good as the mail
// server's checks.
const ListTrusted = "trusted-sources"

func (p *Policy) trusts(name string) bool {
	return slices.ContainsFunc(p.lists[ListTrusted], func(l string) bool { return name != Stranger && strings.ToLower(l) == name })
}

// Scheme returns the scheme that labels are made by.
func (p *Policy) Scheme() Scheme { return p.scheme }

// Tool returns what is known of a tool, by its exact name.
func (p *Policy) Tool(name string) (Tool, bool) {
	t, ok := p.tools[name]
	if !ok {
		return Tool{}, false
	}
	return *t, true
}

// Tools returns the names of all known tools, sorted.
func (p *Policy) Tools() []string { return slices.Sorted(maps.Keys(p.tools)) }

// plainName reports whether a tool's name has only characters that all APIs
// take.
func plainName(s string) bool {
	return s != "" && len(s) <= 256 && !strings.ContainsFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_-.:/", r))
	})
}

// fold makes alike what a person or a lenient server takes for one name.
func fold(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		case strings.ContainsRune("_-.:/ ", r):
			return -1
		}
		return r
	}, s)
}

// tool finds a call's tool by its exact name, with its arguments parsed; args
// is nil where they are not strict JSON.
func (p *Policy) tool(call flow.ToolCall) (t *Tool, args *tree) {
	return p.tools[call.Name], arguments(call.Arguments)
}

// arguments parses a call's arguments, which are an object; an empty text is
// an empty one.
func arguments(s string) *tree {
	if strings.TrimSpace(s) == "" {
		s = "{}"
	}
	t, ok := readJSON(s, MaxArguments)
	if !ok || t.nodes[0].kind != dict {
		return nil
	}
	return t
}

// Clearance is what a call needs: P(t) of the paper.
type Clearance struct {
	Known   bool
	Limit   Limit // a call whose label flows to it may be run
	Confirm bool  // ask, whatever the label
	Deny    bool  // never
	Rule    int   // the rule that counts, from 1; 0 for none
	Reasons []flow.Reason
}

// Codes of reasons.
const (
	CodeUnknownTool = "unknown-tool"
	CodeLookalike   = "tool-lookalike"
	CodeArguments   = "arguments-not-strict"
	CodeArgument    = "unknown-argument"
	CodeRule        = "tool-rule"
	CodeNoRule      = "no-rule"
	CodeLabel       = "label-too-high"
	CodeConfirmed   = "confirmed"
	CodeGranted     = "granted"
	CodeSkipped     = "refused"
)

// Clear returns what a call needs. User are the texts of the user's own
// messages, without what was pasted from elsewhere.
func (p *Policy) Clear(call flow.ToolCall, user []string) Clearance {
	reason := func(code, format string, args ...any) flow.Reason {
		return flow.Reason{Code: code, Detail: fmt.Sprintf(format, args...)}
	}
	t, args := p.tool(call)
	if args == nil {
		return Clearance{Known: t != nil, Deny: true, Reasons: []flow.Reason{reason(CodeArguments, "the arguments are not one strict JSON object")}}
	}
	if t == nil {
		if of, ok := p.folded[fold(call.Name)]; ok || !plainName(call.Name) {
			detail := "the tool's name has characters that tools' names don't have"
			if ok {
				detail = "the tool's name looks like " + of + " and is another"
			}
			return Clearance{Confirm: true, Reasons: []flow.Reason{reason(CodeLookalike, "%s", detail)}}
		}
		return Clearance{Reasons: []flow.Reason{reason(CodeUnknownTool, "no pack knows this tool: it may follow from trusted, public text alone")}}
	}
	q := &question{args: args, call: &call, user: user}
	for i := range t.Rules {
		if r := &t.Rules[i]; r.Deny && p.holds(r.When, q, true) {
			return Clearance{Known: true, Deny: true, Rule: i + 1, Reasons: []flow.Reason{reason(CodeRule, "rule %d of %s: %s", i+1, t.Name, r.Why)}}
		}
	}
	c := Clearance{Known: true}
	for _, n := range args.top() {
		if slices.Contains(t.Args, n) {
			continue
		}
		// Another name may be one that the server takes for one that the
		// rules ask for: they can't be asked.
		c.Reasons = append(c.Reasons, reason(CodeArgument, "an argument that the pack of %s doesn't know: it may follow from trusted, public text alone", t.Name))
		c.Confirm = slices.ContainsFunc(t.Args, func(a string) bool { return fold(a) == fold(n) })
		return c
	}
	for i := range t.Rules {
		r := &t.Rules[i]
		if r.Deny || !p.holds(r.When, q, r.Confirm) {
			continue
		}
		c.Rule, c.Confirm, c.Limit = i+1, r.Confirm, p.limit(r, args)
		c.Reasons = append(c.Reasons, reason(CodeRule, "rule %d of %s: %s", i+1, t.Name, r.Why))
		return c
	}
	c.Reasons = append(c.Reasons, reason(CodeNoRule, "no rule of %s is about this call: it may follow from trusted, public text alone", t.Name))
	return c
}

// top returns the names of the root's values.
func (t *tree) top() []string {
	var out []string
	for c := 1; c < len(t.nodes); c = t.nodes[c].next {
		out = append(out, t.nodes[c].key)
	}
	return out
}

// limit is a rule's reach as a limit.
func (p *Policy) limit(r *Rule, args *tree) Limit {
	var l Limit
	switch r.Source {
	case ReachAny:
		l.AnySource = true
	case ReachHigh:
		// Where sources are people, strangers are any.
		l.AnySource = p.scheme.people
		if !l.AnySource {
			l.Label.Integrity = p.scheme.Untrusted
		}
	}
	switch {
	case r.Reader == ReachAny:
		l.AnyReader = true
	case p.scheme.people && len(r.Readers) > 0 && r.Reader == ReachLow:
		l.Label.Confidentiality = p.readers(r.Readers, args)
	case r.Reader == ReachHigh:
		l.Label.Confidentiality = p.scheme.Private
	}
	return l
}

// readers are the people that arguments name; the bottom, everybody, where one
// of them is no name.
func (p *Policy) readers(paths []Path, args *tree) label.Element {
	var names []string
	ok := true
	for _, path := range paths {
		args.walk(path, 0, nil, func(i, _ int) {
			n := &args.nodes[i]
			if n.kind == null {
				return
			}
			name, is := personName(n.value)
			ok = ok && is && args.leaf(i)
			names = append(names, name)
		})
	}
	if !ok || len(names) == 0 {
		return ""
	}
	return element(names)
}
