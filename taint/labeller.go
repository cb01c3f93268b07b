package taint

import (
	"crypto/sha256"
	"regexp"
	"slices"
	"strings"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/label"
	"github.com/margaydev/margay/taint/clear"
	"github.com/margaydev/margay/taint/effect"
	"github.com/margaydev/margay/taint/observe"
	"github.com/margaydev/margay/taint/quote"
)

// Turn is a text of a conversation before it has labels.
type Turn struct {
	Role flow.Role
	Kind clear.Kind
	Text string
	Tool string // of a call or a result
	Call string // joins a call and its result
	Part bool   // goes on with the message before it
	// Opaque: a result that holds more than its text, which nobody has read.
	Opaque bool
	// Pasted are parts of a user's or developer's text that others wrote.
	// They are untrusted; they are in order and do not overlap.
	Pasted []Span
	// Quoted are parts of it that a model said before. They are in order, and
	// overlap neither each other nor Pasted. Of results, those that relay what a
	// model said have them.
	Quoted []quote.Quote
}

// Span is a part of a text, in bytes.
type Span struct{ Start, End int }

// Steps remembers which label the things that a model said have. It is keyed
// by content; where the same was said twice it gives the join.
type Steps interface {
	Recall(t *Turn) (label.Label, bool)
}

// resultKey is all that an annotated result depends on, besides the policy.
type resultKey struct {
	Tool, Arguments, Text string
	Under                 label.Label          // that the call was made under
	Profile               effect.Profile       // what a person said of the tool
	Digests               [2][sha256.Size]byte // of arguments and text that are long
}

// Labeller gives conversations their labels. It is safe for concurrent use if
// its steps are.
type Labeller struct {
	Policy *Policy
	Cache  *Memory // of annotated results, which are shared and not changed; may be nil
	Steps  Steps   // may be nil: what a model said has the join of all before it
	// Floor is joined to what a model said where that is not known: the label
	// of all that it was ever shown, for clients leave things out.
	Floor label.Label
}

// Result annotates the result of a call that was made under a label: its
// regions have their tool's labels joined to it.
func (l *Labeller) Result(call flow.ToolCall, under label.Label, text string) observe.Result {
	k := resultKey{Tool: call.Name, Under: under, Profile: l.Policy.said(call.Name)}
	k.Arguments, k.Digests[0] = digested(call.Arguments)
	k.Text, k.Digests[1] = digested(text)
	if l.Cache != nil {
		if r, ok := l.Cache.result(k); ok {
			return r
		}
	}
	r := l.Policy.Annotate(call, text)
	lat := l.Policy.scheme.Lattice
	for i := range r.Regions {
		r.Regions[i].Label = lat.Join(r.Regions[i].Label, under)
	}
	r.Worst = lat.Join(r.Worst, under)
	if l.Cache != nil {
		l.Cache.keepResult(k, r)
	}
	return r
}

// History labels a conversation. Tools are what is offered to the model
// (Policy.Describe). A result whose call is not there, or is another tool's,
// has the worst label, and so has one where several calls that wait for their
// results have one id: which of them it answers is not known.
func (l *Labeller) History(turns []Turn, tools []clear.Description) *clear.History {
	lat := l.Policy.scheme.Lattice
	h := &clear.History{Lattice: lat, Messages: make([]clear.Message, 0, len(turns)), Tools: tools}
	type made struct {
		call      flow.ToolCall
		under     label.Label
		answered  bool
		ambiguous bool
	}
	calls := map[string]made{}
	var context label.Label
	for _, t := range tools {
		context = lat.Join(context, t.Label)
	}
	for i := range turns {
		t := &turns[i]
		m := clear.Message{Message: flow.Message{Role: t.Role, Text: t.Text}, Kind: t.Kind, Tool: t.Tool, Call: t.Call, Part: t.Part}
		switch {
		case t.Kind == clear.KindResult:
			c, ok := calls[t.Call]
			if ok {
				known := c
				known.answered = true
				calls[t.Call] = known
			}
			if !ok || c.ambiguous || c.answered || c.call.Name != t.Tool && t.Tool != "" {
				// Who asked for it and with what is not known.
				c = made{call: flow.ToolCall{Name: t.Tool, Arguments: "?"}, under: lat.Join(context, l.Policy.scheme.Worst())}
			}
			m.Tool = c.call.Name
			r := l.Result(c.call, c.under, t.Text)
			m.Regions, m.Worst = r.Regions, r.Worst
			if said, ok := l.relayed(m.Tool, t); ok {
				said = lat.Join(said, c.under)
				m.Worst = said
				m.Regions = []flow.Region{{End: len(t.Text), Label: said, From: flow.Provenance{Role: t.Role, Step: i, Tool: m.Tool}}}
			}
			if l.Policy.continues(m.Tool) {
				raise(lat, &m, context)
			}
			if t.Opaque {
				raise(lat, &m, l.Policy.scheme.Worst())
			}
		case clear.TrustedRole(t.Role):
			m.Regions = l.own(t, i)
		default:
			said, ok := label.Label{}, false
			if l.Steps != nil {
				said, ok = l.Steps.Recall(t)
			}
			if !ok {
				said = lat.Join(context, l.Floor)
			}
			m.Regions = []flow.Region{{End: len(t.Text), Label: said, From: flow.Provenance{Role: t.Role, Step: i, Tool: t.Tool}}}
			if t.Kind == clear.KindCall {
				before, again := calls[t.Call]
				calls[t.Call] = made{
					call: flow.ToolCall{ID: t.Call, Name: t.Tool, Arguments: t.Text}, under: said, ambiguous: again && !before.answered,
				}
			}
		}
		for j := range m.Regions {
			if r := &m.Regions[j]; r.Label != (label.Label{}) && r.Label != context {
				context = lat.Join(context, r.Label)
			}
		}
		h.Messages = append(h.Messages, m)
	}
	return h
}

