package taint

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/label"
	"github.com/margaydev/margay/taint/act"
	"github.com/margaydev/margay/taint/clear"
	"github.com/margaydev/margay/taint/document"
	"github.com/margaydev/margay/taint/effect"
	"github.com/margaydev/margay/taint/observe"
)

// Reach is how high a label a rule admits, in one component.
type Reach uint8

// Reaches.
const (
	ReachLow       Reach = iota // trusted; public
	ReachWorkspace              // also what a trusted folder holds; of readers, as ReachLow
	ReachHigh                   // whatever strangers wrote; what the user may see
	ReachAny                    // not looked at
)

// Rule is a part of a tool's policy.
type Rule struct {
	When []Cond // all of them; none: always
	// Source and Reader are the highest label that the rule admits.
	Source, Reader Reach
	// Readers lead to the arguments that name who will read what is sent. In
	// a lattice of people they are the rule's reach for confidentiality,
	// unless that is ReachAny.
	Readers []document.Path
	Confirm bool // ask, whatever the label
	Deny    bool // never
	// Spec, where not nil, says what the call does, and the table of effects
	// what it may follow from, instead of Source and Reader.
	Spec *act.Spec
	Why  string
}

// Tool is what is known of a tool.
type Tool struct {
	Name   string
	Args   []string // all names of arguments; a call with others is held to the bottom
	Result observe.Annotation
	// Cases replace the marks of Result's default and structure where a call's
	// arguments are so. The first whose conditions hold counts.
	Cases []Case
	// Rules: one that denies and applies is final. Otherwise the first that
	// applies counts; if none does, the bottom.
	Rules []Rule
	// Destinations are the arguments that say where something goes, and Free
	// those that a grant for a trajectory leaves free; never both.
	Destinations, Free []string
	// Continues: a result holds nothing but what the conversation's earlier
	// calls did and wrote. It has the join of all labels before it.
	Continues bool
	// Relays: a result is what another model said, such as a sub-agent. Where it
	// is known what that was made under, the result has that label.
	Relays bool
}

// Case is what holds for some calls of a tool: other marks of its results.
type Case struct {
	When      []Cond
	Default   observe.Mark
	Structure *observe.Mark
}

// Config makes a Policy.
type Config struct {
	Scheme observe.Scheme
	Tools  []Tool
	// Lists are what conditions refer to by name: trusted paths, the
	// organisation's domains.
	Lists map[string][]string
}

// Policy knows tools: what their results are and what calls need. It is
// immutable and safe for concurrent use.
type Policy struct {
	scheme observe.Scheme
	lists  map[string][]string
	tools  map[string]*Tool
	folded map[string]string
	// machine is what the tools work on; nil where nothing is known of it.
	machine *act.Machine
}

// Errors of New.
var (
	ErrContradiction = errors.New("packs contradict each other")
	ErrTool          = errors.New("not a tool")
)

