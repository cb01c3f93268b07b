package mediator

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/strictjson"
	"github.com/margaydev/margay/secret"
	"github.com/margaydev/margay/stream"
)

// verdict is what becomes of the arguments of a tool call.
type verdict struct {
	edits   []stream.Edit
	found   []stream.Finding
	refusal string // the call is not made; what the model is told
}

// arguments decides the complete arguments of a call.
//
// A pseudonym in them stands for a value that this version does not turn
// back, and a private key must not leave: such a call is refused in words that
// the model reads. Otherwise findings are replaced so that JSON stays JSON.
func (s *Session) arguments(cfg *stream.Config, name string, args []byte) verdict {
	var v verdict
	sc := cfg.NewScanner()
	sc.Write(args)
	sc.Close()
	v.edits = sc.Edits(nil)
	v.found = slices.Clone(sc.Findings())
	if s.e.cfg.Observe {
		return v
	}
	if s.releaseCall(cfg, name, args, &v) {
		return v
	}
	if at := s.pseudonym(args); at != nil {
		v.refusal = refusal(told(cfg, name), at.Name, at.Kind)
		return v
	}
	for i := range v.found {
		if f := &v.found[i]; f.Kind == secret.KindPrivateKey && f.Action != flow.ActReport {
			v.refusal = refusal(told(cfg, name), "a private key", f.Kind)
			return v
		}
	}
	if len(v.edits) > 0 {
		edits, ok := insideStrings(args, v.edits)
		if !ok {
			v.refusal = refusal(told(cfg, name), "a secret", secret.KindSecret)
			return v
		}
		v.edits = edits
	}
	return v
}

// pseudonym finds a pseudonym of the trajectory's in arguments, as they are
// written and as a tool reads them.
func (s *Session) pseudonym(args []byte) *secret.PseudonymAt {
	find := func(text string) *secret.PseudonymAt {
		if all := s.t.namesIn(text); len(all) > 0 {
			return &all[0].PseudonymAt
		}
		return nil
	}
	if at := find(string(args)); at != nil || !bytes.ContainsRune(args, '\\') {
		return at
	}
	var d strictjson.Doc
	if d.Parse(args, strictjson.Limits{MaxBytes: maxArguments}) != nil {
		return nil
	}
	for i := range d.Nodes {
		if d.Nodes[i].KeyEscaped {
			if at := find(d.Key(i)); at != nil {
				return at
			}
		}
		if d.Nodes[i].Escaped {
			if at := find(d.Text(i)); at != nil {
				return at
			}
		}
	}
	return nil
}

// told is a name as it may be told: models and clients choose names, and may
// put a secret there.
func told(cfg *stream.Config, name string) string {
	out, _ := cfg.Text([]byte(name))
	return string(out)
}

func refusal(name, what string, kind secret.Kind) string {
	if name == "" {
		name = "a tool"
	}
	return fmt.Sprintf("[margay: the call of %s was not made: its arguments hold %s (%s), which must not leave. Refer to it by its environment variable or its file instead.]", name, what, kind)
}

// insideStrings fits edits to JSON: in a string only its content is replaced,
// so that one over several strings leaves the structure; a number becomes a
// string. Text that is no JSON is edited as it is. It fails where the result
// would be JSON no more.
func insideStrings(args []byte, edits []stream.Edit) ([]stream.Edit, bool) {
	var d strictjson.Doc
	if d.Parse(args, strictjson.Limits{MaxBytes: maxArguments}) != nil {
		return edits, true
	}
	var out []stream.Edit
	for i := range d.Nodes {
		n := &d.Nodes[i]
		if n.KeyEnd > n.KeyStart {
			out = append(out, within(edits, int64(n.KeyStart), int64(n.KeyEnd))...)
		}
		switch n.Kind {
		case strictjson.String:
			out = append(out, within(edits, int64(n.Start)+1, int64(n.End)-1)...)
		case strictjson.Number:
			if e := within(edits, int64(n.Start), int64(n.End)); len(e) > 0 {
				text := append([]byte{'"'}, e[0].Text...)
				out = append(out, stream.Edit{Start: int64(n.Start), End: int64(n.End), Text: append(text, '"')})
			}
		default:
		}
	}
	slices.SortFunc(out, func(a, b stream.Edit) int { return int(a.Start - b.Start) })
	var check strictjson.Doc
	return out, check.Parse(apply(out, 0, args), strictjson.Limits{MaxBytes: 2 * maxArguments}) == nil
}

// within cuts edits to the bytes [from, to), at most one to each region.
func within(edits []stream.Edit, from, to int64) []stream.Edit {
	var out []stream.Edit
	var text []byte
	for _, e := range edits {
		if len(e.Text) > 0 {
			text = e.Text
		}
		if e.Start >= to || e.End <= from {
			continue
		}
		x := stream.Edit{Start: max(e.Start, from), End: min(e.End, to), Text: text}
		if n := len(out); n > 0 && out[n-1].End == x.Start && len(e.Text) == 0 {
			out[n-1].End = x.End // the same region goes on
			continue
		}
		out = append(out, x)
	}
	return out
}

