package answer

import (
	"context"
	"maps"
	"slices"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/mediator/altered"
	"github.com/margaydev/margay/mediator/audit"
	"github.com/margaydev/margay/mediator/session"
	"github.com/margaydev/margay/stream"
)

// Whole is a model's whole answer.
type Whole struct {
	Texts []flow.Text
	Calls []ToolCallText
	// Names are the server's own: ids, models, fingerprints. They are looked
	// at as they are written, and can't be edited: a known secret in one
	// denies the answer.
	Names []string
	// ID names the answer, where later requests go on with it by its name.
	ID string
	// Says are the ids of the texts that the model says to the user.
	Says []int
}

// ToolCallText is a call in a Whole answer: which text has its arguments.
type ToolCallText struct {
	Name      string
	Arguments int // Text.ID; negative for none
}

// Looked is what becomes of a whole answer.
type Looked struct {
	session.Result
	Refused map[int]string // calls to take out, by their place; what is said instead

	altered map[int]audit.Finding // what was replaced in the arguments of calls, by their place
}

// Proposed are the calls that an answer would make, as they would go out, and
// which they are, by their places among all of its calls.
func (l *Looked) Proposed(a *Whole) (calls []flow.ToolCall, items []flow.Item) {
	for i, c := range a.Calls {
		if _, ok := l.Refused[i]; !ok {
			calls, items = append(calls, flow.ToolCall{Name: c.Name, Arguments: session.Arguments(l.text(a, c.Arguments))}), append(items, flow.Item{Item: i})
		}
	}
	return calls, items
}

// Made are the calls of an answer that goes out, in order.
func (l *Looked) Made(s *session.Session, a *Whole) []altered.Call {
	calls, items := l.Proposed(a)
	out := make([]altered.Call, len(calls))
	for i, c := range calls {
		out[i] = altered.Call{Digest: s.Altered.Digest(c.Name, c.Arguments), Finding: l.altered[items[i].Item]}
	}
	return out
}

// Emitted are the texts that an answer says to the user, as the client gets
// them.
func (l *Looked) Emitted(a *Whole) []string {
	var out []string
	for _, id := range a.Says {
		out = append(out, l.text(a, id))
	}
	return out
}

// text is a text as it goes out; empty where there is none.
func (l *Looked) text(a *Whole, id int) string {
	if text, ok := l.Edits[id]; ok {
		return text
	}
	if i := slices.IndexFunc(a.Texts, func(t flow.Text) bool { return t.ID == id }); id >= 0 && i >= 0 {
		return a.Texts[i].Text
	}
	return ""
}

// Look decides about a whole answer. It edits as a stream of it is edited.
func Look(ctx context.Context, s *session.Session, calls Calls, a *Whole) Looked {
	out := Looked{Refused: map[int]string{}, altered: map[int]audit.Finding{}}
	var trace *audit.AnswerTracer
	if a.told() {
		trace = s.Trace.Answer()
	}
	out.Result = s.Guard(ctx, flow.Generate, func() (session.Result, error) {
		r := session.Result{Decision: s.Decision(flow.Generate), Edits: map[int]string{}}
		byText := map[int]int{}
		for i, c := range a.Calls {
			if c.Arguments >= 0 {
				byText[c.Arguments] = i
			}
		}
		var j session.Found
		for i := range a.Texts {
			t := &a.Texts[i]
			if err := ctx.Err(); err != nil {
				return r, err
			}
			if t.Opaque != "" {
				continue
			}
			cfg := config(s, t)
			cfg.Gone = func() bool { return ctx.Err() != nil }
			var edited []byte
			var found []stream.Finding
			seen := trace.Whole(t.Field, t.Text, i)
			if c, ok := byText[t.ID]; ok {
				edits, what, withheld, refusal := calls.Arguments(ctx, cfg, a.Calls[c].Name, []byte(t.Text))
				name := a.Calls[c].Name
				trace.Whole(flow.FieldToolName, name, i).Decided(int64(len(name)), nil, nil)
				seen.Decided(int64(len(t.Text)), edits, what)
				edited, found = session.Apply(edits, 0, []byte(t.Text)), what
				out.altered[c] = withheld
				if refusal != "" {
					out.Refused[c] = refusal
				}
			} else {
				edited, found = whole(s, cfg, t, seen)
			}
			known := len(j.Findings)
			r.Take(s, &j, t, edited, found)
			if c, ok := byText[t.ID]; ok && string(edited) != t.Text {
				out.altered[c] = altered.First(j.Findings[known:], out.altered[c])
			}
			j.Denied = j.Denied || slices.ContainsFunc(found, func(f stream.Finding) bool { return s.Policy.Halts(&f) })
		}
		j.Denied = named(s, &j, a.Names) || j.Denied
		r.Conclude(&j)
		if len(out.Refused) > 0 && r.Decision.Outcome == flow.Allow {
			r.Decision.Outcome = flow.Rewrite
		}
		return r, nil
	})
	trace.End(audit.Answer{Halted: out.Denied()})
	return out
}

// Record writes the calls to the log that are not made, before an answer that
// counts goes out.
func (l *Looked) Record(ctx context.Context, s *session.Session) error {
	if l.Denied() {
		return nil
	}
	for _, i := range slices.Sorted(maps.Keys(l.Refused)) {
		told, err := s.RefuseCall(ctx, l.Refused[i])
		if err != nil && !s.Passes() {
			return err
		}
		l.Refused[i] = told
	}
	return nil
}

// told reports whether an answer has texts that observers see.
func (a *Whole) told() bool {
	return len(a.Calls) > 0 || slices.ContainsFunc(a.Texts, func(t flow.Text) bool { return t.Field != flow.FieldOther })
}

// whole edits one text of an answer.
func whole(s *session.Session, cfg *stream.Config, t *flow.Text, seen *audit.TextTracer) ([]byte, []stream.Finding) {
	raw := []byte(t.Text)
	key := flow.StreamKey{Field: t.Field}
	r := judge(s, key)
	if r == nil && s.Watch.Edited == nil && seen == nil {
		return cfg.Text(raw)
	}
	if r != nil {
		r.trace = seen
	}
	sc := cfg.NewScanner()
	if r != nil {
		r.read(sc, 0, &flow.Delta{Text: raw, Tokens: t.Tokens, Telemetry: t.Telemetry})
	}
	sc.Write(raw)
	sc.Close()
	edits := sc.Edits(nil)
	edited(s, key, edits)
	seen.Decided(int64(len(raw)), edits, sc.Findings())
	return session.Apply(edits, 0, raw), sc.Findings()
}

func edited(s *session.Session, key flow.StreamKey, edits []stream.Edit) {
	if s.Watch.Edited == nil {
		return
	}
	for i := range edits {
		s.Watch.Edited(key, edits[i])
	}
}

// named reports whether a secret is in one of the identifiers.
func named(s *session.Session, j *session.Found, ids []string) bool {
	if s.OrdinaryNames(session.Identifiers, ids) {
		return false
	}
	r := session.Result{Edits: map[int]string{}}
	for _, id := range ids {
		s.FindNames(&r, j, []flow.Text{{Text: id, Path: func() string { return "id" }}})
	}
	return len(r.Edits) > 0
}