// raise joins a label to all of a message.
func raise(lat label.Lattice, m *clear.Message, by label.Label) {
	m.Worst = lat.Join(m.Worst, by)
	m.Regions = slices.Clone(m.Regions) // they are shared
	for i := range m.Regions {
		m.Regions[i].Label = lat.Join(m.Regions[i].Label, by)
	}
}

// own cuts what the user or the developer said.
func (l *Labeller) own(t *Turn, at int) []flow.Region {
	from := flow.Provenance{Role: t.Role, Step: at}
	pasted := label.Label{Integrity: l.Policy.scheme.Untrusted}
	parts := slices.Clone(t.Quoted)
	for _, s := range t.Pasted {
		parts = append(parts, quote.Quote{Start: s.Start, End: s.End, Label: pasted})
	}
	slices.SortStableFunc(parts, func(a, b quote.Quote) int { return a.Start - b.Start })
	var out []flow.Region
	end := 0
	for _, s := range parts {
		if s.Start < end || s.End < s.Start || s.End > len(t.Text) {
			worst := pasted
			for _, q := range t.Quoted {
				worst = l.Policy.scheme.Lattice.Join(worst, q.Label)
			}
			return []flow.Region{{End: len(t.Text), Label: worst, From: from}}
		}
		if s.Start > end {
			out = append(out, flow.Region{Start: end, End: s.Start, From: from})
		}
		p := from
		p.Field = "pasted"
		out = append(out, flow.Region{Start: s.Start, End: s.End, Label: s.Label, From: p})
		end = s.End
	}
	if end < len(t.Text) || len(out) == 0 {
		out = append(out, flow.Region{Start: end, End: len(t.Text), From: from})
	}
	return out
}

// maxHarness bounds what a harness adds, in bytes.
const maxHarness = 256

// harness matches the lines that a harness adds to what a sub-agent said.
var harness = regexp.MustCompile(`(?m)^[ \t]*(?:agentId: [0-9A-Za-z-]{1,64}(?: \([a-z' ]{1,80}\))?|<usage>total_tokens: [0-9]{1,12}|tool_uses: [0-9]{1,9}|duration_ms: [0-9]{1,12}</usage>)[ \t]*$`)

// relayed is the label of a result that a model said, if all of it is known to be so.
func (l *Labeller) relayed(tool string, t *Turn) (said label.Label, ok bool) {
	if known := l.Policy.tools[tool]; known == nil || !known.Relays || len(t.Quoted) == 0 {
		return said, false
	}
	rest, end := "", 0
	for _, q := range t.Quoted {
		if q.Start < end || q.End < q.Start || q.End > len(t.Text) {
			return said, false
		}
		rest += t.Text[end:q.Start] + "\n"
		said, end = l.Policy.scheme.Lattice.Join(said, q.Label), q.End
	}
	rest += t.Text[end:]
	unknown := harness.ReplaceAllString(rest, "")
	if len(rest)-len(unknown) > maxHarness {
		return said, false
	}
	return said, len(strings.Join(strings.Fields(unknown), " ")) < quote.Block // what is left of the last block
}

// continues reports whether results of a tool hold what earlier calls wrote.
func (p *Policy) continues(tool string) bool {
	t := p.tools[tool]
	return t != nil && t.Continues
}

// Describe labels the tools that are offered to a model. Those of a pack have
// descriptions that their developer wrote. Of the others, foreign says which
// ones strangers described: those of servers that the user connected.
func (p *Policy) Describe(names []string, foreign func(name string) bool) []clear.Description {
	out := make([]clear.Description, 0, len(names))
	for _, n := range names {
		d := clear.Description{Name: n}
		if p.tools[n] == nil && foreign(n) {
			d.Label.Integrity = p.scheme.Untrusted
		}
		out = append(out, d)
	}
	return out
}
