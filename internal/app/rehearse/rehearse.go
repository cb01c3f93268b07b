// Package rehearse takes a sample conversation through the verifier, as one
// trajectory under one rubric, and says which of its turns the rubric breaks.
// Nothing is sent or kept, and no text of the conversation is in a result.
package rehearse

import (
	"bytes"
	"cmp"
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/margaydev/margay/declassify"
	"github.com/margaydev/margay/declassify/rule"
	"github.com/margaydev/margay/declassify/schema"
	"github.com/margaydev/margay/declassify/terms"
	"github.com/margaydev/margay/defend/rules"
	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/app/config"
	"github.com/margaydev/margay/internal/app/mediation"
	"github.com/margaydev/margay/ledger"
	"github.com/margaydev/margay/mediator/disclose"
	"github.com/margaydev/margay/rubric"
	"github.com/margaydev/margay/store/memory"
)

// maxTurns bounds a conversation.
const maxTurns = 1000

// Turn is a message, or a call of a tool.
type Turn struct {
	Role      string          `json:"role,omitempty"` // system, developer, user, assistant or tool
	Text      string          `json:"text,omitempty"`
	Tool      string          `json:"tool,omitempty"`
	Arguments json.RawMessage `json:"arguments,omitempty"` // an object, or its text
}

// Parse reads a conversation, a turn on each line.
func Parse(b []byte) ([]Turn, error) {
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	var out []Turn
	for {
		var t Turn
		err := d.Decode(&t)
		switch {
		case errors.Is(err, io.EOF):
			return out, nil
		case err != nil:
			return nil, fmt.Errorf("turn %d can't be read: %w", len(out)+1, err)
		case (t.Role == "") == (t.Tool == ""):
			return nil, fmt.Errorf("turn %d is neither {role, text} nor {tool, arguments}", len(out)+1)
		case t.Role != "" && !slices.Contains(roles, t.Role):
			return nil, fmt.Errorf("turn %d: unknown role %q; roles are %s", len(out)+1, t.Role, strings.Join(roles, ", "))
		case len(out) == maxTurns:
			return nil, fmt.Errorf("there are more than %d turns", maxTurns)
		}
		out = append(out, t)
	}
}

// roles; who has set the agent up, or uses it, comes first.
var roles = []string{"system", "developer", "user", "assistant", "tool"}

// Result is what one turn comes to.
type Result struct {
	Turn    int          `json:"turn"`
	What    string       `json:"what"`
	Outcome flow.Outcome `json:"outcome"` // empty: it is not checked
	Charge  flow.Bits    `json:"charge_microbits"`
	Faults  []Fault      `json:"faults,omitempty"`
}

// Fault is why a turn is denied, or text of the user's or the system's redacted.
type Fault struct {
	Clause string `json:"clause"` // of the rubric
	Detail string `json:"detail"`
	Next   string `json:"next"` // what to do
}

// play is one rehearsal.
type play struct {
	cfg    *config.Declassify
	r      *rubric.Rubric
	v      *declassify.Verifier
	family flow.TrajectoryID
	asked  rubric.Query     // of the last release
	rules  *rubric.Resolved // the same

	untrusted bool
}

// Run takes a conversation through the verifier. The model and the tools are
// those of the configuration; class is that of the model where it is not.
// Where the rubric is not for a release, the fallback holds.
func Run(ctx context.Context, cfg *config.Declassify, r *rubric.Rubric, class flow.Class, turns []Turn) ([]Result, error) {
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		return nil, err
	}
	store := memory.New()
	book, err := ledger.NewBook(ledger.Config{Store: store, Key: key})
	if err != nil {
		return nil, err
	}
	_, err = book.KeepRubric(ctx, r.Canonical())
	if _, and := book.KeepRubric(ctx, terms.Fallback()); err != nil || and != nil {
		return nil, errors.Join(err, and)
	}
	p := &play{cfg: cfg, r: r, family: flow.TrajectoryID(flow.NewID())}
	p.v, err = declassify.New(declassify.Config{
		Ledger: book, History: store, Defender: rules.Defender{}, Key: [32]byte(key[:32]), Resolve: p.resolve,
		Start: func(*declassify.Candidate, declassify.Rules) (rubric.Limits, rubric.Hash, error) {
			return r.Limits(), r.Hash(), nil
		},
	})
	if err != nil {
		return nil, err
	}
	model := mediation.ModelSink(cfg, "")
	if cfg.Model.Class == "" {
		model.Class = class
	}
	if acts := r.Signature().Actions; model.Action == "" && len(acts) > 0 {
		model.Action = acts[0]
	}
	var out []Result
	tools := mediation.Tools(cfg)
	for i := range turns {
		t := &turns[i]
		res := Result{Turn: i + 1, What: t.Role + " text"}
		tool, payload, ok := model, t.Text, true
		if t.Tool != "" {
			res.What = "call of " + t.Tool
			payload = string(t.Arguments)
			_ = json.Unmarshal(t.Arguments, &payload) // or it is the object itself
			tool, ok = tools(flow.ToolCall{Name: t.Tool, Arguments: payload})
		}
		if ok {
			if err := p.turn(ctx, t, &tool, payload, &res); err != nil {
				return nil, err
			}
		}
		out = append(out, res)
	}
	return out, nil
}

