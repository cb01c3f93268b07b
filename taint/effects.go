package taint

import (
	"slices"
	"strconv"
	"strings"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/label"
	"github.com/margaydev/margay/taint/act"
	"github.com/margaydev/margay/taint/clear"
	"github.com/margaydev/margay/taint/document"
	"github.com/margaydev/margay/taint/effect"
	"github.com/margaydev/margay/taint/wish"
)

// ListKnown is the list of places that the user knows: hosts, with all hosts
// below them, remotes, registries. What reaches one alone is held to less.
const ListKnown = "known-places"

// On is the policy for tools that work on a machine; nil for one of which
// nothing is known. Policies share what they are made of.
func (p *Policy) On(m *act.Machine) *Policy {
	out := *p
	out.machine = m
	return &out
}

// Machine is the machine of the policy's tools; nil where nothing is known.
func (p *Policy) Machine() *act.Machine { return p.machine }

// follows reports whether labels follow the files that calls write.
func (p *Policy) follows() bool { return p.machine.Follows() }

// byEffects is the clearance of a call by what it does: the table's, of all its
// acts the least.
func (p *Policy) byEffects(c *Clearance, tool string, spec *act.Spec, q *question) {
	c.Acts = spec.Acts(p.machine, q.args)
	least, reader, unkind := effect.World, ReachAny, c.Confirm
	for i := range c.Acts {
		a := &c.Acts[i]
		known := p.knows(a, q.user)
		if !known && (a.Effect == effect.Reach || a.Effect == effect.Spend) {
			reader = ReachLow // a place that nobody named gets what is public
		}
		most, unasked := a.Effect.Most(known)
		switch {
		case known && slices.Contains(forges, a.To):
			most = effect.World // nobody but the forge learns what is asked for
		case a.Effect == effect.Edit && (!p.follows() || a.Anywhere):
			most = min(most, effect.Workspace)
		case a.Effect == effect.Run && a.Tainted && p.machine.MayRun != nil && p.machine.MayRun():
			// A person let such files run as they are.
			if a.Routine() {
				most = effect.World
			}
		case a.Effect == effect.Run && a.Tainted:
			// What runs may have been written by strangers: it is theirs to
			// reach out with.
			unasked, a.Why = false, "files that were written under strangers' influence may run; a yes holds for builds and tests until they change one again"
		}
		if a.Effect == effect.Reach && a.Anywhere && a.Tainted && a.Program != "git" {
			unasked = false // nobody can tell what it runs, and strangers had a part in some file
		}
		if !unasked || most < effect.World {
			unkind = unkind || a.Kind == ""
			for _, k := range a.Kinds() {
				if spec.Effect != nil {
					k += " by " + tool // another tool does something else there
				}
				c.does(k)
			}
		}
		if i == 0 || most < least || !unasked && !c.Confirm {
			c.Effect = a.Effect
		}
		least = min(least, most)
		c.Confirm = c.Confirm || !unasked
		if r := reasonOf(a); !slices.Contains(c.Reasons, r) {
			c.Reasons = append(c.Reasons, r)
		}
	}
	// What reads others' or the user's private files and tells somebody in one call is
	// asked about each time; with the private ones, the user alone may cause it.
	tells := slices.ContainsFunc(c.Acts, func(a act.Act) bool {
		return a.Effect == effect.Reach && (a.To != "" || a.Program != "git") && !slices.Contains(forges, a.To)
	})
	private := tells && slices.ContainsFunc(c.Acts, func(a act.Act) bool { return a.Private })
	if tells = tells && slices.ContainsFunc(c.Acts, func(a act.Act) bool { return a.Effect == effect.Observe && a.Foreign && a.Program != "git" }) || private; private {
		least = effect.User
	}
	if c.Limit = p.Limit(sourceOf[least], reader); unkind || tells || len(c.Kinds) > maxKinds {
		c.Kinds = nil
	}
}

// maxKinds bounds what one yes for a task covers: more is asked about each time.
const maxKinds = 16

// does adds what the call does to what needs a yes.
func (c *Clearance) does(kind string) {
	if !slices.Contains(c.Kinds, kind) {
		c.Kinds = append(c.Kinds, kind)
	}
}

// along is the policy for the calls of a step together. While one of them may leave
// strangers' words in a file, none runs code as if they were not there; nor while
// more calls may follow.
func (p *Policy) along(s *Step) *Policy {
	if !p.follows() {
		return p
	}
	m := *p.machine
	m.Dirty = slices.ContainsFunc(s.Calls, func(c flow.ToolCall) bool {
		files, moved := p.Taints(c, s.From.Label())
		return len(files) > 0 || moved
	})
	if m.Dirty || s.More {
		m.MayRun = nil
	}
	return p.On(&m)
}

// RunsTainted reports whether a call may run code that strangers had a part in.
func (c *Clearance) RunsTainted() bool {
	return slices.ContainsFunc(c.Acts, func(a act.Act) bool { return a.Effect == effect.Run && a.Tainted })
}

