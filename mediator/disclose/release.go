package disclose

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/margaydev/margay/declassify"
	"github.com/margaydev/margay/declassify/rule"
	"github.com/margaydev/margay/declassify/schema"
	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/mediator/audit"
	"github.com/margaydev/margay/mediator/session"
	"github.com/margaydev/margay/secret"
	"github.com/margaydev/margay/stream"
)

// releasePatience bounds a decision about a call that is part of an answer.
const releasePatience = time.Minute

// releaseCall takes the arguments of a call of a known tool through the
// verifier, after what secrets were found in them is edited out. It reports
// whether that decides about the call: pseudonyms in it are turned back where
// the tool's rubric admits that.
func (v *Verbs) releaseCall(ctx context.Context, name string, args []byte, edits []stream.Edit, found []stream.Finding) (made []stream.Edit, withheld audit.Finding, refused string, ok bool) {
	tool, ok := v.tool(name, string(args))
	if !ok {
		return nil, withheld, "", false
	}
	decides := !v.cfg.Report
	if hasKey(found) {
		return nil, withheld, refusal(v.s.Clean(name), "a private key", secret.KindPrivateKey), decides
	}
	edits, whole := insideStrings(args, edits)
	if !whole {
		return nil, withheld, "", false // what is not declassified is refused there
	}
	before := session.Apply(edits, 0, args)
	ctx, cancel := context.WithTimeout(ctx, releasePatience)
	defer cancel()
	l, ok := leavesOf(before)
	if !ok {
		return nil, withheld, notReleased(v.s.Clean(name), "its arguments can be read in several ways"), decides
	}
	r := v.release(ctx, verbOf(&tool), tool, l.parts(&tool))
	if !decides || !r.Released() {
		return nil, withheld, notReleased(v.s.Clean(name), why(&r)+waiting(&r)), decides && !v.passes(&r)
	}
	made, ok = l.edits(r.Parts())
	switch {
	case !ok:
		return nil, withheld, notReleased(v.s.Clean(name), "the name of an argument would have to be changed"), true
	case len(made) == 0:
		return edits, withheld, "", true
	case len(edits) > 0:
		made = []stream.Edit{{Start: 0, End: int64(len(args)), Text: session.Apply(made, 0, before)}}
	}
	return made, v.withheld(&r), "", true
}

// releaseTexts takes what goes to the model through the verifier: the texts of
// a prompt or of what a tool tells, as they are edited so far.
func (v *Verbs) releaseTexts(ctx context.Context, verb flow.Verb, texts []flow.Text, r *session.Result) error {
	d := v.cfg
	if err := v.learnResults(ctx, texts); err != nil {
		return err
	}
	if d == nil || d.Model == nil || r.Decision.Outcome == flow.Deny || v.s.Observes() || verb != flow.Prompt && verb != flow.Observe {
		return nil
	}
	tool, ok := d.Model(v.s.Sink)
	if !ok {
		return nil
	}
	var parts []declassify.Part
	var open []shown
	for i := range texts {
		t := &texts[i]
		if t.Opaque != "" || t.Text == "" {
			continue
		}
		x := shown{t: t, text: t.Text}
		if edited, ok := r.Edits[t.ID]; ok {
			x.text = edited
		}
		public, untrusted := v.speaker(verb, t)
		if public {
			continue
		}
		x.key = v.s.Keyed("margay released v1", []byte(tool.Sink), []byte(t.Field.String()), []byte{byte(tool.Class), flag(untrusted)}, []byte(x.text))
		if m, ok := v.s.Recall(x.key); ok {
			if m.Changed {
				r.Edits[t.ID] = m.Text
			}
			continue
		}
		x.from = len(parts)
		if l, ok := leavesOf([]byte(x.text)); ok && (t.JSON || t.Field == flow.FieldToolArguments) {
			x.leaves = l
			parts = append(parts, l.parts(&tool)...)
		} else {
			parts = append(parts, declassify.Part{Text: x.text})
		}
		for k := x.from; k < len(parts); k++ {
			parts[k].Path, parts[k].Untrusted, parts[k].Fixed = t.Field.String(), untrusted, parts[k].Fixed || t.Fixed
		}
		x.to = len(parts)
		open = append(open, x)
	}
	if len(parts) == 0 {
		return nil
	}
	got := v.release(ctx, verb, tool, parts)
	if d.Report || !got.Released() && v.passes(&got) {
		return nil
	}
	if !got.Released() {
		r.Deny(got.Reasons...)
		return nil
	}
	released := got.Parts()
	for i := range open {
		x := &open[i]
		text, ok := x.released(released[x.from:x.to])
		if changed := text != x.text; !ok || changed && x.t.Fixed {
			r.Deny(flow.Reason{Code: "fixed-text", Detail: "a text that can't be edited holds what the model may not learn"})
			return nil
		} else if changed {
			r.Edits[x.t.ID], r.Decision.Outcome = text, flow.Rewrite
		}
		v.s.Remember(x.key, session.Mediated{Text: text, Changed: text != x.t.Text})
	}
	return v.s.Seal(ctx)
}

