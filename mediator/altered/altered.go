// Package altered remembers which calls of a trajectory were made with a part
// of their arguments replaced, so that the model can be told with their results.
//
// A call is known by its tool, by its arguments as the client got them, and by
// the call before it in the conversation. Clients change ids and drop old
// messages, but those stay. If a call that was altered can't be told from one
// that was not, or from one that was altered for another value, the memory has
// nothing of either.
package altered

import (
	"sync"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/recent"
	"github.com/margaydev/margay/mediator/audit"
)

const (
	maxCalls  = 256 // that one trajectory remembers
	callBytes = 512 // of one, roughly
)

// Digest stands for the tool and the arguments of a call.
type Digest = [32]byte

// Call is a call of an answer, as the client gets it.
type Call struct {
	Digest  Digest
	Finding audit.Finding // the first in its arguments that was replaced; zero for none
}

// First returns the first finding whose text was replaced; otherwise what was withheld
// by rubrics, the zero Finding for nothing.
func First(found []audit.Finding, withheld audit.Finding) audit.Finding {
	for _, f := range found {
		if f.Action != flow.ActReport && f.Action != flow.ActAllow {
			return audit.Finding{ID: f.ID, Rule: f.Rule, Kind: f.Kind, Fingerprint: f.Fingerprint}
		}
	}
	return withheld
}

// Memory is what is remembered of one trajectory. It is safe for concurrent use.
type Memory struct {
	digest func(name, args string) Digest
	grew   func(bytes int)
	mu     sync.Mutex
	calls  *recent.Map[place, audit.Finding] // zero where nothing may be said
}

// place is a call behind another one; the first is behind the zero Digest.
type place struct{ before, call Digest }

func (p place) next(d Digest) place { return place{p.call, d} }

// New returns an empty memory. Digest makes a keyed digest of a call. It is the same
// however the arguments are spaced and ordered. New calls grew with the bytes that
// the memory takes more.
func New(digest func(name, args string) Digest, grew func(bytes int)) *Memory {
	return &Memory{digest: digest, grew: grew, calls: recent.New[place, audit.Finding](maxCalls)}
}

// Digest is that of a call.
func (m *Memory) Digest(name, args string) Digest { return m.digest(name, args) }

// Note notes the calls of one choice of the answer to a conversation, in order.
func (m *Memory) Note(turns []flow.Turn, made []Call) {
	news := m.calls.Len() > 0
	for i := range made {
		news = news || made[i].Finding.ID != ""
	}
	if !news || len(made) == 0 {
		return
	}
	var at place
	earlier := map[place]bool{}
	for i := range turns {
		for k := range turns[i].Calls {
			at = at.next(m.digest(turns[i].Calls[k].Name, turns[i].Calls[k].Arguments))
			earlier[at] = true
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range made {
		at = at.next(made[i].Digest)
		f := made[i].Finding
		old, known := m.calls.Get(at)
		switch {
		case !known && f.ID == "":
			earlier[at] = true
			continue
		case known && old.Fingerprint == f.Fingerprint && !f.Fingerprint.IsZero():
			f = old // the same value, so that the same is said of it
		case known || earlier[at]:
			f = audit.Finding{}
		}
		was := m.calls.Len()
		m.calls.Put(at, f)
		m.grew((m.calls.Len() - was) * callBytes)
	}
}

// Result is that of a call with a part replaced.
type Result struct {
	Turn    int
	Tool    string
	Finding audit.Finding
}

// Results returns the results in a conversation that are of such calls. A call
// has one, and an id that two calls without a result share is nobody's.
func (m *Memory) Results(turns []flow.Turn) []Result {
	if m.calls.Len() == 0 {
		return nil
	}
	var out []Result
	var at place
	open := map[string]Result{} // by the id of the call
	for i := range turns {
		t := &turns[i]
		if r, ok := open[t.Result]; ok && t.Result != "" {
			delete(open, t.Result)
			if r.Turn = i; r.Finding.ID != "" {
				out = append(out, r)
			}
		}
		for k := range t.Calls {
			c := &t.Calls[k]
			at = at.next(m.digest(c.Name, c.Arguments))
			r := Result{Tool: c.Name}
			if _, twice := open[c.ID]; !twice {
				r.Finding, _ = m.calls.Get(at)
			}
			open[c.ID] = r
		}
	}
	return out
}