// sourceOf is the reach of an influence.
var sourceOf = map[effect.Influence]Reach{effect.User: ReachLow, effect.Workspace: ReachWorkspace, effect.World: ReachAny}

func reasonOf(a *act.Act) flow.Reason {
	detail := a.Effect.String()
	if a.To != "" && (a.Effect == effect.Reach || a.Effect == effect.Spend) {
		detail += " " + strconv.Quote(shortened(a.To))
	}
	if a.Text != "" {
		detail += " by " + strconv.Quote(shortened(a.Text))
	}
	detail += ": " + a.Why
	return flow.Reason{Code: CodeEffect, Detail: detail}
}

// maxShort bounds what a reason quotes of a call, in bytes.
const maxShort = 80

func shortened(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > maxShort {
		s = strings.ToValidUTF8(s[:maxShort], "") + "…"
	}
	return s
}

// knows reports whether the user knows the place that an act is about: he named
// it, or asked for the act at the place that goes without saying, or a list has
// it.
func (p *Policy) knows(a *act.Act, user []string) bool {
	switch {
	case a.Anywhere:
		return false
	case a.Effect == effect.Reach || a.Effect == effect.Spend:
		names := strings.Fields(a.To)
		if len(names) == 0 || a.Unknown {
			return false
		}
		usual := wish.Asked(a.Text, user)
		return !slices.ContainsFunc(names, func(n string) bool {
			return !(usual && slices.Contains(wish.Places, n)) && !givenPlace(n) && !p.listed(n) && !named(user, n)
		})
	case a.Effect == effect.Persist || a.Effect == effect.Destroy:
		if len(a.Writes) == 0 {
			return false
		}
		return !slices.ContainsFunc(a.Writes, func(w string) bool {
			return !slices.ContainsFunc(p.machine.Names(w), func(n string) bool {
				return named(user, n) && (a.Effect == effect.Persist || slices.ContainsFunc(user, wish.Removes))
			})
		})
	}
	return true
}

// named reports whether one of the user's texts names a place.
func named(user []string, place string) bool {
	return slices.ContainsFunc(user, func(s string) bool { return wish.Spoken(s, place) })
}

func (p *Policy) listed(place string) bool {
	h, ok := host(place)
	if !ok {
		h = strings.ToLower(place)
	}
	return slices.ContainsFunc(p.lists[ListKnown], func(l string) bool {
		l = strings.ToLower(l)
		return h == l || strings.HasSuffix(h, "."+l)
	})
}

// givenPlace reports whether a workspace's own files lead to a place, with nothing
// named besides: the registry of its packages, and the forge that its clone came
// from, where it is read.
func givenPlace(n string) bool {
	return strings.HasPrefix(n, "registry:") || slices.Contains(forges, n)
}

// forges are what a command is about that only reads from where a clone came from.
var forges = []string{"forge:gh", "forge:glab", "forge:git"}

// workspaces reports whether a call's result holds nothing but what a folder
// that the user trusts holds, and what its programs say of it.
func (p *Policy) workspaces(t *Tool, args *document.Tree, result string) bool {
	i := slices.IndexFunc(t.Rules, func(r Rule) bool { return r.Spec != nil })
	if i < 0 || p.machine == nil {
		return false
	}
	return !t.Rules[i].Spec.Foreign(p.machine, args, result)
}

// Taints are the files that a call would leave strangers' words in, were it made
// under a label, and whether it may move such files. Both are to be remembered before
// it is made.
func (p *Policy) Taints(call flow.ToolCall, under label.Label) (files []string, moved bool) {
	if !p.follows() {
		return nil, false
	}
	t, args := p.tool(call)
	if t == nil || args == nil {
		return nil, false
	}
	for i := range t.Rules {
		if spec := t.Rules[i].Spec; spec != nil {
			more, moves := spec.Taints(p.machine, args, !p.InWorkspace(under))
			files, moved = append(files, more...), moved || moves
		}
	}
	return files, moved
}

// Scratch is what a call does to scratch files, were it made under a label.
func (p *Policy) Scratch(call flow.ToolCall, under label.Label) act.Scratch {
	t, args := p.tool(call)
	out := act.Scratch{All: !p.follows() || t == nil || args == nil}
	for i := 0; !out.All && i < len(t.Rules); i++ {
		if spec := t.Rules[i].Spec; spec != nil {
			out.Join(p.machine.Scratch(spec, args, !p.InWorkspace(under)))
		}
	}
	return out
}

// InWorkspace reports whether nobody but the user and his workspace had a part in
// what has a label. Making a step again without the workspace's text would leave
// an agent nothing to work on.
func (p *Policy) InWorkspace(l label.Label) bool {
	return p.scheme.Workspace != p.scheme.Untrusted &&
		p.scheme.Lattice.FlowsTo(label.Label{Integrity: l.Integrity}, label.Label{Integrity: p.scheme.Workspace})
}

// floor is the lowest level at which a step is made again.
func (p *Policy) floor() clear.Level {
	l := p.Limit(ReachWorkspace, ReachAny)
	return clear.At(l)
}