// Call decides about a tool call on its way to the tool. The verb of one that
// writes to a memory is flow.Remember.
func (s *Session) Call(ctx context.Context, call flow.ToolCall) (flow.ToolCall, Result) {
	verb := s.verb(call)
	r := s.guard(ctx, verb, func() (Result, error) {
		r := Result{Decision: s.decision(verb)}
		overlay, _ := s.t.discovered()
		v := s.arguments(s.config(verb, overlay, nil, nil), call.Name, []byte(call.Arguments))
		j := judged{}
		at := func() string { return call.Name }
		for i := range v.found {
			j.add(s, &v.found[i], &Text{Field: flow.FieldToolArguments, Path: at}, verb)
		}
		s.conclude(&r, j)
		if v.refusal != "" {
			r.Decision.Outcome = flow.Deny
			r.Decision.Reasons = append(r.Decision.Reasons, flow.Reason{Code: "call-refused", Detail: v.refusal, Action: flow.ActBlock})
		} else if len(v.edits) > 0 {
			r.Decision.Outcome = flow.Rewrite
			call.Arguments = string(apply(v.edits, 0, []byte(call.Arguments)))
		}
		return r, s.record(ctx, &r)
	})
	return call, r
}

// Answer is a model's whole answer.
type Answer struct {
	Texts []Text
	Calls []ToolCallText
	// Names are the server's own: ids, models, fingerprints. They are looked
	// at as they are written, and can't be edited: a known secret in one
	// denies the answer.
	Names []string
}

// ToolCallText is a call in an Answer: which text has its arguments.
type ToolCallText struct {
	Name      string
	Arguments int // Text.ID; negative for none
}

// Answered is what becomes of an Answer.
type Answered struct {
	Result
	Refused map[int]string // calls to take out, by their place; what is said instead
}

// Answer decides about a whole answer. It edits as a stream of it is edited.
func (s *Session) Answer(ctx context.Context, a *Answer) Answered {
	out := Answered{Refused: map[int]string{}}
	var trace *answerTrace
	if a.told() {
		trace = s.traceAnswer()
	}
	out.Result = s.guard(ctx, flow.Generate, func() (Result, error) {
		r := Result{Decision: s.decision(flow.Generate), Edits: map[int]string{}}
		overlay, _ := s.t.discovered()
		calls := map[int]int{}
		for i, c := range a.Calls {
			if c.Arguments >= 0 {
				calls[c.Arguments] = i
			}
		}
		var j judged
		for i := range a.Texts {
			t := &a.Texts[i]
			if err := ctx.Err(); err != nil {
				return r, err
			}
			if t.Opaque != "" {
				continue
			}
			cfg := s.config(flow.Generate, overlay, t, nil)
			cfg.HoldURLs = !s.e.cfg.Observe
			var edited []byte
			var found []stream.Finding
			seen := trace.wholeText(t, i)
			if c, ok := calls[t.ID]; ok {
				v := s.arguments(cfg, a.Calls[c].Name, []byte(t.Text))
				trace.wholeCall(a.Calls[c].Name, i)
				seen.decided(int64(len(t.Text)), v.edits, v.found)
				edited, found = apply(v.edits, 0, []byte(t.Text)), v.found
				if v.refusal != "" {
					out.Refused[c] = v.refusal
				}
			} else {
				edited, found = s.text(cfg, t, seen)
			}
			for k := range found {
				j.add(s, &found[k], t, flow.Generate)
				j.denied = j.denied || s.policy.halts(&found[k])
			}
			if string(edited) != t.Text {
				r.Edits[t.ID] = string(edited)
				j.denied = j.denied || t.Fixed
			}
		}
		j.denied = s.named(&j, a.Names) || j.denied
		s.conclude(&r, j)
		if len(out.Refused) > 0 && r.Decision.Outcome == flow.Allow {
			r.Decision.Outcome = flow.Rewrite
		}
		return r, s.record(ctx, &r)
	})
	trace.end(AnswerTrace{Halted: out.Denied()})
	return out
}

// told reports whether an answer has texts that those who look on are told of.
func (a *Answer) told() bool {
	return len(a.Calls) > 0 || slices.ContainsFunc(a.Texts, func(t Text) bool { return t.Field != flow.FieldOther })
}

// text edits one text of an answer.
func (s *Session) text(cfg *stream.Config, t *Text, seen *textTrace) ([]byte, []stream.Finding) {
	raw := []byte(t.Text)
	key := flow.StreamKey{Field: t.Field}
	r := s.judge(key)
	if r == nil && s.watch.Edited == nil && seen == nil {
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
	s.edited(key, edits)
	seen.decided(int64(len(raw)), edits, sc.Findings())
	return apply(edits, 0, raw), sc.Findings()
}

func (s *Session) edited(key flow.StreamKey, edits []stream.Edit) {
	if s.watch.Edited == nil {
		return
	}
	for i := range edits {
		s.watch.Edited(key, edits[i])
	}
}
