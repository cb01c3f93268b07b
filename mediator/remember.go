package mediator

import (
	"context"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/margaydev/margay/declassify"
	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/secret"
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

// scope is within what names mean something.
type scope struct {
	sink  string // of the memory
	names *secret.Pseudonymiser
	owner [32]byte // under whom the values are kept
}

// memories are the scopes of a caller's memories. A run is one person's,
// whatever credentials its processes bring along, and so is what it keeps.
func (e *Engine) memories(caller [32]byte) []scope {
	d := e.cfg.Declassify
	if d == nil {
		return nil
	}
	if e.cfg.Family != "" {
		caller = [32]byte{}
	}
	out := make([]scope, 0, len(d.Memories))
	for _, sink := range d.Memories {
		owner := keyed(e.cfg.Keys.Pseudonym[:], "margay memory v1", caller[:], []byte(sink))
		out = append(out, scope{sink, secret.NewPseudonymiser(&e.cfg.Keys, "memory/"+hex.EncodeToString(owner[:])), owner})
	}
	return out
}

// memory is the scope of one memory; nil where it is not among those that are
// known, which then is told names that mean nothing later.
func (t *trajectory) memory(sink string) *scope {
	if i := slices.IndexFunc(t.stores, func(m scope) bool { return m.sink == sink }); i >= 0 {
		return &t.stores[i]
	}
	return nil
}

// kept is where the values of a memory's names are; nil for nowhere.
func (s *Session) kept() Values {
	if d := s.e.cfg.Declassify; d != nil && d.Kept != nil {
		return d.Kept
	}
	return s.e.cfg.Values
}

// lasts reports whether what is of a kind may be remembered.
func lasts(k secret.Kind) bool {
	switch k {
	case secret.KindAPIKey, secret.KindToken, secret.KindPassword, secret.KindPrivateKey, secret.KindConnectionString, secret.KindWebhook, secret.KindSecret:
		return false
	}
	return true
}

// nameAt is a place where a name stands that was given out, and whose value it
// is kept as.
type nameAt struct {
	secret.PseudonymAt
	owner [32]byte
}

// namesIn returns the names in a text that were given out in this trajectory,
// or by any to a memory of the caller's, in order.
func (t *trajectory) namesIn(text string) []nameAt {
	var out []nameAt
	for _, at := range t.names.FindAll(text) {
		owner := t.owner
		for i := 0; i < len(t.stores) && !at.Valid; i++ {
			_, at.Valid = t.stores[i].names.Verify(at.Name)
			owner = t.stores[i].owner
		}
		if at.Valid {
			out = append(out, nameAt{at, owner})
		}
	}
	return out
}

// covers reports whether a text is a name, with at most slack bytes around it:
// a detector that finds one has found nothing.
func (t *trajectory) covers(text []byte, slack int) bool {
	return t.names.Covers(text, slack) || slices.ContainsFunc(t.stores, func(m scope) bool { return m.names.Covers(text, slack) })
}

// verbOf is the verb of a call of a tool.
func verbOf(tool *declassify.Tool) flow.Verb {
	if tool.Channel == flow.ChannelMemory {
		return flow.Remember
	}
	return flow.Call
}

// verb is the verb of a call.
func (s *Session) verb(call flow.ToolCall) flow.Verb {
	if d := s.e.cfg.Declassify; d != nil && call.Name != "" {
		if tool, ok := d.Tool(call); ok {
			return verbOf(&tool)
		}
	}
	return flow.Call
}

// remembered is what a memory is asked to keep, with names in its scope where
// their values are known.
//
// Where the model is not told values, nothing else in it gets a name: the model
// could write a guess beside the name of a value, and read in the memory
// whether the two have become one.
func (s *Session) remembered(n *sessionNames, parts []declassify.Part) []declassify.Part {
	parts = slices.Clone(parts)
	for i := range parts {
		parts[i].Untrusted = parts[i].Untrusted || s.e.cfg.Declassify.Model != nil
		if n.memory != nil {
			parts[i].Text = n.moved(parts[i].Text)
		}
	}
	return parts
}

// sessionNames are the pseudonyms of a session's trajectory.
type sessionNames struct {
	s      *Session
	ctx    context.Context //nolint:containedctx // of one release
	values map[string]string
	memory *scope            // names are given in this one; nil: in the trajectory
	given  map[string]string // values of the names that were moved there
}

// kinds are the kinds of pseudonyms that have another name than the field of
// the ontology.
var kinds = map[secret.Kind]string{secret.KindCard: "payment-token", secret.KindIBAN: "account-id"}

// Name implements declassify.Pseudonyms.
func (n *sessionNames) Name(field, value string) string {
	names := n.s.t.names
	if n.memory != nil {
		names = n.memory.names
	}
	return names.Name(secret.Kind(field), n.s.e.cfg.Keys.FingerprintOf([]byte(value)))
}

// Find implements declassify.Pseudonyms.
func (n *sessionNames) Find(text string) []declassify.Pseudonym {
	var out []declassify.Pseudonym
	for _, at := range n.s.t.namesIn(text) {
		field := string(at.Kind)
		if f, ok := kinds[at.Kind]; ok {
			field = f
		}
		out = append(out, declassify.Pseudonym{Start: at.Start, End: at.End, Field: field, Value: n.value(&at)})
	}
	return out
}

// value is what a pseudonym stands for; empty where that was not kept.
func (n *sessionNames) value(at *nameAt) string {
	if v, ok := n.given[at.Name]; ok {
		return v
	}
	if v, ok := n.values[at.Name]; ok {
		return v
	}
	v := ""
	if raw, ok := n.s.replaced[at.Name]; ok {
		v = string(raw)
	} else if store := n.valuesOf(at.owner); store != nil {
		if sealed, err := store.Value(n.ctx, at.owner, at.Name); err == nil {
			if raw, err := n.s.e.cfg.Keys.OpenValue(sealed, sealContext(at.owner, at.Name)); err == nil {
				v = string(raw)
			}
		}
	}
	n.values[at.Name] = v
	return v
}

func (n *sessionNames) valuesOf(owner [32]byte) Values {
	if owner == n.s.t.owner {
		return n.s.e.cfg.Values
	}
	return n.s.kept()
}

// moved is a text with the names of values in the memory's scope.
func (n *sessionNames) moved(text string) string {
	var b strings.Builder
	from := 0
	for _, at := range n.s.t.namesIn(text) {
		if at.owner == n.memory.owner || !lasts(at.Kind) {
			continue
		}
		v := n.value(&at)
		if v == "" {
			continue
		}
		name := n.memory.names.Name(at.Kind, n.s.e.cfg.Keys.FingerprintOf([]byte(v)))
		if n.given == nil {
			n.given = map[string]string{}
		}
		n.given[name] = v
		b.WriteString(text[from:at.Start])
		b.WriteString(name)
		from = at.End
	}
	if from == 0 {
		return text
	}
	b.WriteString(text[from:])
	return b.String()
}

// keep keeps the values of the names that a memory is told, before it is told
// them.
func (n *sessionNames) keep(r *declassify.Release) error {
	store := n.s.kept()
	if n.memory == nil || store == nil || !r.Released() {
		return nil
	}
	known := map[string]string{}
	for _, x := range r.Named {
		if lasts(secret.Kind(x.Field)) {
			known[x.Name] = x.Value
		}
	}
	for name, v := range n.given {
		if slices.ContainsFunc(r.Parts, func(p declassify.Part) bool { return strings.Contains(p.Text, name) }) {
			known[name] = v
		}
	}
	if len(known) == 0 {
		return nil
	}
	values := make(map[string][]byte, len(known))
	for name, v := range known {
		sealed, err := n.s.e.cfg.Keys.SealValue([]byte(v), sealContext(n.memory.owner, name))
		if err != nil {
			return fmt.Errorf("seal: %w", err)
		}
		values[name] = sealed
	}
	return store.PutValues(n.ctx, n.memory.owner, values, n.s.now)
}
