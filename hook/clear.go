package hook

import (
	"cmp"
	"context"
	"strings"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/strictjson"
	"github.com/margaydev/margay/mediator"
	"github.com/margaydev/margay/mediator/session"
)

// start is what the harness reports about the start of an event's conversation.
// A conversation whose start this process has not seen may hold anything. A
// process that decides about one event alone has seen no start.
func (h *Handler) start(in *input) session.Start {
	// Cursor does not show hooks all results, so its start does not help.
	if in.name == "SessionStart" && in.harness != &cursor {
		switch in.doc.Text(in.doc.Find(0, "source")) {
		case "startup", "clear":
			return session.StartHere
		case "compact": // the same conversation, shorter
		default:
			return session.StartResumed
		}
	}
	if h.cfg.Whole {
		return session.StartHere
	}
	return session.StartUnseen
}

// called is the call that an event is about, with the arguments at a node, or their
// text. An event that is about one tool alone names it; a shell's command is never a
// document of arguments, whatever it looks like.
func (in *input) called(top int, args string) flow.ToolCall {
	if in.doc.Nodes[top].Kind == strictjson.String && (in.doc.Key(top) == "command" || !strings.HasPrefix(args, "{")) {
		args = string(strictjson.Appendf(nil, `{%q:%q}`, in.doc.KeyBytes(top), args))
	}
	name := cmp.Or(in.tool, in.name)
	switch in.name {
	case "afterShellExecution":
		name = "beforeShellExecution"
	case "beforeMCPExecution", "afterMCPExecution": // a server may call its tools as it likes
		name = in.harness.servers + name
		if server := in.doc.Text(in.doc.Find(0, "mcp_server_name")); server != "" {
			name = "mcp__" + server + "__" + in.tool
		}
	}
	return flow.ToolCall{Name: name, Arguments: args}
}

// dir is the folder that an event is about. Cursor does not always say it.
func (in *input) dir() string {
	dir, roots := in.doc.Text(in.doc.Find(0, "cwd")), in.doc.Find(0, "workspace_roots")
	for root := range in.doc.All(max(roots, 0)) {
		if dir == "" && roots >= 0 {
			dir = in.doc.Text(root)
		}
	}
	return dir
}

// clear decides whether a call may depend on what the conversation holds. d is
// what was decided about the call by itself.
func (in *input) clear(ctx context.Context, s *mediator.Session, call flow.ToolCall, d decision) decision {
	if !in.event.calls || in.harness.later != nil && in.harness.later(in) {
		return d
	}
	p, err := s.Clear(ctx, &mediator.Clearing{Call: call, Redeem: true})
	if in.harness == &cursor && err == nil && (p == nil || p.Question != nil) {
		// Nobody may report what comes back: it counts from now on, as far as the call
		// tells whose words it is. Where that can't be kept, the call is not made.
		err = s.Returned(ctx, &mediator.Returned{Call: call, Results: []string{"?"}})
	}
	switch {
	case err != nil:
		const why = "what the call depends on could not be decided, so it is not made"
		return decision{outcome: block, reason: "margay: " + why + "; run margay doctor" + explained(refusal(ctx, s, "call-refused", why))}
	case p == nil:
		return d
	case p.Question == nil:
		return decision{outcome: block, reason: p.Refused}
	}
	// The harness asks if it can; otherwise the person answers before the call
	// is tried again.
	by := ""
	if in.event.asks {
		by = in.harness.name
	}
	if refused := p.Ask(ctx, by); refused != nil {
		return decision{outcome: block, reason: *refused}
	}
	return decision{outcome: ask, reason: "margay: " + p.Question.Why(), value: d.value}
}

// result notes a tool's result, and that its call was made.
func (in *input) result(ctx context.Context, s *mediator.Session, p *parts) {
	if !in.event.result || len(p.flows) == 0 {
		return
	}
	from, n := in.inner(p.flows[0])
	told := &mediator.Returned{Call: flow.ToolCall{Name: in.tool, Arguments: "?"}, Results: []string{from.words(n)}} // unknown: the worst of the tool
	if len(p.past) > 0 {
		// The harness does not report the person's answer: that the call was made
		// is one.
		told.Call, told.By = in.called(p.past[0], in.plain(p.past[0])), in.harness.name
	}
	_ = s.Returned(ctx, told) // a hook has no peer
}

// plain is a member as text: a string's own, or its JSON.
func (in *input) plain(n int) string {
	if in.doc.Nodes[n].Kind == strictjson.String {
		return in.doc.Text(n)
	}
	return string(in.doc.Value(n))
}

// words is a result as a model reads it: the texts of its blocks, a text, or
// JSON.
func (in *input) words(n int) string {
	blocks := n
	if in.doc.Nodes[n].Kind == strictjson.Object {
		blocks = in.doc.Find(n, "content")
	}
	var texts []string
	if in.event.nested && !in.mcp() { // what the tool shows is somewhere in it
		for i := n; i < in.doc.Nodes[n].Next; i++ {
			if in.doc.Nodes[i].Kind == strictjson.String {
				texts = append(texts, in.doc.Text(i))
			}
		}
		return strings.Join(texts, "\n")
	}
	if blocks < 0 || in.doc.Nodes[blocks].Kind != strictjson.Array {
		return in.plain(n)
	}
	for c := range in.doc.All(blocks) {
		at := in.doc.Find(c, "text")
		if at < 0 || in.doc.Text(in.doc.Find(c, "type")) != "text" {
			return in.plain(n)
		}
		texts = append(texts, in.doc.Text(at))
	}
	return strings.Join(texts, "\n")
}
