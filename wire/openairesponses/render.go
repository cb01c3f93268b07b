package openairesponses

import (
	"errors"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/strictjson"
	"github.com/margaydev/margay/wire/body"
)

var errCall = errors.New("a tool call was taken out and no text stands for it")

// change is what changes in one event.
type change struct {
	edit         *flow.Edit     // nil for none
	shift        int            // of its number
	messages     map[int][]byte // by item: what stands for a call that is not made
	dropLogprobs bool
}

// render returns the data of an event with a change applied, or reports that it
// was removed. The logprobs beside a text that changed become empty, because they
// repeat it. The server's random padding stays.
func (p *eventParser) render(data []byte, c *change) (out []byte, removed bool, err error) {
	if _, err := p.parse(data); err != nil {
		return nil, false, err
	}
	d, e := &p.Doc, p.Editor()
	if len(d.Nodes) == 0 {
		return data, false, nil // not JSON
	}
	if p.item >= 0 && c.dropped(p.item) {
		if c.messages[p.item] == nil {
			return nil, false, errCall
		}
		return nil, true, nil
	}
	if err := c.calls(e, d.Find(d.Find(0, "response"), "output")); err != nil {
		return nil, false, err
	}
	if c.edit != nil {
		done := map[int]bool{}
		if err := p.Texts(e, c.edit.Text, func(node int) { emptyBeside(e, node, done) }); err != nil {
			return nil, false, err
		}
	}
	if c.dropLogprobs {
		dropLogprobs(e, d.Find(0, "response"))
	}
	if n, ok := d.Int(p.Number); ok && c.shift != 0 {
		e.Put(p.Number, strictjson.Appendf(nil, "%d", n+c.shift))
	}
	return e.Bytes(), false, nil
}

// dropped reports whether an item is a call that is not made.
func (c *change) dropped(item int) bool {
	if c.messages[item] != nil {
		return true
	}
	if c.edit == nil || c.edit.Call == nil {
		return false
	}
	_, drop := c.edit.Call(0, item)
	return drop
}

// calls replaces calls that are not made by messages.
func (c *change) calls(e *body.Editor, output int) error {
	d := e.Doc
	if output < 0 || d.Nodes[output].Kind != strictjson.Array {
		return nil
	}
	for i := range d.All(output) {
		item := d.Nodes[i].Index
		if !isCall(typeOf(d, i)) || !c.dropped(item) {
			continue
		}
		if c.messages[item] == nil {
			return errCall
		}
		e.Put(i, c.messages[item])
	}
	return nil
}

// emptyBeside empties the logprobs that repeat a text. It looks at each object
// once, and keeps it in done.
func emptyBeside(e *body.Editor, node int, done map[int]bool) {
	object := e.Doc.Nodes[node].Parent
	if done[object] {
		return
	}
	done[object] = true
	if lp := e.Doc.Find(object, "logprobs"); lp >= 0 && isLogprobs(e.Doc, lp) {
		e.PutString(lp, "[]")
	}
}

// dropLogprobs empties all logprobs, and the response's copy of the request for
// them.
func dropLogprobs(e *body.Editor, response int) {
	for i := range e.Doc.Nodes {
		if isLogprobs(e.Doc, i) {
			e.PutString(i, "[]")
		}
	}
	if top := e.Doc.Find(response, "top_logprobs"); top >= 0 {
		e.PutString(top, "0")
	}
}
