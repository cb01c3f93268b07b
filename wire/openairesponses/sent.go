package openairesponses

import (
	"bytes"
	"maps"
	"slices"

	"github.com/margaydev/margay/internal/strictjson"
	"github.com/margaydev/margay/wire"
	"github.com/margaydev/margay/wire/body"
)

// sent is what the client has received: the content of a response that ends
// early. It is not safe for concurrent use.
type sent struct {
	parser eventParser
	next   int    // the number of the next event
	head   []byte // the response in the last event that had one
	items  map[int]*sentItem
	size   int // bytes kept
}

// sentItem is an item of the output.
type sentItem struct {
	whole []byte         // nil while it is open
	id    []byte         // of an open message
	parts map[int][]byte // its texts so far
}

// maxSent bounds what is kept of a stream. After more, only the response's own
// members are sent again.
const maxSent = 1 << 20

func (t *sent) reset(lim wire.Limits) {
	t.parser.Reset(lim, false)
	t.next, t.head, t.items, t.size = 0, nil, nil, 0
}

// keep counts bytes that are kept, and reports whether they may be.
func (t *sent) keep(n int) bool {
	if t.size += n; t.size > maxSent {
		t.items = nil
		return false
	}
	return true
}

// ahead starts an event whose type comes first, as in the API's events.
var ahead = []byte(`{"type":"`)

// passes reports whether nothing of an event is kept.
func (t *sent) passes(data []byte) bool {
	rest, ok := bytes.CutPrefix(data, ahead)
	if !ok {
		return false
	}
	typ, _, ok := bytes.Cut(rest, []byte{'"'})
	if !ok {
		return false
	}
	switch string(typ) {
	case "response.output_text.delta", "response.output_item.added", "response.output_item.done":
		return false
	case "response.created", "response.in_progress", "response.queued":
		return len(t.head) > 0
	}
	return true
}

// read notes an event that is released.
func (t *sent) read(data []byte) {
	if t.passes(data) {
		t.next++
		return
	}
	p := &t.parser
	c, err := p.parse(data)
	if err != nil {
		return // it was read before
	}
	if t.next++; p.Seq >= 0 {
		t.next = p.Seq + 1
	}
	switch string(p.kind) {
	case "response.output_text.delta":
		it := t.items[p.item]
		if it == nil || it.parts == nil || len(c.Deltas) != 1 || !t.keep(len(c.Deltas[0].Text)) {
			return
		}
		it.parts[p.part] = append(it.parts[p.part], c.Deltas[0].Text...)
	case "response.created", "response.in_progress", "response.queued":
		if i := p.Doc.Find(0, "response"); i >= 0 && p.Doc.Nodes[i].Kind == strictjson.Object && len(data) <= maxSent {
			t.head = append(t.head[:0], p.Doc.Value(i)...)
		}
	case "response.output_item.added":
		i := p.Doc.Find(0, "item")
		if string(typeOf(&p.Doc, i)) != "message" {
			return
		}
		t.put(p.item, &sentItem{id: bytes.Clone(p.Doc.Bytes(max(p.Doc.Find(i, "id"), 0))), parts: map[int][]byte{}})
	case "response.output_item.done":
		if i := p.Doc.Find(0, "item"); i >= 0 && t.keep(len(p.Doc.Value(i))) {
			t.put(p.item, &sentItem{whole: bytes.Clone(p.Doc.Value(i))})
		}
	}
}

func (t *sent) put(item int, it *sentItem) {
	if t.size > maxSent {
		return
	}
	if t.items == nil {
		t.items = map[int]*sentItem{}
	}
	t.items[item] = it
}

// incomplete returns the response as it ends early.
func (t *sent) incomplete() []byte {
	output := []byte{'['}
	for _, item := range slices.Sorted(maps.Keys(t.items)) {
		output = body.Element(output, t.items[item].value())
	}
	output = append(output, ']')
	const why = `{"reason":"content_filter"}`
	e := &body.Editor{Doc: &strictjson.Doc{}}
	if len(t.head) == 0 || e.Doc.Parse(t.head, wire.Limits{}) != nil {
		return strictjson.Appendf(nil, `{"id":"resp_margay","object":"response","created_at":0,"status":"incomplete","error":null,"incomplete_details":%s,`+
			`"instructions":null,"metadata":{},"model":"","output":%s,"parallel_tool_calls":true,"temperature":null,"tool_choice":"auto","tools":[],"top_p":null}`, why, output)
	}
	var more [][]byte
	for _, m := range [...]body.Member{{Key: "status", Value: `"incomplete"`}, {Key: "incomplete_details", Value: why}, {Key: "output", Value: string(output)}} {
		if i := e.Doc.Find(0, m.Key); i >= 0 {
			e.PutString(i, m.Value)
		} else {
			more = append(more, strictjson.Appendf(nil, "%q:%s", m.Key, m.Value))
		}
	}
	if len(more) > 0 {
		e.Extend(0, bytes.Join(more, []byte{','}))
	}
	return e.Bytes()
}

// value is the item as a response has it.
func (it *sentItem) value() []byte {
	if it.whole != nil {
		return it.whole
	}
	var content [][]byte
	for _, n := range slices.Sorted(maps.Keys(it.parts)) {
		content = append(content, outputText(string(it.parts[n])))
	}
	return message(it.id, "incomplete", bytes.Join(content, []byte{','}))
}
