package taint

import (
	"strings"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/taint/act"
	"github.com/margaydev/margay/taint/clear"
	"github.com/margaydev/margay/taint/document"
	"github.com/margaydev/margay/taint/effect"
	"github.com/margaydev/margay/taint/observe"
	"github.com/margaydev/margay/taint/profile"
)

// profile is what a person said of a tool that no pack describes.
func (p *Policy) profile(tool string) (effect.Profile, bool) {
	if p.machine == nil || p.machine.Profile == nil {
		return effect.Profile{}, false
	}
	return p.machine.Profile(tool, "")
}

// unknown is the result of a tool that no pack describes. What is fetched from where
// an argument says is a stranger's document, the names of its fields among it.
func (p *Policy) unknown(call flow.ToolCall, args *document.Tree, result string) observe.Result {
	if pr, _ := p.profile(call.Name); args == nil || pr.Open || profile.Fetches(args) {
		return observe.Whole(&p.scheme, call.Name, result)
	}
	return observe.Unknown(&p.scheme, call.Name, result, p.own(call.Name))
}

// said is what a person said of a tool; the zero Profile where nobody did.
func (p *Policy) said(tool string) effect.Profile {
	pr, _ := p.profile(tool)
	return pr
}

// own reports whether a person said that a tool returns the user's own records.
func (p *Policy) own(tool string) bool {
	pr, ok := p.profile(tool)
	return ok && pr.Own && !pr.Ask
}

// byProfile is the clearance of a call by what a person said that its tool does.
func (p *Policy) byProfile(pr effect.Profile, args *document.Tree, user []string) Clearance {
	if pr.Ask {
		return Clearance{Known: true, Needs: clear.Needs{Confirm: true}, Reasons: []flow.Reason{{Code: CodeProfile, Detail: "a person said that each call of this tool is asked about"}}}
	}
	d := profile.Of(pr, args, user)
	a := act.Act{Effect: d.Effect, To: strings.Join(d.To, " "), Why: "a person said that this is what the tool does: " + d.Effect.Rule().Why}
	if d.Effect != pr.Effect {
		a.Why = "it is given an address that the user did not name"
	}
	most, unasked := d.Effect.Most(d.Known)
	switch d.Effect {
	case effect.Edit: // labels do not follow what it changes
		most = min(most, effect.Workspace)
	case effect.Run: // it is no code of the workspace
		most, unasked = effect.Reach.Most(d.Known)
	}
	c := Clearance{Known: true, Acts: []act.Act{a}, Effect: d.Effect, Reasons: []flow.Reason{reasonOf(&a)}}
	reader := ReachAny
	if len(d.To) > 0 {
		reader = ReachLow // a place that nobody named gets what is public
	}
	c.Confirm, c.Limit = !unasked, p.Limit(sourceOf[most], reader)
	return c
}
