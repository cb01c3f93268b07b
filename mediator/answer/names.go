package answer

import (
	"bytes"
	"slices"

	"github.com/margaydev/margay/mediator/session"
	"github.com/margaydev/margay/secret/match"
)

// names are the identifiers of a generation. Most repeat in every event; random
// padding does not.
type names struct {
	fresh [][]byte // not looked at; the memory of those behind is used again
	clean [8][]byte
	next  int
}

// add takes a name, unless it is one of the last that were clean.
func (n *names) add(name []byte) {
	if len(name) < match.MinLength {
		return
	}
	same := func(b []byte) bool { return bytes.Equal(b, name) }
	if slices.ContainsFunc(n.clean[:], same) || slices.ContainsFunc(n.fresh[:min(len(n.fresh), len(n.clean))], same) {
		return
	}
	if len(n.fresh) < cap(n.fresh) {
		n.fresh = n.fresh[:len(n.fresh)+1]
	} else {
		n.fresh = append(n.fresh, nil)
	}
	last := &n.fresh[len(n.fresh)-1]
	*last = append((*last)[:0], name...)
}

// checkNames looks at the names that were added. They go out with their
// events, so that a secret in one ends the generation.
func (g *Stream) checkNames() error {
	n := &g.names
	if len(n.fresh) == 0 {
		return nil
	}
	if !g.s.Ordinary(session.Identifiers, n.fresh) {
		for i, name := range n.fresh {
			if len(n.fresh) > 1 && g.s.Ordinary(session.Identifiers, n.fresh[i:i+1]) {
				continue // what was found lies in another one, or between two
			}
			out, found := g.s.ScanName(nil, string(name)).Text(name)
			if bytes.Equal(out, name) {
				continue
			}
			g.note(&g.settled, found)
			if err := g.commit(); err != nil {
				return err
			}
			return g.deny("secret-in-name", "an identifier that the upstream gave holds a secret")
		}
	}
	for _, name := range n.fresh[:min(len(n.fresh), len(n.clean))] {
		n.clean[n.next] = append(n.clean[n.next][:0], name...)
		n.next = (n.next + 1) % len(n.clean)
	}
	n.fresh = n.fresh[:0]
	return nil
}
