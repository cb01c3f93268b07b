package step

import (
	"cmp"
	"slices"
	"strings"

	"github.com/margaydev/margay/confirm"
	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/taint"
	"github.com/margaydev/margay/taint/act"
	"github.com/margaydev/margay/taint/clear"
	"github.com/margaydev/margay/taint/document"
	"github.com/margaydev/margay/taint/wish"
)

// Bounds of what a question says about the values of a call.
const (
	maxValues  = 8
	maxSources = 3
	minValue   = 4
	maxValue   = 120
)

// origins say where the values among a call's arguments come from that the user did
// not name: a person who sees that an account stands in one mail only knows what to
// think of it. There are none where the conversation is not seen, and for calls of
// which a question shows the parts.
func (st *asker) origins(q *taint.Question) []confirm.Value {
	args := document.Arguments(q.Call.Arguments)
	if args == nil || len(st.h.Messages) == 0 || slices.ContainsFunc(q.Acts, func(a act.Act) bool { return a.Text != "" }) {
		return nil
	}
	own := st.h.Own()
	var out []confirm.Value
	for i := range args.Nodes {
		n := &args.Nodes[i]
		v := strings.TrimSpace(n.Value)
		if n.Kind != document.Text && n.Kind != document.Number || len(v) < minValue || len(v) > maxValue || len(out) == maxValues ||
			slices.ContainsFunc(own, func(s string) bool { return wish.Spoken(s, v) }) || slices.ContainsFunc(out, func(o confirm.Value) bool { return o.Value == v }) {
			continue
		}
		out = append(out, confirm.Value{Name: argument(args, i), Value: v, From: st.sources(v)})
	}
	for i := range out {
		out[i].Value = st.s.Clean(out[i].Value)
	}
	return out
}

// argument is the name of the argument that a value is in.
func argument(args *document.Tree, i int) string {
	for args.Nodes[i].Parent > 0 {
		i = args.Nodes[i].Parent
	}
	return args.Nodes[i].Key
}

// sources are the tools and people in whose texts a value stands, each once.
func (st *asker) sources(v string) []string {
	var out []string
	for i := range st.h.Messages {
		m := &st.h.Messages[i]
		if m.Kind == clear.KindCall || m.Role == flow.RoleAssistant || !strings.Contains(m.Text, v) {
			continue
		}
		if from := cmp.Or(m.Tool, string(m.Role)); !slices.Contains(out, from) {
			if out = append(out, from); len(out) == maxSources {
				break
			}
		}
	}
	return out
}
