package gateway

import (
	"crypto/sha256"
	"slices"

	"github.com/margaydev/margay/wire"
)

// Of answers that a server keeps, the gateway remembers the tool calls that were
// taken out: the server would refuse a request that goes on with one and has no
// result for them.

// debtor is who goes on with what.
type debtor [sha256.Size]byte

func debtorOf(caller, name string) debtor { return sha256.Sum256([]byte(caller + "\x00" + name)) }

// debt is what goes on with an answer owes. One that is shared belongs to a
// conversation.
type debt struct {
	shared bool
	calls  []wire.Owed
}

// maxOwed bounds the answers that are remembered, and maxOwedText the bytes
// of one's calls.
const (
	maxOwed     = 1024
	maxOwedText = 16 << 10
)

// owe notes what goes on with an answer owes, before the client can. It is nothing
// where the server keeps no answers.
func (c *call) owe(answer any) {
	from, ok := answer.(wire.Owing)
	if !ok {
		return
	}
	names, calls := from.Owed()
	size := 0
	for _, o := range calls {
		size += len(o.Kind) + len(o.ID) + len(o.Text)
	}
	if len(calls) == 0 || size > maxOwedText {
		return
	}
	for _, n := range names {
		c.g.owed.Put(debtorOf(c.caller, n.Text), debt{n.Shared, slices.Clone(calls)})
	}
}

// named forgets what went on with an answer owed: another has its name now.
func (c *call) named(id string) { c.g.owed.Delete(debtorOf(c.caller, id)) }

// owing finds what a request owes.
func (g *Gateway) owing(c *call, req wire.Request) {
	if name := req.Previous(); name != "" {
		c.goesOn = debtorOf(c.caller, name)
		owed, _ := g.owed.Get(c.goesOn)
		c.owes = owed.calls
	}
}

// settled forgets what a conversation owed: the server has it now. What goes
// on with one answer may do so again.
func (c *call) settled() {
	if owed, ok := c.g.owed.Get(c.goesOn); ok && owed.shared {
		c.g.owed.Delete(c.goesOn)
	}
}

// paid returns a body of the request with the results that it owes.
func (c *call) paid(body []byte) []byte {
	if len(c.owes) == 0 {
		return body
	}
	return c.req.Settle(body, c.owes)
}