// New makes a policy. A name that comes twice is an ErrContradiction.
func New(c Config) (*Policy, error) {
	if c.Scheme.Lattice.Integrity == nil || c.Scheme.Lattice.Confidentiality == nil {
		return nil, fmt.Errorf("%w: none given", observe.ErrScheme)
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
	if !observe.PlainName(t.Name) {
		return fmt.Errorf("%w: %q can't name one", ErrTool, t.Name)
	}
	var conds []Cond
	for i := range t.Rules {
		r := &t.Rules[i]
		conds = append(conds, r.When...)
		if len(r.When) == 0 && i < len(t.Rules)-1 && !r.Deny {
			return bad("rule %d always applies: the rules after it never would", i+1)
		}
		if r.Deny && r.Confirm {
			return bad("rule %d both denies and asks", i+1)
		}
		if r.Spec != nil {
			if r.Deny || r.Confirm {
				return bad("rule %d says what a call does, and denies or asks", i+1)
			}
			if name, ok := r.Spec.Within(t.Args); !ok {
				return bad("rule %d is about %s, which is not an argument of the tool", i+1, name)
			}
		}
		for _, p := range r.Readers {
			if !slices.Contains(t.Args, p.Head()) {
				return bad("rule %d has readers at %s, which is not an argument of the tool", i+1, p)
			}
		}
	}
	for i := range t.Cases {
		conds = append(conds, t.Cases[i].When...)
	}
	for i := range conds {
		if err := conds[i].Check(); err != nil {
			return bad("%w", err)
		}
		if !slices.Contains(t.Args, conds[i].Arg.Head()) {
			return bad("a condition is on %s, which is not an argument of the tool", conds[i].Arg)
		}
	}
	for _, d := range t.Destinations {
		if !slices.Contains(t.Args, d) {
			return bad("destination %s is not an argument of the tool", d)
		}
	}
	for _, f := range t.Free {
		if !slices.Contains(t.Args, f) || slices.Contains(t.Destinations, f) {
			return bad("%s can't be free: only an argument that is not a destination can be", f)
		}
	}
	return nil
}

// ListTrusted is the list of the people whose records are trusted. Whoever can
// write in their name is trusted, too: a mail's sender is as good as the mail
// server's checks.
const ListTrusted = "trusted-sources"

func (p *Policy) trusts(name string) bool {
	return slices.ContainsFunc(p.lists[ListTrusted], func(l string) bool { return name != observe.Stranger && strings.ToLower(l) == name })
}

// Annotate cuts the result of a call into regions. It never fails: what it
// can't tell has the tool's worst label.
func (p *Policy) Annotate(call flow.ToolCall, result string) observe.Result {
	t, args := p.tool(call)
	if t == nil {
		return p.unknown(call, args, result)
	}
	a := t.Result
	worst := a.WorstOf(&p.scheme)
	chosen := false
	for i := range t.Cases {
		c := &t.Cases[i]
		marks := a
		marks.Default, marks.Structure = c.Default, c.Structure
		worst = p.scheme.Lattice.Join(worst, marks.WorstOf(&p.scheme))
		if !chosen && args != nil && p.holds(c.When, &question{args: args}, false) {
			a, chosen = marks, true
		}
	}
	if args != nil && !a.Default.Trusted && (silent.MatchString(result) || p.workspaces(t, args, result)) {
		a.Default.Workspace = true
		if a.Structure != nil {
			marks := *a.Structure
			marks.Workspace = true
			a.Structure = &marks
		}
	}
	return a.Annotate(&observe.Observation{Scheme: &p.scheme, Tool: call.Name, Text: result, Args: args, Worst: worst, Trusts: p.trusts})
}

// silent matches results of which harnesses say that there is nothing: nobody's
// words are in them.
var silent = regexp.MustCompile(`^\s*(?:(?:Chunk ID: [0-9a-f]{1,16}\n)?Wall time: [0-9.]{1,20} seconds\nProcess exited with code -?[0-9]{1,5}\n(?:Original token count: 0\n)?Output:|` +
	`\([A-Z][A-Za-z]{1,20} completed with no output\)|(?:<system>)?Tool ran without output(?:</system>)?|No (?:files|matches) found|No app terminal session is attached to this thread yet\.|<tool_use_error>File does not exist\.</tool_use_error>)?\s*$`)

// Scheme returns the scheme that labels are made by.
func (p *Policy) Scheme() observe.Scheme { return p.scheme }

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

// fold makes alike what a person or a lenient server takes for one name.
func fold(s string) string { return joiners.Replace(strings.ToLower(s)) }

var joiners = strings.NewReplacer("_", "", "-", "", ".", "", ":", "", "/", "", " ", "")

// tool finds a call's tool by its exact name, with its arguments parsed; args
// is nil where they are not strict JSON.
func (p *Policy) tool(call flow.ToolCall) (t *Tool, args *document.Tree) {
	return p.tools[call.Name], document.Arguments(call.Arguments)
}

// Clearance is what a call needs: P(t) of the paper.
type Clearance struct {
	clear.Needs
	Known bool
	Rule  int // the rule that counts, from 1; 0 for none
	// Acts are what the call does, where its rule says that; Effect is the one
	// that decides.
	Acts    []act.Act
	Effect  effect.Effect
	Reasons []flow.Reason
}

// Codes of reasons.
const (
	CodeUnknownTool = "unknown-tool"
	CodeLookalike   = "tool-lookalike"
	CodeArguments   = "arguments-not-strict"
	CodeArgument    = "unknown-argument"
	CodeRule        = "tool-rule"
	CodeEffect      = "effect"  // what a part of the call does
	CodeProfile     = "profile" // what a person said of the tool
	CodeNoRule      = "no-rule"
	CodeLabel       = "label-too-high"
	CodeConfirmed   = "confirmed"
	CodeGranted     = "granted"
)

// Clear returns what a call needs. User are the texts of the user's own
// messages, without what was pasted from elsewhere.
func (p *Policy) Clear(call flow.ToolCall, user []string) Clearance {
	reason := func(code, format string, args ...any) flow.Reason {
		return flow.Reason{Code: code, Detail: fmt.Sprintf(format, args...)}
	}
	t, args := p.tool(call)
	if args == nil {
		return Clearance{Known: t != nil, Needs: clear.Needs{Deny: true}, Reasons: []flow.Reason{reason(CodeArguments, "the arguments are not one strict JSON object")}}
	}
	if t == nil {
		if of, ok := p.folded[fold(call.Name)]; ok || !observe.PlainName(call.Name) {
			detail := "the tool's name has characters that tools' names don't have"
			if ok {
				detail = "the tool's name looks like " + of + " and is another"
			}
			return Clearance{Needs: clear.Needs{Confirm: true}, Reasons: []flow.Reason{reason(CodeLookalike, "%s", detail)}}
		}
		if pr, ok := p.profile(call.Name); ok {
			return p.byProfile(pr, args, user)
		}
		return Clearance{Reasons: []flow.Reason{reason(CodeUnknownTool, "no pack knows this tool: it may follow from trusted, public text alone")}}
	}
	q := &question{args: args, user: user}
	for i := range t.Rules {
		if r := &t.Rules[i]; r.Deny && p.holds(r.When, q, true) {
			return Clearance{Needs: clear.Needs{Deny: true}, Known: true, Rule: i + 1, Reasons: []flow.Reason{reason(CodeRule, "rule %d of %s: %s", i+1, t.Name, r.Why)}}
		}
	}
	c := Clearance{Known: true}
	for _, n := range args.Top() {
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
		c.Rule, c.Confirm = i+1, r.Confirm
		if r.Spec != nil {
			p.byEffects(&c, t.Name, r.Spec, q)
			return c
		}
		c.Limit = p.limit(r, args)
		c.Reasons = append(c.Reasons, reason(CodeRule, "rule %d of %s: %s", i+1, t.Name, r.Why))
		return c
	}
	c.Reasons = append(c.Reasons, reason(CodeNoRule, "no rule of %s is about this call: it may follow from trusted, public text alone", t.Name))
	return c
}

// Limit is the limit of two reaches.
func (p *Policy) Limit(source, reader Reach) clear.Limit {
	// Where sources are people, strangers are any.
	l := clear.Limit{AnySource: source == ReachAny || source == ReachHigh && p.scheme.OfPeople(), AnyReader: reader == ReachAny}
	switch {
	case source == ReachHigh && !l.AnySource:
		l.Label.Integrity = p.scheme.Untrusted
	case source == ReachWorkspace && p.scheme.Workspace != p.scheme.Untrusted:
		l.Label.Integrity = p.scheme.Workspace
	}
	if reader == ReachHigh {
		l.Label.Confidentiality = p.scheme.Private
	}
	return l
}

// limit is how far a rule reaches for a call with these arguments.
func (p *Policy) limit(r *Rule, args *document.Tree) clear.Limit {
	l := p.Limit(r.Source, r.Reader)
	if p.scheme.OfPeople() && len(r.Readers) > 0 && r.Reader == ReachLow {
		l.Label.Confidentiality = p.readers(r.Readers, args)
	}
	return l
}

// readers are the people that arguments name; the bottom, everybody, where one
// of them is not a name.
func (p *Policy) readers(paths []document.Path, args *document.Tree) label.Element {
	var names []string
	for _, path := range paths {
		args.Walk(path, 0, nil, func(i, _ int) {
			switch n := &args.Nodes[i]; {
			case n.Kind == document.Null:
			case args.Leaf(i):
				names = append(names, n.Value)
			default:
				names = append(names, "") // no name
			}
		})
	}
	return observe.ReadersOf(names)
}
