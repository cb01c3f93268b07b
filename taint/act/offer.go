package act

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/margaydev/margay/taint/document"
	"github.com/margaydev/margay/taint/effect"
	"github.com/margaydev/margay/taint/shell"
	"github.com/margaydev/margay/taint/workspace"
)

// outside are why an act needs more than it would in a folder that the user trusts.
var outside = []string{shell.OutsideRepository, shell.OutsideProgram, shell.OutsideScript, shell.OutsideCode, shell.OutsideFile}

func (a *Act) outside() bool { return slices.Contains(outside, a.Why) }

// Offer is the project that a person may be offered to trust because a call works
// there: the only one, and with it the call works nowhere else that he does not trust.
// A call that brings others' files into it is no reason. Empty for none, and where it
// is not sure.
func (s *Spec) Offer(m *Machine, args *document.Tree) string {
	if !m.Follows() || m.Places == nil || m.Project == nil {
		return ""
	}
	root, acts := "", s.Acts(m, args)
	for i := range acts {
		a := &acts[i]
		if !a.outside() {
			continue
		}
		at := a.Writes
		if len(at) == 0 {
			at = []string{a.In}
		}
		for _, full := range at {
			p := ""
			if path.IsAbs(full) {
				p = m.Project(full)
			}
			if p == "" || root != "" && p != root {
				return ""
			}
			root = p
		}
	}
	if root == "" {
		return ""
	}
	then := *m
	then.Places = m.Places.With(root)
	acts = s.Acts(&then, args)
	theirs, _ := then.taints(acts, false)
	if slices.ContainsFunc(acts, func(a Act) bool { return a.outside() }) || slices.ContainsFunc(theirs, func(f string) bool { return then.Places.Root(f) == root }) {
		return ""
	}
	return root
}

// grounds are the workspaces and projects that an act works in; with words, also those
// that its words lead to.
func (m *Machine) grounds(a *Act, words bool) (out []string) {
	if m.Places == nil {
		return nil
	}
	at := []string{a.In}
	if words {
		at = append(at, strings.FieldsFunc(a.Text, separates)...)
	}
	add := func(root string) {
		if root != "" && !slices.Contains(out, root) {
			out = append(out, root)
		}
	}
	add(m.around())
	for _, word := range at {
		full, ok := m.Places.Resolve(cmp.Or(a.In, m.Dir), word)
		switch {
		case !ok || !strings.Contains(word, "/"):
		case m.Places.Root(full) != "":
			if word == a.In {
				add(m.Places.Root(full))
			}
		case m.Project != nil && m.Places.Zone(full) == workspace.Outside:
			add(m.Project(full))
		}
	}
	return out
}

// brings reports whether an act brings in what strangers wrote, wherever it works.
func (a *Act) brings() bool { return a.Effect != effect.Observe && !a.outside() && foreign(*a) }

// kept are the written files of which it is remembered that strangers had a part in
// them: those of workspaces, scratch files and, where they are sure to have, others,
// but for folders around a workspace or the home folder.
func (m *Machine) kept(w string, sure bool) bool {
	if m.Places == nil {
		return false
	}
	switch m.Places.Zone(w) {
	case workspace.Own, workspace.Steering, workspace.Scratch:
		return true
	case workspace.Outside:
		return sure && path.IsAbs(w) && path.Clean(w) == w && len(w) <= 4096 && !m.Places.Around(w)
	}
	return false
}
