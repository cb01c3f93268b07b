package hook

import (
	"context"
	"strings"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/strictjson"
	"github.com/margaydev/margay/mediator"
)

// begun notes where the conversation of an event begins, as far as the harness
// tells. One whose beginning this process has not seen may have been told the
// worst: a process that decides about one event alone has seen none.
func (h *Handler) begun(in *input, s *mediator.Session) {
	if !s.Clears() {
		return
	}
	// Cursor does not show hooks all results: what it began with is no help.
	if in.name == "SessionStart" && in.harness != &cursor {
		switch in.doc.Text(in.doc.Find(0, "source")) {
		case "startup", "clear":
			s.Begin()
			return
		case "compact": // the same conversation, shorter
		default:
			s.Unseen(true)
			return
		}
	}
	if h.cfg.Whole {
		s.Begin()
		return
	}
	s.Unseen(false)
}

// called is the call that an event is about, with the arguments at a node. An
// event that is about one tool alone names it.
func (in *input) called(top int, args string) flow.ToolCall {
	name := in.tool
	if name == "" {
		name = in.name
	}
	if in.doc.Nodes[top].Kind == strictjson.String && !(len(args) > 0 && args[0] == '{') {
		args = string(strictjson.AppendQuote(append([]byte(`{`), append(strictjson.AppendQuote(nil, in.doc.KeyBytes(top)), ':')...), []byte(args))) + "}"
	}
	return flow.ToolCall{Name: name, Arguments: args}
}

// clear decides whether a call may follow from what the conversation was told.
// d is what was decided about it by itself.
func (in *input) clear(ctx context.Context, s *mediator.Session, call flow.ToolCall, d decision) decision {
	if !in.event.calls || !s.Clears() || in.harness.later != nil && in.harness.later(in) {
		return d
	}
	p, err := s.Clear(ctx, call)
	switch {
	case err != nil:
		return decision{outcome: block, reason: "margay: it could not be decided what the call follows from, so it is not made; run margay doctor"}
	case p == nil:
		return d
	case p.Question() == nil:
		return decision{outcome: block, reason: *p.Refuse(ctx, "")}
	case p.Redeem(ctx):
		return d
	}
	// The harness asks where it can, else the answer comes before the call is
	// tried again.
	if err := p.Put(ctx); err != nil {
		return decision{outcome: block, reason: *p.Refuse(ctx, err.Error())}
	}
	q := p.Question()
	if !in.event.asks {
		return decision{outcome: block, reason: *p.Refuse(ctx, "a person has to allow it: margay approve show "+q.ID+". It may be made again then")}
	}
	if err := p.Asked(ctx, in.harness.name); err != nil {
		return decision{outcome: block, reason: "margay: the question could not be recorded, so the call is not made; run margay doctor"}
	}
	return decision{outcome: ask, reason: "margay: " + q.Why(), value: d.value}
}

// result notes what a tool told, and that its call was made.
func (in *input) result(ctx context.Context, s *mediator.Session, p *parts) {
	if !in.event.tells || !s.Clears() || len(p.flows) == 0 {
		return
	}
	call := flow.ToolCall{Name: in.tool, Arguments: "?"} // unknown: the worst of the tool
	if len(p.past) > 0 {
		call = in.called(p.past[0], in.plain(p.past[0]))
		// The person's answer is not told: that the call was made is one.
		_ = s.Made(ctx, call, in.harness.name)
	}
	_ = s.Told(ctx, call, in.words(p.flows[0])) // a hook has no peer
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
	if blocks < 0 || in.doc.Nodes[blocks].Kind != strictjson.Array {
		return in.plain(n)
	}
	var texts []string
	whole := true
	in.doc.Children(blocks, func(c int) bool {
		at := in.doc.Find(c, "text")
		whole = at >= 0 && in.doc.Text(in.doc.Find(c, "type")) == "text"
		if whole {
			texts = append(texts, in.doc.Text(at))
		}
		return whole
	})
	if !whole {
		return in.plain(n)
	}
	return strings.Join(texts, "\n")
}
