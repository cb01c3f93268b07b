package openairesponses

import (
	"errors"
	"slices"
	"strconv"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/strictjson"
	"github.com/margaydev/margay/wire"
)

// Errors of render: an edit that can't be made must not be forgotten.
var (
	errKey   = errors.New("an object's key can't be edited")
	errPlace = errors.New("an edit is of a text that the event does not have")
	errValue = errors.New("an edited value is no JSON")
	errCall  = errors.New("a tool call is taken out that nothing was said for")
)

// change is what becomes of one event.
type change struct {
	edit         *flow.Edit     // nil for none
	shift        int            // of its number
	messages     map[int][]byte // by item: what stands for a call that is not made
	dropLogprobs bool
}

// render returns the data of an event with a change applied, or that nothing
// of it is left. The logprobs beside a text that changed become empty, for
// they repeat it; the server's random padding is left as it is.
func render(data []byte, c *change, lim wire.Limits) (out []byte, gone bool, err error) {
	p := eventParser{lim: lim}
	if _, err := p.parse(data); err != nil {
		return nil, false, err
	}
	if len(p.doc.Nodes) == 0 || p.chunk.Done && p.kind == nil {
		return data, false, nil // no JSON
	}
	r := renderer{p: &p}
	d := &p.doc
	if p.item >= 0 && c.dropped(p.item) {
		if c.messages[p.item] == nil {
			return nil, false, errCall
		}
		return nil, true, nil
	}
	if output := d.Find(d.Find(0, "response"), "output"); output >= 0 && (len(c.messages) > 0 || c.edit != nil && c.edit.Call != nil) {
		if err := r.calls(output, c); err != nil {
			return nil, false, err
		}
	}
	if c.edit != nil {
		if err := r.texts(c.edit.Text, lim); err != nil {
			return nil, false, err
		}
	}
	if c.dropLogprobs {
		r.dropLogprobs()
	}
	if n, ok := d.Int(p.number); ok && c.shift != 0 {
		r.put(p.number, strconv.AppendInt(nil, int64(n+c.shift), 10))
	}
	return r.bytes(), false, nil
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

// renderer gathers what is put in the place of values.
type renderer struct {
	p       *eventParser
	splices []strictjson.Splice
}

func (r *renderer) put(node int, value []byte) {
	n := &r.p.doc.Nodes[node]
	r.splices = append(r.splices, strictjson.Splice{Start: n.Start, End: n.End, Text: value})
}

func (r *renderer) bytes() []byte { return splice(r.p.doc.Raw, r.splices) }

// splice applies splices of which an outer one wins over those inside it.
func splice(raw []byte, all []strictjson.Splice) []byte {
	slices.SortFunc(all, func(a, b strictjson.Splice) int {
		if a.Start != b.Start {
			return a.Start - b.Start
		}
		return b.End - a.End
	})
	kept, end := all[:0], -1
	for _, s := range all {
		if s.Start >= end {
			kept, end = append(kept, s), s.End
		}
	}
	return strictjson.Apply(make([]byte, 0, len(raw)+64), raw, kept)
}

// calls puts messages in the place of calls that are not made.
func (r *renderer) calls(output int, c *change) error {
	d := &r.p.doc
	if d.Nodes[output].Kind != strictjson.Array {
		return nil
	}
	for i := output + 1; i < d.Nodes[output].Next; i = d.Nodes[i].Next {
		item := d.Nodes[i].Index
		if !isCall(d.Bytes(max(d.Find(i, "type"), 0))) || !c.dropped(item) {
			continue
		}
		if c.messages[item] == nil {
			return errCall
		}
		r.put(i, c.messages[item])
	}
	return nil
}

// texts puts edited texts in their places.
func (r *renderer) texts(texts map[int][]byte, lim wire.Limits) error {
	d := &r.p.doc
	for i, text := range texts {
		if i < 0 || i >= len(r.p.nodes) || r.p.nodes[i] == nowhere {
			return errPlace
		}
		node := r.p.nodes[i]
		if node == inKey {
			return errKey
		}
		if d.Nodes[node].Kind == strictjson.String {
			r.put(node, strictjson.AppendQuote(nil, text))
		} else {
			var check strictjson.Doc
			if check.Parse(text, lim) != nil {
				return errValue
			}
			r.put(node, text)
		}
		if lp := d.Find(d.Nodes[node].Parent, "logprobs"); lp >= 0 && isLogprobs(d, lp) {
			r.put(lp, []byte("[]"))
		}
	}
	return nil
}

// dropLogprobs empties all logprobs, and what a response says of having asked
// for them.
func (r *renderer) dropLogprobs() {
	d := &r.p.doc
	for i := range d.Nodes {
		if isLogprobs(d, i) {
			r.put(i, []byte("[]"))
		}
	}
	if top := d.Find(d.Find(0, "response"), "top_logprobs"); top >= 0 {
		r.put(top, []byte("0"))
	}
}