// userSide reports whether the user, or who set the agent up, speaks in a role.
// No role at all is a setting of the request.
func userSide(r flow.Role) bool {
	return r == "" || r == flow.RoleUser || r == flow.RoleSystem || r == flow.RoleDeveloper
}

func flag(b bool) byte {
	if b {
		return 1
	}
	return 0
}

// shown is a text on its way to the model.
type shown struct {
	t        *flow.Text
	text     string
	leaves   *leaves // where it is JSON
	from, to int
	key      [32]byte
}

func (x *shown) released(parts []declassify.Part) (string, bool) {
	if x.leaves == nil {
		return parts[0].Text, true
	}
	edits, ok := x.leaves.edits(parts)
	return string(session.Apply(edits, 0, []byte(x.text))), ok
}

// speaker says whether anybody may read a text, and whether somebody else than
// the user may have written it. A model is somebody else: shown its own guess
// under the name of a value, it would know that the guess is right.
func (v *Verbs) speaker(verb flow.Verb, t *flow.Text) (public, untrusted bool) {
	switch {
	case t.Role == flow.RoleAssistant || t.Field == flow.FieldToolArguments:
		return false, true
	case t.Tool == "":
		return false, verb == flow.Observe || !userSide(t.Role)
	}
	if v.origins != nil {
		return v.origins.Origin(t.Tool, t.Text)
	}
	return false, v.cfg.Trusted == nil || !v.cfg.Trusted(t.Tool)
}

// release asks the verifier, keeps the values that became pseudonyms, and
// records the decision. What can't be kept or recorded is not released.
func (v *Verbs) release(ctx context.Context, verb flow.Verb, tool schema.Tool, parts []declassify.Part) declassify.Release {
	s := v.s
	res := session.Result{Decision: s.Decision(verb)}
	res.Decision.Sink = flow.Sink{Name: tool.Sink, Channel: tool.Channel, Trust: s.Sink.Trust}
	names := &sessionNames{s: s, ctx: ctx, values: map[string]string{}, given: map[string]string{}}
	if tool.Channel == flow.ChannelMemory {
		names.memory = s.Memory(tool.Sink)
		parts = v.remembered(names, parts)
	}
	c := declassify.Candidate{
		// What names a trajectory of its own within a run has no budget of its own.
		Family:     s.Family(),
		Trajectory: s.ID, Decision: res.Decision.ID, Tool: tool, Parts: parts,
		Names: names,
	}
	r := v.verify(ctx, &c)
	for _, n := range r.Named {
		if v.cfg.Report || names.memory != nil {
			break // nobody sees the name, or the memory's readers do
		}
		s.Replace(n.Name, []byte(n.Value))
	}
	res.Decision.Outcome, res.Decision.Reasons = r.Outcome, s.CleanReasons(r.Reasons)
	if v.cfg.Report {
		res.Decision.Outcome, res.Decision.Reasons = flow.Allow, session.Reported(res.Decision.Reasons)
	} else if err := errors.Join(s.Seal(ctx), names.keep(&r)); err != nil {
		return denied(session.CodeStore, storeFailed)
	}
	if err := s.Commit(ctx, &res); err != nil {
		return denied(session.CodeStore, storeFailed)
	}
	return r
}

// verify asks the verifier, and a person where that helps. A client that has
// disconnected is not charged.
func (v *Verbs) verify(ctx context.Context, c *declassify.Candidate) declassify.Release {
	if ctx.Err() == nil {
		if r, err := v.cfg.Verifier.Release(ctx, *c); err == nil {
			return v.waive(ctx, c, r)
		}
	}
	return denied("deadline", "the release was not decided in time")
}

const storeFailed = "the store failed; run margay doctor"

// denied is what becomes of a release that could not be decided or recorded.
func denied(code, detail string) declassify.Release {
	return declassify.Release{Outcome: flow.Deny, Reasons: []flow.Reason{{Code: code, Detail: detail}}}
}

// passes reports whether a release that failed, and was not decided, passes.
func (v *Verbs) passes(r *declassify.Release) bool {
	failures := []string{session.CodeStore, "deadline", string(rule.LedgerFailed), string(rule.ValidatorError)}
	return v.s.Passes() && slices.ContainsFunc(r.Reasons, func(x flow.Reason) bool { return slices.Contains(failures, x.Code) })
}

// why is what a model reads about a release that is refused.
func why(r *declassify.Release) string {
	for _, x := range r.Reasons {
		switch rule.Rule(x.Code) {
		case rule.Unlabelled, rule.Coverage, rule.OutOfRange: // of parts that were redacted
			continue
		}
		return x.Detail
	}
	return "it may not be released"
}

func notReleased(name, because string) string {
	return "[margay: the call of " + cmp.Or(name, "a tool") + " was not made: " + because + ". Ask for less, or leave out what the tool does not need.]"
}