// resolve finds the rules of a release: those of the rubric, where it is for it.
func (p *play) resolve(q rubric.Query) (declassify.Rules, error) {
	p.asked, p.rules = q, rubric.Fallback()
	if p.r.Applies(q) {
		p.rules = rubric.Combine(p.r)
	}
	return p.rules, p.rules.Conflict(q.Class)
}

// Try implements disclose.Trier: it makes the release, in the one trajectory.
func (p *play) Try(ctx context.Context, c declassify.Candidate) (declassify.Release, []declassify.Part, error) {
	c.Trajectory, c.Family = p.family, p.family
	for i := range c.Parts {
		c.Parts[i].Untrusted = p.untrusted
	}
	r, err := p.v.Release(ctx, c)
	return r, r.Parts(), err
}

func (p *play) turn(ctx context.Context, t *Turn, tool *schema.Tool, payload string, res *Result) error {
	ours := slices.Contains(roles[:3], t.Role)
	p.untrusted = t.Role != "" && !ours
	got, err := disclose.Try(ctx, p, *tool, payload)
	switch {
	case errors.Is(err, disclose.ErrAmbiguous):
		res.Outcome = flow.Deny
		res.Faults = []Fault{{"arguments", err.Error(), "write the arguments as one JSON object"}}
		return nil
	case err != nil:
		return err
	}
	if res.Outcome = got.Release.Outcome; got.Release.Entry != nil {
		res.Charge = got.Release.Entry.Charge
	}
	if got.Release.Released() && !ours {
		return nil
	}
	var faults []Fault
	if !got.Release.Released() {
		faults = append(faults, p.denied(&got.Release))
	}
	for i := range got.Release.Atoms {
		if a := &got.Release.Atoms[i]; a.Op.Kind <= rubric.Redact {
			faults = append(faults, p.redacted(&got.Asked[a.Part], a))
		}
	}
	if len(faults) > 0 && p.rules.IsFallback() {
		faults = []Fault{{
			"signature", fmt.Sprintf("the rubric is not for a release of the action %q through the channel %s to %v sinks, so the fallback holds", p.asked.Action, p.asked.Channel, p.asked.Class),
			"name it in signature, or leave the list of actions, tools, sinks, channels or classes out that excludes it",
		}}
	}
	for _, f := range faults {
		if !slices.Contains(res.Faults, f) {
			res.Faults = append(res.Faults, f)
		}
	}
	return nil
}

// denied says why a turn is denied.
func (p *play) denied(r *declassify.Release) Fault {
	f := Fault{"operators", "it may not be released", "margay rubric lint checks the rubric"}
	code := rule.Rubric
	for i, x := range slices.Backward(r.Reasons) {
		if part := []string{string(rule.Unlabelled), string(rule.Coverage), string(rule.OutOfRange)}; i == 0 || !slices.Contains(part, x.Code) {
			code, f.Detail = rule.Rule(x.Code), x.Detail // the others are of parts that were redacted
		}
	}
	class, fields := p.asked.Class.String(), cmp.Or(strings.Join(r.Missing, ", "), "what is needed")
	switch code {
	case rule.Budget:
		f.Clause, f.Next = "limits", "raise limits.budget or limits.caps."+class+", or ask for a coarser level of "+fields+" in utility."+class
	case rule.Audit:
		f.Clause, f.Next = "dependencies", "raise limits.margin, or show coarser levels of the fields that depend on each other"
	case rule.Utility:
		f.Clause, f.Next = "utility."+class, "admit what it asks for of "+fields+" in operators, ask for less, or widen the population that the value is outside of"
	}
	return f
}

// redacted says why a span of a text is redacted.
func (p *play) redacted(part *declassify.Part, a *declassify.Atom) Fault {
	class := p.asked.Class.String()
	clauses := []string{}
	for _, m := range p.rules.Match(part.Path, part.Text) {
		if m.Start < a.End && m.End > a.Start && !slices.Contains(clauses, m.Clause) {
			clauses = append(clauses, m.Clause)
		}
	}
	found := "coverage " + cmp.Or(strings.Join(clauses, ", "), "of "+a.Field)
	switch {
	case a.Field == declassify.Unknown && len(clauses) == 0:
		return Fault{
			"residual." + class, fmt.Sprintf("text in which nothing was found is redacted: no expression of residual matches the path %q for %s sinks", part.Path, class),
			"add '^" + part.Path + "$' to residual." + class + ", if such text may go there",
		}
	case a.Field == declassify.Unknown:
		return Fault{found, "what the clause matches may be of several fields", "narrow the clause, or declare only: true where it is of its field and no other"}
	case len(p.rules.Operators(a.Field, p.asked.Class)) > 2:
		return Fault{found, "a value of " + a.Field + " is redacted, though more is admitted: it is outside of the population, or did not fit the limits", "widen the population of " + a.Field + ", or limits"}
	default:
		return Fault{found, "a value of " + a.Field + " is redacted", "admit pseudonym, or a level, in operators." + a.Field + "." + class + "; or narrow the clause"}
	}
}
