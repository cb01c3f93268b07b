package gateway

import (
	"container/list"
	"crypto/sha256"
	"slices"
	"sync"

	"github.com/margaydev/margay/wire"
)

// owed remembers the tool calls that were taken out of answers that a server
// keeps: it would refuse a request that goes on with one and has no result for
// them. The zero value is ready; it is safe for concurrent use.
type owed struct {
	mu     sync.Mutex
	byName map[debtor]*list.Element
	order  list.List // the one noted longest ago first
}

// debtor is who goes on with what.
type debtor [sha256.Size]byte

func debtorOf(caller, name string) debtor { return sha256.Sum256([]byte(caller + "\x00" + name)) }

type debt struct {
	debtor
	shared bool
	calls  []wire.Owed
}

// maxOwed bounds the answers that are remembered, and maxOwedText the bytes
// of one's calls.
const (
	maxOwed     = 1024
	maxOwedText = 16 << 10
)

func (o *owed) note(caller string, from wire.Owing) {
	names, calls := from.Owed()
	size := 0
	for _, c := range calls {
		size += len(c.Kind) + len(c.ID) + len(c.Text)
	}
	if len(calls) == 0 || size > maxOwedText {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.byName == nil {
		o.byName = map[debtor]*list.Element{}
	}
	for _, n := range names {
		k := debtorOf(caller, n.Text)
		if el := o.byName[k]; el != nil {
			o.order.Remove(el)
		}
		o.byName[k] = o.order.PushBack(&debt{k, n.Shared, slices.Clone(calls)})
	}
	for o.order.Len() > maxOwed {
		delete(o.byName, o.order.Remove(o.order.Front()).(*debt).debtor)
	}
}

func (o *owed) of(caller, name string) []wire.Owed {
	o.mu.Lock()
	defer o.mu.Unlock()
	if el := o.byName[debtorOf(caller, name)]; el != nil {
		return el.Value.(*debt).calls
	}
	return nil
}

// forget forgets what went on with an answer owed: another has its name now.
func (o *owed) forget(caller, name string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if k := debtorOf(caller, name); o.byName[k] != nil {
		o.order.Remove(o.byName[k])
		delete(o.byName, k)
	}
}

// settled forgets what a conversation owed: the server has it now. What goes
// on with one answer may do so again.
func (o *owed) settled(caller, name string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if el := o.byName[debtorOf(caller, name)]; el != nil && el.Value.(*debt).shared {
		o.order.Remove(el)
		delete(o.byName, debtorOf(caller, name))
	}
}

// owing finds what a request owes.
func (g *Gateway) owing(c *call, req wire.Request) {
	s, ok := req.(wire.Settler)
	if name := req.Previous(); ok && name != "" {
		c.settler, c.goesOn, c.owes = s, name, g.owed.of(c.caller, name)
	}
}

// paid returns a body of the request with the results that it owes.
func (c *call) paid(body []byte) []byte {
	if len(c.owes) == 0 {
		return body
	}
	return c.settler.Settle(body, c.owes)
}

// owe notes what goes on with a streamed answer owes, before the client can.
func (e *events) owe() {
	if from, ok := e.codec.(wire.Owing); ok {
		e.g.owed.note(e.c.caller, from)
	}
}
