package mediator

import (
	"cmp"
	"context"
	"strings"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/secret"
	"github.com/margaydev/margay/stream"
)

// ToolMessage is one message between an agent and a tool, or whoever speaks
// for tools.
type ToolMessage struct {
	// Tool is whose it is, for reasons; it may be empty.
	Tool  string
	Texts []Text
	// Arguments is the Text.ID of the complete arguments of a call, where the
	// message is one; else -1.
	Arguments int
	// Names are the protocol's own: ids, tokens. They are looked at as they
	// are written and can't be edited: a secret in one denies the message.
	Names []string
	// States are what one side gives the other to hand back unread, such as
	// cursors and sessions. They are like Names, looked at in all views, and
	// may be signed tokens.
	States []string
	// Notes are what the connector has to say about the message.
	Notes []flow.Reason
	// Denied: the connector can't let the message pass, as Notes say.
	Denied bool
}

// ToolResult is what becomes of a ToolMessage.
type ToolResult struct {
	Result
	// Refusal is what the model is told about a call that is not made for
	// what its arguments hold. The decision is a denial then.
	Refusal string
}

// Observe decides about what a tool tells, on its way to the model. Secrets
// become the trajectory's pseudonyms, as in prompts.
func (s *Session) Observe(ctx context.Context, m *ToolMessage) Result {
	for i := range m.Texts {
		s.show(m.Texts[i].Text)
	}
	s.tool = true
	defer s.sizing(m.Texts, m.Tool)()
	r := s.guard(ctx, flow.Observe, func() (Result, error) { return s.outgoing(ctx, flow.Observe, m.Texts, m) })
	s.passed(&r)
	return r
}

// Send decides about a message to a tool. Secrets are redacted; a call whose
// arguments hold a private key, or a pseudonym that this version does not turn
// back, is refused in words for the model. The verb of a call that writes to a
// memory is flow.Remember.
func (s *Session) Send(ctx context.Context, m *ToolMessage) ToolResult {
	var out ToolResult
	verb := flow.Call
	for i := range m.Texts {
		if t := &m.Texts[i]; t.ID == m.Arguments {
			verb = s.verb(flow.ToolCall{Name: m.Tool, Arguments: t.Text})
		}
	}
	defer s.sizing(m.Texts, m.Tool)()
	out.Result = s.guard(ctx, verb, func() (Result, error) {
		r := Result{Decision: s.decision(verb), Edits: map[int]string{}}
		overlay, _ := s.t.discovered()
		var j judged
		for i := range m.Texts {
			t := &m.Texts[i]
			if err := ctx.Err(); err != nil {
				return r, err
			}
			if t.Opaque != "" {
				j.notes = append(j.notes, notScanned(t))
				continue
			}
			if len(t.Text) < secret.MinLength {
				continue
			}
			cfg := s.config(verb, overlay, t, nil)
			var edited []byte
			var found []stream.Finding
			if t.ID == m.Arguments {
				if len(t.Text) > maxArguments {
					out.Refusal = "[margay: the call was not made: its arguments are larger than margay decides.]"
				}
				v := s.arguments(cfg, m.Tool, []byte(t.Text))
				edited, found, out.Refusal = apply(v.edits, 0, []byte(t.Text)), v.found, cmp.Or(out.Refusal, v.refusal)
			} else {
				var whole bool
				edited, found, whole = edit(cfg, t)
				j.denied = j.denied || !whole
			}
			for k := range found {
				j.add(s, &found[k], t, verb)
			}
			if string(edited) != t.Text {
				r.Edits[t.ID] = string(edited)
				j.denied = j.denied || t.Fixed
			}
		}
		s.beside(&j, m)
		if out.Refusal != "" {
			j.denied = true
			j.notes = append(j.notes, flow.Reason{Code: "call-refused", Detail: out.Refusal, Action: flow.ActBlock})
		}
		s.conclude(&r, j)
		return r, s.record(ctx, &r)
	})
	s.passed(&out.Result)
	return out
}

// Note records what a connector decided by itself, such as about a message
// that can't be read. Details may quote names that the other side chose. The
// result is a denial where it could not be recorded.
func (s *Session) Note(ctx context.Context, verb flow.Verb, outcome flow.Outcome, reasons ...flow.Reason) Result {
	return s.guard(ctx, verb, func() (Result, error) {
		r := Result{Decision: s.decision(verb)}
		r.Decision.Outcome = outcome
		r.Decision.Reasons = s.told(reasons)
		return r, s.record(ctx, &r)
	})
}

// told are a connector's reasons as they may be told.
func (s *Session) told(reasons []flow.Reason) []flow.Reason {
	overlay, _ := s.t.discovered()
	cfg := s.config(flow.Generate, overlay, nil, nil)
	out := make([]flow.Reason, len(reasons))
	for i, r := range reasons {
		r.Detail = told(cfg, r.Detail)
		out[i] = r
	}
	return out
}

// beside judges what a message holds besides its texts.
func (s *Session) beside(j *judged, m *ToolMessage) {
	j.notes = append(j.notes, s.told(m.Notes)...)
	j.denied = j.denied || m.Denied && !s.e.cfg.Observe
	for _, of := range []struct {
		what  int
		names []string
	}{{identifiers, m.Names}, {headers, m.States}} {
		if len(of.names) == 0 {
			continue
		}
		all := make([][]byte, len(of.names))
		for i, name := range of.names {
			all[i] = []byte(name)
		}
		if s.ordinary(of.what, all) {
			continue
		}
		overlay, _ := s.t.discovered()
		for _, name := range of.names {
			t := Text{Path: func() string { return "name" }}
			cfg := nameConfig(s.config(flow.Generate, overlay, &t, nil), of.what == headers && len(name) > longName)
			if of.what == headers {
				cfg = stateConfig(cfg)
			}
			out, found := cfg.Text([]byte(name))
			for k := range found {
				j.add(s, &found[k], &t, flow.Generate)
			}
			j.denied = j.denied || string(out) != name
		}
	}
}

// stateConfig looks for what a state may not hold. A signed token is the usual
// form of one: sessions, cursors and the like are often such tokens, and whoever
// hands one out gets it back.
func stateConfig(cfg *stream.Config) *stream.Config {
	c := *cfg
	c.Decide = func(f *stream.Finding, raw []byte) flow.Action {
		if strings.HasPrefix(f.Rule, "jwt") {
			return flow.ActAllow
		}
		return cfg.Decide(f, raw)
	}
	return &c
}

func notScanned(t *Text) flow.Reason {
	return flow.Reason{Code: "not-scanned", Detail: t.Opaque + " at " + t.Path() + " is not text and was not scanned", Action: flow.ActReport}
}

// edit edits one text. It is not whole where the result would be JSON no more.
func edit(cfg *stream.Config, t *Text) (out []byte, found []stream.Finding, whole bool) {
	raw := []byte(t.Text)
	if !t.JSON {
		out, found = cfg.Text(raw)
		return out, found, true
	}
	sc := cfg.NewScanner()
	sc.Write(raw)
	sc.Close()
	found = sc.Findings()
	edits := sc.Edits(nil)
	if len(edits) == 0 {
		return raw, found, true
	}
	edits, whole = insideStrings(raw, edits)
	return apply(edits, 0, raw), found, whole
}
