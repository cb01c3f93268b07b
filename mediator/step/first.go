package step

import (
	"encoding/hex"
	"slices"

	"github.com/margaydev/margay/confirm"
	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/taint"
	"github.com/margaydev/margay/taint/effect"
)

// What a person said of a tool counts for the definition that he said it of. Those of
// servers are pinned; an agent's own tool, and one that its server describes in
// another way than at first, is remembered with a hash of its definition.

// profiles makes the step's policy look up what a person said of the tools that are
// offered, for what they say of themselves. Pinned are those that their server
// describes as it did at first, where that is known.
func (st *Step) profiles(tools []flow.OfferedTool, pinned func(tool string) bool) {
	at := make(map[string]*flow.OfferedTool, len(tools))
	for i := range tools {
		at[tools[i].Name] = &tools[i]
	}
	hashes := map[string]string{}
	st.hash = func(tool string) (string, bool) {
		t := at[tool]
		switch {
		case t == nil:
			return "", false
		case pinned(tool):
			return "", true
		case hashes[tool] == "":
			h := st.looks(t)
			hashes[tool] = hex.EncodeToString(h[:])
		}
		return hashes[tool], true
	}
	st.says = func(tool string) []string {
		var out []string
		if t := at[tool]; t != nil {
			for _, p := range t.Parts {
				out = append(out, st.text(p))
			}
		}
		return out
	}
	m := st.policy.Machine()
	if m == nil || m.Profile == nil {
		return
	}
	on, said := *m, m.Profile
	on.Profile = func(tool, _ string) (effect.Profile, bool) {
		hash, ok := st.hash(tool)
		if !ok {
			return effect.Profile{}, false
		}
		return said(tool, hash)
	}
	st.policy = st.policy.On(&on)
}

// first is what the tool of a call seems to do, where nothing is known of it; else
// nil.
func (st *asker) first(v *taint.Verdict) *confirm.First {
	if !slices.ContainsFunc(v.Clearance.Reasons, func(r flow.Reason) bool { return r.Code == taint.CodeUnknownTool }) {
		return nil
	}
	out := &confirm.First{Profile: effect.Profile{Effect: effect.Reach}}
	var says []string
	if st.hash != nil {
		var ok bool
		if out.Definition, ok = st.hash(v.Call.Name); !ok {
			return nil // it is not offered, so that nothing can be remembered of it
		}
		says = st.says(v.Call.Name)
	}
	if st.cfg.Suggest != nil {
		out.Profile = st.cfg.Suggest(v.Call.Name, says)
	}
	return out
}
