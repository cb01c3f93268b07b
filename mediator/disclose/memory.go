package disclose

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/margaydev/margay/declassify"
	"github.com/margaydev/margay/declassify/schema"
	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/mediator/session"
	"github.com/margaydev/margay/secret"
	"github.com/margaydev/margay/stream"
)

// What an agent writes to a memory outlives its trajectory. A call of a tool
// that does that is a release to the memory, like any other: charged to the
// trajectory's family, under the class of the worst who may read it later. What
// is read from it is observed like what any tool tells.
//
// A trajectory's name for a value would mean nothing to those who read it. So
// names get the scope of the memory when they are written there, and their
// values are kept under it: a later trajectory of the same caller sees a name,
// which its boundaries turn back where their rubrics admit that. Credentials are
// not: no memory is to make them outlive the trajectory that they were found in.

// credentials are the kinds that are not remembered.
var credentials = []secret.Kind{
	secret.KindAPIKey, secret.KindToken, secret.KindPassword, secret.KindPrivateKey, secret.KindConnectionString, secret.KindWebhook, secret.KindSecret,
}

// lasts reports whether what is of a kind may be remembered.
func lasts(k secret.Kind) bool { return !slices.Contains(credentials, k) }

// verbOf is the verb of a call of a tool.
func verbOf(tool *schema.Tool) flow.Verb {
	if tool.Channel == flow.ChannelMemory {
		return flow.Remember
	}
	return flow.Call
}

// tool is what is known of the tool of a call.
func (v *Verbs) tool(name, args string) (schema.Tool, bool) {
	if v.cfg == nil || name == "" {
		return schema.Tool{}, false
	}
	return v.cfg.Tool(flow.ToolCall{Name: name, Arguments: args})
}

// remembered is what a memory is asked to keep, with names in its scope where
// their values are known.
//
// Where the model is not told values, nothing else in it gets a name: the model
// could write a guess beside the name of a value, and read in the memory
// whether the two have become one.
func (v *Verbs) remembered(n *sessionNames, parts []declassify.Part) []declassify.Part {
	parts = slices.Clone(parts)
	for i := range parts {
		parts[i].Untrusted = parts[i].Untrusted || v.cfg.Model != nil
		if n.memory != nil {
			parts[i].Text = n.moved(parts[i].Text)
		}
	}
	return parts
}

// sessionNames are the pseudonyms of a session's trajectory.
type sessionNames struct {
	s      *session.Session
	ctx    context.Context //nolint:containedctx // of one release
	values map[string]string
	memory *session.Scope    // names are given in this one; nil: in the trajectory
	given  map[string]string // values of the names that were moved there
}

// kinds are the kinds of pseudonyms that have another name than the field of
// the ontology.
var kinds = map[secret.Kind]string{secret.KindCard: "payment-token", secret.KindIBAN: "account-id"}

// Name implements declassify.Pseudonyms.
func (n *sessionNames) Name(field, value string) string {
	names := n.s.Names
	if n.memory != nil {
		names = n.memory.Names
	}
	return names.Name(secret.Kind(field), n.s.Keys().FingerprintOf([]byte(value)))
}

// Find implements declassify.Pseudonyms.
func (n *sessionNames) Find(text string) []declassify.Pseudonym {
	var out []declassify.Pseudonym
	for _, at := range n.s.NamesIn(text) {
		field := cmp.Or(kinds[at.Kind], string(at.Kind))
		out = append(out, declassify.Pseudonym{Start: at.Start, End: at.End, Field: field, Value: n.value(&at)})
	}
	return out
}

// value is what a pseudonym stands for; empty where that was not kept.
func (n *sessionNames) value(at *session.NameAt) string {
	if v, ok := n.given[at.Name]; ok {
		return v
	}
	v, ok := n.values[at.Name]
	if !ok {
		v = n.s.Value(n.ctx, at)
		n.values[at.Name] = v
	}
	return v
}

// moved is a text with the names of values in the memory's scope.
func (n *sessionNames) moved(text string) string {
	var edits []stream.Edit
	for _, at := range n.s.NamesIn(text) {
		if at.Owner == n.memory.Owner || !lasts(at.Kind) {
			continue
		}
		v := n.value(&at)
		if v == "" {
			continue
		}
		name := n.memory.Names.Name(at.Kind, n.s.Keys().FingerprintOf([]byte(v)))
		n.given[name] = v
		edits = append(edits, stream.Edit{Start: int64(at.Start), End: int64(at.End), Text: []byte(name)})
	}
	return string(session.Apply(edits, 0, []byte(text)))
}

// keep keeps the values of the names that a memory gets, before it gets them.
func (n *sessionNames) keep(r *declassify.Release) error {
	if n.memory == nil || !r.Released() {
		return nil
	}
	known := map[string][]byte{}
	for _, x := range r.Named {
		if lasts(secret.Kind(x.Field)) {
			known[x.Name] = []byte(x.Value)
		}
	}
	for name, v := range n.given {
		if slices.ContainsFunc(r.Parts(), func(p declassify.Part) bool { return strings.Contains(p.Text, name) }) {
			known[name] = []byte(v)
		}
	}
	return n.s.Keep(n.ctx, n.memory, known)
}
