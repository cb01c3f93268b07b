package disclose

import (
	"cmp"
	"context"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/mediator/altered"
	"github.com/margaydev/margay/mediator/audit"
	"github.com/margaydev/margay/mediator/session"
	"github.com/margaydev/margay/secret/match"
	"github.com/margaydev/margay/stream"
)

// Message is one message between an agent and a tool, or whoever speaks
// for tools.
type Message struct {
	// Tool is whose it is, for reasons; it may be empty.
	Tool  string
	Texts []flow.Text
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
	// Outcome, where not empty, is what the connector decided by itself, as
	// Notes say. There is nothing else in the message then.
	Outcome flow.Outcome
	// Headers are what comes beside a body. Those that hold a secret are in
	// Edits; they can't be edited, only left out. There is nothing else in the
	// message then.
	Headers []flow.Text
}

// Decided is what becomes of a Message.
type Decided struct {
	session.Result
	// Refusal is what the model reads about a call that is not made because of
	// what its arguments hold. The decision is a denial then.
	Refusal string
	// Told is what the model reads about a call that is made with parts of its
	// arguments replaced.
	Told string
	// Less: rubrics alone took those parts.
	Less bool
}

// Observe decides about what a tool tells, on its way to the model. Secrets
// become the trajectory's pseudonyms, as in prompts.
func (v *Verbs) Observe(ctx context.Context, m *Message) session.Result {
	v.s.FollowsTool()
	return v.toModel(ctx, flow.Observe, m)
}

// Send decides about a message to a tool. Secrets are redacted; a call whose
// arguments hold a private key, or a pseudonym that this version does not turn
// back, is refused in words for the model. The verb of a call that writes to a
// memory is flow.Remember.
func (v *Verbs) Send(ctx context.Context, m *Message) Decided {
	var out Decided
	verb := flow.Call
	var withheld audit.Finding
	for i := range m.Texts {
		if t := &m.Texts[i]; t.ID == m.Arguments {
			tool, _ := v.tool(m.Tool, t.Text)
			verb = verbOf(&tool)
		}
	}
	defer v.s.Trace.Sizing(m.Texts, m.Tool)()
	out.Result = v.s.Guard(ctx, verb, func() (session.Result, error) {
		r := session.Result{Decision: v.s.Decision(verb), Edits: map[int]string{}}
		var j session.Found
		err := each(ctx, m.Texts, &j, func(t *flow.Text) {
			cfg := v.s.Scan(verb, t, nil)
			var edited []byte
			var found []stream.Finding
			if t.ID == m.Arguments {
				if len(t.Text) > session.MaxArguments {
					out.Refusal = "[margay: the call was not made: its arguments are larger than margay decides.]"
				}
				edits, what, less, refused := v.Arguments(ctx, cfg, m.Tool, []byte(t.Text))
				withheld = less
				edited, found, out.Refusal = session.Apply(edits, 0, []byte(t.Text)), what, cmp.Or(out.Refusal, refused)
			} else {
				var whole bool
				edited, found, whole = edit(ctx, cfg, t)
				j.Denied = j.Denied || !whole
			}
			r.Take(v.s, &j, t, edited, found)
		})
		v.beside(&j, m)
		if out.Refusal != "" {
			j.Denied = true
			j.Notes = append(j.Notes, flow.Reason{Code: "call-refused", Detail: out.Refusal, Action: flow.ActBlock})
		}
		r.Conclude(&j)
		return r, err
	})
	if _, edited := out.Edits[m.Arguments]; edited && !out.Denied() {
		first := altered.First(out.Findings, withheld)
		out.Told, out.Less = replaced(v.s.Clean(m.Tool), first), first.Rule == byRubrics
	}
	if out.Refusal != "" {
		out.Refusal = session.WithID(out.Refusal, out.Decision.ID)
	}
	v.s.Passed(&out.Result)
	return out
}

// Note records what a connector decided by itself, such as about a message
// that can't be read. Details may quote names that the other side chose. The
// result is a denial where it could not be recorded; the id of one that is a
// denial anyway is empty then.
func (v *Verbs) Note(ctx context.Context, verb flow.Verb, outcome flow.Outcome, reasons ...flow.Reason) session.Result {
	if outcome == flow.Deny {
		r := session.Result{Decision: v.s.Decision(verb)}
		r.Decision.Reasons = v.s.CleanReasons(reasons)
		var kept bool
		if r.Decision, kept = v.s.Refuse(ctx, r.Decision); !kept {
			r.Decision.ID = ""
		}
		return r
	}
	return v.s.Guard(ctx, verb, func() (session.Result, error) {
		r := session.Result{Decision: v.s.Decision(verb)}
		r.Decision.Outcome = outcome
		r.Decision.Reasons = v.s.CleanReasons(reasons)
		return r, nil
	})
}

// beside judges what a message holds besides its texts.
func (v *Verbs) beside(j *session.Found, m *Message) {
	j.Notes = append(j.Notes, v.s.CleanReasons(m.Notes)...)
	j.Denied = j.Denied || m.Denied && !v.s.Observes()
	for _, of := range []struct {
		what  int
		names []string
	}{{session.Identifiers, m.Names}, {session.Headers, m.States}} {
		if v.s.OrdinaryNames(of.what, of.names) {
			continue
		}
		for _, name := range of.names {
			t := flow.Text{Path: func() string { return "name" }}
			cfg := v.s.ScanName(&t, "")
			if of.what == session.Headers {
				cfg = v.s.ScanState(&t, name)
			}
			out, found := cfg.Text([]byte(name))
			for k := range found {
				j.Add(v.s, &found[k], &t)
			}
			j.Denied = j.Denied || string(out) != name
		}
	}
}

// each has all texts looked at that are long enough, and notes those that are none.
func each(ctx context.Context, texts []flow.Text, j *session.Found, look func(*flow.Text)) error {
	for i := range texts {
		t := &texts[i]
		if err := ctx.Err(); err != nil {
			return err
		}
		switch {
		case t.Opaque != "":
			j.Notes = append(j.Notes, flow.Reason{Code: "not-scanned", Detail: t.Opaque + " at " + t.Path() + " is not text and was not scanned", Action: flow.ActReport})
		case len(t.Text) >= match.MinLength:
			look(t)
		}
	}
	return nil
}

// edit edits one text. It is not whole where the result would be JSON no more.
func edit(ctx context.Context, cfg *stream.Config, t *flow.Text) (out []byte, found []stream.Finding, whole bool) {
	raw := []byte(t.Text)
	cfg.Gone = func() bool { return ctx.Err() != nil }
	if !t.JSON {
		out, found = cfg.Text(raw)
		return out, found, true
	}
	edits, found := cfg.Scan(raw)
	if len(edits) == 0 {
		return raw, found, true
	}
	edits, whole = insideStrings(raw, edits)
	return session.Apply(edits, 0, raw), found, whole
}

// Headers decides about what comes with a model's answer besides its body.
// Edits has those that hold a secret; they can't be edited, only left out.
func (v *Verbs) Headers(ctx context.Context, texts []flow.Text) session.Result {
	return v.s.Guard(ctx, flow.Generate, func() (session.Result, error) {
		r := session.Result{Decision: v.s.Decision(flow.Generate), Edits: map[int]string{}}
		all := make([][]byte, len(texts))
		for i := range texts {
			all[i] = []byte(texts[i].Text)
		}
		if !v.s.Ordinary(session.Headers, all) {
			var j session.Found
			v.s.FindNames(&r, &j, texts)
			r.Conclude(&j)
		}
		return r, nil
	})
}
